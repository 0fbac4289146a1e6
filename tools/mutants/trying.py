"""Whether somebody notices a mistake: the tests of its room, and the audit.

Enters: a mutant, planted in a copy of the package. Leaves: what came out, and what noticed it. Must
not know: how mistakes are planted.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow.parquet as pq

from tools.mutants.planting import ROOT, Mutant

CAUGHT, SURVIVED, BROKEN = "caught", "SURVIVED", "BROKEN"
_TESTS_FAILED, _NO_TESTS, _NO_TIME_LEFT = 1, 5, 900
_FAILED = re.compile(r"^FAILED (\S+)(?: - (.*))?$", re.MULTILINE)
_AUDITED_ROWS, _AUDITED_NAME = 20_000, "people.parquet"
_CLAIM_FAILED, _EXCEEDED = 1, "exceeds"


@dataclass(frozen=True)
class Outcome:
    """`caught`, `SURVIVED`, or `BROKEN` if nothing could be tried; `by` is what noticed."""

    result: str
    by: str


class Outcomes:
    """What came out, kept in a file, so that a run goes on where it was stopped."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known = self._read()

    def get(self, mutant: Mutant) -> Outcome | None:
        """What came out, unless the mistake, its file or the tests have changed since."""
        entry = self._known.get(mutant.name)
        if entry is None or entry["of"] != _fingerprint(mutant):
            return None
        return Outcome(entry["result"], entry["by"])

    def put(self, mutant: Mutant, outcome: Outcome) -> None:
        """Remember it, beside what others may have tried meanwhile."""
        self._known = self._read()
        self._known[mutant.name] = {"of": _fingerprint(mutant), **asdict(outcome)}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        draft = self._path.with_suffix(".new")
        draft.write_text(json.dumps(self._known, indent=1, sort_keys=True), encoding="utf-8")
        draft.replace(self._path)

    def _read(self) -> dict[str, dict[str, str]]:
        if not self._path.exists():
            return {}
        known: dict[str, dict[str, str]] = json.loads(self._path.read_text(encoding="utf-8"))
        return known


def attempt(mutant: Mutant, copy: Path, *, by_audit: bool) -> Outcome:
    """Run what should notice the mistake that is planted in this copy."""
    if by_audit:
        return _audited(mutant, copy)
    # Most is noticed by the fast tests; the others are run if need be.
    for marked in ("not slow and not browser", "slow and not browser"):
        outcome = _tested(mutant, copy, marked)
        if outcome.result != SURVIVED:
            break
    return outcome


def _tested(mutant: Mutant, copy: Path, marked: str) -> Outcome:
    command = ["-m", "pytest", "-x", "-q", "-rf", "--no-header", "-p", "no:cacheprovider"]
    try:
        done = _run([*command, "-m", marked, *mutant.tests], copy)
    except subprocess.TimeoutExpired:
        return Outcome(CAUGHT, "the tests did not come to an end")
    if done.returncode == _TESTS_FAILED:
        failed = _FAILED.search(done.stdout)
        return Outcome(CAUGHT, " - ".join(filter(None, failed.groups())) if failed else "?")
    if done.returncode not in (0, _NO_TESTS):
        return Outcome(BROKEN, (done.stdout + done.stderr)[-500:])
    return Outcome(SURVIVED, "")


def check_imports(copy: Path) -> None:
    """Stop if Python would not import the package from the copy."""
    done = _run(["-c", "import countveil; print(countveil.__file__)"], copy)
    if not done.stdout.strip().startswith(str(copy)):
        sys.exit(f"The copy is not what is imported: {done.stdout}{done.stderr}")


def make_table(folder: Path) -> None:
    """The table that is audited: made-up people, and their occupation a second time.

    What two columns draw can only be compared closely if they say the same of everybody.
    """
    path = folder / _AUDITED_NAME
    rows = ["--rows", str(_AUDITED_ROWS), "--to", str(path)]
    done = _run(["-m", "countveil", "generate", *rows], folder)
    if done.returncode:
        sys.exit(f"There is no table to audit: {done.stderr}")
    table = pq.read_table(path)
    pq.write_table(table.append_column("trade", table["occupation"]), path)


def _audited(mutant: Mutant, copy: Path) -> Outcome:
    """What `countveil audit` says of a trial with the mistake."""
    protected = ["-s", "occupation:5", "-s", "trade:5", "--keep", "occupation", "--keep", "trade"]
    table = str(copy / _AUDITED_NAME)
    done = _run(["-m", "countveil", "audit", table, *protected, "--format", "json"], copy)
    if done.returncode not in (0, _CLAIM_FAILED) or not done.stdout.startswith("{"):
        return Outcome(BROKEN, (done.stdout + done.stderr)[-500:])
    failed = [
        f"{finding['adversary']}: {finding['attack']}"
        for finding in json.loads(done.stdout)["findings"]
        if finding["verdict"] == _EXCEEDED
    ]
    noticed = [claim for claim in failed if mutant.audit in claim]
    if noticed and done.returncode == _CLAIM_FAILED:
        return Outcome(CAUGHT, noticed[0])
    return Outcome(SURVIVED, "; ".join(failed))


def _run(arguments: list[str], copy: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }  # fmt: skip
    return subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, *arguments], cwd=ROOT, env=environment, text=True,
        capture_output=True, timeout=_NO_TIME_LEFT, check=False,
    )  # fmt: skip


def _fingerprint(mutant: Mutant) -> str:
    parts = [json.dumps(asdict(mutant), sort_keys=True), mutant.source]
    for name in mutant.tests:
        place = ROOT / name.partition("::")[0]
        files = sorted(place.rglob("*.py")) if place.is_dir() else [place]
        parts += [file.read_text(encoding="utf-8") for file in files]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
