"""How long stages take, as the private report shows it."""

from __future__ import annotations

from countveil.tables.progress import WAITING, TimedStages


def test_what_is_waited_for_is_shown_and_not_kept() -> None:
    """It may be the address of a database, and the seconds of stages are written to a file."""
    shown: list[str] = []
    stages = TimedStages(lambda stage, _done, _total: shown.append(stage))
    for stage in ("reading", f"{WAITING}people of postgresql://me@there/db", "reading", "writing"):
        stages(stage, 0, 0)
    assert any("me@there" in stage for stage in shown)
    assert list(stages.seconds()) == ["reading", "writing"]
