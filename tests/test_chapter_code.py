"""The code that a chapter builds in front of its reader and the package's are the same code.

Every function or class that a chapter defines at top level, under a name that a module of the package also
defines, is compared with it as a syntax tree, without docstrings, annotations and the `check_...` lines by
which the package looks at its arguments. A wrong example has to bear another name.

Where the package can do more than the chapter teaches, the chapter shows a part of it (`SHOWN_PART`), or it
calls PyTorch's attention under a mask where the package asks a kernel, and computes every row where the
package can leave some out (`SIMPLER`; the rest is compared as ever). Then the chapter's own code runs here
beside the package's, and both must do the same, bit for bit.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from prefixlm_teach import (
    KeyValueCache,
    TinyPrefixLM,
    compute_prefix_lm_loss,
    create_prefix_lm_mask,
    decode,
    g2p_vocabulary,
    prefill,
    train,
    training_batches,
)
from prefixlm_teach.decoding import project

ROOT = Path(__file__).parent.parent
CHAPTERS = sorted((ROOT / "chapters").glob("[0-9]*.md"))
MODULES = [path for path in sorted((ROOT / "prefixlm_teach").glob("*.py")) if path.name != "__init__.py"]

# What a chapter leaves out: (chapter, class) -> methods that only the package has.
LEFT_OUT = {
    ("02_attention.md", "PrefixLMAttention"): {"weights"},
    ("03_model.md", "TinyPrefixLM"): {
        *("__setattr__", "_check_kernel", "_read", "_sight_of", "attention_weights"),
    },
}

# What a chapter builds without the choices that the package has: (chapter, function) -> their names.
SHOWN_PART = {("04_loss.md", "train"): {"accumulate", "keep", "every", "only_read", "watch"}}

# Where the package has a choice: (chapter, name) -> the package's text: what the chapter has in its place.
UNDER_A_MASK = {"mix(q, k, v, mask)": "F.scaled_dot_product_attention(q, k, v, attn_mask=mask)"}
SIMPLER = {
    ("02_attention.md", "PrefixLMAttention"): UNDER_A_MASK,
    ("03_model.md", "Block"): {
        ", read=None": "",
        "        if read is not None:\n            h = h[read]\n": "",
    },
    ("03_model.md", "TinyPrefixLM"): {
        ", *, kernel='auto'": "",
        ", read=None": "",
        "        if read is not None:\n            return self._read(h, mask, read)\n": "",
        "        self.kernel = kernel\n": "",
        "        return make_ready(self.kernel, self._sight_of(tokens, prefix_len, valid, mask))\n": (
            "        if mask is None:\n"
            "            p = torch.as_tensor(prefix_len, device=tokens.device)\n"
            "            return create_prefix_lm_mask(tokens.size(1), p, valid=valid)\n"
            "        return mask if valid is None else mask & valid[:, None, None, :]\n"
        ),
    },
    ("06_generation.md", "empty_cache"): {
        "    linear = isinstance(model, LinearPrefixLM)\n": "",
        "    nothing = empty_state(exact(none), exact(none)) if linear else (none, none)\n": "",
        "(nothing,)": "((none, none),)",
    },
    ("06_generation.md", "attend"): {
        "    mixed, kept = mix_after(q, k, v, mask, past)\n": (
            "    k, v = (torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2))\n"
            "    mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)\n"
        ),
        ", kept)": ", (k, v))",
    },
    ("06_generation.md", "decode"): {
        "    sight = sight_after(model, causal & seen[:, None, None, :], valid)\n": "",
        "make_ready(model.kernel, sight)": "causal & seen[:, None, None, :]",
    },
}

Definition = ast.FunctionDef | ast.ClassDef
FENCE = re.compile(r"^(`{3,})\{code-cell\}[^\n]*\n(.*?)^\1\s*$", re.MULTILINE | re.DOTALL)


class Bare(ast.NodeTransformer):
    """Take away what a chapter may say differently: docstrings, annotations, argument checks."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.Assign | None:
        return node.value and ast.Assign(targets=[node.target], value=self.visit(node.value))

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        call = node.value
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Name)
            and call.func.id.startswith("check_")
        ):
            return None
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_If(self, node: ast.If) -> ast.If | None:
        self.generic_visit(node)
        return node if node.body or node.orelse else None  # nothing but checks was inside

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        node.returns = None
        return self.without_docstring(node)  # type: ignore[return-value]

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        self.generic_visit(node)
        return self.without_docstring(node)  # type: ignore[return-value]

    @staticmethod
    def without_docstring(node: Definition) -> Definition:
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
        return node


def bare(definition: Definition, without: frozenset[str] = frozenset()) -> str:
    """The definition as text, bare, and without the methods of these names."""
    again = ast.parse(ast.unparse(definition)).body[0]
    again = Bare().visit(again)
    again.body = [node for node in again.body if getattr(node, "name", None) not in without] or [ast.Pass()]
    return ast.unparse(ast.fix_missing_locations(again))


def definitions(code: str) -> list[Definition]:
    return [node for node in ast.parse(code).body if isinstance(node, Definition)]


def cells(markdown: str) -> list[str]:
    """The code of each code cell, without its options and without magics."""
    found = []
    for _, body in FENCE.findall(markdown):
        lines = [line for line in body.splitlines() if not re.match(r"[%!]|:[\w-]+:", line)]
        found.append("\n".join(lines))
    return found


def package_definitions() -> dict[str, list[Definition]]:
    known: dict[str, list[Definition]] = {}
    for path in MODULES:
        for node in definitions(path.read_text(encoding="utf-8")):
            known.setdefault(node.name, []).append(node)
    return known


def shared_names(chapter: Path) -> list[str]:
    code = chapter.read_text(encoding="utf-8")
    names = [node.name for cell in cells(code) for node in definitions(cell)]
    return sorted({name for name in names if name in PACKAGE})


PACKAGE = package_definitions()
SHARED = [(chapter, name) for chapter in CHAPTERS for name in shared_names(chapter)]
SAME_CODE = [(chapter, name) for chapter, name in SHARED if (chapter.name, name) not in SHOWN_PART]


@pytest.mark.parametrize(("chapter", "name"), SAME_CODE, ids=[f"{c.name}-{n}" for c, n in SAME_CODE])
def test_a_chapter_builds_what_the_package_has(chapter: Path, name: str) -> None:
    without = frozenset(LEFT_OUT.get((chapter.name, name), set()))
    wanted = [bare(node, without) for node in PACKAGE[name]]
    for old, new in SIMPLER.get((chapter.name, name), {}).items():
        assert wanted[0].count(old) == 1, f"the package's {name} does not say {old!r}"
        wanted[0] = wanted[0].replace(old, new)
    for cell in cells(chapter.read_text(encoding="utf-8")):
        for node in definitions(cell):
            if node.name == name:
                built = bare(node)
                assert built in wanted, (
                    f"{chapter.name} builds\n\n{built}\n\nbut the package has\n\n{wanted[0]}"
                )


def test_the_first_four_chapters_build_the_core_between_them() -> None:
    """Once there are chapters, something must be compared, or the test above would hold nothing."""
    core = {"create_prefix_lm_mask", "PrefixLMAttention", "Block", "TinyPrefixLM", "compute_prefix_lm_loss"}
    assert core <= {name for _, name in SHARED}


def test_what_is_listed_as_left_out_is_there_to_be_left_out() -> None:
    for (chapter, name), methods in LEFT_OUT.items():
        shown = {
            method.name
            for cell in cells((ROOT / "chapters" / chapter).read_text(encoding="utf-8"))
            for node in definitions(cell)
            if node.name == name
            for method in node.body
            if isinstance(method, ast.FunctionDef)
        }
        real = {
            method.name
            for node in PACKAGE[name]
            for method in node.body
            if isinstance(method, ast.FunctionDef)
        }
        assert shown, f"{chapter} does not build {name}"
        assert methods <= real, f"{name} has no {methods - real}"
        assert not methods & shown, f"{chapter} does show {methods & shown}"


def built_in(chapter: str, name: str, **known: Any) -> Callable[..., Any]:
    """The function that a chapter builds, run in the cell that builds it."""
    (cell,) = [
        cell
        for cell in cells((ROOT / "chapters" / chapter).read_text(encoding="utf-8"))
        if name in [node.name for node in definitions(cell)]
    ]
    exec(cell, known)  # noqa: S102 - the chapter's own code
    built: Callable[..., Any] = known[name]
    return built


def built_model() -> type[TinyPrefixLM]:
    """The model that chapter 3 builds, on the attention that chapter 2 builds: neither knows of kernels."""
    known = {"nn": nn, "torch": torch, "F": F, "create_prefix_lm_mask": create_prefix_lm_mask}
    for chapter, name in (("02_attention.md", "PrefixLMAttention"), ("03_model.md", "Block")):
        known[name] = built_in(chapter, name, **known)
    return built_in("03_model.md", "TinyPrefixLM", **known)  # type: ignore[return-value]


REAL = torch.tensor([[True] * 6, [False, False, True, True, True, True], [True] * 5 + [False]])
MIXED = torch.tensor([4, 0, 5])
ANY_MASK = torch.ones(6, 6).tril(2).triu(-3).bool()
CALLS: list[dict[str, Any]] = [
    *({"prefix_len": p} for p in (0, 1, 3, 6, torch.tensor(3), MIXED)),
    *({"prefix_len": p, "valid": REAL} for p in (0, 3, MIXED)),
    *({"mask": mask} for mask in (ANY_MASK, ANY_MASK.expand(3, 1, 6, 6))),
    {"mask": ANY_MASK, "valid": REAL},
    {"mask": ANY_MASK, "positions": torch.tensor([3, 4, 5, 0, 1, 2])},
]


@pytest.mark.parametrize("call", CALLS)
def test_the_model_that_chapters_2_and_3_build_is_the_packages_bit_for_bit(call: dict[str, Any]) -> None:
    tokens, found = torch.arange(18).view(3, 6) % 11, []
    for kind in (built_model(), TinyPrefixLM):
        torch.manual_seed(0)
        model = kind(11, d_model=16, n_heads=2, max_len=8)  # with dropout
        logits = model(tokens, **call)
        logits.pow(2).sum().backward()
        found.append([logits, *model.state_dict().values(), *(w.grad for w in model.parameters())])
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))


def test_the_reading_with_a_cache_that_chapter_6_builds_is_the_packages_bit_for_bit() -> None:
    known: dict[str, Any] = {"torch": torch, "F": F, "Tensor": torch.Tensor, "dataclass": dataclass}
    known |= {"KeyValueCache": KeyValueCache, "project": project}
    for name in ("empty_cache", "attend", "read", "prefill", "decode"):
        known[name] = built_in("06_generation.md", name, **known)
    torch.manual_seed(0)
    model = TinyPrefixLM(11, d_model=16, n_heads=2, max_len=12).eval()
    tokens, found = torch.arange(30).view(3, 10) % 11, []
    for first, then in ((known["prefill"], known["decode"]), (prefill, decode)):
        logits, kept = first(model, tokens[:, :6], MIXED, valid=REAL)
        outcome = [logits]
        for start, stop in ((6, 7), (7, 10)):
            logits, kept = then(model, tokens[:, start:stop], kept)
            outcome.append(logits)
        found.append([*outcome, *(x for layer in kept.layers for x in layer)])
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))


def test_the_part_of_train_that_chapter_4_builds_trains_bit_for_bit_alike() -> None:
    built = built_in("04_loss.md", "train", nn=nn, compute_prefix_lm_loss=compute_prefix_lm_loss)
    vocabulary, ends = g2p_vocabulary(), []
    for one in (built, train):
        torch.manual_seed(0)
        model = TinyPrefixLM(len(vocabulary), d_model=32, max_len=64)  # with dropout
        batches = training_batches(vocabulary, 32, seed=0)
        losses = one(model, batches, steps=40, lr=3e-3, progress=False)
        ends.append((losses, model.state_dict(), model.training, next(batches).tokens))
    (losses, weights, training, following), package = ends
    assert losses == package[0]
    assert all(torch.equal(weights[name], package[1][name]) for name in weights)
    assert training is package[2] is False
    assert torch.equal(following, package[3])


def test_the_part_of_train_that_chapter_4_builds_stops_alike_when_batches_run_out() -> None:
    built = built_in("04_loss.md", "train", nn=nn, compute_prefix_lm_loss=compute_prefix_lm_loss)
    for one in (built, train):
        few = islice(training_batches(g2p_vocabulary(), 2, seed=0), 19)
        with pytest.raises(ValueError, match="the batches ran out after 19 of 20 steps"):
            one(TinyPrefixLM(69, d_model=8, max_len=64), few, steps=20, progress=False)


def test_what_a_chapter_shows_a_part_of_has_the_arguments_of_the_rest() -> None:
    known = {"train": (train, partial(built_in, nn=nn, compute_prefix_lm_loss=compute_prefix_lm_loss))}
    for (chapter, name), choices in SHOWN_PART.items():
        whole, build = known[name]
        wanted = {n: p.default for n, p in inspect.signature(whole).parameters.items()}
        shown = {n: p.default for n, p in inspect.signature(build(chapter, name)).parameters.items()}
        assert wanted.keys() - shown.keys() == choices
        assert shown == {n: default for n, default in wanted.items() if n in shown}


BUILT = """
class Box:
    def open(self, x: int = 1) -> int:
        '''Open it.'''
        check_int("x", x, minimum=0)
        y: int = x + 1
        return y
"""
SHOWN = """
class Box:
    def open(self, x=1):
        y = x + 1
        return y
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", ""),
        ("Box:", "Box:\n    'A box.'"),
        ("x=1", "x: str = 1"),
        ("x + 1", "(x + 1)  # one more"),
        ("y =", "check_it(x)\n        y ="),
        ("y =", "if x:\n            check_it(x)\n        y ="),
    ],
)
def test_the_comparison_does_not_see_words_annotations_and_checks(old: str, new: str) -> None:
    assert bare(definitions(SHOWN.replace(old, new, 1))[0]) == bare(definitions(BUILT)[0])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x=1", "x=2"),
        ("x=1", "*, x=1"),
        ("x + 1", "x - 1"),
        ("Box:", "Box(dict):"),
        ("    def", "    @cache\n    def"),
        ("y =", "print(x)\n        y ="),
        ("y =", "checked(x)\n        y ="),
        ("y =", "if x:\n            check_it(x)\n        else:\n            x = 2\n        y ="),
        ("y =", "z = check_it(x)\n        y ="),
    ],
)
def test_the_comparison_sees_everything_else(old: str, new: str) -> None:
    assert bare(definitions(SHOWN.replace(old, new, 1))[0]) != bare(definitions(BUILT)[0])


def test_the_comparison_leaves_out_the_methods_it_is_told_and_no_other() -> None:
    box = definitions(BUILT + "\n    def close(self):\n        pass\n")[0]
    assert bare(box, frozenset({"close"})) == bare(definitions(BUILT)[0])
    assert bare(box) != bare(definitions(BUILT)[0])


def test_cells_are_read_without_options_magics_and_prose() -> None:
    page = (
        "Some prose.\n\n```python\nignored = 1\n```\n\n"
        "```{code-cell} ipython3\n:tags: [hide-input]\n\n%matplotlib inline\nx = 1\n```\n\n"
        "````{note}\nnot code\n````\n\n```{code-cell}\ny = 2\n```\n"
    )
    assert [cell.strip() for cell in cells(page)] == ["x = 1", "y = 2"]
