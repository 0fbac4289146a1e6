"""What belongs to the paper alone: formulas as it prints them, kept to be compared.

Enters: numbers. Leaves: numbers. Must not know: any table. Nothing here is a default.
"""
