"""Invitations: a person who opens the link is in at once."""

from pathlib import Path

import pytest

from gateway.testing.model import Reply
from tests.journeys.house import house, said
from tests.journeys.streets import DiscordStreet, SlackStreet, WebStreet, street


async def test_on_telegram_its_link_lets_one_person_in_and_they_are_answered(tmp_path: Path) -> None:
    async with house(tmp_path, access="pairing") as here:
        here.model.answers(Reply("Scales are patience."))
        here.sim.say(5, "How do I practise scales?")
        await here.told(5, "private")
        made = await here.operator("POST /v1/invites", {"role": "member", "days": 7})
        links = {way["account"]: way["link"] for way in made["ways"]}
        name = here.sim.world.bot().username
        assert f"https://t.me/{name}?start={made['code']}" == links["telegram:main"]
        for person in (5, 6):
            here.sim.say(person, f"/start {made['code']}")
        await here.told(5, "Scales are patience.")
        assert ["How do I practise scales?"] == said(here.model.requests[0].body)
        await here.told(6, "is not valid")
        assert ["member"] == [person["role"] for person in (await here.operator("GET /v1/users"))["users"]]
        assert [] == [row for row in await here.rows("SELECT payload FROM inbox") if made["code"] in row["payload"]]


@pytest.mark.timeout(60)
async def test_on_the_web_its_link_leads_to_the_page(tmp_path: Path) -> None:
    async with street(WebStreet, tmp_path) as here:
        made = await here.here.operator("POST /v1/invites", {"role": "member", "days": 7})
        links = {way["account"]: way["link"] for way in made["ways"]}
        assert isinstance(here, WebStreet)
        assert f"http://127.0.0.1:{here.port}/?invite={made['code']}" == links["web:main"]
        await here.say(1, f"/start {made['code']}")  # what the page says for its visitor
        await here.reads(1, "You are in")


@pytest.mark.timeout(60)
async def test_on_discord_it_is_a_command_or_a_message(tmp_path: Path) -> None:
    async with street(DiscordStreet, tmp_path) as here:
        assert isinstance(here, DiscordStreet)
        codes = [
            (await here.here.operator("POST /v1/invites", {"role": "member", "days": 1}))["code"] for _ in range(2)
        ]
        here.side.command(1, "start", {"code": codes[0]})
        await here.reads(1, "You are in")
        await here.say(2, codes[1])
        await here.reads(2, "You are in")


@pytest.mark.timeout(60)
async def test_on_slack_it_is_a_message_or_said_behind_coach(tmp_path: Path) -> None:
    async with street(SlackStreet, tmp_path) as here:
        assert isinstance(here, SlackStreet)
        codes = [
            (await here.here.operator("POST /v1/invites", {"role": "member", "days": 1}))["code"] for _ in range(2)
        ]
        here.side.command("D1", "coach", codes[0])
        await here.reads(1, "You are in")
        await here.say(2, codes[1])
        await here.reads(2, "You are in")
        roles = await here.roles()
        assert {here.sender(1): "member", here.sender(2): "member"} == roles


@pytest.mark.timeout(60)
async def test_the_terminal_shows_a_link_that_makes_its_visitor_the_owner_once(tmp_path: Path) -> None:
    lines: list[str] = []
    web = WebStreet()
    async with house(tmp_path, access="pairing", environ=web.environ(), show=lines.append) as here:
        await here.until(lambda: any("?invite=" in line for line in lines), "the link")
        code = next(line for line in lines if "?invite=" in line).partition("?invite=")[2].split()[0]
        for person in (5, 6):
            here.sim.say(person, f"/start {code}")
        await here.told(5, "owner")
        await here.told(6, "is not valid")
        assert ["owner"] == [person["role"] for person in (await here.operator("GET /v1/users"))["users"]]
        assert any("asks to be let in" in line and "pairing approve --request" in line for line in lines)
