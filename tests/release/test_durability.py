"""What a release consists of is on the disk before it gets its name: a power cut leaves no half."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import countveil as cv
from countveil.release import draft
from countveil.system import files

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="asks /proc what is synced")


@pytest.mark.parametrize("output_format", ["parquet", "csv"])
def test_everything_is_synced_before_the_renaming(
    output_format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[tuple[str, Path]] = []
    fsync, rename = os.fsync, files.rename

    def synced(handle: int) -> None:
        steps.append(("sync", Path(f"/proc/self/fd/{handle}").readlink()))
        fsync(handle)

    def renamed(one: Path, other: Path) -> None:
        steps.append(("rename", one))
        rename(one, other)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(draft, "rename", renamed)
    target = tmp_path / "release"
    cv.publish(
        cv.generate(300, seed=1), {"occupation": 3}, target, output_format=output_format,
        metadata=["dcat"], record=False,
    )  # fmt: skip
    at = next(number for number, (what, _) in enumerate(steps) if what == "rename")
    folder = steps[at][1]
    before = {path for what, path in steps[:at] if what == "sync"}
    parts = [folder / path.relative_to(target) for path in target.rglob("*")]
    assert len(parts) >= 5
    missing = sorted(str(path.relative_to(folder)) for path in {folder, *parts} - before)
    assert not missing, f"not on the disk before the renaming: {missing}"
    after = {path for what, path in steps[at:] if what == "sync"}
    assert tmp_path in after, "the new name is not on the disk when publishing ends"
