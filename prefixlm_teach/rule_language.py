"""A small language for masks: parts joined by "and", "or" and "not".

The grammar, the loosest first, as in Python:

    rule = both { ("or" | "|") both }
    both = one { ("and" | "&") one }
    one  = { "not" | "~" } ( part | "(" rule ")" )
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from prefixlm_teach.rule_arguments import check_rule_text

PARTS = ("causal", "prefix", "window", "document", "valid")
SIGNS = {"&": "and", "|": "or", "~": "not"}
DEEPEST = 20  # parentheses inside each other
WORD = re.compile("[A-Za-z0-9_\u0080-\u009f\u00a1-\U0010ffff]+|[^ \t\n\r\u00a0]")


class _Word(NamedTuple):
    text: str  # as it was typed
    name: str
    place: int  # its first character, counted from 1

    def __str__(self) -> str:
        text = self.text if len(self.text) <= 20 else f"{self.text[:19]}…"
        return f"“{text}” (character {self.place} of the rule)"


class _Reader:
    """Reads the words of a rule from left to right, and puts them into the order in which they are done."""

    def __init__(self, words: Sequence[_Word]) -> None:
        self.words = words
        self.at = 0
        self.order: list[str] = []
        self.open: list[_Word] = []  # the parentheses around what is being read

    @property
    def name(self) -> str:
        return self.words[self.at].name if self.at < len(self.words) else ""

    def rule(self) -> None:
        self.joined("or", lambda: self.joined("and", self.one))

    def joined(self, name: str, read: Callable[[], None]) -> None:
        read()
        while self.name == name:
            self.at += 1
            read()
            self.order.append(name)

    def one(self) -> None:
        start = self.at
        while self.name == "not":
            self.at += 1
        nots = self.at - start
        if self.name == "(":
            self.inside()
        elif self.name in PARTS:
            self.order.append(self.name)
        else:
            raise ValueError(self.why_no_part())
        self.at += 1
        self.order += ["not"] * nots

    def inside(self) -> None:
        self.open.append(self.words[self.at])
        if len(self.open) > DEEPEST:
            raise ValueError(f"{self.open[-1]} is too deep: {DEEPEST} inside each other are the most")
        self.at += 1
        self.rule()
        if self.name != ")":
            raise ValueError(self.why_no_end())
        self.open.pop()

    def why_no_part(self) -> str:
        before = self.words[self.at - 1] if self.at else None
        if self.name in ("and", "or") and (before is None or before.name == "("):
            return f"{self.words[self.at]} has nothing before it"
        if before is None:
            return f"{self.words[self.at]} closes nothing"
        return f"{before} has nothing after it"

    def why_no_end(self) -> str:
        if not self.name:
            return f"{self.open[-1]} is never closed"
        if self.name == ")":
            return f"{self.words[self.at]} closes nothing"
        return f"there is no “and” or “or” before {self.words[self.at]}"


def parse_rule(rule: str) -> list[str]:
    """Put the words of a rule into the order in which they are done: causal or prefix is causal, prefix, or.

    Args:
        rule: parts (causal, prefix, window, document, valid) joined by `not`, `and`, `or` or by `~`, `&`,
            `|`, which bind as in Python, and parentheses; upper case or lower.

    Returns:
        The names in order: a part is laid on a pile, `not` turns the uppermost around, `and` and `or` put the
        two uppermost together.

    Raises:
        TypeError: `rule` is not a string.
        ValueError: it is not a rule; the message says what is wrong, and at which character.
    """
    check_rule_text(rule)
    known = f"the parts are {', '.join(PARTS)}, joined by and, or, not"
    words = []
    for found in WORD.finditer(rule):
        name = found.group().lower()
        words.append(_Word(found.group(), SIGNS.get(name, name), found.start() + 1))
        if words[-1].name not in (*PARTS, *SIGNS.values(), "(", ")"):
            raise ValueError(f"I don't know {words[-1]}: {known}")
    if not words:
        raise ValueError(f"the rule is empty: {known}")
    reader = _Reader(words)
    reader.rule()
    if reader.name:
        raise ValueError(reader.why_no_end())
    return reader.order


def check_rule(rule: Any) -> None:
    """Raise unless `rule` is a rule that `parse_rule` can read."""
    parse_rule(rule)
