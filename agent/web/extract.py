"""A program that extracts the readable text of a page within bounds of time and memory.

A page of 500,000 attributes keeps its parser busy for minutes, one of 500,000 paragraphs takes 700 MB: such a page ends
the program and nothing else.
"""

import codecs
import html
import json
import os
import re
import resource
import sys
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import trafilatura
from lxml import etree  # type: ignore[import-untyped]  # comes with trafilatura

from agent.web.documents import PageKind, ReadableText

MAX_TEXT_CHARS = 100_000
MAX_TITLE_CHARS = 300
MOST_ENTRIES = 50
"""Entries of a feed that are shown."""

MAX_SUMMARY_CHARS = 500

CPU_S = 15
"""Seconds of CPU after which the system ends the program, if its parent does not."""

MEMORY_BYTES = 1024 * 1024 * 1024

_HIDDEN = re.compile("[\U000e0000-\U000e007f]")
"""Characters that no person sees and a model reads."""

_META_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{1,40})", re.IGNORECASE)
_XML_CHARSET = re.compile(rb"<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9_:.-]{1,40})")
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_STATEFUL = frozenset({"iso2022_jp", "hz", "utf-16", "utf-16-le", "utf-16-be"})
"""Charsets whose texts may be valid UTF-8 as well, by accident."""

_CHARSETS = _STATEFUL | {
    *("utf-8", "cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "cp874"),
    *(f"iso8859-{part}" for part in (*range(2, 12), *range(13, 17))),
    *("koi8-r", "koi8-u", "mac-roman", "mac-cyrillic", "cp866", "big5", "big5hkscs", "gbk", "gb2312", "gb18030"),
    *("euc_jp", "shift_jis", "cp932", "euc_kr", "cp949", "tis-620"),
}
"""Charsets of the web; others are guessed, as some of Python's take very long or are no charsets at all."""

_NOT_ASCII = bytes(range(128, 256))


def extract(body: bytes, kind: PageKind, charset: str, url: str) -> ReadableText:
    """Return the readable text of a page; `charset` is what its server says, and "" if it says nothing."""
    text = decode(body, charset)
    if kind is PageKind.HTML:
        return _read_html(text, url)
    if kind is PageKind.XML and (feed := _read_feed(text)) is not None:
        return feed
    return _readable("", "", text)


def decode(body: bytes, charset: str) -> str:
    """Return the text of a body by its mark, its own word or its server's, whichever fits first."""
    for mark, name in _BOMS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, errors="replace")
    inner = _META_CHARSET.search(body[:4096]) or _XML_CHARSET.search(body[:4096])
    names = [name for name in map(_find_charset, (charset, inner[1].decode() if inner else "")) if name]
    for name in (*(name for name in names if name in _STATEFUL), "utf-8", *names):
        with suppress(UnicodeDecodeError):
            return body.decode(name)
    loose = body.decode(errors="replace")
    if "\ufffd" in loose and loose.count("\ufffd") * 10 < len(body) - len(body.translate(None, _NOT_ASCII)):
        return loose  # UTF-8 with an accident
    return body.decode(next((name for name in names if name != "utf-8"), "cp1252"), errors="replace")


def _find_charset(charset: str) -> str:
    try:
        name = codecs.lookup(charset.strip().strip("\"'")).name
    except (LookupError, ValueError):
        return ""
    name = {"iso8859-1": "cp1252", "ascii": "cp1252"}.get(name, name)  # as browsers do
    return name if name in _CHARSETS else ""


def _read_html(text: str, url: str) -> ReadableText:
    if "<html" not in text[:2000].lower():
        text = f"<html><body>{text}</body></html>"
    found = trafilatura.bare_extraction(
        text,
        url=url,
        with_metadata=True,
        include_comments=False,
        include_links=True,
        include_formatting=True,
        date_extraction_params={"extensive_search": False, "original_date": True, "outputformat": "%Y-%m-%d"},
    )  # dates that the page declares: others would be guessed from its text
    page: Any = found  # a dictionary only if it is asked for
    written = (page.text if page else "") or trafilatura.html2txt(text)
    return _readable(_title_in(text) or (page.title if page else "") or "", (page.date if page else "") or "", written)


def _title_in(text: str) -> str:
    found = re.search(r"<title[^>]{0,200}>([^<]{1,1000})", text[:100_000], re.IGNORECASE)
    return "" if found is None else " ".join(html.unescape(found[1]).split())


def _read_feed(text: str) -> ReadableText | None:
    """Return a feed as a list of its entries; None if it is none."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, recover=True)
    try:
        root = etree.fromstring(text.encode(), parser)
    except etree.XMLSyntaxError:
        return None
    if root is None or _name(root) not in {"rss", "feed", "RDF"}:
        return None
    top = next((each for each in root if _name(each) == "channel"), root)
    entries = [each for each in root.iter() if _name(each) in {"item", "entry"}]
    written = "\n".join(_entry_line(entry) for entry in entries[:MOST_ENTRIES])
    return _readable(_text_of(top, "title"), _text_of(top, "lastBuildDate", "pubDate", "updated", "date"), written)


def _entry_line(entry: Any) -> str:
    link = _text_of(entry, "link") or next(
        (each.get("href", "") for each in entry if _name(each) == "link" and each.get("rel") in {None, "alternate"}), ""
    )
    date = _text_of(entry, "pubDate", "published", "updated", "date")
    summary = re.sub(r"<[^<>]{0,1000}>", " ", _text_of(entry, "description", "summary", "content"))
    line = f"- [{_text_of(entry, 'title') or link}]({link})" + (f", {date}" if date else "")
    words = " ".join(summary.split())[:MAX_SUMMARY_CHARS]
    return f"{line}: {words}" if words else line


def _text_of(element: Any, *names: str) -> str:
    """Return the text of the first child that has one of these names and a text."""
    texts = (" ".join("".join(each.itertext()).split()) for name in names for each in element if _name(each) == name)
    return next((text for text in texts if text), "")


def _name(element: Any) -> str:
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _readable(title: str, date: str, text: str) -> ReadableText:
    plain = _HIDDEN.sub("", text).strip()
    is_cut = len(plain) > MAX_TEXT_CHARS
    return ReadableText(_HIDDEN.sub("", title)[:MAX_TITLE_CHARS], date[:100], plain[:MAX_TEXT_CHARS], is_cut)


def main() -> None:
    """Read a page from the standard input, a line of JSON before it, and write its text as JSON."""
    os.nice(5)
    for limit, most in ((resource.RLIMIT_CPU, CPU_S), (resource.RLIMIT_AS, MEMORY_BYTES)):
        with suppress(ValueError, OSError):  # a lower one is set already
            resource.setrlimit(limit, (most, most))
    head, _, body = sys.stdin.buffer.read().partition(b"\n")
    asked = json.loads(head)
    found = extract(body, PageKind(asked["kind"]), asked["charset"], asked["url"])
    sys.stdout.buffer.write(json.dumps(asdict(found), ensure_ascii=False).encode(errors="replace"))


if __name__ == "__main__":
    main()
