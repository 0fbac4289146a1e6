"""Questions built by clicking, kept in step with their SQL.

Enters: fields of a form, or SQL. Leaves: the other one. Must not know: how a question is answered.
Start at `built` (what the builder can express).
"""
