"""A publication as it is planned: every choice, and what each function is handed of them.

Enters: choices, as the public functions and recipes name them. Leaves: a `Draft`, which is never
changed, only replaced. Must not know: pages, jobs, what any choice does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from countveil.maths.channel import RESIDUES
from countveil.release.values import PARQUET
from countveil.tables.recode import is_inline, read_pairs

ABSORB = RESIDUES[0]
# What is said about single columns, as a text each.
BY_COLUMN = (
    "bins", "class_values", "merge", "labels", "levels", "round", "top", "bottom", "domain",
)  # fmt: skip
READING = (
    "delimiter", "quote", "encoding", "decimal_comma", "header", "missing", "where", "query",
)  # fmt: skip
_TABLE = (*READING, *BY_COLUMN)
# What stands for classes in averages changes neither figures nor attacks.
_MEASURED = tuple(name for name in _TABLE if name != "class_values")
_WHO = ("drop", "person", "one_per")
_METHOD = ("groups", "common", "odds", "together")
# The choices that each function takes, in the order in which they are written.
TAKEN: Mapping[str, Sequence[str]] = {
    "inspect": ("sensitive", "k", *_WHO, "weight", "keep", *_TABLE),
    "advise": ("sensitive", "accuracy", "hide", "questions", "odds", *_WHO, *_MEASURED),
    "publish": (
        "sensitive", "to", *_WHO, "weight", "keep", "reasons", *_TABLE, *_METHOD, "residue",
        "ledger", "ledger_key", "hold", "title", "contact", "output_format", "rows_per_file",
        "metadata", "sign", "private_report", "force", "again", "dry_run",
    ),
    "audit": (
        "sensitive", "release", *_WHO, "keep", *_MEASURED, *_METHOD, "residue", "ledger",
        "ledger_key",
    ),
}  # fmt: skip
# Of these, what was typed may be a list of values and labels, in JSON.
LISTS = ("merge", "labels")


@dataclass(frozen=True, slots=True)
class Draft:
    """All choices. `sensitive` maps columns to their ell, None where that is not chosen yet.

    `reading` says how the table is read, `by_column` what becomes of values: of each option, by
    column, what was typed. `reasons` say why columns are kept. `accuracy`, `hide`, `questions` and
    `wished_odds` are wishes, `groups`, `common`, `odds` and `together` what was chosen. A release
    of a `ledger` continues those before it, and has no private report: reasons are then no part of
    any call. `one_per` says which row of each `person` is kept, if not all are. `k` asks for advice
    about combinations of plain values that fewer rows have.
    """

    table: str = ""
    sensitive: Mapping[str, int | None] = field(default_factory=dict)
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    person: str | None = None
    one_per: str = ""
    k: int | None = None
    reading: Mapping[str, Any] = field(default_factory=dict)
    by_column: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    accuracy: str = "1%:10%"
    hide: int | None = None
    questions: str = ""
    wished_odds: float | None = None
    groups: str = "mixed"
    common: Mapping[str, str] = field(default_factory=dict)
    odds: float | None = None
    together: tuple[tuple[str, ...], ...] = ()
    title: str = ""
    contact: str = ""
    to: str = ""
    private_report: str = ""
    weight: str | None = None
    ledger: str = ""
    ledger_key: str = ""
    hold: bool = False
    sign: str = ""
    metadata: tuple[str, ...] = ()
    output_format: str = PARQUET
    rows_per_file: int | None = None
    residue: str = ABSORB

    def arguments(self, function: str, **more: Any) -> dict[str, Any]:
        """What a public function is handed besides the table; defaults are left out."""
        choices = {**self._choices(function), **more}
        taken = {name: choices[name] for name in TAKEN[function] if name in choices}
        empty: tuple[Any, ...] = (None, "", (), [], {})
        given = {
            name: value
            for name, value in taken.items()
            if not any(value is each or value == each for each in empty) and value is not False
        }
        if taken.get("header") is False:
            given["header"] = False
        return given

    def reading_arguments(self, *, prepared: bool = True) -> dict[str, Any]:
        """How the table is read, and what becomes of its values if it is `prepared`; no roles."""
        given = self.arguments("inspect")
        names = _TABLE if prepared else READING
        return {name: given[name] for name in names if name in given}

    def _choices(self, function: str) -> dict[str, Any]:
        wishes = function == "advise"
        listed = [list(names) for names in self.together]
        return {
            **self.reading,
            **{name: _spoken(name, each) for name, each in self.by_column.items() if each},
            "sensitive": self._sensitive(function),
            "drop": list(self.drop),
            "keep": list(self.keep),
            "person": None if self.one_per else self.person,
            "one_per": {self.person: self.one_per} if self.person and self.one_per else None,
            "k": self.k,
            "weight": self.weight,
            "reasons": {
                name: text
                for name, text in self.reasons.items()
                if name in self.keep and not self.ledger
            },
            "accuracy": self.accuracy,
            "hide": self.hide,
            "questions": self.questions,
            "odds": self.wished_odds if wishes else self.odds,
            "groups": None if self.groups == "mixed" or self.together else self.groups,
            "common": dict(self.common),
            "together": listed,
            "title": self.title,
            "contact": self.contact,
            "to": self.to,
            "private_report": "" if self.ledger else self.private_report,
            "ledger": self.ledger,
            "ledger_key": self.ledger_key if self.ledger else "",
            "hold": self.hold and bool(self.ledger),
            "sign": self.sign,
            "metadata": list(self.metadata),
            "output_format": None if self.output_format == PARQUET else self.output_format,
            "rows_per_file": self.rows_per_file,
            "residue": None if self.residue == ABSORB else self.residue,
        }

    def _sensitive(self, function: str) -> Any:
        if function in ("inspect", "advise"):
            return list(self.sensitive)
        return {name: ell for name, ell in self.sensitive.items() if ell is not None}

    @property
    def complete(self) -> bool:
        """Whether every column to protect has its ell."""
        return bool(self.sensitive) and None not in self.sensitive.values()

    def of_table(self, table: str, reading: Mapping[str, Any]) -> Draft:
        """Another table, about whose columns nothing is known yet; or the same, read otherwise."""
        if table == self.table:
            return replace(self, reading=reading)
        kept = (self.accuracy, self.hide, self.title, self.contact)
        accuracy, hide, title, contact = kept
        return Draft(
            table, reading=reading, accuracy=accuracy, hide=hide, title=title, contact=contact
        )

    def with_role(self, name: str, role: str) -> Draft:
        """The same with another role of a column: protect, publish, drop, person or weight."""
        sensitive = {column: ell for column, ell in self.sensitive.items() if column != name}
        if role == "protect":
            sensitive = {**self.sensitive, name: self.sensitive.get(name)}
        drop = tuple(column for column in self.drop if column != name)
        # Why a column is kept depends on what it is.
        changed = role != self.role(name)
        keep = tuple(column for column in self.keep if not changed or column != name)
        sets = tuple(names for names in self.together if {*names} <= {*sensitive})
        person = name if role == "person" else None if self.person == name else self.person
        return replace(
            self,
            sensitive=sensitive,
            drop=(*drop, name) if role == "drop" else drop,
            keep=keep,
            person=person,
            # Which row is kept was said about this person.
            one_per=self.one_per if person == self.person else "",
            reasons={column: text for column, text in self.reasons.items() if column in keep},
            common={column: how for column, how in self.common.items() if column in sensitive},
            together=sets,
            weight=name if role == "weight" else None if self.weight == name else self.weight,
        )

    def role(self, name: str) -> str:
        """What becomes of a column."""
        if name in self.sensitive:
            return "protect"
        if name in self.drop:
            return "drop"
        if name == self.weight:
            return "weight"
        return "person" if name == self.person else "publish"

    def with_texts(self, name: str, texts: Mapping[str, str]) -> Draft:
        """The same with other options about the values of a column; an empty one is left out."""
        by_column = {option: dict(columns) for option, columns in self.by_column.items()}
        for option, text in texts.items():
            columns = by_column.setdefault(option, {})
            columns.pop(name, None)
            if text:
                columns[name] = text
        return replace(self, by_column={o: columns for o, columns in by_column.items() if columns})

    def texts(self, name: str) -> dict[str, str]:
        """The options about the values of a column."""
        return {o: columns[name] for o, columns in self.by_column.items() if name in columns}

    def keeping(self, names: Sequence[str], reason: str) -> Draft:
        """The same with columns that are published although they look unsafe, and why."""
        return replace(
            self,
            keep=tuple(dict.fromkeys([*self.keep, *names])),
            reasons={**self.reasons, **dict.fromkeys(names, reason)},
        )

    def not_keeping(self, names: Sequence[str]) -> Draft:
        """The same with columns about which nothing is decided any more."""
        return replace(
            self,
            keep=tuple(name for name in self.keep if name not in names),
            reasons={name: text for name, text in self.reasons.items() if name not in names},
        )

    def with_method(self, name: str, groups: str, ell: int, odds: float | None) -> Draft:
        """The same with a column published so: `groups` is mixed, common or random.

        Random groups and a bound on the odds are for all columns of a release, or for none.
        """
        common = {column: how for column, how in self.common.items() if column != name}
        if groups == "common":
            common = {**common, name: "auto"}
        random = groups == "random"
        return replace(
            self,
            sensitive={**self.sensitive, name: ell},
            groups="random" if random else "mixed",
            common={} if random else common,
            odds=odds,
        )

    def method(self, name: str) -> str:
        """The groups of a column: mixed, common or random."""
        if self.groups == "random" or any(name in names for names in self.together):
            return "random"
        return "common" if name in self.common else self.groups


def _spoken(option: str, columns: Mapping[str, str]) -> dict[str, Any]:
    """What was said about columns, as Python has it."""
    return {
        name: read_pairs(text, "a value and its label")
        if option in LISTS and is_inline(text)
        else text
        for name, text in columns.items()
    }
