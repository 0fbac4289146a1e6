"""Ways to publish, compared on the user's table.

    read -> histogram, rows -> predicates -> per method: publish, ask, measure

Enters: a table, the column to protect, ell. Leaves: a `Comparison`. Must not know: how a method
works, how a report looks. Nothing is written.
"""

from __future__ import annotations

import numpy as np

from countveil.comparing import Compared, Comparison, Entrant, lineup
from countveil.comparing.baselines.measure import BINS, Workload, measure
from countveil.errors import InputError, MissingExtraError, SettingsError, option
from countveil.maths.channel.view import WHOLE_DOMAIN_LIMIT
from countveil.maths.groups import ColumnSettings, check_eligible
from countveil.publishing.advise.advise import (
    number_of_predicates,
    plain_codes,
    stopping_columns,
)
from countveil.publishing.advise.predicates import find_predicates
from countveil.publishing.prepare import LocalPreparedTable, concerns_of, open_table, shape
from countveil.randomness import Randomness
from countveil.tables import Reading, Shaping
from countveil.tables.encoded.survey import Histogram
from countveil.tables.progress import Progress

MOST_ROWS, RELEASES, EPSILON, QUERIES = 200_000, 5, 0.05, 100


def run_compare(
    table: object,
    sensitive: str,
    ell: int,
    *,
    epsilon: float = EPSILON,
    queries: int = QUERIES,
    releases: int = RELEASES,
    reading: Reading | None = None,
    shaping: Shaping | None = None,
    seed: int | None = None,
) -> Comparison:
    """Publish by every method, several times, and ask all of them the same questions."""
    reading, shaping = reading or Reading(), (shaping or Shaping()).seeded(seed)
    progress: Progress = reading.progress or (lambda _stage, _done, _total: None)
    ColumnSettings(ell)
    if isinstance(releases, bool) or not isinstance(releases, int) or releases < 1:
        raise SettingsError(f"releases must be a whole number of at least 1, got {releases!r}.")
    progress("reading", 0, 0)
    source = open_table(table, reading, shaping, [sensitive])
    prepared = shape(source, [sensitive], shaping)
    histogram = _histogram(prepared, sensitive, ell)
    workload = _workload(prepared, sensitive, seed)
    counts = np.bincount(workload.codes)
    sources = [Randomness(None if seed is None else seed * releases + n) for n in range(releases)]
    entrants = lineup(counts, ell, epsilon, queries)
    lines = []
    for number, entrant in enumerate(entrants, 1):
        progress(f"{entrant.name} ({number} of {len(entrants)})", 0, 0)
        lines.append(_measured(entrant, workload, sources))
    return Comparison(
        column=sensitive,
        rows=workload.codes.size,
        of_rows=int(histogram.counts.sum()),
        ell=ell,
        releases=releases,
        predicates=len(workload.predicates),
        bins=BINS,
        methods=lines,
        notes=_notes(prepared, sensitive),
        values=counts.size,
        agreement=float(((counts / counts.sum()) ** 2).sum()),
    )


def _histogram(prepared: LocalPreparedTable, sensitive: str, ell: int) -> Histogram:
    histogram = prepared.source.histogram(sensitive)
    # What even random groups cannot publish.
    check_eligible(sensitive, histogram.counts, ColumnSettings(ell, "random"), repr)
    if histogram.counts.size > WHOLE_DOMAIN_LIMIT:
        raise InputError(
            f"Column {sensitive!r} has {histogram.counts.size:,} different values; at most "
            f"{WHOLE_DOMAIN_LIMIT:,} can be compared. Put them into classes, or merge rare ones."
        )
    return histogram


def _workload(prepared: LocalPreparedTable, sensitive: str, seed: int | None) -> Workload:
    """A sample of the rows, and random predicates over their other columns."""
    published = [column.name for column in prepared.roles.published]
    sample = prepared.source.sample(MOST_ROWS, published)
    codes = np.unique(sample[sensitive].codes, return_inverse=True)[1].astype(np.int64)
    counts = np.bincount(codes)
    predicates = find_predicates(
        plain_codes(prepared, sample, [sensitive], stopping_columns(prepared, [sensitive])),
        number_of_predicates(counts.size),
        Randomness(seed).stream("predicates"),
    )
    if not predicates:
        raise InputError(
            f"There is no column besides {sensitive!r} to ask counts about: at least "
            f"one with two values or more, of which some occur several times, is needed."
        )
    return Workload(codes, counts.size, predicates)


def _notes(prepared: LocalPreparedTable, sensitive: str) -> list[str]:
    """A table that `publish` would refuse is compared all the same, with a note."""
    concerns = concerns_of(prepared.source, prepared.roles.published, [sensitive])
    giving = [giveaway.columns for giveaway in concerns.giveaways if giveaway.stops]
    giving += [found.columns for found in concerns.slices if found.stops]
    named = {*concerns.identifiers, *(name for columns in giving for name in columns)}
    if not named:
        return []
    listed = ", ".join(repr(name) for name in sorted(named))
    note = (
        f"publish would stop at {listed}, which identify people or give {sensitive!r} away. Drop "
        f"them here as there ({option('drop')}): no method protects from them, and "
        f"predicates over them are not typical."
    )
    return [note]


def _measured(entrant: Entrant, workload: Workload, sources: list[Randomness]) -> Compared:
    """The figures of a method, or why it cannot take part."""
    if entrant.method is None:
        return Compared(entrant.name, entrant.about, None)
    try:
        return Compared(entrant.name, entrant.about, measure(entrant.method, workload, sources))
    except MissingExtraError as error:
        return Compared(entrant.name, f"not compared. {error}", None)
