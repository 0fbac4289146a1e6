"""The screens *Audit* and *Hand over*: what was made is attacked, checked, and given away.

Enters: a release that was made here. Leaves: an audit beside what is claimed; checksums, the report
and lines for analysts. Must not know: how anything is attacked.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from countveil.auditing.audit_page import figures_shown, mark_of
from countveil.auditing.findings import EXCEEDS
from countveil.auditing.summary import Audit
from countveil.release.manifest import REPORT_NAME
from countveil.report.chart import draw
from countveil.web.forms import Form
from countveil.web.publisher.lines import handing_over, lines_of
from countveil.web.publisher.screens.frame import Asked, Screens, state_of
from countveil.web.publisher.state import Publication, PublisherState
from countveil.web.publisher.steps import audit_arguments, result_of

# Reports are complete in one file: styles and drawings inside, nothing that runs or is loaded.
REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"
_MOST_CHARTS = 6


def handing_routes(screens: Screens) -> list[BaseRoute]:
    """Both screens, and the pages that they link to."""
    return [
        screens.page("audit", _audit),
        screens.form("audit", "start", _audit, _attack),
        screens.page("handover", _hand_over),
        Route("/report/{known}", _report),
        Route("/audit-report/{known}", _audit_report),
    ]


def _made(state: PublisherState) -> Publication:
    assert state.released is not None  # noqa: S101 - the screens are closed without one
    return state.released


def _audit(state: PublisherState, _asked: Asked) -> dict[str, Any]:
    made = _made(state)
    arguments = audit_arguments(made)
    job = state.job("audit", **arguments)
    audit: Audit | None = result_of(job)
    charts = [] if audit is None else audit.charts[:_MOST_CHARTS]
    return {
        "job": job,
        "audit": audit,
        "made": made,
        "figures": [] if audit is None else figures_shown(audit),
        "mark": "" if audit is None else mark_of(audit),
        "exceeds": EXCEEDS,
        # Our own drawing, in which all text is escaped.
        "charts": [
            (chart.title, Markup(svg), chart.note)  # noqa: S704
            for chart in charts
            if (svg := draw(chart))
        ],
        "lines": lines_of(state.write_command, "audit", made.draft.table, arguments["arguments"]),
    }


def _attack(state: PublisherState, _form: Form) -> None:
    state.begin("audit", **audit_arguments(_made(state)))


def _hand_over(state: PublisherState, _asked: Asked) -> dict[str, Any]:
    made = _made(state)
    folder = made.draft.to
    manifest = made.job.result
    job = state.begin("verify", release=folder, made=made.job.id)
    name = next(iter(manifest.sensitive)).replace('"', '""')
    question = f'SELECT "{name}", count(*) FROM release GROUP BY ALL'
    return {
        "job": job,
        "problems": result_of(job),
        "made": made,
        "manifest": manifest,
        "folder": folder,
        "lines": handing_over(folder, question),
    }


def _report(request: Request) -> Response:
    """The report of the release, which may do nothing but be read."""
    made = state_of(request).released
    if made is None or made.job.id != request.path_params["known"]:
        raise HTTPException(404)
    try:
        text = (Path(made.draft.to) / REPORT_NAME).read_text(encoding="utf-8")
    except OSError:
        raise HTTPException(404) from None
    return HTMLResponse(text, headers={"content-security-policy": REPORT_POLICY})


def _audit_report(request: Request) -> Response:
    """The whole page of the audit."""
    job = state_of(request).jobs.get(request.path_params["known"])
    audit = result_of(job)
    if not isinstance(audit, Audit):
        raise HTTPException(404)
    return HTMLResponse(audit.to_html(), headers={"content-security-policy": REPORT_POLICY})
