"""What an analyst should know beside an answer: of values that no row publishes, and of classes.

Enters: plans of questions, what the release says of its sensitive columns. Leaves: sentences, and
warnings at the analyst's own line. Must not know: what was counted, which method estimates.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from warnings import warn

from countveil import errors
from countveil.release import Manifest, SensitiveColumn
from countveil.sql.query import Question, TallyPlan
from countveil.sql.query.plan import aggregates_of

_OURS = "countveil."


class UnlistedValueWarning(UserWarning):
    """A value was asked for that the release does not list."""


def note_unlisted(
    plans: Iterable[TallyPlan], sensitive: Mapping[str, SensitiveColumn]
) -> Sequence[str]:
    """One sentence per value, which is also a warning of Python; a command prints it itself.

    It is no error: what the draw removed is not listed either, so that its absence tells nothing.
    """
    texts = list(dict.fromkeys(text for plan in plans for text in _sentences(plan, sensitive)))
    if texts and errors.reader == "Python":
        level = _level_of_caller()
        for text in texts:
            warn(text, UnlistedValueWarning, stacklevel=level)
    return texts


def _sentences(plan: TallyPlan, sensitive: Mapping[str, SensitiveColumn]) -> Iterable[str]:
    for name, domain in zip(plan.tally.sensitive, plan.domains, strict=True):
        known = sensitive[name].domain
        for value in domain[len(known) :]:
            if value is None:
                # To leave missing values out is a habit, and no spelling is mistaken.
                continue
            near = errors.nearest(str(value), [str(v) for v in known if v is not None])
            hint = f" {near}" if near.startswith("Did you mean") else ""
            yield f"The release has no row with {name} = {value!r}.{hint}"


def _level_of_caller() -> int:
    """How far above `note_unlisted` the analyst's own line is; `note_unlisted` itself is 1."""
    level, frame = 1, sys._getframe(1).f_back  # noqa: SLF001 - there is no public name for it
    while frame is not None and frame.f_globals.get("__name__", "").startswith(_OURS):
        level, frame = level + 1, frame.f_back
    return level + 1


def class_notes(question: Question, manifest: Manifest) -> list[str]:
    """What a number that stands for a class leaves out."""
    names = {aggregate.measured for aggregate in aggregates_of(question)}
    return [
        f"The numbers of {name!r} are those of its classes: "
        f"{'declared by the publisher' if entry.class_values else 'their midpoints'}. How the "
        f"true numbers lie within a class is not in the release, and not in the interval."
        for name, entry in manifest.sensitive.items()
        if name in names and entry.classes is not None
    ]
