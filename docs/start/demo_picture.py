"""The table of `countveil demo` as a picture: `make docs` draws it, a test compares it.

Enters: the demo's own census, questions and answers, with a seed. Leaves: an SVG file of the text
that the demo prints, readable on light and dark screens; nothing in it is loaded from anywhere.
"""

from __future__ import annotations

import html
import tempfile
from pathlib import Path

import pyarrow.parquet as pq

import countveil as cv
from countveil.cli.commands.demo import COLUMNS, WIDTHS, answers, plant
from countveil.display import text_table
from countveil.randomness import Randomness

FILE = Path(__file__).parent / "figures" / "demo.svg"
ROWS, ELL, SEED = 100_000, 5, 1
_LETTER, _LINE, _MARGIN = 8.45, 19, 16
_STYLE = (
    "text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;"
    "white-space:pre;fill:#222222}.paper{fill:#f6f8fa;stroke:#d9d9d9}.reliable{fill:#007a5a}"
    ".hidden{fill:#c04c00}@media screen and (prefers-color-scheme:dark){text{fill:#e8e8e8}"
    ".paper{fill:#16181c;stroke:#3a3d44}.reliable{fill:#3fd6ab}.hidden{fill:#ff9d5c}}"
)


def demo_text() -> str:
    """What the demo prints about a census that the seed decides."""
    with tempfile.TemporaryDirectory() as place:
        census, folder = Path(place, "census.parquet"), Path(place, "release")
        table = cv.generate(ROWS, seed=SEED)
        pq.write_table(plant(table, Randomness(SEED).stream("plant")), census)
        cv.publish(census, {"occupation": ELL}, folder, seed=SEED, record=False)
        return text_table(COLUMNS, answers(census, folder), width=80, widths=WIDTHS).strip("\n")


def demo_picture(text: str) -> str:
    """Lines of text as an SVG file; the words of the verdicts have colours."""
    lines = ["$ countveil demo", "", *text.split("\n")]
    longest = max(map(len, lines))
    width, height = round(longest * _LETTER + 2 * _MARGIN), len(lines) * _LINE + 2 * _MARGIN
    drawn = [
        f'<text x="{_MARGIN}" y="{_MARGIN + _LINE * (number + 0.75):g}" '
        f'textLength="{len(line) * _LETTER:.1f}">{_coloured(line)}</text>'
        for number, line in enumerate(lines)
        if line.strip()
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}"><title>True counts beside estimates</title>'
        f"<desc>{html.escape(text)}</desc><style>{_STYLE}</style>"
        f'<rect class="paper" width="{width}" height="{height}" rx="8"/>{"".join(drawn)}</svg>\n'
    )


def _coloured(line: str) -> str:
    text = html.escape(line)
    for word in ("reliable", "hidden"):
        text = text.replace(word, f'<tspan class="{word}">{word}</tspan>')
    return text


def main() -> None:
    """Draw it."""
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(demo_picture(demo_text()), encoding="utf-8")


if __name__ == "__main__":
    main()
