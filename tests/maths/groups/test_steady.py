"""Numbers that are the same on every machine, and the groups that come of them."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from countveil.maths.groups.mixed import common_groups, mixed_groups
from countveil.maths.groups.steady import lowest, steady, steady_meetings
from countveil.randomness import Randomness
from tests.strategies import examples

# Rows, values, ell: a composition balanced group by group, one from a pool, one with uneven groups.
TABLES = ((2_000, 40, 5), (300_000, 50, 4), (50_003, 12, 3))


def digest() -> str:
    """One text for the groups of several tables."""
    groups = []
    for rows, n_values, ell in TABLES:
        shares = 1 / np.sqrt(np.arange(1, n_values + 1))
        counts = np.floor(rows * shares / shares.sum()).astype(np.int64)
        groups.append(mixed_groups(counts, ell, Randomness(3).stream("steady")))
    counts[0] = rows
    groups.append(common_groups(counts, ell, np.array([0]), Randomness(3).stream("steady")))
    whole = hashlib.sha256()
    for templates in groups:
        for part in (templates.indptr, templates.members, templates.multiplicity):
            whole.update(part.tobytes())
    return whole.hexdigest()[:16]


def test_a_seed_gives_the_groups_that_it_gave_elsewhere() -> None:
    # As computed on processors with and without AVX-512 and AVX2. A change of the method that is
    # meant changes it too.
    assert digest() == "87b87638289128e7"


@pytest.mark.slow
@pytest.mark.parametrize("kernels", ["Haswell", "Nehalem", "SkylakeX"])
@pytest.mark.parametrize("vectors", [True, False])
def test_other_code_for_other_processors_gives_the_same_groups(kernels: str, vectors: bool) -> None:
    features = np._core._multiarray_umath  # type: ignore[attr-defined]
    here = [name for name in features.__cpu_dispatch__ if features.__cpu_features__[name]]
    if kernels == "SkylakeX" and not any("AVX512" in name or "V4" in name for name in here):
        pytest.skip("this processor cannot run code for AVX-512")
    ran = subprocess.run(
        [sys.executable, "-c", f"from {__name__} import digest; print(digest())"],
        env=os.environ
        | {"OPENBLAS_CORETYPE": kernels, "PYTHONPATH": os.pathsep.join(sys.path)}
        | ({} if vectors else {"NPY_DISABLE_CPU_FEATURES": ",".join(here)}),
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.strip() == digest()


@given(st.floats(min_value=1e-300, max_value=1e300), st.floats(-1e-14, 1e-14))
@examples(200)
def test_rounding_hides_errors_and_little_else(value: float, error: float) -> None:
    rounded = float(steady(np.array([value]))[0])
    assert rounded == pytest.approx(value, rel=2.0**-24)
    assert float(steady(np.array([rounded]))[0]) == rounded
    off = float(steady(np.array([rounded * (1 + error)]))[0])
    assert off == rounded
    assert float(steady(np.array([-value]))[0]) == -rounded


def test_nothing_and_meetings_below_one_stay_what_they_are() -> None:
    assert steady(np.zeros(3)).tolist() == [0.0, 0.0, 0.0]
    noise = np.array([1e-15, -3e-16, 0.25, 1e6 + 1e-9])
    assert steady_meetings(noise).tolist() == [0.0, 0.0, 0.25, 1e6]


@given(
    arrays.arrays(np.float64, st.integers(1, 40), elements=st.sampled_from([0.0, 1.0, 2.5, -3.0])),
    st.integers(1, 45),
)
@examples(200)
def test_the_lowest_are_the_first_of_a_stable_order(
    values: np.ndarray[tuple[int], np.dtype[np.float64]], how_many: int
) -> None:
    expected = sorted(np.argsort(values, kind="stable")[:how_many].tolist())
    assert lowest(values, how_many).tolist() == expected
