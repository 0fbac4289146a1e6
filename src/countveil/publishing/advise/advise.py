"""The public function `advise`.

Enters: a table and flat keyword options. Leaves: an `Advice`. Must not know: how anything is tried.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Unpack

from countveil.display import progress_shown
from countveil.publishing.advise.advice import Advice
from countveil.publishing.advise.adviser import Measured, run_advise
from countveil.publishing.advise.methods import chosen_methods
from countveil.publishing.advise.recommend import Goal
from countveil.tables import SourceOptions, table_options
from countveil.tables.progress import Progress
from countveil.tables.recipe import takes_recipe


@takes_recipe
def advise(
    table: object = None,
    sensitive: Mapping[str, int] | Sequence[str] | str = (),
    *,
    recipe: str | os.PathLike[str] | None = None,  # noqa: ARG001 - read by takes_recipe
    accuracy: tuple[float, float] | str | None = None,
    hide: int | None = None,
    questions: Sequence[str] | str | os.PathLike[str] | None = None,
    groups: str | None = None,
    common: Mapping[str, object] | str | None = None,
    odds: float | None = None,
    together: bool | Sequence[str] | Sequence[Sequence[str]] = False,
    drop: Sequence[str] | str = (),
    person: str | None = None,
    bins: Mapping[str, object] | None = None,
    domain: Mapping[str, Sequence[object] | str | os.PathLike[str]] | None = None,
    merge: Mapping[str, Mapping[object, str] | str | os.PathLike[str]] | None = None,
    seed: int | None = None,
    progress: Progress | bool | None = None,
    measured: Measured | None = None,
    **options: Unpack[SourceOptions],
) -> Advice:
    """Which method and ell for a table: they are tried out on it.

    Mixed groups, common values and random groups are compared, several columns apart and together,
    two at a time. Figures are about random questions, from the columns that would be published and
    vary; of a `person` with several rows, about cases.

    Args:
        table: Anything that `publish` takes.
        sensitive: The columns to protect.
        recipe: A TOML file with any of these options; what the call itself says goes before it.
        accuracy: A goal: with (0.01, 0.1), counts of 1% of the table within 10%.
        hide: A goal: with 20, counts up to 20 hidden.
        questions: Your own questions in SQL (a list, or a file with semicolons between them): each
            is answered by trial releases with every ell and compared with the truth.
        groups: Ask for "mixed" or "random" groups alone.
        common: Ask for common values alone, as in `publish`.
        odds: Try all of them with noise that bounds the odds too, beside those without.
        together: Try these columns together only.
        drop: Columns that would not be published.
        person: The column that identifies the person of a row.
        bins: Classes for numbers and dates, by column.
        domain: The values that a column can have, by column.
        merge: Common labels for values, by column.
        seed: For experiments: the same seed gives the same figures.
        progress: Called with the stage, the rows done and the rows in all. By
            default a bar is shown in a terminal and in a notebook; with False, nowhere.
        measured: Called with a column and the `MethodFigures` of a method and ell, as soon as they
            are known.
        **options: How the table is read and prepared: see `SourceOptions`.

    Returns:
        A recommendation for each column, with the figures behind it. Print it.

    Raises:
        InputError: The table cannot be read, or is not fit to be published.
        SettingsError: No column is named, or the options contradict each other.
        QueryError: A question cannot be read.

    Example:
        >>> advice = cv.advise(table, "salary", accuracy=(0.05, 0.2), groups="mixed", seed=1)
        >>> advice
        Advice(salary: ell 5; print() shows it)
        >>> advice.publish_call()
        "countveil.publish(table, {'salary': 5}, 'release')"
    """
    reading, shaping = table_options(
        drop=drop, person=person, bins=bins, merge=merge, domain=domain, **options,
    )  # fmt: skip
    with progress_shown(progress) as shown:
        return run_advise(
            table,
            (sensitive,) if isinstance(sensitive, str) else tuple(sensitive),
            reading=replace(reading, progress=shown),
            shaping=shaping,
            goal=Goal.of(accuracy, hide),
            seed=seed,
            questions=questions,
            methods=chosen_methods(groups, common),
            odds=odds,
            together=together,
            measured=measured,
        )
