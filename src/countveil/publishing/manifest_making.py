"""The manifest of a release in the making, without its files.

Enters: the prepared table's columns, the settings, how many rows publish which value. Leaves: a
`Manifest` that names nothing but what was published or declared. Must not know: true counts, where
the release goes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import countveil
from countveil.maths.groups import ColumnSettings
from countveil.maths.guarantees import guarantee_table, statement
from countveil.publishing.prepare import PreparedTable
from countveil.publishing.settings import Protecting
from countveil.release import (
    About,
    CaseFigures,
    ClassEdges,
    Manifest,
    OddsBound,
    Preparation,
    PublishedColumn,
    SensitiveColumn,
)
from countveil.tables import Classes
from countveil.tables.recode import value_text

if TYPE_CHECKING:
    from countveil.engines.drawn import DrawnCases
    from countveil.maths.guarantees.special import SpecialColumn, StatedOdds
    from countveil.publishing.again.written import Continued
    from countveil.release.batches import BatchedColumns


def make_manifest(
    rows: int,
    prepared: PreparedTable[Any],
    protecting: Protecting,
    published: Mapping[str, Mapping[Any, int]],
    preparation: Preparation | None = None,
    *,
    common: Mapping[str, tuple[Any, ...]] | None = None,
    gammas: Mapping[str, float] | None = None,
    cases: Sequence[DrawnCases] = (),
    seeded: bool,
    about: About | None = None,
    continued: Continued | None = None,
) -> Manifest:
    """Everything that the release says about itself; the draft adds its files."""
    common, gammas = common or {}, gammas or {}
    changes = () if preparation is None else preparation.sentences()
    bounds = _odds_bounds(gammas, prepared, protecting)
    drawn_values = {
        name: list(counts) if continued is None else continued.published(name)
        for name, counts in published.items()
    }
    domains = {
        name: _domain(drawn_values[name], prepared.domains.get(name)) for name in protecting.columns
    }
    figures, batches = _about_cases(cases, prepared, domains, continued)
    sensitive = {
        name: _sensitive_column(name, rows, prepared, settings, domains[name], bounds.get(name))
        for name, settings in protecting.columns.items()
    }
    sensitive = {
        name: replace(
            entry,
            common=_named_common(common.get(name, ()), entry.domain),
            cases=figures.get(name),
        )
        for name, entry in sensitive.items()
    }
    more = () if continued is None else continued.columns
    columns = tuple(
        PublishedColumn(
            column.name, column.type, "sensitive" if column.name in sensitive else "plain"
        )
        for column in [*prepared.roles.published, *more]
    )
    counted = _counted(published, domains, figures, batches)
    return Manifest(
        rows=rows,
        columns=columns,
        sensitive=sensitive,
        files=(),
        randomness="seeded" if seeded else "cryptographic",
        statement=tuple(
            statement(
                rows,
                protecting.ell,
                {name: list(counts.values()) for name, counts in counted.items()},
                changes,
                _special(protecting, common, counted, sensitive),
                [*_together(protecting, counted), *_confirmed(sensitive)],
                _about_persons(counted, protecting, continued, batches) if cases else (),
            )
        ),
        preparation=preparation,
        written_by=f"countveil {countveil.__version__}",
        about=about,
        weight=prepared.weight,
        together=protecting.together,
        batches=batches,
        ledger=None if continued is None else continued.mark,
    )


def _sensitive_column(
    name: str,
    rows: int,
    prepared: PreparedTable[Any],
    settings: ColumnSettings,
    domain: tuple[Any, ...],
    odds: OddsBound | None,
) -> SensitiveColumn:
    return SensitiveColumn(
        settings.ell,
        settings.groups,
        settings.residue,
        domain=domain,
        guarantee=_guarantee(settings.ell, rows, odds, prepared.domains.get(name)),
        declared=name in prepared.domains,
        classes=_class_edges(prepared.recoded.classes.get(name)),
        class_values=prepared.class_values.get(name),
        odds=odds,
        confirmed=name in prepared.confirmed,
    )


def _named_common(common: Sequence[Any], domain: Sequence[Any]) -> tuple[Any, ...]:
    """The common values that were drawn, as nearly always all of them are."""
    return tuple(value for value in common if value in domain)


def _odds_bounds(
    gammas: Mapping[str, float], prepared: PreparedTable[Any], protecting: Protecting
) -> dict[str, OddsBound]:
    return {
        name: OddsBound(
            float(protecting.columns[name].odds or 0),
            gamma,
            _epsilon(gamma, len(prepared.domains[name])),
        )
        for name, gamma in gammas.items()
    }


def _about_cases(
    cases: Sequence[DrawnCases],
    prepared: PreparedTable[Any],
    domains: Mapping[str, Sequence[Any]],
    continued: Continued | None,
) -> tuple[dict[str, CaseFigures], tuple[BatchedColumns, ...]]:
    """What the release says of cases: of each column, and where that is not enough, of batches."""
    if continued is not None:
        return {}, continued.batches(domains)
    apart = [drawn for drawn in cases if len(drawn.columns) == 1]
    joined = [drawn for drawn in cases if len(drawn.columns) > 1]
    return _case_figures(apart, prepared, domains), _vector_cases(joined, prepared, domains)


def _case_figures(
    cases: Sequence[DrawnCases], prepared: PreparedTable[Any], domains: Mapping[str, Sequence[Any]]
) -> dict[str, CaseFigures]:
    """What the release says of cases, where persons have several rows."""
    if not cases:
        return {}
    from countveil.publishing.cases import design_effect, mean_rows, rows_per_case

    figures = {}
    for drawn in cases:
        (name,), mean = drawn.columns, mean_rows(drawn)
        by_value = rows_per_case(drawn, prepared.source.histogram(name).values)
        each = tuple(by_value.get(value, mean) for value in domains[name])
        figures[name] = CaseFigures(mean, max(design_effect(drawn), mean), each)
    return figures


def _vector_cases(
    cases: Sequence[DrawnCases], prepared: PreparedTable[Any], domains: Mapping[str, Sequence[Any]]
) -> tuple[BatchedColumns, ...]:
    """The same for columns together: how many cases publish each vector, about."""
    if not cases:
        return ()
    from countveil.publishing.cases import cases_per_vector, design_effect
    from countveil.release.batches import Batch, BatchedColumns

    entries = []
    for drawn in cases:
        vectors, counts = cases_per_vector(drawn)
        places = []
        for name, vector in zip(drawn.columns, vectors, strict=True):
            values = prepared.source.histogram(name).values
            named = {value: place for place, value in enumerate(domains[name])}
            places.append([named[values[place]] for place in vector.tolist()])
        # In the order of the domains, which says nothing.
        ordered = sorted(zip(*places, counts.tolist(), strict=True))
        *listed, told = (tuple(entry) for entry in zip(*ordered, strict=True))
        batch = Batch(1, "random", told, design_effect(drawn), vectors=tuple(listed))
        entries.append(BatchedColumns(drawn.columns, None, (batch,)))
    return tuple(entries)


def _counted(
    published: Mapping[str, Mapping[Any, int]],
    domains: Mapping[str, Sequence[Any]],
    figures: Mapping[str, CaseFigures],
    batches: Sequence[BatchedColumns],
) -> Mapping[str, Mapping[Any, int]]:
    """How many cases publish each value that was drawn, about; rows, if there are no cases."""
    if not figures and not batches:
        return published
    from countveil.release.case_counts import counted_in_cases

    return counted_in_cases(published, domains, figures, batches)


def _about_persons(
    counted: Mapping[str, Mapping[Any, int]],
    protecting: Protecting,
    continued: Continued | None,
    batches: Sequence[BatchedColumns],
) -> list[str]:
    """What is promised where persons have several rows, or come in several releases."""
    from countveil.maths.guarantees.several_rows import several_rows

    cases = {name: sum(counts.values()) for name, counts in counted.items()}
    about = several_rows(cases, protecting.together)
    if continued is None:
        return [about]
    return [about, continued.promise(batches)]


def _together(protecting: Protecting, counted: Mapping[str, Mapping[Any, int]]) -> list[str]:
    if not protecting.together:
        return []
    from countveil.maths.guarantees.special import together

    return [
        together(names, protecting.ell[names[0]], sum(counted[names[0]].values()))
        for names in protecting.together
    ]


def _confirmed(sensitive: Mapping[str, SensitiveColumn]) -> list[str]:
    """Of lists of values that were taken from the table; with a bound on the odds it says more."""
    return [
        f"Values that are named. The values of {name} were taken from the table, and the publisher "
        f"confirms that this list is public knowledge: the release names all of them, published or "
        f"not."
        for name, entry in sensitive.items()
        if entry.confirmed and entry.odds is None
    ]


def _epsilon(gamma: float, values: int) -> float:
    # Loaded only where odds are bounded.
    from countveil.maths.guarantees.odds import epsilon_of

    return epsilon_of(gamma, values)


def _guarantee(
    ell: int, rows: int, bound: OddsBound | None, domain: Sequence[Any] | None
) -> tuple[Mapping[str, float], ...]:
    """How likely the count of a value, as the release tells it, is far off."""
    if bound is None or domain is None:
        return tuple(guarantee_table(ell))
    from countveil.maths.guarantees.odds import noised_guarantee

    counts = [int(line["count"]) for line in guarantee_table(ell)]
    return tuple(noised_guarantee(counts, rows, ell, bound.gamma, len(domain)))


def _special(
    protecting: Protecting,
    common: Mapping[str, tuple[Any, ...]],
    published: Mapping[str, Mapping[Any, int]],
    sensitive: Mapping[str, SensitiveColumn],
) -> Sequence[SpecialColumn]:
    """The columns that were not published with plain groups of different values."""
    names = [
        name
        for name, entry in sensitive.items()
        if entry.groups == "random" or entry.common or entry.odds is not None
    ]
    if not names:
        return ()
    # Loaded only where there is such a column.
    from countveil.maths.guarantees.special import SpecialColumn

    return [
        SpecialColumn.of(
            name,
            (protecting.columns[name].ell, protecting.columns[name].groups),
            published[name],
            common.get(name, ()),
            value_text,
            _stated(sensitive[name]),
            next((names for names in protecting.together if name in names), ()),
        )
        for name in names
    ]


def _stated(entry: SensitiveColumn) -> StatedOdds | None:
    from countveil.maths.guarantees.special import StatedOdds

    if entry.odds is None:
        return None
    bound = entry.odds
    return StatedOdds(
        bound.at_most, bound.gamma, bound.epsilon, len(entry.domain), confirmed=entry.confirmed
    )


def _domain(published: Sequence[Any], declared: Sequence[Any] | None) -> tuple[Any, ...]:
    """The values that the manifest names.

    Of a column whose values were not declared, only those that were drawn: naming another one would
    reveal that somebody has it.
    """
    if declared is None:
        return tuple(published)
    # A missing value that was not declared is named if it was drawn.
    drawn = [value for value in published if value is None and None not in declared]
    return (*drawn, *declared)


def _class_edges(classes: Classes | None) -> ClassEdges | None:
    if classes is None:
        return None
    edges = (int(edge) if float(edge).is_integer() else edge for edge in classes.edges)
    return ClassEdges(tuple(edges), classes.whole)
