"""Arguments and options that several commands share, each declared once.

`arguments` has single ones, `table_options` the groups that say how a table is read and shaped,
`given` turns what was typed into values.
"""

from countveil.cli.options.arguments import (
    RELEASE_HELP,
    EllOption,
    EngineName,
    EngineOption,
    ForceReportOption,
    FormatOption,
    Groups,
    GroupsOption,
    InputArgument,
    MasterOption,
    ProtectedOption,
    QuestionArgument,
    ReleaseArgument,
    ReportOption,
    Residue,
    ResidueOption,
    SensitiveIfAnyOption,
    SensitiveOption,
)
from countveil.cli.options.given import (
    NOTHING_GIVEN,
    Given,
    as_typed,
    reading_and_shaping,
    with_ell,
    with_table_options,
)

__all__ = [
    "NOTHING_GIVEN",
    "RELEASE_HELP",
    "EllOption",
    "EngineName",
    "EngineOption",
    "ForceReportOption",
    "FormatOption",
    "Given",
    "Groups",
    "GroupsOption",
    "InputArgument",
    "MasterOption",
    "ProtectedOption",
    "QuestionArgument",
    "ReleaseArgument",
    "ReportOption",
    "Residue",
    "ResidueOption",
    "SensitiveIfAnyOption",
    "SensitiveOption",
    "as_typed",
    "reading_and_shaping",
    "with_ell",
    "with_table_options",
]
