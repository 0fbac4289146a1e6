"""`countveil guarantee`: what an ell promises about large and small counts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from countveil.cli.options import FormatOption
from countveil.cli.output import Format, print_paragraph, print_rows

if TYPE_CHECKING:
    from countveil.maths.guarantees import Guarantee, GuaranteeAnswer
    from countveil.maths.guarantees.predicate_guarantee import PredicateGuarantee

app = typer.Typer(
    help="What an ell promises: utility of large counts, privacy of small ones.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_COLUMNS = ("way", "count", "error", "probability", "truly")

RequiredEllOption = Annotated[
    int, typer.Option("--ell", help="How many different values a row hides among (2 or more).")
]
ErrorOption = Annotated[
    float | None, typer.Option("--error", metavar="E", help="A relative error, such as 0.2.")
]
ProbabilityOption = Annotated[
    float | None, typer.Option("--probability", metavar="T", help="Its probability, such as 0.02.")
]
CountOption = Annotated[
    int | None, typer.Option("--count", metavar="F", help="How many rows have the value.")
]
RowsOption = Annotated[
    int | None, typer.Option("--rows", metavar="N", help="For a predicate: rows of the table.")
]
SizeOption = Annotated[
    int | None,
    typer.Option("--size", metavar="N", help="For a predicate: the rows that meet it."),
]
ShareOption = Annotated[
    float | None,
    typer.Option(
        "--share", metavar="S", help="For a predicate: the share of the value in the table."
    ),
]
GroupsOption = Annotated[
    str | None,
    typer.Option(
        "--groups",
        metavar="METHOD",
        help="For a predicate: how the column is published, mixed (the default), random, or "
        "together with others; the share is then that of the combination of values.",
    ),
]
OddsOption = Annotated[
    float | None,
    typer.Option(
        "--odds", metavar="K", help="Noise comes first, so that no row changes odds by more than K."
    ),
]
ValuesOption = Annotated[
    int | None,
    typer.Option("--values", metavar="V", help="With --odds: how many values are declared."),
]
PlotOption = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE", help="Also draw the paper's figure, as an .svg file."),
]
ForceOption = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Replace the file of --plot, whatever it is; a figure of ours is replaced anyway.",
    ),
]


@app.command()
def utility(
    ell: RequiredEllOption,
    error: ErrorOption = None,
    probability: ProbabilityOption = None,
    count: CountOption = None,
    rows: RowsOption = None,
    size: SizeOption = None,
    share: ShareOption = None,
    groups: GroupsOption = None,
    odds: OddsOption = None,
    values: ValuesOption = None,
    plot: PlotOption = None,
    force: ForceOption = False,
    style: FormatOption = Format.TABLE,
) -> None:
    """Find the count from which the published count is accurate enough.

    Give two of --error, --probability and --count; the third is computed. From that count on, the
    probability of a relative error of E or more is at most T. It is computed exactly (binomial), by
    Chebyshev's inequality, and as the paper prints it; `truly` is the exact probability there.

    With --rows, --size and --share it is about a predicate over other columns: how many of its rows
    have the value, estimated with the standard error of such an estimate. With --odds, --values and
    --rows the count of the value carries the noise that bounds the odds.

    Example: countveil guarantee utility --ell 10 --error 0.2 --probability 0.02
    """
    parameters = _Parameters(
        ell, count, error, probability, rows, size, share, groups, odds, values
    )
    parameters.answer("utility", plot, style, force=force)


@app.command()
def privacy(
    ell: RequiredEllOption,
    count: CountOption = None,
    error: ErrorOption = None,
    probability: ProbabilityOption = None,
    rows: RowsOption = None,
    size: SizeOption = None,
    share: ShareOption = None,
    groups: GroupsOption = None,
    odds: OddsOption = None,
    values: ValuesOption = None,
    plot: PlotOption = None,
    force: ForceOption = False,
    style: FormatOption = Format.TABLE,
) -> None:
    """Find how likely the published count of a small number of rows is to be far off.

    Give two of --count, --error and --probability; the third is computed. The published count is
    off by more than the relative error E with at least probability T. A computed count is the
    largest for which this holds, for it and for all smaller ones.

    With --rows, --size and --share it is about a predicate over other columns: how many of its rows
    have the value, estimated with the standard error of such an estimate. With --odds, --values and
    --rows the count of the value carries the noise that bounds the odds.

    Example: countveil guarantee privacy --ell 10 --count 5 --error 0.3
    """
    parameters = _Parameters(
        ell, count, error, probability, rows, size, share, groups, odds, values
    )
    parameters.answer("privacy", plot, style, force=force)


_EXPLAINED = {
    "utility": (
        "For this count and every larger one: an error this large or larger has at most "
        "this probability. 'printed' is the paper's formula, which is not a bound; 'truly' is the "
        "exact probability at the count and error of each line."
    ),
    "privacy": (
        "The published count is off by more than the error with at least this probability; a "
        "cleverer guess from it can be off a little less often. Only 'exact' promises it: "
        "Chebyshev's inequality says at most how likely it is, and 'printed' is the paper's "
        "inequality (4). 'truly' is the exact probability at each line."
    ),
}


@dataclass(frozen=True, slots=True)
class _Parameters:
    """The numbers that both commands take."""

    ell: int
    count: int | None
    error: float | None
    probability: float | None
    rows: int | None
    size: int | None
    share: float | None
    groups: str | None
    odds: float | None
    values: int | None

    def answer(self, what: str, plot: Path | None, style: Format, *, force: bool) -> None:
        """Find the third number, draw, print."""
        from countveil.maths.guarantees import Guarantee

        guarantee = Guarantee(self.ell)
        predicate = self._predicate(guarantee, plot)
        find = getattr(predicate or guarantee, what)
        answer: GuaranteeAnswer = find(
            count=self.count, error=self.error, probability=self.probability
        )
        if plot is not None:
            drawn = self.error if self.error is not None else float(answer)
            _draw(plot, what, drawn, self.ell, force=force)
        _print(answer, style, predicate, together=self.groups == "together")
        if style is Format.TABLE and predicate is None:
            print_paragraph(_EXPLAINED[what])

    def _predicate(self, guarantee: Guarantee, plot: Path | None) -> PredicateGuarantee | None:
        from countveil.errors import SettingsError

        if self.values is not None and self.odds is None:
            raise SettingsError("--values is for --odds: say which bound the noise has to keep.")
        given = [self.rows, self.size, self.share]
        if self.odds is not None and self.size is None and self.share is None:
            return self._noised(guarantee, self.odds, plot)
        if given == [None] * 3:
            if self.groups is not None:
                raise SettingsError(
                    "--groups is for a predicate: give --rows, --size and --share too. Over the "
                    "whole table what is promised holds for all; with random groups the count of "
                    "a frequent value, or combination, is nearer to the truth than that."
                )
            return None
        if self.rows is None or self.size is None or self.share is None:
            raise SettingsError(
                "A predicate needs all of --rows (of the table), --size (rows that meet it) and "
                "--share (of the value in the table). Leave all three out for the value over the "
                "whole table."
            )
        _check_no_plot(plot)
        return guarantee.predicate(
            rows=self.rows, size=self.size, share=self.share, groups=self._method,
            odds=self.odds, values=self.values,
        )  # fmt: skip

    def _noised(self, guarantee: Guarantee, odds: float, plot: Path | None) -> PredicateGuarantee:
        """Counts over the whole table, where odds are bounded."""
        from countveil.errors import SettingsError

        if self.rows is None:
            raise SettingsError(
                "With --odds even the count of a value over the whole table carries the noise of "
                "all rows: give --rows, the rows of the table. With --size and --share too it is "
                "about a predicate."
            )
        _check_no_plot(plot)
        return guarantee.noised(rows=self.rows, odds=odds, values=self.values, groups=self._method)

    @property
    def _method(self) -> str:
        """Columns together have random groups, of combinations of values."""
        from countveil.errors import SettingsError

        if self.groups == "together" and self.odds is not None:
            raise SettingsError(
                "A bound on the odds is for columns that are published apart: leave --odds or "
                "--groups together out."
            )
        return "random" if self.groups == "together" else self.groups or "mixed"


def _check_no_plot(plot: Path | None) -> None:
    from countveil.errors import SettingsError

    if plot is not None:
        raise SettingsError(
            "--plot draws the figures of the whole table without noise; leave --rows, --size, "
            "--share and --odds out."
        )


def _print(
    answer: GuaranteeAnswer,
    style: Format,
    predicate: PredicateGuarantee | None,
    *,
    together: bool,
) -> None:
    lines = [(way.way, way.count, way.error, way.probability, way.truly) for way in answer.ways]
    if style is not Format.TABLE:
        print_rows(_COLUMNS, lines, style)
        return
    print_rows(
        _COLUMNS,
        [(way, count, *map(_digits, numbers)) for way, count, *numbers in lines],
        style,
    )
    if predicate is None:
        return
    sure = predicate.reliable_from()
    reliable = "for no count of it" if sure is None else f"from {sure:,} rows on"
    if predicate.size == predicate.rows:
        which = f"Over all {predicate.rows:,} rows of the table."
    else:
        which = (
            f"Of {predicate.size:,} rows that meet the predicate at most {predicate.most:,} can "
            f"have the value."
        )
    print_paragraph(
        f"{which} The verdict is 'reliable' (standard error up to 10%) {reliable}, and 'hidden' "
        f"(more than 50%) below {predicate.hidden_below():,}. 'normal' takes the error as normal; "
        f"'truly' is what that says at each line."
    )
    if predicate.noise is not None:
        _print_noise(predicate, *predicate.noise)
    elif predicate.groups == "random":
        _print_random(predicate, together=together)


def _print_random(predicate: PredicateGuarantee, *, together: bool) -> None:
    from countveil.maths.channel.common import random_belief, random_odds

    share, ell = predicate.share, predicate.ell
    groups, what = ("Columns together", "combination") if together else ("Random groups", "value")
    about_vectors = (
        " A row publishes its own combination with that probability, and a real row's in any case."
        if together
        else ""
    )
    print_paragraph(
        f"{groups}: whoever knows which row is a person's, and expected no more than the share, "
        f"believes a published {what} of this share with probability "
        f"{random_belief(share, ell):.3f} (1/ell = {1 / ell:.3f}); seeing it multiplies its odds "
        f"by {random_odds(share, ell):,.1f}.{about_vectors}"
    )


def _print_noise(predicate: PredicateGuarantee, gamma: float, values: int) -> None:
    from countveil.maths.guarantees.odds import epsilon_of, largest_odds

    different = predicate.groups == "mixed"
    odds = largest_odds(gamma, values, predicate.ell, different=different)
    epsilon = epsilon_of(gamma, values)
    print_paragraph(
        f"Bounded odds: every row first takes one of the {values:,} declared values with "
        f"probability gamma = {gamma:.6g}. A linked row then changes the odds of a value by at "
        f"most {odds:.4g}, and the whole release is epsilon-locally differentially private in each "
        f"row's value, epsilon = {epsilon:.4g}, on condition that values, gamma and ell are fixed "
        f"without looking at the table. The noise of all rows asked about is in the count. It is "
        f"the sum of very many small errors, so it is taken as normal: there is no 'exact' line."
    )


def _digits(number: float | None) -> str | None:
    """Four digits: a probability of 0.02 and one of 0.0200001 look alike on purpose."""
    return None if number is None else f"{number:.4g}"


def _draw(path: Path, what: str, error: float, ell: int, *, force: bool) -> None:
    from countveil.errors import SettingsError
    from countveil.report.chart import picture
    from countveil.report.guarantee_figures import privacy_figure, utility_figure
    from countveil.report.whole_file import GENERATOR, check_file, write_file

    if path.suffix.lower() != ".svg":
        raise SettingsError(
            f"--plot writes an SVG picture; name a file that ends in .svg, got {path.name}."
        )
    if not 0.001 <= error < 1:
        raise SettingsError(
            f"The figure can be drawn for errors from 0.001 to less than 1; here it is {error:.4g}."
        )
    check_file(path, "the picture", force=force)
    figure = {"utility": utility_figure, "privacy": privacy_figure}[what]
    marked = picture(figure(error, ell)).replace(">", f"><!-- {GENERATOR} -->", 1)
    write_file(path, marked, "the picture")
