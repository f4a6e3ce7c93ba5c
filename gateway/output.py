"""The last look at what a model wrote, before it is split and sent: pure, and nearly free where nothing is wrong.

`clean` takes out what is meant for machines (tool calls written as text, thinking, wrappers, echoes) and characters
nobody should get; code spans and fences are left as they are, but for such characters. `Scrubber` takes out secrets.
Links, escaping and limits are the channels' own matter.
"""

import contextlib
import json
import re
from collections.abc import Iterable

from gateway.redaction import Redactor

_SUSPECT = re.compile(
    "[<@\r\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u202d\u202e\u2060-\u2064\ufdd0\ufdd1\ufeff\ud800-\udfff"
    "\U000e0000-\U000e007f]"
    r"|\[(?:tool|system|historical|note\ from)|\n[ \t]*\n|\A[ \t]*\n",
    re.IGNORECASE,
)
"""Without any of these a text needs no cleaning."""

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
    r"^(?P<fence>[ ]{0,3}(?P<mark>`{3,}|~{3,})[^\n]*\n[\s\S]*?(?:^[ ]{0,3}(?P=mark)[`~]*[ \t]*$|\Z))"
    r"|(?P<ticks>(?<!`)`{1,2}(?!`))[^\n]*?[^`\n](?P=ticks)(?!`)",
    re.MULTILINE,
)
_HELD = re.compile("\ufdd0(\\d+)\ufdd1")

_PREFIX = r"(?:[a-z]{2,12}:)?"
_THINKING = r"think|thinking|thoughts?|reasoning|scratchpad|antthinking"
_TOOL = r"function_calls?|function_results?|tool_calls?|tool_uses?|tool_results?|tool_code|invoke"
_SYSTEM = r"system|system[-_]reminder|system[-_]message|system[-_]prompt"


def _opening(names: str) -> re.Pattern[str]:
    return re.compile(rf"<({_PREFIX}(?:{names}))(?:\s[^<>]*)?>", re.IGNORECASE)


_THOUGHT, _TOOL_XML, _SYSTEM_XML = _opening(_THINKING), _opening(_TOOL), _opening(_SYSTEM)
_FIRST_THOUGHT = re.compile(rf"\s*{_THOUGHT.pattern}", re.IGNORECASE)
_THOUGHT_END = re.compile(rf"\A[\s\S]*</{_PREFIX}(?:{_THINKING})\s*>\s*", re.IGNORECASE)
_TOOL_REST = re.compile(
    rf"""
      <function=[^<>\n]*>[\s\S]*?(?:</function>|\Z)                        # Llama
    | <\|?(?:python_tag|tool_call|tool▁calls?▁begin)\|?>[\s\S]*?(?:<\|?[a-z_▁]*end[a-z_▁]*\|?>|\Z)
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
    """What a person should read of a model's answer; "" where nothing of it was for people.

    Cleaning twice is cleaning once. A thought that was never closed ends with the text.
    """
    if _SUSPECT.search(text) is None:
        return text
    text = _without_leading_thoughts(_BAD_CHARACTERS.sub(_character, text))
    held: list[str] = []
    text = _CODE.sub(lambda found: _hold(found[0], held), text)
    if _MACHINE.search(text):
        text = _without_machine_talk(text)
    text = _PING.sub("@\u2060", text)
    text = _HELD.sub(lambda found: held[int(found[1])], _without_repeats(text))
    return _LEADING.sub("", text)


def _character(found: re.Match[str]) -> str:
    if found[1]:
        return found[1]
    return "\n" if found[0].startswith("\r") else ""


def _hold(code: str, held: list[str]) -> str:
    """A stand-in for a piece of code, the same for the same piece."""
    if code not in held:
        held.append(code)
    return f"\ufdd0{held.index(code)}\ufdd1"


def _without_leading_thoughts(text: str) -> str:
    """A thought that begins the answer is nobody's code: it ends at its tag, whatever fences it opened."""
    while found := _FIRST_THOUGHT.match(text):
        end = re.compile(rf"(?:</{re.escape(found[1])}\s*>\s*)+", re.IGNORECASE).search(text, found.end())
        text = "" if end is None else text[end.end() :]
    return text


def _without_machine_talk(text: str) -> str:
    before = text
    text = _without_elements(text, _THOUGHT, cut_off=r"\s*")
    text = _THOUGHT_END.sub("", text)
    text = _without_elements(text, _TOOL_XML, cut_off=r"\s*(?:[{\[<]|\Z)")
    text = _TOOL_REST.sub("", text)
    text = _without_elements(_without_tool_text(text), _SYSTEM_XML, cut_off=r"(?!)")
    text = _FINAL.sub("", _ECHO.sub("", text))
    return text if text == before else _GAP.sub("\n\n", text).rstrip()


def _without_elements(text: str, opening: re.Pattern[str], cut_off: str) -> str:
    """The text without these elements. One that is never closed takes the rest along, if `cut_off` fits behind its tag.

    Linear: a closing tag that is not there is looked for once.
    """
    kept, at, unclosed = [], 0, set()
    while found := opening.search(text, at):
        name = found[1].lower()
        end = None
        if name not in unclosed:
            end = re.compile(rf"(?:</{re.escape(name)}\s*>\s*)+", re.IGNORECASE).search(text, found.end())
        if end is None:
            unclosed.add(name)
        taken = end is not None or re.compile(cut_off).match(text, found.end()) is not None
        kept.append(text[at : found.start() if taken else found.end()])
        at = (end.end() if end else len(text)) if taken else found.end()
    return "".join(kept) + text[at:]


def _without_tool_text(text: str) -> str:
    """The text without calls written as `[Tool Call: name]` and a JSON object."""
    kept, at = [], 0
    while found := _TOOL_TEXT.search(text, at):
        kept.append(text[at : found.start()])
        at = found.end()
        with contextlib.suppress(ValueError, RecursionError):  # no arguments, or torn ones: then only the head goes
            at = _JSON.raw_decode(text, at)[1] if text.startswith("{", at) else at
    return "".join(kept) + text[at:]


def _without_repeats(text: str) -> str:
    """The text without paragraphs, or runs of up to six, that only say again what stands right before them."""
    if "\n" not in text:
        return text
    paragraphs = _BREAK.split(text)
    if len(set(map(str.strip, paragraphs))) == len(paragraphs):
        return text
    kept: list[str] = []
    for paragraph in paragraphs:
        kept.append(paragraph)
        for length in range(1, min(_MOST_REPEATED_PARAGRAPHS, len(kept) // 2) + 1):
            if _same(kept[-length:], kept[-2 * length : -length]):
                del kept[-length:]
                break
    return text if len(kept) == len(paragraphs) else "\n\n".join(kept)


def _same(later: list[str], earlier: list[str]) -> bool:
    words = [paragraph.strip() for paragraph in later]
    return words == [paragraph.strip() for paragraph in earlier] and sum(map(len, words)) >= _LEAST_REPEATED_CHARS


class Scrubber:
    """Takes live secrets, and whatever has the shape of a key, out of what people are told."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        """`secrets` are the values in use, of whatever origin; six characters at least to be looked for."""
        self._redactor = Redactor(secrets)

    def scrub(self, text: str) -> str:
        """The text with `[REDACTED]` in the place of each secret."""
        return self._redactor.redact(text)

    def last_look(self, text: str) -> str:
        """Cleaned, then scrubbed: in this order, or what is taken out could leave a secret's halves side by side."""
        return self._redactor.redact(clean(text))
