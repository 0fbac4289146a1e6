"""The composition of the decoy groups, by the method that the publisher chose.

Enters: the true histogram, the settings of the column, a stream. Leaves: the composition. Must not
know: tuples.

Both methods are valid for every eligible histogram. `mixed` draws on the stream. `anatomy` is the
paper's greedy creation, a function of the histogram alone: public mathematics that lives with the
channel, where an analyst can reach it. There, similar frequencies meet again and again, which is
bad for accuracy and lets an adversary narrow candidates down.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel import Templates, greedy_templates
from countveil.maths.groups.mixed import mixed_groups
from countveil.maths.groups.progress import Tell, nobody
from countveil.maths.groups.settings import ColumnSettings
from countveil.randomness import Stream


def form_groups(
    counts: NDArray[np.int64], settings: ColumnSettings, stream: Stream, tell: Tell = nobody
) -> Templates:
    """Decoy groups for counts that are eligible; `tell` hears the share that is done."""
    if settings.groups == "anatomy":
        return greedy_templates(counts, settings.ell)
    return mixed_groups(counts, settings.ell, stream, tell)
