"""Files are picked below the root, by ids that say nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from countveil.errors import InputError
from countveil.web.places import Places


@pytest.fixture
def root(tmp_path: Path) -> Path:
    below = tmp_path / "root"
    (below / "surveys" / "2024").mkdir(parents=True)
    (below / "surveys" / "census.csv").write_text("a\n1\n", encoding="utf-8")
    (below / "release").mkdir()
    (below / "release" / "manifest.json").write_text("{}", encoding="utf-8")
    (below / ".private").write_text("x", encoding="utf-8")
    (tmp_path / "outside.csv").write_text("secret", encoding="utf-8")
    return below


def test_folders_come_first_and_hidden_files_not_at_all(root: Path) -> None:
    listing = Places(root).listing()
    assert [(entry.name, entry.is_folder, entry.is_release) for entry in listing.entries] == [
        ("release", True, True),
        ("surveys", True, False),
    ]


def test_an_id_leads_to_its_folder_and_back(root: Path) -> None:
    places = Places(root)
    surveys = next(e for e in places.listing().entries if e.name == "surveys")
    inside = places.listing(surveys.id)
    assert [entry.name for entry in inside.entries] == ["2024", "census.csv"]
    assert [step.name for step in inside.way] == ["root", "surveys"]
    census = inside.entries[1]
    assert places.path(census.id) == root / "surveys" / "census.csv"
    assert census.size == 4
    assert places.shown(places.path(census.id)) == str(Path("surveys") / "census.csv")


def test_ids_say_nothing_and_differ_between_runs(root: Path) -> None:
    one, other = Places(root), Places(root)
    first = {entry.id for entry in one.listing().entries}
    second = {entry.id for entry in other.listing().entries}
    assert not first & second
    assert not any("surveys" in known or "release" in known for known in first)


@pytest.mark.parametrize("known", ["", "0" * 20, "../outside.csv", "/etc/passwd", "surveys"])
def test_an_id_that_was_never_given_is_refused(root: Path, known: str) -> None:
    with pytest.raises(InputError, match="Pick it again"):
        Places(root).path(known)


def test_links_that_lead_out_are_neither_listed_nor_followed(root: Path, tmp_path: Path) -> None:
    (root / "leads-out").symlink_to(tmp_path)
    (root / "file-out.csv").symlink_to(tmp_path / "outside.csv")
    (root / "inside.csv").symlink_to(root / "surveys" / "census.csv")
    names = [entry.name for entry in Places(root).listing().entries]
    assert names == ["release", "surveys", "inside.csv"]


def test_a_file_that_becomes_a_link_out_is_refused(root: Path, tmp_path: Path) -> None:
    places = Places(root)
    file = root / "surveys" / "census.csv"
    known = places.id_of(file)
    file.unlink()
    file.symlink_to(tmp_path / "outside.csv")
    with pytest.raises(InputError, match="outside"):
        places.path(known)


def test_a_neighbour_with_the_same_beginning_is_outside(root: Path, tmp_path: Path) -> None:
    (tmp_path / "root-2").mkdir()
    with pytest.raises(InputError, match="outside"):
        Places(root).id_of(tmp_path / "root-2")


def test_special_files_are_not_listed(root: Path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("this system has no named pipes")
    os.mkfifo(root / "pipe.csv")
    assert "pipe.csv" not in [entry.name for entry in Places(root).listing().entries]


def test_a_root_that_is_no_folder_is_refused(root: Path) -> None:
    with pytest.raises(InputError, match="root"):
        Places(root / "nowhere")
