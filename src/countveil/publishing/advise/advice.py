"""Advice as a value, and the command that follows from it.

Enters: figures of every method and ell, a recommendation, notes. Leaves: an `Advice`. Must not
know: how the figures were made.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from countveil.display import Part, html_of, text_of, visible
from countveil.maths.guarantees.odds import OddsCost
from countveil.publishing.advise.figures import EllFigures
from countveil.publishing.advise.methods import (
    BOUNDED,
    COMMON,
    METHODS,
    RANDOM,
    MethodFigures,
    groups_of,
)
from countveil.publishing.advise.pairs.compare import TOGETHER, PairAdvice
from countveil.publishing.advise.recommend import Recommendation
from countveil.publishing.advise.tables import advice_parts, pair_parts, question_parts

if TYPE_CHECKING:
    from countveil.publishing.advise.questions import QuestionAdvice


@dataclass(frozen=True, slots=True)
class ColumnAdvice:
    """One column: a line per feasible ell, one per method and ell, and what to do.

    Attributes:
        column: Its name.
        rows: Its rows, or cases.
        sampled_rows: How many of them were tried out.
        lines: The figures for every ell.
        recommendation: What to take.
        larger: Why not a larger ell.
        notes: What else to know.
        asked_about: The columns that the random questions are about.
        methods: The figures for every method and ell.
        choices: The ell that each method would take.
        wished_share: The share of counts that the goal is about.
        values: How many values the column has.
        agreement: How likely two random rows have the same value.
        costs: What several bounds on the odds would cost.
        odds: The bound that was asked for.
        unit: What its `rows` are: rows or cases.
        impossible: Why methods that were asked for are not possible at any ell, by method.
    """

    column: str
    rows: int
    sampled_rows: int
    lines: Sequence[EllFigures]
    recommendation: Recommendation
    larger: str
    notes: Sequence[str]
    asked_about: Sequence[str] = ()
    methods: Sequence[MethodFigures] = ()
    choices: Mapping[str, Recommendation] = field(default_factory=dict)
    wished_share: float | None = None
    values: int = 0
    agreement: float = 0.0
    costs: Sequence[OddsCost] = ()
    odds: float | None = None
    unit: str = "rows"
    impossible: Mapping[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Advice:
    """The advice for each sensitive column: what `countveil.advise` gives. Print it.

    Attributes:
        columns: The advice for each column.
        questions: The advice for each question that was given.
        left_out: The columns that would stop a publication.
        pairs: Every two columns, apart and together.
        kept: Protected columns that say too much about others unless these share a draw.

    Example:
        >>> advice = cv.advise(table, "salary", groups="mixed", seed=1)
        >>> advice.columns["salary"].recommendation.ell
        2
        >>> advice.arguments()
        {'sensitive': {'salary': 2}}
    """

    columns: Mapping[str, ColumnAdvice]
    questions: Sequence[QuestionAdvice] = ()
    left_out: Sequence[str] = ()
    pairs: Sequence[PairAdvice] = ()
    kept: Sequence[str] = ()

    def __getitem__(self, column: str) -> ColumnAdvice:
        return self.columns[column]

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        told: dict[str, Any] = {name: column.as_dict() for name, column in self.columns.items()}
        if self.questions:
            told["questions"] = [asdict(question) for question in self.questions]
        if self.pairs:
            told["pairs"] = [asdict(pair) for pair in self.pairs]
        return told

    def publish_line(
        self, table: str, command: str = "countveil", options: Sequence[str] = ()
    ) -> str:
        """The command that publishes as recommended.

        Args:
            table: The table, as the command should name it.
            command: The name of the command.
            options: Options that say how to read and shape the table.

        Returns:
            The command; empty if a column has no recommendation.
        """
        chosen = self.arguments()
        if not chosen:
            return ""
        words = [command, "publish", shlex.quote(table), *map(shlex.quote, options)]
        for name, ell in chosen["sensitive"].items():
            words += ["-s", shlex.quote(f"{name}:{ell}")]
        words += ["--groups", chosen["groups"]] if "groups" in chosen else []
        common = chosen.get("common", {})
        each = ["auto"] if common == "auto" else [shlex.quote(f"{name}=auto") for name in common]
        words += [word for text in each for word in ("--common", text)]
        words += ["--odds", f"{chosen['odds']:g}"] if "odds" in chosen else []
        for names in chosen.get("together", ()):
            words += ["--together", shlex.quote(",".join(names))]
        for option_name in ("keep", "drop"):
            for name in chosen.get(option_name, ()):
                words += [f"--{option_name}", shlex.quote(name)]
        return " ".join([*words, "--to", "release"])

    def publish_call(self) -> str:
        """The same in Python, without the options that the advice was asked for with."""
        chosen = self.arguments()
        if not chosen:
            return ""
        parts = ["table", repr(chosen.pop("sensitive")), "'release'"]
        parts += [f"{name}={value!r}" for name, value in chosen.items()]
        return f"countveil.publish({', '.join(parts)})"

    def arguments(self) -> dict[str, Any]:
        """What is recommended, as arguments of `publish`; nothing if a column has no advice.

        Random groups and a bound on the odds are for all columns of a release, or for none; a bound
        is for columns that are apart.
        """
        bounded = [column for column in self.columns.values() if column.costs]
        sets = [] if bounded else self._together()
        joined = {name: ell for names, ell in sets for name in names}
        taken = _alike([c for name, c in self.columns.items() if name not in joined])
        if any(each.ell is None for each in taken.values()):
            return {}
        chosen: dict[str, Any] = {
            "sensitive": {name: joined.get(name) or taken[name].ell for name in self.columns},
            **_groups_and_common(taken, alone=not joined),
            "odds": bounded[0].odds if bounded else None,
            "together": [list(names) for names, _ in sets],
            "keep": [name for name in self.kept if name not in joined],
            "drop": list(self.left_out),
        }
        return {name: value for name, value in chosen.items() if value}

    def _together(self) -> list[tuple[tuple[str, ...], int]]:
        """The sets of columns that should share a draw, each with its ell."""
        sets: list[tuple[set[str], int]] = []
        for pair in self.pairs:
            chosen = pair.recommendation
            if chosen.method == TOGETHER and chosen.ell is not None:
                touching = [one for one in sets if one[0] & {*pair.columns}]
                names = set(pair.columns).union(*(one for one, _ in touching))
                ell = min([chosen.ell, *(one for _, one in touching)])
                sets = [one for one in sets if one not in touching] + [(names, ell)]
        return [(tuple(name for name in self.columns if name in names), ell) for names, ell in sets]

    def to_html(self, publish: str = "") -> str:
        """A page with tables and a chart per column.

        Args:
            publish: The command to copy; the call in Python if empty.

        Returns:
            The text of the page.
        """
        from countveil.publishing.advise.pictures import advice_page

        return advice_page(self, publish or self.publish_call())

    def _parts(self) -> list[Part]:
        call = self.publish_call()
        publish = f"To publish so, with the other options given here:\n{call}\n"
        return [
            *(part for column in self.columns.values() for part in advice_parts(column)),
            *(part for pair in self.pairs for part in pair_parts(pair)),
            *(part for question in self.questions for part in question_parts(question)),
            *([publish] if call else []),
        ]

    def __str__(self) -> str:
        return text_of(self._parts())

    def __repr__(self) -> str:
        ells = (f"{name}: ell {c.recommendation.ell or '-'}" for name, c in self.columns.items())
        return visible(f"Advice({', '.join(ells)}; print() shows it)")

    def _repr_html_(self) -> str:
        return html_of(self._parts())


def _alike(columns: Sequence[ColumnAdvice]) -> dict[str, Recommendation]:
    """What each column takes. If one has random groups all have, with noise if there is any."""
    random = [each for each in columns if groups_of(each.recommendation.method) == RANDOM]
    taken = {}
    for column in columns:
        names = BOUNDED if column.costs else METHODS
        instead = next(name for name in names if groups_of(name) == RANDOM)
        chosen = column.choices.get(instead) if random else column.recommendation
        taken[column.column] = chosen or replace(column.recommendation, ell=None)
    return taken


def _groups_and_common(taken: Mapping[str, Recommendation], *, alone: bool) -> dict[str, Any]:
    """The options that say how groups are formed; `alone`: no column shares a draw."""
    methods = {groups_of(each.method) for each in taken.values()}
    if methods == {RANDOM}:
        return {"groups": RANDOM}
    if methods == {COMMON} and alone:
        return {"common": "auto"}
    common = [name for name, each in taken.items() if groups_of(each.method) == COMMON]
    return {"common": dict.fromkeys(common, "auto")}
