"""What a page sent: the fields of a form, in the order in which they stood there.

Enters: a request. Leaves: texts by name. Must not know: any form. There are no files among them.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import parse_qsl

from starlette.requests import Request

from countveil.errors import SettingsError

_MOST_FIELDS = 5_000


class Form:
    """The fields of a form; a name may stand in it several times."""

    def __init__(self, fields: list[tuple[str, str]]) -> None:
        self._fields = fields

    @classmethod
    async def of(cls, request: Request) -> Form:
        """The form that a request carries."""
        body = await request.body()
        try:
            text = body.decode("ascii")
            fields = parse_qsl(
                text, keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS
            )
        except ValueError:
            raise SettingsError("What the page sent is not a form of the app.") from None
        return cls(fields)

    def text(self, name: str, default: str = "") -> str:
        """The text of a field, without blanks around it; the last one if there are several."""
        return ([value for key, value in self._fields if key == name] or [default])[-1].strip()

    def texts(self, name: str) -> list[str]:
        """All texts of a field that are not empty."""
        return [value.strip() for key, value in self._fields if key == name and value.strip()]

    def whole(self, name: str, lowest: int, highest: int, called: str = "") -> int | None:
        """A whole number, None where the field is empty; the page calls it `called`."""
        text = self.text(name)
        if not text:
            return None
        try:
            number = int(text)
        except ValueError:
            number = lowest - 1
        if not lowest <= number <= highest:
            raise SettingsError(
                f"{called or name} must be a whole number from {lowest:,} to {highest:,}, got "
                f"{text[:40]!r}."
            )
        return number

    def number(self, name: str, lowest: float, highest: float, called: str = "") -> float | None:
        """A number, None where the field is empty; the page calls it `called`."""
        text = self.text(name)
        if not text:
            return None
        try:
            number = float(text)
        except ValueError:
            number = float("nan")
        if not lowest <= number <= highest:
            raise SettingsError(
                f"{called or name} must be a number from {lowest:g} to {highest:g}, got "
                f"{text[:40]!r}."
            )
        return number

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._fields)
