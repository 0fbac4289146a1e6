"""Files that are whole or not there, and what an error may say once one is in its place."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from countveil.errors import TargetError, UnconfirmedError
from countveil.system import outcome, whole_files
from countveil.system.files import remove, rename_new
from countveil.system.whole_files import folder_for_a_while, pending_place, write_file


@pytest.fixture(autouse=True)
def nothing_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """What other tests have put in place is not ours to tell."""
    for name in ("_in_place", "_left"):
        monkeypatch.setattr(outcome, name, type(getattr(outcome, name))())


def refuse(*_: object, **__: object) -> None:
    raise OSError(errno.EIO, "Input/output error")


def test_a_file_is_in_place_although_its_folder_cannot_be_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_files, "sync_folder", refuse)
    place = tmp_path / "page"
    with pytest.raises(UnconfirmedError, match=r"page .* is in place and complete, but .*Input"):
        write_file(place, "text", "the page")
    assert place.read_text() == "text"
    assert outcome.in_place() == f"The page {place} is in place and complete."
    place.unlink()
    assert outcome.in_place() == ""


def test_a_file_that_cannot_be_renamed_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_files, "replace", refuse)
    with pytest.raises(TargetError, match="The page cannot be written") as caught:
        write_file(tmp_path / "page", "text", "the page")
    assert not isinstance(caught.value, UnconfirmedError)
    assert list(tmp_path.iterdir()) == []
    assert outcome.in_place() == ""


def test_a_file_of_its_own_folder_appears_alone(tmp_path: Path) -> None:
    with pending_place(tmp_path / "x.db", "the database", apart=True) as pending:
        pending.path.write_text("rows")
        pending.path.with_name("x.db-journal").write_text("more")
        assert not (tmp_path / "x.db").exists()
        pending.put_in_place()
    assert [path.name for path in tmp_path.iterdir()] == ["x.db"]


def test_the_folder_of_a_killed_process_goes_with_the_next_one(tmp_path: Path) -> None:
    dead, stranger = tmp_path / ".x.db.draft-abcd1234", tmp_path / ".y.db.draft-abcd1234"
    for folder, name in ((dead, "x.db.wal"), (stranger, "thesis.tex")):
        folder.mkdir()
        (folder / name).write_text("x")
    write_file(tmp_path / "page", "text", "the page")
    assert not dead.exists()
    assert stranger.exists()


def test_a_folder_for_a_while_is_private_and_ends(tmp_path: Path) -> None:
    with folder_for_a_while(tmp_path / "trial") as folder:
        assert folder.parent.stat().st_mode & 0o777 == 0o700
        (folder / "rows").write_text("x")
    assert list(tmp_path.iterdir()) == []


def test_what_is_new_replaces_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    for link in (os.link, refuse):
        monkeypatch.setattr(os, "link", link)
        old.write_text("mine")
        new.write_text("theirs")
        with pytest.raises(FileExistsError):
            rename_new(old, new)
        assert new.read_text() == "theirs"
        new.unlink()
        rename_new(old, new)
        assert (new.read_text(), old.exists()) == ("mine", False)


def test_what_cannot_be_removed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = tmp_path / "left"
    left.write_text("x")
    monkeypatch.setattr(Path, "unlink", refuse)
    remove(left)
    assert outcome.left().startswith(f"What could not be removed: {left}.")
    monkeypatch.undo()
