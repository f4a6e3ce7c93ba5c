"""Two tenants in one gateway: each has its bot, its model and its people, and sees nothing of the other."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gateway.config.settings import load
from gateway.errors import GatewayError, SettingsError
from tests.fakes.model_server import ModelServer, Reply
from tests.journeys.house import CONFIG, House, house

BELL = "4712:BELL-made-up-token-of-another"
ACME_SECRET, BELL_SECRET = "acme-canary-7731", "bell-canary-9925"


def config_of(model: ModelServer, more: str = "") -> str:
    """The installation's own bot, and one of a tenant with a model and rules of its own."""
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
async def two(directory: Path, more: str = "") -> AsyncIterator[tuple[House, ModelServer]]:
    """The gateway with both, and Bell's model server; the other's is the house's."""
    async with ModelServer() as bells:
        (directory / "secrets.toml").write_text(f'[channels.telegram.bell]\ntoken = "{BELL}"\n')
        (directory / "secrets.toml").chmod(0o600)
        async with house(directory, config=config_of(bells, more), bots=(BELL,)) as here:
            yield here, bells


def bells_texts(here: House, chat: int) -> list[str]:
    """What Bell's bot has said in a chat."""
    return [shown.text for shown in here.sim.answers(chat, bot=BELL)]


async def test_one_person_on_two_tenants_bots_is_two_people(tmp_path: Path) -> None:
    """Each model is asked for its own alone, with its own persona; what is said and kept there is not known here."""
    async with two(tmp_path) as (here, bells):
        here.model.script(Reply("Acme answers."))
        bells.script(Reply("Bell answers."))
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
    """`/users` and `/block` of Bell's owner reach nobody of the installation's, although both wrote to this gateway."""
    async with two(tmp_path) as (here, _):
        here.sim.say(1, "/help")
        await here.told(1, "/help")
        here.sim.say(2, "/help", bot=BELL)
        await here.until(lambda: bool(bells_texts(here, 2)), "Bell's help")
        await here.settled()
        bell = (await here.rows("SELECT id FROM users WHERE tenant_id = 'bell'"))[0]["id"]
        await here.operator("users.role", {"who": bell, "role": "owner"})
        here.sim.say(2, "/users", bot=BELL)
        await here.until(lambda: len(bells_texts(here, 2)) == 2, "Bell's people")
        assert ("telegram:2" in bells_texts(here, 2)[1], "telegram:1" in bells_texts(here, 2)[1]) == (True, False)
        here.sim.say(2, "/block telegram:1", bot=BELL)
        await here.until(lambda: len(bells_texts(here, 2)) == 3, "what became of it")
        here.sim.say(1, "/help")
        await here.until(lambda: len(here.texts(1)) == 2, "the answer to who was not blocked")


async def test_a_reload_brings_a_tenant_and_changes_one(tmp_path: Path) -> None:
    """Another model for one tenant is asked from its next message on; the installation's stays."""
    async with two(tmp_path) as (here, bells), ModelServer() as third:
        bells.script(Reply("first"))
        here.sim.say(1, "one", bot=BELL)
        await here.until(lambda: "first" in bells_texts(here, 1), "the first answer")
        (tmp_path / "gateway.toml").write_text(CONFIG + config_of(third) + "[tenants.cole]\n")
        assert "tenants.cole" in (await here.operator("reload"))["in_force"]
        third.script(Reply("second"))
        here.sim.say(1, "two", bot=BELL)
        await here.until(lambda: "second" in bells_texts(here, 1), "the second answer")
        assert [] == list(here.model.requests)
        (tmp_path / "gateway.toml").write_text(CONFIG + config_of(third).replace('tenant = "bell"', 'tenant = "bel"'))
        with pytest.raises(GatewayError, match="there is no tenant 'bel'; did you mean \"bell\""):
            await here.operator("reload")


def test_a_name_that_there_is_not_is_told_with_the_nearest(tmp_path: Path) -> None:
    """At the line where it stands; the installation's own tenant has no table."""
    file = tmp_path / "gateway.toml"
    file.write_text('[channels.web]\ntenant = "acm"\n[tenants.acme]\n[tenants.default]\n')
    with pytest.raises(SettingsError) as wrong:
        load(file, {})
    assert f"{file}:2: channels.web.tenant: there is no tenant 'acm'; did you mean \"acme\"?" in str(wrong.value)
    assert f"{file}:4: tenants.default: this is the installation's own" in str(wrong.value)
    file.write_text('[tenants."Acme Inc"]\n')
    with pytest.raises(SettingsError, match="pattern"):
        load(file, {})
