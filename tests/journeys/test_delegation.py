"""Tasks for agents of their own: at once, in the background, over a restart, with questions, stopped."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from agent.tools.base import Effect, Tool
from gateway.cli.sessions import timeline_lines
from gateway.store.children import CHILDREN
from gateway.store.tables.turns import usage
from gateway.testing.gateway import Person, TestGateway
from gateway.testing.model import Answer, Call, FakeModel, Reply
from tests.fakes.agents import Number
from tests.unit.skills.shelf import write_skill

CONFIG = "[delegation]\n"
TOLD = re.compile(r"task notification: the task .{0,3}\"(\w+)")


def task(description: str, **more: object) -> Call:
    given = {"description": description, "prompt": f"Find out: {description}."} | more
    return Call("agent", json.dumps(given))


def is_task(body: dict[str, Any]) -> bool:
    return "You work on one task" in json.dumps(body["messages"][0])


def last(body: dict[str, Any]) -> str:
    return json.dumps(body["messages"][-1]["content"])


def unread(body: dict[str, Any]) -> list[str]:
    """Return the tasks whose notifications came since the last answer."""
    found: list[str] = []
    for message in body["messages"]:
        found = [] if message["role"] == "assistant" else found + TOLD.findall(json.dumps(message["content"]))
    return found


async def shown(gateway: TestGateway, person: Person, words: str) -> None:
    """Wait for a message while tasks run."""
    await gateway.until(lambda: any(words in message.text for message in person.messages()), words)


def results(body: dict[str, Any]) -> list[Any]:
    """Return the tool results in a request, oldest first."""
    return [json.loads(message["content"]) for message in body["messages"] if message["role"] == "tool"]


@pytest.mark.gate
async def test_tasks_of_one_response_run_side_by_side_and_their_results_are_the_calls() -> None:
    def brain(body: dict[str, Any]) -> Answer:
        if is_task(body):
            return Reply(f"42 {'trains' if 'trains' in last(body) else 'planes'}")
        if body["messages"][-1]["role"] == "tool":
            return Reply("Trains and planes.")
        return Reply(calls=(task("trains"), task("planes")))

    model = FakeModel(brain)
    async with model, TestGateway(CONFIG + "[sessions]\nmax_turns = 1\n", model=model) as gateway:
        ada = gateway.person("telegram")
        await ada.say("How do I get there?")
        await ada.answer("Trains and planes.")
        await gateway.settle()
        (traced,) = (await gateway.operator("GET /v1/trace", {"who": "telegram:1", "count": 1}))["messages"]
        sessions = (await gateway.operator("GET /v1/all-sessions"))["sessions"]
        (talk,) = [each for each in sessions if "subagent" not in each["key"]]
        shown = await gateway.operator(f"GET /v1/all-sessions/{talk['id']}")
        asked = [received.body for received in gateway.model.requests]
        assert 4 == len(asked)
        data = [result["data"] for result in results(asked[-1])]
        assert [("trains", "done", "42 trains"), ("planes", "done", "42 planes")] == [
            (each["task"], each["status"], each["result"]) for each in data
        ]
        assert 1 == len(ada.messages())
    assert ["", "planes", "trains"] == sorted(turn["task"] for turn in shown["turns"])
    assert [None, traced["turn"], traced["turn"]] == [turn["parent"] for turn in shown["turns"]]
    handed = [hop["facts"] for hop in traced["hops"] if hop["hop"] == "handed_over"]
    assert [("task", "planes", "answered"), ("task", "trains", "answered")] == sorted(
        (facts["kind"], facts["target"].rpartition(":")[2], facts["state"]) for facts in handed
    )
    (said,) = [hop["facts"] for hop in traced["hops"] if hop["hop"] == "part_sent"]
    assert ("answer", "telegram:main:1") == (said["kind"], said["target"])
    assert f"task trains of turn {traced['turn'][-8:]}" in "\n".join(timeline_lines(shown))
    for hops in (traced["hops"], shown["hops"]):
        assert ["", "planes", "trains"] == sorted(hop["facts"]["task"] for hop in hops if hop["hop"] == "claimed")


async def test_results_of_the_background_come_once_also_over_a_restart(tmp_path: Path) -> None:
    slow = {"wait": True}

    def brain(body: dict[str, Any]) -> Answer:
        if is_task(body):
            return Reply(f"result of {last(body)}", delay_s=60.0 if slow["wait"] else 0.0)
        if news := unread(body):
            return Reply(f"News of {' and '.join(news)}.")
        if body["messages"][-1]["role"] == "tool":
            return Reply("I am on it.")
        background = {"run_in_background": True}
        return Reply(calls=(task("trains", **background), task("planes", **background)))

    model = FakeModel(brain)
    async with model:
        async with TestGateway(CONFIG, directory=tmp_path, model=model) as gateway:
            ada = gateway.person("telegram")
            await ada.say("How do I get there?")
            await shown(gateway, ada, "I am on it.")
            side = gateway.platforms["telegram"]
            await gateway.until(lambda: sum(is_task(each.body) for each in model.requests) == 2, "both tasks")
        slow["wait"] = False
        async with TestGateway(CONFIG, platforms=[side], directory=tmp_path, model=model) as gateway:
            ada = gateway.person("telegram", number=1)
            await shown(gateway, ada, "trains")
            await shown(gateway, ada, "planes")
            await gateway.settle()
            first, *others = [message.text for message in ada.messages()]
    assert "I am on it." == first
    assert [1, 1] == [" ".join(others).count(name) for name in ("trains", "planes")]


async def pay(_context: object, _arguments: Number) -> str:
    return "paid"


PAY = Tool(name="pay", description="Pay.", arguments=Number, run=pay, effect=Effect.UNSAFE)


async def test_a_task_asks_its_person_but_not_in_the_background(tmp_path: Path) -> None:
    def brain(body: dict[str, Any]) -> Answer:
        if is_task(body):
            if body["messages"][-1]["role"] == "tool":
                return Reply(f"It says {last(body)}")
            return Reply(calls=(Call("pay", '{"n": 7}'),))
        if body["messages"][-1]["role"] == "tool" and '"running' in last(body).replace("\\", ""):
            return Reply("Begun.")
        if body["messages"][-1]["role"] == "tool" or "task notification" in last(body):
            return Reply(f"Here: {last(body)[-400:]}")
        return Reply(calls=(task("rent", run_in_background="background" in last(body)),))

    model = FakeModel(brain)
    async with model:
        async with TestGateway(CONFIG, directory=tmp_path, model=model, tools=(PAY,)) as gateway:
            ada = gateway.person("telegram")
            await ada.say("Pay the rent.")
            asked = await ada.answer("For the task “rent”:\n\nMay I use pay?")
            side = gateway.platforms["telegram"]
        async with TestGateway(CONFIG, [side], directory=tmp_path, model=model, tools=(PAY,)) as gateway:
            ada = gateway.person("telegram", number=1)
            await ada.press(asked.buttons[0][0])
            await ada.answer("paid")
            await ada.say("Pay the rent in the background.")
            await shown(gateway, ada, "Begun.")
            denied = await ada.answer("asks for none")
            assert not denied.buttons
            await gateway.settle()


async def test_a_stop_ends_tasks_too() -> None:
    def brain(body: dict[str, Any]) -> Answer:
        if is_task(body):
            return Reply("too late", delay_s=60.0)
        if "quick" in last(body):
            return Reply("Quickly.")
        return Reply(calls=(task("trains"),))

    model = FakeModel(brain)
    async with model, TestGateway(CONFIG, model=model) as gateway:
        ada = gateway.person("telegram")
        await ada.say("How do I get there?")
        await gateway.until(lambda: any(is_task(each.body) for each in model.requests), "the task")
        await ada.say("a quick question")
        await shown(gateway, ada, "Quickly.")
        await ada.say("/stop")
        await ada.answer("Stopped")
        await gateway.settle()
        assert 2 == len(ada.messages())
        assert {"stopped"} == {child.state.value for child in await gateway.store.read(CHILDREN.find)}


class PrefixCache:
    """A provider's prompt cache: it counts what a request begins with as an earlier one did."""

    def __init__(self) -> None:
        self._seen: list[str] = []

    def usage(self, body: dict[str, Any]) -> dict[str, Any]:
        sent = json.dumps([body.get("tools"), body["messages"]])[:-2]
        shared = max((_common_chars(sent, before) for before in self._seen), default=0)
        self._seen.append(sent)
        return {"usage": (len(sent) // 4, 10), "cached": (shared // 4, 0)}


def _common_chars(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


async def test_forks_share_the_prompt_cache_of_the_conversation() -> None:
    cache = PrefixCache()

    def brain(body: dict[str, Any]) -> Answer:
        used = cache.usage(body)
        if body["messages"][-1]["role"] == "tool":
            return Reply("Both are known.", **used)
        if "Find out" in last(body):
            return Reply("It is known.", **used)
        if "trains" in last(body):
            fork = {"subagent_type": "fork"}
            return Reply(calls=(task("trains", **fork), task("planes", **fork)), **used)
        return Reply("A short answer.", **used)

    model = FakeModel(brain)
    async with model, TestGateway(CONFIG, model=model) as gateway:
        ada = gateway.person("telegram")
        await ada.say("I live in Vigo and like the sea. " * 20)
        await ada.answer("short")
        await ada.say("trains or planes?")
        await ada.answer("Both are known.")
        rows = await gateway.store.read(lambda tx: tx.execute(sa.select(usage).order_by(usage.c.id)).all())
    asked = [received.body for received in model.requests]
    before, forks = asked[1], asked[2:4]
    for fork in forks:
        assert before["tools"] == fork["tools"]
        assert before["messages"] == fork["messages"][: len(before["messages"])]
        calls, first, second, given = fork["messages"][len(before["messages"]) :]
        assert 2 == len(calls["tool_calls"])
        assert first["content"] == second["content"]
        assert "Find out" in given["content"]
    _, parent, *forked, _ = rows
    assert all(0.95 * parent.input_tokens < row.cache_read_tokens < row.input_tokens for row in forked)


@pytest.mark.gate
async def test_an_interruption_ends_what_waits_for_a_task() -> None:
    def brain(body: dict[str, Any]) -> Answer:
        if is_task(body):
            return Reply("too late", delay_s=60.0)
        return Reply("In short: yes.") if "briefly" in last(body) else Reply(calls=(task("trains"),))

    model = FakeModel(brain)
    async with model, TestGateway(CONFIG, model=model) as gateway:
        ada = gateway.person("telegram")
        await ada.say("How do I get there?")
        await gateway.until(lambda: any(is_task(each.body) for each in model.requests), "the task")
        await ada.say("! briefly, please")
        await ada.answer("In short: yes.")
        await gateway.settle()
        assert 1 == len([message for message in ada.messages() if message.text != "⏹"])
        assert {"stopped"} == {child.state.value for child in await gateway.store.read(CHILDREN.find)}


@pytest.mark.gate
async def test_a_skill_with_context_fork_runs_beside_the_conversation(tmp_path: Path) -> None:
    skill = "---\ndescription: Tune.\ncontext: fork\nuser_invocable: true\n---\nTune string by string: $ARGUMENTS."
    write_skill(tmp_path / "home" / "skills", "tuning", skill)

    def brain(body: dict[str, Any]) -> Answer:
        if "string by string" in last(body):
            return Reply("Tuned in a fork.")
        if body["messages"][-1]["role"] == "tool":
            return Reply(f"Done: {results(body)[-1]['data']['result']}")
        return Reply(calls=(Call("skill", '{"name": "tuning", "arguments": "cello"}'),))

    model = FakeModel(brain)
    async with model, TestGateway(CONFIG + "[skills]\n", model=model, directory=tmp_path) as gateway:
        ada = gateway.person("telegram")
        for words in ("Tune my cello.", "/tuning cello"):
            await ada.say(words)
            await ada.answer("Done: Tuned in a fork.")
        forks = [each for each in await gateway.store.read(CHILDREN.find) if each.type == "fork"]
    assert ["tuning", "tuning-2"] == sorted(each.label for each in forks)
    assert all("instructions" not in json.dumps(received.body["messages"][1:]) for received in model.requests)


SCOUT = """\
---
description: Looks things up
tools: [pay]
permission_mode: bypass
---
You are the scout.
"""


@pytest.mark.gate
async def test_an_agent_of_a_file_works_on_a_task_and_never_may_more_than_the_conversation(tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "scout.md").write_text(SCOUT)

    def brain(body: dict[str, Any]) -> Answer:
        if "You are the scout" in json.dumps(body["messages"][0]):
            assert ["pay", "read_result"][: len(body["tools"])] == [tool["function"]["name"] for tool in body["tools"]]
            if body["messages"][-1]["role"] == "tool":
                return Reply(results(body)[-1]["error"])
            return Reply(calls=(Call("pay", '{"n": 7}'),))
        if body["messages"][-1]["role"] == "tool":
            return Reply(" | ".join(str(result["error"] or result["data"]["result"]) for result in results(body)))
        return Reply(calls=(task("rent", subagent_type="scout"), task("tax", subagent_type="scuot")))

    config = CONFIG + '[permissions]\nmode = "plan"\n'
    model = FakeModel(brain)
    async with model, TestGateway(config, model=model, tools=(PAY,), directory=tmp_path) as gateway:
        ada = gateway.person("telegram")
        await ada.say("Pay.")
        said = (await ada.answer("plan mode")).text
    assert "There is no agent 'scuot'. There are: general, fork, scout." in said.replace("&#x27;", "'")
    assert not any(message.buttons for message in ada.messages())


@pytest.mark.gate
async def test_what_tasks_cost_counts_for_their_person() -> None:
    def brain(body: dict[str, Any]) -> Answer:
        if is_task(body):
            return Reply("found", usage=(90_000, 400))
        if body["messages"][-1]["role"] == "tool":
            return Reply("Never asked.")
        return Reply(calls=(task("trains"),))

    model = FakeModel(brain)
    config = CONFIG + "[budgets]\nuser_tokens = 90_000\n"
    async with model, TestGateway(config, model=model) as gateway:
        ada = gateway.person("telegram")
        await ada.say("How do I get there?")
        said = await ada.answer()
    assert "Never asked." not in said.text
    assert 2 == len(model.requests)


@pytest.mark.gate
async def test_messages_reach_a_running_task_and_it_can_be_stopped() -> None:
    slow = {"seconds": 1.0}

    def brain(body: dict[str, Any]) -> Answer:
        if is_task(body):
            if "by night" in last(body):
                return Reply("A night train.", delay_s=60.0)
            return Reply("Any train.", delay_s=slow["seconds"])
        if body["messages"][-1]["role"] == "tool":
            return Reply("Well.")
        if "night" in last(body):
            return Reply(calls=(Call("send_message", '{"to": "trains", "text": "by night, please"}'),))
        if "enough" in last(body):
            return Reply(calls=(Call("task_stop", '{"task": "trains"}'),))
        return Reply(calls=(task("trains", run_in_background=True),))

    model = FakeModel(brain)
    async with model, TestGateway(CONFIG, model=model) as gateway:
        ada = gateway.person("telegram")
        await ada.say("Find me a train.")
        await gateway.until(lambda: any(is_task(each.body) for each in model.requests), "the task")
        await ada.say("at night!")
        await gateway.until(lambda: any("by night" in last(e.body) and is_task(e.body) for e in model.requests), "it")
        await ada.say("enough")
        await gateway.settle()
        assert {"stopped"} == {child.state.value for child in await gateway.store.read(CHILDREN.find)}
    assert all("night train" not in message.text for message in ada.messages())


@pytest.mark.gate
async def test_a_task_that_does_not_end_is_ended() -> None:
    def brain(body: dict[str, Any]) -> Answer:
        if is_task(body):
            return Reply("too late", delay_s=60.0)
        if body["messages"][-1]["role"] == "tool":
            return Reply(f"It {results(body)[-1]['data']['status']}.")
        return Reply(calls=(task("trains"),))

    model = FakeModel(brain)
    async with model, TestGateway(CONFIG + "deadline_s = 0.3\n[model]\nlocal = false\n", model=model) as gateway:
        ada = gateway.person("telegram")
        await ada.say("How do I get there?")
        await ada.answer("It failed.")


@pytest.mark.gate
async def test_a_task_gives_a_task_and_a_stop_in_the_conversation_ends_both() -> None:
    slow = {"seconds": 0.0}

    def brain(body: dict[str, Any]) -> Answer:
        if "Find out: seats" in last(body):
            return Reply("42 seats", delay_s=slow["seconds"])
        if is_task(body):
            if body["messages"][-1]["role"] == "tool":
                return Reply(f"A train with {results(body)[-1]['data']['result']}.")
            return Reply(calls=(task("seats", subagent_type="fork"),))
        if body["messages"][-1]["role"] == "tool":
            return Reply(str(results(body)[-1]["data"].get("result", "Begun.")))
        return Reply(calls=(task("trains", run_in_background="later" in last(body)),))

    model = FakeModel(brain)
    async with model, TestGateway(CONFIG + "max_depth = 2\n", model=model) as gateway:
        ada = gateway.person("telegram")
        await ada.say("How do I get there?")
        await ada.answer("A train with 42 seats.")
        slow["seconds"] = 60.0
        await ada.say("And later?")
        await shown(gateway, ada, "Begun.")
        await gateway.until(lambda: sum("Find out: seats" in last(each.body) for each in model.requests) > 1, "both")
        await ada.say("/stop")
        await ada.answer("Stopped")
        await gateway.settle()
        states = [child.state.value for child in await gateway.store.read(CHILDREN.find)]
    assert ["done", "done", "stopped", "stopped"] == sorted(states)


async def test_a_person_is_not_asked_for_a_schedule_that_a_task_may_not_make() -> None:
    plan = Call("schedule", json.dumps({"action": "create", "name": "n", "prompt": "p", "cron": "0 9 * * *"}))

    def brain(body: dict[str, Any]) -> Answer:
        if body["messages"][-1]["role"] == "tool":
            return Reply(f"Told: {last(body)}")
        return Reply(calls=(plan if is_task(body) else task("trains"),))

    model = FakeModel(brain)
    async with model, TestGateway(CONFIG + "[schedules]\n", model=model) as gateway:
        ada = gateway.person("telegram")
        await ada.say("Plan it.")
        assert "A schedule or a task makes no schedules" in (await ada.answer()).text
