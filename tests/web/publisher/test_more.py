"""What else a publication can have: each kept, said in the lines beside, and in the release."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import countveil as cv
from countveil.publishing.ledger.ledger import Ledger
from countveil.release.opening import read_manifest
from countveil.release.verify import verify_release
from tests.robustness.conftest import Quick
from tests.web.publisher.conftest import JOBS, Desk
from tests.web.publisher.test_lines import in_python, shown, words


def key_pair(folder: Path) -> Path:
    """A private key in the folder, and the public one beside it."""
    key = Ed25519PrivateKey.generate()
    pem, none = serialization.Encoding.PEM, serialization.NoEncryption()
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, none)
    public = serialization.PublicFormat.SubjectPublicKeyInfo
    (folder / "key.pem").write_bytes(private)
    (folder / "public.pem").write_bytes(key.public_key().public_bytes(pem, public))
    return folder / "public.pem"


def write_cases(path: Path) -> None:
    """Made-up people with a number and a job."""
    lines = ["who,region,job"]
    lines += [f"p{n},{'NSEW'[n % 4]},{JOBS[n % 8]}" for n in range(400)]
    path.write_text("\n".join(lines) + "\n")


def test_everything_else_is_in_the_lines_and_in_the_release(desk: Desk, quick: Quick) -> None:
    public = key_pair(desk.root)
    desk.rehearsed()
    desk.role(2, "weight")
    desk.get("dangers")
    sent = {"subject": "more", "sign": "key.pem", "output_format": "csv.gz"}
    page = desk.done("rehearsal/more", {**sent, "metadata_ddi": "yes", "metadata_dcat": "yes"})
    assert "(signed; described for ddi, dcat; as csv.gz" in page
    assert "A signature. Descriptions for ddi, dcat" in page
    command, python = shown(desk.get("publish"))
    for part in ("--weight age", "--sign key.pem", "--metadata ddi,dcat", "--output-format csv.gz"):
        assert part in command
    assert "Published 600 rows" in desk.done("publish/start", {"to": "release"})
    by_command = quick(*words(command.replace("people-release", "typed")), "--again", cwd=desk.root)
    assert by_command.code == 0, by_command
    in_python(python.replace("to='people-release'", "to='called', again=True"))
    for name in ("release", "typed", "called"):
        manifest = read_manifest(desk.root / name)
        assert manifest.weight == "age"
        assert {each.path.rpartition(".csv")[2] for each in manifest.files} >= {".gz"}
        assert (desk.root / name / "ddi.xml").exists()
        assert (desk.root / name / "dcat.jsonld").exists()
        assert not (desk.root / name / "croissant.json").exists()
        assert verify_release(desk.root / name, None, public) == []
    for _ in range(2):
        desk.done("undo", {"screen": "rehearsal"})
    assert desk.state.draft.sign == ""
    assert desk.state.draft.weight == "age"


def test_a_ledger_is_made_and_continued(desk: Desk) -> None:
    write_cases(desk.root / "cases.csv")
    desk.pick("cases.csv")
    desk.get("columns")
    desk.role(0, "person")
    desk.role(2, "protect")
    desk.get("dangers")
    desk.done("amount/typed", {"subject": "0", "ell": "3", "method": "mixed"})
    missing = desk.post("rehearsal/more", {"subject": "more", "ledger": "people.ledger"})
    assert missing.status == 422
    assert 'id="more-ledger" name="ledger" value="people.ledger"' in missing.text
    sent = {"subject": "more", "ledger": "people.ledger", "new_ledger": "yes", "hold": "yes"}
    page = desk.done("rehearsal/more", sent)
    assert "continues a ledger" in page
    assert "Everything was done but publishing" in page
    command, python = shown(desk.get("publish"))
    assert "--ledger people.ledger --hold" in command
    assert "ledger='people.ledger'" in python
    assert "Published 400 rows" in desk.done("publish/start", {"to": "first"})
    assert Ledger(desk.root / "people.ledger").show().cases == 400
    desk.done("rehearsal/more", {**sent, "new_ledger": "", "hold": ""})
    page = desk.done("publish/start", {"to": "second"})
    assert "Published 400 rows" in page, page
    question = "SELECT job, count(*) FROM release GROUP BY ALL"
    first, second = (cv.open(desk.root / name).sql(question) for name in ("first", "second"))
    assert sorted(first.rows()) == sorted(second.rows())


@pytest.mark.slow
def test_a_release_of_a_ledger_is_attacked_with_its_ledger(desk: Desk, quick: Quick) -> None:
    write_cases(desk.root / "cases.csv")
    desk.pick("cases.csv")
    desk.get("columns")
    desk.role(0, "person")
    desk.role(2, "protect")
    desk.get("dangers")
    desk.done("amount/typed", {"subject": "0", "ell": "3", "method": "mixed"})
    desk.done("rehearsal/more", {"subject": "more", "ledger": "a.ledger", "new_ledger": "yes"})
    desk.done("publish/start", {"to": "release"})
    page = desk.done("audit/start")
    assert "claims that were tested hold" in page, page
    command, _ = shown(page)
    assert "--ledger a.ledger" in command
    done = quick(*words(command), cwd=desk.root)
    assert done.code == 0, done


@pytest.mark.slow
def test_a_weighted_and_signed_release_is_attacked(desk: Desk) -> None:
    key_pair(desk.root)
    desk.rehearsed()
    desk.role(2, "weight")
    desk.get("dangers")
    desk.done("rehearsal/more", {"subject": "more", "sign": "key.pem", "output_format": "csv"})
    desk.get("rehearsal")
    assert "Published 600 rows" in desk.done("publish/start", {"to": "release"})
    assert "claims that were tested hold" in desk.done("audit/start")
    assert "is sound" in desk.get("handover")


def test_reasons_and_a_ledger_do_not_go_together(desk: Desk) -> None:
    write_cases(desk.root / "cases.csv")
    desk.pick("cases.csv")
    draft = desk.state.draft.with_role("who", "person").with_role("job", "protect")
    kept = draft.keeping(["region"], "It is public.")
    called = replace(kept, sensitive={"job": 3}, private_report="own.html", ledger="a.ledger")
    arguments = called.arguments("publish")
    assert "reasons" not in arguments
    assert "private_report" not in arguments
    assert arguments["keep"] == ["region"]


WRONG = [
    ("sign", "nothing.pem", "nothing.pem"),
    ("sign", "people.csv", "is not a private key"),
    ("sign", "../key.pem", "outside of the folder"),
    ("ledger", "x.ledger", "needs to know who a row is about"),
    ("output_format", "docx", "Data are written as parquet"),
    ("rows_per_file", "many", "whole number from 1 on"),
    ("rows_per_file", "0", "at least one row"),
    ("rows_per_file", "9" * 30, "whole number from 1 on"),
    ("residue", "eat", "residue must be one of absorb, drop"),
    ("ledger_key", "x.key", "name the ledger, too"),
    ("ledger_key", "../x.key", "name the ledger, too"),
]


def test_what_is_wrong_stands_beside_its_field(desk: Desk) -> None:
    """Nothing of it is kept, so one rehearsal does for all."""
    desk.rehearsed()
    for field, typed, said in WRONG:
        refused_beside(desk, field, typed, said)


def refused_beside(desk: Desk, field: str, typed: str, said: str) -> None:
    others = {"metadata_croissant": "yes", "sign": "", "output_format": "csv"}
    reply = desk.post("rehearsal/more", {"subject": "more", **others, field: typed})
    assert reply.status == 422
    problem = re.search(
        rf'id="more-{field}" name="{field}".*?<p class="problem"[^>]*>(.*?)</p>',
        reply.text,
        re.DOTALL,
    )
    assert problem is not None
    assert said in problem[1]
    assert 'name="metadata_croissant" value="yes" checked' in reply.text
    if field not in ("output_format", "residue"):
        assert f'value="{typed}"' in reply.text
    assert desk.state.draft.metadata == ()


def test_a_number_can_be_the_weight_and_a_text_cannot(desk: Desk) -> None:
    desk.pick("people.csv")
    page = desk.get("columns")
    assert 'id="role-2-weight"' in page
    assert 'id="role-3-weight"' not in page
    page = desk.role(2, "weight")
    assert 'id="role-2-weight" name="role" value="weight" aria-pressed="true"' in page
    command, python = shown(page)
    assert "--weight age" in command
    assert "weight='age'" in python
    desk.role(2, "drop")
    assert desk.state.draft.weight is None
    assert desk.state.draft.drop == ("age",)


def test_rows_left_over_and_the_rows_of_a_file(desk: Desk, quick: Quick) -> None:
    desk.rehearsed(ell="7")
    sent = {"subject": "more", "residue": "drop", "rows_per_file": "250", "output_format": "csv"}
    page = desk.done("rehearsal/more", sent)
    assert "(as csv; 250 rows in each file; rows left over are dropped)" in page
    assert "595 rows in random order" in page
    command, _ = shown(desk.get("publish"))
    assert "--residue drop" in command
    assert "--rows-per-file 250" in command
    assert "Published 595 rows" in desk.done("publish/start", {"to": "release"})
    assert len(list((desk.root / "release").rglob("*.csv"))) == 3
    command, python = shown(desk.done("audit/start"))
    assert "--residue drop" in command
    assert "residue='drop'" in python
    assert "rows-per-file" not in command
    assert quick(*words(command), cwd=desk.root).code == 0
    desk.done("undo", {"screen": "publish"})
    desk.done("undo", {"screen": "rehearsal"})
    assert (desk.state.draft.residue, desk.state.draft.rows_per_file) == ("absorb", None)


def test_a_ledger_with_its_key_elsewhere(desk: Desk, quick: Quick) -> None:
    write_cases(desk.root / "cases.csv")
    (desk.root / "keys").mkdir()
    desk.pick("cases.csv")
    desk.get("columns")
    desk.role(0, "person")
    desk.role(2, "protect")
    desk.get("dangers")
    desk.done("amount/typed", {"subject": "0", "ell": "3", "method": "mixed"})
    sent = {"subject": "more", "ledger": "a.ledger", "ledger_key": "keys/a.key"}
    outside = desk.post("rehearsal/more", {**sent, "ledger_key": "../a.key", "new_ledger": "yes"})
    assert outside.status == 422
    assert "outside of the folder" in outside.text
    assert not (desk.root / "a.ledger").exists()
    desk.done("rehearsal/more", {**sent, "new_ledger": "yes"})
    assert (desk.root / "keys" / "a.key").exists()
    assert 'name="ledger_key" value="keys/a.key"' in desk.get("rehearsal")
    command, _ = shown(desk.get("publish"))
    assert "--ledger a.ledger --ledger-key keys/a.key" in command
    assert "Published 400 rows" in desk.done("publish/start", {"to": "release"})
    summary = quick("ledger", "show", "a.ledger", "--key", "keys/a.key", cwd=desk.root)
    assert summary.code == 0, summary
    command, _ = shown(desk.get("audit"))
    assert "--ledger a.ledger --ledger-key keys/a.key" in command
