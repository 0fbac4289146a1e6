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

    Several columns are compared `together`, each of their combinations as one value, beside the
    columns apart. With `odds`, noise over the declared values comes first, so that no row changes
    the odds of a value by more than this.

    Every method publishes `releases` times and is asked the same predicates. `epsilon` is the whole
    budget of differential privacy for `queries` predicates. The other options bring the table into
    shape as `publish` does. What comes back has `.methods`, `.table()` and `.to_html()`; print it.
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
