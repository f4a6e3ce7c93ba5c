"""Several agents in one tenant: each answers in its own conversations, chosen by group, account or person."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gateway.errors import GatewayError
from gateway.testing.model import Reply
from tests.journeys.house import House, house, said
from tests.journeys.test_forgetting import until_done
from tests.journeys.test_memory import call_memory

ANA, BEA = 1, 2
SEEN = "an update that the earlier gateway read"  # the new simulator counts from one again
GROUPS = '[access.accounts."telegram:main"]\ngroups = "open"\nallow_groups = ["telegram:-1000000000077"]\n'
HOST = '[agent.groups]\n"telegram:-1000000000077" = "host"\n'

FINDER = "---\ndescription: Finds things out\ntools: [log_practice]\nsteps: 3\n---\nYou are the finder.\n"
HOSTS = "---\ndescription: Welcomes people\ntools: []\n---\nYou are the host.\n"


def write_agents(directory: Path, **files: str) -> None:
    (directory / "agents").mkdir(exist_ok=True)
    for name, text in files.items():
        (directory / "agents" / f"{name}.md").write_text(text)


def who(body: dict[str, Any]) -> str:
    """Return which agent the model was to be."""
    prompt = str(body["messages"][0]["content"])
    return next((name for name in ("finder", "host") if f"You are the {name}." in prompt), "coach")


def tell_who(body: dict[str, Any]) -> Reply:
    return Reply(f"{who(body)}: {' + '.join(said(body))}")


async def ask(here: House, chat: int, text: str, person: int = ANA) -> tuple[str, list[str]]:
    """Write to the bot; return who answered, and all that this agent knows people said."""
    before = len(here.model.requests)
    answer = f"Answer to {text.rsplit(maxsplit=1)[-1]}"
    here.model.answers(Reply(answer))
    here.sim.say(chat, text, person=person)
    await here.told(chat, answer)
    await here.settled()
    body = here.model.requests[before].body
    return who(body), said(body)


async def command(here: House, chat: int, text: str, words: str, person: int = ANA) -> str:
    before = len(here.texts(chat))
    here.sim.say(chat, text, person=person)
    await here.until(lambda: any(words in told for told in here.texts(chat)[before:]), words)
    await here.settled()
    return here.texts(chat)[-1]


async def test_each_agent_remembers_its_own_conversation_also_after_a_restart(tmp_path: Path) -> None:
    write_agents(tmp_path, finder=FINDER, host=HOSTS)
    async with house(tmp_path, config=GROUPS + HOST) as here:
        room = here.sim.room(77)
        mention = here.sim.mention
        assert "ready: coach, finder, host" == (await here.operator("GET /v1/status"))["capabilities"]["agents"]
        assert ("coach", ["one"]) == await ask(here, ANA, "one")
        assert "coach: TenK Coach\n• finder: Finds things out\n" in await command(here, ANA, "/agent", "finder")
        await command(here, ANA, "/agent finder", "finder answers")
        assert ("finder", ["two"]) == await ask(here, ANA, "two")
        name, heard = await ask(here, room, f"{mention} three")
        assert "host" == name and 1 == len(heard) and "three" in heard[0]
        assert ("coach", ["four"]) == await ask(here, BEA, "four", BEA)
    async with house(tmp_path, config=GROUPS + HOST) as here:
        for _ in range(7):  # six messages, and that it is in the group
            here.sim.say(ANA, SEEN)
        assert ("finder", ["two", "five"]) == await ask(here, ANA, "five")
        await command(here, ANA, "/agent coach", "coach answers")
        assert ("coach", ["one", "six"]) == await ask(here, ANA, "six")
        keys = {row["key"] for row in await here.rows("SELECT key FROM sessions")}
        assert {
            f"agent:{name}:telegram:main:direct:{ANA}" for name in ("coach", "finder")
        } <= keys and f"agent:host:telegram:main:group:{room}" in keys


@pytest.mark.gate
async def test_a_message_that_waits_stays_with_the_agent_to_which_it_was_said(tmp_path: Path) -> None:
    write_agents(tmp_path, finder=FINDER)
    async with house(tmp_path) as here:
        here.model.brain = lambda body: replace(tell_who(body), delay_s=0.3)
        await command(here, ANA, "/mode followup", "wait")
        here.sim.say(ANA, "one")
        await here.asked(1)
        waits = here.sim.say(ANA, "two")
        here.sim.say(ANA, "/agent finder")
        await here.told(ANA, "finder answers")
        here.sim.say(ANA, "three")
        here.sim.edit(ANA, waits, "two, edited")
        await here.told(ANA, "finder: three")
        await here.settled()
        assert any(text.startswith("coach: one + ") and text.endswith("two, edited") for text in here.texts(ANA))
        assert not [text for text in here.texts(ANA) if "finder" in text and "two" in text]


async def test_an_account_has_its_agent_and_operators_choose_for_a_group(tmp_path: Path) -> None:
    write_agents(tmp_path, finder=FINDER, host=HOSTS)
    config = GROUPS + '[agent.accounts]\n"telegram:main" = "host"\n'
    async with house(tmp_path, config=config) as here:
        assert "host" == (await ask(here, ANA, "one"))[0]
        room, mention = here.sim.room(77), here.sim.mention
        await command(here, room, "/agent finder", "Here operators choose")
        await here.operator("POST /v1/users/telegram:1/role", {"role": "operator"})
        await command(here, room, "/agent finder", "finder answers in this channel")
        assert "finder" == (await ask(here, room, f"{mention} two", BEA))[0]
        assert "host" == (await ask(here, BEA, "three", BEA))[0]


@pytest.mark.gate
async def test_an_agent_has_its_own_tools_and_a_reload_takes_up_its_file(tmp_path: Path) -> None:
    write_agents(tmp_path, finder=FINDER)
    async with house(tmp_path) as here:
        await command(here, ANA, "/agent finder", "finder answers")
        await ask(here, ANA, "one")
        assert ["log_practice"] == [tool["function"]["name"] for tool in here.model.requests[-1].body["tools"]]
        write_agents(tmp_path, finder=FINDER.replace("[log_practice]", "[]").replace("the finder", "the host"))
        assert ["agents.finder"] == (await here.operator("POST /v1/reload"))["in_force"]
        name, heard = await ask(here, ANA, "two")
        assert ("host", ["one", "two"]) == (name, heard)
        assert not here.model.requests[-1].body.get("tools")
        write_agents(tmp_path, finder=FINDER.replace("steps", "stesp"))
        with pytest.raises(GatewayError, match=r'finder.md:4: stesp: there is no such key; did you mean "steps"'):
            await here.operator("POST /v1/reload")
        assert "host" == (await ask(here, ANA, "three"))[0]
        menu = here.sim.world.bot().commands
        assert "agent" in [each["command"] for each in menu["es"]]
        (tmp_path / "agents" / "finder.md").unlink()
        await here.operator("POST /v1/reload")
        await here.until(lambda: "agent" not in [each["command"] for each in menu["es"]], "the menu without /agent")
        assert ("coach", ["four"]) == await ask(here, ANA, "four")


async def test_an_agent_recalls_what_was_told_to_it_alone(tmp_path: Path) -> None:
    write_agents(tmp_path, finder=FINDER.replace("[log_practice]", "[memory]"))
    async with house(tmp_path, config="[memory]\n") as here:
        here.model.answers(call_memory(), Reply("I will plan for the morning."))
        here.sim.say(ANA, "Mornings work better for me.")
        await here.told(ANA, "I will plan")
        for agent, is_known in (("finder", False), ("coach", True)):
            await command(here, ANA, f"/agent {agent}", f"{agent} answers")
            await command(here, ANA, "/new", "")
            assert agent == (await ask(here, ANA, f"Should I practise in the morning as the {agent}"))[0]
            assert is_known == ("Mornings work better than evenings." in str(here.model.requests[-1].body))


@pytest.mark.gate
async def test_what_is_forgotten_with_one_agent_is_forgotten_with_all(tmp_path: Path) -> None:
    write_agents(tmp_path, finder=FINDER)
    async with house(tmp_path) as here:
        await ask(here, ANA, "Zanzibar")
        await command(here, ANA, "/agent finder", "finder answers")
        await ask(here, ANA, "Tombuctu")
        await command(here, ANA, "/forget talk yes", "our conversations are deleted")
        await until_done(here)
        assert ("finder", ["hello"]) == await ask(here, ANA, "hello")
        await command(here, ANA, "/agent coach", "coach answers")
        assert ("coach", ["again"]) == await ask(here, ANA, "again")
