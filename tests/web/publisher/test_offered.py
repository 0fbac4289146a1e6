"""Every option of publishing is in the app, or there is a reason why it has no place there.

A new keyword of a public function, or a new flag of its command, fails here until it is offered, or
stands in the list below and in the guide.
"""

from __future__ import annotations

from inspect import signature
from pathlib import Path

import pytest

import countveil as cv
import countveil.cli.app  # all commands are declared there
from countveil.cli.options.given import PARAMETERS
from countveil.tables.options import SourceOptions
from countveil.web.publisher.draft import BY_COLUMN, READING, TAKEN
from tests.web.publisher.conftest import Desk, write_visits

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "app.md"
FUNCTIONS = ("inspect", "advise", "publish", "audit")
# Of every function: what is not in the app, and why.
NOWHERE = {
    "seed": "Whoever knows the seed can undo the protection; it is for experiments.",
    "recipe": "The app keeps the choices itself, and the lines beside a screen say them all.",
    "engine": "The app works on one machine, and does not start a cluster.",
    "master": "The app works on one machine, and does not start a cluster.",
    "memory": "Half of the free memory is right for a person at a machine of his own.",
    "spill": "What does not fit into memory goes beside the release.",
    "record": "The private record warns of a second release; the app always keeps it.",
    "timeout": "Stop ends whatever takes too long.",
    "columns": "Drop says the same, column by column.",
    "ell": "Every column has its own.",
    "progress": "The app itself shows how far it is.",
    "earlier": "Earlier releases have tables of their own, and the app is about one table.",
    "attacks": "The app tries all attacks: one that is left out proves nothing.",
}
# What some functions take and the app has another way for.
INSTEAD = {
    "advise": {
        "groups": "Every method is measured, and chosen afterwards.",
        "common": "Every method is measured, and chosen afterwards.",
        "together": "Pairs are measured both ways, and chosen afterwards.",
        "measured": "The app itself shows figures as they are known.",
    },
    "audit": {
        "title": "The page of the audit stays with the publisher.",
        "contact": "The page of the audit stays with the publisher.",
    },
}
# Flags of commands that are no keyword of their function.
PRINTED = {
    "style": "A page is no terminal.",
    "write_recipe": "The lines beside a screen say all choices.",
    "report": "The page of the audit is a link; figures are on the screen.",
    "force": "Nothing but a release is written, and its screen asks.",
    "k": "Dangers asks for it before anything is published.",
    "weight": "A weight changes no attack.",
    "class_values": "What stands for a class in averages changes no attack.",
}
# The screen on which each option of publish is chosen, and what is on that screen.
CHOSEN = {
    "sensitive": ("columns", 'name="role" value="protect"'),
    "drop": ("columns", 'name="role" value="drop"'),
    "person": ("columns", 'name="role" value="person"'),
    "weight": ("columns", 'name="role" value="weight"'),
    "one_per": ("columns", 'id="one-row-by" name="by"'),
    "keep": ("dangers", 'name="decision" value="keep"'),
    "reasons": ("dangers", 'name="reason"'),
    "groups": ("amount", 'name="method"'),
    "common": ("amount", '<option value="common"'),
    "odds": ("amount", 'name="odds"'),
    "together": ("dangers", 'name="decision" value="together"'),
    "residue": ("rehearsal", 'name="residue"'),
    "ledger": ("rehearsal", 'name="ledger"'),
    "ledger_key": ("rehearsal", 'name="ledger_key"'),
    "hold": ("rehearsal", 'name="hold"'),
    "title": ("rehearsal", 'name="title"'),
    "contact": ("rehearsal", 'name="contact"'),
    "output_format": ("rehearsal", 'name="output_format"'),
    "rows_per_file": ("rehearsal", 'name="rows_per_file"'),
    "metadata": ("rehearsal", 'name="metadata_ddi"'),
    "sign": ("rehearsal", 'name="sign"'),
    "dry_run": ("rehearsal", "Everything was done but publishing"),
    "to": ("publish", 'name="to"'),
    "private_report": ("publish", 'name="private_report"'),
    "force": ("publish", 'name="force"'),
    "again": ("publish", 'name="again"'),
    **{name: ("table", f'name="{name}"') for name in READING},
    **{name: ("columns", f'name="{name}"') for name in BY_COLUMN},
}


def keywords(function: str) -> set[str]:
    named = {*signature(getattr(cv, function)).parameters} - {"table", "options"}
    return named | {*SourceOptions.__annotations__}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_keyword_is_offered_or_has_a_reason(function: str) -> None:
    left_out = {**NOWHERE, **INSTEAD.get(function, {})}
    offered = {*TAKEN[function]}
    assert keywords(function) - offered - {*left_out} == set()
    assert offered <= keywords(function)
    assert not offered & {*left_out}, "offered, and listed as if it were not"


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_flag_is_offered_or_has_a_reason(function: str) -> None:
    left_out = {*NOWHERE, *INSTEAD.get(function, {}), *PRINTED}
    assert {*PARAMETERS[function]} - {"table"} - {*TAKEN[function]} - left_out == set()


def test_no_reason_is_about_what_is_not_there() -> None:
    every = set[str]().union(*map(keywords, FUNCTIONS))
    assert {*NOWHERE} <= every
    for function, reasons in INSTEAD.items():
        assert {*reasons} <= keywords(function)
    flags = set[str]().union(*(PARAMETERS[function] for function in FUNCTIONS))
    assert {*PRINTED} <= flags


def test_the_guide_says_what_only_a_command_does() -> None:
    section = GUIDE.read_text().partition("## What only a command does")[2].partition("\n## ")[0]
    for name in {*NOWHERE} - {"ell", "progress"}:
        assert f"`--{name.replace('_', '-')}`" in section, name


def test_every_option_of_publish_is_on_its_screen(desk: Desk) -> None:
    assert {*CHOSEN} == {*TAKEN["publish"]}
    write_visits(desk.root / "visits.csv")
    desk.pick("visits.csv")
    pages = {"table": desk.get("table"), "columns": desk.get("columns")}
    desk.role(0, "person")
    pages["columns"] += desk.get("columns")
    lines = ["who,weight,code,twin,job"]
    jobs = ("a", "b", "c", "d", "e", "f")
    lines += [f"p{n},1.5,{jobs[n % 6]},{jobs[n % 6]},{jobs[n % 6]}" for n in range(300)]
    (desk.root / "twins.csv").write_text("\n".join(lines) + "\n")
    desk.pick("twins.csv")
    pages["columns"] += desk.get("columns")
    desk.role(0, "person")
    desk.role(3, "protect")
    desk.role(4, "protect")
    pages["dangers"] = desk.get("dangers")
    desk.pick("people.csv")
    desk.rehearsed()
    for screen in ("amount", "rehearsal", "publish"):
        pages[screen] = desk.get(screen)
    for name, (screen, text) in CHOSEN.items():
        assert text in pages[screen], name
