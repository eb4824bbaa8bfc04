"""What a check says: not attempted, right, or wrong with the reason; as text, and with a picture."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from prefixlm_teach.pictures import Picture

State = Literal["not attempted", "right", "wrong"]
SIGNS = {"not attempted": "○", "right": "✓", "wrong": "✗"}
COLORS = {"not attempted": "#59636e", "right": "#00704f", "wrong": "#d55e00"}


@dataclass(frozen=True)
class Verdict:
    """What a check found. It is true where the answer is right.

    Attributes:
        number: the exercise, as "1.2".
        state: "not attempted", "right" or "wrong".
        sentence: what to say to the learner.
        picture: what is wanted and the learner's answer, side by side, where there is a picture of them.
        printed: what the learner's code printed.
    """

    number: str
    state: State
    sentence: str = ""
    picture: Picture | None = None
    printed: str = ""

    def __bool__(self) -> bool:
        return self.state == "right"

    @property
    def head(self) -> str:
        """The exercise and the verdict in a few words."""
        return f"{SIGNS[self.state]} Exercise {self.number}: {self.state}."

    def __repr__(self) -> str:
        lines = [f"{self.head} {self.sentence}".strip()]
        if self.printed:
            lines.append(f"Your code printed: {self.printed.rstrip()}")
        if self.picture:
            lines.append(self.picture.alt)
        return "\n".join(lines)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """Give a notebook the verdict with its picture, and everybody else the words."""
        parts = [
            f'<p><strong style="border-left: 4px solid {COLORS[self.state]}; padding-left: 0.5em">'
            f"{html.escape(self.head)}</strong> {html.escape(self.sentence)}</p>"
        ]
        if self.printed:
            parts.append(f"<p>Your code printed:</p><pre>{html.escape(self.printed.rstrip())}</pre>")
        if self.picture:
            parts.append(str(self.picture._repr_mimebundle_()[0]["text/html"]))
        return {"text/plain": repr(self), "text/html": "".join(parts)}
