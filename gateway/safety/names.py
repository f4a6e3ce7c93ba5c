"""Names, ids and instants as lists show them: what is unseen is spelled out, who looks like another is said to. Pure.

A name is a stranger's own word. It decides nothing (A27); here it is kept from deceiving whoever reads a list.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gateway.texts import HARNESS

MAX_READ_CHARS = 512
"""Of a name; no platform lets one be longer than a quarter of that."""

SHORT_CHARS = 8  # of an id
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

MAX_MARKS = 3
"""Combining marks on one letter that writing needs; more are a stack that runs into the lines above."""


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
"""Letters, marks and symbols that show nothing: Unicode's Default_Ignorable_Code_Point, and blanks of other kinds."""

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
"""By a letter: what is mistaken for it. From Unicode's confusables (UTS 39), those that no normal form unites, by way
of confusable_homoglyphs 3.3.1, read 2026-11-21. A table and no dependency: the rest of that library is this look-up.
"""

_FOLD = {look: letter for letter, looks in _LOOKS.items() for look in looks} | dict.fromkeys("iI1|", "l") | {"0": "o"}

_ALIKE = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU"})
"""Scripts whose letters pass for each other's: nobody's name mixes two of them within a word."""


@dataclass(frozen=True, slots=True)
class KnownName:
    """Somebody whose look a stranger may borrow."""

    name: str
    role: str
    id: str = ""  # their user id


def shown_name(name: str) -> str:
    """The name on one line with everything in it to be seen: `Ada⟨U+202E⟩`, a stack of marks as `⟨+9 marks⟩`.

    A name without anything unseen stays as it is, but for blanks: those are single spaces.
    """
    if name.isascii() and name.isprintable():  # as most are
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
    """Whether something unseen is how this is spelled: a joiner in an emoji or in a script that needs one."""
    before, after = text[place - 1 : place], text[place + 1 : place + 2]
    if text[place] == _EMOJI_LOOK:
        return _is_pictured(before)
    if text[place] not in _JOINERS or not before or not after:
        return False
    if text[place] == _EMOJI_JOINER and (_is_pictured(before) or before == _EMOJI_LOOK) and _is_pictured(after):
        return True
    return _script(before) == _script(after) in _JOINED


def _is_pictured(letter: str) -> bool:
    """Whether it is a picture, or the skin of one."""
    return letter != "" and (unicodedata.category(letter) == "So" or "\U0001f3fb" <= letter <= "\U0001f3ff")


def _script(letter: str) -> str:
    """The first word of its Unicode name: LATIN, CYRILLIC, DEVANAGARI."""
    return unicodedata.name(letter, "").partition(" ")[0]


def skeleton(name: str) -> str:
    """What a name looks like at a glance: two names with the same skeleton are mistaken for each other.

    Unseen letters, marks, case and blanks count for nothing, and a letter of any script for the Latin one it resembles.
    """
    text = unicodedata.normalize("NFKD", name[:MAX_READ_CHARS])
    kept = (letter for letter in text if unicodedata.category(letter)[0] in "LNPS" and not _UNSEEN.match(letter))
    looks = "".join(_look(letter) for letter in kept)
    return looks.replace("rn", "m").replace("vv", "w")


def _look(letter: str) -> str:
    look = _FOLD.get(letter) or _FOLD.get(letter.upper()) if not letter.isascii() or letter in _FOLD else None
    return look or letter.casefold()


class Lookalikes:
    """Says of names what to know before they are believed."""

    def __init__(self, known: Iterable[KnownName] = ()) -> None:
        """`known` are those who matter, the highest first."""
        self._by_look: dict[str, list[KnownName]] = {}
        for person in known:
            self._by_look.setdefault(skeleton(person.name), []).append(person)

    def introduce(self, name: str, own_id: str = "", *, locale: str | None = None) -> str:
        """The name as a list shows it, what to know of it behind: `Аda (looks like Ada, an owner)`.

        `own_id` is the user who has the name: nobody looks like themselves. `locale` is whose list it is.
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
    """An id as every list shows it, and as commands take it: its end, which differs where its beginning is the time."""
    return id_[-SHORT_CHARS:]


def short_of(name: str) -> str:
    """An id as every list shows it; whatever else stands there, whole."""
    return short(name) if _ID.fullmatch(name) else name


def minute(at: str | None) -> str | None:
    """An ISO instant of UTC as a list shows it: day and minute."""
    return None if not at else at[:16].replace("T", " ")


def second(at: str) -> str:
    """The same to the second, where it matters what came first."""
    return at[:19].replace("T", " ")
