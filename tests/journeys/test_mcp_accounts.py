"""People connect their own accounts at an MCP server: here the `/mcp` of another gateway, and a server with OAuth."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import aiohttp
from aiohttp import web
from aiohttp.test_utils import TestServer

from agent.mcp.config import McpServerConfig
from gateway.capabilities.mcp import finding_of, look_at_servers
from gateway.testing.gateway import Person, TestGateway
from gateway.testing.model import Call, Reply
from tests.fakes.oauth_server import CLIENT, OAuthServer

OTHER = "[channels.api]\nmcp = true\n[channels.web]\nenabled = false\n[channels.console]\nenabled = false\n"
LIST = Reply(calls=(Call("mcp__studio__list_tools"),))


def log(minutes: int) -> Reply:
    given = {"tool": "log_practice", "arguments": {"skill": "Guitar", "minutes": minutes}}
    return Reply(calls=(Call("mcp__studio__call_tool", json.dumps(given)),))


def results(gateway: TestGateway) -> list[dict[str, Any]]:
    messages = gateway.model.requests[-1].body["messages"]
    return [json.loads(each["content"]) for each in messages if each["role"] == "tool"]


def is_blanked(person: Person, key: str) -> bool:
    return all(key not in message.text for message in person.messages())


async def test_each_person_acts_in_their_own_account(tmp_path: Path) -> None:
    async with TestGateway(OTHER, platforms=(), directory=tmp_path) as studio:
        keys = [(await studio.operator("POST /v1/keys", {"name": name}))["key"] for name in ("ada", "bob")]
        server = f'[mcp.studio]\nurl = "{studio.url}/mcp"\nper_person = true\n'
        async with TestGateway(server) as gateway:
            ada, bob = gateway.person(), gateway.person()
            gateway.model.answers(LIST, "Connect it first.")
            await ada.say("log 30 minutes in the studio")
            await ada.answer("Connect it first.")
            (unconnected,) = results(gateway)
            await ada.say(f"/connect studio {keys[0]}")
            await ada.answer("studio")
            gateway.model.answers(LIST, log(30), "It is logged.")
            await ada.say("and now?")
            question = await ada.answer("log_practice")
            await ada.press("Allow once")
            await ada.answer("It is logged.")
            listed, logged = results(gateway)[-2:]
            gateway.model.answers(LIST, "Connect yours.")
            await bob.say("what is in the studio?")
            await bob.answer("Connect yours.")
            (of_bob,) = results(gateway)
            await studio.operator(f"POST /v1/keys/{keys[0].split('-')[1]}/revoke")
            gateway.model.answers(LIST, "It is gone.")
            await ada.say("once more")
            await ada.answer("It is gone.")
            revoked = results(gateway)[-1]
            assert is_blanked(ada, keys[0]) and keys[0] not in str(gateway.model.requests[-1].body)
            state = (await gateway.operator("GET /v1/status"))["capabilities"]
    assert "send /connect studio" in unconnected["error"]
    assert "log_practice" in [each["name"] for each in listed["data"]["tools"]]
    assert '"minutes": 30' in question.text and 30 == logged["data"]["data"]["total_minutes"]
    assert "send /connect studio" in of_bob["error"] and "send /connect studio" in revoked["error"]
    assert {"mcp studio": "per person"} == state


async def test_an_account_by_oauth_is_used_by_its_person_alone() -> None:
    seen: list[str] = []

    async def refuse(request: web.Request) -> web.Response:
        seen.append(request.headers.get("Authorization", ""))
        return web.Response(status=401)

    app = web.Application()
    app.router.add_post("/mcp", refuse)
    async with OAuthServer() as oauth, TestServer(app) as server:
        config = f"""
[mcp.studio]
url = "{server.make_url("/mcp")}"
per_person = true
[connect.studio.oauth]
authorize_url = "{oauth.url}/authorize"
token_url = "{oauth.url}/token"
client_id = "{CLIENT}"
redirect_url = "https://bot.example.com/oauth/callback"
"""
        async with TestGateway(config) as gateway:
            ada, bob = gateway.person(), gateway.person()
            await ada.say("/connect studio")
            link = next(word for word in (await ada.answer("/authorize")).text.split() if "/authorize?" in word)
            async with aiohttp.ClientSession() as browser:
                answer = await browser.get(link.strip("<>()."), allow_redirects=False)
            back = parse_qs(urlsplit(answer.headers["Location"]).query)
            code = f"{back['code'][0]}#{back['state'][0]}"
            await bob.say(f"/connect studio {code}")
            stolen = await bob.answer()
            await ada.say(f"/connect studio {code}")
            await ada.answer("studio")
            gateway.model.answers(LIST, "It refuses.")
            await ada.say("look into the studio")
            await ada.answer("It refuses.")
            gateway.model.answers(LIST, "Not connected.")
            await bob.say("look into the studio")
            await bob.answer("Not connected.")
    token = next(secret for secret in oauth.given if secret.startswith("access-"))
    assert "connected" not in stolen.text.lower()
    assert {f"Bearer {token}"} == set(seen)


async def test_doctor_says_that_people_connect(tmp_path: Path) -> None:
    async with TestGateway(OTHER, platforms=(), directory=tmp_path) as studio:
        config = McpServerConfig(url=f"{studio.url}/mcp", per_person=True)
        (seen,) = await look_at_servers({"studio": config})
    finding = finding_of(seen)
    assert ("mcp:studio", "") == (finding.part, finding.to_do)
    assert "by /connect studio" in finding.words
