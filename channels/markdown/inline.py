"""Inline Markdown: one run of text as spans with emphasis, code, links and images.

A regular expression parses the usual cases, emphasis and code beside plain text; markdown-it-py parses all others. Both
give the same spans. `channels.markdown.parse` parses blocks. A link never hides its host.
"""

import re
from collections.abc import Iterator, Sequence
from urllib.parse import quote, unquote, urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token

from channels.markdown.tree import Span, Spans, Style

PLAIN_CHARS = 60
"""Maximum length of a URL after its host, without a query, that may be hidden behind a link's text."""

_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u2060-\u206f\ufeff]")
_DOTS = re.compile("[\u3002\uff0e\uff61\u2024]")  # characters that look like dots to people or browsers
_DOTTED = re.compile(r"[\w.-]+")
_NUMBERS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}")
_ENDING = re.compile(r"[^\W\d_]{2,}")
_QUERY = re.compile(r"[?#;@\\]")


def hides(label: str, url: str) -> bool:
    """Return True if a link must show its URL: its text names another host, or its URL has more than a short path."""
    seen = _DOTS.sub(".", _UNSEEN.sub("", label))
    if url in seen:
        return False
    parts = urlsplit(url)
    host = parts.hostname or ""
    behind = url[url.index("://") + 3 + len(parts.netloc) :]
    if _QUERY.search(parts.netloc + behind) or len(behind) > PLAIN_CHARS or len(host) > PLAIN_CHARS:
        return True
    return any(_bare(named) != _bare(host) for named in _hosts(seen))


def _hosts(text: str) -> Iterator[str]:
    """Yield each part of a text that looks like a host name, in linear time."""
    yield from _NUMBERS.findall(text)
    for word in _DOTTED.findall(text):
        if "." in word:
            yield from _hosts_in(word.split("."))


def _hosts_in(labels: list[str]) -> Iterator[str]:
    """Yield the longest runs of labels that can be a host name, each up to a possible top-level domain."""
    run: list[str] = []  # consecutive labels that may come before a dot
    named: tuple[int, str] | None = None  # number of labels before the last top-level domain, and that domain
    for label in labels:
        goes_on = label[:1].isalnum()
        if run and goes_on and (ending := _ENDING.match(label)):
            named = (len(run), ending[0])
        if not (goes_on and label[-1].isalnum()):
            if named:
                yield ".".join([*run[: named[0]], named[1]])
            run, named = [], None
            label = label.lstrip("-_")  # noqa: PLW2901  the rest may begin a host
        if label and label[-1].isalnum():
            run.append(label)
    if named:
        yield ".".join([*run[: named[0]], named[1]])


def _bare(host: str) -> str:
    return host.lower().removeprefix("www.")


MAX_BRACKETS = 1_000  # "[" in one run of text; markdown-it is quadratic in them
MAX_LINK_CHARS = 2_000

SYNTAX = r"[*_`\[\\]|~~|&[#A-Za-z]|<\S"
_SYNTAX = re.compile(SYNTAX)
_EASY = re.compile(
    r"(?P<plain>[^*_`\[\\~&<]+)|`(?P<code>[^`\n]+)`(?!`)|(?P<sign>\*\*?|__?)(?P<marked>[^*_`\[\\~&<\n]+)(?P=sign)"
)
_BESIDE = frozenset("-'\",.:;!?()/")  # characters that may stand right before or after emphasis
_INDENT = re.compile(r"(?<![ \t])[ \t]*\n[ \t]*")
_LINK = re.compile(r"(?:https?://[^\s/?#]|mailto:[^\s@]+@[^\s@]).*", re.IGNORECASE | re.DOTALL)
_LINK_BLANKS = re.compile(r"[\s<>\"]")
_STYLES = {"strong": Style.BOLD, "em": Style.ITALIC, "s": Style.STRIKE}


def read_spans(content: str, parser: "MarkdownIt") -> Spans:
    """Return the spans of one run of text; one plain span if it has no syntax or too much of it."""
    if _SYNTAX.search(content) is None or content.count("[") > MAX_BRACKETS:
        return plain_spans(content)
    return _easy_spans(content) or parsed_spans(content, parser)


def plain_spans(content: str) -> Spans:
    """Return one run of text as one plain span."""
    return (Span(_unindent(content)),) if content else ()


def parsed_spans(content: str, parser: "MarkdownIt") -> Spans:
    """Return the spans as markdown-it parses them."""
    tokens: list[Token] = []
    parser.inline.parse(content, parser, {}, tokens)
    return _SpanReader().read(tokens)


def _easy_spans(content: str) -> Spans | None:
    """Return the spans of text with only simple emphasis and code; None if it has other syntax.

    It halves the parse time of a long answer (November 2026). A test compares the result with markdown-it's.
    """
    spans = []
    at = 0
    while at < len(content):
        found = _EASY.match(content, at)
        if found is None:
            return None
        at = found.end()
        plain, code, sign, marked = found.groups()
        if plain is not None:
            spans.append(Span(_unindent(plain)))
        elif code is not None:
            has_padding = code[0] == code[-1] == " " and not code.isspace()
            spans.append(Span(code[1:-1] if has_padding else code, Style.CODE))
        elif _is_free(content, found.start(), at, marked):
            spans.append(Span(marked, Style.BOLD if len(sign) == 2 else Style.ITALIC))
        else:
            return None
    return tuple(spans)


def _is_free(content: str, begin: int, end: int, marked: str) -> bool:
    """Return True if the marks around `marked`, from `begin` to `end`, can only mean emphasis of it."""
    before = content[begin - 1] if begin else " "
    after = content[end] if end < len(content) else " "
    return _is_beside(before, marked[0]) and _is_beside(after, marked[-1])


def _is_beside(outer: str, inner: str) -> bool:
    if outer.isspace():
        return not inner.isspace()
    return outer in _BESIDE and inner.isalnum()


def _unindent(text: str) -> str:
    return _INDENT.sub("\n", text) if "\n" in text else text


class _SpanReader:
    """A converter of one run's inline tokens to spans; adjacent spans with the same style are merged."""

    def __init__(self) -> None:
        self._spans: list[Span] = []
        self._last: list[str] = []  # text of the current span
        self._looks: tuple[int, str | None] = (0, None)  # style and link of the current span
        self._style = 0
        self._outside: list[int] = []  # styles outside of each open mark
        self._url: str | None = None  # target of the current link
        self._link: str | None = None  # the same, if it is a web link
        self._label: list[str] = []  # text of the current link so far
        self._begun = 0  # number of spans before the current link

    def read(self, tokens: "Sequence[Token]") -> Spans:
        for token in tokens:
            kind = token.type
            if kind in ("text", "text_special"):
                self._say(token.content)
            elif kind in ("softbreak", "hardbreak"):
                self._say("\n")
            elif kind == "code_inline":
                self._say(token.content, Style.CODE)
            elif kind == "image":
                self._say_image(token)
            elif kind.startswith("link"):
                self._change_link(token)
            else:
                self._change_style(kind)
        self._end_span()
        return tuple(self._spans)

    def _say(self, text: str, extra: int = 0) -> None:
        if self._url:
            self._label.append(text)
        self._add(text, self._style | extra)

    def _add(self, text: str, style: int, link: str | None = None) -> None:
        looks = (style, link or self._link)
        if looks != self._looks:
            self._end_span()
            self._looks = looks
        if text:
            self._last.append(text)

    def _end_span(self) -> None:
        if self._last:
            self._spans.append(Span("".join(self._last), *self._looks))
            self._last = []

    def _change_style(self, kind: str) -> None:
        name, _, change = kind.rpartition("_")
        if change == "open":
            self._outside.append(self._style)
            self._style |= _STYLES[name]
        else:
            self._style = self._outside.pop()

    def _change_link(self, token: "Token") -> None:
        if token.type == "link_open":
            self._begin_link(_checked_link(str(token.attrs["href"])))
            if token.markup == "autolink" and self._url is None:
                self._say("<")  # `<std:string>` is no link and keeps its brackets
            return
        if token.markup == "autolink" and self._url is None:
            self._say(">")
        self._end_link()

    def _begin_link(self, url: str | None) -> None:
        self._url, self._label = url, []
        if url and not url.startswith("mailto:"):
            self._end_span()
            self._link, self._begun = url, len(self._spans)

    def _end_link(self) -> None:
        """End a link. Without text it shows its URL; a mail address is always shown: few platforms link it."""
        url, self._url = self._url, None
        label = "".join(self._label)
        if url and self._link is None:
            address = unquote(url.removeprefix("mailto:").partition("?")[0])
            if address not in label:
                self._say(f" ({address})" if label else address)
        elif url and not label:
            self._say(url)
        elif url and hides(label, url):
            self._lay_bare(url)
        if self._link is not None:
            self._end_span()
            self._link = None

    def _lay_bare(self, url: str) -> None:
        """Show the link's text as plain text and the URL after it as the link."""
        self._end_span()
        said, self._spans[self._begun :] = self._spans[self._begun :], []
        self._link = None
        if self._spans:
            before = self._spans.pop()  # the text may continue the span before it
            self._last, self._looks = [before.text], (before.style, before.link)
        for span in said:
            self._add(span.text, span.style)
        self._add(" (", 0)
        self._add(url, 0, url)
        self._add(")", 0)

    def _say_image(self, token: "Token") -> None:
        """Add an image as a link: an answer never makes a client load anything (A59)."""
        words = "".join([child.content for child in token.children or ()]) or token.content
        source = _checked_link(str(token.attrs["src"]))
        if self._url or source is None:
            self._say(words or source or "")
            return
        self._begin_link(source)
        self._say(words)
        self._end_link()


def _checked_link(url: str) -> str | None:
    """Return the URL if it is http, https or mailto; None for any other scheme or a relative URL (A68)."""
    url = url.strip()
    if len(url) > MAX_LINK_CHARS or not _LINK.match(url):
        return None
    try:
        urlsplit(url)
    except ValueError:  # an invalid host in brackets
        return None
    scheme, colon, rest = url.partition(":")
    return scheme.lower() + colon + _LINK_BLANKS.sub(lambda found: quote(found.group()), rest)
