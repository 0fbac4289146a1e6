"""SQL: what the analyst and the publisher write, and what databases are sent.

Enters: SQL text, and values that stand for it. Leaves: questions and conditions as plain values;
text in the dialect of each database; connections that can do little. Must not know: the rows, the
estimators. Text that a person wrote is parsed and never executed, except for the publisher's
`--query`, which runs on a read-only connection.

Start at `query/` (text to values), then `dialects/` (values to text).

    locked_duckdb         DuckDB connections that reach one file or folder
    postgres_connection   a read-only transaction; `postgres_errors` explains refusals
    interruptible         calls that Ctrl-C can end
"""
