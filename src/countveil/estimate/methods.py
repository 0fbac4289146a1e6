"""The estimators by name, in one shape.

Enters: tallies, channel view, method, channel, level. Leaves: `Estimates` for all cells.
Must not know: SQL, files.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from countveil.channel import CHANNELS, ChannelView
from countveil.errors import SettingsError
from countveil.estimate.answer import Estimates
from countveil.estimate.bayes import bayes_counts
from countveil.estimate.unbiased import unbiased_counts

METHODS = ("unbiased", "bayes")


def estimate_cells(
    y: NDArray[np.int64] | NDArray[np.float64],
    n: NDArray[np.int64] | NDArray[np.float64],
    view: ChannelView,
    *,
    method: str,
    channel: str,
    level: float,
) -> Estimates:
    """Estimate the true count of every value (columns) in every predicate (rows)."""
    check_method(method, channel, level)
    counts, sizes = y.astype(np.float64), n.astype(np.float64)
    if method == "unbiased":
        return unbiased_counts(counts, sizes, view, level)
    found = bayes_counts(counts, sizes, view.published, view.rows, view.keep, channel=channel)
    if channel == "printed":
        # The printed channel is wrong by an amount nobody knows: no error would be honest.
        unknown = np.full_like(found.estimate, np.nan)
        return Estimates(found.estimate, unknown, unknown, unknown)
    # At rest this is the unbiased answer where that is possible (0 to n, at most g), so its error
    # is the unbiased one's; near f = N/ell, where it comes to rest slowly, that error is huge.
    errors = unbiased_counts(counts, sizes, view, level)
    estimate = np.where(np.isnan(errors.estimate), np.nan, found.estimate)
    return Estimates(estimate, errors.std_error, errors.low, errors.high)


def check_method(method: str, channel: str, level: float) -> None:
    """Refuse what does not exist or does not go together."""
    if method not in METHODS:
        raise SettingsError(f"method must be one of {', '.join(METHODS)}, got {method!r}.")
    if channel not in CHANNELS:
        raise SettingsError(f"channel must be one of {', '.join(CHANNELS)}, got {channel!r}.")
    if method == "unbiased" and channel == "printed":
        raise SettingsError(
            "channel 'printed' goes with method 'bayes' only: it reproduces the paper's iteration. "
            "With it no estimate is unbiased."
        )
    if not 0 < level < 1:
        raise SettingsError(f"level must lie between 0 and 1, such as 0.95; got {level}.")
