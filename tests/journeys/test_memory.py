"""Memory as a person meets it: what they tell is known in later conversations, and is theirs to see and to forget."""

import json

from gateway.testing.gateway import TestGateway
from gateway.testing.model import Call, Reply

CONFIG = "[memory]\n"

MORNINGS = {
    "action": "save",
    "name": "mornings",
    "type": "feedback",
    "description": "Practises best in the morning before work",
    "body": "Mornings work better than evenings.\nWhy: the evenings are loud.\nHow to apply: plan for the morning.",
}


def save(**changed: str) -> Reply:
    return Reply(calls=(Call("memory", json.dumps(MORNINGS | changed)),))


def said_to_model(gateway: TestGateway) -> tuple[str, str]:
    """Return the instructions and the last message of the last request."""
    messages = gateway.model.requests[-1].body["messages"]
    spoken = [message for message in messages if message["role"] == "user"]
    return str(messages[0]["content"]), str(spoken[-1]["content"])


async def test_what_a_person_tells_is_recalled_in_the_next_conversation() -> None:
    async with TestGateway(CONFIG) as gateway:
        ada = gateway.person("telegram")
        gateway.model.answers(save(), "I will plan for the morning.")
        await ada.say("Mornings work better for me, the evenings are loud.")
        await ada.answer("I will plan for the morning.")
        await ada.say("/new")
        await ada.answer()
        await ada.say("When should I practise, in the morning or later?")
        await ada.answer("A short answer.")
        prompt, heard = said_to_model(gateway)
        assert "- mornings.md (feedback, " in prompt
        assert "less than a day old; the person said it" in heard
        assert "Mornings work better than evenings." in heard
        await ada.say("Thank you!")
        await ada.answer("A short answer.")
        assert "Mornings work better" not in said_to_model(gateway)[1]
