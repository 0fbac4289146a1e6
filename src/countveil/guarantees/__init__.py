"""What is promised: how well small counts are hidden, and the promise in words.

Enters: ell, sizes of counts. Leaves: exact probabilities, and sentences. Must not know: any table.
"""

from countveil.guarantees.exact import chance_off, chance_within, guarantee_table
from countveil.guarantees.statement import statement

__all__ = ["chance_off", "chance_within", "guarantee_table", "statement"]
