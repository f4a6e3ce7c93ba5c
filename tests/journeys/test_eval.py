"""An operator runs cases against the agent, as a CI does."""

import asyncio
import json
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from agent.evals.case_file import parse_case
from gateway.agent_models import evaluating_of
from gateway.cli.root import root
from gateway.config.settings import load
from gateway.errors import GatewayError
from gateway.evals.run import CaseRun, run_case
from gateway.evals.surroundings import settings_of_tenant
from gateway.testing.model import Answer, Call, FakeModel, Reply
from tests.fakes.fork_server import ForkServer
from tests.journeys.house import house

CONFIG = """
[model]
name = "openai:small"
prices = { input_usd_per_mtok = 2, output_usd_per_mtok = 10 }
"""
GOOD = """
name: good
date: 2026-03-02 18:30
prompt: You are strict.
before: [/log 20m guitar]
fixtures: [{tool: get_practice_sessions, result: {sessions: [ten scales]}}]
messages:
  - text: what did I do on guitar?
    rules: {calls: {tool: get_practice_sessions, arguments: {days: 3}}, contains: ten scales, max_cost: 0.001}
  - {text: log 25 minutes of it, at: 2026-03-03 09:00, rules: {max_steps: 2, language: en}}
rules: {calls: log_practice}
judge: Is it good?
"""
BAD = """
name: bad
messages: [hello]
rules: {contains: "[", max_steps: 0}
judge: Is it bad?
"""
HUNG = "name: hung\nmessages: [zzz, hello]\nrules: {max_seconds: SECONDS}\n"


def brain(body: dict[str, Any]) -> Answer:
    """Answer as the last message asks."""
    messages = body["messages"]
    said = next(str(each["content"]) for each in reversed(messages) if each["role"] == "user")
    if "You judge a conversation" in str(messages[0]):
        answer = {"Is it good?": "yes", "Is it bad?": "no"}.get(json.loads(said)["question"], "perhaps")
        return Reply(json.dumps({"reason": f"It says {answer}.", "answer": answer}))
    if messages[-1]["role"] == "tool":
        return Reply(f"It is so this week: {messages[-1]['content']}")
    if "what did I do" in said:
        return Reply(calls=(Call("get_practice_sessions", '{"skill_id": "guitar", "days": 3}'),))
    if "25 minutes" in said:
        return Reply(calls=(Call("log_practice", '{"skill": "guitar", "minutes": 25}'),))
    return Reply("Hello.", delay_s=60.0 if "zzz" in said else 0.0)


def written(directory: Path, **cases: str) -> Path:
    """Write these cases and a configuration; return their folder."""
    (directory / "config").mkdir(exist_ok=True)
    (directory / "config" / "gateway.toml").write_text(CONFIG)
    (directory / "evals").mkdir()
    for name, text in cases.items():
        (directory / "evals" / f"{name}.yaml").write_text(text.lstrip())
    return directory


def environment(model: FakeModel) -> Mapping[str, str]:
    return {"PATH": os.environ["PATH"], "OPENAI_BASE_URL": model.base_url, "OPENAI_API_KEY": "sk-test"}


async def tenk(directory: Path, model: FakeModel, *words: str) -> tuple[int, str, str]:
    command = ["-m", "gateway", "eval", "evals", *words]
    done = await asyncio.to_thread(ForkServer.of().run, command, environment(model), directory, 60)
    return done.returncode, done.stdout, done.stderr


async def run(
    text: str, directory: Path, model: FakeModel, *, config: str = CONFIG, tenant: str = "default"
) -> CaseRun:
    """Run one case in this process."""
    file = directory / "gateway.toml"
    file.write_text(config)
    settings = settings_of_tenant(load(file, environment(model)), tenant)
    judging = evaluating_of(settings)
    try:
        return await run_case(parse_case(text.lstrip(), Path("a.yaml")), settings, judging)
    finally:
        if judging is not None:
            await judging.aclose()


async def refusal(text: str, directory: Path, config: str = CONFIG, tenant: str = "default") -> str:
    with pytest.raises(GatewayError) as refused:
        await run(text, directory, FakeModel(), config=config, tenant=tenant)
    return str(refused.value)


async def test_a_case_runs_as_its_file_says(tmp_path: Path) -> None:
    async with FakeModel(brain) as model:
        done = await run(GOOD, tmp_path, model)
    assert () == done.all_flaws
    first, second = (turn.seen for turn in done.turns)
    assert ("ten scales" in first.answer, "2026-03-03" in second.answer) == (True, True)
    assert ("It says yes.", 300) == (done.judged, done.judge_microusd)
    assert done.cost_microusd == 300 + 4 * 300 == sum(filter(None, (done.judge_microusd, done.seen.cost_microusd)))
    prompt = str(model.requests[0].body["messages"][0])
    assert ("You are strict." in prompt, "2026-03-02" in str(model.requests[0].body)) == (True, True)


async def test_what_a_case_names_has_to_exist(tmp_path: Path) -> None:
    agents = tmp_path / "agents"
    agents.mkdir()
    (agents / "strict.md").write_text("---\nname: strict\ndescription: A strict coach\n---\nYou are strict.\n")
    hello = "messages: [hello]\n"
    unknown = f"name: a\n{hello}rules: {{calls: log_practise}}\nfixtures: [{{tool: send_mail}}]\n"
    async with FakeModel(brain) as model:
        with pytest.raises(GatewayError) as tools:
            await run(unknown, tmp_path, model)
        strict = await run(f"name: a\nagent: strict\n{hello}", tmp_path, model)
        offline = await run(f"name: a\nmodel: offline\n{hello}", tmp_path, model)
    assert [
        "a.yaml:4: fixtures.0.tool: there is no tool 'send_mail'",
        "a.yaml:3: rules.calls.0: there is no tool 'log_practise'; did you mean \"log_practice\"?",
    ] == [line.partition("; there are")[0] for line in str(tools.value).splitlines()]
    assert ("You are strict." in str(model.requests[-1].body), "by rules" in offline.seen.answer) == (True, True)
    assert "Hello." == strict.seen.answer
    assert "a.yaml:2: agent: there is no agent 'strickt'; did you mean \"strict\"?" == await refusal(
        f"name: a\nagent: strickt\n{hello}", tmp_path
    )
    assert "a.yaml:2: model: there is no model 'openai:smal' in [model]" in await refusal(
        f"name: a\nmodel: openai:smal\n{hello}", tmp_path
    )
    foreign = '[agent]\nproduct = "http:http://127.0.0.1:9/answer"\n'
    assert "runs its tools itself" in await refusal(f"name: a\n{hello}", tmp_path, foreign)
    offline_only = '[model]\nname = "offline"\nbase_url = "http://127.0.0.1:9"\n'
    assert "a judge is a model" in await refusal(f"name: a\n{hello}judge: Is it?\n", tmp_path, offline_only)
    assert 'there is no tenant "acme"' in await refusal(f"name: a\n{hello}", tmp_path, tenant="acme")


async def test_a_hung_model_and_an_unsure_judge_fail_their_case(tmp_path: Path) -> None:
    light = CONFIG + '[model.light]\nname = "openai:judge"\nbase_url = "BASE"\n[tenants.acme]\nlanguage = "es"\n'
    async with FakeModel(brain) as model:
        hung = await run(HUNG.replace("SECONDS", "0.3"), tmp_path, model)
        unsure = await run(
            "name: a\nmessages: [hello]\njudge: Is it unsure?\n",
            tmp_path,
            model,
            config=light.replace("BASE", model.base_url),
            tenant="acme",
        )
    first, limit, last = hung.all_flaws
    assert ("turn 1: there is no answer after 0.3 s", "only 1 of 2 messages were said") == (first, last)
    assert limit.startswith("max_seconds 0.3")
    (flaw,) = unsure.all_flaws
    assert "judge: openai:judge answered neither yes nor no" in flaw
    assert unsure.cost_microusd is None


async def test_the_exit_status_and_the_json_are_for_a_ci(tmp_path: Path) -> None:
    written(tmp_path, good=GOOD, bad=BAD, typo="nam: typo")
    async with FakeModel(brain) as model:
        status, said, complaint = await tenk(tmp_path, model)
        (tmp_path / "evals" / "typo.yaml").unlink()
        failed, printed, _ = await tenk(tmp_path, model, "--only", "bad", "--json", "--repeat", "2", "--jobs", "1")
        misnamed = await tenk(tmp_path, model, "--only", "godo")
    assert (2, 1, 2) == (status, failed, misnamed[0]), said + complaint
    assert "error: there is no case 'godo'; did you mean \"good\"?" in misnamed[2]
    assert 'error: evals/typo.yaml:1: nam: there is no such key; did you mean "name"?' in complaint
    bad, good = (" ".join(line.split()[:5]) for line in said.splitlines()[1:3])
    assert ("bad failed 1 1 0", "good passed 2 4 2") == (bad, good)
    assert "  contains '[': the answer is 'Hello.'" in said and "  judge: no: It says no." in said
    (case,) = json.loads(printed)["cases"]
    (turn,) = case["runs"][0]["turns"]
    assert ("failed 2 of 2", False, "Hello.", []) == (
        case["result"],
        case["runs"][0]["passed"],
        turn["agent"],
        turn["calls"],
    )
    assert not (tmp_path / "var").exists()


@pytest.mark.gate
async def test_ctrl_c_prints_what_was_done(tmp_path: Path) -> None:
    written(tmp_path, a=GOOD, b=HUNG.replace("SECONDS", "50"))
    out, err = tmp_path / "out", tmp_path / "err"
    async with FakeModel(brain) as model:
        command = ["-m", "gateway", "eval", "evals", "--jobs", "1"]
        running = ForkServer.of().start(command, environment(model), tmp_path, out, err)
        async with asyncio.timeout(30):
            while not any("zzz" in str(request.body) for request in model.requests):
                await asyncio.sleep(0.02)
        running.send_signal(signal.SIGINT)
        assert 130 == await running.wait()
    assert ("good" in out.read_text(), "hung" in out.read_text()) == (True, False)
    assert "Stopped before all cases had run." in err.read_text()


async def test_a_real_conversation_becomes_a_case_without_names_that_passes(tmp_path: Path) -> None:
    asked = (
        "I am Ana García (ana@example.org, +34 600 123 456): log 25 minutes of guitar. My key is sk-abcdefghijklmnop12"
    )
    case = tmp_path / "evals" / "ana.yaml"
    async with house(written(tmp_path) / "home") as here:
        here.sim.name_person(4242, "Ana García")
        here.model.brain = brain
        here.sim.say(4242, asked)
        await here.told(4242, "It is so this week")
        here.sim.say(4242, "thanks, what did I do on guitar?")
        await here.told(4242, "It is so this week")
        await here.settled()
        (session,) = (await here.operator("GET /v1/all-sessions"))["sessions"]
        words = ["eval", "--record", session["id"][-8:], str(case), "--config", str(tmp_path / "home" / "gateway.toml")]
        done = await asyncio.to_thread(CliRunner().invoke, root, words, env={"TENK_HOME": str(here.home)})
        assert (0, True) == (done.exit_code, "Wrote 2 turns to" in done.output), done.output
        again = await asyncio.to_thread(CliRunner().invoke, root, words, env={"TENK_HOME": str(here.home)})
        assert (2, True) == (again.exit_code, "exists; name a new file" in again.output)
        assert "case_recorded" in [row["action"] for row in (await here.operator("GET /v1/audit"))["changes"]]
        text = case.read_text()
        assert "I am PERSON_1 (EMAIL_1, PHONE_1): log 25 minutes of guitar. My key is [REDACTED]" in text
        assert not [name for name in ("Ana", "García", "4242", "600", "example.org", "sk-") if name in text]
        status, said, complaint = await tenk(tmp_path, here.model)
    assert (0, True) == (status, "passed" in said), said + complaint + text
