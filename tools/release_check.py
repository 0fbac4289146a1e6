"""`python -m tools.release_check`: is this checkout ready to become a version?

Builds the wheel and the source distribution twice, in different places, and checks both; installs
the wheel into a new environment, with the pinned dependencies, and publishes and asks there. Prints
one line for each check; exit code 1 if one finds a problem. Nothing is uploaded, and nothing stays
unless `--to` names a folder.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tools import release_checks as checks
from tools.building import Artifacts, ToolError, build, copy_elsewhere, time_of
from tools.environments import install, install_offline, new_environment, publish_and_ask

ROOT = Path(__file__).parents[1]
Check = tuple[str, Callable[[], list[str]]]


def main() -> None:
    """Run every check, print what each finds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dated", action="store_true", help="the changelog must name the day")
    parser.add_argument("--to", type=Path, help="keep the wheel and the source distribution here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        problems = 0
        for name, check in all_checks(Path(folder), dated=options.dated, to=options.to):
            problems += report(name, check)
    if problems:
        sys.exit(f"{problems} problems: this is no version yet.")


def report(name: str, check: Callable[[], list[str]]) -> int:
    """One line if all is well, else a line for each problem; and how many there are."""
    try:
        problems = check()
    except ToolError as error:
        problems = [str(error)]
    print(f"{'ok' if not problems else 'NO'}  {name}", flush=True)
    for problem in problems:
        print(f"    {problem}")
    return len(problems)


def all_checks(folder: Path, *, dated: bool, to: Path | None) -> Iterator[Check]:
    """The checks, in the order in which they make sense; what is built is built on the way."""
    yield "one version everywhere", lambda: checks.versions(ROOT, dated=dated)
    epoch = time_of(ROOT)
    built = build(ROOT, folder / "first", epoch)
    again = build(copy_elsewhere(ROOT, folder / "copy"), folder / "second", epoch)
    yield (
        "the wheel holds the package and nothing else",
        lambda: checks.wheel_contents(ROOT, built.wheel),
    )
    yield (
        "the source distribution holds what builds it",
        lambda: checks.sdist_contents(ROOT, built.sdist),
    )
    yield "the metadata are valid", lambda: checks.metadata(ROOT, built)
    yield "two builds give the same bytes", lambda: checks.reproducible(built, again)
    yield "the source distribution gives the same wheel", lambda: from_sdist(built, folder, epoch)
    yield "it installs, publishes and answers", lambda: installs(built.wheel, folder)
    if to is not None:
        to.mkdir(parents=True, exist_ok=True)
        for path in built:
            shutil.copy(path, to)


def from_sdist(built: Artifacts, folder: Path, epoch: int) -> list[str]:
    """What somebody gets who builds the package from its source distribution."""
    with tarfile.open(built.sdist) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    (source,) = (folder / "unpacked").iterdir()
    wheel = build(source, folder / "third", epoch).wheel
    return checks.reproducible(built, Artifacts(wheel, built.sdist))


def installs(wheel: Path, folder: Path) -> list[str]:
    """The wheel and the pinned runtime, in a new environment."""
    commands = new_environment(folder / "environment")
    pins = ROOT / "requirements/runtime.txt"
    install(commands, "--no-deps", "--require-hashes", "-r", pins)
    install_offline(commands, wheel.parent, "--no-deps", wheel)
    version = publish_and_ask(commands, folder)
    expected = checks.version_of(ROOT)
    return [] if version == expected else [f"the installed command says {version}, not {expected}"]


if __name__ == "__main__":
    main()
