"""Tasks for the tests of jobs, which run in processes of their own."""

from __future__ import annotations

import time
import warnings
from pathlib import Path

from countveil.errors import InputError, SettingsError
from countveil.web.jobs.worker import Reporter


def double(number: int, reporter: Reporter) -> int:
    reporter.progress("doubling", 0, 2)
    reporter.part(number)
    reporter.progress("doubling", 2, 2)
    reporter.progress("ending", 0, 0)
    warnings.warn("a word of caution", stacklevel=1)
    return 2 * number


def refuse(reporter: Reporter) -> None:
    reporter.progress("looking", 0, 0)
    error = SettingsError("No ell works.")
    error.ways = [{"ell": 2}]
    raise error


def fail(reporter: Reporter) -> None:
    reporter.progress("looking", 0, 0)
    raise ValueError("Ada Lovelace, nurse")


def leave(folder: str, reporter: Reporter) -> None:
    """Work for ever with a draft beside it, which is removed on the way out."""
    draft = Path(folder) / "draft"
    draft.touch()
    try:
        reporter.progress("working", 1, 4)
        while True:
            time.sleep(0.01)
    finally:
        draft.unlink()


def stubborn(folder: str, reporter: Reporter) -> None:
    """An interrupt that a library swallows."""
    draft = Path(folder) / "draft"
    draft.touch()
    try:
        reporter.progress("working", 0, 0)
        while True:
            try:
                time.sleep(0.01)
            except KeyboardInterrupt:
                raise_later = True
                assert raise_later
            reporter.progress("working", 0, 0)
    except KeyboardInterrupt:
        raise InputError("an interrupt in disguise") from None
    finally:
        draft.unlink()
