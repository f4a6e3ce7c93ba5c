"""Search over earlier conversations, as a person meets it."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.testing.gateway import TestGateway
from gateway.testing.model import Call, FakeModel, Reply
from tests.journeys.test_memory import CONFIG, GROUP, tell_of_mornings
from tests.journeys.test_quotes import FROM_BO


def look_for(words: str) -> Reply:
    return Reply(calls=(Call("memory_search", json.dumps({"query": words})),))


def expand(handle: str) -> Reply:
    return Reply(calls=(Call("memory_expand", json.dumps({"handle": handle})),))


def reads_first_hit(words: str, answer: str) -> Callable[[dict[str, object]], Reply]:
    """Return a model that searches, reads the words around the first hit, and answers."""

    def think(body: dict[str, object]) -> Reply:
        if not (result := result_in(body)):
            return look_for(words)
        found = re.findall(r"(?:turn|memory):[\w-]+", result)
        return expand(found[0]) if found else Reply(answer)

    return think


def result_in(body: dict[str, object]) -> str:
    """Return the result of a tool that a request ends with; "" if it ends otherwise."""
    messages = body["messages"]
    assert isinstance(messages, list)
    return str(messages[-1]["content"]) if messages[-1]["role"] == "tool" else ""


def last_result(model: FakeModel) -> str:
    return result_in(model.requests[-1].body)


@pytest.mark.gate
async def test_earlier_talk_is_found_also_from_before_memory_was_switched_on(tmp_path: Path) -> None:
    async with TestGateway(directory=tmp_path) as gateway:
        ada = gateway.person("telegram", 1)
        gateway.model.answers("Rest for two days.", "It is spelled técnica.")
        await ada.say("My knee hurts since the concert in Sevilla.")
        await ada.answer("Rest for two days.")
        await ada.say("And how do I write it?")
        await ada.answer("It is spelled técnica.")
        gateway.platforms["telegram"].say(ada.chat, "Sevilla is remembered forever", extra=FROM_BO)
        await ada.answer()
    async with TestGateway(CONFIG, directory=tmp_path) as gateway:
        ada, bob = gateway.person("telegram", 1), gateway.person("telegram", 2)
        for _ in range(3):
            await ada.say("The new simulator numbers its updates as the one before: these are redeliveries.")
        await ada.say("/new")
        await ada.answer()
        gateway.model.brain = reads_first_hit("SEVILLA knees", "You said that your knee hurts.")
        await ada.say("What did I say of Sevilla?")
        await ada.answer("You said that your knee hurts.")
        found, around = (result_in(request.body) for request in gateway.model.requests[-2:])
        assert re.search(r"turn:[\w-]+ \(\d{4}-\d\d-\d\d, Telegram .*, the person\): My knee hurts since", found)
        assert "is data, not a request" in found and "remembered forever" not in found
        assert "you: Rest for two days." in around and "the person: And how do I write it?" in around
        gateway.model.answers(look_for("tecnica"), "Yes.")
        await ada.say("How was it written?")
        await ada.answer("Yes.")
        assert "you): It is spelled técnica." in last_result(gateway.model)

        handle = re.findall(r"turn:[\w-]+", found)[0]
        gateway.model.answers(look_for("Sevilla knee hurts"), expand(handle), "Nothing.")
        await bob.say("What did Ada say of Sevilla?")
        await bob.answer("Nothing.")
        searched, expanded = (result_in(request.body) for request in gateway.model.requests[-2:])
        assert "Nothing has any of these words" in searched
        assert "There is no such hit" in expanded and "Rest for two days" not in expanded


async def test_a_memory_is_found_and_read_whole_and_nothing_of_it_in_a_group() -> None:
    config = f'{CONFIG}[access.accounts."telegram:main"]\ngroups = "open"\nallow_groups = ["telegram:{GROUP}"]\n'
    async with TestGateway(config) as gateway:
        ada, side = gateway.person("telegram"), gateway.platforms["telegram"]
        await tell_of_mornings(gateway, ada)
        gateway.model.brain = reads_first_hit("loud evening", "They are loud.")
        await ada.say("Why not in the evenings?")
        await ada.answer("They are loud.")
        found, whole = (result_in(request.body) for request in gateway.model.requests[-2:])
        assert re.search(r"memory:mornings \(\d{4}-\d\d-\d\d, memory\): ", found)
        assert "How to apply: plan for the morning." in whole
        side.add_chat(GROUP, "supergroup")
        gateway.model.answers(look_for("loud evening"), "Not here.")
        side.say(GROUP, f"@{side.world.bot().username} why not in the evenings?", person=ada.number)
        await gateway.until(lambda: any("Not here." in each.text for each in side.answers(GROUP)), "the answer")
        assert "In a group nothing is searched" in last_result(gateway.model)
