"""The analyst's pages: open a release, look at its columns, ask, take answers away.

Enters: a release below the root. Leaves: pages. Must not know: the publisher's side, which an
analyst's process does not load.
"""
