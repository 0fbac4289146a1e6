"""Files, times and bytes of a release: what is planted is found, and chance is not taken for it."""

from __future__ import annotations

import base64
import gzip
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import countveil as cv
from countveil.auditing.attacks import canaries
from countveil.auditing.attacks.source_traces import chance_p_value, occurring, program_text
from countveil.engines.local.release_files import everything_in, file_notes, times_in
from countveil.publishing.publisher import run_publish
from countveil.publishing.settings import Protecting, Writing
from countveil.randomness import Randomness
from countveil.release import draft

CANARY = "canary0123456789abcdef"
ROWS = 600


@pytest.fixture
def census(tmp_path: Path) -> Path:
    rng = np.random.default_rng(8)
    table = pa.table(
        {
            "age": rng.integers(20, 80, ROWS),
            "country": [["Germany", "Austria"][place] for place in rng.integers(0, 2, ROWS)],
            "born in": [["Germany", "Iceland"][place] for place in rng.integers(0, 2, ROWS)],
            "job": [f"job {place}" for place in rng.integers(0, 8, ROWS)],
        }
    )
    pq.write_table(table, tmp_path / "census.parquet")
    return tmp_path / "census.parquet"


def attacks(found: Any) -> set[str]:
    return {finding.attack for finding in found.exceeded}


def audit(census: Path, *names: str, release: Path | None = None) -> Any:
    return cv.audit(census, {"job": 3}, drop="born in", release=release, attacks=names)


def publish(census: Path, folder: Path) -> Path:
    cv.publish(census, {"job": 3}, folder, drop="born in")
    return folder


def test_a_release_tells_one_time(census: Path, tmp_path: Path) -> None:
    release = publish(census, tmp_path / "release")
    told = set(times_in(release).values())
    assert len(told) == 1
    assert told.pop() % 10**9 == 0
    cv.publish(census, {"job": 3}, release, drop="born in", force=True, again=True)
    assert len(set(times_in(release).values())) == 1


@pytest.mark.slow
def test_times_that_tell_order_and_duration_are_caught(
    census: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert audit(census, "reconstruction").passed
    monkeypatch.setattr(draft, "set_one_time", lambda _folder: None)
    assert attacks(audit(census, "reconstruction")) == {"order and duration by the times of files"}


@pytest.mark.slow
def test_times_of_the_source_on_a_release_are_caught(census: Path, tmp_path: Path) -> None:
    os.utime(census, ns=(10**18, 1_700_000_000_123_456_789))
    release = publish(census, tmp_path / "release")
    assert audit(census, "reconstruction", release=release).passed
    shutil.copystat(census, release / "data" / "part-00000.parquet")
    found = audit(census, "reconstruction", release=release)
    assert attacks(found) == {"times of the source on the release"}


@pytest.mark.slow
def test_a_copied_release_is_no_alarm(census: Path, tmp_path: Path) -> None:
    shutil.copytree(publish(census, tmp_path / "one"), tmp_path / "two", copy_function=shutil.copy)
    assert audit(census, "reconstruction", release=tmp_path / "two").passed


def planted(place: str, release: Path) -> None:
    path = release / "data" / "part-00000.parquet"
    data = pq.read_table(path)
    if place == "file":
        (release / "notes.txt").write_text(f"see {CANARY}")
    elif place == "packed file":
        (release / "notes.gz").write_bytes(gzip.compress(f"see {CANARY}".encode()))
    elif place == "name":
        (release / f"{CANARY}.txt").touch()
    elif place == "upper case":
        (release / "notes.txt").write_text(CANARY.upper())
    elif place == "hexadecimal":
        (release / "notes.txt").write_text(CANARY.encode().hex())
    elif place == "base 64":
        (release / "notes.txt").write_bytes(base64.b64encode(CANARY.encode()))
    elif place == "metadata":
        pq.write_table(data.replace_schema_metadata({"note": CANARY}), path)
    elif place == "manifest":
        with (release / "manifest.json").open("a") as manifest:
            manifest.write(f"// {CANARY}")
    else:
        values = pa.array([*sorted(set(data["job"].to_pylist())), CANARY])
        codes = np.unique(data["job"].to_pylist(), return_inverse=True)[1]
        job = pa.DictionaryArray.from_arrays(pa.array(codes), values)
        changed = data.set_column(data.column_names.index("job"), "job", job)
        pq.write_table(changed, path, compression=place, store_schema=False)


PLACES = ("file", "packed file", "name", "upper case", "hexadecimal", "base 64", "metadata",
          "manifest", "none", "zstd", "snappy", "gzip", "brotli", "lz4")  # fmt: skip


@pytest.mark.few(1)
@pytest.mark.parametrize("place", PLACES)
def test_a_canary_is_found_wherever_it_is(census: Path, tmp_path: Path, place: str) -> None:
    release = publish(census, tmp_path / "release")
    assert occurring(everything_in(release), [CANARY]) == []
    planted(place, release)
    assert occurring(everything_in(release), [CANARY]) == [CANARY]


def test_an_entry_of_a_dictionary_without_a_row_is_counted(census: Path, tmp_path: Path) -> None:
    release = publish(census, tmp_path / "release")
    files = ["data/part-00000.parquet"]
    assert file_notes(release, files, ["job", "country"]).unused == 0
    planted("zstd", release)
    assert file_notes(release, files, ["job", "country"]).unused == 1


def test_only_orders_that_the_rows_do_not_tell_are_disorder(tmp_path: Path) -> None:
    def told(values: list[str], codes: list[int]) -> list[str]:
        job = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(values))
        pq.write_table(pa.table({"job": job}), tmp_path / "x.parquet", store_schema=False)
        return list(file_notes(tmp_path, ["x.parquet"], ["job"]).disordered)

    assert told(["a", "b", "c"], [2, 0, 1]) == []
    assert told(["c", "a", "b"], [0, 1, 2, 0]) == []
    assert told(["c", "a", "b"], [1, 0, 2]) == ["job"]


@pytest.mark.few(2)
@pytest.mark.parametrize("form", list(canaries.FORMS))
def test_canaries_are_planted_in_every_form_and_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """A publisher that copies its input's secrets into the release is caught in every form."""
    pytest.importorskip("pandas")
    forms = {form: canaries.FORMS[form]}
    stream = Randomness(None).stream("canaries")
    tmp_path.joinpath("sound").mkdir()
    sound = canaries.search_for_canaries(tmp_path / "sound", stream, forms).findings
    assert [finding.measured for finding in sound] == [0, 0]

    def leaking(table: Any, protecting: Protecting, writing: Writing, **options: Any) -> Any:
        try:
            done = run_publish(table, protecting, writing, **options)
        except cv.CountveilError as error:
            text = Path(table).read_text()
            raise type(error)(f"{error} The line is: {text.splitlines()[0]}{text[-60:]}") from None
        content = Path(table).read_bytes() if isinstance(table, str) else repr(table).encode()
        (Path(writing.to) / "data" / "input").write_bytes(content)
        return done

    monkeypatch.setattr(canaries, "run_publish", leaking)
    tmp_path.joinpath("broken").mkdir()
    broken = canaries.search_for_canaries(tmp_path / "broken", stream, forms).findings
    assert broken[0].measured >= 1
    assert broken[0].p_value == 0.0


def test_comments_of_a_csv_file_are_refused_without_a_word_of_them(tmp_path: Path) -> None:
    for number, text in enumerate(
        [f"# {CANARY}\njob,age\na,1\nb,2\n", f"job,age\na,1\nb,2\n# {CANARY}\n"]
    ):
        path = tmp_path / f"{number}.csv"
        path.write_text(text)
        with pytest.raises(cv.CountveilError) as refused:
            cv.publish(path, {"job": 2}, tmp_path / "release")
        assert CANARY not in str(refused.value)
        assert not (tmp_path / "release").exists()


@pytest.mark.slow
def test_what_is_published_anyway_is_no_secret(census: Path, tmp_path: Path) -> None:
    release = publish(census, tmp_path / "release")
    assert audit(census, "implementation", release=release).passed, "Germany is published"
    (release / "notes.txt").write_text("born in Iceland")
    found = audit(census, "implementation", release=release)
    assert attacks(found) == {"find values of dropped columns"}


@pytest.mark.slow
def test_a_user_who_is_called_like_a_word_of_the_manifest(
    census: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("getpass.getuser", lambda: "countveil")
    monkeypatch.setattr("socket.gethostname", lambda: "manifest")
    assert audit(census, "implementation").passed
    assert "countveil" in program_text(census.parent / "program")


def test_short_texts_in_random_bytes_are_chance() -> None:
    content = np.random.default_rng(1).bytes(1 << 20)
    assert chance_p_value(content, ["abc"], ["abc"]) > 0.01
    many = [f"word{number:02d}" for number in range(100)]
    assert chance_p_value(content, many, many[:1]) > 1e-7
    assert chance_p_value(content, [CANARY, *many], [CANARY]) < 1e-30
    assert chance_p_value(content, many, []) == 1.0
