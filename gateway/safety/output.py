"""Final cleaning of a model's text before it is split and sent. Pure, and nearly free for clean text.

`clean` removes text meant for machines (tool calls, thinking, wrappers, echoes) and harmful characters; code keeps all
but those characters. `Scrubber` removes secrets.
"""

import contextlib
import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest

from gateway.safety.redaction import Redactor

_SUSPECT_CHARACTER = re.compile(
    "[<@\r\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u202d\u202e\u2060-\u2064\ufdd0\ufdd1\ufeff\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
_SUSPECT_PLACE = re.compile(r"\[(?:tool|system|historical|note\ from)|\n[ \t]*\n|\A[ \t]*\n", re.IGNORECASE)
"""Patterns without which a text needs no cleaning; the first one is tried alone, in a fifth of the time."""

_FLAGS = (
    "\U0001f3f4(?:"
    + "|".join(
        "".join(chr(0xE0000 + ord(letter)) for letter in region) + "\U000e007f"
        for region in ("gbeng", "gbsct", "gbwls")
    )
    + ")"
)  # England, Scotland, Wales: the only tag sequences in Unicode's list of emoji (UTS 51, 2025)

_BAD_CHARACTERS = re.compile(
    f"({_FLAGS})|\r\n?|"
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u202d\u202e\u2060-\u2064\ufdd0\ufdd1\ufeff\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)

_CODE = re.compile(
    r"^(?P<fence>[ ]{0,3}(?P<mark>`{3,}+|~{3,}+)[^\n]*+\n[\s\S]*?(?:^[ ]{0,3}(?P=mark)[`~]*[ \t]*$|\Z))"
    r"|(?P<ticks>(?<!`)`{1,2}(?!`))[^\n]*?[^`\n](?P=ticks)(?!`)",
    re.MULTILINE,
)
_HELD = re.compile("\ufdd0(\\d+)\ufdd1")

_PREFIX = r"(?:[a-z]{2,12}:)?"
_THINKING = r"think|thinking|thoughts?|reasoning|scratchpad|antthinking"
_TOOL = r"function_calls?|function_results?|tool_calls?|tool_uses?|tool_results?|tool_code|invoke"
_SYSTEM = r"system|system[-_]reminder|system[-_]message|system[-_]prompt"


class _Element:
    """Content between an opening and a closing tag with one of these names."""

    def __init__(self, names: str) -> None:
        self.opening = re.compile(rf"<({_PREFIX}(?:{names}))(?:\s[^<>]*)?>", re.IGNORECASE)
        self._closing = re.compile(rf"</({_PREFIX}(?:{names}))\s*>\s*", re.IGNORECASE)

    def closings(self, text: str) -> Mapping[str, Sequence[tuple[int, int]]]:
        """Return the spans of closing tags by name, found in one pass."""
        found: dict[str, list[tuple[int, int]]] = {}
        for closing in self._closing.finditer(text):
            found.setdefault(closing[1].lower(), []).append(closing.span())
        return found


def _end_behind(closings: Sequence[tuple[int, int]], at: int) -> int | None:
    """Return where the first of these tags after a place ends, with tags that follow directly; None without one."""
    index = bisect_left(closings, (at, at))
    if index == len(closings):
        return None
    end = closings[index][1]
    while (index := index + 1) < len(closings) and closings[index][0] == end:
        end = closings[index][1]
    return end


_THOUGHT, _TOOL_XML, _SYSTEM_XML = _Element(_THINKING), _Element(_TOOL), _Element(_SYSTEM)
_FIRST_THOUGHT = re.compile(rf"\s*{_THOUGHT.opening.pattern}", re.IGNORECASE)
_THOUGHT_END = re.compile(rf"\A[\s\S]*</{_PREFIX}(?:{_THINKING})\s*>\s*", re.IGNORECASE)
_TOOL_REST = re.compile(
    rf"""
      <function=[^<>\n]*>[\s\S]*?(?:</function>|\Z)                        # Llama
    | <\|?(?:python_tag|tool_call|tool▁calls?▁begin)\|?>[\s\S]*?(?:<\|?(?=[a-z_▁]*end)[a-z_▁]*+\|?>|\Z)
    | <\|[a-z_▁]{{2,32}}\|>                                                # marks of chat templates
    | </?{_PREFIX}(?:{_TOOL}|parameters?)(?:\s[^<>]*)?>                    # what is left over
    """,
    re.IGNORECASE | re.VERBOSE,
)
_TOOL_TEXT = re.compile(
    r"^[ \t]*\[tool ?(?:call|use)\b[^\]\n]*\][ \t]*\n?(?:[ \t]*(?:arguments|input|parameters):\s{0,4})?",
    re.IGNORECASE | re.MULTILINE,
)
_TO_BLANK_LINE = r"[^\n]*(?:\n(?![ \t]*$)[^\n]*)*"
_ECHO = re.compile(
    r"^[ \t]*\[(?:tool ?result|system|system message|system note|note from the gateway|historical context)\b"
    + _TO_BLANK_LINE,
    re.IGNORECASE | re.MULTILINE,
)
_FINAL = re.compile(r"</?(?:final|final_answer|answer|response|output)\s*>", re.IGNORECASE)
_JSON = json.JSONDecoder()
_PING = re.compile(r"(?<!\w)@(?=(?:everyone|here|channel)\b)", re.IGNORECASE)
_GAP = re.compile(r"\n(?:[ \t]*\n){2,}")
_LEADING = re.compile(r"\A(?:[ \t]*\n)+")
_BREAK = re.compile(r"\n[ \t]*\n")

_LEAST_REPEATED_CHARS = 24
_MOST_REPEATED_PARAGRAPHS = 6
_MACHINE = re.compile(r"<|\[(?:tool|system|historical|note\ from)", re.IGNORECASE)


def clean(text: str) -> str:
    """Return the text of a model's answer that is for people; "" if there is none.

    Idempotent. A thought that is not closed ends with the text.
    """
    if not _is_suspect(text):
        return text
    text = _without_leading_thoughts(_BAD_CHARACTERS.sub(_character, text))
    held: dict[str, int] = {}  # pieces of code, numbered in order
    text = _CODE.sub(lambda found: _hold(found[0], held), text)
    if _MACHINE.search(text):
        text = _without_machine_talk(text)
    text = _PING.sub("@\u2060", text)
    pieces = tuple(held)
    text = _HELD.sub(lambda found: pieces[int(found[1])], _without_repeats(text))
    return _LEADING.sub("", text)


def _is_suspect(text: str) -> bool:
    if _SUSPECT_CHARACTER.search(text):
        return True
    return ("\n" in text or "[" in text) and _SUSPECT_PLACE.search(text) is not None


def _character(found: re.Match[str]) -> str:
    if found[1]:
        return found[1]
    return "\n" if found[0].startswith("\r") else ""


def _hold(code: str, held: dict[str, int]) -> str:
    """Return a placeholder for a piece of code, the same for the same piece."""
    return f"\ufdd0{held.setdefault(code, len(held))}\ufdd1"


def _without_leading_thoughts(text: str) -> str:
    """Remove thoughts at the start up to their closing tags, whatever code fences they contain."""
    if not _FIRST_THOUGHT.match(text):
        return text
    closings, at = _THOUGHT.closings(text), 0
    while found := _FIRST_THOUGHT.match(text, at):
        end = _end_behind(closings.get(found[1].lower(), ()), found.end())
        at = len(text) if end is None else end
    return text[at:]


def _without_machine_talk(text: str) -> str:
    before = text
    text = _without_elements(text, _THOUGHT, cut_off=r"\s*")
    text = _THOUGHT_END.sub("", text)
    text = _without_elements(text, _TOOL_XML, cut_off=r"\s*(?:[{\[<]|\Z)")
    text = _TOOL_REST.sub("", text)
    text = _without_elements(_without_tool_text(text), _SYSTEM_XML, cut_off=r"(?!)")
    text = _FINAL.sub("", _ECHO.sub("", text))
    return text if text == before else _GAP.sub("\n\n", text).rstrip()


def _without_elements(text: str, element: _Element, cut_off: str) -> str:
    """Remove these elements. An unclosed one extends to the end if `cut_off` matches after its tag."""
    found = element.opening.search(text)
    if found is None:
        return text
    kept, at, closings = [], 0, element.closings(text)
    while found is not None:
        end = _end_behind(closings.get(found[1].lower(), ()), found.end())
        if end is None and re.compile(cut_off).match(text, found.end()):
            end = len(text)
        kept.append(text[at : found.end() if end is None else found.start()])
        at = found.end() if end is None else end
        found = element.opening.search(text, at)
    return "".join(kept) + text[at:]


def _without_tool_text(text: str) -> str:
    """Remove calls written as `[Tool Call: name]` and a JSON object."""
    heads = list(_TOOL_TEXT.finditer(text))
    kept, at = [], 0
    for head, following in zip_longest(heads, heads[1:]):
        kept.append(text[at : head.start()])
        at = head.end()
        if text.startswith("{", at):
            behind = text[
                at : following.start() if following else len(text)
            ]  # JSON contains no head, because a head starts a line
            with contextlib.suppress(ValueError, RecursionError):  # incomplete arguments: remove the head only
                at += _JSON.raw_decode(behind)[1]
    return "".join(kept) + text[at:]


def _without_repeats(text: str) -> str:
    """Remove paragraphs, or runs of up to six, that repeat the ones before them."""
    if "\n" not in text:
        return text
    paragraphs = _BREAK.split(text)
    if len(set(map(str.strip, paragraphs))) == len(paragraphs):
        return text
    kept: list[str] = []
    words: list[str] = []  # of the kept ones
    for paragraph in paragraphs:
        kept.append(paragraph)
        words.append(paragraph.strip())
        if repeated := _count_repeated(words):
            del kept[-repeated:], words[-repeated:]
    return text if len(kept) == len(paragraphs) else "\n\n".join(kept)


def _count_repeated(words: Sequence[str]) -> int:
    """Return how many paragraphs at the end repeat those before them."""
    chars = 0
    for length in range(1, min(_MOST_REPEATED_PARAGRAPHS, len(words) // 2) + 1):
        chars += len(words[-length])
        same_end = chars >= _LEAST_REPEATED_CHARS and words[-1] == words[-1 - length]
        if same_end and words[-length:] == words[-2 * length : -length]:
            return length
    return 0


class Scrubber:
    """Remover of live secrets and of key-like text from texts for people."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        """Take the secret values in use; only those of six characters or more are searched."""
        self._redactor = Redactor(secrets)

    def learn(self, secrets: Iterable[str]) -> None:
        """Search for these secrets, too."""
        self._redactor.learn(secrets)

    def scrub(self, text: str) -> str:
        """Replace each secret by `[REDACTED]`."""
        return self._redactor.redact(text)

    def last_look(self, text: str) -> str:
        """Clean, then scrub: the other order could join the halves of a secret."""
        return self._redactor.redact(clean(text))
