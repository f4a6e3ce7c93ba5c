"""Attacks on buttons of every platform: made up, another person's, changed, repeated, pressed after access ended."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.journeys.streets import STREETS, Street, street

OWNER, OPERATOR, STRANGER = 1, 2, 3
VOID = "no longer valid"


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", STREETS, ids=[kind.name for kind in STREETS])
async def test_a34_only_a_button_of_ours_does_anything_for_whom_it_was_made_once(
    tmp_path: Path, kind: Callable[[], Street]
) -> None:
    async with street(kind, tmp_path) as here:
        await here.let_in(OWNER)
        await here.let_in(OPERATOR, "operator")
        await here.reads(OWNER, "asked to be let in")  # the notice of that request has lost its buttons
        before = await here.roles()
        await here.say(STRANGER, "may I?")
        asked, _, made = await here.reads(OWNER, "asks to be let in")
        own, _, _ = here.seen(OPERATOR)[-1]
        approve, block = made["Approve"], made["Block"]

        hostile = [
            f"block:{here.sender(OWNER)}"[:64],
            f"block:{here.sender(OWNER).rpartition(':')[2]}"[:64],
            approve,  # the owner's
            block.replace("block:", "approve:"),
            approve[:-1] + ("A" if approve[-1] != "A" else "B"),
            "approve:" + approve.split(":")[1],
            "",
            ":::",
        ]
        hostile = [data or "approve" for data in hostile]
        for number, data in enumerate(hostile, 1):
            await here.press(OPERATOR, own, data)
            await here.reads(OPERATOR, VOID, number)
        assert before == await here.roles()
        assert 1 == len((await here.here.operator("GET /v1/pairing"))["requests"])

        await here.here.operator(f"POST /v1/users/{here.sender(OPERATOR)}/role", {"role": "owner"})
        await here.here.operator(f"POST /v1/users/{here.sender(OWNER)}/role", {"role": "member"})
        await here.press(OWNER, asked, approve)
        await here.reads(OWNER, "only an operator decides")
        assert 1 == len((await here.here.operator("GET /v1/pairing"))["requests"])

        await here.here.operator(f"POST /v1/users/{here.sender(OWNER)}/role", {"role": "operator"})
        await here.press(OWNER, asked, approve)
        await here.reads(OWNER, "is in. I have told them")
        await here.press(OWNER, asked, approve)
        await here.reads(OWNER, "used already")
        await here.press(OWNER, asked, block)
        await here.reads(OWNER, "used already", 2)
        expected = {here.sender(OWNER): "operator", here.sender(OPERATOR): "owner", here.sender(STRANGER): "member"}
        assert expected == await here.roles()
