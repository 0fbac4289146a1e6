"""Advice as a value, and for people: small tables and some sentences per column, and a command.

Enters: figures of every method and ell, a recommendation, notes. Leaves: an `Advice`, and text.
Must not know: how the figures were made. Names of values come from data and are made harmless.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from countveil.display import text_table, visible
from countveil.errors import option
from countveil.maths.guarantees.odds import OddsCost
from countveil.publishing.advise.figures import EllFigures, share_text
from countveil.publishing.advise.methods import (
    BOUNDED,
    COMMON,
    IN_WORDS,
    METHODS,
    RANDOM,
    MethodFigures,
    groups_of,
)
from countveil.publishing.advise.pairs.advice import pair_head, pair_sentences, pair_table
from countveil.publishing.advise.pairs.compare import TOGETHER, PairAdvice
from countveil.publishing.advise.recommend import Recommendation

if TYPE_CHECKING:
    from countveil.publishing.advise.questions import QuestionAdvice

# What was not meant as a question may be a whole file.
MOST_SHOWN = 400
METHODS_HEAD = "The methods that are possible, side by side"


@dataclass(frozen=True, slots=True)
class ColumnAdvice:
    """One column: a line per feasible ell, one per method and ell, and what to do.

    `choices` has the ell that each method would take. `agreement` is how likely two random rows
    have the same one of the `values`. `costs` are those of several bounds on the odds,
    `odds` is the one that was asked for. `unit`: its `rows` may be cases.
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

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Advice:
    """The advice for each sensitive column, and for each question that was given; print it.

    `left_out` are the columns that would stop a publication. `pairs` compares two columns apart and
    together. `kept` are protected columns that say too much about others unless these share a draw.
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
        """The command that publishes as recommended; `options` say how to read and shape the table.

        Empty if a column has no recommendation.
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
        """A page with tables and a chart per column; `publish` is the command to copy."""
        from countveil.publishing.advise.pictures import advice_page

        return advice_page(self, publish or self.publish_call())

    def __str__(self) -> str:
        asked = [question_text(question) for question in self.questions]
        call = self.publish_call()
        publish = [f"To publish so, with the other options given here:\n{visible(call)}\n"] * bool(
            call
        )
        columns = [advice_text(column) for column in self.columns.values()]
        pairs = [pair_text(pair) for pair in self.pairs]
        return "\n".join([*columns, *pairs, *asked, *publish])

    def __repr__(self) -> str:
        return str(self)


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


def pair_text(advice: PairAdvice) -> str:
    """Everything about two columns."""
    table = text_table(*pair_table(advice))
    said = "".join(f"{visible(sentence)}\n" for sentence in pair_sentences(advice))
    return f"{visible(pair_head(advice))}\n{table}{said}"


def question_table(advice: QuestionAdvice) -> tuple[list[str], list[list[Any]]]:
    """What each ell does to one question."""
    names = ["ell", "error", "interval holds the truth", "reliable", "indicative", "hidden"]

    def share(number: float | None) -> str | None:
        return None if number is None else f"{number:.1%}"

    rows: list[list[Any]] = [
        [line.ell, share(line.error), share(line.coverage)]
        + [f"{number:.1f}" for number in (line.reliable, line.indicative, line.hidden)]
        for line in advice.figures
    ]
    return names, rows


def question_sentence(advice: QuestionAdvice) -> str:
    """What the table says, or why there is none."""
    if advice.refused is not None:
        return f"Refused: {advice.refused}"
    answers = f"{advice.answers:,} answer{'' if advice.answers == 1 else 's'}"
    return (
        f"{answers}, in trial releases. error: mean relative error; then how often the 95% "
        f"interval holds the truth, and how many answers have which verdict. {advice.reason}"
    )


def question_text(advice: QuestionAdvice) -> str:
    """Everything about one question."""
    table = text_table(*question_table(advice)) if advice.figures else ""
    return f"{visible(advice.question, MOST_SHOWN)}\n{table}{visible(question_sentence(advice))}\n"


def accuracy_table(advice: ColumnAdvice) -> tuple[list[str], list[list[Any]]]:
    """Expected relative errors by the size of the count, and what is hidden."""
    shares = list(advice.lines[0].errors) if advice.lines else []
    names = ["ell", *(share_text(share) for share in shares), "hidden up to", "condition"]
    rows: list[list[Any]] = [
        [
            line.ell,
            *(None if error is None else f"{error:.1%}" for error in line.errors.values()),
            line.hidden_up_to,
            None if line.condition is None else f"{line.condition:,.1f}",
        ]
        for line in advice.lines
    ]
    return names, rows


def protection_table(advice: ColumnAdvice) -> tuple[list[str], list[list[Any]]]:
    """How much a single published row changes the odds of its value, and what stays possible."""
    names = ["ell", "rarest", "median", "most frequent", "candidates"]
    rows: list[list[Any]] = [
        [
            line.ell,
            *(
                f"{odds:,.0f}" if odds >= 10 else f"{odds:.1f}"
                for odds in (line.odds_rarest, line.odds_median, line.odds_most_frequent)
            ),
            None if line.candidates is None else f"{line.candidates:.1f}",
        ]
        for line in advice.lines
    ]
    return names, rows


def methods_table(advice: ColumnAdvice) -> tuple[list[str], list[list[Any]]]:
    """What each method costs and gives away, at some ells and at those that each would take."""
    share = advice.wished_share
    error_name = "error" if share is None else f"error at {share_text(share)}"
    names = ["ell", "groups", error_name, "published", "at most", "mean belief", "over bound"]
    names += ["gamma", "epsilon"] if advice.costs else []
    ells = {line.ell for line in advice.methods if line.method in (COMMON, RANDOM)}
    ells |= {each.ell for each in advice.choices.values() if each.ell is not None}

    def percent(number: float | None) -> str | None:
        return None if number is None else f"{number:.1%}"

    rows: list[list[Any]] = [
        [
            line.ell,
            line.method.replace(" after ", "+"),
            percent(None if share is None else line.errors.get(share)),
            percent(line.published_belief),
            percent(line.largest_belief),
            percent(line.mean_belief),
            None if line.distance is None else f"{line.distance:,.2f}",
            *(
                [None if n is None else f"{n:.3g}" for n in (line.gamma, line.epsilon)]
                if advice.costs
                else []
            ),
        ]
        for line in advice.methods
        if line.ell in ells
    ]
    return names, rows


def methods_sentence(advice: ColumnAdvice) -> str:
    """What the columns of the table of methods mean."""
    noise = (
        f" +noise: the same after noise that bounds the odds by K = {advice.odds:g}, with its "
        f"gamma and epsilon."
        if advice.odds is not None
        else ""
    )
    return (
        f"groups: mixed (different values), common (mixed, but frequent values may repeat: "
        f"{option('common', 'auto')}), random (any rows: {option('groups', 'random')}). published: "
        f"how likely a published value is the true one, on average; at most: for the value where "
        f"it is highest. mean belief: in the true value, by someone who knows the shares of the "
        f"table and links a row. over bound: the variance of unbiased counts, over the least that "
        f"any method could have at this mean belief (- where it is not known).{noise}"
    )


def costs_table(advice: ColumnAdvice) -> tuple[list[str], list[list[Any]]]:
    """What several bounds on the odds cost, with the recommended groups and ell."""
    names = ["K", "gamma", "epsilon", "errors times"]
    rows: list[list[Any]] = [
        [f"{c.odds:,g}", f"{c.gamma:.3g}", f"{c.epsilon:.3g}", f"{c.error_times:,.2f}"]
        for c in advice.costs
    ]
    return names, rows


def costs_sentence(advice: ColumnAdvice) -> str:
    """What the table of bounds means."""
    ell = advice.recommendation.ell
    return (
        f"A bound on the odds, {option('odds', 'K')}: noise over the declared values before the "
        f"groups. gamma: how many rows take a value at random; epsilon: of local differential "
        f"privacy of the whole release in one row's value; errors times: by how much errors of "
        f"counts grow, about, with ell = {ell}. What is promised holds if the declared values, K "
        f"and ell are fixed without looking at the table, so choose them on an older table, or on "
        f"none. Fewer declared values cost less: merge rare ones."
    )


def basis_sentence(advice: ColumnAdvice) -> str:
    """How many predicates the figures are based on."""
    if not advice.lines:
        return ""
    numbers = advice.lines[0].predicates
    about = f" about {', '.join(advice.asked_about)}" if advice.asked_about else ""
    by_share = ", ".join(f"{share_text(share)}: {number:,}" for share, number in numbers.items())
    sampled = (
        f" They were taken from {advice.sampled_rows:,} of the {advice.rows:,} rows."
        if 0 < advice.sampled_rows < advice.rows
        else ""
    )
    return (
        f"Errors are means over counts of about that share of the table, estimated by the default "
        f"method from trial releases; they are based on this many predicates{about}: {by_share} "
        f"(- where the table has too few counts of that size).{sampled} 'hidden up to': the "
        f"largest count, of those that combine columns, whose answer is off by more than 30% in "
        f"half of the cases or more."
    )


def recommended(advice: ColumnAdvice) -> str:
    """The method, its ell, and the reasons."""
    chosen = advice.recommendation
    if chosen.ell is None or not chosen.why:
        return chosen.reason
    written = IN_WORDS[chosen.method].replace("common values", "mixed groups with common values")
    return f"{written}, ell = {chosen.ell}. {chosen.reason} {chosen.why}"


def advice_text(advice: ColumnAdvice) -> str:
    """Everything about one column."""
    parts = [f"{advice.column}: {advice.rows:,} {advice.unit}\n"]
    if advice.lines:
        parts.append("Expected relative error of counts of this share of the table")
        parts.append(text_table(*accuracy_table(advice)))
        parts.append(f"{basis_sentence(advice)}\n")
        parts.append("Seeing a value in a row multiplies the odds that it is true by")
        parts.append(text_table(*protection_table(advice)))
    if advice.methods:
        parts.append(METHODS_HEAD)
        parts.append(text_table(*methods_table(advice)))
        parts.append(f"{methods_sentence(advice)}\n")
    if advice.costs:
        parts.append(text_table(*costs_table(advice)))
        parts.append(f"{costs_sentence(advice)}\n")
    sentences = [f"Recommendation: {recommended(advice)}", advice.larger, *advice.notes]
    return "\n".join(parts) + "".join(f"{visible(sentence)}\n" for sentence in sentences)
