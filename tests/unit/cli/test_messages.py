"""The tables of `tenk inbox` and `tenk outbox`, and their actions."""

from pathlib import Path

import pytest

from gateway.cli.client import home_of
from gateway.cli.messages import OUT_COLUMNS, part_lines
from gateway.cli.tables import json_text, table_lines
from gateway.errors import GatewayError
from gateway.operators.models import InboxQuery, OutboxQuery
from gateway.operators.process import DetachedProcess
from gateway.operators.service import Operators
from tests.fakes.spine import NOON, quick_store
from tests.unit.cli.test_cli import tenk

PART = {
    "id": 1234,
    "state": "unknown",
    "account": "telegram:main",
    "chat": "42",
    "thread": None,
    "name": "An\x1b[2Ja",
    "cause": "0190aaaa-0000-7000-8000-0000deadbeef.1",
    "part": 0,
    "action": "send",
    "attempts": 2,
    "maybe_doubled": True,
    "platform_id": None,
    "error": "timed out",
    "parked": None,
    "created_at": "2026-03-02T12:00:00Z",
    "not_before": None,
    "done_at": "2026-03-02T12:00:09Z",
}


def test_the_outbox_is_a_table_whose_names_move_no_cursor() -> None:
    header, line = table_lines([PART], OUT_COLUMNS)
    assert "NUMBER AT (UTC) ACCOUNT CHAT TO ANSWERS PART STATE TRIES WHY" == " ".join(header.split())
    shown = "An\\x1b[2Ja  turn deadbeef  1     unknown      2  timed out"
    assert f"1234    2026-03-02 12:00  telegram:main  42    {shown}" == line
    assert '["\\u009b2J \\u202e ñ"]' == json_text(["\x9b2J \u202e ñ"])
    assert '[\n "a\\nb"\n]' == json_text(["a\nb"], indent=1)


def test_an_unknown_part_is_shown_with_what_it_may_lead_to() -> None:
    lines = part_lines(PART, "hello\x07\nthere")
    assert "name: An\\x1b[2Ja" in lines
    assert ["", "hello\\x07", "there", ""] == lines[-6:-2]
    assert "may have arrived" in lines[-2]
    assert "outbox discard 1234" in lines[-1]
    assert "To resend it" not in " ".join(part_lines(PART | {"state": "sent"}, None))


def test_without_a_store_there_is_nothing_to_look_at(tmp_path: Path) -> None:
    done = tenk("outbox", "retry", "--dead", home=tmp_path)
    assert (1, True) == (done.returncode, "no gateway has run on this home" in done.stderr)
    assert not (tmp_path / "var").exists()
    assert 0 == tenk("db", "upgrade", home=tmp_path).returncode
    assert "no part of the outbox has the id 7" in tenk("outbox", "discard", "7", home=tmp_path).stderr


async def test_what_cannot_be_asked_is_told_with_what_can(tmp_path: Path) -> None:
    store = await quick_store(tmp_path / "tenk.db")
    operators = Operators(store, b"", lambda: NOON, DetachedProcess())
    try:
        with pytest.raises(GatewayError, match="there are: open, answered"):
            await operators.list_inbox("cli", InboxQuery(outcome="lost"))
        with pytest.raises(GatewayError, match="there are: ready, sending"):
            await operators.list_outbox("cli", OutboxQuery(state="dead,lost"))
        with pytest.raises(GatewayError, match="no part of the outbox has the id 7"):
            await operators.show_part("cli", 7)
    finally:
        await store.aclose()


def test_the_home_is_found_without_the_settings(tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    assert Path("/h") == home_of(file, {"TENK_HOME": " /h "})
    assert None is home_of(file, {})
    file.write_text("[gateway]\nhome = 'mine'\n")
    assert Path("mine") == home_of(file, {"TENK_HOME": " "})
    (tmp_path / "secrets.toml").write_text("[gateway]\nhome = 'apart'\n")
    assert Path("apart") == home_of(file, {})
    for bad in ("[gateway]\nhome = 3\n", "gateway = 3\n"):
        file.write_text(bad)
        (tmp_path / "secrets.toml").write_text("")
        assert None is home_of(file, {})
