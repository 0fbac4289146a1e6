"""What files of Stata and SPSS hold beside their rows: labels of columns and values.

Enters: a manifest. Leaves: for the format of its data files, the label of every column, the labels
of numbers, and the codes that stand in the files for texts. Must not know: rows, other formats.

Where codes were replaced by labels, the files hold the codes again, with their labels, as the
source did. That is done only where every published value has a code, and where the program keeps
code and label exactly; otherwise the files hold the labels as texts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from countveil.release.formats.stata_spss import SPSS, STATA, StoredLabels
from countveil.release.manifest import Manifest
from countveil.release.steps import Mapped, code_text
from countveil.release.values import NUMBER, TEXT, format_of, kind_of

_PROGRAMS = {"dta": STATA, "sav": SPSS}
# Most characters (Stata) or bytes (SPSS) of the label of a column, most bytes of that of a value.
_LONGEST_NAME, _LONGEST_VALUE = {STATA: 80, SPSS: 256}, {STATA: 32_000, SPSS: 120}
# Stata has labels for whole numbers of 32 bits, without those that mean a missing value.
_LARGEST_CODE = {STATA: 2_147_483_620.0, SPSS: float(1 << 53)}
_MOST_LABELS = 65_000


def stored_labels(manifest: Manifest, program: str | None = None) -> StoredLabels:
    """What the data files hold; `program` says the format while there are none yet."""
    if program is None and manifest.files:
        program = _PROGRAMS.get(format_of(manifest.files[0].path))
    if program not in (STATA, SPSS):
        return StoredLabels()
    columns, values, codes = {}, {}, {}
    for column in manifest.columns:
        labels = manifest.codebook.get(column.name)
        if labels is not None and labels.label:
            columns[column.name] = _cut(labels.label, program)
        coded = _codes(manifest, column.name, program) if kind_of(column.type) == TEXT else {}
        if coded:
            codes[column.name] = coded
            values[column.name] = {code: label for label, code in coded.items()}
        elif labels is not None and kind_of(column.type) == NUMBER:
            kept = _kept({label: code for code, label in labels.values.items()}, program)
            values |= {column.name: {code: label for label, code in kept.items()}} if kept else {}
    return StoredLabels(columns, values, codes)


def replaced_codes(manifest: Manifest, name: str) -> Mapping[str, str]:
    """The codes that labels replaced in a column, with these; nothing if values changed later."""
    steps = () if manifest.preparation is None else manifest.preparation.columns.get(name, ())
    last = steps[-1] if steps else None
    labelled = isinstance(last, Mapped) and last.how == "labels"
    return last.labels or {} if labelled and isinstance(last, Mapped) else {}


def _codes(manifest: Manifest, name: str, program: str) -> dict[str, float]:
    """The code of every published text of a column; none if one of them has none."""
    labels = {label: code for code, label in replaced_codes(manifest, name).items()}
    kept = _kept(labels, program)
    entry = manifest.sensitive.get(name)
    published = set(labels) if entry is None else {*entry.domain} - {None}
    return kept if kept and len(kept) == len(labels) and published <= set(kept) else {}


def _kept(labels: Mapping[str, str], program: str) -> dict[str, float]:
    """Labels and codes that the program keeps exactly."""
    if len(labels) > _MOST_LABELS:
        return {}
    kept = {}
    for label, code in labels.items():
        number = _number(code)
        whole = number is not None and number.is_integer()
        fits = label and "\0" not in label and label == label.strip()
        if number is None or (program == STATA and not whole) or not fits:
            continue
        size = len(label.encode())
        if abs(number) <= _LARGEST_CODE[program] and size <= _LONGEST_VALUE[program]:
            kept[label] = number
    return kept if len({*kept.values()}) == len(kept) else {}


def _number(code: str) -> float | None:
    """The number that a code is, if it is written as one: 01 is a text."""
    try:
        number = float(code)
    except ValueError:
        return None
    return number if math.isfinite(number) and code_text(number) == code else None


def _cut(label: str, program: str) -> str:
    """A label of a column, as much of it as the program keeps."""
    label = label.replace("\0", " ")
    if program == STATA:
        return label[: _LONGEST_NAME[STATA]]
    return label.encode()[: _LONGEST_NAME[SPSS]].decode(errors="ignore")
