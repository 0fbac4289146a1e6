"""XML and JSON that hold any text.

Enters: elements, or plain values, with text from data that may be hostile. Leaves: a document that
a parser reads back as the same text. Must not know: what the text says.

XML 1.0 has no place for some characters, such as most controls; their codes are written out. What
could mislead a reader of the file (marks that turn the direction of text, line separators) is
written as a reference, which parsers turn back. In JSON everything but plain ASCII is escaped, and
so are `<`, `>` and `&`, so that a document can stand inside a page.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_IMPOSSIBLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_REFERENCES = re.compile(
    '[&<>"\r\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]'
)
_BREAKS = re.compile("[\t\n]")
_NAMED = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}


@dataclass(frozen=True, slots=True)
class Element:
    """An element with attributes, and either text or other elements inside."""

    tag: str
    content: str | Sequence[Element] = ""
    attributes: Mapping[str, str] = field(default_factory=dict)


def element(
    tag: str, content: str | Sequence[Element | None] = "", /, **attributes: str
) -> Element:
    """An element; children that are None, and attributes without text, are left out."""
    inside = content
    if not isinstance(content, str):
        inside = [child for child in content if child is not None]
    given = {name.rstrip("_").replace("__", ":"): text for name, text in attributes.items() if text}
    return Element(tag, inside, given)  # type: ignore[arg-type]


def xml_document(root: Element) -> str:
    """The whole document."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', *_lines(root, "")]
    return "\n".join(lines) + "\n"


def json_document(content: Any) -> str:
    """A document of JSON that holds nothing which a page or a terminal could take for its own."""
    text = json.dumps(content, indent=2, ensure_ascii=True)
    for char in "<>&\x7f":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text + "\n"


def _lines(node: Element, indent: str) -> list[str]:
    attributes = "".join(
        f' {name}="{_BREAKS.sub(_reference, _escaped(text))}"'
        for name, text in node.attributes.items()
    )
    start = f"{indent}<{node.tag}{attributes}"
    if not node.content:
        return [f"{start}/>"]
    if isinstance(node.content, str):
        return [f"{start}>{_escaped(node.content)}</{node.tag}>"]
    inside = [line for child in node.content for line in _lines(child, indent + "  ")]
    return [f"{start}>", *inside, f"{indent}</{node.tag}>"]


def _escaped(text: str) -> str:
    possible = _IMPOSSIBLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    return _REFERENCES.sub(_reference, possible)


def _reference(match: re.Match[str]) -> str:
    return _NAMED.get(match[0]) or f"&#x{ord(match[0]):X};"
