"""The Markdown reader: blocks, plain text, and shortcuts that agree with the parser."""

import time

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from channels.markdown.inline import PLAIN_CHARS, hides, parsed_spans, read_spans
from channels.markdown.layout import plain_text
from channels.markdown.parse import parse
from channels.markdown.tree import (
    CodeBlock,
    Heading,
    ListBlock,
    ListItem,
    Paragraph,
    Quote,
    Rule,
    Span,
    Style,
    Table,
    clean,
    text_of,
)
from tests.fakes.amounts import share

EVIL = "https://evil.example"


@pytest.mark.parametrize(
    ("label", "url"),
    [
        ("the method", "https://example.org/method"),
        ("example.org", "https://example.org/"),
        ("www.Example.org", "https://EXAMPLE.org/a"),
        ("see https://example.org/a for more", "https://example.org/b"),
        ("chapter 3.2", "https://example.org/"),
        ("https://example.org/?q=1", "https://example.org/?q=1"),
        ("10.0.0.1", "http://10.0.0.1/"),
        ("page", "https://example.org/" + "x" * (PLAIN_CHARS - 1)),
    ],
)
def test_a_link_that_says_where_it_leads_keeps_its_words(label: str, url: str):
    assert not hides(label, url)


@pytest.mark.parametrize(
    ("label", "url"),
    [
        ("paypal.com", EVIL),
        ("https://paypal.com/login", f"{EVIL}/login"),
        ("pay\u200bpal.com", EVIL),
        ("paypal\u3002com", EVIL),
        ("paypal\uff0ecom", EVIL),
        ("evil.example or paypal.com", EVIL),
        ("paypal.com", "https://paypal.com.evil.example/"),
        ("paypal.com", "https://paypal.com@evil.example/"),
        ("paypal.com", "https://paypal.com\\@evil.example/"),
        ("раypal.com", "https://xn--ypal-43d9g.com/"),
        ("192.168.0.1", EVIL),
        ("more", f"{EVIL}/?q=what+you+said"),
        ("more", f"{EVIL}/#what-you-said"),
        ("more", f"{EVIL}/;what-you-said"),
        ("more", f"{EVIL}/" + "x" * PLAIN_CHARS),
        ("more", "https://" + "d4ta." * 20 + "evil.example"),
        ("more", "https://what-you-said@evil.example"),
    ],
)
def test_a_link_that_misleads_or_carries_shows_its_address(label: str, url: str):
    assert hides(label, url)


@pytest.mark.parametrize(
    ("markdown", "seen"),
    [
        (f"[paypal.com]({EVIL}/) now", f"paypal.com ({EVIL}/) now"),
        (f"[**pay** `now`]({EVIL}/?q=1)", f"pay now ({EVIL}/?q=1)"),
        (f"![chart]({EVIL}/?q=1)", f"chart ({EVIL}/?q=1)"),
        (f"![]({EVIL}/?q=1)", f"{EVIL}/?q=1"),
        (f"[![chart](https://a.b/x.png)]({EVIL}/?q=1)", f"chart ({EVIL}/?q=1)"),
        (f"[{EVIL}/?q=1]({EVIL}/?q=1)", f"{EVIL}/?q=1"),
        ("[the method](https://example.org/method)", "the method"),
        (f"| a |\n|---|\n| [x]({EVIL}/?q=1) |", f"a: x ({EVIL}/?q=1)"),
    ],
)
def test_the_address_stands_behind_the_words(markdown: str, seen: str):
    assert seen == plain_text(parse(markdown))
    (block,) = parse(markdown)
    linked = [span for span in getattr(block, "spans", ()) if span.link is not None]
    assert [] == [span for span in linked if span.text not in {span.link, "the method"}]


GENERATED = settings(max_examples=share(400), deadline=None, suppress_health_check=list(HealthCheck))


def said(text: str) -> Paragraph:
    return Paragraph((Span(text),))


class TestBlocks:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("one\ntwo\n\nthree", (said("one\ntwo"), said("three"))),
            ("# Title\n\ntext", (Heading(1, (Span("Title"),)), said("text"))),
            ("### Title ###", (Heading(3, (Span("Title"),)),)),
            ("```python\nx = 1\n\ny\n```", (CodeBlock("python", "x = 1\n\ny"),)),
            ("~~~\nx\n~~~", (CodeBlock("", "x"),)),
            ("```c++\nstill open", (CodeBlock("c++", "still open"),)),
            ("````\n```py\nx\n```\n````", (CodeBlock("", "```py\nx\n```"),)),
            ("    indented\n      code", (CodeBlock("", "indented\n  code"),)),
            ("> one\n> > two", (Quote((said("one"), Quote((said("two"),)))),)),
            ("a\n\n---\n\nb", (said("a"), Rule(), said("b"))),
            ("- a\n- b", (ListBlock((ListItem((said("a"),)), ListItem((said("b"),)))),)),
            ("- a\n  - b", (ListBlock((ListItem((said("a"), ListBlock((ListItem((said("b"),)),)))),)),)),
            (
                "| a | b |\n|:--|--:|\n| 1 | 2 |",
                (Table(((Span("a"),), (Span("b"),)), (((Span("1"),), (Span("2"),)),)),),
            ),
        ],
    )
    def test_a_block_is_read(self, text, expected):
        assert expected == parse(text)

    @pytest.mark.parametrize(
        ("text", "numbers"),
        [
            ("1. a\n1. b\n1. c", [1, 2, 3]),
            ("4. a\n5. b", [4, 5]),
            ("2019. a\n2021. b", [2019, 2021]),
            ("3) a\n2) b", [3, 4]),
        ],
    )
    def test_numbers_of_a_list_are_those_written(self, text, numbers):
        (block,) = parse(text)
        assert isinstance(block, ListBlock)
        assert numbers == [item.number for item in block.items]

    def test_cells_beyond_the_last_column_are_kept(self):
        (table,) = parse("| a | b |\n|---|---|\n| 1 | 2 | 3 | 4 |\n| 5 |")
        assert isinstance(table, Table)
        assert [["1", "2 | 3 | 4"], ["5", ""]] == [[text_of(cell) for cell in row] for row in table.rows]

    def test_words_after_a_fence_are_kept(self):
        assert (CodeBlock("python", "title=x.py\nx"),) == parse("```python title=x.py\nx\n```")
        assert (CodeBlock("", "→ this way\nx"),) == parse("```→ this way\nx\n```")

    @pytest.mark.parametrize("text", ["", " \n\n\t", "\0\x07"])
    def test_nothing_is_no_block(self, text):
        assert () == parse(text)


class TestSpans:
    """Emphasis, code, links and images inside a line."""

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("**a** b", [("a", Style.BOLD, None), (" b", 0, None)]),
            ("*a* _b_", [("a", Style.ITALIC, None), (" ", 0, None), ("b", Style.ITALIC, None)]),
            ("~~a~~", [("a", Style.STRIKE, None)]),
            ("***a***", [("a", Style.BOLD | Style.ITALIC, None)]),
            ("**a `b`**", [("a ", Style.BOLD, None), ("b", Style.BOLD | Style.CODE, None)]),
            ("`` a`b ``", [("a`b", Style.CODE, None)]),
            ("snake_case_name 2 * 3 * 4", [("snake_case_name 2 * 3 * 4", 0, None)]),
            ("a\\*b\\*", [("a*b*", 0, None)]),
            ("&lt;b&gt; &amp; R&D", [("<b> & R&D", 0, None)]),
            ("one\\\ntwo  \nthree", [("one\ntwo\nthree", 0, None)]),
            ("[a **b**](https://x.y)", [("a ", 0, "https://x.y"), ("b", Style.BOLD, "https://x.y")]),
            ("<https://x.y>", [("https://x.y", 0, "https://x.y")]),
            ("[](https://x.y)", [("https://x.y", 0, "https://x.y")]),
            ('[a](HTTP://x.y/a_(b) "title")', [("a", 0, "http://x.y/a_(b)")]),
            ("[a](<https://x.y/a b>)", [("a", 0, "https://x.y/a%20b")]),
            ("![alt](https://x.y/i.png)", [("alt", 0, "https://x.y/i.png")]),
            ("[![alt](https://x.y/i.png)](https://z.y)", [("alt", 0, "https://z.y")]),
            ("[write](mailto:a@b.de) to <c@d.de>", [("write (a@b.de) to c@d.de", 0, None)]),
        ],
    )
    def test_a_line_is_read(self, text, expected):
        (paragraph,) = parse(text)
        assert isinstance(paragraph, Paragraph)
        assert expected == [(span.text, span.style, span.link) for span in paragraph.spans]

    @pytest.mark.parametrize(
        ("text", "label"),
        [
            ("[a](javascript:alert(1))", "a"),
            ("[a](JavaScript&#58;alert)", "a"),
            ("[a](data:text/html;base64,AAAA)", "a"),
            ("![a](file:///etc/passwd)", "a"),
            ("[a](tg://user?id=1)", "a"),
            ("[a](vbscript:x)", "a"),
            ("[a](//host/x)", "a"),
            ("[a](docs/page.md)", "a"),
            ("[a](http://)", "a"),
            ("[a](https://" + "x" * 3000 + ")", "a"),
            ("<tg://user?id=1>", "<tg://user?id=1>"),
            ("std::map<std:string>", "std::map<std:string>"),
        ],
    )
    def test_a_link_to_anything_but_the_web_is_its_label(self, text, label):
        """Cover A68."""
        assert (said(label),) == parse(text)

    @pytest.mark.parametrize(
        "text",
        [
            "List<String>",
            "a<b and c>d",
            "<b>x</b>",
            "<!-- x -->",
            "<div>\nx\n</div>",
            "</tool_result>",
            "[r]: http://x.y",
            "[a][r]",
        ],
    )
    def test_html_and_definitions_stay_text(self, text):
        """Cover A57."""
        assert text == plain_text(parse(text))


EASY_AND_NOT = st.text(st.sampled_from("ab 1é😀.,:(*_`[]~&<\\!\n"), min_size=1, max_size=30)
WORDS = st.lists(
    st.tuples(
        st.sampled_from(["", "(", "-", "x", '"']),
        st.sampled_from(["**", "*", "`", "_", "__", ""]),
        st.sampled_from(["a", "a b", "a:", "(a", " a", "é"]),
        st.sampled_from(["", ",", "b", ")", "s"]),
    ),
    min_size=1,
    max_size=6,
).map(lambda words: " ".join(before + sign + word + sign + after for before, sign, word, after in words))


class TestShortcuts:
    parser = MarkdownIt("commonmark", {"html": False}).enable("strikethrough").disable(["html_inline", "reference"])

    @GENERATED
    @given(text=st.one_of(EASY_AND_NOT, WORDS))
    @example(text="**Goal:** x")
    @example(text="`a`**b**")
    @example(text="a**b**c")
    @example(text="** a**")
    @example(text="` a ` `  `")
    def test_an_easy_line_has_the_spans_the_parser_gives(self, text):
        text = text.strip()
        if text:
            assert flat(parsed_spans(text, self.parser)) == flat(read_spans(text, self.parser))

    @GENERATED
    @given(text=st.text(st.sampled_from("ab 1.-+#>|é😀\n\t=~!]"), min_size=1, max_size=60))
    def test_text_without_syntax_is_the_paragraphs_the_parser_gives(self, text):
        assume("~~" not in text)  # that is syntax
        blocks = parse(text)
        if all(isinstance(block, Paragraph) for block in blocks):
            oracle = MarkdownIt("commonmark").enable("table").disable("reference").parse(clean(text))
            expected = [token.content.split() for token in oracle if token.type == "inline" and token.content]
            if expected:
                assert expected == [text_of(block.spans).split() for block in blocks if isinstance(block, Paragraph)]


def flat(spans) -> list[tuple[str, int, str | None]]:
    return [(char, span.style, span.link) for span in spans for char in span.text]


class TestBounds:
    @pytest.mark.parametrize(
        "text",
        [
            "[" * 5000,
            "[a](" * 20_000,
            "![[" * 20_000,
            "*a _b " * 20_000,
            "- a\n" * 20_000,
            ">" * 300 + " deep",
            "1. " * 200 + "deep",
            "~~a" * 20_000,
        ],
        ids=lambda text: text[:6],
    )
    def test_nothing_is_lost_and_little_time_spent(self, text):
        began = time.process_time()
        blocks = parse(text)
        assert time.process_time() - began < 4, "measured: under 0.2 s; the rest is for a busy machine"
        assert text.split() == plain_text(blocks).split()


class TestClean:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("a\0b", "ab"),
            ("a\ud83d", "a\ufffd"),
            ("\ud83d\ude00", "😀"),
            ("a\r\nb\rc\u2028d", "a\nb\nc\nd"),
            ("\x1b[31mred", "[31mred"),
            ("safe\u202etxt.exe", "safetxt.exe"),
            ("tab\tand 👨\u200d👩\u200d👧 stay", "tab\tand 👨\u200d👩\u200d👧 stay"),
        ],
    )
    def test_what_harms_is_taken_out(self, text, expected):
        """Cover F40, A55, A67."""
        assert expected == clean(text)

    @given(st.text())
    def test_clean_text_is_left_as_it_is(self, text):
        assert clean(clean(text)) == clean(text)
        clean(text).encode()
