"""The image: built and run where there is a Docker engine; its recipe is read everywhere."""

from __future__ import annotations

import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

import countveil

ROOT = Path(__file__).parents[2]
RECIPE = (ROOT / "Dockerfile").read_text()


def instructions(text: str) -> list[tuple[str, str]]:
    """Keyword and rest of each instruction, its lines joined."""
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("#"))
    joined = "\n".join(lines).replace("\\\n", " ")
    pairs = (line.split(None, 1) for line in joined.splitlines() if line.strip())
    return [(keyword, " ".join(rest.split())) for keyword, rest in pairs]


def problems(text: str) -> list[str]:
    """What no recipe of ours may do."""
    steps = instructions(text)
    last = max(place for place, (keyword, _) in enumerate(steps) if keyword == "FROM")
    image = steps[last:]
    found = [f"no tag: {rest}" for keyword, rest in steps if keyword == "FROM" and ":" not in rest]
    found += [f"adds {rest}" for keyword, rest in steps if keyword == "ADD"]
    for keyword, rest in steps:
        if keyword == "RUN":
            found += [f"not pinned: {words}" for words in unpinned(rest)]
    users = [rest for keyword, rest in image if keyword == "USER"]
    if not users or re.match(r"(root|0+)(:|$)", users[-1]):
        found.append("runs as root")
    found += [
        f"starts a shell: {rest}"
        for keyword, rest in image
        if keyword in ("ENTRYPOINT", "CMD") and not rest.startswith("[")
    ]
    if not any(keyword == "ENTRYPOINT" for keyword, _ in image):
        found.append("starts nothing")
    # What is left at the end needs no installer, so no network either.
    return found + [f"installs: {rest}" for k, rest in image if k == "RUN" and " pip " in rest]


def unpinned(commands: str) -> list[str]:
    installs = re.findall(r"pip [^;&|]*install [^;&|]*", commands)
    return [w for w in installs if "--require-hashes" not in w and "--no-index" not in w]


def copied() -> list[str]:
    """What enters from the checkout."""
    steps = [rest.split() for keyword, rest in instructions(RECIPE) if keyword == "COPY"]
    return [name for words in steps if "--from" not in words[0] for name in words[:-1]]


def test_the_recipe_keeps_the_rules() -> None:
    assert problems(RECIPE) == []


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("USER 10001:10001", "USER root", "runs as root"),
        ("USER 10001:10001", "USER 0:0", "runs as root"),
        ("USER 10001:10001\n", "", "runs as root"),
        ("COPY src src", "ADD src src", "adds src src"),
        (" --require-hashes", "", "not pinned"),
        ("FROM python:3.12-slim\n", "FROM python\n", "no tag"),
        ('ENTRYPOINT ["/opt/countveil/bin/countveil"]', "ENTRYPOINT countveil", "starts a shell"),
        ('ENTRYPOINT ["/opt/countveil/bin/countveil"]\n', "", "starts nothing"),
        ("RUN install -d", "RUN python -m pip install --no-index x && install -d", "installs"),
    ],
)
def test_a_recipe_that_breaks_a_rule_is_noticed(old: str, new: str, problem: str) -> None:
    assert old in RECIPE
    assert any(found.startswith(problem) for found in problems(RECIPE.replace(old, new)))


def test_only_what_the_recipe_copies_enters() -> None:
    """So no table, release or ledger that lies beside it gets into an image."""
    rules = [
        line
        for line in (ROOT / ".dockerignore").read_text().splitlines()
        if line and not line.startswith("#")
    ]
    assert rules[0] == "*"
    assert sorted(rule[1:] for rule in rules if rule.startswith("!")) == sorted(copied())
    assert all((ROOT / name).exists() for name in copied())


def linted(text: str) -> subprocess.CompletedProcess[str]:
    linter = str(Path(sysconfig.get_path("scripts")) / "hadolint")
    words = [linter, "--no-color", "--failure-threshold", "info", "-"]
    return subprocess.run(words, input=text, capture_output=True, text=True, check=False)


def test_the_linter_has_nothing_to_say() -> None:
    done = linted(RECIPE)
    assert (done.returncode, done.stdout) == (0, "")
    done = linted(RECIPE.replace(" --no-cache-dir", ""))
    assert done.returncode == 1
    assert "DL3042" in done.stdout


def docker(*words: object) -> str:
    command = ["docker", *map(str, words)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def engine() -> bool:
    if shutil.which("docker") is None:
        return False
    done = subprocess.run(["docker", "info"], capture_output=True, check=False)
    return done.returncode == 0


@pytest.mark.slow
def test_the_image_publishes_and_answers_without_a_network(tmp_path: Path) -> None:
    if not engine():
        pytest.skip("needs a Docker engine")
    docker("build", "--quiet", "--tag", "countveil-test", ".")
    tmp_path.chmod(0o777)
    words = ("run", "--rm", "--network", "none", "--read-only", "--tmpfs", "/tmp")
    place = ("--volume", f"{tmp_path}:/data", "countveil-test")
    assert docker(*words, *place, "--version") == f"countveil {countveil.__version__}\n"
    assert docker(*words, "--entrypoint", "id", *place, "-u").strip() == "10001"
    docker(*words, *place, "generate", "--rows", 2000, "--to", "census.csv")
    docker(*words, *place, "publish", "census.csv", "-s", "occupation:3", "--to", "release")
    sql = "SELECT count(*) FROM release WHERE occupation = 'nurse'"
    assert "estimate" in docker(*words, *place, "query", "release", sql, "--format", "json")
