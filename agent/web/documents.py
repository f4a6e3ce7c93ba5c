"""Kinds of pages, and what there is to read in one; pure."""

import re
from dataclasses import dataclass
from enum import StrEnum


class PageKind(StrEnum):
    """The kind of a page, by its content type."""

    HTML = "html"
    XML = "xml"  # a feed, or shown as it is
    TEXT = "text"  # shown as it is, JSON included


@dataclass(frozen=True, slots=True)
class ReadableText:
    """Readable text of a page."""

    title: str
    date: str
    """Date of publication, as the page says it; "": it says none."""
    text: str
    """Markdown, or the text as it is."""
    is_cut: bool


def kind_of(content_type: str, beginning: bytes) -> PageKind | None:
    """Return the kind of a page by its content type, or else by its first bytes; None if it holds no text."""
    if content_type in {"text/html", "application/xhtml+xml"}:
        return PageKind.HTML
    if content_type.endswith("+xml") and content_type != "image/svg+xml":
        return PageKind.XML
    if content_type in {"application/xml", "text/xml"}:
        return PageKind.XML
    if content_type.startswith("text/") or content_type.endswith("+json"):
        return PageKind.TEXT
    if content_type in {"application/json", "application/x-ndjson", "application/javascript"}:
        return PageKind.TEXT
    if content_type or b"\0" in beginning:
        return None
    return (
        PageKind.HTML if re.match(rb"\s*<(?:!doctype html|html|head|body)", beginning, re.IGNORECASE) else PageKind.TEXT
    )
