"""Reports of progress during long work.

Enters: nothing. Leaves: the type of the function that is called. Must not know: how it is shown.
"""

from __future__ import annotations

from collections.abc import Callable

# stage, rows done, rows in all
Progress = Callable[[str, int, int], None]
