"""What is protected and how, and where the release is written and how.

Enters: options as written on a command line or in Python. Leaves: a `Protecting` and a `Writing`,
each checked. Must not know: the table.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from countveil.errors import SettingsError, option
from countveil.maths.groups import ColumnSettings
from countveil.release import MOST_ABOUT, About, Signer
from countveil.release.values import PARQUET

if TYPE_CHECKING:
    from countveil.publishing.common_values import Chosen


@dataclass(frozen=True, slots=True)
class Protecting:
    """The sensitive columns, each with its settings; a `seed` makes the same draws again.

    The columns of each set in `together` share one partition and one draw.
    """

    columns: Mapping[str, ColumnSettings]
    seed: int | None = None
    together: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def of(
        cls,
        sensitive: Mapping[str, int] | Sequence[str] | str,
        ell: int | None = None,
        groups: str = "mixed",
        residue: str = "absorb",
        seed: int | None = None,
        common: Mapping[str, object] | str | None = None,
        odds: float | None = None,
        together: bool | Sequence[str] | Sequence[Sequence[str]] = False,
    ) -> Protecting:
        """From what a caller may write; `ell` is for the columns that have none.

        `common` is "auto", or maps columns to "auto", a value or several values. `odds` is for all
        columns. `together`: all columns, some of them, or several sets of them.
        """
        if isinstance(sensitive, str):
            sensitive = [sensitive]
        given: dict[str, int | None] = (
            dict(sensitive) if isinstance(sensitive, Mapping) else dict.fromkeys(sensitive)
        )
        if not given:
            raise SettingsError(
                "Name at least one sensitive column: without one, nothing is hidden."
            )
        repeating = _common(common, list(given))
        columns = {}
        for name, number in given.items():
            chosen = ell if number is None else number
            if chosen is None:
                raise SettingsError(
                    f"Column {name!r} has no ell. Say how many different values a group should "
                    f"have, such as ell = 5."
                )
            values, auto = repeating.get(name, ((), False))
            columns[name] = ColumnSettings(chosen, groups, residue, values, auto, odds)
        sets = _together(together, columns)
        joined = {name for names in sets for name in names}
        columns = {
            name: replace(settings, groups="random") if name in joined else settings
            for name, settings in columns.items()
        }
        return cls(columns, seed, sets)

    @property
    def draws(self) -> list[tuple[str, ...]]:
        """The sets of columns that have one draw each."""
        joined = {name for names in self.together for name in names}
        return [*self.together, *((name,) for name in self.columns if name not in joined)]

    @property
    def repeating(self) -> list[str]:
        """The columns whose groups may hold a value more than once."""
        return [name for name, settings in self.columns.items() if settings.repeats]

    @property
    def names(self) -> list[str]:
        """The sensitive columns."""
        return list(self.columns)

    @property
    def ell(self) -> dict[str, int]:
        """The ell of each column."""
        return {name: settings.ell for name, settings in self.columns.items()}

    @property
    def ell_unless_bounded(self) -> dict[str, int]:
        """The ell of each column; 0 where odds are bounded, so that rare values do no harm."""
        return {
            name: settings.ell if settings.odds is None else 0
            for name, settings in self.columns.items()
        }


@dataclass(frozen=True, slots=True)
class LedgerFiles:
    """A ledger and its key. With `hold`, new cases that cannot be drawn yet wait."""

    path: Path
    key: Path
    hold: bool = False

    @classmethod
    def of(
        cls,
        ledger: str | os.PathLike[str] | None,
        key: str | os.PathLike[str] | None,
        *,
        hold: bool,
    ) -> LedgerFiles | None:
        """From what a caller may write; the key lies beside the ledger if nothing is said."""
        if ledger is None:
            for name, given in (("hold", hold or None), ("ledger_key", key)):
                if given is not None:
                    raise SettingsError(f"{option(name)} goes with {option('ledger')}.")
            return None
        # Loaded only where there is a ledger.
        from countveil.publishing.ledger.ledger import Ledger

        chosen = ledger if isinstance(ledger, Ledger) else Ledger(ledger, key=key)
        return cls(chosen.path, chosen.key if key is None else Path(key), hold)


@dataclass(frozen=True, slots=True)
class Writing:
    """Where the release is written, and how.

    A release that is there is replaced with `force` and `again`; another release of the same people
    with `again` alone.
    `private_report` is a file for the publisher's page: the truth beside what is published.
    `inputs` are files that are read for it, and never written to. `about` is what
    the release is called and whom to ask, for its readers. With a `ledger`, the release continues
    those that the ledger knows. With `record`, the private record beside the release is read and
    gets one more entry. `metadata` are the formats of descriptions for archives and catalogues.
    `reasons` say why columns are kept, and stand in the private report alone.
    """

    to: str
    force: bool = False
    again: bool = False
    dry_run: bool = False
    format: str = PARQUET
    rows_per_file: int | None = None
    sign: Signer | None = None
    private_report: Path | None = None
    inputs: tuple[Path, ...] = ()
    about: About | None = None
    ledger: LedgerFiles | None = None
    record: bool = True
    metadata: tuple[str, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.rows_per_file is not None and self.rows_per_file < 1:
            raise SettingsError(f"A file has at least one row; got {self.rows_per_file}.")
        if self.ledger is not None and self.private_report is not None:
            raise SettingsError(
                f"{option('private_report')} measures one draw, and a release of a ledger has "
                f"several. Leave it out, or publish a trial with a seed and without "
                f"{option('ledger')}."
            )

    @classmethod
    def of(
        cls,
        to: str | os.PathLike[str],
        *,
        force: bool = False,
        again: bool = False,
        dry_run: bool = False,
        output_format: str = PARQUET,
        rows_per_file: int | None = None,
        sign: str | os.PathLike[str] | None = None,
        private_report: str | os.PathLike[str] | None = None,
        title: str = "",
        contact: str = "",
        recipe: str | os.PathLike[str] | None = None,
        ledger: str | os.PathLike[str] | None = None,
        ledger_key: str | os.PathLike[str] | None = None,
        hold: bool = False,
        record: bool = True,
        metadata: str | Sequence[str] = (),
        reasons: Mapping[str, str] | None = None,
    ) -> Writing:
        """From what a caller may write; the file with the key is read here."""
        files = LedgerFiles.of(ledger, ledger_key, hold=hold)
        private = () if files is None else (files.path, files.key)
        return cls(
            os.fspath(to),
            force,
            again,
            dry_run,
            output_format,
            rows_per_file,
            None if sign is None else Signer.from_file(Path(sign)),
            None if private_report is None else Path(private_report),
            tuple(Path(file) for file in (sign, recipe, *private) if file is not None),
            about_today(title, contact) if title or contact else None,
            files,
            record,
            _formats(metadata) if metadata else (),
            dict(reasons or {}),
        )

    def check_reasons(self, keep: Sequence[str]) -> None:
        """Refuse a reason that would be read nowhere, or that is about nothing."""
        for name in self.reasons:
            if name not in keep:
                raise SettingsError(
                    f"There is a reason for {name!r}, which is not kept on purpose: name it with "
                    f"{option('keep', name)}, or leave its {option('reasons')} out."
                )
        if self.reasons and self.private_report is None:
            raise SettingsError(
                f"Reasons are kept in the private report, and nowhere else: name its file with "
                f"{option('private_report')}, or leave {option('reasons')} out."
            )

    def check_elsewhere(self, engine: str, **others: object) -> None:
        """Refuse what is for tables on this machine; `others` are options of reading."""
        options = {
            "private_report": self.private_report,
            "output_format": None if self.format == PARQUET else self.format,
            "rows_per_file": self.rows_per_file,
            **others,
        }
        for name, given in options.items():
            if given is not None:
                raise SettingsError(
                    f"{option(name)} is for tables on this machine; it cannot be used with "
                    f"{option('engine', engine)}. Leave it out."
                )

    @property
    def plain(self) -> bool:
        """Whether data files stay as an engine writes them."""
        return self.format == PARQUET and self.rows_per_file is None


def _formats(metadata: str | Sequence[str]) -> tuple[str, ...]:
    # Loaded only where descriptions are wanted.
    from countveil.release.metadata import chosen_formats

    return chosen_formats(metadata)


def _together(
    given: bool | Sequence[str] | Sequence[Sequence[str]], columns: Mapping[str, ColumnSettings]
) -> tuple[tuple[str, ...], ...]:
    if given is False or (not isinstance(given, bool) and not given):
        return ()
    # Loaded only where columns are published together.
    from countveil.publishing.columns_together import sets_of_columns

    return sets_of_columns(given, columns)


def _common(
    common: Mapping[str, object] | str | None, sensitive: Sequence[str]
) -> Mapping[str, Chosen]:
    if common is None:
        return {}
    # Loaded only where there are common values.
    from countveil.publishing.common_values import chosen_common

    return chosen_common(common, sensitive)


def about_today(title: str, contact: str) -> About:
    """Title and contact as given, with the day; a day without a time says little about the work."""
    for what, text in (("title", title), ("contact", contact)):
        if len(text) > MOST_ABOUT or not text.isprintable():
            raise SettingsError(
                f"The {what} is one line of at most {MOST_ABOUT} characters without control "
                f"characters; got {len(text):,} characters."
            )
    return About(title, contact, dt.datetime.now(dt.UTC).date().isoformat())
