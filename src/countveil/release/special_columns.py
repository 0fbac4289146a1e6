"""What only some manifests say: of sensitive columns, of columns together, of the release itself.

Enters: the entry of a column, as JSON. Leaves: its classes, its common values, the bound on its
odds, the figures of its cases; which columns were published together; title and contact, each
checked; labels and descriptions by `release/codebook.py`.
Must not know: what follows from them. It is loaded only where a release says such things.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from countveil.maths.guarantees.odds import epsilon_of, largest_odds
from countveil.release.batches import read_batches, read_mark
from countveil.release.codebook import read_codebook, read_metadata
from countveil.release.manifest import (
    MOST_ABOUT,
    About,
    CaseFigures,
    ClassEdges,
    OddsBound,
    PublishedColumn,
    SensitiveColumn,
)
from countveil.release.values import decode_value, encode_value


def read_special(entry: Mapping[str, Any], type_name: str, domain: Sequence[Any]) -> dict[str, Any]:
    """The fields of such a column; ValueError says what cannot be right."""
    fields: dict[str, Any] = {}
    if "classes" in entry:
        fields["classes"] = _classes(entry, domain)
    if "class_values" in entry:
        fields["class_values"] = _class_values(entry, fields.get("classes"))
    if "common" in entry:
        fields["common"] = _common(entry, type_name, domain)
    if "odds" in entry:
        fields["odds"] = _odds(entry, len(domain))
    if "confirmed" in entry and not (entry["confirmed"] is True and entry.get("declared") is True):
        raise ValueError("'confirmed' is not true, or the values are not declared")
    if "cases" in entry:
        fields["cases"] = _cases(entry, len(domain))
    return fields


def read_more(
    content: Mapping[str, Any],
    columns: Sequence[PublishedColumn],
    sensitive: Mapping[str, SensitiveColumn],
) -> dict[str, Any]:
    """What only some releases say of themselves; ValueError says what cannot be right."""
    fields: dict[str, Any] = {}
    if "about" in content:
        fields["about"] = read_about(content["about"])
    if "together" in content:
        fields["together"] = read_together(content["together"], sensitive)
    if "batches" in content:
        fields["batches"] = read_batches(content["batches"], columns, sensitive)
    if "ledger" in content:
        fields["ledger"] = read_mark(content["ledger"])
    if "codebook" in content:
        fields["codebook"] = read_codebook(content["codebook"], columns)
    if "metadata" in content:
        fields["metadata"] = read_metadata(content["metadata"])
    return fields


def read_together(
    given: Any, sensitive: Mapping[str, SensitiveColumn]
) -> tuple[tuple[str, ...], ...]:
    """The sets of columns that publish whole vectors; ValueError says what cannot be right."""
    if not isinstance(given, list) or not given or not all(isinstance(one, list) for one in given):
        raise TypeError("'together' is not a list of lists")
    names = [name for one in given for name in one]
    known = all(isinstance(name, str) and name in sensitive for name in names)
    if not known or len(set(names)) != len(names) or min(map(len, given)) < 2:
        raise ValueError("columns that are published together are not different sensitive ones")
    if not all(_alike([sensitive[name] for name in one]) for one in given):
        raise ValueError("columns that are published together differ in ell or groups")
    return tuple(tuple(one) for one in given)


def read_about(entry: Any) -> About:
    """Title, contact and day of publication."""
    about = About(**entry)
    if not all(isinstance(text, str) for text in (about.title, about.contact, about.published)):
        raise TypeError("a name or text is not text")
    day = re.fullmatch(r"\d{4}-\d{2}-\d{2}", about.published)
    if day is None or max(len(about.title), len(about.contact)) > MOST_ABOUT:
        raise ValueError("title, contact or day of publication cannot be right")
    return about


def _alike(entries: Sequence[SensitiveColumn]) -> bool:
    """One ell, and random groups without noise."""
    ways = {(entry.ell, entry.groups, entry.residue, entry.odds) for entry in entries}
    return len(ways) == 1 and entries[0].groups == "random" and entries[0].odds is None


def _classes(entry: Mapping[str, Any], domain: Sequence[Any]) -> ClassEdges:
    given = entry["classes"]
    classes = ClassEdges(**{**given, "edges": _listed(given, "edges")})
    increasing = list(classes.edges) == sorted(set(classes.edges))
    if not increasing or not classes.edges or not isinstance(classes.whole, bool):
        raise ValueError("the edges of classes are not increasing numbers")
    known = sum(value is not None for value in domain)
    if entry.get("declared") is not True or known != len(classes.edges) + 1:
        raise ValueError("the classes of a column are not its values")
    return classes


def _class_values(entry: Mapping[str, Any], classes: ClassEdges | None) -> tuple[float, ...]:
    """One number for each class, inside it."""
    values = _listed(entry, "class_values")
    edges = (-math.inf, *(classes.edges if classes else ()), math.inf)
    if classes is None or len(values) != len(edges) - 1:
        raise ValueError("the numbers of a column do not fit its classes")
    ends = zip(values, itertools.pairwise(edges), strict=True)
    if not all(low <= value <= high for value, (low, high) in ends):
        raise ValueError("the numbers of a column do not fit its classes")
    return values


def _listed(entry: Mapping[str, Any], name: str) -> tuple[float, ...]:
    """A list of numbers."""
    numbers = entry[name]
    if not isinstance(numbers, list) or not all(map(_is_number, numbers)):
        raise TypeError(f"{name!r} is not a list of numbers")
    return tuple(numbers)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _common(entry: Mapping[str, Any], type_name: str, domain: Sequence[Any]) -> tuple[Any, ...]:
    if not isinstance(entry["common"], list):
        raise TypeError("'common' is not a list")
    common = tuple(decode_value(value, type_name) for value in entry["common"])
    if not common or len(set(common)) < len(common) or not set(common) <= set(domain):
        raise ValueError("common values are not some of the column's values")
    if entry["groups"] != "mixed":
        raise ValueError(f"common values with groups {entry['groups']!r}")
    return common


def _odds(entry: Mapping[str, Any], values: int) -> OddsBound:
    bound = OddsBound(**entry["odds"])
    numbers = (bound.at_most, bound.gamma, bound.epsilon)
    if not all(map(_is_number, numbers)):
        raise TypeError("a bound on the odds is not a number")
    if not (entry.get("declared") is True and entry["groups"] in ("mixed", "random")):
        raise ValueError("a bound on the odds without declared values, or with these groups")
    # Whatever is promised has to follow from gamma; it is written with all its digits.
    repeats = entry["groups"] == "random" or "common" in entry
    if not (bound.at_most > 1 and 0 < bound.gamma <= 1 and values >= 2):
        raise ValueError("a bound on the odds cannot be right")
    largest = largest_odds(bound.gamma, values, entry["ell"], different=not repeats)
    if largest > bound.at_most * (1 + 1e-9):
        raise ValueError("the noise does not keep the bound on the odds")
    if not math.isclose(bound.epsilon, epsilon_of(bound.gamma, values), rel_tol=1e-9):
        raise ValueError("epsilon is not that of the noise")
    return bound


def _cases(entry: Mapping[str, Any], values: int) -> CaseFigures:
    given = entry["cases"]
    figures = CaseFigures(**{**given, "by_value": _listed(given, "by_value")})
    numbers = (figures.rows_per_case, figures.design_effect, *figures.by_value)
    if not all(map(_is_number, numbers)) or min(numbers) < 1:
        raise ValueError("the rows per case cannot be right")
    if len(figures.by_value) != values or figures.design_effect < figures.rows_per_case:
        raise ValueError("the rows per case do not fit the column")
    return figures


def written_special(common: Sequence[Any]) -> dict[str, Any]:
    """The common values for JSON; a bound on the odds is numbers already."""
    return {"common": [encode_value(value) for value in common]}
