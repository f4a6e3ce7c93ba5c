"""Markdown as lines of a terminal: its form, its width, and no control character of a stranger."""

import pytest

from channels.markdown.parse import parse
from gateway.terminal.markdown_lines import block_lines, document_lines
from gateway.terminal.styled_lines import columns_of_line, text_of_lines, to_piece, wrap

EVERYTHING = """# Scales

Play **slowly**, with a *metronome*, ~~fast~~ `code`, and read [the guide](https://example.org/scales).

## Order
1. C major
2. A minor
   - natural
   - harmonic, which sounds a little oriental to most ears

| scale | tempo | 日本語 |
|---|---|---|
| A minor harmonic, hands separate | 72 | いいえ |

```python
play("C")
```

> Slow is smooth.

---
日本語のとても長い文章はどこででも折り返すことができます。
"""

ATTACKS = [
    "\x1b[2J",
    "\x1b]0;title\x07",
    "\x9b31m",
    "\x1b]52;c;cm0=\x07",
    "\r",
    "\x08",
    "\x7f",
    "\u202e",
    "\u2066",
    "\x00",
]


def lines_of(markdown: str, columns: int = 60) -> list[str]:
    return text_of_lines(document_lines(parse(markdown), columns)).split("\n")


def test_blocks_have_their_own_form():
    assert ["Scales", "══════"] == lines_of("# Scales")
    assert ["Scales", "──────"] == lines_of("## Scales")
    assert ["Scales"] == lines_of("### Scales")
    assert ["• one", "  ◦ two", "    more", "3. three"] == lines_of("- one\n  - two\n    more\n\n3. three", 9)[
        :3
    ] + lines_of("3. three")
    assert ["╭─ sh", "│ ls", "│ pwd"] == lines_of("```sh\nls\npwd\n```")
    assert ["│ ls"] == lines_of("```\nls\n```")
    assert ["▌ calm"] == lines_of("> calm")
    assert ["─" * 9] == lines_of("---", 9)


def test_styles_are_those_of_the_tree():
    (line,) = block_lines(parse("a **b** *c* `d` ~~e~~")[0], 60)
    assert {("bold", "b"), ("italic", "c"), ("class:code", "d"), ("strike", "e")} <= set(line)


def test_a_link_is_followed_by_its_address_unless_that_is_its_text():
    assert ["see the guide (https://example.org/a) now"] == lines_of("see [the guide](https://example.org/a) now")
    assert ["https://example.org/a"] == lines_of("https://example.org/a")


def test_a_table_takes_the_columns_that_it_has():
    table = "| a | b |\n|---|---|\n| one two three | x |"
    assert ["a             │ b", "──────────────┼──", "one two three │ x"] == lines_of(table)
    assert ["a        │ b", "─────────┼──", "one two  │ x", "three    │"] == lines_of(table, 12)
    many = "|" + "a|" * 9 + "\n|" + "-|" * 9 + "\n|" + "value|" * 9
    assert 9 == len(lines_of(many, 20))  # a line for each cell


@pytest.mark.parametrize("columns", [9, 17, 40, 80])
def test_no_line_is_wider_than_the_terminal(columns: int):
    assert [] == [line for line in document_lines(parse(EVERYTHING), columns) if columns_of_line(line) > columns]


def test_words_keep_what_belongs_to_them_and_long_ones_are_broken():
    assert "one\ntwo." == text_of_lines(wrap([("bold", "one two"), ("", ".")], 6))
    assert "abcd\nefgh\nij k" == text_of_lines(wrap([to_piece("abcdefghij k")], 4))
    assert "日本\n語" == text_of_lines(wrap([to_piece("日本語")], 5))


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_control_character_of_a_message_is_written(attack: str):
    text = f"a {attack}b `{attack}c`\n\n```{attack}x\n{attack}d\n```\n\n| {attack} |\n|---|\n| {attack} |\n\n[l](https://e.org/{attack})"
    shown = "\n".join(lines_of(text))
    assert not set(shown) & (set(attack) - set("[2J]0;title31m52c0="))


def test_of_a_growing_answer_only_the_open_block_is_laid_out_again():
    grown = [parse("First.\n\n- a\n- b\n\n" + "word " * count) for count in (1, 2, 3)]
    document_lines(grown[0], 33)
    before = block_lines.cache_info().misses
    document_lines(grown[1], 33)
    document_lines(grown[2], 33)
    assert before + 2 == block_lines.cache_info().misses
