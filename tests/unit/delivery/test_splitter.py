"""The splitter: every part fits, together they carry the whole answer, and cuts disturb little."""

import re
import time
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from channels.base import Limits, TextUnit
from channels.markdown.layout import plain_text
from channels.markdown.parse import parse
from channels.slack.limits import SLACK_LIMITS
from channels.slack.render import SlackRenderer
from channels.telegram.render import TelegramRenderer
from gateway.delivery.splitter import MAX_PARTS, ORPHAN, SplitPart, split
from tests.fakes.amounts import share
from tests.fakes.markdown_documents import Document, documents
from tests.fakes.starred_renderer import LIMITS as STARRED_LIMITS
from tests.fakes.starred_renderer import StarredRenderer
from tests.fakes.takers import has_table
from tests.fakes.telegram_entities import faults, shown
from tests.torture.sampling import sampled

TELEGRAM = TelegramRenderer()
LIMITS = Limits(max_text=4096, unit=TextUnit.UTF16)
GENERATED = settings(max_examples=share(80), deadline=None, suppress_health_check=list(HealthCheck))
PLATFORMS = pytest.mark.parametrize(
    ("renderer", "unit"), [(TELEGRAM, TextUnit.UTF16), (StarredRenderer(), TextUnit.CHARS)], ids=["telegram", "starred"]
)

FAMILY = "👨\u200d👩\u200d👧\u200d👦"


def roomy(document: Document, max_text: int, unit: TextUnit = TextUnit.UTF16) -> Limits:
    return limits(max(max_text, len(document.text) // 20), unit)


def limits(max_text: int, unit: TextUnit = TextUnit.UTF16) -> Limits:
    return Limits(max_text=max_text, unit=unit)


def texts(parts: tuple[SplitPart, ...]) -> list[str]:
    return [part.rendered.text for part in parts]


def first_seen(parts: tuple[SplitPart, ...], pattern: str) -> list[str]:
    return list(dict.fromkeys(re.findall(pattern, "\n".join(part.plain for part in parts))))


class TestGeneratedAnswers:
    @PLATFORMS
    @GENERATED
    @given(document=documents(), max_text=st.integers(150, 900))
    def test_every_part_fits_as_rendered_and_as_plain_text(self, renderer, unit, document: Document, max_text):
        room = roomy(document, max_text, unit)
        for part in split(document.text, renderer, room, reserve=20):
            assert 0 < unit.measure(part.rendered.text) <= room.max_text - 20
            assert 0 < unit.measure(renderer.plain(part.plain).text) <= room.max_text - 20

    @PLATFORMS
    @GENERATED
    @given(document=documents(), max_text=st.integers(150, 900))
    def test_parts_carry_every_word_in_order(self, renderer, unit, document: Document, max_text):
        parts = split(document.text, renderer, roomy(document, max_text, unit))
        assert document.words == first_seen(parts, r"w\d+")
        assert document.words == re.findall(r"w\d+", " ".join(part.plain for part in parts)), "said twice"
        assert set(document.titles) == set(first_seen(parts, r"h\d+"))

    @GENERATED
    @given(document=documents(), max_text=st.integers(150, 900))
    def test_telegram_takes_every_part(self, document: Document, max_text):
        """Cover A64, A66."""
        for part in split(document.text, TELEGRAM, roomy(document, max_text)):
            assert [] == faults(part.rendered, max(max_text, len(document.text) // 20))

    @GENERATED
    @given(document=documents(), max_text=st.integers(300, 900))
    def test_no_part_is_an_orphan(self, document: Document, max_text):
        parts = split(document.text, TELEGRAM, roomy(document, max_text))
        if len(parts) > 1:
            assert ORPHAN <= TextUnit.UTF16.measure(parts[-1].rendered.text)

    @GENERATED
    @given(document=documents())
    def test_a_part_that_fits_is_the_answer_as_rendered(self, document: Document):
        parts = split(document.text, TELEGRAM, limits(100_000))
        assert [TELEGRAM.render(parse(document.text))] == [part.rendered for part in parts]
        assert parts == split(document.text, TELEGRAM, limits(100_000))


class TestAnyText:
    @GENERATED
    @given(
        text=st.text(st.sampled_from("abcXYZ  \n\n*_~#>-+|[]!<&\\`.12😀é\u05d0"), min_size=1, max_size=700),
        max_text=st.integers(100, 300),
    )
    @example(text="| a |\n|---|\n| b | c | d |\n", max_text=100)
    @example(text="> | a |\n> |---|\n> | b | c | d |\n", max_text=100)
    def test_no_letter_is_lost(self, text, max_text):
        parts = split(text, TELEGRAM, limits(max_text))
        said = re.findall(r"[^\W\d_]", " ".join(part.plain for part in parts))
        meant = re.findall(r"[^\W\d_]", re.sub(r"(?m)^([ >\-+.\d]*`{3,})[^`\n]*$", r"\1", text))
        if has_table(parse(text)):
            assert not Counter(meant) - Counter(said)
        elif "```" not in text:
            assert meant == said
        for part in parts:
            assert [] == faults(part.rendered, max_text)

    @GENERATED
    @given(text=st.text(max_size=400), max_text=st.integers(100, 200))
    def test_any_unicode_becomes_parts_a_platform_takes(self, text, max_text):
        """Cover F40."""
        for part in split(text, TELEGRAM, limits(max_text)):
            assert [] == faults(part.rendered, max_text)
            part.plain.encode()

    @pytest.mark.parametrize("text", ["", " \n\t", "\0", "\u200b\u2060", "\ufeff\n"])
    def test_nothing_to_see_is_no_part(self, text):
        assert () == split(text, TELEGRAM, LIMITS)

    @pytest.mark.parametrize("text", ["```\n```", "#", ">", "![](data:image/png;base64,AAAA)", "- ", "|"])
    def test_syntax_alone_is_shown(self, text):
        assert [] == [fault for part in split(text, TELEGRAM, LIMITS) for fault in faults(part.rendered)]
        assert 1 == len(split(text, TELEGRAM, LIMITS))

    def test_a_limit_too_small_for_anything_is_refused(self):
        with pytest.raises(ValueError, match="room for 100"):
            split("text", TELEGRAM, limits(120), reserve=21)


class TestWhereCutsFall:
    def test_paragraphs_stay_whole_where_they_fit(self):
        paragraphs = [f"Paragraph {number}. " + "Words of it. " * 20 for number in range(30)]
        parts = split("\n\n".join(paragraphs), TELEGRAM, limits(1000))
        assert [p.strip() for p in paragraphs] == [p for text in texts(parts) for p in text.split("\n\n")]

    def test_a_long_paragraph_is_cut_between_sentences(self):
        sentence = "Ask Dr. Who about v1.2.3 of it, e.g. on Monday. "
        parts = split(sentence * 100, TELEGRAM, limits(500))
        assert all(text.startswith("Ask Dr. Who") and text.endswith("Monday.") for text in texts(parts))

    def test_words_stay_whole(self):
        parts = split("syllable " * 1000, TELEGRAM, limits(500))
        assert {"syllable"} == {word for text in texts(parts) for word in text.split()}

    def test_an_emoji_family_is_never_parted(self):
        """Cover A66."""
        parts = split(FAMILY * 500, TELEGRAM, limits(500))
        assert {""} == {text.replace(FAMILY, "") for text in texts(parts)}
        assert FAMILY * 500 == "".join(texts(parts))

    def test_accents_stay_on_their_letters(self):
        parts = split("e\u0301" * 3000, TELEGRAM, limits(501))
        assert all(text.startswith("e") and text.endswith("\u0301") for text in texts(parts))

    def test_one_letter_with_thousands_of_accents_is_cut(self):
        parts = split("e" + "\u0301" * 9000, TELEGRAM, LIMITS)
        assert "e" + "\u0301" * 9000 == "".join(texts(parts))

    def test_a_short_link_stays_whole(self):
        parts = split(("word " * 15 + "[a label of some words](https://example.org) ") * 20, TELEGRAM, limits(250))
        assert {("text_link", "a label of some words")} == {entity for part in parts for entity in shown(part.rendered)}

    def test_a_heading_goes_with_what_follows(self):
        text = "x " * 480 + "\n\n## Title\n\nThe list:\n\n- " + "entry " * 30
        assert "Title\n\nThe list:\n\n• entry" in texts(split(text, TELEGRAM, limits(1000)))[1]

    def test_cut_code_is_closed_and_reopened_with_its_language(self):
        lines = [f"{'    ' * (number % 3)}line_{number} = {number}" for number in range(400)]
        parts = split("Look:\n\n```python\n" + "\n".join(lines) + "\n```\n\nDone.", TELEGRAM, limits(1000))
        assert all('"language":"python"' in (part.rendered.markup or "") for part in parts)
        code = "\n".join(covered for part in parts for kind, covered in shown(part.rendered) if kind == "pre")
        assert lines == code.split("\n")

    def test_a_cut_table_repeats_its_header(self):
        table = "| Day | Minutes |\n|---|---|\n" + "".join(f"| day {n} | {n} |\n" for n in range(200))
        parts = split(table, TELEGRAM, limits(700))
        assert len(parts) > 2
        assert all(re.match(r"Day +\| Minutes\n-+\+-+\nday", text) for text in texts(parts))

    def test_a_row_longer_than_a_part_is_told_cell_by_cell(self):
        table = "| Title | Note |\n|---|---|\n| one | " + "word " * 300 + "|\n"
        parts = split(table, TELEGRAM, limits(500))
        assert "Title: one\nNote: word" == texts(parts)[0][:21]
        assert 300 == " ".join(texts(parts)).count("word")

    def test_a_quote_is_quoted_in_every_part(self):
        parts = split("> " + "A line of it. " * 200, TELEGRAM, limits(600))
        assert {("blockquote",)} == {tuple(kind for kind, _ in shown(part.rendered)) for part in parts}

    def test_a_few_last_characters_take_over_some_of_the_part_before(self):
        parts = split("word " * 199 + "tail", TELEGRAM, limits(990))
        assert 2 == len(parts)
        assert min(map(len, texts(parts))) > 100

    def test_room_for_a_mark_is_kept_in_every_part(self):
        assert all(len(text) <= 900 for text in texts(split("word " * 2000, TELEGRAM, limits(1000), reserve=100)))

    def test_parts_are_well_filled(self):
        parts = split("A sentence of some words. " * 800, TELEGRAM, LIMITS)
        assert all(len(text) > 0.9 * 4096 for text in texts(parts)[:-1])


class TestTooMuch:
    def test_fifty_thousand_characters_go_whole(self):
        """Cover F39."""
        text = "".join(f"Sentence number {number} of it. " for number in range(1700))
        parts = split(text, TELEGRAM, LIMITS)
        assert text.split() == " ".join(texts(parts)).split()

    @pytest.mark.parametrize("size", [300_000, 10_000_000])
    def test_what_no_platform_should_carry_is_cut_and_said(self, size):
        """Cover F39, A69."""
        text = ("A line of the endless answer.\n" * (size // 30 + 1))[:size]
        began = time.process_time()
        parts = split(text, TELEGRAM, LIMITS)
        assert time.process_time() - began < 5
        assert MAX_PARTS == len(parts)
        assert all(TextUnit.UTF16.measure(text) <= 4096 for text in texts(parts))
        notice = re.search(r"\[… ([\d,]+) more characters were left out\]$", texts(parts)[-1])
        assert notice
        said = sum(len(text) for text in texts(parts)) - len(notice[0])
        assert size == pytest.approx(said + int(notice[1].replace(",", "")), rel=0.01)

    def test_an_answer_of_exactly_the_limit_is_one_part(self):
        assert [1, 2] == [len(split("x" * size, TELEGRAM, LIMITS)) for size in (4096, 4097)]
        assert [1, 2] == [len(split("😀" * size, TELEGRAM, LIMITS)) for size in (2048, 2049)]


NASTY = {
    "brackets": "[" * 5000,
    "stars": "*" * 10_000,
    "emphasis chain": "*a _b " * 2500,
    "nested quotes": ">" * 300 + " deep",
    "nested lists": "\n".join("  " * depth + "- entry" for depth in range(150)),
    "backticks": "".join("`" * count + "a" for count in range(150)),
    "open fence": "```python\nprint(1)\n",
    "nested fences": "````md\n```py\nx\n```\n````\nafter",
    "links": "[a](" * 3000,
    "images": "![[" * 3000,
    "strikes": "~~a" * 3000,
    "entities": "&amp;" * 3000 + "&" * 3000,
    "tags": "<a " * 5000,
    "generics": "List<String> of Map<K, V>, a<b and c>d",
    "html": "<b>bold</b><script>alert(1)</script><!-- note --><div>\ntext\n</div>",
    "wide table": "|a" * 3000 + "\n" + "|-" * 3000 + "\n",
    "long table": "| a | b |\n|--|--|\n" + "| cell | cell |\n" * 1000,
    "ragged table": "| a | b |\n|--|--|\n| 1 |\n| 1 | 2 | 3 | 4 |\n",
    "families": FAMILY * 1500,
    "flags": "🇩🇪🇫🇷" * 1500,
    "rtl": "\u202eשלום\u202c **עולם** " * 300,
    "zalgo": "Z\u0351\u036b\u0343\u036a\u0302\u036b" * 2000,
    "lone surrogates": "a\ud83d **b\udc00** \ud83d\ude00",
    "nul": "a\0b **c\0d**",
    "ansi": "\x1b[31mred\x1b[0m",
    "long word": "x" * 30_000,
    "long url": "https://example.org/" + "a" * 9000,
    "long link": "[label](https://example.org/" + "a" * 9000 + ")",
    "long message": "word " * 10_000,
    "long code": "```\n" + "    x = 1\n" * 4000 + "```",
    "one line of code": "```\n" + "x" * 40_000 + "\n```",
    "unclosed": "**bold *italic ~~struck `code [link](http://x",
    "rules": "***\n" * 3000,
    "headings": "# a\n" * 3000,
    "spaces": " " * 10_000 + "a",
    "breaks": "a\\\n" * 3000,
    "many entities": "**a** *b* `c` " * 500,
    "schemes": "[a](javascript:alert(1)) [b](data:text/html,x) [c](file:///etc/passwd) [d](tg://user?id=1) <tg://x>",
    "line separators": "a\u2028b\u2029c\rd\r\ne\x0bf",
}


class TestNastyInputs:
    @pytest.mark.parametrize("name", NASTY)
    def test_it_becomes_parts_telegram_takes_in_little_time(self, name):
        began = time.process_time()
        parts = split(NASTY[name], TELEGRAM, LIMITS)
        assert time.process_time() - began < 5, "measured: under 0.2 s; the rest is for a busy machine"
        assert parts
        assert [] == [fault for part in parts for fault in faults(part.rendered)]

    @pytest.mark.parametrize("name", sampled(NASTY, every=3))
    def test_the_second_platform_takes_it_too(self, name):
        parts = split(NASTY[name], StarredRenderer(), STARRED_LIMITS)
        assert parts
        assert all(0 < len(part.rendered.text) <= 2000 for part in parts)

    @pytest.mark.parametrize(
        ("name", "seen"),
        [
            ("generics", "List<String> of Map<K, V>, a<b and c>d"),
            ("html", "<b>bold</b><script>alert(1)</script><!-- note --><div>\ntext\n</div>"),
            ("nested fences", "```py\nx\n```\n\nafter"),
            ("schemes", "a b c d <tg://x>"),
            ("line separators", "a\nb\nc\nd\ne\nf"),
            ("ansi", "[31mred[0m"),
            ("lone surrogates", "a� b� 😀"),
            ("nul", "ab cd"),
            ("unclosed", "**bold *italic ~~struck `code [link](http://x"),
        ],
    )
    def test_what_is_no_markdown_stays_visible(self, name, seen):
        """Cover A57, A64, A68."""
        assert [seen] == texts(split(NASTY[name], TELEGRAM, LIMITS))


def test_order_of_parts_is_the_order_of_the_text():
    parts = split("\n\n".join(f"{number}\\. paragraph" for number in range(2000)), TELEGRAM, LIMITS)
    numbers = [int(number) for text in texts(parts) for number in re.findall(r"\d+", text)]
    assert all(before < after for before, after in pairwise(numbers))
    assert plain_text(parse("1\\. paragraph")) == "1. paragraph"


@pytest.mark.parametrize("chars", range(290, 330, 3))
def test_emphasis_is_one_run_wherever_the_splitter_looked_into_it(chars: int):
    text = f"{'a' * 30} " * 12 + "*" + " ".join(f"word{number}" for number in range(60)) + "*"
    parts = split(text, SlackRenderer(), replace(SLACK_LIMITS, max_text=chars))
    said = " ".join(part.rendered.text for part in parts)
    assert [f"word{number}" for number in range(60)] == re.findall(r"word\d+", said)
