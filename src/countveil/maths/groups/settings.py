"""What the publisher chose for one sensitive column.

Enters: ell, the group method, what to do with the residue. Leaves: a checked, frozen value.
Must not know: the table.
"""

from __future__ import annotations

from dataclasses import dataclass

from countveil.errors import SettingsError
from countveil.maths.channel.group_methods import GROUP_METHODS, RESIDUES


@dataclass(frozen=True, slots=True)
class ColumnSettings:
    """ell and the manner of grouping for one sensitive column."""

    ell: int
    groups: str = "mixed"
    residue: str = "absorb"

    def __post_init__(self) -> None:
        if isinstance(self.ell, bool) or not isinstance(self.ell, int):
            raise SettingsError(f"ell must be a whole number from 2 on, got {self.ell!r}.")
        if self.ell < 2:
            raise SettingsError(
                f"ell must be at least 2, got {self.ell}: a group of one hides nobody."
            )
        if self.groups not in GROUP_METHODS:
            raise SettingsError(
                f"groups must be one of {', '.join(GROUP_METHODS)}, got {self.groups!r}."
            )
        if self.residue not in RESIDUES:
            raise SettingsError(
                f"residue must be one of {', '.join(RESIDUES)}, got {self.residue!r}."
            )
