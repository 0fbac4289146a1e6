"""A fault in every command that writes: old, new or nothing, the truth, and no trace."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.faults.injected import Fault
from tests.faults.points import chosen, spread
from tests.faults.scenarios import SCENARIOS
from tests.faults.trials import PRINTED, Server, Trials

pytestmark = pytest.mark.faults


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_fault_leaves_old_or_new_and_says_so(
    name: str, server: Server, given: Path, tmp_path: Path
) -> None:
    scenario = SCENARIOS[name]
    trials = Trials(scenario, server, given, tmp_path / "trial")
    points = chosen(trials.calls, name, scenario.budget)
    tried, wrong = 0, []
    for number, fault in points:
        hit, said = trials.wrong_with(number, fault)
        tried += bool(hit)
        wrong += [said] if said else []
    sys.stdout.write(f"{name}: {len(trials.calls)} calls, {tried} faults, {len(wrong)} wrong\n")
    lines = "\n".join(line for said in wrong for line in said)
    assert not wrong, f"{len(wrong)} of {tried} faults:\n{lines}"
    # Threads may change which call is the n-th, but not much.
    assert tried >= len(points) / 2


@pytest.mark.parametrize("name", ["publish parquet", "publish stata", "replace by parquet"])
def test_a_folder_that_goes_away_is_no_success(
    name: str, server: Server, given: Path, tmp_path: Path
) -> None:
    trials = Trials(SCENARIOS[name], server, given, tmp_path / "trial")
    before_the_end = [call for call in trials.calls if call[1] != PRINTED]
    ends = [trials.wrong_with(n, Fault(remove=True)) for n in spread(len(before_the_end), 6)]
    assert len([hit for hit, _ in ends if hit]) > 3
    assert [line for _, said in ends for line in said] == []
