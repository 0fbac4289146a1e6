"""Mistakes that we plant in our own code, to learn whether a test notices.

    planted/     one file for each room: small edits, and what each would do to a person
    planting     reads them, and makes a copy of the package with one of them
    trying       runs the tests that should notice, or the audit; remembers what came out

`make mutants` tries all of them, and goes on where it was stopped.
"""
