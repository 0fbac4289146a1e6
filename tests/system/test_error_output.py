"""What libraries print past Python reaches the error output without control characters."""

from __future__ import annotations

import os
import sys

import pytest

from countveil.display import visible
from countveil.system.error_output import harmless_error_output


def test_what_is_written_past_python_is_made_visible(capfd: pytest.CaptureFixture[str]) -> None:
    before = sys.stderr
    with harmless_error_output(visible):
        os.write(2, b"NOTICE: \x1b]0;owned\x07\n")
        sys.stderr.write("ours\n")
        os.write(2, b"no end \x1b[31m")
    os.write(2, b"\nafter \x1b[0m\n")
    assert sys.stderr is before
    said = capfd.readouterr().err
    assert "NOTICE: \\x1b]0;owned\\x07\n" in said
    assert "ours\n" in said
    assert "no end \\x1b[31m" in said
    # Outside, nothing is changed.
    assert said.endswith("\nafter \x1b[0m\n")


def test_an_error_inside_leaves_everything_as_it_was(capfd: pytest.CaptureFixture[str]) -> None:
    before = sys.stderr
    with pytest.raises(ValueError, match="inside"), harmless_error_output(visible):
        raise ValueError("inside")
    assert sys.stderr is before
    os.write(2, b"still there\n")
    assert capfd.readouterr().err == "still there\n"
