"""Traces of the source: does any byte of a release hold a text that it must not?

Enters: a case. Leaves: findings. Must not know: how a release is read.

Knows: every byte of the release. Claim: no text of the publisher is in it that was not published.
A text that the release may hold anyway is not a secret: a value of a published column or a
substring of one, a name of a column, a word that the program writes into every release. The others
are searched for as they are, in hexadecimal and in base 64, in upper and lower case. A short text
can occur in compressed bytes by chance; random bytes hold a given text of n letters at a given
place with probability 256^-n, or 128^-n if case does not matter, and the p-value of the finding
accounts for that.
"""

from __future__ import annotations

import base64
import getpass
import socket
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from countveil.auditing.case import AuditCase
from countveil.auditing.findings import Finding, Outcome, none_expected
from countveil.engines.local.release_files import everything_in
from countveil.publishing.publisher import run_publish
from countveil.publishing.settings import Protecting, Writing
from countveil.randomness import Stream
from countveil.release import read_manifest
from countveil.tables import Shaping

NAME = "implementation"
KNOWS = "every byte of the release"

_TEXT = ("string", "large_string")
_WHOLE = ("int", "uint")
_LEAST_LETTERS, _LEAST_DIGITS = 6, 10
_MOST_SOUGHT, _MOST_OF_A_COLUMN = 400, 200
# Ignoring case, and as it is. The longer forms add little.
_BASES, _FORMS_FACTOR = (128, 256), 1.1


def attack(case: AuditCase, _stream: Stream) -> Outcome:
    """Search the release for the publisher's texts, by kind; is it seeded?"""
    content = everything_in(case.folder)
    findings = []
    for kind, texts in _secrets(case).items():
        hits = occurring(content, texts)
        findings.append(Finding(
            NAME, f"find {kind}", KNOWS, "search every byte", "0", float(len(hits)),
            "texts found", p_value=chance_p_value(content, texts, hits),
            note=f"{len(texts):,} texts sought in {len(content):,} bytes, stored and unpacked",
        ))  # fmt: skip
    if not case.planned:
        seeded = read_manifest(case.folder).randomness == "seeded"
        findings.append(none_expected(
            NAME, "redo the draw from its seed", KNOWS, "read the manifest", int(seeded),
            "seeds used",
            "a seeded release is for experiments: who knows or guesses the seed undoes it",
        ))  # fmt: skip
    return Outcome(findings)


def forms(text: str) -> list[bytes]:
    """A text as it might occur in a file."""
    raw = text.encode()
    return [raw, raw.hex().encode(), base64.b64encode(raw).rstrip(b"=")]


def occurring(content: bytes, needles: Iterable[str]) -> list[str]:
    """Which of these texts occur, in any of their forms, upper or lower case."""
    lower = content.lower()
    return [text for text in needles if any(form.lower() in lower for form in forms(text))]


def chance_p_value(content: bytes, needles: Sequence[str], hits: Sequence[str]) -> float:
    """How likely a text as improbable as the most improbable hit occurs by chance.

    The sum over all needles that are at least as improbable: whatever the number of needles, this
    is a valid p-value.
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


def place_names(paths: Sequence[Path]) -> list[str]:
    """Names of this machine, its user and the source, which must not be in a release."""
    names = [socket.gethostname(), getpass.getuser(), str(Path.home())]
    for path in paths:
        names += [path.name, str(path), str(path.resolve().parent)]
    return [name for name in dict.fromkeys(names) if name != "localhost"]


def _secrets(case: AuditCase) -> dict[str, list[str]]:
    """Texts of the publisher that no byte of the release may hold, by kind."""
    open_text = _open_text(case)

    def secret(texts: Sequence[str]) -> list[str]:
        long = dict.fromkeys(text for text in texts if len(text) >= _LEAST_LETTERS)
        return [text for text in long if text.lower() not in open_text][:_MOST_SOUGHT]

    return {
        "values of dropped columns": secret(_dropped_values(case)),
        "sensitive values that the draw removed": secret(_sensitive_values(case)),
        "names of this place": secret(place_names(case.paths)),
    }


def _dropped_values(case: AuditCase) -> list[str]:
    published = {column.name for column in case.prepared.roles.published}
    dropped: list[str] = []
    for column in case.prepared.source.facts.columns:
        if column.name not in published and column.type.startswith((*_TEXT, *_WHOLE)):
            values = case.prepared.source.histogram(column.name).values
            least = _LEAST_LETTERS if column.type in _TEXT else _LEAST_DIGITS
            texts = [str(value) for value in values if value is not None]
            dropped += [text for text in texts if len(text) >= least][:_MOST_OF_A_COLUMN]
    return dropped


def _sensitive_values(case: AuditCase) -> list[str]:
    """All that occur in the table; those that the release names are public, and left out later."""
    texts: list[str] = []
    for column in case.target.columns:
        values = case.truth[column.name].values
        occur = [values[place] for place in np.flatnonzero(column.counts).tolist()]
        texts += [str(value) for value in occur if value is not None]
    return texts


def _open_text(case: AuditCase) -> str:
    """What the release may hold anyway, in lower case."""
    published = {column.name for column in case.prepared.roles.published}
    sensitive = {column.name for column in case.target.columns}
    plain = [name for name in published if name in case.truth and name not in sensitive]
    unchanged = [str(value) for name in plain for value in case.truth[name].values]
    named = [str(v) for entry in case.manifest.sensitive.values() for v in entry.domain]
    program = program_text(case.scratch / "program")
    return "\n".join([*unchanged, *named, *published, program]).lower()


def program_text(folder: Path) -> str:
    """What the program writes into every release."""
    table = pa.table({"a": list(range(4)), "b": ["0", "1", "2", "3"]})
    kept = Shaping(keep=("a", "b"))
    run_publish(
        table, Protecting.of({"b": 2}), Writing.of(folder, again=True, record=False), shaping=kept
    )
    return everything_in(folder).decode(errors="replace")
