"""Adversaries: attacks on our own releases, one file each.

Enters: a target (codes of linked rows, public facts of the release) and, where one is needed, a
stream. Leaves: an `Outcome`: findings (claimed beside measured, with a p-value where there is a
claim to test) and charts. Must not know: how a report looks. No value of any row is in a finding.

Each file opens with what its adversary knows, what he does and what is claimed against him.
"""
