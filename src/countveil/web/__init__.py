"""The web app: the publisher's and the analyst's work in a browser on the same machine.

Enters: a folder to pick files from, perhaps a release. Leaves: pages on a loopback address. Must
not know: how anything is computed. Every page calls the functions that the commands call.
"""
