"""The public function `compare`.

Enters: a table and flat keyword options. Leaves: a `Comparison`. Must not know: how methods work.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Unpack

from countveil.comparing import Comparison
from countveil.comparing.comparer import run_compare
from countveil.display import progress_shown
from countveil.publishing.settings import Protecting
from countveil.tables import SourceOptions, table_options
from countveil.tables.progress import Progress
from countveil.tables.recipe import takes_recipe


@takes_recipe
def compare(
    table: object = None,
    sensitive: Mapping[str, int] | str = "",
    *,
    recipe: str | os.PathLike[str] | None = None,  # noqa: ARG001 - read by takes_recipe
    ell: int | None = None,
    together: bool | Sequence[str] = False,
    odds: float | None = None,
    epsilon: float = 0.05,
    queries: int = 100,
    releases: int = 5,
    drop: Sequence[str] | str = (),
    bins: Mapping[str, object] | None = None,
    domain: Mapping[str, Sequence[object] | str | os.PathLike[str]] | None = None,
    merge: Mapping[str, Mapping[object, str] | str | os.PathLike[str]] | None = None,
    seed: int | None = None,
    progress: Progress | bool | None = None,
    **options: Unpack[SourceOptions],
) -> Comparison:
    """Compare ways to publish a sensitive column: errors by selectivity, and what is given away.

    Every method publishes `releases` times and is asked the same predicates. Methods are those of
    countveil, Anatomy, Laplace noise, global randomisation, randomised response, PRAM and the
    paper's own choices.

    Args:
        table: Anything that `publish` takes.
        sensitive: A column, or a mapping from columns to their ell.
        recipe: A TOML file with any of these options; what the call itself says goes before it.
        ell: The ell of a column that `sensitive` only names.
        together: Compare several columns together, each of their combinations as one value,
            beside the columns apart.
        odds: The bound that noise over the declared values keeps, as in `publish`.
        epsilon: The whole budget of differential privacy for `queries` predicates.
        queries: How many predicates that budget has to serve.
        releases: How many times each method publishes.
        drop: Columns that are not published.
        bins: Classes for numbers and dates, by column.
        domain: The values that a column can have, by column.
        merge: Common labels for values, by column.
        seed: For experiments: the same seed gives the same figures, but for Laplace noise.
        progress: Called with the stage, the rows done and the rows in all.
        **options: How the table is read and prepared: see `SourceOptions`.

    Returns:
        The figures of every method (`.methods`, `.table()`, `.to_html()`). Print it.

    Raises:
        InputError: The table cannot be read, or is not fit to be published.
        SettingsError: The options contradict each other or the table.

    Example:
        >>> comparison = cv.compare(table, "occupation", ell=5, releases=1, seed=1)
        >>> [line.method for line in comparison.methods][:3]
        ['countveil', 'countveil, unbiased', 'countveil, common']
        >>> round(comparison["countveil"].figures.belief.value, 2)
        0.06
    """
    protecting = Protecting.of(sensitive or (), ell, seed=seed, odds=odds, together=together)
    reading, shaping = table_options(drop=drop, bins=bins, merge=merge, domain=domain, **options)
    with progress_shown(progress) as shown:
        return run_compare(
            table,
            protecting,
            epsilon=epsilon,
            queries=queries,
            releases=releases,
            reading=replace(reading, progress=shown),
            shaping=shaping,
        )
