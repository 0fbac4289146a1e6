"""Numbers of the two conditions that need no tally, shared by who plans and who estimates.

A cell of true values counts under a condition on plain columns. Conditions have the numbers 0, 1,
... of the tally; a cell that always or never counts has one of these.
"""

ALWAYS, NEVER = -1, -2
