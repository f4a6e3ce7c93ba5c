"""An independent reading of a Discord message's Markdown, after Discord's own rules.

Rules and their order are those of Discord's clients (simple-markdown, 2026). Invisible U+200B is dropped.
"""

import re
from dataclasses import dataclass, field

MAX_CHARS = 2000

_INLINE = [
    ("escape", re.compile(r"\\([^0-9A-Za-z\s])")),
    ("code", re.compile(r"(`+)([\s\S]*?[^`])\1(?!`)")),
    ("autolink", re.compile(r"<([^: >]+:/[^ >]+)>")),
    ("link", re.compile(r"\[((?:\[[^\]]*\]|[^\[\]]|\](?=[^\[]*\]))*)\]\(\s*<?((?:\([^)]*\)|[^\s\\]|\\.)*?)>?\s*\)")),
    ("url", re.compile(r"(https?://[^\s<]+[^<.,:;\"'\]\s)*_~|`])")),
    ("mention", re.compile(r"<(?:@[!&]?|#)\d+>|@everyone|@here")),
    ("emoji", re.compile(r"<a?:\w+:\d+>")),
    ("timestamp", re.compile(r"<t:-?\d+(?::[tTdDfFR])?>")),
    ("strong", re.compile(r"\*\*((?:\\[\s\S]|[^\\])+?)\*\*(?!\*)")),
    ("underline", re.compile(r"__((?:\\[\s\S]|[^\\])+?)__(?!_)")),
    ("em", re.compile(r"_((?:__|\\[\s\S]|[^\\_])+?)_\b|\*(?=\S)((?:\*\*|\s+(?:[^*\s]|\*\*)|[^\s*])+?)\*(?!\*)")),
    ("strike", re.compile(r"~~([\s\S]+?)~~(?!_)")),
    ("spoiler", re.compile(r"\|\|([\s\S]+?)\|\|")),
]
_PLAIN = re.compile(r"[^\\`<\[h@*_~|]+")  # nothing of the above begins with any of these
_FENCE = re.compile(r"```(?:([a-z0-9_+\-.#]+?)\n)?\n*([^\n][\s\S]*?)\n*```", re.IGNORECASE)
_BLOCK_STARTS = [
    ("subtext", re.compile(r"-# +(?=\S)")),
    ("heading", re.compile(r"#{1,3} +(?=\S)")),
    ("quote", re.compile(r" *>(?:>>)? ")),
    ("list", re.compile(r" *(?:[*+-]|\d+\.) +(?=\S)")),
]


@dataclass
class Seen:
    """A message as it is shown."""

    text: str = ""
    marks: list[tuple[str, str]] = field(default_factory=list)  # (kind, the text it is about)

    def kinds(self) -> set[str]:
        return {kind for kind, _ in self.marks}

    def of(self, kind: str) -> list[str]:
        return [text for name, text in self.marks if name == kind]


def seen(content: str) -> Seen:
    """Return the message as a person sees it."""
    shown = Seen()
    at = 0
    for fence in _fences(content):
        _lines(content[at : fence.start()], shown)
        shown.marks.append(("fence", fence[2]))
        shown.text += fence[2] + "\n"
        at = fence.end()
    _lines(content[at:], shown)
    shown.text = shown.text.replace("\u200b", "")
    return shown


def _fences(content: str) -> list[re.Match[str]]:
    return [found for found in _FENCE.finditer(content) if not content[: found.start()].endswith("\\")]


def _lines(text: str, shown: Seen) -> None:
    """Block markers go from the starts of lines, but for those of lists; the rest is read as one run."""
    lines = []
    for line in text.split("\n"):
        rest, number = line, ""
        for kind, pattern in _BLOCK_STARTS:
            while found := pattern.match(rest):
                shown.marks.append((kind, rest[found.end() :]))
                if kind == "list":
                    number += found[0] if found[0].strip()[0].isdigit() else "• "
                rest = rest[found.end() :]
                if kind == "heading":
                    break
        lines.append(number + rest)
    shown.text += _inline("\n".join(lines), shown)


def _inline(text: str, shown: Seen) -> str:
    out, at = [], 0
    while at < len(text):
        if plain := _PLAIN.match(text, at):
            out.append(plain[0])
            at = plain.end()
            continue
        for kind, pattern in _INLINE:
            found = pattern.match(text, at)
            if found:
                out.append(_take(kind, found, shown))
                at = found.end()
                break
        else:
            out.append(text[at])
            at += 1
    return "".join(out)


def _take(kind: str, found: re.Match[str], shown: Seen) -> str:
    if kind == "escape":
        return found[1]
    if kind == "autolink":
        shown.marks.append((kind, found[0]))
        return found[1]
    if kind in ("mention", "emoji", "timestamp", "url"):
        shown.marks.append((kind, found[0]))
        return found[0]
    if kind == "code":
        shown.marks.append((kind, found[2].strip()))
        return found[2]
    inner = _inline(next(group for group in found.groups() if group is not None), shown)
    shown.marks.append((kind, inner.replace("\u200b", "")))
    return inner


def faults(content: str, max_chars: int = MAX_CHARS) -> list[str]:
    """Return why Discord would refuse this text; empty if it would not."""
    found = [] if content.strip() else ["empty"]
    if len(content.strip()) > max_chars:
        found.append(f"{len(content)} characters")
    return found + (["no Unicode"] if re.search("[\ud800-\udfff]", content) else [])
