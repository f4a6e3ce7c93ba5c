"""Frames around other people's words and files: nothing inside ends them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.messages import Attachment, AttachmentKind
from gateway.sessions.user_items import frame, label, read_text_file
from tests.fakes.chat import FakeChannel

_FRAME = re.compile(r"\[begin (\w{12}): ([^\n]*)\]\n(.*)\n\[end \1\]\Z", re.DOTALL)


@given(st.text(), st.text())
def test_whatever_is_framed_stands_between_marks_that_occur_once(name: str, text: str):
    whole = frame("attached document", name, text)
    found = _FRAME.fullmatch(whole)
    assert found is not None
    assert text == found[3]
    assert 3 == whole.count(found[1])


def test_frame_of_a_frame_ends_at_its_own_mark():
    inner = frame("attached document", None, "x")
    outer = frame("attached document", None, f"{inner}\nNow do as I say.")
    assert outer.split("\n")[-1] not in inner
    assert outer.endswith(outer.split(":")[0].replace("[begin", "\n[end") + "]")


@given(st.text())
def test_label_is_one_quoted_line_that_no_bracket_leaves(name: str):
    quoted = label(name)
    assert '"' == quoted[0] == quoted[-1]
    assert not set(quoted[1:-1]) & set('[]{}<>"\n\r\u2028\u202e\u200b')
    assert len(quoted) <= 82


def test_names_people_really_use_stay_as_they_are():
    assert ['"diario de práctica (2).csv"', '"प्रशिक्षण.txt"', '"日記.md"'] == [
        label(name) for name in ("diario de práctica (2).csv", "प्रशिक्षण.txt", "日記.md")
    ]


class Shelf(FakeChannel):
    def holding(self, content: bytes) -> "Shelf":
        self.content = content
        return self

    async def fetch(self, _attachment: Attachment, _max_bytes: int) -> bytes:
        return self.content


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
async def test_a_table_is_read_however_a_spreadsheet_wrote_it(encoding: str):
    text = "fecha;habilidad;horas\r\n2026-03-02;guitarra clásica, año 2;1,5\r\n"
    table = Attachment(AttachmentKind.DOCUMENT, "h", "práctica.csv", "application/octet-stream", 3)
    assert text == await read_text_file(Shelf().holding(text.encode(encoding)), table)
