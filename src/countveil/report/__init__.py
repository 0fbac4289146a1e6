"""Results as pages: HTML with inline SVG, complete in one file.

Enters: figures, tables, charts and sentences, some of their text from data that may be hostile.
Leaves: one page that loads nothing from anywhere. Must not know: engines, where figures come from.
Start at `page`; the `..._page` modules fill it.
"""

from countveil.report.chart import Axis, Chart, Line, draw, picture
from countveil.report.page import Section, page

__all__ = ["Axis", "Chart", "Line", "Section", "draw", "page", "picture"]
