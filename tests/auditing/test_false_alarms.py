"""Sound releases pass, again and again, whatever the table.

One audit of a sound release fails with probability 1e-4 at most. Two of six fail with at most 15
pairs x 1e-8, below 1e-6; three of forty with at most 9,880 triples x 1e-12, below 1e-6 as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import countveil as cv
from countveil.auditing.attacks import ATTACKS

# Nothing is claimed against repeated releases.
TESTED = [name for name in ATTACKS if name != "repetition"]


def sound_audit(number: int, attacks: list[str], most: int) -> Any:
    """One of many different tables, settings and ways to group, with a fresh key."""
    rng = np.random.default_rng(number)
    rows, n_values = int(rng.integers(300, most)), int(rng.integers(6, 80))
    ell = int(rng.integers(2, 6))
    power = rng.uniform(0, 1.2)
    shares = 1 / np.arange(1, n_values + 1) ** power
    # One in eight each: common values, random groups, columns together, a bound on the odds.
    special = {2: "common", 3: "random", 4: "together", 5: "odds"}.get(number % 8)
    # Only the last of these needs groups of different values.
    if special and special != "odds":
        shares[0] += rng.uniform(0.5, 15) * shares.sum()
    else:
        # Noised counts vary from audit to audit, and groups must exist in all of them.
        ell = min(ell, n_values // 3) if special == "odds" else ell
        cap = (0.5 if special == "odds" else 0.8) / ell
        for _ in range(60):
            shares = np.minimum(shares / shares.sum(), cap)
    code = rng.choice(n_values, rows, p=shares / shares.sum())
    told = np.where(rng.random(rows) < 0.7, code % 7, rng.integers(0, 7, rows))
    columns = {
        "told": told,
        "town": [f"town {place}" for place in rng.integers(0, 30, rows)],
        "code": [
            None if value == 5 and special != "odds" else f"code {value:03d}" for value in code
        ],
        "other": [f"other {value:03d}" for value in np.roll(code, number % 2)],
    }
    both = number % 3 == 0 or special == "together"
    bounded: dict[str, Any] = {}
    sensitive = {"code": ell, "other": ell} if both else {"code": ell}
    if special == "odds":
        declared = {name: [f"{name} {v:03d}" for v in range(n_values)] for name in sensitive}
        bounded = {"odds": float(rng.uniform(2, 40)), "domain": declared}
    return cv.audit(
        pa.table(columns), sensitive, drop=() if both else ("other",), attacks=attacks,
        keep=["code", "town", *(["other"] if both else [])],
        groups=_groups(number, special), together=special == "together", **bounded,
        common="auto" if special == "common" else None,
        residue="drop" if number % 5 == 2 else "absorb",
    )  # fmt: skip


def _groups(number: int, special: str | None) -> str:
    if special == "odds":
        return "random" if number % 16 == 5 else "mixed"
    if special in ("random", "together"):
        return "random"
    return "anatomy" if number % 4 == 1 else "mixed"


def failures(numbers: range, attacks: list[str], most: int) -> list[str]:
    failed = []
    for number in numbers:
        found = sound_audit(number, attacks, most)
        failed += [f"{number}: " + ", ".join(own.attack for own in found.exceeded)] * (
            not found.passed
        )
    return failed


@pytest.mark.slow
def test_sound_releases_pass() -> None:
    attacks = ["reconstruction", "elimination", "small-counts", "neighbours"]
    failed = failures(range(6), attacks, 1_500)
    assert len(failed) < 2, failed


@pytest.mark.slow
def test_how_many_tests_there_are_does_not_depend_on_the_draws() -> None:
    attacks = ["linkage", "implementation"]
    tests = {
        sum(own.p_value is not None for own in sound_audit(0, attacks, 600).findings)
        for _ in range(2)
    }
    assert len(tests) == 1


@pytest.mark.long
def test_forty_sound_releases_pass() -> None:
    failed = failures(range(100, 140), TESTED, 4_000)
    assert len(failed) < 3, failed
