"""What is not at a place, and what nobody can tell of it, are not the same."""

from __future__ import annotations

import errno
from pathlib import Path

import pyarrow as pa
import pytest

import countveil as cv
from countveil.release.places import LocalPlaces, is_elsewhere


@pytest.mark.parametrize(
    ("place", "elsewhere"),
    [
        ("hdfs://name/releases/1", True), ("s3a://bucket/1", True), ("viewfs:/data", True),
        ("/home/releases/1", False), ("file:/home/1", False), ("file:///home/1", False),
        ("releases/hdfs:/1", False), ("a:b", False),
    ],
)  # fmt: skip
def test_which_places_are_elsewhere(place: str, elsewhere: bool) -> None:
    assert is_elsewhere(place) is elsewhere


def test_nothing_is_not_the_same_as_nobody_can_tell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = LocalPlaces()
    (tmp_path / "file").write_text("")
    for missing in ("none", "file"):
        assert places.manifest(str(tmp_path / missing)) is None
    for ask in (places.manifest, places.exists):
        with pytest.raises(OSError, match="Spark"):
            ask("hdfs://name/releases/1")

    def unreadable(_path: Path) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(Path, "read_bytes", unreadable)
    with pytest.raises(OSError, match="Input/output"):
        places.manifest(str(tmp_path))


def test_a_release_and_those_beside_it(tmp_path: Path) -> None:
    places = LocalPlaces()
    table = pa.table({"job": ["a", "b", "c"] * 20})
    for name in ("one", "two"):
        cv.publish(table, {"job": 2}, tmp_path / name, seed=1, again=True)
    (tmp_path / "link").symlink_to(tmp_path / "one")
    for address in (tmp_path / "one", f"file://{tmp_path}/one", tmp_path / "link"):
        assert places.full(str(address)) == str(tmp_path / "one")
    assert places.exists(str(tmp_path / "one"))
    content = places.manifest(str(tmp_path / "one"))
    assert content == (tmp_path / "one" / "manifest.json").read_bytes()
    here, *beside = (place for place, _ in places.releases(str(tmp_path / "one")))
    assert here == str(tmp_path / "one")
    assert str(tmp_path / "two") in beside
