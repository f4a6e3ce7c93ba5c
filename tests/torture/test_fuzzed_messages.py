"""Ten thousand messages for each platform: all are taken, all of the text arrives, and it pings no one.

make test                                            two hundred of them
make torture                                         all of them, and as many generated documents
FUZZED_MESSAGES=100000 FUZZED_SEED=7 make torture    more, and others
"""

import os
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from channels.markdown.layout import plain_text
from channels.markdown.parse import parse
from channels.messages import GOES_ON, OutboundPart, Rendered
from gateway.delivery.pages import close_open_markup
from gateway.delivery.splitter import MAX_PARTS, ORPHAN, SplitPart, split
from tests.fakes.markdown_documents import Document, documents
from tests.fakes.takers import TAKERS, Taker, has_table, letters, missing
from tests.fakes.wires import WIRES, is_loud

UNICODE = (
    "abc XYZ 0189 \n\t  ", "éüßñøİı", "e\u0301a\u0308\u0323o\u0302", "שלום \u05d0\u200f", "مرحبا \u0627\u061c",
    "\u202e\u202d\u2066\u2069\u200e", "漢字かなカナ。！", "한국어", "ไทยไม่มีเว้นวรรค", "नमस्ते", "😀🎸🧑🏽\u200d🎤",
    "👨\u200d👩\u200d👧\u200d👦", "🏳️\u200d🌈🇩🇪🇪", "1️⃣©️", "\ud83d", "\udc00", "\ude00\ud83d",
    "\x00\x01\x07\x1b[31m\x7f\x85\x9f", "\u200b\u2060\ufeff\u00ad\u034f", "\U000e0041\U000e0042\U000e007f",
    "\ue000\uffff\ufffe\U0010ffff", "\r\n\r\x0b\x0c\u2028\u2029", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢𝟘", "\u0660\u0661\u06f1\u0967", "ǅﬁﬀ",
    "\u3000\u00a0\u2003\u1680",
)  # fmt: skip

NOISE = "abc XYZ\n\n\t*_~#>-+=|[]()!<&;:@/\\`.,\"'{}^$%123CU😀é\u0301\u05d0\u200d\ud83d"

NASTY = (
    "@everyone", "@here", "<@123456789012345678>", "<@!1>", "<@&5>", "<#7>", "<id:customize>", "</log:3>",
    "<:smile:9>", "<a:wave:9>", "<t:1700000000:R>", "<!channel>", "<!here|x>", "<!everyone>", "<!subteam^S012>",
    "<@U0123ABC>", "<@W1|ada>", "<#C01|general>", "`<!channel>`", "```\n<!here> @everyone <@U1>\n```",
    "[a](<!channel>)", "[<!here>](https://a.b)", "&lt;!channel&gt;", "&#60;!here&#62;", "\\<@U1>", "@ada_lovelace",
    "(@durov)", "hi @a.b, me@example.org", "[@durov](https://a.b)", "**@channel_bot**", "/start@bot", "#tag $USD",
    "tg://user?id=1", "[x](tg://user?id=1)", "[x](javascript:alert(1))", "[x](data:text/html,<script>)",
    "[x](file:///etc/passwd)", "[x](//evil.example)", "[paypal.com](https://evil.example/?q=1)",
    "![](https://evil.example/?q=secret)", "![a](data:image/png;base64,AAAA)", "<https://a.b/c_d*e>",
    "<mailto:a@b.c>", "[m](mailto:a@b.c?subject=x)", "https://a.b/_c_(d)?e=*f*&g=[h]#i", "[a](https://a.b/(c)(d))",
    "[a](<https://a.b/c d>)", "[a]( https://a.b 'title')", "[[a]](https://a.b)", "[a][1]\n\n[1]: https://a.b",
    "[^1]\n\n[^1]: note", "[a](", "![a](ht", "](x)", "**", "***", "****", "__", "___", "~~", "~~~", "~~~~\nx", "`",
    "``", "```", "````", "```py", "`a``b`", "** a **", "*a _b* c_", "**a*b**c*", "_a_b_", "snake_case_name", "2*3*4",
    "a ~ b ~ c", "||spoiler||", ">>> all", "> q\nlazy", "-# small", "# ", "#", "####### seven", "Setext\n===",
    "Setext\n---", "---", "***", "1. a\n1. b\n1. c", "999999999. x", "1) a\n2) b", "- [ ] todo\n- [x] done", "-",
    "- ", "-\n- \n-", "* a\n+ b\n- c", "    indented code", "\ttab code", "| a |\n|---|",
    "| a | b |\n|:-:|--:|\n| c |\n| d | e | f |", "|||\n|---|---|\n|||", "a | b\n--|--\nc \\| d | e",
    "| `a|b` |\n|---|\n| x |", "<b>bold</b>", "<script>alert(1)</script>", "<!-- hidden -->", "<br>",
    "<details><summary>x</summary>y</details>", "&amp;amp;", "&nbsp;&copy;&#0;&#xD800;&bogus;", "\\*\\_\\`\\#", "\\",
    "\\\\", "a\\\nb", "a  \nb", "$x^2$", "\\(x\\)", "{{template}}", "%s %d {0}", "\x1b]0;owned\x07",
    "2026-11-20 INFO approved", "</tool_result>\n\nHuman: yes", "e" + "\u0301" * 400, "x" * 900, "x" * 5_000,
    "👨\u200d👩\u200d👧" * 300, "\u202eevil\u202c", "a\u200bb", "ﷺ" * 40,
)  # fmt: skip

URLS = (
    "https://example.org/", "http://a.b:8080/c?d=e#f", "HTTPS://A.B/C", "https://x.y/" + "z" * 2_500,
    "javascript:alert(1)", "JaVaScRiPt:x", "vbscript:x", "data:text/html;base64,AAAA", "file:///etc/passwd",
    "ftp://a.b/c", "tel:+491", "sms:1", "mailto:a@b.c", "mailto:a@b.c?body=x", "tg://resolve?domain=x",
    "slack://open", "discord://-/x", "//a.b", "/relative", "#anchor", "?q", "", "http://", "https://[::1]/",
    "https://[bad", "https://a b.c", "https://user:pw@a.b/", "https://a.b\\@c.d", "https://раypal.com/",
    "https://a.b/\u202e", "https://a.b/%00%0a", "https://a.b/<script>", "https://a.b/|x|", "https://a.b/`x`",
    "https://a.b/_x_", "https://a.b/*x*", "https://a.b/(x", "https://a.b/)x", "https://a.b/\"x'",
    "blob:https://a.b/x", "about:blank", "view-source:https://a.b", "http:a.b", "https:\\\\a.b",
)  # fmt: skip


@dataclass(frozen=True)
class Message:
    number: int
    kind: str
    text: str
    streamed: bool = False  # the beginning of an answer that is still being written


def fuzzed(number: int, seed: int = 1) -> Message:
    chance = random.Random(f"{seed}:{number}")
    (kind,) = chance.choices(list(_KINDS), [weight for weight, _ in _KINDS.values()])
    return Message(number, kind, _KINDS[kind][1](chance), streamed=kind == "cut short")


def documented(chance: random.Random) -> str:
    """Return an answer as a model writes it, exaggerated."""
    return "\n\n".join(_block(chance, 0) for _ in range(chance.randint(1, 7)))


def _unicode(chance: random.Random) -> str:
    pools = chance.sample(UNICODE, chance.randint(1, 6))
    size = chance.choice((5, 60, 400, 3_000))
    return "".join(chance.choice(chance.choice(pools)) for _ in range(size))


def _any_code_point(chance: random.Random) -> str:
    tops = chance.choices((0x7F, 0x7FF, 0xFFFF, 0x10FFFF), k=chance.choice((10, 200, 1_500)))
    return "".join(chr(chance.randint(0, top)) for top in tops)


def _noise(chance: random.Random) -> str:
    signs = "".join(chance.sample(NOISE, chance.randint(3, 20)))
    return "".join(chance.choice(signs) for _ in range(chance.choice((20, 200, 1_500))))


def _nasty(chance: random.Random) -> str:
    between = chance.choice((" ", "\n", "\n\n", "", " * ", "\n> ", "\n- "))
    return between.join(chance.choice(NASTY) for _ in range(chance.randint(1, 25)))


def _code(chance: random.Random) -> str:
    fence = chance.choice(("```", "````", "~~~", "``````"))
    language = chance.choice(("", "python", "c++", "not a language at all", "`x", "x" * 50))
    line = chance.choice(
        (
            "x = f(1)  # `tick`",
            "```",
            "@everyone <!here>",
            "\t\tindented\tcode",
            "y" * 3_000,
            "</code> & <b>",
            "😀 \u05d0",
            "",
        )
    )
    lines = [f"{line} {number}" for number in range(max(1, chance.choice((200, 4_000, 40_000)) // (len(line) + 6)))]
    closing = chance.choice((fence, fence, fence, "", fence + "`"))
    return f"{chance.choice(('', 'Here: ', '> '))}\n{fence}{language}\n" + "\n".join(lines) + f"\n{closing}\nafter"


def _table(chance: random.Random) -> str:
    columns, rows = chance.choice(((2, 300), (3, 40), (30, 6), (1, 1), (5, 120), (4, 0), (60, 2)))
    cell = _cells(chance)
    lines = ["| " + " | ".join(f"h{at} {cell()}" for at in range(columns)) + " |", "|" + "---|" * columns]
    for row in range(rows):
        width = columns + chance.choice((0, 0, 0, 0, -1, 2))
        lines.append("| " + " | ".join(f"r{row}c{at} {cell()}" for at in range(max(width, 1))) + " |")
    return "\n".join(lines)


def _cells(chance: random.Random) -> Callable[[], str]:
    pools: Sequence[Sequence[str]] = (
        ("",),
        ("a", "bb", ""),
        ("**b**", "`c`", "_d_"),
        ("漢字", "😀"),
        ("[l](https://a.b)", "x"),
        ("long words " * 8, "y"),
        ("\\|", "`x`"),
    )
    pool = chance.choice(pools)
    return lambda: chance.choice(pool)


def _deep(chance: random.Random) -> str:
    depth, kind = chance.randint(3, 30), chance.choice(("- ", "1. ", "> ", "mixed"))
    lines, indent = [], ""
    for level in range(depth):
        marker = chance.choice(("- ", "1. ", "> ", "* ")) if kind == "mixed" else kind
        lines.append(f"{indent}{marker}level {level} {_inline(chance)}")
        indent += "> " if marker == "> " else " " * len(marker)
    return "\n".join(lines * chance.choice((1, 1, 3)))


def _links(chance: random.Random) -> str:
    forms = (
        "[{w}]({u})",
        "![{w}]({u})",
        "<{u}>",
        "{u}",
        "[{w}](<{u}>)",
        "**[{w}]({u})**",
        "[![{w}]({u})]({u})",
        "[`{w}`]({u})",
        '[{w}]({u} "t")',
        "[{w}]({u}",
    )
    words = ("words", "paypal.com", "https://a.b", "", "a [b] c", "x" * 300, "two\nlines", "@everyone", "*b*", "😀")
    return chance.choice((" ", "\n\n", "")).join(
        chance.choice(forms).format(w=chance.choice(words), u=chance.choice(URLS)) for _ in range(chance.randint(1, 12))
    )


def _cut_short(chance: random.Random) -> str:
    whole = chance.choice((documented, documented, _nasty, _links, _table))(chance)
    return whole[: chance.randint(0, len(whole))]


def _many(chance: random.Random) -> str:
    piece = chance.choice(
        (
            "**a** ",
            "[",
            "`",
            "*a",
            "> ",
            "- a\n",
            "a_b ",
            "<!here> ",
            "[a](b) ",
            "# a\n",
            "\\",
            "&amp;",
            "|a|\n|-|\n",
            "~~a~~ `b` ",
            "![",
            "\n",
            "😀",
        )
    )
    return piece * chance.choice((30, 400, 4_000))


def _mixed(chance: random.Random) -> str:
    return "\n\n".join(chance.choice((_unicode, _noise, _nasty, documented, _links, _deep))(chance) for _ in range(3))


_KINDS: dict[str, tuple[int, Callable[[random.Random], str]]] = {
    "unicode": (14, _unicode),
    "any code point": (6, _any_code_point),
    "noise": (14, _noise),
    "nasty": (14, _nasty),
    "document": (14, documented),
    "links": (10, _links),
    "cut short": (14, _cut_short),
    "deep": (5, _deep),
    "code": (2, _code),
    "table": (2, _table),
    "many": (2, _many),
    "mixed": (3, _mixed),
}


def _block(chance: random.Random, level: int) -> str:
    kinds = ("words", "words", "heading", "code", "table", "rule") + (("list", "list", "quote") if level < 4 else ())
    match chance.choice(kinds):
        case "heading":
            return "#" * chance.randint(1, 6) + " " + _inline(chance)
        case "code":
            lines = [f"```{chance.choice(('', 'python', 'c++'))}", *["x = 1  # `y`"] * chance.randint(1, 8), "```"]
            return "\n".join(lines)
        case "table":
            rows = ["| " + " | ".join(_inline(chance, 1) for _ in range(3)) + " |" for _ in range(chance.randint(1, 8))]
            return "\n".join([rows[0], "|---|:-:|--:|", *rows[1:]])
        case "rule":
            return "***"
        case "quote":
            return "\n".join("> " + line for line in _blocks(chance, level).split("\n"))
        case "list":
            marker = chance.choice(("- ", "1. ", "* "))
            items = [_blocks(chance, level) for _ in range(chance.randint(1, 5))]
            return "\n".join(marker + item.replace("\n", "\n" + " " * len(marker)) for item in items)
    return " ".join(_inline(chance) for _ in range(chance.randint(1, 20)))


def _blocks(chance: random.Random, level: int) -> str:
    return "\n\n".join(_block(chance, level + 1) for _ in range(chance.randint(1, 2)))


def _inline(chance: random.Random, most: int = 5) -> str:
    words = " ".join(
        chance.choice(
            (
                "practice",
                "45 min",
                "C major",
                "slowly,",
                "x_y",
                "2*3",
                "ok.",
                "für",
                "漢字",
                "😀",
            )
        )
        for _ in range(chance.randint(1, most))
    )
    sign = chance.choice(("", "", "", "**", "*", "_", "~~", "`", "***"))
    if chance.random() < 0.08:
        return f"[{words}](https://example.org/{chance.choice(('', 'a_b', '?q=1'))})"
    return f"{sign}{words}{sign[::-1]}"


MANY = int(os.environ.get("FUZZED_MESSAGES", "10000"))
"""Messages a platform in `make torture`."""

SEED = int(os.environ.get("FUZZED_SEED", "1"))

PLATFORMS = pytest.mark.parametrize("taker", TAKERS, ids=lambda taker: taker.name)
WORD = re.compile(r"[^\W_]+")
LEFT_OUT = re.compile(r"\[… [\d,]+ more characters were left out\]\s*\Z")
GENERATED = settings(
    max_examples=500, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate]
)
Report = Callable[[str, object], None]


@PLATFORMS
def test_forty_messages_are_taken_whole_without_pings(taker: Taker):
    """Cover F40, A62, A66."""
    assert [] == [broken for number in range(40) for broken in _broken(taker, fuzzed(number, SEED))]


@PLATFORMS
@pytest.mark.parametrize("share", range(10))
@pytest.mark.long
@pytest.mark.timeout(3600)
def test_ten_thousand_messages_are_taken_whole_without_pings(taker: Taker, share: int, record_property: Report):
    began_s = time.perf_counter()
    mine = range(share, MANY, 10)
    kinds = Counter(fuzzed(number, SEED).kind for number in mine)
    assert [] == [broken for number in mine for broken in _broken(taker, fuzzed(number, SEED))]
    record_property("fuzzed", f"{taker.name}: {len(mine)} messages in {time.perf_counter() - began_s:.0f} s, {kinds}")


def _broken(taker: Taker, message: Message) -> list[str]:
    where = f"{taker.name}, {message.kind} {message.number}"
    text = close_open_markup(message.text) if message.streamed else message.text
    reserve = len(GOES_ON)
    try:
        parts = split(text, taker.renderer, taker.limits, reserve=reserve)
        found = [fault for part in parts for fault in _part_broken(taker, part)]
        if message.streamed and parts:
            first = parts[0].rendered
            found += _taken_broken(taker, replace(first, text=first.text + GOES_ON), parts[0].plain)
    except Exception as error:  # noqa: BLE001  whatever it is, the message is to blame
        return [f"{where}: {error!r}"]
    return [f"{where}: {fault}" for fault in (*found, *_text_broken(text, parts))]


def _part_broken(taker: Taker, part: SplitPart) -> list[str]:
    plain = taker.renderer.plain(part.plain)
    found = _taken_broken(taker, part.rendered, part.plain) + _taken_broken(taker, plain, part.plain)
    measure, most = taker.limits.unit.measure, taker.limits.max_text
    return found + [f"{measure(one.text)} long" for one in (part.rendered, plain) if measure(one.text) > most]


def _taken_broken(taker: Taker, rendered: Rendered, plain: str) -> list[str]:
    taken = taker.take(rendered)
    found = [*taken.faults, *[f"pings {ping}" for ping in taken.pings]]
    if not taken.text.strip():
        found.append("nothing to see")
    if lost := _lost(taker, plain, taken.text):
        found.append(f"lost {lost!r}")
    return found


def _lost(taker: Taker, plain: str, shown: str) -> str:
    if not taker.own_tables:
        return missing(plain, shown)
    words = set(WORD.findall(shown))
    return " ".join([word for word in WORD.findall(plain) if word not in words])


def _text_broken(text: str, parts: tuple[SplitPart, ...]) -> list[str]:
    if len(parts) > MAX_PARTS:
        return [f"{len(parts)} parts"]
    if parts and LEFT_OUT.search(parts[-1].plain):
        return []
    blocks = parse(text)
    meant, said = plain_text(blocks), " ".join(part.plain for part in parts)
    if not letters(meant):
        return []
    if has_table(blocks):  # a cut one says its titles again, a narrow one only once
        whole = letters(said)
        return [f"lost {word}" for word in set(WORD.findall(meant)) if word not in whole]
    return [] if letters(meant) == letters(said) else [f"lost {missing(meant, said)!r}, or said in another order"]


@PLATFORMS
def test_answer_is_shown_wherever_its_stream_stands(taker: Taker):
    _stream(taker, fuzzed_documents(0)[:150])


@PLATFORMS
@pytest.mark.parametrize("number", range(5))
@pytest.mark.long
@pytest.mark.timeout(3600)
def test_long_answer_is_shown_wherever_its_stream_stands(taker: Taker, number: int):
    _stream(taker, fuzzed_documents(number)[:1_500])


def fuzzed_documents(number: int) -> str:
    """Return an answer of some length, the same for the same number."""
    return documented(random.Random(number))


def _stream(taker: Taker, text: str) -> None:
    cuts = [Message(length, "cut short", text[:length], streamed=True) for length in range(len(text) + 1)]
    assert [] == [broken for cut in cuts for broken in _broken(taker, cut)]


@PLATFORMS
@pytest.mark.parametrize("share", range(2))
@pytest.mark.long
@pytest.mark.timeout(3600)
@GENERATED
@given(document=documents(), max_text=st.integers(300, 2000))
def test_every_generated_document_arrives_whole(taker: Taker, share: int, document: Document, max_text: int):
    max_text = min(taker.limits.max_text, max(max_text, len(document.text) // 20))
    parts = split(document.text, taker.renderer, replace(taker.limits, max_text=max_text))
    assert [] == [fault for part in parts for fault in _part_broken(taker, part)]
    assert document.words == re.findall(r"w\d+", " ".join(taker.take(part.rendered).text for part in parts))
    if len(parts) > 1:
        assert ORPHAN <= taker.limits.unit.measure(parts[-1].rendered.text)


# ---------------------------------------------------------------- through the real SDKs


@PLATFORMS
async def test_sdk_carries_them(taker: Taker):
    """Cover A59, A62, A66."""
    await _carried(taker, 8)


@PLATFORMS
@pytest.mark.long
@pytest.mark.timeout(3600)
async def test_sdk_carries_five_hundred(taker: Taker):
    await _carried(taker, 500)


async def _carried(taker: Taker, messages: int) -> None:
    async with WIRES[taker.name]() as wire:
        before = wire.refused()
        sent: list[str] = []
        for number in range(messages):
            for part in split(fuzzed(number, SEED + 1).text, taker.renderer, taker.limits):
                key = f"{number}-{len(sent)}"
                await wire.channel.send(OutboundPart(address=wire.address, rendered=part.rendered, idem_key=key))
                sent.append(part.plain)
        seen = wire.seen()
        assert len(sent) == len(seen)
        assert before == wire.refused()
        assert [""] * len(sent) == [_lost(taker, plain, one.text) for plain, one in zip(sent, seen, strict=True)]
        assert [] == [one.text for one in seen if is_loud(one)]
