"""What a release says about how its table was prepared.

Enters: how the table was read and shaped, and the prepared table. Leaves: a `Preparation` of what
may be public: what was declared, and rules. Must not know: counts.

Lists that the publisher wrote (labels, merges, hierarchies) are declarations, as --domain is: they
are published whole, whether their values occur or not. The labels that a file has for its codes may
have been made from its rows, so only those of values that are published are listed. Which values
were merged because they are rare depends on true counts: to list them would reveal that they occur,
so the rule alone is published. Of a condition the columns are named, never what they were compared
with.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from countveil.engines.contract import SourceTable
from countveil.publishing.prepare import PreparedTable
from countveil.release.codebook import ColumnLabels
from countveil.release.manifest import Manifest
from countveil.release.preparation import MOST_LISTED, OneRowEach, Preparation
from countveil.release.steps import (
    InClasses,
    InPeriods,
    Limited,
    Mapped,
    MergedRare,
    Rounded,
    Shortened,
    Step,
    code_text,
)
from countveil.tables import Classes, Reading, Shaping
from countveil.tables.cells import CellChange


def recorded(
    prepared: PreparedTable[SourceTable], reading: Reading, shaping: Shaping
) -> Preparation | None:
    """What was done to the table, for its release; None if nothing was."""
    columns = {}
    for column in prepared.roles.published:
        steps = tuple(_steps(column.name, prepared, shaping))
        if steps:
            columns[column.name] = steps
    one_per = shaping.one_per
    preparation = Preparation(
        columns,
        tuple(dict.fromkeys(reading.missing)),
        tuple(prepared.source.facts.filtered_by),
        None if one_per is None else OneRowEach(one_per.row, one_per.by),
    )
    return preparation if preparation.as_json() else None


def _steps(name: str, prepared: PreparedTable[SourceTable], shaping: Shaping) -> list[Step]:
    """In the order in which they were taken."""
    steps: list[Step] = _cell_steps(shaping.cells.get(name))
    labels = shaping.labels.get(name) or prepared.recoded.labels.get(name)
    if labels:
        steps.append(Mapped("labels", _short(labels)))
    if name in shaping.levels:
        level = shaping.levels[name]
        steps.append(Mapped("level", _short(level.labels), level.name))
    if name in shaping.merge:
        steps.append(Mapped("merge", _short(shaping.merge[name])))
    if name in shaping.rare:
        steps.append(MergedRare(shaping.rare[name].below, shaping.rare[name].label))
    classes = prepared.recoded.classes.get(name)
    return steps if classes is None else [*steps, _in_classes(classes)]


def _cell_steps(change: CellChange | None) -> list[Step]:
    steps: list[Step] = []
    if change is None:
        return steps
    if change.period is not None:
        steps.append(InPeriods(change.period))
    if change.prefix is not None:
        steps.append(Shortened(change.prefix))
    if change.step is not None:
        steps.append(Rounded(change.step))
    if change.bottom is not None or change.top is not None:
        steps.append(Limited(change.bottom, change.top))
    return steps


def _in_classes(classes: Classes) -> InClasses:
    edges = (int(edge) if float(edge).is_integer() else edge for edge in classes.edges)
    return InClasses(tuple(edges), classes.labels, classes.whole)


def _short(labels: Mapping[str, str]) -> dict[str, str] | None:
    return dict(labels) if len(labels) <= MOST_LISTED else None


def with_labels(
    manifest: Manifest, prepared: PreparedTable[SourceTable], *, whole: bool
) -> Manifest:
    """The manifest with the labels of the source for its columns, and for published values alone.

    `whole` says that all rows are published, and so every value of a column that is not protected.
    """
    facts, recoded = prepared.source.facts, prepared.recoded
    codebook = {}
    for column in manifest.columns:
        label = facts.column_labels.get(column.name, "")
        codes = recoded.kept_codes.get(column.name, {})
        listed = {_code(value) for value in _published(column.name, manifest, prepared, whole)}
        labels = {code: text for code, text in codes.items() if code in listed}
        if label or labels:
            codebook[column.name] = ColumnLabels(label, labels)
    return replace(manifest, codebook=codebook, preparation=_limited(manifest, prepared, whole))


def _limited(
    manifest: Manifest, prepared: PreparedTable[SourceTable], whole: bool
) -> Preparation | None:
    """What was done to the table, with no label of the source that is not published."""
    preparation = manifest.preparation
    if preparation is None:
        return None
    columns = dict(preparation.columns)
    for name in {*columns} & {*prepared.recoded.labels}:
        published = _published(name, manifest, prepared, whole)
        declared = [
            step.labels or {}
            for step in columns[name]
            if isinstance(step, Mapped) and step.how != "labels"
        ]
        public = {*published, *(value for labels in declared for value in labels)}
        columns[name] = tuple(
            replace(step, labels=_among(step.labels or {}, public) or None)
            if isinstance(step, Mapped) and step.how == "labels"
            else step
            for step in columns[name]
        )
    return replace(preparation, columns=columns)


def _among(labels: Mapping[str, str], public: Collection[Any]) -> dict[str, str]:
    return {code: label for code, label in labels.items() if label in public}


def _published(
    name: str, manifest: Manifest, prepared: PreparedTable[SourceTable], whole: bool
) -> Collection[Any]:
    """The values of a column with labels that the release publishes or declares."""
    if name in manifest.sensitive:
        return manifest.sensitive[name].domain
    if not whole or name not in {*prepared.recoded.labels, *prepared.recoded.kept_codes}:
        return ()
    return prepared.source.histogram(name).values


def _code(value: Any) -> str:
    return "" if value is None else code_text(value)
