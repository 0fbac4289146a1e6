"""The names of the group methods and of what happens to a residue.

Public, since a release says which were used.
"""

GROUP_METHODS = ("mixed", "anatomy")
RESIDUES = ("absorb", "drop")
