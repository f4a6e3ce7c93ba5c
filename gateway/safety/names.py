"""Names, ids and times as lists show them: invisible characters are spelled out, look-alike names are marked. Pure.

A stranger chooses their name. It grants nothing; here it is kept from deceiving a reader.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gateway.texts import HARNESS

MAX_READ_CHARS = 512
"""Characters of a name that are read; no platform allows a quarter of that."""

SHORT_CHARS = 8  # of an id
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

MAX_MARKS = 3
"""Combining marks that a letter may need; more are a stack that covers the lines above."""


_MARKS = ("Mn", "Me")
_EMOJI_LOOK, _EMOJI_JOINER = "\ufe0f", "\u200d"
_JOINERS = "\u200c\u200d"
_JOINED = frozenset(
    {"ARABIC", "BENGALI", "DEVANAGARI", "GUJARATI", "GURMUKHI", "KANNADA", "MALAYALAM", "ORIYA", "SINHALA", "TAMIL",
     "TELUGU"}
)  # fmt: skip
"""Scripts whose spelling needs a joiner between two letters."""

_UNSEEN = re.compile(
    r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\ufffc\U0001d173-\U0001d17a"
    r"\U000e0000-\U000e0fff]"
)
"""Invisible letters, marks and symbols: Unicode's Default_Ignorable_Code_Point, and other blanks."""

_LOOKS: dict[str, str] = {
    "2": "ƧϨᒿꙄꝚ",
    "3": "ƷȜЗӠⳌꝪꞫ𑣊",
    "4": "Ꮞ𑢯",
    "5": "Ƽ𑢻",
    "6": "бᏮⳒ𑣕",
    "7": "𑣆",
    "8": "Ȣȣ৪੪𐌚",
    "9": "৭੧୨ⳊꝮ𑢬𑣌𑣖",
    "a": "ɑΑαАаᎪᗅᴀ⍺ꓮ𐊠",
    "b": "ƄΒВЬᏏᏴᖯᗷꓐꞴ𐊂𐊡𐌁",
    "c": "СсᏟᴄⲤⲥꓚ𐊢𐌂𐐕𐐽𐔜𑣩𑣲🝌",
    "d": "ԁᎠᏧᑯᗞᗪꓒꓓ",
    "e": "ΕЕеҽᎬ℮⋿ⴹꓰꬲ𐊆𑢦𑢮",
    "f": "ϜքᖴẝꓝꞘꞙꬵ𐊇𐊥𐔥𑢢𑣂",
    "g": "ƍɡԌցᏀᏳᶃꓖ",
    "h": "ΗНһհᎻᏂᕼⲎꓧ𐋏",
    "j": "ͿϳЈјᎫᒍꓙꞲ",
    "k": "ĸΚκКкᏦᛕᴋⲔⲕꓗ𐔘",
    "l": "ıƖǀɩɪΙιІіӀӏ۱ᎥᏞᒪᛁ∣⍳ⲒⳐⵏꓡꓲꙇ𐊊𐌉𐌠𐐛𐔦𑢣𑢲𑣃",
    "m": "ΜϺМᎷᗰᛖⲘꓟ𐊰𐌑",
    "n": "ΝπпոռᴨⲚꓠ𐔓",
    "o": "ΟοσОоՕօ۵०০੦૦ଠ୦௦౦೦ഠ൦๐໐ဝ၀ჿᴏᴑⲞⲟⵔ〇ꓳꬽ𐊒𐊫𐐄𐐬𐔖𑓐𑢵𑣈𑣗𑣠",
    "p": "ΡρРрᏢᑭ⍴Ⲣⲣꓑ𐊕",
    "q": "ԛգզⵕ",
    "r": "ƦгᎡᏒᖇᴦⲅꓣꭇꭈ",
    "s": "ƽЅѕՏᏕᏚꓢꜱ𐊖𐐠𐑈𑣁",
    "t": "ΤτТтᎢᴛ⊤⟙Ⲧꓔ𐊗𐊱𐌕𑢼🝨",
    "u": "ʋυцՍսᑌᴜ∪⋃ꓴꞟꭎꭒ𑢸𑣘",
    "v": "νѴѵ۷Ꮩᐯᴠ∨⋁ⴸꓦ𐔝𑢠𑣀",
    "w": "ԜᎳᏔꓪ𑣦𑣯",
    "x": "×ΧХхᕁᕽ᙭᙮ᚷ╳⤫⤬⨯ⲬⵝꓫꞳ𐊐𐊴𐌗𐌢𐔧𑣬",
    "y": "ɣʏΥγуҮүყᎩᎽᶌỿⲨꓬꭚ𐊲𑢤𑣜",
    "z": "ΖᏃᴢꓜ𐋵𑢩𑣄𑣥",
}
"""Look-alikes by letter, from Unicode's confusables (UTS 39) that no normal form unifies, through confusable_homoglyphs
3.3.1, read 2026-11-21. The rest of that library is this lookup, so it is no dependency.
"""

_FOLD = {look: letter for letter, looks in _LOOKS.items() for look in looks} | dict.fromkeys("iI1|", "l") | {"0": "o"}

_ALIKE = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU"})
"""Scripts with letters that look alike; honest names do not mix two of them in a word."""


@dataclass(frozen=True, slots=True)
class KnownName:
    """Person whose name a stranger may imitate."""

    name: str
    role: str
    id: str = ""  # user id


def shown_name(name: str) -> str:
    """Return the name on one line, with invisible characters spelled out: `Ada⟨U+202E⟩`, `⟨+9 marks⟩` for a stack of
    marks.

    Other names stay as they are, with single spaces.
    """
    if name.isascii() and name.isprintable():  # the usual case
        return " ".join(name[:MAX_READ_CHARS].split())
    text = unicodedata.normalize("NFC", name[:MAX_READ_CHARS])
    shown: list[str] = []
    marks = 0
    for place, letter in enumerate(text):
        kind = unicodedata.category(letter)
        if kind in _MARKS and not _UNSEEN.match(letter):
            marks += 1
        elif marks:
            shown += _rest_of_stack(marks)
            marks = 0
        if marks <= MAX_MARKS:
            shown.append(_visible_letter(text, place, kind))
    return " ".join("".join([*shown, *_rest_of_stack(marks)]).split())


def _rest_of_stack(marks: int) -> list[str]:
    return [f"⟨+{marks - MAX_MARKS} marks⟩"] if marks > MAX_MARKS else []


def _visible_letter(text: str, place: int, kind: str) -> str:
    letter = text[place]
    if kind == "Zs":
        return " "
    if (kind[0] != "C" and kind not in ("Zl", "Zp") and not _UNSEEN.match(letter)) or _belongs(text, place):
        return letter
    return f"⟨U+{ord(letter):04X}⟩"


def _belongs(text: str, place: int) -> bool:
    """Return True if an invisible character belongs to the spelling: a joiner in an emoji or in a script that needs
    one.
    """
    before, after = text[place - 1 : place], text[place + 1 : place + 2]
    if text[place] == _EMOJI_LOOK:
        return _is_pictured(before)
    if text[place] not in _JOINERS or not before or not after:
        return False
    if text[place] == _EMOJI_JOINER and (_is_pictured(before) or before == _EMOJI_LOOK) and _is_pictured(after):
        return True
    return _script(before) == _script(after) in _JOINED


def _is_pictured(letter: str) -> bool:
    """Return True for a pictograph or a skin tone."""
    return letter != "" and (unicodedata.category(letter) == "So" or "\U0001f3fb" <= letter <= "\U0001f3ff")


def _script(letter: str) -> str:
    """Return the first word of the letter's Unicode name: LATIN, CYRILLIC, DEVANAGARI."""
    return unicodedata.name(letter, "").partition(" ")[0]


def skeleton(name: str) -> str:
    """Return the key under which names that look alike are equal.

    It ignores invisible letters, marks, case and blanks, and replaces letters by the Latin ones they resemble.
    """
    text = unicodedata.normalize("NFKD", name[:MAX_READ_CHARS])
    kept = (letter for letter in text if unicodedata.category(letter)[0] in "LNPS" and not _UNSEEN.match(letter))
    looks = "".join(_look(letter) for letter in kept)
    return looks.replace("rn", "m").replace("vv", "w")


def _look(letter: str) -> str:
    look = _FOLD.get(letter) or _FOLD.get(letter.upper()) if not letter.isascii() or letter in _FOLD else None
    return look or letter.casefold()


class Lookalikes:
    """Marker of names that look like those of known people."""

    def __init__(self, known: Iterable[KnownName] = ()) -> None:
        """Take the known people, the highest role first."""
        self._by_look: dict[str, list[KnownName]] = {}
        for person in known:
            self._by_look.setdefault(skeleton(person.name), []).append(person)

    def introduce(self, name: str, own_id: str = "", *, locale: str | None = None) -> str:
        """Return the name for a list, with a warning: `Аda (looks like Ada, an owner)`.

        `own_id`: the user with this name, who is not compared with themselves. `locale`: the reader's.
        """
        shown = shown_name(name) or HARNESS.text(locale, "names.none")
        said = "; ".join(self._remarks(name, own_id, locale))
        return f"{shown} ({said})" if said else shown

    def _remarks(self, name: str, own_id: str, locale: str | None) -> Iterator[str]:
        look = skeleton(name)
        alike = next(
            (person for person in self._by_look.get(look, ()) if look and (not own_id or person.id != own_id)), None
        )
        if alike is not None:
            yield HARNESS.text(locale, f"names.like_{alike.role}", name=shown_name(alike.name))
        mixed = sorted({script for word in name[:MAX_READ_CHARS].split() for script in _mixed_scripts(word)})
        if mixed:
            scripts = HARNESS.text(locale, "names.and").join(
                HARNESS.text(locale, f"names.script_{script.lower()}") for script in mixed
            )
            yield HARNESS.text(locale, "names.mixed", scripts=scripts)


def _mixed_scripts(word: str) -> frozenset[str]:
    scripts = frozenset(_script(letter) for letter in word if letter.isalpha()) & _ALIKE
    return scripts if len(scripts) > 1 else frozenset()


def short(id_: str) -> str:
    """Return the short form of an id, in lists and commands: its end, because its start is the time."""
    return id_[-SHORT_CHARS:]


def short_of(name: str) -> str:
    """Return the short form of an id; any other text whole."""
    return short(name) if _ID.fullmatch(name) else name


def place_of_session(key: str) -> str:
    """Return the account and chat kind of a session key: `telegram:main direct`; for a task of a sub-agent its name."""
    words = key.split(":")
    _, is_task, name = key.rpartition(":subagent:")
    if is_task:
        return f"task {name}"
    return f"{':'.join(words[2:4])} {words[4]}" if len(words) > 4 else key


def minute(at: str | None) -> str | None:
    """Return an ISO time in UTC to the minute, for lists."""
    return None if not at else at[:16].replace("T", " ")


def second(at: str) -> str:
    """Return an ISO time in UTC to the second."""
    return at[:19].replace("T", " ")
