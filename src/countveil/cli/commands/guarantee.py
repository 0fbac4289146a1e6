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
        help="For a predicate: how the column is published, mixed (the default) or random.",
    ),
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
    plot: PlotOption = None,
    force: ForceOption = False,
    style: FormatOption = Format.TABLE,
) -> None:
    """Find the count from which the published count is accurate enough.

    Give two of --error, --probability and --count; the third is computed. From that count on, the
    probability of a relative error of E or more is at most T. It is computed exactly (binomial), by
    Chebyshev's inequality, and as the paper prints it; `truly` is the exact probability there.

    With --rows, --size and --share it is about a predicate over other columns: how many of its rows
    have the value, estimated with the standard error of such an estimate.

    Example: countveil guarantee utility --ell 10 --error 0.2 --probability 0.02
    """
    parameters = _Parameters(ell, count, error, probability, rows, size, share, groups)
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
    plot: PlotOption = None,
    force: ForceOption = False,
    style: FormatOption = Format.TABLE,
) -> None:
    """Find how likely the published count of a small number of rows is to be far off.

    Give two of --count, --error and --probability; the third is computed. The published count is
    off by more than the relative error E with at least probability T. A computed count is the
    largest for which this holds, for it and for all smaller ones.

    With --rows, --size and --share it is about a predicate over other columns: how many of its rows
    have the value, estimated with the standard error of such an estimate.

    Example: countveil guarantee privacy --ell 10 --count 5 --error 0.3
    """
    parameters = _Parameters(ell, count, error, probability, rows, size, share, groups)
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
        _print(answer, style, predicate)
        if style is Format.TABLE and predicate is None:
            print_paragraph(_EXPLAINED[what])

    def _predicate(self, guarantee: Guarantee, plot: Path | None) -> PredicateGuarantee | None:
        from countveil.errors import SettingsError

        rows, size, share = self.rows, self.size, self.share
        if rows is None and size is None and share is None:
            if self.groups is not None:
                raise SettingsError(
                    "--groups is for a predicate: give --rows, --size and --share too. Over the "
                    "whole table what is promised holds for both; with random groups the count of "
                    "a frequent value is nearer to the truth than that."
                )
            return None
        if rows is None or size is None or share is None:
            raise SettingsError(
                "A predicate needs all of --rows (of the table), --size (rows that meet it) and "
                "--share (of the value in the table). Leave all three out for the value over the "
                "whole table."
            )
        if plot is not None:
            raise SettingsError(
                "--plot draws the figures of the whole table; leave --rows, --size and --share out."
            )
        groups = self.groups or "mixed"
        return guarantee.predicate(rows=rows, size=size, share=share, groups=groups)


def _print(answer: GuaranteeAnswer, style: Format, predicate: PredicateGuarantee | None) -> None:
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
    print_paragraph(
        f"Of {predicate.size:,} rows that meet the predicate at most {predicate.most:,} can have "
        f"the value. The verdict is 'reliable' (standard error within 10%) {reliable}, and "
        f"'hidden' (more than 50%) below {predicate.hidden_below():,}. 'normal' takes the error as "
        f"normal; "
        f"'truly' is what that says at each line."
    )
    if predicate.groups == "random":
        from countveil.maths.channel.common import random_belief, random_odds

        share, ell = predicate.share, predicate.ell
        print_paragraph(
            f"Random groups: whoever knows which row is a person's, and expected no more than the "
            f"share, believes a published value of this share with probability "
            f"{random_belief(share, ell):.3f} (1/ell = {1 / ell:.3f}); seeing it multiplies its "
            f"odds by {random_odds(share, ell):,.1f}."
        )


def _digits(number: float | None) -> str | None:
    """Four digits: a probability of 0.02 and one of 0.0200001 look alike on purpose."""
    return None if number is None else f"{number:.4g}"


def _draw(path: Path, what: str, error: float, ell: int, *, force: bool) -> None:
    from countveil.errors import SettingsError
    from countveil.report import picture
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
