"""The small numbers that a link of play carries.

Enters: the query of a link. Leaves: whole numbers within bounds, and links with others. Must not
know: what any number is for. What a link must not carry is refused, by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from countveil.errors import SettingsError

_MOST_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Number:
    """A whole number of a link, and what it is where the link does not say."""

    name: str
    low: int
    high: int
    usual: int

    def read(self, text: str) -> int:
        """The number in a text, which must be within the bounds."""
        digits = text.isascii() and text.isdigit() and len(text) <= len(str(self.high))
        if not digits or not self.low <= int(text) <= self.high:
            shown = text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
            raise SettingsError(
                f"{self.name} must be a whole number from {self.low} to {self.high}, got "
                f"{shown!r}. Without it, {self.name} is {self.usual}."
            )
        return int(text)


def read_numbers(numbers: Sequence[Number], query: Sequence[tuple[str, str]]) -> dict[str, int]:
    """All numbers of a page, from what its link says."""
    known = {number.name: number for number in numbers}
    values = {number.name: number.usual for number in numbers}
    given: set[str] = set()
    for name, text in query:
        if name not in known or name in given:
            what = "is given twice" if name in given else "means nothing here"
            shown = name if len(name) <= _MOST_SHOWN else f"{name[:_MOST_SHOWN]}…"
            raise SettingsError(
                f"In this link {shown!r} {what}. What works, each once: {', '.join(known)}."
            )
        given.add(name)
        values[name] = known[name].read(text)
    return values


def link(path: str, values: Mapping[str, int]) -> str:
    """A link that carries these numbers."""
    query = "&".join(f"{name}={value}" for name, value in values.items())
    return f"{path}?{query}" if query else path
