"""Pairing: a stranger writes, the operator lets them in, they talk."""

import re
from pathlib import Path

import pytest

from gateway.errors import GatewayError
from gateway.testing.model import Reply
from tests.journeys.house import house, said

CODE = re.compile(r"\b[2-9A-HJ-NP-Z]{8}\b")


async def test_a_stranger_is_let_in_by_the_code_they_were_shown(tmp_path: Path) -> None:
    """Cover A23."""
    async with house(tmp_path, access="pairing") as here:
        here.model.answers(Reply("Glad to meet you."), Reply("And again."))
        here.sim.say(5, "hello?")
        shown = await here.told(5, "private")
        code = CODE.findall(shown.text)[0]
        assert 0 == len(here.model.requests)
        assert 1 == len((await here.operator("GET /v1/pairing"))["requests"])
        await here.operator("POST /v1/pairing/approve", {"code": code})
        await here.told(5, "owner")
        await here.told(5, "Glad to meet you.")
        assert ["hello?"] == said(here.model.requests[0].body)
        here.sim.say(5, "hello again")
        await here.told(5, "And again.")
        assert 4 == len(here.texts(5))


async def test_a_code_holds_once_and_a_wrong_one_never(tmp_path: Path) -> None:
    """Cover A38."""
    async with house(tmp_path, access="pairing") as here:
        here.sim.say(5, "hello?")
        code = CODE.findall((await here.told(5, "private")).text)[0]
        wrong = ("A" if code[0] != "A" else "B") + code[1:]
        with pytest.raises(GatewayError, match="that code is not known"):
            await here.operator("POST /v1/pairing/approve", {"code": wrong})
        await here.operator("POST /v1/pairing/approve", {"code": code})
        with pytest.raises(GatewayError, match="used already"):
            await here.operator("POST /v1/pairing/approve", {"code": code})


async def test_a_stranger_who_insists_is_answered_once(tmp_path: Path) -> None:
    """Cover A41."""
    async with house(tmp_path, access="pairing") as here:
        for _ in range(10):
            here.sim.say(6, "let me in")
        await here.told(6, "private")
        await here.settled()
        assert 1 == len(here.texts(6))
        assert 0 == len(here.model.requests)
        assert {"refused"} == {row["outcome"] for row in await here.rows("SELECT outcome FROM inbox")}
