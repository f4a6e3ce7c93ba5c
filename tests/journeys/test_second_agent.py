"""A third-party agent, installed beside the gateway and chosen by name."""

import json
import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pydantic import SecretStr
from structlog.testing import capture_logs

from agent.config import LinkConfig, ModelConfig
from agent.hooks.points import HookConfig
from agent.models.select import UnknownModel, build_model
from channels.simulators.discord.server import DiscordSimulator
from channels.simulators.slack.server import SlackSimulator
from channels.simulators.telegram.server import TelegramSimulator
from gateway.cli.root import root
from gateway.command_set import check_commands
from gateway.config.settings import load, read_sources
from gateway.errors import SettingsError
from gateway.product import check_names, load_hooks, load_product, load_tools
from gateway.testing.model import Call, Reply
from tests.fakes.fork_server import ForkServer
from tests.fakes.model_chain import REQUEST
from tests.journeys.pantry_house import CONFIG, PERSON, tenk_run


def keeps_pantry(body: dict[str, Any]) -> Reply:
    last = body["messages"][-1]
    if last["role"] == "tool":
        return Reply("Put away.")
    if "Do it, or say that you do not." in str(last["content"]):
        return Reply("I will not.")
    if "tidy" in str(last["content"]):
        return Reply("I could, perhaps.")
    return Reply(calls=(Call("put_item", f'{{"item": "{str(last["content"]).split()[-1]}"}}'),))


@pytest.mark.timeout(90)
def test_an_app_for_slack_is_made_for_the_agent_that_is_configured(installed: Path, tmp_path: Path) -> None:
    config = tmp_path / "gateway.toml"
    config.write_text(CONFIG)
    command = ["-m", "gateway", "slack-manifest", "--config", str(config)]
    done = ForkServer.of().run(command, os.environ | {"PYTHONPATH": str(installed)}, tmp_path, timeout_s=50)
    assert (0, "") == (done.returncode, done.stderr)
    manifest = json.loads(done.stdout)
    assert ("The Pantry", "Knows what is in the larder") == (
        manifest["features"]["bot_user"]["display_name"],
        manifest["display_information"]["description"],
    )
    offered = [command["command"] for command in manifest["features"]["slash_commands"]]
    assert ["/pantry", "/sessions", "/link"] == [offered[0], *offered[-2:]] and "oach" not in done.stdout


@pytest.mark.timeout(90)
async def test_another_agent_answers_on_every_platform(installed: Path, tmp_path: Path):
    platforms = telegram, discord, slack = (
        TelegramSimulator.with_bot(),
        DiscordSimulator.with_bot(),
        SlackSimulator.with_bot(),
    )
    async with tenk_run(tmp_path, installed, platforms, keeps_pantry) as running:
        for times, thing in enumerate(("milk", "flour"), 1):
            for side in platforms:
                side.say(side.direct(PERSON), f"I bring {thing}-{side.name}")
            for side in platforms:
                await running.answered(side, "Put away.", times)
        assert all(
            "keep a household's pantry" in str(request.body["messages"][0]["content"])
            for request in running.model.requests
        )
        assert {"order_item", "put_item", "smell"} == {
            one["function"]["name"] for one in running.model.requests[0].body["tools"]
        }
        assert {f"{thing}-{side.name}" for thing in ("milk", "flour") for side in platforms} == pantry(tmp_path)

        await running.until(lambda: bool(discord.world.bot().commands), "the menu")
        telegram.command(telegram.direct(PERSON), "put", "butter")
        await running.answered(telegram, "In the pantry: butter.")
        assert "butter" in pantry(tmp_path)
        telegram.command(telegram.direct(PERSON), "list", "milk")
        slack.command(slack.direct(PERSON), "list", "milk")
        discord.command(PERSON, "list", {"beginning": "milk"})
        for side in platforms:
            await running.answered(side, f"In the pantry: milk-{side.name}.")
        telegram.command(telegram.direct(PERSON), "start")
        await running.answered(telegram, "I keep your pantry")
        telegram.say(telegram.direct(PERSON), "tidy up")
        await running.answered(telegram, "I will not.")
        telegram.command(telegram.direct(PERSON), "export")
        await running.answered(telegram, "All that I keep of you as a file.")
        telegram.command(telegram.direct(PERSON), "forget", "everything yes")
        await running.answered(telegram, "Done: everything I know about you is deleted within a minute")
        await running.until(lambda: "milk-telegram" not in pantry(tmp_path), "the deletion")
        assert "milk-slack" in pantry(tmp_path)
        assert ["pantry", "list"] == [command["name"] for command in discord.world.bot().commands[:2]]
        (option,) = discord.world.bot().commands[1]["options"]
        assert ("beginning", False) == (option["name"], option["required"])
        assert "coach" not in str(discord.world.bot().commands)
    with closing(sqlite3.connect(tmp_path / "home" / "tenk.db")) as store:
        keys = {key for (key,) in store.execute("SELECT key FROM sessions WHERE key NOT LIKE 'forgotten:%'")}
        assert {"agent:pantry"} == {":".join(key.split(":")[:2]) for key in keys}


def pantry(directory: Path) -> set[str]:
    with closing(sqlite3.connect(f"file:{directory}/home/tenk.db?mode=ro", uri=True)) as store:
        return {item for (item,) in store.execute("SELECT item FROM pantry_items")}


TOOLS = "empty = builtins:object\nmixed = odd_mixed:It\nshort = odd_short:It\n"


class TestByName:
    @pytest.fixture(autouse=True)
    def on_the_path(self, installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.syspath_prepend(str(installed))

    def test_one_without_rules_of_its_own_needs_a_model(self, tmp_path: Path):
        config = tmp_path / "gateway.toml"
        config.write_text('[agent]\nproduct = "pantry"\n')
        with pytest.raises(SettingsError, match=r"the agent pantry has no rules to answer by, so it needs a model"):
            check_names(load(config, {}), read_sources(config, {}))
        given = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
        check_names(load(config, given), read_sources(config, given))
        config.write_text(f'{config.read_text()}[model]\nname = "openai:x"\nbase_url = "http://127.0.0.1:9/v1"\n')
        before = config.read_text()
        for words in (("set", "model.name", "offline"), ("unset", "model")):
            done = CliRunner().invoke(root, ["config", *words, "--config", str(config)], env={"TENK_HOME": None})
            assert "the agent pantry has no rules to answer by" in str(done.exception)
            assert before == config.read_text()

    def test_a_tool_of_others_is_one_more(self):
        assert ["smell"] == [tool.name for tool in load_tools(("kitchen",))]

    def test_a_tool_of_a_taken_name_is_not_used_and_said(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        info = tmp_path / "twice-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: twice\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[tenk.tools]\nlarder = larder:Larder\n")
        (tmp_path / "larder.py").write_text(
            "from agent.tools.base import tool\nclass Larder:\n"
            '    @tool({"type": "object"})\n    async def put_item(self, context, arguments):\n        """Put."""\n'
        )
        monkeypatch.syspath_prepend(str(tmp_path))
        (tmp_path / "gateway.toml").write_text('[agent]\nproduct = "pantry"\ntools = ["kitchen", "larder"]\n')
        given = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
        settings, sources = load(tmp_path / "gateway.toml", given), read_sources(tmp_path / "gateway.toml", given)
        with pytest.raises(
            SettingsError,
            match=r"toml:3: agent\.tools: the tool 'put_item' of 'larder' is not used",
        ):
            check_names(settings, sources)

    def test_a_hook_of_others_is_one_more(self):
        (hook,) = load_hooks((HookConfig(use="audit"),))
        assert ("audit", "pre_tool", ("order_*",)) == (hook.name, hook.point, hook.tools)

    def test_a_model_of_others_is_named_like_ours(self, tmp_path: Path):
        (tmp_path / "gateway.toml").write_text('[model]\nname = "parrot:polly"\n')
        settings = load(tmp_path / "gateway.toml", {})
        assert "parrot:polly" == build_model(settings.model).name

    @pytest.mark.parametrize(
        ("body", "why"),
        [
            ("raise RuntimeError('the disk is full, sk-of-mine-0123\\nmore')", "the disk is full, [REDACTED]"),
            ("raise SystemExit(3)", "ForeignExit: SystemExit 3"),
            ("return 'Hello.'", "it returned a str, not a ModelResponded"),
            ("raise ModelFailure(FailureKind.AUTH, 'no key')", "no key"),
        ],
    )
    async def test_a_fallback_answers_if_a_model_of_others_breaks(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, why: str
    ):
        info = tmp_path / "grumpy-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: grumpy\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[tenk.models]\ngrumpy = grumpy:Grumpy\n")
        (tmp_path / "grumpy.py").write_text(
            "from agent.errors import FailureKind\nfrom agent.ports import ModelFacts, ModelFailure\nclass Grumpy:\n"
            "    name, facts = 'grumpy:x', ModelFacts()\n    def __init__(self, name, config): pass\n"
            f"    async def respond(self, request, on_event): {body}\n    async def aclose(self): pass\n"
        )
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.delitem(sys.modules, "grumpy", raising=False)
        links = {"2": LinkConfig(name="parrot:polly")}
        model = build_model(ModelConfig(name="grumpy:x", api_key=SecretStr("sk-of-mine-0123"), fallback=links))
        with capture_logs() as logs:
            response = await model.respond(REQUEST, lambda _event: None)
        assert ("30 minutes of guitar", "parrot:polly") == (response.text, response.model)
        assert logs[-1]["error"].endswith(why)

    def test_what_is_not_there_is_told_with_what_is(self, tmp_path: Path):
        config = tmp_path / "gateway.toml"
        for text, words in (
            (
                '[agent]\nproduct = "pantri"\n',
                r'gateway\.toml:2: agent\.product: .*did you mean "pantry".*coach, .*pantry',
            ),
            ('[agent]\ntools = ["knife"]\n', r"gateway\.toml:2: agent\.tools: .*there are: .*kitchen"),
            (
                '[model]\nname = "parot:x"\n',
                r"toml:2: model\.name: write offline, anthropic:NAME, .*parrot:NAME.* or openai:NAME",
            ),
        ):
            config.write_text(text)
            with pytest.raises(SettingsError, match=words):
                load(config, {})
        with pytest.raises(UnknownModel):
            build_model(ModelConfig(name="parot:x"))

    def test_what_cannot_be_used_says_why(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        info = tmp_path / "odd-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: odd\nVersion: 1.0\n")
        agents = "none = pantry:put_item\nother = pantry:PANTRY\ngone = no_such_module:IT\nodd = odd_module:IT\n"
        agents += "stop = odd_stop:IT\n"
        (tmp_path / "odd_module.py").write_text(
            "from pydantic import BaseModel\nclass Shelf: pass\nclass Asked(BaseModel):\n    shelf: Shelf\n"
        )
        (info / "entry_points.txt").write_text(f"[tenk.agents]\n{agents}[tenk.tools]\n{TOOLS}")
        (tmp_path / "odd_stop.py").write_text(
            "from gateway.product import AgentProduct\nIT = AgentProduct(name='stop', title='', prompt=lambda *_: {})\n"
        )
        for name, method in (("mixed", "def smell(self, context, arguments)"), ("short", "async def smell(self)")):
            (tmp_path / f"odd_{name}.py").write_text(
                f"from agent.tools.base import tool\nclass It:\n    @tool({{'type': 'object'}})\n    {method}: ...\n"
            )
        monkeypatch.syspath_prepend(str(tmp_path))
        for name, words in (
            ("none", "no AgentProduct"),
            ("other", "calls itself 'pantry'"),
            ("gone", "no_such_module"),
            (
                "odd",
                r"\(odd_module:IT\) cannot be imported: PydanticSchemaGenerationError: [^\n]* \(odd_module\.py:3\)\Z",
            ),
        ):
            with pytest.raises(SettingsError, match=words):
                load_product(name)
        with pytest.raises(SettingsError, match="brings none"):
            load_tools(("empty",))
        for name, words in (
            ("mixed", r"the tool smell has to be an `async def` \(odd_mixed\.py:3\)"),
            ("short", r"the tool smell has to take \(self, context, arguments\) \(odd_short\.py:3\)"),
        ):
            with pytest.raises(SettingsError, match=words):
                load_tools((name,))
        (tmp_path / "gateway.toml").write_text('[agent]\nproduct = "stop"\n')
        with pytest.raises(SettingsError, match=r"the agent 'stop': ValueError: two commands are called /stop"):
            check_commands(load(tmp_path / "gateway.toml", {}))
