"""Text for Discord in which nothing is markup by accident; pure, one function a kind of text.

Rules are those of Discord's clients (simple-markdown, 2026). Nothing here may notify anybody: that is also said in
every call (`bodies`).
"""

import re
from urllib.parse import quote

BREAK = "\u200b"  # shows nothing; parts what would be read as one

_TOKEN = re.compile(
    r"(?P<url>https?://[^\s<>\[\]`\\]*)|(?P<shut>\](?=\())|(?P<special>[\\*_~`|\[\]<])|(?P<ping>@(?=everyone|here))"
)
_PART_OF_URL = re.compile(r":(?=//)|[*_~|]|@(?=everyone|here)")
_ENDING = ".,:;\"'!?*_~|"  # what stands behind an address and is none of it
_LINE_START = re.compile(r"^([ \t]*)(?:(#{1,3}(?=\s)|-#?(?=\s)|>|\+(?=\s))|(\d+)(?=[.)](?:\s|$)))", re.MULTILINE)
_TICKS = re.compile("`(?=`)")
_FENCE = re.compile("`(?=``)")
_LANGUAGE = re.compile(r"[a-z0-9_+\-.#]{1,32}", re.IGNORECASE)
_UNSAFE_IN_URL = re.compile(r"[^\w/:?#@!$&'+,;=%.~-]")  # letters of every script stay: a host may have them
_ADDRESS_LIKE = re.compile(r"://|\b\w+\.\w{2,}\b|[\[\]]")


def escaped(text: str) -> str:
    """Literal text: everything that could be markup has a backslash before it; bare URLs stay whole."""
    return line_starts_escaped(inline_escaped(text))


def inline_escaped(text: str) -> str:
    """As `escaped`, but for what only counts at the start of a line."""
    return _TOKEN.sub(_replaced, text)


def _replaced(found: re.Match[str]) -> str:
    if found["url"]:
        return _bare_url(found["url"])
    if found["shut"]:  # or a link before it would reach up to here: what is inside its brackets knows no backslash
        return f"\\]{BREAK}"
    return f"@{BREAK}" if found["ping"] else f"\\{found[0]}"


def _bare_url(text: str) -> str:
    """In brackets, which are not shown: a bare URL would take in what follows up to a blank, our backslashes too."""
    end = _end_of_url(text)
    if text.endswith("//", 0, end):  # an address of nothing
        return _PART_OF_URL.sub(_parted, text)
    return f"<{text[:end]}>{inline_escaped(text[end:])}"


def _end_of_url(text: str) -> int:
    """Where an address ends: not in what stands behind one, nor in brackets that were opened before it."""
    surplus = text.count(")") - text.count("(")
    end = len(text.rstrip(_ENDING))
    while surplus > 0 and text[end - 1] == ")":
        surplus, end = surplus - 1, end - 1
        while text[end - 1] in _ENDING:
            end -= 1
    return end


def _parted(found: re.Match[str]) -> str:
    """Of an address of nothing: its sign, so that it is none; the rest is text like other."""
    if found[0] == ":":
        return f"{BREAK}:"
    return f"@{BREAK}" if found[0] == "@" else f"\\{found[0]}"


def line_starts_escaped(text: str) -> str:
    """Lines that would begin a heading, quote or list begin with a backslash (numbers: have it behind them)."""
    return _LINE_START.sub(lambda found: f"{found[1]}{found[3]}\\" if found[3] else f"{found[1]}\\{found[2]}", text)


def urls_in(text: str) -> str:
    """The bare URLs of a text, one behind the other: markers that stand in them cannot stand around them."""
    return " ".join([found["url"] for found in _TOKEN.finditer(text) if found["url"]])


def masked_link(text: str, url: str) -> str:
    """`[text](url)`, or the text and its URL where Discord would not hide an address behind other words."""
    target = _UNSAFE_IN_URL.sub(lambda found: quote(found[0]), url)
    words = " ".join(text.split())
    if not words or words in (url, target):
        return f"<{target}>"
    if _ADDRESS_LIKE.search(words):
        return f"{inline_escaped(words)} (<{target}>)"
    return f"[{inline_escaped(words)}]({target})"


def inline_code(text: str) -> str:
    """Code in a line, between two backticks where it has some itself; three would make a block of it."""
    text = text.replace("\n", " ")
    if "`" not in text:
        return f"`{text}`"
    parted = _TICKS.sub(f"`{BREAK}", text)
    return f"`` {parted} ``"


def code_fence(text: str, language: str) -> str:
    """A code block; backticks inside are parted so that they cannot end it."""
    shown = _FENCE.sub(f"`{BREAK}", text).rstrip("\n")
    named = language if _LANGUAGE.fullmatch(language) else ""
    return f"```{named}\n{shown if shown.strip() else shown + BREAK}\n```"
