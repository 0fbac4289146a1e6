"""The private ledger: what each case published, so that it publishes the same for ever.

Enters: cases (a person with one sensitive value each), a key. Leaves: what known cases published,
and a record of new ones that is in agreement with the releases. Must not know: how groups are
formed, engines. Start at `book` (an open ledger); `keys` has all cryptography, `store` all SQL.
"""
