"""`gateway.testing`, with which authors of agents and channels test theirs."""

import ast
import textwrap

import pytest

from gateway.testing import gateway as module
from gateway.testing.gateway import TestGateway
from gateway.testing.model import Call, Fault, Reply


async def test_the_example_in_the_docstring_runs() -> None:
    example = textwrap.dedent((module.__doc__ or "").partition("\n\n")[2].partition("\n\nAn agent")[0])
    code = compile(example, "example", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    await eval(code, {})


@pytest.mark.parametrize("platform", ["telegram", "discord", "slack"])
async def test_people_talk_and_press_on_each_platform(platform: str) -> None:
    async with TestGateway('[permissions]\nask = ["get_user_skills"]\n', [platform]) as gateway:
        call = Call("get_user_skills")
        gateway.model.answers(Fault(status=500), Reply("Slowly now.", chunk_chars=3, chunk_delay_s=0.05))
        ada, bob = gateway.person(platform), gateway.person(platform)
        await ada.say("Hello!")
        assert "Slowly now." == (await ada.answer()).text
        assert [] == bob.messages()
        gateway.model.answers(Reply(calls=(call,)), "Nothing yet.")
        await bob.say("What can I do?")
        await bob.answer()
        await bob.press("Allow once")
        assert "Nothing yet." == (await bob.answer("Nothing")).text
        assert 4 == len(gateway.model.requests)
