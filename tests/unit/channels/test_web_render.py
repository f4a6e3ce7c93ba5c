"""Answers as HTML: complete, well formed and harmless."""

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.markdown.parse import parse
from channels.messages import Rendered
from channels.web.render import WebRenderer, to_html
from tests.fakes.markdown_documents import Document, documents

WEB = WebRenderer()
VOID = {"hr"}
TAGS = {"p", "h3", "h4", "h5", "h6", "pre", "code", "ul", "ol", "li", "blockquote", "strong", "em", "s", "a"} | {
    "table",
    "tr",
    "th",
    "td",
    "hr",
}
ATTRIBUTES = {"href", "target", "rel", "value", "class", "tabindex", "data-language"}


class Seen(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self.feed(html)
        self.close()
        assert [] == self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert tag == self.open.pop()

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    @property
    def text(self) -> str:
        return "".join(self.words)


def html(markdown: str) -> str:
    return to_html(WEB.render(parse(markdown)))


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("plain", "<p>plain</p>"),
        ("one\n\ntwo", "<p>one</p><p>two</p>"),
        ("one\ntwo", "<p>one\ntwo</p>"),
        ("**a** *b* ~~c~~ `d`", "<p><strong>a</strong> <em>b</em> <s>c</s> <code>d</code></p>"),
        ("# A\n###### B", "<h3>A</h3><h6>B</h6>"),
        ("- a\n- b", "<ul><li><p>a</p></li><li><p>b</p></li></ul>"),
        ("3. a\n4. b", '<ol><li value="3"><p>a</p></li><li value="4"><p>b</p></li></ol>'),
        ("- a\n  - b", "<ul><li><p>a</p><ul><li><p>b</p></li></ul></li></ul>"),
        ("> a\n>\n> b", "<blockquote><p>a</p><p>b</p></blockquote>"),
        ("```python\nx < 1\n```", '<pre tabindex="0" data-language="python"><code>x &lt; 1</code></pre>'),
        ("a\n\n---\n\nb", "<p>a</p><hr><p>b</p>"),
        (
            "| a | b |\n|---|---|\n| 1 | |",
            "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td></td></tr></table>",
        ),
        (
            "[a **b**](https://x.y/a&b)",
            (
                '<p><a href="https://x.y/a&amp;b" target="_blank" rel="noopener noreferrer nofollow">'
                "a <strong>b</strong></a></p>"
            ),
        ),
        ("`ABCD`", '<p><code class="alone">ABCD</code></p>'),
    ],
)
def test_markdown_becomes_html(markdown: str, expected: str):
    assert expected == html(markdown)


@pytest.mark.parametrize(
    "attack",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "[x](data:text/html,x)",
        "![x](https://evil.example/pixel.png)",
        "</p><svg onload=alert(1)>",
        '[x](https://a"onmouseover="alert(1))',
        '```"><script>\nx\n```',
        "`</code><script>`",
        "| <b> |\n|---|\n| </td><script> |",
        "<!-- -->",
        "&lt;script&gt;",
        "[x](vbscript:x)",
        "[x](//evil.example)",
        '<https://evil.example/"><script>>',
        """[x](HTTPS://A.B 'x"><i>')""",
    ],
)
def test_nothing_said_can_act(attack: str):
    """Cover A54, A59, A68."""
    for text in (html(attack), to_html(Rendered(attack)), to_html(WEB.plain(attack))):
        seen = Seen(text)
        assert set() == seen.tags - TAGS
        assert set() == {name for name, _ in seen.attributes} - ATTRIBUTES
        links = [value or "" for name, value in seen.attributes if name == "href"]
        assert [] == [link for link in links if not link.lower().startswith(("http://", "https://"))]


def test_text_put_behind_goes_on_in_the_last_paragraph():
    for markdown, expected in [
        ("plain", "<p>plain …</p>"),
        ("**a** b", "<p><strong>a</strong> b …</p>"),
        ("**a**", "<p><strong>a</strong> …</p>"),
        ("- a\n- **b**", "<ul><li><p>a</p></li><li><p><strong>b</strong> …</p></li></ul>"),
        ("> **a**", "<blockquote><p><strong>a</strong> …</p></blockquote>"),
        ("```\nx\n```", '<pre tabindex="0"><code>x</code></pre><p>…</p>'),
        ("# a", "<h3>a …</h3>"),
    ]:
        rendered = WEB.render(parse(markdown))
        assert expected == to_html(Rendered(rendered.text + " …", rendered.markup))


def test_text_exchanged_in_place_is_shown_in_place():
    rendered = WEB.render(parse("Your code:\n\n`••••••••`\n\nBye **now**."))
    filled = Rendered(rendered.text.replace("••••••••", "ABCD2345"), rendered.markup)
    assert '<p>Your code:</p><p><code class="alone">ABCD2345</code></p><p>Bye <strong>now</strong>.</p>' == to_html(
        filled
    )


@given(documents())
def test_every_word_is_there_and_every_tag_closes(document: Document):
    seen = Seen(html(document.text))
    assert set() == seen.tags - TAGS
    at = 0
    for word in document.words:
        at = seen.text.find(word, at)
        assert at >= 0, word
        at += len(word)


@given(st.text(max_size=500))
def test_any_text_is_safe_as_markdown_and_as_it_is(text: str):
    for rendered in (WEB.render(parse(text)), WEB.plain(text)):
        seen = Seen(to_html(Rendered(rendered.text + " …", rendered.markup)))
        assert set() == seen.tags - TAGS
        assert seen.text.rstrip().endswith("…")
