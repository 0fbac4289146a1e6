"""`countveil verify`: is a release still what was published?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from countveil.cli.options import FormatOption, LargerOption, SignedByOption
from countveil.cli.output import Format, print_rows, progress_shown
from countveil.display import visible
from countveil.errors import SettingsError


def command(
    place: Annotated[
        str, typer.Argument(metavar="DIR", help="The release, a folder.", show_default=False)
    ],
    signed_by: SignedByOption = None,
    larger: LargerOption = 1,
    style: FormatOption = Format.TABLE,
) -> None:
    """Compare a release with its manifest: every file, every byte.

    Exit code 0 when it is sound, 1 when anything differs; each difference is named. This proves
    that files agree with the manifest, and not who made it: anybody who can change a file can
    change the manifest too. With --signed-by it proves that every file is the one that the owner
    of the key signed, if you have the publisher's public key from somewhere else.
    """
    from countveil.release.verify import soundness, verify_release
    from countveil.system.address import parse_release_address

    if parse_release_address(place) is not None:
        raise SettingsError(
            "Only files have checksums: 'verify' checks the folder of a release, before it is "
            "exported. The number of rows in a database is compared when a release is opened there."
        )
    folder = Path(place)
    with progress_shown() as progress:
        findings = verify_release(
            folder, lambda done, total: progress("checking", done, total), signed_by, larger
        )
    if style is not Format.TABLE:
        rows = [(finding.file, finding.problem) for finding in findings]
        print_rows(("file", "problem"), rows, style)
    elif findings:
        print(visible(f"{folder} is not what was published:"))
        print_rows(("file", "problem"), [(f.file, f.problem) for f in findings], style)
    else:
        print(visible(soundness(folder, signed_by)))
    if findings:
        raise typer.Exit(1)
