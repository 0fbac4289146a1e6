"""The machine: what its operating system offers, and how places on it are named.

Enters: files, folders, signals, the memory and the cores of a machine. Leaves: the same few
operations on every system. Must not know: tables, releases.

This is the only room that imports modules which not every system has, or calls what is missing on
some of them: the rest of the package asks here. docs/reference/platforms.md lists the differences.
"""
