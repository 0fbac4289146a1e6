"""Other ways to publish, compared with ours on the user's table. Start at `comparer`.

Enters: a table, the column to protect, ell. Leaves: a `Comparison` in words, tables and charts.
Must not know: files, engines.

    comparer     the path from a table to a comparison
    entrants     which methods are compared, with which parameters
    baselines/   one file per method; `method` says what a method must do, `measure` scores it
    outcome      the comparison as text and tables; `pictures` makes its page
"""

from countveil.comparing.entrants import Entrant, lineup
from countveil.comparing.outcome import Compared, Comparison

__all__ = ["Compared", "Comparison", "Entrant", "lineup"]
