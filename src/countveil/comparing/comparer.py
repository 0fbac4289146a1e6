"""Ways to publish, compared on the user's table.

    read -> histogram, rows -> predicates -> per method: publish, ask, measure

Enters: a table, the column to protect, or those to protect together, ell. Leaves: a `Comparison`.
Must not know: how a method works, how a report looks. Nothing is written.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from countveil.comparing import Compared, Comparison, Entrant, lineup
from countveil.comparing.baselines.measure import BINS, JOINT_BINS, Workload, measure
from countveil.comparing.baselines.method import Codes, Rows
from countveil.errors import InputError, MissingExtraError, SettingsError, option
from countveil.maths.channel.view import WHOLE_DOMAIN_LIMIT
from countveil.maths.groups import ColumnSettings, check_eligible
from countveil.publishing.advise.adviser import (
    number_of_predicates,
    plain_codes,
    stopping_columns,
)
from countveil.publishing.advise.predicates import find_predicates
from countveil.publishing.bounded_odds import declare_domains
from countveil.publishing.prepare import LocalPreparedTable, concerns_of, open_table, shape
from countveil.publishing.settings import Protecting
from countveil.randomness import Randomness
from countveil.tables import Reading, Shaping
from countveil.tables.progress import Progress

MOST_ROWS, RELEASES, EPSILON, QUERIES = 200_000, 5, 0.05, 100


def run_compare(
    table: object,
    protecting: Protecting,
    *,
    epsilon: float = EPSILON,
    queries: int = QUERIES,
    releases: int = RELEASES,
    reading: Reading | None = None,
    shaping: Shaping | None = None,
) -> Comparison:
    """Publish by every method, several times, and ask all of them the same questions."""
    seed = protecting.seed
    reading, shaping = reading or Reading(), (shaping or Shaping()).seeded(seed)
    progress: Progress = reading.progress or (lambda _stage, _done, _total: None)
    if isinstance(releases, bool) or not isinstance(releases, int) or releases < 1:
        raise SettingsError(f"releases must be a whole number of at least 1, got {releases!r}.")
    names, (ell, odds) = protecting.names, _one_choice(protecting)
    progress("reading", 0, 0)
    source = open_table(table, reading, shaping, names)
    prepared = shape(source, names, shaping)
    declare_domains(prepared, protecting.columns, shaping)
    rows, sizes = _counted(prepared, names, ell)
    codes, grid, predicates = _asked(prepared, names, seed)
    # Declared values that no row has are values, too.
    size = sizes[0] if odds is not None else math.prod(grid)
    workload = Workload(codes, size, predicates)
    counts = np.bincount(codes, minlength=size)
    sources = [Randomness(None if seed is None else seed * releases + n) for n in range(releases)]
    entrants = _entrants(counts, grid, (ell, odds), (epsilon, queries))
    bins = JOINT_BINS if len(names) > 1 else BINS
    lines = []
    for number, entrant in enumerate(entrants, 1):
        progress(f"{entrant.name} ({number} of {len(entrants)})", 0, 0)
        lines.append(_measured(entrant, workload, sources, bins))
    return Comparison(
        column=" and ".join(names),
        rows=codes.size,
        of_rows=rows,
        ell=ell,
        releases=releases,
        predicates=len(predicates),
        bins=bins,
        methods=lines,
        notes=_notes(prepared, names),
        values=int(np.count_nonzero(counts)),
        agreement=float(((counts / counts.sum()) ** 2).sum()),
        together=names if len(names) > 1 else (),
        odds=odds,
    )


def _one_choice(protecting: Protecting) -> tuple[int, float | None]:
    """The ell and the bound on odds of what is compared: one column, or one set of columns."""
    columns = protecting.columns
    if len(columns) > 1 and protecting.together != (tuple(columns),):
        raise SettingsError(
            f"Methods are compared on one sensitive column at a time, or on several that are "
            f"published together; {len(columns)} were named. Name one (the others can stay as "
            f"ordinary columns, or be left out with {option('drop')}), or take all of them "
            f"together with {option('together')}."
        )
    first = next(iter(columns.values()))
    return first.ell, first.odds


def _entrants(
    counts: Codes, grid: tuple[int, ...], wish: tuple[int, float | None], budget: tuple[float, int]
) -> list[Entrant]:
    """The methods for one column, for columns together, or for a bound on the odds."""
    ell, odds = wish
    # Each is loaded where it is wanted.
    if len(grid) > 1:
        from countveil.comparing.together_entrants import together_lineup

        return together_lineup(counts, grid, ell, *budget)
    if odds is not None:
        from countveil.comparing.odds_entrants import odds_lineup

        return odds_lineup(counts, ell, odds, *budget)
    return lineup(counts, ell, *budget)


def _counted(
    prepared: LocalPreparedTable, names: Sequence[str], ell: int
) -> tuple[int, tuple[int, ...]]:
    """The rows of the table, and how many values each column has."""
    sizes = []
    for name in names:
        histogram = prepared.source.histogram(name)
        # What even random groups cannot publish.
        check_eligible(name, histogram.counts, ColumnSettings(ell, "random"), repr)
        sizes.append(histogram.counts.size)
    if math.prod(sizes) > WHOLE_DOMAIN_LIMIT:
        listed = ", ".join(map(repr, names))
        what = "different values" if len(names) == 1 else "possible combinations of values"
        raise InputError(
            f"Column{'s' * (len(names) > 1)} {listed} {'have' if len(names) > 1 else 'has'} "
            f"{math.prod(sizes):,} {what}; at most {WHOLE_DOMAIN_LIMIT:,} can be compared. Put "
            f"them into classes, or merge rare ones."
        )
    return int(histogram.counts.sum()), tuple(sizes)


def _asked(
    prepared: LocalPreparedTable, names: Sequence[str], seed: int | None
) -> tuple[Codes, tuple[int, ...], Sequence[Rows]]:
    """A sample of the rows as codes of their values, the values of each column, predicates.

    The code of a combination of values is its number in the grid of all columns.
    """
    published = [column.name for column in prepared.roles.published]
    sample = prepared.source.sample(MOST_ROWS, published)
    columns = [np.unique(sample[name].codes, return_inverse=True)[1] for name in names]
    grid = tuple(int(column.max(initial=0)) + 1 for column in columns)
    codes = np.ravel_multi_index(columns, grid).astype(np.int64)
    predicates = find_predicates(
        plain_codes(prepared, sample, names, stopping_columns(prepared, names)),
        number_of_predicates(math.prod(grid)),
        Randomness(seed).stream("predicates"),
    )
    if not predicates:
        raise InputError(
            f"There is no column besides {' and '.join(map(repr, names))} to ask counts about: at "
            f"least one with two values or more, of which some occur several times, is needed."
        )
    return codes, grid, predicates


def _notes(prepared: LocalPreparedTable, sensitive: Sequence[str]) -> list[str]:
    """A table that `publish` would refuse is compared all the same, with a note."""
    concerns = concerns_of(prepared.source, prepared.roles.published, sensitive)
    giving = [giveaway.columns for giveaway in concerns.giveaways if giveaway.stops]
    giving += [giveaway.columns for giveaway in concerns.slices if giveaway.stops]
    named = {*concerns.identifiers, *(name for columns in giving for name in columns)}
    if not named:
        return []
    listed = ", ".join(repr(name) for name in sorted(named))
    hidden = " or ".join(map(repr, sensitive))
    note = (
        f"publish would stop at {listed}, which identify people or give {hidden} away. Drop "
        f"them here as there ({option('drop')}): no method protects from them, and "
        f"predicates over them are not typical."
    )
    return [note]


def _measured(
    entrant: Entrant,
    workload: Workload,
    sources: list[Randomness],
    bins: Sequence[tuple[float, float]],
) -> Compared:
    """The figures of a method, or why it cannot take part."""
    if entrant.method is None:
        return Compared(entrant.name, entrant.about, None)
    try:
        figures = measure(entrant.method, workload, sources, bins)
        return Compared(entrant.name, entrant.about, figures)
    except MissingExtraError as error:
        return Compared(entrant.name, f"not compared. {error}", None)
