"""The mask algebra explorer without a browser: its values, its errors, its picture."""

from __future__ import annotations

from typing import Any

import ipywidgets
import pytest
import torch
from pixels import kinds_in
from shown_rule import NAMED, kinds_of, named_rules, verdict_of
from traitlets import TraitError

from prefixlm_teach import RuleExplorer, create_prefix_lm_mask, describe_mask, find_leaks, mask_parts
from prefixlm_teach.widgets import rule as rule_module

ANSWER = ["Who", "sings", "?", "Bo", "."]
PACKED = [["Who", "sings", "?", "Bo"], ["cat", "K", "T"]]
SETTINGS = [(PACKED, [3, 1], 2), (PACKED, [0, 3], 0), ([ANSWER], [3], 2), ([ANSWER], [3], 0)]
ALL = [
    pytest.param(documents, prefix_lens, pads, name, id=f"{len(documents)} documents, {pads} pads: {name}")
    for documents, prefix_lens, pads in SETTINGS
    for name in named_rules(RuleExplorer(documents, prefix_lens, pads=pads))
]


@pytest.mark.parametrize(("documents", "prefix_lens", "pads", "name"), ALL)
def test_the_wrong_rules_among_the_named_leak_and_the_right_ones_do_not(
    documents: list[list[str]], prefix_lens: list[int], pads: int, name: str
) -> None:
    explorer = RuleExplorer(documents, prefix_lens, pads=pads, window=2)
    explorer.rule = named_rules(explorer)[name]
    right = ("Causal", "Open, then close", "Prefix", "Window last")
    assert bool(explorer.faults) == (name not in right)


@pytest.mark.parametrize("name", NAMED)
def test_the_picture_shows_each_named_rule_and_what_leaks(name: str) -> None:
    explorer = RuleExplorer(PACKED, [3, 1], pads=2, window=2, rule=NAMED[name])
    picture = explorer.picture()
    assert kinds_in(picture, 9) == [kinds_of(explorer)]
    assert picture.alt.startswith(f"Rule: {explorer.rule}. ")
    assert picture.alt.endswith(f"{int(explorer.mask.sum())} of 81 pairs may attend. {verdict_of(explorer)}")


def test_the_explorer_says_what_python_says() -> None:
    explorer = RuleExplorer(PACKED, [3, 1], pads=2, window=3, rule="causal and window or prefix")
    parts = mask_parts([4, 3], [3, 1], window=3, pads=2)
    assert torch.equal(explorer.mask, parts["causal"] & parts["window"] | parts["prefix"])
    assert explorer.description == describe_mask(explorer.mask)
    leaks = find_leaks("causal and window or prefix", parts)
    assert explorer.faults == {law: int(cells.sum()) for law, cells in leaks.items()}
    assert list(explorer.faults) == [
        "Pads are visible",
        "Another document is visible",
        "Keys beyond the window are visible",
    ]


def test_it_begins_with_the_rule_that_is_right() -> None:
    explorer = RuleExplorer([ANSWER], [3], pads=2)
    valid = torch.tensor([[False, False, *[True] * 5]])
    assert torch.equal(explorer.mask, create_prefix_lm_mask(7, 3, valid=valid)[0, 0])
    assert explorer.faults == {}
    assert explorer.tokens == ("<pad>", "<pad>", *ANSWER)
    assert explorer.documents == (tuple(ANSWER),)
    assert explorer.window == 3
    assert RuleExplorer([["a"]], [0]).window == 1
    assert RuleExplorer(PACKED, [1, 1]).documents == tuple(map(tuple, PACKED))


def test_the_words_for_the_picture() -> None:
    explorer = RuleExplorer(PACKED, [3, 1], pads=1, rule="(causal and\n document and valid) or prefix")
    assert explorer.picture().alt == (
        "Rule: (causal and document and valid) or prefix. Document 0: 1 pad, prefix (3) “Who sings ?”, "
        "target (1) “Bo”. Document 1: prefix (1) “cat”, target (2) “K T”. Window 3, not in the rule. "
        "Mask: 8 rows (queries) by 8 columns (keys): rows 0 to 3 see columns 0 to 3 and 5; row 4 sees "
        "columns 0 to 5; rows 5 to 7 see columns 0 to 3 and 5 up to their own. 44 of 64 pairs may attend. "
        "Pads are visible: 8 cells. Another document is visible: 14 cells."
    )
    assert repr(explorer) == (
        "RuleExplorer('(causal and\\n document and valid) or prefix', 8 tokens, prefix_lens=[3, 1], window=3)"
    )
    alone = RuleExplorer([ANSWER], [0], rule="window").picture().alt
    assert "Tokens: prefix (0), target (5) “Who sings ? Bo .”. Window 3. Mask:" in alone


def test_the_picture_says_the_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    explorer = RuleExplorer(PACKED, [3, 1], pads=2, rule=NAMED["Close, then open"])
    written: list[str] = []
    plain = rule_module.write
    monkeypatch.setattr(
        rule_module, "write", lambda *all_, **style: [written.append(all_[3]), plain(*all_, **style)]
    )
    explorer.picture()
    kinds = [kind for row in kinds_of(explorer) for kind in row]
    for name, count in {
        "Pairs that may attend": f"{int(explorer.mask.sum())} of 81",
        "Opened by the prefix": str(kinds.count("opened")),
        "Leaked": str(kinds.count("leaked")),
    }.items():
        assert written[written.index(name) + 1] == count
    assert written[0] == explorer.rule
    assert written[-1] == verdict_of(explorer)


@pytest.mark.parametrize("rule", ["(" * 20 + "causal" + ")" * 20, "valid or " * 21 + "causal"])
def test_the_longest_rules_have_a_picture(rule: str) -> None:
    explorer = RuleExplorer(PACKED, [3, 1], rule=rule)
    assert kinds_in(explorer.picture(), 7) == [kinds_of(explorer)]


def test_many_tokens_have_a_picture() -> None:
    tokens = [f"w{t}" for t in range(60)]
    picture = RuleExplorer([tokens, tokens], [20, 30], pads=8).picture()
    assert "Document 1: prefix (30), target (30)." in picture.alt
    assert picture.png


BAD = [
    ("rule", "casual", ValueError, "I don't know “casual” (character 1 of the rule): the parts are"),
    ("rule", "", ValueError, "the rule is empty"),
    ("rule", None, TypeError, "rule must be a string, not NoneType"),
    ("rule", 3, TypeError, "rule must be a string, not int (3)"),
    ("rule", "~" * 201, ValueError, "the rule has 201 characters: 200 are the most"),
    ("prefix_lens", [5, 1], ValueError, "prefix_lens[0] is 5, longer than document 0 (4 tokens)"),
    ("prefix_lens", [3, -1], ValueError, "prefix_lens[1] must be at least 0, not -1"),
    ("prefix_lens", [3], ValueError, "prefix_lens is for 1 documents, but there are 2"),
    ("prefix_lens", 3, TypeError, "one per document, not int (3): use [3]"),
    ("prefix_lens", "31", TypeError, "one per document, not str ('31')"),
    ("prefix_lens", [3, 1.0], TypeError, "prefix_lens[1] must be a whole number, not float (1.0)"),
    ("window", 0, ValueError, "window must be at least 1, not 0"),
    ("window", 10, ValueError, "window 10 is longer than the sequence (9 tokens)"),
    ("window", 2.0, TypeError, "window must be a whole number, not float (2.0)"),
    ("window", True, TypeError, "window must be a whole number, not bool (True)"),
]


@pytest.mark.parametrize(
    ("trait", "value", "error", "words"), BAD, ids=[f"{row[0]} {row[1]!r:.20}" for row in BAD]
)
def test_a_bad_value_raises_and_the_old_one_stays(
    trait: str, value: Any, error: type[Exception], words: str
) -> None:
    explorer = RuleExplorer(PACKED, [3, 1], pads=2)
    before = explorer.state()
    for set_it in (
        lambda: setattr(explorer, trait, value),
        lambda: explorer.set_state({trait: value}),
        lambda: RuleExplorer(PACKED, **{"prefix_lens": [3, 1], "pads": 2, trait: value}),
    ):
        with pytest.raises(error) as raised:
            set_it()
        assert words in str(raised.value)
        assert explorer.state() == before


@pytest.mark.parametrize(
    ("documents", "pads", "error", "words"),
    [
        ([], 0, ValueError, "documents is empty"),
        ("a b", 0, TypeError, "documents must be a list of lists of tokens, not str ('a b')"),
        (
            ["a", "b"],
            0,
            TypeError,
            "documents[0] must be a list of strings, one per token, not str ('a'): one list alone",
        ),
        ([["a"], 3], 0, TypeError, "documents[1] must be a list of strings, one per token, not int (3)"),
        ([["a"], []], 0, ValueError, "documents[1] is empty"),
        ([["a", 2]], 0, TypeError, "documents[0] must be strings, but token 1 is int (2)"),
        ([["a"]], -1, ValueError, "pads must be at least 0, not -1"),
        ([["a"]], 1.5, TypeError, "pads must be a whole number, not float (1.5)"),
    ],
)
def test_bad_documents_are_named(documents: Any, pads: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as raised:
        RuleExplorer(documents, [0], pads=pads)
    assert words in str(raised.value)


@pytest.mark.parametrize("trait", ["tokens", "lengths", "pads"])
def test_the_documents_stay_as_they_are(trait: str) -> None:
    with pytest.raises(TraitError, match="read-only"):
        setattr(RuleExplorer(PACKED, [3, 1]), trait, ())


def test_it_can_be_observed_linked_and_set_from_the_browser() -> None:
    explorer, text = RuleExplorer(PACKED, [3, 1]), ipywidgets.Text("causal")
    seen: list[str] = []
    explorer.observe(lambda change: seen.append(change.new), "rule")
    ipywidgets.link((text, "value"), (explorer, "rule"))
    explorer.set_state({"rule": "causal or prefix", "prefix_lens": [2, 0], "window": 5})
    assert text.value == "causal or prefix"
    assert seen == ["causal", "causal or prefix"]
    assert (explorer.prefix_lens, explorer.window) == ((2, 0), 5)
    ipywidgets.jslink((text, "value"), (explorer, "rule"))  # raises where a trait is not synced
