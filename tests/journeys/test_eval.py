"""An operator runs cases against the agent, as a CI does."""

import asyncio
import json
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from gateway.cli.root import root
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
UNKNOWN = "name: unknown\nmessages: [hello]\nrules: {calls: log_practise}\nfixtures: [{tool: send_mail}]\n"
UNSURE = "name: unsure\nmessages: [hello]\njudge: Is it unsure?\n"
NO_MODEL = "name: no model\nmodel: openai:smal\nmessages: [hello]\n"


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


async def test_every_case_runs_and_each_mistake_is_told(tmp_path: Path) -> None:
    cases = {"good": GOOD, "bad": BAD, "hung": HUNG.replace("SECONDS", "0.3"), "unknown": UNKNOWN, "no_model": NO_MODEL}
    written(tmp_path, typo="nam: typo", unsure=UNSURE, **cases)
    async with FakeModel(brain) as model:
        status, said, complaint = await tenk(tmp_path, model)
    assert 2 == status, said + complaint
    rows = {line[:8].strip(): line.split("  ") for line in said.splitlines()}
    assert "passed" in " ".join(rows["good"]) and "$0.00" in " ".join(rows["good"])
    assert all("failed" in " ".join(rows[name]) for name in ("bad", "hung", "unsure"))
    assert "there is no answer after 0.3 s" in said and "only 1 of 2 messages were said" in said
    assert "contains '[': the answer is 'Hello.'" in said and "max_steps 0: there are 1" in said
    assert "judge: no: It says no." in said and "answered neither yes nor no" in said
    assert (
        "evals/unknown.yaml:3: rules.calls.0: there is no tool 'log_practise'; did you mean \"log_practice\"?" in said
    )
    assert "evals/unknown.yaml:4: fixtures.0.tool: there is no tool 'send_mail'" in said
    assert "evals/no_model.yaml:2: model: there is no model 'openai:smal' in [model]" in said
    assert 'error: evals/typo.yaml:1: nam: there is no such key; did you mean "name"?' in complaint
    assert not (tmp_path / "var").exists()
    prompts = {str(request.body["messages"][0]) for request in model.requests if "what did I do" in str(request.body)}
    assert any("You are strict." in prompt for prompt in prompts)


async def test_the_exit_status_and_the_json_are_for_a_ci(tmp_path: Path) -> None:
    written(tmp_path, good=GOOD, bad=BAD)
    async with FakeModel(brain) as model:
        passed = await tenk(tmp_path, model, "--only", "good", "--repeat", "2", "--json", "--jobs", "1")
        failed = await tenk(tmp_path, model, "--only", "bad")
        misnamed = await tenk(tmp_path, model, "--only", "godo")
    assert (0, 1, 2) == (passed[0], failed[0], misnamed[0]), passed
    assert "error: there is no case 'godo'; did you mean \"good\"?" in misnamed[2]
    (case,) = json.loads(passed[1])["cases"]
    assert ("passed", 4, 8, 4) == (case["result"], case["turns"], case["steps"], case["calls"])
    first, second = case["runs"][0]["turns"]
    assert "ten scales" in first["agent"] and "2026-03-03" in second["agent"]
    assert {"tool": "log_practice", "arguments": '{"skill": "guitar", "minutes": 25}', "in_fixtures": True} in second[
        "calls"
    ]


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
