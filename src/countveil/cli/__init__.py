"""The command line: one module per command, nothing but options, calls and printing.

Enters: words typed by a person. Leaves: tables, JSON or CSV on standard output; one clear paragraph
on standard error when something cannot be done. Exit codes: 0 done, 1 the data or the request
cannot be served, 2 wrong usage, 130 interrupted. Must not know: how the work is done. Start at
`entry.command`; `app` lists the commands.
"""
