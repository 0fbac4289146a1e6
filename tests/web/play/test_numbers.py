"""What links may carry, and how the rest is refused."""

from __future__ import annotations

import pytest

from countveil.errors import SettingsError
from countveil.web.play.numbers import Number, link, read_numbers

NUMBERS = (Number("seed", 1, 9_999, 4), Number("ell", 2, 10, 5))


def test_what_a_link_does_not_say_is_usual() -> None:
    assert read_numbers(NUMBERS, []) == {"seed": 4, "ell": 5}
    assert read_numbers(NUMBERS, [("ell", "10")]) == {"seed": 4, "ell": 10}
    assert read_numbers(NUMBERS, [("ell", "2"), ("seed", "9999")]) == {"seed": 9_999, "ell": 2}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        "11",
        "-5",
        "+5",
        "5.0",
        "5e0",
        " 5",
        "5 ",
        "0x5",
        "\u0665",
        "five",
        "5" * 5_000,
        "\x00",
    ],
)
def test_what_is_no_number_within_bounds_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="ell must be a whole number from 2 to 10") as refused:
        read_numbers(NUMBERS, [("ell", text)])
    assert len(str(refused.value)) < 200


def test_what_means_nothing_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"'path' means nothing here\. What works.*seed, ell"):
        read_numbers(NUMBERS, [("path", "/etc/passwd")])
    with pytest.raises(SettingsError, match="'ell' is given twice"):
        read_numbers(NUMBERS, [("ell", "3"), ("ell", "3")])
    with pytest.raises(SettingsError) as refused:
        read_numbers(NUMBERS, [("x" * 4_000, "1")])
    assert len(str(refused.value)) < 200


def test_links_carry_numbers() -> None:
    assert link("/play/group", {"seed": 3, "ell": 5}) == "/play/group?seed=3&ell=5"
    assert link("/play/", {}) == "/play/"
