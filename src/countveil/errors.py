"""Every mistake a user can make, under one base class.

    CountveilError                  anything countveil refuses; catch this one
    ├── InputError                  the table cannot be read, or is not fit to be published
    │   ├── UnknownColumnError      a column that the table or release does not have
    │   ├── IneligibleError         a value too frequent for the requested ell
    │   └── UnsafeError             publishing it would reveal who somebody is, or a true value
    ├── SettingsError               options that contradict each other or the data
    ├── TargetError                 the place for the release cannot be written
    │   └── UnconfirmedError        it was written and is in its place, which could not be confirmed
    ├── LedgerError                 a ledger that is lost, old, damaged or that of other releases
    ├── ReleaseError                a folder that is not, or is no longer, a sound release
    ├── QueryError                  SQL that is not supported, or asks for what is not there
    ├── EngineError                 what runs elsewhere, such as a cluster, failed
    └── MissingExtraError           an optional library that is not installed

Enters: nothing. Leaves: exceptions whose text says what, where, what was received and what would
work. Must not know: any data. A message may name a column, a file or a line number; it quotes a
value of a sensitive column only where the publisher cannot act without it (eligibility), and that
text reaches the publisher's screen alone.

Messages name options with `option`: it writes them as whoever reads the message would.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

# Who reads messages, in this process: the command line says so as soon as it starts.
reader: Literal["Python", "command line"] = "Python"
# Options that are not written --name COL=VALUE on a command line.
_FLAGS = {
    "sensitive": "-s", "params": "--param", "tables": "--table", "reasons": "--reason",
}  # fmt: skip
_MARKS = {"sensitive": ":"}


class CountveilError(Exception):
    """Base of every error that countveil raises on purpose: catch this one.

    Attributes:
        ways: Options, as arguments of Python, with which the same call would work.

    Example:
        >>> try:
        ...     release.count("ocupation = 'nurse'")
        ... except cv.CountveilError as error:
        ...     print(error)
        There is no column 'ocupation' in the release. Did you mean 'occupation' or 'education'?
    """

    ways: Sequence[Mapping[str, Any]] = ()


class InputError(CountveilError):
    """The source table cannot be read, or is not fit to be published."""


class UnknownColumnError(InputError):
    """A column was named that does not exist.

    Args:
        name: The name.
        existing: The columns that do exist.
        where: What does not have it.

    Attributes:
        name (str): The name.
    """

    def __init__(self, name: str, existing: Iterable[str], where: str) -> None:
        names = list(existing)
        super().__init__(f"There is no column {name!r} in {where}. {nearest(name, names)}")
        self.name = name


class IneligibleError(InputError):
    """A value is too frequent: no decoy groups exist for the requested ell."""


class UnsafeError(InputError):
    """Columns that identify people or give values away, and nobody said to publish them anyway."""


class SettingsError(CountveilError):
    """Options that contradict each other, or that no table could satisfy."""


class TargetError(CountveilError):
    """The place where the release should go cannot be used."""


class UnconfirmedError(TargetError):
    """What was to be written is in its place and complete, but a last step after that failed."""


class LedgerError(CountveilError):
    """A ledger cannot be used: it is lost, old, damaged, or does not fit what is published."""


class ReleaseError(CountveilError):
    """A folder that is not a release, or whose content no longer matches its manifest."""


class QueryError(CountveilError):
    """A query that is not supported, or that names what the release does not have.

    Attributes:
        place: Where in the text of the query it is about, if that is known: the number of its first
            character, and of the one after its last.
        word: What stands there, as far as it was read.
    """

    place: tuple[int, int] | None = None
    word: str = ""


class EngineError(CountveilError):
    """Work that runs elsewhere could not be started, or failed."""


PASSWORDS = (
    "Passwords are read from where PostgreSQL's own tools read them: the environment (PGPASSWORD), "
    "or the file .pgpass."
)


class MissingExtraError(CountveilError):
    """An optional library is needed and not installed.

    Args:
        library: The library.
        extra: The extra that installs it.
    """

    def __init__(self, library: str, extra: str) -> None:
        super().__init__(
            f"This needs {library}, which is not installed. Install it with: pip install "
            f"'.[{extra}]', in the folder that countveil was installed from."
        )


def option(name: str, value: object = None) -> str:
    """An option in a message, as its reader would write it.

    `option("bins", {"age": 10})` is `--bins age=10` on a command line, `bins={'age': 10}` in
    Python; `option("bins")` is `--bins` or `bins=...`.
    """
    if reader == "Python":
        return f"{name}=..." if value is None else f"{name}={value!r}"
    flag = _FLAGS.get(name, "--" + name.replace("_", "-"))
    if value is None or value is True:
        return flag
    if value is False:
        return f"--no-{flag.lstrip('-')}"
    import shlex

    pairs = value.items() if isinstance(value, Mapping) else ((None, value),)
    texts = [
        written if column is None else f"{column}{_mark(name, written)}{written}"
        for column, each in pairs
        for written in (",".join(map(str, each)) if isinstance(each, list) else str(each),)
    ]
    return " ".join(f"{flag} {shlex.quote(text)}" for text in texts)


def _mark(name: str, value: str) -> str:
    """What stands between a column and a file, or a rule such as rare:50."""
    return "=" if value.startswith(("rare:", "{")) else _MARKS.get(name, "=")


def nearest(name: str, existing: Iterable[str], most: int = 8) -> str:
    """One sentence that helps someone who mistyped `name`: the near names, else the first ones."""
    import difflib

    names = list(existing)
    by_lower = {candidate.lower(): candidate for candidate in reversed(names)}
    close = difflib.get_close_matches(name.lower(), list(by_lower), n=3, cutoff=0.6)
    if close:
        return "Did you mean " + " or ".join(repr(by_lower[key]) for key in close) + "?"
    if not names:
        return "There are none."
    listed = ", ".join(repr(candidate) for candidate in names[:most])
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"Available: {listed}{more}."
