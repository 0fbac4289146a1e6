"""The commands, one module each: options, one call into another room, and printing.

Enters: options, already parsed. Leaves: what is printed, and an exit code. Must not know: how the
work is done. `cli/app.py` registers the commands; `publish` is a typical one.
"""
