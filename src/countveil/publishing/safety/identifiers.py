"""Guesses from a column's name and values: an identifier? sensitive? missing values?

Enters: a column's name, kind, how many rows and different values it has, and some of the values.
Leaves: a guess, for an identifier with its reason in words. Must not know: other columns. No value
is quoted but marks that mean a missing one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from countveil.release.values import NUMBER, TEXT

# Columns of these names are about one person, whatever they hold.
_ALWAYS = {
    "ssn", "nin", "nino", "nhs", "bsn", "pesel", "email", "mail", "phone", "telephone", "mobile",
    "telefon", "passport", "iban", "surname", "lastname", "firstname", "fullname", "forename",
    "nachname", "vorname", "username", "login", "mrn", "uuid", "guid", "fingerprint",
}  # fmt: skip
# These only when they have many values: a state_id or a brand_name is not an identifier.
_OFTEN = {
    "id", "identifier", "pid", "name", "number", "nr", "no", "num", "key", "address", "adresse",
    "street", "account", "card", "ip", "licence", "license", "url", "record", "serial",
}  # fmt: skip
_PATTERNS = {
    "e-mail addresses": r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}",
    "national numbers": (
        r"\d{3}-\d{2}-\d{4}|[A-Za-z]{2} ?\d{2} ?\d{2} ?\d{2} ?[A-Da-d]|(\d{2})?\d{6}[-+A]\d{3}\w"
    ),
    "phone numbers": r"\+?\(?\d{1,4}\)?[ ./-]\(?\d{2,5}\)?([ ./-]?\d{2,5}){1,4}|\+\d{8,15}",
    "account numbers": r"[A-Z]{2}\d{2}( ?[A-Z0-9]{4}){3,7}( ?[A-Z0-9]{1,3})?",
    "random identifiers": r"[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|[0-9a-f]{32,64}",
    "network addresses": r"(\d{1,3}\.){3}\d{1,3}",
    "web addresses": r"https?://\S+",
}
_MISSING_MARKS = {
    "na", "n/a", "n.a.", "nan", "null", "none", "?", "-", "--", ".", "missing", "unknown", "nil",
    "#n/a",
}  # fmt: skip
_SENSITIVE = {
    "diagnosis", "diagnoses", "disease", "illness", "icd", "icd9", "icd10", "condition", "hiv",
    "health", "disability", "medication", "drug", "procedure", "treatment", "symptom", "income",
    "salary", "wage", "wages", "pay", "earnings", "debt", "wealth", "religion", "faith", "belief",
    "occupation", "job", "profession", "employer", "party", "vote", "orientation", "ethnicity",
    "crime", "offence", "offense", "verdict", "benefit", "benefits", "grade", "score",
}  # fmt: skip
_LOOKS_LIKE_A_DATE = r"\d{4}[-./]\d{1,2}[-./]\d{1,2}|\d{1,2}[-./]\d{1,2}[-./]\d{4}"
_LEAST_VALUES = 30
_MANY = 0.05
_ALL = 0.95


def identifier_reason(
    name: str, kind: str, rows: int, distinct: int, examples: Sequence[Any]
) -> str | None:
    """Why this column looks like a direct identifier; None if it does not."""
    if not distinct:
        return None
    words = set(words_of(name))
    if words & _ALWAYS or any({part, "name"} <= words for part in ("first", "last", "full")):
        return "its name says so"
    differing = distinct / max(rows, 1)
    many = distinct >= _LEAST_VALUES and differing >= _MANY
    if words & _OFTEN and many:
        return f"its name says so, and it has a different value in {differing:.0%} of the rows"
    if kind == TEXT and (what := _pattern(examples)):
        return f"its values look like {what}"
    # Measurements differ in every row too; whole numbers and texts that do are names or numbers.
    whole = kind == NUMBER and all(isinstance(value, int) for value in examples)
    if (kind == TEXT or whole) and distinct >= _LEAST_VALUES and differing > _ALL:
        return f"it has a different value in {differing:.0%} of the rows"
    return None


def _pattern(examples: Sequence[Any]) -> str | None:
    """What most of the values look like."""
    texts = [str(value).strip() for value in examples]
    if _share(_LOOKS_LIKE_A_DATE, texts) > 0.5:
        return None
    return next((what for what, form in _PATTERNS.items() if _share(form, texts) > 0.5), None)


def _share(form: str, texts: Sequence[str]) -> float:
    matching = sum(len(text) <= 200 and re.fullmatch(form, text) is not None for text in texts)
    return matching / max(len(texts), 1)


def words_of(name: str) -> list[str]:
    """The words of a column name: patient_id, PatientId and "patient id" have the same."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return [word for word in re.split(r"[^a-z0-9]+", spaced.lower()) if word]


def looks_missing(examples: Sequence[Any]) -> list[str]:
    """Texts among the values that often mean a missing value."""
    return [v for v in examples if isinstance(v, str) and v.strip().lower() in _MISSING_MARKS]


def sounds_sensitive(name: str) -> bool:
    """Whether a column of this name usually holds what people want to keep private."""
    return bool(_SENSITIVE & set(words_of(name)))
