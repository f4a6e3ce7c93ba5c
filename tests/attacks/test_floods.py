"""Floods of strangers, over the wire: others still get their codes, and the operator hears of the flood."""

from pathlib import Path

from tests.journeys.house import house

PUPPETS = range(1_000, 1_050)


async def test_fifty_puppets_that_go_on_asking_keep_no_other_stranger_out(tmp_path: Path) -> None:
    """Cover A40."""
    async with house(tmp_path, access="pairing") as here:
        here.sim.say(1, "/start")
        await here.told(1, "private")
        (owner,) = (await here.operator("GET /v1/pairing"))["requests"]
        await here.operator(f"POST /v1/pairing/{owner['request']}/approve")
        await here.told(1, "owner")
        for round_ in range(4):
            for puppet in PUPPETS:
                here.sim.say(puppet, "let me in")
            for person in range(5):
                here.sim.say(10 + 5 * round_ + person, "good morning")
        people = range(10, 30)
        await here.until(lambda: all(here.texts(person) for person in people), "a code for everybody")
        assert all("This bot is private" in here.texts(person)[0] for person in people)
        await here.settled()
        assert 1 == sum("Many strangers are writing" in text for text in here.texts(1))
        status = await here.operator("GET /v1/status")
        assert {"telegram:main": 70} == status["pairing_requests"]
        assert ["telegram:main"] == list(status["floods_of_strangers"])
        assert "telegram:10 " in "".join(
            f"{one['sender']} " for one in (await here.operator("GET /v1/pairing"))["requests"]
        )
        assert [1] * len(PUPPETS) == [len(here.texts(puppet)) for puppet in PUPPETS]
