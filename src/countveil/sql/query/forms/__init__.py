"""Forms in which analysts write what the reader of questions knows in another form.

Enters: nodes of sqlglot. Leaves: expressions, formulas, or nodes that the reader knows. Must not
know: rows, engines, estimators. Loaded only by a query that has such a form.

    special_functions   IF, CASE of a value, prefixes       dates             functions of dates
    sensitive_sets      expressions of sensitive columns    shapes            other constants alone
"""
