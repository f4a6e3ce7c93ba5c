"""The tree as lines of text: bullets, indentation, tables, and marks that nest."""

from itertools import combinations

import pytest
from hypothesis import HealthCheck, given, settings

from channels.markdown.layout import Look, lay_out, plain_text, rows_as_paragraphs
from channels.markdown.parse import parse
from channels.markdown.tree import Table
from tests.fakes.amounts import share
from tests.fakes.markdown_documents import Document, documents


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("# Title\n\none\ntwo\n\nthree", "Title\n\none\ntwo\n\nthree"),
        ("- a\n- b\n  - c\n    - d\n      - e", "• a\n• b\n  ◦ c\n    ▪ d\n      ▪ e"),
        ("9. a\n10. b\n\n    c", "9. a\n10. b\n    c"),
        ("- one\n  two\n\n  three", "• one\n  two\n  three"),
        ("- ```py\n  x\n  ```\n-\n- b", "• \n  x\n• \n• b"),
        ("> a\n>\n> > b\n> > c\n>\n> d", "a\n\n> b\n> c\n\nd"),
        ("a\n\n---\n\nb", "a\n\n──────────\n\nb"),
        ("    x\n    \ty", "x\n    y"),
    ],
)
def test_blocks_are_laid_out_as_people_write_chat(markdown, text):
    assert text == plain_text(parse(markdown))


def test_a_narrow_table_stands_in_columns():
    table = "| Day | What |\n|---|---|\n| Mon | 日本語 |\n| 👍 | b |"
    assert "Day | What\n----+-------\nMon | 日本語\n👍  | b" == plain_text(parse(table))


def test_a_wide_table_is_told_cell_by_cell():
    table = "| Day | What |\n|---|---|\n| Mon | " + "word " * 10 + "|\n| Tue | |"
    assert "Day: Mon\nWhat: " + "word " * 9 + "word\n\nDay: Tue" == plain_text(parse(table))


def test_a_table_with_links_keeps_them():
    laid = lay_out(parse("| a | b |\n|---|---|\n| 1 | [l](https://x.y) |"))
    assert "a: 1\nb: l" == laid.text
    assert ["https://x.y"] == [mark.detail for mark in laid.marks if mark.look is Look.LINK]


def test_a_table_without_rows_or_titles_says_what_it_has():
    assert "a | b\n--+--" == plain_text(parse("| a | b |\n|---|---|"))
    assert "1 | 2" == plain_text(parse("| | |\n|---|---|\n| 1 | 2 |"))
    (table,) = parse("| a | b |\n|---|---|")
    assert isinstance(table, Table)
    assert "a | b" == plain_text(rows_as_paragraphs(table))


@settings(max_examples=share(80), deadline=None, suppress_health_check=list(HealthCheck))
@given(documents())
def test_marks_are_apart_or_inside_one_another(document: Document):
    text, marks = lay_out(parse(document.text))
    assert all(0 <= mark.start < mark.end <= len(text) for mark in marks)
    for one, other in combinations(sorted(marks, key=lambda mark: (mark.start, -mark.end)), 2):
        assert other.start >= one.end or other.end <= one.end
        if other.start < one.end and (one.start, one.end) != (other.start, other.end):
            assert one.look not in (Look.CODE, Look.CODE_BLOCK)
