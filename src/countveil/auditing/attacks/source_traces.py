"""What must not be in a release: the publisher's own texts, and how likely one is there by chance.

Enters: a prepared table, a target, texts. Leaves: texts to look for, by kind; p-values. Must not
know: how a release is read.

A text that the release may hold anyway is no secret: a value, or part of one, of a published
column, a name of a column, a word that the program writes into every release. The rest is looked
for as it is, in hexadecimal and in base 64, in upper and lower case. A short text can stand in
compressed bytes by chance; random bytes hold a given text of n letters at a given place with
probability 256^-n, or 128^-n if case does not matter, and the finding's p-value counts that.
"""

from __future__ import annotations

import base64
import getpass
import socket
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from countveil.auditing.linking import TrueColumn
from countveil.auditing.target import Target
from countveil.publishing.prepare import LocalPreparedTable

_TEXT = ("string", "large_string")
_WHOLE = ("int", "uint")
_LEAST_LETTERS, _LEAST_DIGITS = 6, 10
_MOST_SOUGHT, _MOST_OF_A_COLUMN = 400, 200
# Letters alike in either case, and as they are. The longer forms add little.
_BASES, _FORMS_FACTOR = (128, 256), 1.1


def forms(text: str) -> list[bytes]:
    """A text as it might stand in a file."""
    raw = text.encode()
    return [raw, raw.hex().encode(), base64.b64encode(raw).rstrip(b"=")]


def found_in(content: bytes, needles: Iterable[str]) -> list[str]:
    """Which of these texts occur, in any of their forms, upper or lower case."""
    lower = content.lower()
    return [text for text in needles if any(form.lower() in lower for form in forms(text))]


def chance_p_value(content: bytes, needles: Sequence[str], hits: Sequence[str]) -> float:
    """How likely texts that are as hard to hit as the hardest one found occur by chance.

    The sum over all needles that are at least as hard to hit: whatever the number of needles, the
    result is small by chance with no more than its own probability.
    """
    size = _FORMS_FACTOR * len(content)
    likely = {
        (text, base): size * base ** -float(len(text.encode()))
        for text in needles
        for base in _BASES
    }
    bounds = np.sort(np.array(list(likely.values())))
    sums = np.cumsum(bounds)
    happened = [likely[text, 128] for text in hits]
    happened += [likely[text, 256] for text in hits if any(form in content for form in forms(text))]
    places = np.searchsorted(bounds, happened, side="right") - 1
    return float(min(1.0, sums[places].min(initial=1.0)))


def own_names(paths: Sequence[Path]) -> list[str]:
    """Names of this place that have no business in a release."""
    names = [socket.gethostname(), getpass.getuser(), str(Path.home())]
    for path in paths:
        names += [path.name, str(path), str(path.resolve().parent)]
    return [name for name in dict.fromkeys(names) if name != "localhost"]


def secrets(
    prepared: LocalPreparedTable,
    truth: Mapping[str, TrueColumn],
    target: Target,
    paths: Sequence[Path],
    *,
    public: Sequence[Any],
    program: str,
) -> dict[str, list[str]]:
    """Texts of the publisher that no byte of the release may hold, by kind.

    `public` are the values that the release names, `program` is what the program writes into any.
    """
    published = {column.name for column in prepared.roles.published}
    hidden: list[str] = []
    for column in prepared.source.columns:
        if column.name not in published and column.type.startswith((*_TEXT, *_WHOLE)):
            values = prepared.source.histogram(column.name).values
            least = _LEAST_LETTERS if column.type in _TEXT else _LEAST_DIGITS
            texts = [str(value) for value in values if value is not None]
            hidden += [text for text in texts if len(text) >= least][:_MOST_OF_A_COLUMN]
    removed: list[str] = []
    for own in target.sensitive:
        values = truth[own.name].values
        # Those that the release names are open, and left out below.
        had = [values[place] for place in np.flatnonzero(own.counts).tolist()]
        removed += [str(value) for value in had if value is not None]
    plain = [name for name in published if name in truth and name not in _names(target)]
    may = [str(value) for name in plain for value in truth[name].values]
    open_text = "\n".join([*may, *map(str, public), *published, program]).lower()

    def secret(texts: Sequence[str]) -> list[str]:
        known = dict.fromkeys(text for text in texts if len(text) >= _LEAST_LETTERS)
        return [text for text in known if text.lower() not in open_text][:_MOST_SOUGHT]

    return {
        "values of dropped columns": secret(hidden),
        "sensitive values that the draw removed": secret(removed),
        "names of this place": secret(own_names(paths)),
    }


def _names(target: Target) -> set[str]:
    return {column.name for column in target.sensitive}
