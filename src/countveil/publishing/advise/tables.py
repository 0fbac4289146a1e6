"""Advice for people: small tables and some sentences per column, pair and question.

Enters: the advice about a column, two columns or a question. Leaves: tables and sentences, by
themselves and in the order in which they are read. Must not know: how the figures were made, or
where they are shown. Names of values come from data and are made harmless.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from countveil.display import Part, visible
from countveil.errors import option
from countveil.publishing.advise.figures import share_text
from countveil.publishing.advise.methods import COMMON, IN_WORDS, RANDOM
from countveil.publishing.advise.pairs.advice import pair_head, pair_sentences, pair_table
from countveil.publishing.advise.pairs.compare import PairAdvice

if TYPE_CHECKING:
    from countveil.publishing.advise.advice import ColumnAdvice
    from countveil.publishing.advise.questions import QuestionAdvice

# What was not meant as a question may be a whole file.
MOST_SHOWN = 400
METHODS_HEAD = "The methods that are possible, side by side"


def pair_parts(advice: PairAdvice) -> list[Part]:
    """Everything about two columns."""
    return [pair_head(advice), pair_table(advice), *pair_sentences(advice)]


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


def question_parts(advice: QuestionAdvice) -> list[Part]:
    """Everything about one question."""
    table = [question_table(advice)] if advice.figures else []
    return [visible(advice.question, MOST_SHOWN), *table, f"{question_sentence(advice)}\n"]


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


def advice_parts(advice: ColumnAdvice) -> list[Part]:
    """Everything about a column."""
    parts: list[Part] = [f"{advice.column}: {advice.rows:,} {advice.unit}\n"]
    if advice.lines:
        accuracy = "Expected relative error of counts of this share of the table"
        parts += [accuracy, accuracy_table(advice), f"{basis_sentence(advice)}\n"]
        protection = "Seeing a value in a row multiplies the odds that it is true by"
        parts += [protection, protection_table(advice)]
    if advice.methods:
        parts += [METHODS_HEAD, methods_table(advice), f"{methods_sentence(advice)}\n"]
    if advice.costs:
        parts += [costs_table(advice), f"{costs_sentence(advice)}\n"]
    words = [f"Recommendation: {recommended(advice)}", advice.larger, *advice.notes]
    return [*parts, *words[:-1], f"{words[-1]}\n"]
