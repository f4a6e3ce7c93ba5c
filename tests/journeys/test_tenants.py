"""Two tenants in one gateway: each has its bot, its model and its people, and sees nothing of the other."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import structlog

from gateway.config.settings import load
from gateway.errors import GatewayError, SettingsError
from gateway.testing.model import Reply
from tests.fakes.model_server import ModelServer
from tests.journeys.house import CONFIG, House, house, slow

BELL = "4712:BELL-made-up-token-of-another"
ACME_SECRET, BELL_SECRET = "acme-canary-7731", "bell-canary-9925"


def config_of(model: ModelServer, more: str = "") -> str:
    return f"""
[channels.telegram.bell]
poll_timeout_s = 5
tenant = "bell"
[agent.personas]
"telegram:main" = "You are Max of the installation."
[tenants.bell]
language = "es"
[tenants.bell.model]
name = "openai:bell-model"
base_url = "{model.base_url}"
[tenants.bell.access]
direct = "open"
[tenants.bell.agent.personas]
"telegram:bell" = "You are Ada of Bell."
{more}"""


@asynccontextmanager
async def two(
    directory: Path, more: str = "", bells_access: str = "open", **settings: Any
) -> AsyncIterator[tuple[House, ModelServer]]:
    async with ModelServer() as bells:
        (directory / "secrets.toml").write_text(f'[channels.telegram.bell]\ntoken = "{BELL}"\n')
        (directory / "secrets.toml").chmod(0o600)
        config = config_of(bells, more).replace('direct = "open"', f'direct = "{bells_access}"')
        async with house(directory, config=config, bots=(BELL,), **settings) as here:
            yield here, bells


def bells_texts(here: House, chat: int) -> list[str]:
    return [shown.text for shown in here.sim.world.bot(BELL).chats[chat].messages.values() if shown.by_bot]


async def test_one_person_on_two_tenants_bots_is_two_people(tmp_path: Path) -> None:
    async with two(tmp_path) as (here, bells):
        here.model.answers(Reply("Acme answers."))
        bells.answers(Reply("Bell answers."))
        here.sim.say(1, f"my word is {ACME_SECRET}")
        await here.told(1, "Acme answers.")
        here.sim.say(1, f"my word is {BELL_SECRET}", bot=BELL)
        await here.until(lambda: any("Bell answers." in text for text in bells_texts(here, 1)), "Bell's answer")
        here.sim.say(1, "/log 45m cello")
        await here.told(1, "cello")
        here.sim.say(1, "/stats", bot=BELL)
        await here.until(lambda: len(bells_texts(here, 1)) == 2, "Bell's stats")
        assert "cello" not in bells_texts(here, 1)[1]
        ours, theirs = str([r.body for r in here.model.requests]), str([r.body for r in bells.requests])
        assert (True, False, True) == ("You are Max" in ours, "Bell" in ours, ACME_SECRET in ours)
        assert BELL_SECRET not in ours
        assert (True, False, True) == ("You are Ada of Bell" in theirs, ACME_SECRET in theirs, BELL_SECRET in theirs)
        assert {"bell-model"} == {request.body["model"] for request in bells.requests}
        users = await here.rows("SELECT tenant_id FROM users ORDER BY tenant_id")
        assert ["bell", "default"] == [row["tenant_id"] for row in users]


async def test_an_owner_sees_only_their_own(tmp_path: Path) -> None:
    async with two(tmp_path) as (here, _):
        here.sim.say(1, "/help")
        await here.told(1, "/help")
        here.sim.say(2, "/help", bot=BELL)
        await here.until(lambda: bool(bells_texts(here, 2)), "Bell's help")
        await here.settled()
        bell = (await here.rows("SELECT id FROM users WHERE tenant_id = 'bell'"))[0]["id"]
        await here.operator(f"POST /v1/users/{bell}/role", {"role": "owner"})
        here.sim.say(2, "/users", bot=BELL)
        await here.until(lambda: len(bells_texts(here, 2)) == 2, "Bell's people")
        assert ("telegram:2" in bells_texts(here, 2)[1], "telegram:1" in bells_texts(here, 2)[1]) == (True, False)
        here.sim.say(2, "/block telegram:1", bot=BELL)
        await here.until(lambda: len(bells_texts(here, 2)) == 3, "what became of it")
        here.sim.say(1, "/help")
        await here.until(lambda: len(here.texts(1)) == 2, "the answer to who was not blocked")


async def test_a_tenants_status_is_of_it_alone(tmp_path: Path) -> None:
    capped = "[tenants.bell.budgets]\ntenant_tokens = 1_000_000\nuser_tokens = 900_000\n"
    async with two(tmp_path, capped + "[budgets]\ntenant_tokens = 2_000_000\n") as (here, bells):
        here.model.answers(Reply("Ours."))
        bells.answers(Reply("Theirs."))
        here.sim.say(1, "hello")
        here.sim.say(2, "hello", bot=BELL)
        await here.told(1, "Ours.")
        await here.until(lambda: "Theirs." in bells_texts(here, 2), "Bell's answer")
        await here.settled()
        whole, bell = await here.operator("GET /v1/status"), await here.operator("GET /v1/status", tenant="bell")
        caps = {"".join(filter(str.isalpha, key)) for key in whole["budgets"] if not key.startswith("user")}
        assert {"tenant", "tenantbell"} == caps
        assert ["tenant", "user"] == sorted(key.split()[0] for key in bell["budgets"])
        assert (2, 1) == (whole["people"], bell["people"])
        assert ("openai:bell-model", True) == (bell["model"], "telegram:bell" in bell["parts"])
        assert not {"telegram:main", "telegram:1"} & set(bell["parts"])
        named = str((await here.rows("SELECT display_name FROM users WHERE tenant_id = 'bell'"))[0]["display_name"])
        assert (False, True) == (named in str(whole["budgets"]), named in str(bell["budgets"]))
        with pytest.raises(GatewayError, match='there is no tenant "bel"; did you mean "bell"'):
            await here.operator("GET /v1/status", tenant="bel")


async def test_a_reload_brings_a_tenant_and_changes_one(tmp_path: Path) -> None:
    async with two(tmp_path) as (here, bells), ModelServer() as third:
        bells.answers(Reply("first"))
        here.sim.say(1, "one", bot=BELL)
        await here.until(lambda: "first" in bells_texts(here, 1), "the first answer")
        (tmp_path / "gateway.toml").write_text(CONFIG + config_of(third) + "[tenants.cole]\n")
        assert "tenants.cole" in (await here.operator("POST /v1/reload"))["in_force"]
        third.answers(Reply("second"))
        here.sim.say(1, "two", bot=BELL)
        await here.until(lambda: "second" in bells_texts(here, 1), "the second answer")
        assert [] == list(here.model.requests)
        (tmp_path / "gateway.toml").write_text(CONFIG + config_of(third).replace('tenant = "bell"', 'tenant = "bel"'))
        with pytest.raises(GatewayError, match='there is no tenant "bel"; did you mean "bell"'):
            await here.operator("POST /v1/reload")


async def ask(here: House, key: str, path: str, *, tenant: str | None = None, said: str | None = None) -> Any:
    base = str((await here.operator("POST /v1/console"))["link"]).partition("/console")[0]
    headers = {"Authorization": f"Bearer {key}", **({"X-Tenant-Id": tenant} if tenant else {})}
    body = None if said is None else {"message": said, "user": "u1", "session": "s1"}
    async with (
        aiohttp.ClientSession(headers=headers) as http,
        http.request("GET" if body is None else "POST", f"{base}{path}", json=body) as answer,
    ):
        return answer.status, await answer.json()


async def test_a_key_is_of_its_tenant_and_a_systems_key_of_whom_it_names(tmp_path: Path) -> None:

    async def key_of(scopes: str, tenant: str | None = None) -> str:
        made = await here.operator("POST /v1/keys", {"name": "k", "scopes": scopes.split()}, tenant=tenant)
        return str(made["key"])

    async with two(tmp_path) as (here, bells):
        bells.answers(Reply("Bell to bound."), Reply("Bell to system."))
        here.model.answers(Reply("Acme to system."))
        bound, system = await key_of("chat read", tenant="bell"), await key_of("chat read operate system")
        first = await ask(here, bound, "/v1/chat", said=BELL_SECRET)
        assert "Bell to bound." == first[1].get("answer"), first
        assert "Acme to system." == (await ask(here, system, "/v1/chat", said=ACME_SECRET))[1]["answer"]
        assert "Bell to system." == (await ask(here, system, "/v1/chat", tenant="bell", said="hi"))[1]["answer"]
        status, refused = await ask(here, bound, "/v1/users", tenant="default")
        assert (403, "no_tenant") == (status, refused["error"]["code"])
        status, refused = await ask(here, system, "/v1/users", tenant="bel")
        assert (403, True) == (status, 'did you mean "bell"' in str(refused))
        seen = [str((await ask(here, key, "/v1/users", tenant=of))[1]) for key, of in ((bound, None), (system, "bell"))]
        everybody = str((await here.operator("GET /v1/users"))["users"])
        ours = str((await here.operator("GET /v1/users", tenant="default"))["users"])
        theirs = {row["id"] for row in await here.rows("SELECT id FROM users WHERE tenant_id = 'bell'")}
        mine = {row["id"] for row in await here.rows("SELECT id FROM users WHERE tenant_id = 'default'")}
        assert (2, 1) == (len(theirs), len(mine))
        assert all(id_ in shown and id_ not in ours and id_ in everybody for shown in seen for id_ in theirs)
        assert all(id_ not in shown and id_ in ours and id_ in everybody for shown in seen for id_ in mine)
        keys = [len((await here.operator("GET /v1/keys", tenant=of))["keys"]) for of in ("bell", "default", None)]
        assert [1, 1, 2] == keys
        with pytest.raises(GatewayError, match='there is no tenant "bel"'):
            await here.operator("GET /v1/users", tenant="bel")


def test_a_name_that_there_is_not_is_told_with_the_nearest(tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text('[channels.web]\ntenant = "acm"\n[tenants.acme]\n[tenants.default]\n')
    with pytest.raises(SettingsError) as wrong:
        load(file, {})
    assert f'{file}:2: channels.web.tenant: there is no tenant "acm"; did you mean "acme"?' in str(wrong.value)
    assert f"{file}:4: tenants.default: this is the installation's own" in str(wrong.value)
    file.write_text('[tenants."Acme Inc"]\n')
    with pytest.raises(SettingsError, match="pattern"):
        load(file, {})


async def test_a_closed_tenant_does_not_silence_an_open_one(tmp_path: Path) -> None:
    async with two(tmp_path, bells_access="pairing") as (here, _):
        here.model.answers(Reply("Here I am."))
        here.sim.say(1, "hello")
        await here.told(1, "Here I am.")


async def test_a_reload_of_one_tenant_does_not_silence_another(tmp_path: Path) -> None:
    async with two(tmp_path, access="pairing") as (here, bells):
        bells.answers(Reply("Bell answers."), Reply("Still."))
        here.sim.say(1, "hello", bot=BELL)
        await here.until(lambda: "Bell answers." in bells_texts(here, 1), "Bell's answer")
        file = tmp_path / "gateway.toml"
        file.write_text(file.read_text() + "[tenants.cole]\n")
        await here.operator("POST /v1/reload")
        here.sim.say(1, "again", bot=BELL)
        await here.until(lambda: "Still." in bells_texts(here, 1), "Bell's second answer")


async def test_a_tenants_invitation_names_no_bot_of_anothers(tmp_path: Path) -> None:
    async with two(tmp_path) as (here, _):
        here.sim.say(2, "/help", bot=BELL)
        await here.until(lambda: bool(bells_texts(here, 2)), "Bell's help")
        bell = (await here.rows("SELECT id FROM users WHERE tenant_id = 'bell'"))[0]["id"]
        await here.operator(f"POST /v1/users/{bell}/role", {"role": "owner"})
        here.sim.say(2, "/invite", bot=BELL)
        await here.until(lambda: len(bells_texts(here, 2)) == 2, "the invitation")
        said = bells_texts(here, 2)[1]
        assert (True, False, False) == tuple(bot in said for bot in ("telegram:bell", "telegram:main", "web:main"))


async def test_the_founding_link_is_of_the_pages_tenant(tmp_path: Path) -> None:
    shown: list[str] = []
    page = '[channels.web]\ntenant = "bell"\n[tenants.cole]\n'
    with structlog.testing.capture_logs() as logged:
        async with two(tmp_path, page, "pairing", access="pairing", show=shown.append) as (here, _):
            await here.until(lambda: any("invite=" in line for line in shown), "the link")
            assert ["bell"] == [
                row["tenant_id"] for row in await here.rows("SELECT tenant_id FROM tickets WHERE kind = 'founding'")
            ]
    (unused,) = [line for line in logged if line["event"] == "tenant_unused"]
    assert ("cole", True) == (unused["tenant"], "tenk --tenant cole keys create" in unused["mend"])


async def test_a_tenant_that_is_taken_out_is_let_go_and_comes_back(tmp_path: Path) -> None:
    async with two(tmp_path) as (here, bells):
        bells.answers(slow("Bell's last word.", 0.5), Reply("Bell is back."))
        made = await here.operator("POST /v1/keys", {"name": "k", "scopes": ["chat", "read"]}, tenant="bell")
        here.sim.say(1, "hello", bot=BELL)
        await here.until(lambda: len(bells.requests) == 1, "Bell's model to be asked")
        file, secrets = tmp_path / "gateway.toml", tmp_path / "secrets.toml"
        whole, known = file.read_text(), secrets.read_text()
        file.write_text(CONFIG)
        secrets.write_text("")
        await here.operator("POST /v1/reload")
        status, refused = await ask(here, str(made["key"]), "/v1/chat", said="hello?")
        assert (403, "no_tenant") == (status, refused["error"]["code"])
        await here.until(lambda: any("last word" in text for text in bells_texts(here, 1)), "the end of what ran")
        assert [] == list(here.model.requests)
        file.write_text(whole)
        secrets.write_text(known)
        await here.operator("POST /v1/reload")
        status, answer = await ask(here, str(made["key"]), "/v1/chat", said="hello?")
        assert (200, "Bell is back.") == (status, answer["answer"])
