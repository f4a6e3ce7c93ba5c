"""A changed configuration under a running gateway: applied at once if possible, refused whole otherwise."""

from pathlib import Path

import pytest

from gateway.cli.reload import lines_of
from gateway.errors import GatewayError
from gateway.testing.model import Reply
from tests.journeys.house import CONFIG, TOKEN, House, house, slow
from tests.journeys.test_reminders import DUE
from tests.journeys.test_tenants import BELL, bells_texts

ONE_LISTED = '[access.accounts."telegram:main"]\ndirect = "allowlist"\nallow = ["telegram:1"]\n'
TWO_LISTED = ONE_LISTED.replace('"telegram:1"', '"telegram:1", "telegram:2"')
ADA = '[agent.personas]\n"telegram:main" = "You are Ada, and you rhyme."\n'


def write(directory: Path, config: str) -> None:
    (directory / "gateway.toml").write_text(CONFIG + config)


async def owned_by_1(here: House) -> None:
    here.sim.say(1, "/help")
    await here.told(1, "/help")
    await here.operator("POST /v1/users/telegram:1/role", {"role": "owner"})


async def test_who_is_let_in_and_who_answers_change_at_once(tmp_path: Path) -> None:
    async with house(tmp_path, config=ONE_LISTED) as here:
        here.model.answers(Reply("It is late."), Reply("Let us wait."))
        here.sim.say(1, "first")
        await here.told(1, "It is late.")
        write(tmp_path, TWO_LISTED + ADA + "[agent]\nmax_steps = 3\n[sessions]\nmax_turns = 9\n")
        answer = await here.operator("POST /v1/reload")
        assert ["sessions.max_turns"] == answer["next_start"]
        assert {"access.accounts.telegram:main.allow", "agent.max_steps"} <= set(answer["in_force"])
        here.sim.say(2, "second")
        await here.told(2, "Let us wait.")
        system = [str(request.body["messages"][0]["content"]) for request in here.model.requests]
        assert [False, True] == ["You are Ada" in text for text in system]
        write(tmp_path, TWO_LISTED + ADA + "[sessions]\nmax_turns = 9\n")
        assert [
            "Now in force: agent.max_steps (back at its default: 5).",
            "After the next start: sessions.max_turns.",
        ] == lines_of(await here.operator("POST /v1/reload"))
        again = lines_of(await here.operator("POST /v1/reload"))
        assert "MCP servers that are down and hooks that hung are tried again" in again[0]


async def test_a_broken_file_leaves_what_is_in_force_and_owners_are_told(tmp_path: Path) -> None:
    async with house(tmp_path, model=None, config=ONE_LISTED) as here:
        await owned_by_1(here)
        write(tmp_path, TWO_LISTED.replace("direct", "dirct"))
        for _ in range(2):
            with pytest.raises(
                GatewayError, match=r'gateway.toml:\d+: .*dirct: there is no such key; did you mean "direct"'
            ):
                await here.operator("POST /v1/reload")
        await here.told(1, "what was in force before stays in force")
        here.sim.say(1, "/stats")
        await here.settled()
        assert 1 == sum("stays in force" in text for text in here.texts(1))
        assert any("dirct" in text for text in here.texts(1))
        write(tmp_path, TWO_LISTED)
        assert ["access.accounts.telegram:main.allow"] == (await here.operator("POST /v1/reload"))["in_force"]
        write(tmp_path, TWO_LISTED.replace("direct", "dirct"))
        with pytest.raises(GatewayError):
            await here.operator("POST /v1/reload")
        await here.until(lambda: 2 == sum("stays in force" in text for text in here.texts(1)), "the next one again")


async def test_a_token_is_rotated_and_nothing_is_lost(tmp_path: Path) -> None:
    environ: dict[str, str] = {}
    rotated = f"{TOKEN}-rotated"
    async with house(tmp_path, model=None, environ=environ) as here:
        here.sim.say(1, "/timezone Europe/Madrid")
        await here.told(1, "Europe/Madrid")
        bots = here.sim.world.bots
        bots[rotated] = bots.pop(TOKEN)
        here.sim.say(1, "/timezone Europe/Vienna")
        environ["TELEGRAM_BOT_TOKEN"] = rotated
        assert ["channels.telegram.main.token"] == (await here.operator("POST /v1/reload"))["in_force"]
        await here.told(1, "Europe/Vienna")
        here.sim.say(1, "/timezone Europe/Berlin")
        await here.told(1, "Europe/Berlin")
        for zone in ("Madrid", "Vienna", "Berlin"):
            assert 1 == sum(zone in text for text in here.texts(1))


async def test_another_model_answers_from_the_next_turn_on(tmp_path: Path) -> None:
    environ: dict[str, str] = {}
    async with house(tmp_path, environ=environ) as here:
        here.model.answers(slow("One moment, this takes a while.", 1.0), Reply("Here I am."))
        here.sim.say(1, "first")
        await here.asked()
        environ["TENK_MODEL"] = "openai:another"
        assert ["model.name"] == (await here.operator("POST /v1/reload"))["in_force"]
        assert "openai:another" == (await here.operator("GET /v1/status"))["model"]
        await here.told(1, "this takes a while.")
        await here.settled()
        here.sim.say(1, "second")
        await here.told(1, "Here I am.")
        assert ["journey", "another"] == [request.body["model"] for request in here.model.requests]
        here.sim.say(1, "/model")
        await here.told(1, "You are answered by openai:another.")
        environ["TENK_MODEL"] = "nonsense"
        with pytest.raises(GatewayError, match=r"TENK_MODEL: model\.name: write offline"):
            await here.operator("POST /v1/reload")
        assert "openai:another" == (await here.operator("GET /v1/status"))["model"]


async def test_an_agent_that_only_a_reload_brings_is_on_time(
    tmp_path: Path, installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(installed))
    async with house(tmp_path, config='[agent]\nproduct = "pantry"\n', bots=(BELL,)) as here:
        assert [] == await here.rows("SELECT name FROM sqlite_master WHERE name = 'practice_timers'")
        (tmp_path / "secrets.toml").write_text(f'[channels.telegram.bell]\ntoken = "{BELL}"\n')
        (tmp_path / "secrets.toml").chmod(0o600)
        bell = '[channels.telegram.bell]\ntenant = "bell"\n[tenants.bell.access]\ndirect = "open"\n'
        write(tmp_path, f'[agent]\nproduct = "pantry"\n{bell}[tenants.bell.agent]\nproduct = "coach"\n')
        await here.operator("POST /v1/reload")
        at = (await here.rows("SELECT strftime('%H:%M', 'now', '-2 minutes') AS at"))[0]["at"]
        here.sim.say(1, f"/remind {at} guitar", bot=BELL)
        await here.until(lambda: any("remind you" in text for text in bells_texts(here, 1)), "the reminder's promise")
        await here.store.commit(lambda connection: connection.exec_driver_sql(DUE))
        await here.until(
            lambda: any("guitar" in text and "⏰" in text for text in bells_texts(here, 1)), "the reminder"
        )
