"""From which error on an answer is not shown.

Enters, leaves: nothing; estimates judge by it, and guarantees say from which count on they are
shown. Must not know: either. A module of its own, so that whoever publishes loads no estimator.
"""

from __future__ import annotations

# Relative to the estimate: with a larger standard error, it is hidden.
HIDDEN_ABOVE = 0.5
