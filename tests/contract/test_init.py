"""`tenk init` and `tenk config set` as a new operator types them, against simulated platforms."""

import asyncio
import os
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from channels.simulators.slack.server import SlackSimulator
from channels.simulators.slack.state import APP_TOKEN, BOT_TOKEN
from channels.simulators.telegram.server import TOKEN, TelegramSimulator
from gateway.cli.config import ABILITIES
from gateway.cli.root import root
from gateway.command_line import of_process
from gateway.ops.lock import HomeLock
from tests.fakes.fork_server import ForkServer


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith(("TENK_", "TELEGRAM_", "DISCORD_", "SLACK_", "OPENAI_", "ANTHROPIC_", "DATABASE_")):
            monkeypatch.delenv(name)
    return tmp_path


async def tenk(*arguments: str, said: str | None = None, **environ: str) -> Result:
    return await asyncio.to_thread(CliRunner().invoke, root, arguments, input=said, env=environ)


async def test_flags_alone_make_a_configuration_that_runs(here: Path) -> None:
    async with TelegramSimulator(throttled=False) as telegram, SlackSimulator() as slack:
        telegram.add_bot(TOKEN)
        slack.add_app()
        bases = {"TELEGRAM_API_BASE": telegram.base_url, "SLACK_API_BASE": slack.base_url}
        tokens = ("--telegram-token", TOKEN, "--slack-bot-token", BOT_TOKEN, "--slack-app-token", APP_TOKEN)
        made = await tenk("init", *tokens, **bases)
        assert 0 == made.exit_code, made.output
        assert "@tenk_bot" in made.output
        assert made.output.replace(of_process().command(), "tenk").splitlines()[-7:] == [
            "",
            "Next, type:",
            "  tenk run",
            "Then write to your bot. It answers with a code; type in another terminal:",
            "  tenk pairing approve CODE",
            "The first person approved is the owner, if there is none yet.",
            "If something does not work, `tenk doctor` says why.",
        ]
        environ = os.environ | {"TENK_HTTP": "127.0.0.1:0"}
        checked = await asyncio.to_thread(  # a process of its own: it sets up the log
            ForkServer.of().run, ["-m", "gateway", "doctor"], environ, here, 30
        )
        assert 0 == checked.returncode, checked.stdout + checked.stderr
    secrets = here / "config" / "secrets.toml"
    assert 0o600 == secrets.stat().st_mode & 0o777
    assert TOKEN == tomllib.loads(secrets.read_text())["channels"]["telegram"]["main"]["token"]
    written = tomllib.loads((here / "config" / "gateway.toml").read_text())
    assert telegram.base_url == written["channels"]["telegram"]["main"]["api_base"]


@pytest.mark.gate
async def test_at_a_terminal_each_thing_is_asked_for_until_it_is_taken(here: Path) -> None:
    async with TelegramSimulator(throttled=False) as telegram:
        telegram.add_bot(TOKEN)
        own = ["Ada", "fr", "es", "Madird", "madrid"]
        typed = [*own, "123:wrong", TOKEN, "", "", "", "bot.example.com/path", "https://bot.example.com"]
        said = await at_a_terminal(*typed, TELEGRAM_API_BASE=telegram.base_url)
    assert "401" in said and "Public address" in said and "Did you mean Europe/Madrid" in said
    written = tomllib.loads((here / "config" / "gateway.toml").read_text())
    assert {"public_url": "https://bot.example.com"} == written["http"]
    assert ({"language": "es", "timezone": "Europe/Madrid"}, "Ada") == (
        written["gateway"],
        written["channels"]["web"]["title"],
    )
    skipped = await at_a_terminal("Ada", *[""] * 6, options=["--config", "other.toml"], TZ="Asia/Tokyo")
    assert ("Public address" in skipped, "Write to your bot" in skipped) == (False, False)
    assert {"timezone": "Asia/Tokyo"} == tomllib.loads((here / "other.toml").read_text())["gateway"]


async def at_a_terminal(*typed: str, options: Sequence[str] = (), **environ: str) -> str:
    mine, theirs = os.openpty()
    running = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "gateway",
        "init",
        *options,
        stdin=theirs,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=os.environ | environ,
    )
    assert running.stdout is not None
    said, lines = b"", iter(typed)
    async with asyncio.timeout(50):
        while chunk := await running.stdout.read(4096):
            said += chunk
            if said.endswith(b": "):
                os.write(mine, f"{next(lines)}\n".encode())
    os.close(mine)
    os.close(theirs)
    assert 0 == await running.wait(), said
    return said.decode()


async def test_a_wrong_token_is_named_and_nothing_is_written(here: Path) -> None:
    async with TelegramSimulator(throttled=False) as telegram, SlackSimulator() as slack:
        telegram.add_bot(TOKEN)
        slack.add_app()
        bases = {"TELEGRAM_API_BASE": telegram.base_url, "SLACK_API_BASE": slack.base_url}
        tokens = ("--telegram-token", TOKEN, "--slack-bot-token", BOT_TOKEN, "--slack-app-token", "xapp-wrong")
        refused = await tenk("init", *tokens, **bases)
    told = str(refused.exception)
    assert ("slack:main: Slack refuses the app-level token" in told, "channels.slack.main.app_token" in told) == (
        True,
        True,
    )
    assert ("connections:write" in told, "telegram" in told) == (True, False)
    assert [] == list(here.iterdir())


async def test_what_is_there_is_not_replaced_unasked(here: Path) -> None:
    (here / "config").mkdir()
    (here / "config" / "gateway.toml").write_text("# mine\n[model]\nname = 'offline'\n")
    refused = await tenk("init", "--no-check", "--model", "openai:gpt-5-nano", "--model-key", "sk-made-up")
    assert "model.name is set already" in str(refused.exception)
    assert "offline" in (here / "config" / "gateway.toml").read_text()
    done = await tenk("init", "--no-check", "--model", "openai:gpt-5-nano", "--model-key", "sk-made-up", "--replace")
    assert 0 == done.exit_code, done.output
    assert '# mine\n[model]\nname = "openai:gpt-5-nano"\n' == (here / "config" / "gateway.toml").read_text()


async def test_a_new_file_may_be_named_and_a_key_needs_its_model(here: Path) -> None:
    keyless = await tenk("init", "--model-key", "sk-made-up")
    assert (2, True) == (keyless.exit_code, "--model-key needs a model" in keyless.output)
    done = await tenk("init", "--config", "etc/tenk/mine.toml")
    assert (0, True, False) == (
        done.exit_code,
        "link that it prints" in done.output,
        "write to your bot" in done.output,
    )
    assert (here / "etc" / "tenk" / "mine.toml").is_file()
    (here / "a directory").mkdir()
    assert "is a directory" in (await tenk("init", "--config", "a directory")).output


async def test_options_name_the_bot_and_a_dead_server_is_the_only_thing_said(here: Path) -> None:
    own = ("--name", "Ada", "--language", "es", "--timezone", "madrid")
    dead = await tenk("init", *own, "--model", "openai:x", "--model-url", "http://127.0.0.1:1/v1")
    assert ("", True) == (dead.output, "start the server, or set model.base_url" in str(dead.exception))
    wrong = await tenk("init", "--timezone", "Atlantis")
    assert "gateway.timezone: there is no such time zone; write it like Europe/Madrid" in str(wrong.exception)
    home = await tenk("init", *own, TENK_HOME="/dev/null/home")
    assert "/dev/null cannot be written (Not a directory)" in str(home.exception)
    assert [] == list(here.iterdir())
    keyed = ("--no-check", "--model", "openai:x", "--config", "keyed.toml")
    assert 0 == (await tenk("init", *keyed, OPENAI_API_KEY="sk-1")).exit_code
    assert {"api_key": "sk-1"} == tomllib.loads((here / "secrets.toml").read_text())["model"]
    with HomeLock(here / "var"):
        beside = await tenk("init", *own)
    reload = "Next, type:\n  tenk reload\nThe running gateway applies this, or says that it needs a restart.\n"
    assert (0, True) == (beside.exit_code, reload in beside.output.replace(of_process().command(), "tenk"))
    shown = (await tenk("config", "show")).output
    assert all(line in shown for line in ('title = "Ada"', 'language = "es"', 'timezone = "Europe/Madrid"'))
    checked = (await tenk("config", "check")).output
    assert [*ABILITIES] == [name for name, ability in ABILITIES.items() if f"  {ability.table}  " in checked]


async def test_what_is_typed_as_a_key_is_one_and_nothing_else(here: Path) -> None:
    for key in ("access direct", "access.direct\nhttp.listen", "access.direct = 'open' #"):
        assert 2 == (await tenk("config", "set", key, "open")).exit_code
    assert [] == list(here.iterdir())


async def test_a_key_is_set_by_its_name(here: Path) -> None:
    for key, value in (("access.direct", "open"), ("sessions.max_turns", "7"), ("gateway.log_level", "debug")):
        assert 0 == (await tenk("config", "set", key, value)).exit_code
    await tenk("config", "set", 'access.accounts."telegram:main".allow', '["telegram:42"]')
    secret = await tenk("config", "set", "channels.telegram.main.token", said=f"{TOKEN}\n")
    assert (0, False) == (secret.exit_code, TOKEN in secret.output)
    shown = (await tenk("config", "show")).output
    for line in ('direct = "open"', "max_turns = 7", 'log_level = "debug"', 'allow = ["telegram:42"]'):
        assert line in shown
    wrong = await tenk("config", "set", "sessions.max_turn", "7")
    assert 'did you mean "max_turns"?' in str(wrong.exception)
    below = await tenk("config", "set", "budgets.user_usd", "-1")
    assert "0.000001 or more" in str(below.exception)
    environment = await tenk("config", "set", "model.name", "offline", TENK_MODEL="offline")
    assert "environment variable TENK_MODEL overrides model.name" in environment.output


async def test_several_keys_are_set_together_in_any_order(here: Path) -> None:
    name, server = ("model.name", "openai:fake-1"), ("model.base_url", "http://127.0.0.1:9/v1")
    alone = await tenk("config", "set", *name)
    assert "with the name, set model.api_key (OPENAI_API_KEY), or model.base_url" in str(alone.exception)
    done = await tenk("config", "set", *name, *server, "sessions.max_turns", "7", "model.api_key", said="12345\n")
    files = f"{Path('config', 'gateway.toml')} and {Path('config', 'secrets.toml')}"
    keys = "model.name, model.base_url, sessions.max_turns and model.api_key"
    assert f"{keys} are set in {files}." == done.output.splitlines()[0]
    written = tomllib.loads((here / "config" / "gateway.toml").read_text())
    assert {"name": "openai:fake-1", "base_url": "http://127.0.0.1:9/v1"} == written["model"]
    assert {"max_turns": 7} == written["sessions"]
    again = await tenk("config", "set", *server, *name)
    assert "model.base_url and model.name already have these values." == again.output.splitlines()[0]
    twice = await tenk("config", "set", *name, *name)
    assert (2, True) == (twice.exit_code, "a key is named twice" in twice.output)
