"""What values look like by themselves: addresses, check digits, dates of birth, names, odd cells.

Enters: up to a thousand different values of a column; for odd cells, also which rows have which.
Leaves: what they look like, in words; None if they look ordinary. Must not know: what the column's
name means, other columns. No value leaves but marks that mean a missing one.

**Odd cells.** Text that would be numbers, or dates, but for a few cells: how many these are, and
the first row that has one.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.errors import option
from countveil.publishing.safety.vocabulary import MISSING_MARKS
from countveil.release.values import TEXT, kind_of
from countveil.tables import Column
from countveil.tables.classes import NUMBER_TEXT
from countveil.tables.encoded.survey import CodedColumn

Digits = NDArray[np.int64]

IDENTIFIERS = {
    "e-mail addresses": r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}",
    "national numbers": (
        r"\d{3}-\d{2}-\d{4}|[A-Za-z]{2} ?\d{2} ?\d{2} ?\d{2} ?[A-Da-d]|(\d{2})?\d{6}[-+A]\d{3}\w"
        r"|[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z]|([XYZ]\d|\d{2})\d{6}-?[A-Z]"
        r"|\d{3}\.\d{3}\.\d{3}-\d{2}|756\.\d{4}\.\d{4}\.\d{2}|\d{3} \d{3} \d{4}"
    ),
    "phone numbers": (
        r"(?=(\D*\d){8})\+?\(?\d{1,4}\)?[ ./-]\(?\d{2,5}\)?([ ./-]?\d{2,5}){1,4}|\+\d{8,15}"
    ),
    "account numbers": r"[A-Z]{2}\d{2}( ?[A-Z0-9]{4}){3,7}( ?[A-Z0-9]{1,3})?",
    "random identifiers": r"[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|[0-9a-f]{32,64}",
    "network addresses": r"(\d{1,3}\.){3}\d{1,3}|([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}",
    "web addresses": r"https?://\S+",
}
# Five digits alone may be a county as well: those are known by their name only.
_POSTCODE = (
    r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}|[A-Z]\d[A-Z] ?\d[A-Z]\d|\d{4} ?[A-Z]{2}|\d{5}-\d{3,4}"
    r"|\d{2}-\d{3}|\d{4}-\d{3}|(D|A|CH|F|I)-\d{4,5}"
)
_DATE = r"\d{4}[-./]\d{1,2}[-./]\d{1,2}|\d{1,2}[-./]\d{1,2}[-./]\d{4}"
_DECIMAL = r"\s*|[+-]?\d+[.,]\d+|(\d{1,3}:)?\d{1,2}:\d{2}([.,]\d+)?"
_WORD = r"[^\W\d_a-z][\w'\u2019.-]*"
_NAME = rf"{_WORD}(,? (van|von|de|der|den|da|di|del|la|le|zu|bin|al|y|{_WORD})){{1,4}}"
_MOST = 0.9
# Fewer different values than this show no rule, whatever they are.
LEAST_VALUES = 30
_LEAST_BIRTHS, _LEAST_DECADES = 150, 4.5
_LEAST_DIGITS, _MOST_DIGITS = 8, 19
# Fewer numbers than this show neither a bell curve nor how their digits are spread.
LEAST_NUMBERS, _LEAST_LENGTH = 200, 6
_BELL = 0.04
# So large a share of the cells, and so many of them, say what a column should hold.
_NEARLY_ALL, _LEAST_CELLS = 0.95, 20
# Among codes such as 250.1 there are some such as V57.
_CODE = re.compile(r"[A-Za-z]{1,3}[0-9][0-9.]*")


@dataclass(frozen=True, slots=True)
class OddCells:
    """Cells that are not what all others of a column are; rows are counted from 1."""

    column: str
    kind: str
    cells: int
    known: int
    first_row: int
    sampled: bool

    @property
    def sentence(self) -> str:
        """For the publisher."""
        are = "is not one" if self.cells == 1 else "are not"
        where = (
            f"{self.cells:,} of {self.known:,} cells that were looked at {are}"
            if self.sampled
            else f"{self.cells:,} of {self.known:,} cells {are} (the first in row "
            f"{self.first_row:,}, counted from 1 without a header)"
        )
        return (
            f"{self.column!r} would hold {self.kind}s, but {where}, so all of it is taken as text. "
            f"Correct the cells, or name what stands for a missing value with {option('missing')}."
        )


def identifier_pattern(texts: Sequence[str]) -> str | None:
    """What most of the texts look like, if that is a direct identifier."""
    if share_of(_DATE, texts) > 0.5 or are_decimals(texts):
        return None
    return next((what for what, form in IDENTIFIERS.items() if share_of(form, texts) > 0.5), None)


def are_decimals(texts: Sequence[str]) -> bool:
    """Whether these are measurements or times of a clock that are kept as text."""
    return share_of(_DECIMAL, texts) > 0.5


def are_postcodes(texts: Sequence[str]) -> bool:
    """Whether these are postcodes of a country that writes them like nothing else."""
    return share_of(_POSTCODE, texts) > _MOST


def are_names(texts: Sequence[str]) -> bool:
    """Whether these are several capitalised words each, without any sign of a phrase."""
    return share_of(_NAME, texts) > 0.8


def share_of(form: str, texts: Sequence[str]) -> float:
    """The share of texts that have this form."""
    matching = sum(len(text) <= 200 and re.fullmatch(form, text) is not None for text in texts)
    return matching / max(len(texts), 1)


def dates_in(values: Sequence[Any]) -> list[dt.date | None]:
    """The values as days, if nearly all are: dates, texts and numbers such as 19870304.

    Those that are not are None.
    """
    few = values[:: max(1, len(values) // 20)]
    if sum(_day(value) is not None for value in few) < _MOST * len(few):
        return []
    days = [_day(value) for value in values]
    return days if sum(day is not None for day in days) > _MOST * len(values) else []


def could_be_births(days: Sequence[dt.date], rows: Digits, distinct: int) -> bool:
    """Whether days are spread over the lives of people: many decades, and none in the future.

    `rows` says how many rows have each of the days.
    """
    if distinct < _LEAST_BIRTHS or len(days) < _LEAST_BIRTHS:
        return False
    years = np.array([day.toordinal() for day in days]) / 365.25
    order = np.argsort(years)
    reached = np.cumsum(rows[order]) / rows.sum()
    first, middle, last = years[order][np.searchsorted(reached, [0.05, 0.5, 0.95])]
    if max(days) > dt.datetime.now(dt.UTC).date() or last - first < 10 * _LEAST_DECADES:
        return False
    if rows.max() == 1 and distinct**2 > 40 * 365.25 * (last - first):
        # So many births would share some days by chance: these are the days of a series.
        return False
    # What is recorded as it happens is mostly of the last years; births are spread evenly.
    return bool(0.3 < (middle - first) / (last - first) < 0.75)


def check_digit(values: Sequence[Any]) -> str | None:
    """The rule that nearly all these numbers meet, one of ten if chance alone made them."""
    digits = _digits(values)
    if digits is None or digits.shape[0] < LEAST_VALUES:
        return None
    for name, meets in _RULES.items():
        met = meets(digits)
        if met is not None and float(met.mean()) >= _MOST:
            return name
    return None


def looks_measured(numbers: NDArray[np.float64]) -> bool:
    """Amounts and counts: their sizes, or the logarithms of these, lie on a bell curve.

    Or they have three lengths and more. Numbers that somebody gave out are spread evenly, and
    nearly all of them have one of two lengths.
    """
    lengths = np.bincount([len(str(abs(int(number)))) for number in numbers]) / numbers.size
    if (lengths >= 0.1).sum() >= 3 or _off_the_bell(numbers) < _BELL:
        return True
    return bool(numbers.min() > 0) and _off_the_bell(np.log(numbers)) < _BELL


def _off_the_bell(numbers: NDArray[np.float64]) -> float:
    """How far the distribution is from a normal one, by Kolmogorov; 0.06 if it is even."""
    spread = float(numbers.std())
    if numbers.size < LEAST_NUMBERS or not spread:
        return 1.0
    places = (np.sort(numbers) - numbers.mean()) / spread
    normal = np.array([0.5 * (1 + math.erf(place / math.sqrt(2))) for place in places])
    reached = (np.arange(numbers.size) + 0.5) / numbers.size
    return float(np.abs(normal - reached).max())


def looks_issued(numbers: NDArray[np.float64]) -> bool:
    """Numbers that somebody gave out: equally long, no digit preferred at the end."""
    if numbers.size < LEAST_NUMBERS or numbers.min() <= 0 or numbers.max() >= 2**53:
        return False
    lengths = np.bincount(np.floor(np.log10(numbers)).astype(int) + 1)
    endings = np.bincount(numbers.astype(np.int64) % 10, minlength=10) / numbers.size
    usual = int(np.argmax(lengths))
    alike = lengths[usual] / numbers.size > _NEARLY_ALL
    return bool(usual >= _LEAST_LENGTH and alike and endings.max() < 0.15 and endings.min() > 0.05)


def looks_missing(examples: Sequence[Any]) -> list[str]:
    """Texts among the values that often mean a missing value."""
    return [v for v in examples if isinstance(v, str) and v.strip().lower() in MISSING_MARKS]


def find_odd_cells(
    columns: Sequence[Column], rows: int, sample: Mapping[str, CodedColumn]
) -> list[OddCells]:
    """The columns of text that would be numbers or dates but for a few cells."""
    texts = [c.name for c in columns if kind_of(c.type) == TEXT and c.name in sample]
    cells = (_odd_cells(name, sample[name], rows) for name in texts)
    return [odd for odd in cells if odd is not None]


def _odd_cells(name: str, coded: CodedColumn, rows: int) -> OddCells | None:
    if coded.distinct != len(coded.examples):
        # Only some of the values are known; without all of them cells cannot be counted.
        return None
    first = int(coded.missing > 0)
    counts = np.bincount(coded.codes, minlength=coded.distinct + first)[first:]
    known = int(counts.sum())
    for kind, is_one in (("number", _is_number), ("date", _is_date)):
        fits = np.array([is_one(str(value)) for value in coded.examples], bool)
        odd = int(counts[~fits].sum())
        if odd == 0 or known - odd < max(_LEAST_CELLS, _NEARLY_ALL * known):
            continue
        exceptions = [value for value, fit in zip(coded.examples, fits, strict=True) if not fit]
        marks = looks_missing(exceptions)
        if len(marks) == len(exceptions) or any(_CODE.fullmatch(str(v)) for v in exceptions):
            return None
        marked = np.concatenate([np.zeros(first, bool), ~fits])[coded.codes]
        sampled = coded.codes.size < rows
        return OddCells(name, kind, odd, known, int(np.argmax(marked)) + 1, sampled)
    return None


def mostly_alike(examples: Sequence[object]) -> bool:
    """Whether values are texts of which nearly all are numbers, or dates."""
    texts = [value for value in examples if isinstance(value, str)]
    most = max(sum(map(_is_number, texts)), sum(map(_is_date, texts)))
    return bool(texts) and most >= _NEARLY_ALL * len(texts)


def _is_number(text: str) -> bool:
    return NUMBER_TEXT.fullmatch(text) is not None


def _is_date(text: str) -> bool:
    try:
        dt.date.fromisoformat(text.strip()[:10])
    except ValueError:
        return False
    return True


def _day(value: Any) -> dt.date | None:
    if isinstance(value, dt.datetime):
        return value.date() if value.time() == dt.time() else None
    if isinstance(value, dt.date):
        return value
    text = str(value).strip()
    if not isinstance(value, bool) and re.fullmatch(r"(19|20)\d{6}", text):
        text = f"{text[:4]}-{text[4:6]}-{text[6:]}"
    parts = re.split(r"[-./]", text)
    if re.fullmatch(_DATE, text) is None:
        return None
    year, month, day = map(int, parts if len(parts[0]) == 4 else parts[::-1])
    month, day = (day, month) if month > 12 else (month, day)
    try:
        return dt.date(year, month, day)
    except ValueError:
        return None


def _digits(values: Sequence[Any]) -> Digits | None:
    """One line of digits for each number, right-aligned; None if they are not such numbers."""
    texts = [re.sub(r"[ ./-]", "", str(whole(value))) for value in values]
    texts = [text for text in texts if text.isascii() and text.isdigit()]
    longest = max(map(len, texts), default=0)
    if not _LEAST_DIGITS <= longest <= _MOST_DIGITS or len(texts) < _MOST * len(values):
        return None
    # A number loses its leading zeros, so a tenth may be shorter.
    if sum(len(text) >= longest - 1 for text in texts) < _MOST * len(texts):
        return None
    return np.array([list(text.zfill(longest)) for text in texts], np.int64)


def whole(value: Any) -> Any:
    """A whole number that a missing value beside it made a fraction: 12.0 is 12."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _luhn(digits: Digits) -> NDArray[np.bool_]:
    doubled = digits[:, ::-1].copy()
    doubled[:, 1::2] *= 2
    return np.asarray((doubled // 10 + doubled % 10).sum(axis=1) % 10 == 0)


def _pairs_mod_97(digits: Digits) -> NDArray[np.bool_] | None:
    """The last two digits complete the others to a multiple of 97."""
    if digits.shape[1] not in (11, 15):
        return None
    powers = 10 ** np.arange(digits.shape[1] - 3, -1, -1)
    front, last = digits[:, :-2] @ powers, digits[:, -2] * 10 + digits[:, -1]
    return np.asarray(((front + last) % 97 == 0) | ((2 * 10**9 + front + last) % 97 == 0))


def _mod_11_10(digits: Digits) -> NDArray[np.bool_] | None:
    if digits.shape[1] != 11:
        return None
    product = np.full(digits.shape[0], 10)
    for column in digits[:, :-1].T:
        total = (column + product) % 10
        product = np.where(total == 0, 10, total) * 2 % 11
    return np.asarray((11 - product) % 10 == digits[:, -1])


def _weighted(modulus: int, *weights: int) -> Callable[[Digits], NDArray[np.bool_] | None]:
    """Digits times weights sum to a multiple of the modulus."""

    def meets(digits: Digits) -> NDArray[np.bool_] | None:
        if digits.shape[1] != len(weights):
            return None
        return np.asarray(digits @ np.array(weights) % modulus == 0)

    return meets


# Of national numbers, mostly. Product numbers (EAN, ISBN) have other weights.
_RULES: dict[str, Callable[[Digits], NDArray[np.bool_] | None]] = {
    "Luhn": _luhn,
    "modulo 97": _pairs_mod_97,
    "modulo 11, 10": _mod_11_10,
    "modulo 11 (ten digits)": _weighted(11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1),
    "modulo 11 (ten digits, CPR)": _weighted(11, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1),
    "modulo 11 (nine digits)": _weighted(11, 9, 8, 7, 6, 5, 4, 3, 2, 1),
    "modulo 11 (nine digits, BSN)": _weighted(11, 9, 8, 7, 6, 5, 4, 3, 2, -1),
    "modulo 11 (CPF)": _weighted(11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
    "modulo 11 (fødselsnummer)": _weighted(11, 3, 7, 6, 1, 8, 9, 4, 5, 2, 1, 0),
    "modulo 10 (PESEL)": _weighted(10, 1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1),
}
