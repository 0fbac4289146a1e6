"""The weights of rows, as a stream.

Enters: a release, a sensitive column, values of it. Leaves: record batches with the plain columns
and one column of weights for each value. Must not know: models, formulas.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from countveil.asking.models.source import ModelSource
from countveil.asking.models.true_values import Axis, column_axis
from countveil.engines.pivot import places_in
from countveil.errors import QueryError, SettingsError, nearest
from countveil.release.values import python_values

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS_AT_A_TIME = 65_536


def weight_batches(
    source: ModelSource, column: str, values: Sequence[Any] | None
) -> pa.RecordBatchReader:
    """A reader of all rows with the weights of some values, or of all."""
    import pyarrow as pa

    name = source.columns.find(column).name
    if name not in source.manifest.sensitive:
        sensitive = ", ".join(map(repr, source.manifest.sensitive))
        raise SettingsError(
            f"Column {name!r} is not sensitive: its published values are the true ones and need no "
            f"weights. Sensitive: {sensitive}."
        )
    domain = source.manifest.sensitive[name].domain
    chosen = list(domain) if values is None else list(values)
    places = [_place(name, value, domain) for value in chosen]
    axis = column_axis(source, name, places)
    plain = [each for each in source.names if each not in source.manifest.sensitive]
    labels = _labels(chosen, plain)
    weights = np.ascontiguousarray(axis.classes.weights[: len(places)])
    marks = [] if axis.batch is None else [axis.batch]
    table = source.table.rows([*plain, name, *marks])
    schema = pa.schema(
        [
            *(field.with_name(n) for field, n in zip(table.schema, plain, strict=False)),
            *(pa.field(label, pa.float64()) for label in labels),
        ]
    ).remove_metadata()
    made = _batches(table, len(plain), axis, weights, schema)
    return pa.RecordBatchReader.from_batches(schema, made)


def _batches(
    table: pa.Table,
    plain: int,
    axis: Axis,
    weights: NDArray[np.float64],
    schema: pa.Schema,
) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    for batch in table.to_batches(max_chunksize=_ROWS_AT_A_TIME):
        columns = batch.columns
        published = places_in(axis.domains[0], python_values(columns[plain]))
        drawn = None
        if axis.batch is not None:
            drawn = places_in(axis.numbers, python_values(columns[plain + 1]))
        place = axis.places([published], drawn)
        made = [pa.array(line[place]) for line in weights]
        yield pa.RecordBatch.from_arrays([*columns[:plain], *made], schema=schema)


def _place(name: str, value: Any, domain: tuple[Any, ...]) -> int:
    if value not in domain:
        hint = nearest(str(value), [str(known) for known in domain if known is not None])
        raise QueryError(f"The release has no row with {name} = {value!r}. {hint}")
    return domain.index(value)


def _labels(values: Sequence[Any], taken: Sequence[str]) -> list[str]:
    """Names of the columns of weights, none of them twice."""
    labels: list[str] = []
    for value in values:
        label = f"weight_{'null' if value is None else value}"
        while label in taken or label in labels:
            label += "_"
        labels.append(label)
    return labels
