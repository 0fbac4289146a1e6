"""The styles of the app: what reports and charts have, and what only the app needs.

Enters: nothing. Leaves: two stylesheets, served as files, because no page holds styles. Must not
know: any page.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from countveil.report.bars import BARS_STYLE, DOTS_STYLE
from countveil.report.chart import CHART_STYLE
from countveil.report.heatmap import HEAT_STYLE
from countveil.report.look.stylesheet import SHARED_STYLE


def shared_styles(_request: Request) -> Response:
    """Colours, tables, figures and charts, as reports have them."""
    return Response(
        SHARED_STYLE + CHART_STYLE + BARS_STYLE + DOTS_STYLE + HEAT_STYLE, media_type="text/css"
    )
