"""What the mask algebra explorer must show, as Python computes it."""

from collections.abc import Sequence
from typing import Any

from drawn import read
from pixels import kinds_in
from playwright.sync_api import Locator
from shown import Choice, Kind, Slider, trait_slider

from prefixlm_teach import RuleExplorer, describe_mask, parse_rule

NAMED = {  # for several documents with pads
    "Causal": "causal and document and valid",
    "Open, then close": "(causal or prefix) and document and valid",
    "Close, then open": "(causal and document and valid) or prefix",
    "No parentheses": "causal or prefix and document and valid",
    "Documents forgotten": "(causal or prefix) and valid",
    "Padding forgotten": "(causal or prefix) and document",
    "Window last": "(causal or prefix) and window and document and valid",
    "Window first": "(causal and window or prefix) and document and valid",
    "All open": "document and valid",
    "Inverted": "not ((causal or prefix) and document and valid)",
}
ONLY_PADS = {
    "Causal": "causal and valid",
    "Open, then close": "(causal or prefix) and valid",
    "Close, then open": "(causal and valid) or prefix",
    "No parentheses": "causal or prefix and valid",
    "Padding forgotten": "causal or prefix",
    "Window last": "(causal or prefix) and window and valid",
    "Window first": "(causal and window or prefix) and valid",
    "All open": "valid",
    "Inverted": "not ((causal or prefix) and valid)",
}
NEITHER = {
    "Causal": "causal",
    "Prefix": "causal or prefix",
    "Window last": "(causal or prefix) and window",
    "Window first": "causal and window or prefix",
    "All open": "valid",
    "Inverted": "not (causal or prefix)",
}


def named_rules(explorer: RuleExplorer) -> dict[str, str]:
    """The rules that the buttons stand for."""
    if len(explorer.lengths) > 1:
        if explorer.pads:
            return NAMED
        rules = {name: rule.replace(" and valid", "") for name, rule in NAMED.items()}
        return {name: rule for name, rule in rules.items() if name != "Padding forgotten"}
    return ONLY_PADS if explorer.pads else NEITHER


def laws_of(explorer: RuleExplorer, q: int, k: int) -> list[str]:
    """The laws that an open cell breaks, cell by cell."""
    pads, lengths = explorer.pads, explorer.lengths
    starts = [pads + sum(lengths[:d]) for d in range(len(lengths))]
    of_q, of_k = (max([d for d, start in enumerate(starts) if start <= i] or [0]) for i in (q, k))
    if k < pads:
        return ["Pads are visible"]
    found = []
    if k > q and k >= starts[of_k] + explorer.prefix_lens[of_k]:
        found.append("The target's future is visible")
    if of_k != of_q:
        found.append("Another document is visible")
    if abs(q - k) >= explorer.window and "window" in explorer.rule.lower():
        found.append("Keys beyond the window are visible")
    return found


def kinds_of(explorer: RuleExplorer) -> list[list[str]]:
    """The kind of each cell."""
    return [
        [
            ("leaked" if laws_of(explorer, q, k) else "past" if k <= q else "opened")
            if may
            else ("padding" if k < explorer.pads else "blocked")
            for k, may in enumerate(row)
        ]
        for q, row in enumerate(explorer.mask.tolist())
    ]


def verdict_of(explorer: RuleExplorer) -> str:
    """The sentence that names the faults."""
    cells = [(q, k) for q, row in enumerate(explorer.mask.tolist()) for k, may in enumerate(row) if may]
    broken = [law for q, k in cells for law in laws_of(explorer, q, k)]
    laws = (
        "Pads are visible",
        "The target's future is visible",
        "Another document is visible",
        "Keys beyond the window are visible",
    )
    counted = [(law, broken.count(law)) for law in laws if law in broken]
    said = [f"{law}: {n} cell{'' if n == 1 else 's'}." for law, n in counted]
    return " ".join(said) or "No leak: nothing is visible that must stay hidden."


def shows(root: Locator, explorer: RuleExplorer, error: str = "") -> None:
    """Assert that the page shows `explorer` as it stands; with `error`, that what is typed is wrong."""
    drawn, mask = read(root), explorer.mask
    kinds, n = kinds_of(explorer), len(mask)
    (grid,) = drawn["grids"]
    assert grid["cells"] == kinds
    assert [[kind not in ("blocked", "padding") for kind in row] for row in grid["cells"]] == mask.tolist()
    assert grid["words"] == describe_mask(mask)
    (field,) = drawn["rule"]
    assert (field["invalid"], field["error"]) == ("true" if error else "false", error)
    if not error:
        assert field["text"] == explorer.rule
    assert drawn["verdict"] == [verdict_of(explorer)]
    flat = [kind for row in kinds for kind in row]
    assert drawn["counts"] == {
        "Pairs that may attend": f"{int(mask.sum())} of {n * n}",
        "Opened by the prefix": str(flat.count("opened")),
        "Leaked": str(flat.count("leaked")),
    }
    same = [
        name for name, rule in named_rules(explorer).items() if parse_rule(rule) == parse_rule(explorer.rule)
    ]
    assert drawn["pressed"] == same
    _shows_documents(drawn, explorer)


def _shows_documents(drawn: dict[str, Any], explorer: RuleExplorer) -> None:
    several = len(explorer.lengths) > 1
    for d, (length, p) in enumerate(zip(explorer.lengths, explorer.prefix_lens, strict=True)):
        pads = 0 if d else explorer.pads
        slider = drawn["sliders"][f"Document {d}: p" if several else "Prefix length p"]
        assert (slider["value"], slider["first"], slider["last"]) == (p, 0, length)
        said = f"{f'document {d}: ' if several else ''}prefix length {p} of {length}"
        assert (slider["words"], slider["figures"]) == (said, f"{p} of {length}")
        line = drawn["documents"][d]
        states = ["pad"] * pads + ["prefix"] * p + ["target"] * (length - p)
        assert line["states"] == states
        name = f"Document {d}" if several else "Tokens"
        about_pads = f"{pads} pad{'' if pads == 1 else 's'}, " if pads else ""
        assert line["name"] == f"{name}: {about_pads}prefix ({p}), target ({length - p})"
    window, n = drawn["sliders"]["Window w"], len(explorer.tokens)
    assert (window["value"], window["first"], window["last"]) == (explorer.window, 1, n)
    named = "window" in explorer.rule.lower()
    assert window["figures"] == (f"{explorer.window} of {n}" if named else f"{explorer.window}, unused")
    unused = "" if named else ", not in the rule"
    assert window["words"] == f"window {explorer.window} of {n}{unused}"


def move_prefix(d: int, explorer: RuleExplorer, p: int) -> None:
    """Set the prefix length of one document."""
    explorer.prefix_lens = (*explorer.prefix_lens[:d], p, *explorer.prefix_lens[d + 1 :])


def make_hard(tokens: Sequence[str]) -> RuleExplorer:
    """Two documents of the given tokens, both with a prefix and a target, and a rule that leaks."""
    return RuleExplorer([tokens[:4], tokens[4:]], [2, 3], pads=1, rule=NAMED["Close, then open"])


KIND = Kind(
    make=lambda: RuleExplorer(
        [["Who", "sings", "?", "Bo"], ["cat", "K", "T"]], [3, 1], pads=2, rule=NAMED["Window first"]
    ),
    make_hard=make_hard,
    shows=shows,
    sliders=lambda explorer: [
        *[
            Slider(
                f"Document {d}: p" if len(explorer.lengths) > 1 else "Prefix length p",
                last=lambda explorer, d=d: explorer.lengths[d],
                value=lambda explorer, d=d: explorer.prefix_lens[d],
                move=lambda explorer, p, d=d: move_prefix(d, explorer, p),
            )
            for d in range(len(explorer.lengths))
        ],
        trait_slider("Window w", "window", lambda explorer: len(explorer.tokens), first=1),
    ],
    cells=lambda drawn: [grid["cells"] for grid in drawn["grids"]],
    png_cells=lambda explorer: kinds_in(explorer.picture(), len(explorer.tokens)),
    choices=[
        Choice(name, lambda explorer, rule=rule: setattr(explorer, "rule", rule))
        for name, rule in NAMED.items()
    ],
)
