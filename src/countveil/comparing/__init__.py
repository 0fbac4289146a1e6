"""Methods compared on somebody's own table: who takes part, what came out, how it looks.

Enters: a histogram, figures. Leaves: methods to try, a `Comparison` in words, tables and charts.
Must not know: files, engines.
"""

from countveil.comparing.entrants import Entrant, lineup
from countveil.comparing.outcome import Compared, Comparison

__all__ = ["Compared", "Comparison", "Entrant", "lineup"]
