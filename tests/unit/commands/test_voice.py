"""`/voice`."""

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest
import sqlalchemy as sa

from agent.voice.config import VoiceConfig
from gateway.access.policy import principal_of
from gateway.commands.base import Reply
from gateway.commands.voice import voice_command
from gateway.store import erasure, people
from gateway.store.tenancy import run_as
from tests.fakes.invocations import invocation, run
from tests.fakes.people import database
from tests.fakes.practice_reader import ANA, add_people

SPEAKS = VoiceConfig(speech_url="http://127.0.0.1:1/v1")


@pytest.fixture
def connection() -> Iterator[sa.Connection]:
    with database() as made:
        add_people(made, ANA)
        yield made


async def reply(connection: sa.Connection, arguments: str = "", config: VoiceConfig | None = SPEAKS) -> Reply:
    person = people.person_of(connection, ANA.user_id)
    assert person is not None
    asked = invocation("voice", arguments, principal_of(person), store=connection)
    return await run(voice_command(config), asked, connection)


async def test_a_person_chooses_and_the_choice_is_kept(connection: sa.Connection) -> None:
    assert "in text only" in (await reply(connection)).text
    chosen = await reply(connection, "On")
    assert chosen.changed.person is not None and chosen.changed.person.wants_voice
    exported = run_as(ANA.tenant, erasure.of_person, connection, ANA.user_id)
    assert '"wants_voice": true' in json.dumps(exported["users"])
    assert "also answer by voice" in (await reply(connection, "perhaps")).text
    assert "text only" in (await reply(connection, "no")).text
    assert "in text only" in (await reply(connection)).text


async def test_without_a_server_it_is_in_no_menu_and_says_what_is_missing(connection: sa.Connection) -> None:
    assert voice_command(None).hidden and voice_command(VoiceConfig()).hidden and not voice_command(SPEAKS).hidden
    assert "Answers by voice are not set up here." == (await reply(connection, "on", None)).text
    owner = invocation("voice", "on", replace(ANA, role="owner"), store=connection)
    assert "`speech_url`" in (await run(voice_command(None), owner, connection)).text
