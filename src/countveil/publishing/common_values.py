"""Common values: those that may fill several places of a mixed group.

Enters: what a publisher wrote, the histogram of a column. Leaves: settings of columns, positions of
values. Must not know: groups, draws. Theory: docs/theory/channel.md, "Common values".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from countveil.errors import SettingsError, nearest, option
from countveil.maths.channel.common import frequent_values
from countveil.maths.groups import ColumnSettings
from countveil.tables.encoded.survey import Histogram
from countveil.tables.recode import value_text

_AUTO = "auto"
# The values of a column, as texts, and whether they are the frequent ones instead.
Chosen = tuple[tuple[str | None, ...], bool]


def chosen_common(
    common: Mapping[str, object] | str, sensitive: Sequence[str]
) -> dict[str, Chosen]:
    """What each column has: `auto` is for all of them, a mapping for those that it names."""
    if isinstance(common, str):
        if common != _AUTO:
            raise SettingsError(
                f"Common values are {option('common', _AUTO)} for the frequent ones, or named by "
                f"column: {option('common', {sensitive[0]: 'VALUE'})}. Got {common!r}."
            )
        return dict.fromkeys(sensitive, ((), True))
    chosen: dict[str, Chosen] = {}
    for name, values in common.items():
        if name not in sensitive:
            raise SettingsError(
                f"Common values are for sensitive columns, and {name!r} is not one of them. "
                f"{nearest(name, sensitive)}"
            )
        if values == _AUTO:
            chosen[name] = (), True
            continue
        several = values if isinstance(values, list | tuple | set) else [values]
        texts = [None if value is None else value_text(value) for value in several]
        chosen[name] = tuple(dict.fromkeys(texts)), False
    return chosen


def common_places(name: str, histogram: Histogram, settings: ColumnSettings) -> tuple[int, ...]:
    """The positions of a column's common values."""
    if settings.common_auto:
        return tuple(frequent_values(histogram.counts, settings.ell).tolist())
    places = {
        None if value is None else value_text(value): place
        for place, value in enumerate(histogram.values)
    }
    # A recipe has no way to write a missing value but as an empty text.
    wanted = [None if v == "" and "" not in places else v for v in settings.common]
    for value in wanted:
        if value not in places:
            called = "missing value" if value is None else f"value {value!r}"
            texts = [text for text in places if text is not None]
            raise SettingsError(
                f"Column {name!r} has no {called}, so it cannot be a common one. "
                f"{nearest(value or '', texts)}"
            )
    return tuple(sorted(places[value] for value in wanted))
