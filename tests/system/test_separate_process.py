"""Work in a process of its own: its result, or word that there is none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from countveil.system import offers
from countveil.system.regular import UnfitFileError, open_regular, read_regular, regular_size
from countveil.system.separate_process import WorkAbortedError, in_separate_process

HERE = __name__
PLENTY = 1 << 30


def upper(given: bytes) -> bytes:
    return given.upper()


def abort(_given: bytes) -> bytes:
    os.abort()


def fill(given: bytes) -> bytes:
    return bytes(int(given))


@pytest.mark.slow
def test_a_result_comes_back() -> None:
    assert in_separate_process(f"{HERE}:upper", b"text", PLENTY) == b"TEXT"


@pytest.mark.slow
def test_an_end_without_a_result_is_an_error_here() -> None:
    with pytest.raises(WorkAbortedError):
        in_separate_process(f"{HERE}:abort", b"", PLENTY)
    with pytest.raises(WorkAbortedError):
        in_separate_process(f"{HERE}:nothing_like_it", b"", PLENTY)


@pytest.mark.slow
@pytest.mark.skipif(offers.RESOURCE is None, reason="this system limits no memory")
def test_memory_is_limited() -> None:
    assert len(in_separate_process(f"{HERE}:fill", b"1000", PLENTY)) == 1000
    with pytest.raises(WorkAbortedError):
        in_separate_process(f"{HERE}:fill", str(2 << 30).encode(), PLENTY)


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_bytes(b"12345")
    assert regular_size(plain) == 5
    assert read_regular(plain, 5) == b"12345"
    with pytest.raises(UnfitFileError, match="5 bytes, more than 4"):
        read_regular(plain, 4)
    with pytest.raises(UnfitFileError, match="a folder and not a regular file"):
        open_regular(tmp_path)
    with pytest.raises(FileNotFoundError):
        read_regular(tmp_path / "gone", 5)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no such files")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UnfitFileError, match="a pipe"):
        read_regular(tmp_path / "pipe", 5)
    with pytest.raises(UnfitFileError, match="a device"):
        read_regular(Path("/dev/zero"), 5)
