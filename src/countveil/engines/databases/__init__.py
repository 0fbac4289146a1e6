"""Releases that are in a database: written there, and tallied there.

Enters: an address of a database. Leaves: a release in two tables (its rows, and beside them its
manifest), and tallies that the database counts. Must not know: estimators, the publisher's side.

Where to add a database:

    address.py                      how its tables are named
    engines/databases/NAME.py       a class with the verbs of `connections.Connection`
    engines/databases/connections   one line in `connection_class`
    sql/dialects                    what its SQL cannot say, and says differently
    tables/readers                  a reader, if tables are to be published from it

tests/engines/conformance then checks it, by one line in its list of places.
"""
