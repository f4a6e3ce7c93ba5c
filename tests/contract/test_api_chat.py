"""`/v1/chat` over real HTTP: a request is a durable message, answered once, if its program waits or not."""

import asyncio
import json
from contextlib import suppress
from pathlib import Path

import pytest

from gateway.testing.model import Call, Fault, Reply
from tests.fakes.api import ApiProgram, api_house

USED = ("model", "input_tokens", "output_tokens", "cost_usd")
PRICED = "[model.prices]\ninput_usd_per_mtok = 2\noutput_usd_per_mtok = 10\n"


async def test_an_answer_comes_with_what_it_took(tmp_path: Path) -> None:
    async with api_house(tmp_path, config=PRICED) as here:
        program = await here.program()
        here.model.answers(Reply(calls=(Call("get_user_skills"),)), Reply("You play nothing *yet*."))
        status, turn = await program.say("what do I play?")
    assert (200, "done", "You play nothing *yet*.") == (status, turn["state"], turn["answer"])
    (tool,) = turn["tools"]
    assert ("get_user_skills", "done") == (tool["name"], tool["outcome"])
    assert ("openai", "api", "completed") == (turn["provider"], turn["model"], turn["reason"])
    used = turn["usage"]
    assert (200, 20, 0.0006) == (used["input_tokens"], used["output_tokens"], used["cost_usd"])
    assert used["model_s"] > 0 and used["tools_s"] == tool["took_s"] >= 0


async def test_a_yes_that_stands_for_a_button_gets_its_answer(tmp_path: Path) -> None:
    async with api_house(tmp_path, offline=True) as here:
        program = await here.program()
        await program.say("I practised guitar for 45 minutes")
        status, turn = await program.say("yes")
    assert (200, "done", True) == (status, turn["state"], turn["answer"].startswith("Logged 45 min"))


async def test_who_is_revoked_stays_out_until_let_in_again(tmp_path: Path) -> None:
    async with api_house(tmp_path) as here:
        program = await here.program()
        assert 200 == (await program.say("hello"))[0]
        (person,) = (await here.operator("GET /v1/users"))["users"]
        await here.operator(f"POST /v1/users/{person['user']}/revoke", {"account": "api:main"})
        status, problem = await program.say("hello again")
        assert (403, "not_let_in") == (status, problem["error"]["code"])
        assert 403 == (await program.say("and again"))[0]
        await here.operator(f"POST /v1/users/{person['user']}/role", {"role": "member"})
        assert 200 == (await program.say("may I?"))[0]


async def test_a_program_is_told_at_once_that_the_agents_are_paused(tmp_path: Path) -> None:
    async with api_house(tmp_path) as here:
        program = await here.program()
        await here.operator("POST /v1/pause")
        status, problem = await program.say("hello")
        assert (503, "not_now", True) == (status, problem["error"]["code"], "paused" in problem["error"]["message"])
        await here.operator("POST /v1/resume")
        assert 200 == (await program.say("hello"))[0]


async def test_a_reached_cap_is_a_typed_429(tmp_path: Path) -> None:
    capped = "[budgets]\nuser_tokens = 9_000\n[model]\noffline_when_down = false\n"
    async with api_house(tmp_path, config=capped) as here:
        program = await here.program()
        here.model.answers(Reply("Hello.", usage=(8_500, 100)))
        assert 200 == (await program.say("hello"))[0]
        status, problem = await program.say("and again")
        body = {"model": "coach", "messages": [{"role": "user", "content": "hello?"}]}
        other = await program.ask("POST", "/v1/chat/completions", json=body)
        assert 1 == len(here.model.requests)
        error = problem["error"]
        kept = await program.get(f"/v1/sessions/main/turns/{error['turn']}")
    assert ("failed", "max_tokens") == (kept["state"], kept["reason"])
    assert (429, "over_budget") == (status, error["code"]) == (other[0], other[1]["error"]["code"])
    assert 1 <= error["retry_after_minutes"] <= 24 * 60 and "used up" in error["message"]


async def test_the_same_request_again_is_the_same_turn(tmp_path: Path) -> None:
    async with api_house(tmp_path) as here:
        program = await here.program()
        many = await asyncio.gather(*(program.say("hello", once="k-1") for _ in range(5)))  # noqa: TID251  a client's
        again = await program.say("hello", once="k-1")
        refused, problem = await program.say("something else", once="k-1")
        other = await program.say("hello", once="k-2")
        unknown, wrong = await program.say("hello", usr="ana")
        asked = len(here.model.requests)
    assert 1 == len({turn["turn"] for _, turn in [*many, again]})
    assert {(200, "A short answer.")} == {(status, turn["answer"]) for status, turn in [*many, again]}
    assert (422, "idempotency_mismatch") == (refused, problem["error"]["code"])
    assert other[1]["turn"] != again[1]["turn"]
    assert (422, "usr") == (unknown, wrong["error"]["param"])
    assert "unknown field; the fields are message, user" in wrong["error"]["message"]
    assert 2 == asked


async def test_a_program_that_goes_away_leaves_a_turn_that_is_answered(tmp_path: Path) -> None:
    async with api_house(tmp_path) as here:
        program = await here.program()
        here.model.answers(Reply("I went on.", delay_s=0.5))
        asking = asyncio.ensure_future(program.say("are you there?"))  # noqa: TID251  a client that is cut off
        await here.until_asked()
        asking.cancel()
        with suppress(asyncio.CancelledError):
            await asking
        (turn,) = (await program.get("/v1/sessions/main/turns"))["turns"]
        turn = await program.settled(f"/v1/sessions/main/turns/{turn['turn']}")
    assert ("done", "I went on.") == (turn["state"], turn["answer"])


async def test_who_does_not_wait_fetches(tmp_path: Path) -> None:
    async with api_house(tmp_path) as here:
        program = await here.program()
        here.model.answers(Reply("Done.", delay_s=0.3))
        status, turn = await program.say("take your time", wait_s=0, session="slow")
        assert (202, "slow", "") == (status, turn["session"], turn["answer"])
        turn = await program.settled(f"/v1/sessions/slow/turns/{turn['turn']}")
        missing, problem = await program.ask("GET", "/v1/sessions/slow/turns/t-nothing")
    assert "Done." == turn["answer"]
    assert (404, "not_found") == (missing, problem["error"]["code"])


async def test_what_was_asked_before_a_restart_is_answered_after_it(tmp_path: Path) -> None:
    async with api_house(tmp_path) as here:
        program = await here.program()
        key = program.key
        here.model.answers(Fault(hang=True))
        _, turn = await program.say("remember me", wait_s=0, once="k-9")
        await here.until_asked()
    async with api_house(tmp_path) as here:
        program = ApiProgram(here, key)
        status, again = await program.say("remember me", once="k-9")
    assert (200, turn["turn"], "A short answer.") == (status, again["turn"], again["answer"])


async def test_a_stream_says_the_answer_as_it_is_written(tmp_path: Path) -> None:
    text = "Word by word, " * 20 + "done."
    async with api_house(tmp_path) as here:
        program = await here.program()
        here.model.answers(Reply(text, chunk_chars=7, chunk_delay_s=0.01))
        events = await program.events("/v1/chat", {"message": "slowly", "stream": True})
    names = [name for name, _ in events]
    assert ("turn", "done") == (names[0], names[-1])
    assert len(names) > 4
    assert text == "".join(data["text"] for name, data in events if name == "delta")
    assert (text, "done") == (events[-1][1]["answer"], events[-1][1]["state"])


async def test_a_stream_tells_the_steps_of_its_own_turn_if_asked(tmp_path: Path) -> None:
    async with api_house(tmp_path, config=PRICED) as here:
        program = await here.program()
        calls = (Call("get_user_skills"), Call("log_practice", '{"minutes": -1}'))
        for _ in range(2):
            here.model.answers(Reply(calls=calls), Reply("You play nothing yet."))
        events = await program.events("/v1/chat", {"message": "what do I play?", "stream": True, "steps": True})
        silent = await program.events("/v1/chat", {"message": "and now?", "stream": True})
    steps = [(name, data) for name, data in events if name not in {"turn", "delta", "replace", "done"}]
    (called,) = (data for name, data in steps if name == "tool_call")
    done, failed = (data for name, data in steps if name == "tool_result")
    spent = [data for name, data in steps if name == "usage"]
    assert ("get_user_skills", {"include_archived": False}) == (called["name"], json.loads(called["arguments"]))
    assert (called["call"], "done", True) == (done["call"], done["outcome"], json.loads(done["result"])["success"])
    assert ("log_practice", "failed", None) == (failed["name"], failed["outcome"], failed["took_s"])
    assert (2, "openai:api", 100, 10, 0.0003) == (len(spent), *(spent[0][key] for key in USED))
    assert {"turn", "delta", "done"} >= {name for name, _ in silent}


async def test_what_turns_out_void_is_replaced(tmp_path: Path) -> None:
    async with api_house(tmp_path) as here:
        program = await here.program()
        talk = "Let me look at your skills before I say anything about them. "
        here.model.answers(
            Reply(talk * 3, calls=(Call("get_user_skills"),), chunk_delay_s=0.03), Reply("None.", delay_s=0.3)
        )
        events = await program.events("/v1/chat", {"message": "which skills?", "stream": True})
    shown = ""
    for name, data in events:
        shown = {"delta": shown + data.get("text", ""), "replace": data.get("text", "")}.get(name, shown)
    assert "None." == shown == events[-1][1]["answer"]


async def test_commands_and_data_are_one_persons(tmp_path: Path) -> None:
    async with api_house(tmp_path) as here:
        program, other = await here.program(), await here.program()
        status, turn = await program.say("/log 45m guitar", user="ana")
        assert (200, "done", []) == (status, turn["state"], here.model.requests)
        await program.ask("POST", "/v1/practice", json={"skill": "guitar", "minutes": 15, "user": "ana"})
        ana = await program.get("/v1/practice?user=ana")
        assert 0 == (await program.get("/v1/practice?user=ben"))["total_minutes"]
        assert 0 == (await other.get("/v1/practice?user=ana"))["total_minutes"]
        assert [] == (await other.get("/v1/sessions/main/turns?user=ana"))["turns"]
        status, _ = await other.ask("GET", f"/v1/sessions/main/turns/{turn['turn']}?user=ana")
    assert "guitar" in turn["answer"]
    assert (60, ["guitar", "guitar"]) == (ana["total_minutes"], [entry["skill"] for entry in ana["sessions"]])
    assert 404 == status


async def test_a_command_that_held_a_secret_is_answered_and_its_row_read_without_it(tmp_path: Path) -> None:
    async with api_house(tmp_path) as here:
        program = await here.program()
        status, answer = await program.say("/connect openai sk-CANARY-3333333333")
        turns = (await program.get("/v1/sessions/main/turns"))["turns"]
    assert (200, "done") == (status, answer["state"])
    assert [answer["turn"]] == [turn["turn"] for turn in turns]
    assert "CANARY" not in str((answer, turns))


async def test_sessions_remember_each_by_itself(tmp_path: Path) -> None:
    async with api_house(tmp_path) as here:
        program = await here.program()
        await program.say("my secret is 4711", session="one")
        await program.say("hello", session="two")
        await program.say("hello again", session="one")
        told = [str(request.body["messages"]) for request in here.model.requests]
        sessions = await program.get("/v1/sessions")
    assert [True, False, True] == ["4711" in text for text in told]
    assert {"one", "two"} == {session["session"] for session in sessions["sessions"]}


async def test_practice_is_logged_once(tmp_path: Path) -> None:
    async with api_house(tmp_path) as here:
        program = await here.program()
        entry = {"json": {"skill": "cello", "minutes": 30}, "headers": {"Idempotency-Key": "e-1"}}
        first = await program.ask("POST", "/v1/practice", **entry)
        assert first == await program.ask("POST", "/v1/practice", **entry)
        practised = await program.get("/v1/practice?skill=cello")
        ahead = {"json": {"skill": "cello", "minutes": 30, "day": "2999-01-01"}}
        status, problem = await program.ask("POST", "/v1/practice", **ahead)
        skills = await program.get("/v1/skills")
    assert 30 == practised["total_minutes"] == skills["skills"][0]["total_minutes"]
    assert (409, "refused") == (status, problem["error"]["code"])


async def test_a_plan_is_written_in_a_turn_and_read_by_its_week(tmp_path: Path) -> None:
    async with api_house(tmp_path) as here:
        program = await here.program()
        await program.say("/log 45m guitar")
        here.model.answers(Reply("## Plan\nScales on Monday."))
        status, _ = await program.say("/plan")
        plans = await program.get("/v1/plans")
        current, problem = await program.ask("GET", "/v1/plans/current?day=2020-01-01")
    assert 200 == status
    assert "Scales on Monday." in plans["plans"][0]["content"]
    assert (404, "not_found") == (current, problem["error"]["code"])


async def test_a_plan_is_made_and_comes_as_data(tmp_path: Path) -> None:
    async with api_house(tmp_path) as here:
        program = await here.program()
        await program.say("/log 45m guitar")
        here.model.answers(Reply("## Plan\nScales on Monday."), Reply("## Plan\nChords all week.", delay_s=0.3))
        status, made = await program.ask("POST", "/v1/plans", json={})
        _, kept = await program.ask("POST", "/v1/plans", json={})
        late, begun = await program.ask("POST", "/v1/plans", json={"about": "new guitar", "wait_s": 0})
        await program.settled(f"/v1/sessions/main/turns/{begun['turn']['turn']}")
        (plan,) = (await program.get("/v1/plans"))["plans"]
        told = [str(request.body["messages"]) for request in here.model.requests]
        reading = await here.program("read")
        refused, _ = await reading.ask("POST", "/v1/plans", json={})
    assert (200, "done", "main") == (status, made["turn"]["state"], made["turn"]["session"])
    assert "Scales on Monday." in made["plan"]["content"] and made["plan"] == kept["plan"]
    assert (202, None) == (late, begun["plan"])
    assert "Chords all week." in plan["content"] and made["plan"]["week"] == plan["week"]
    assert [False, True] == ["/plan new guitar" in text for text in told]
    assert 403 == refused


async def test_a_plan_that_the_model_does_not_write_is_an_error_with_its_turn(tmp_path: Path) -> None:
    async with api_house(tmp_path, config="[model]\noffline_when_down = false\n") as here:
        program = await here.program()
        await program.say("/log 45m guitar")
        here.model.answers(*[Fault(status=400, body={"error": {"message": "no"}})] * 4)
        status, body = await program.ask("POST", "/v1/plans", json={"user": "main"})
    assert (502, "turn_failed") == (status, body["error"]["code"])
    assert body["error"]["turn"]


async def test_too_much_is_a_typed_429(tmp_path: Path) -> None:
    async with api_house(tmp_path, per_min=1) as here:
        program = await here.program()
        for _ in range(3):
            async with program.http.post(f"{here.url}/v1/chat", json={"message": "hello"}) as answer:
                body = await answer.json()
                found, problem = (answer.status, "Retry-After" in answer.headers), body.get("error")
    assert (429, True) == found
    assert ("too_many_messages", True) == (problem["code"], problem["retry_after_minutes"] >= 1)


async def test_a_model_that_fails_is_an_error_with_its_turn(tmp_path: Path) -> None:
    async with api_house(tmp_path) as here:
        program = await here.program()
        here.model.answers(*[Fault(status=400, body={"error": {"message": "no"}})] * 4)
        status, body = await program.say("hello")
        problem = body["error"]
        turn = await program.get(f"/v1/sessions/main/turns/{problem['turn']}")
    assert (502, "turn_failed", "failed") == (status, problem["code"], turn["state"])
    assert problem["message"] == turn["answer"] != ""


async def test_a_busy_model_is_a_typed_429(tmp_path: Path) -> None:
    async with api_house(tmp_path) as here:
        program = await here.program()
        here.model.answers(Fault(status=429, headers={"Retry-After": "150"}, body={"error": {"message": "slow down"}}))
        async with program.http.post(f"{here.url}/v1/chat", json={"message": "hello"}) as answer:
            problem, after = (await answer.json())["error"], answer.headers["Retry-After"]
        status, turn = await program.ask("GET", f"/v1/sessions/main/turns/{problem['turn']}")
    assert (429, "model_busy", 3, "150") == (answer.status, problem["code"], problem["retry_after_minutes"], after)
    assert "3 min" in problem["message"]
    assert (200, "failed", 3) == (status, turn["state"], turn["retry_after_minutes"])


@pytest.mark.parametrize("listed", [True, False])
async def test_an_operator_may_list_who_is_heard(tmp_path: Path, *, listed: bool) -> None:
    async with api_house(tmp_path) as here:
        key = await here.key()
    id_ = key.split("-")[1]
    allow = f'allow = ["api:{id_}:ana"]' if listed else ""
    config = f'[access.accounts."api:main"]\ndirect = "allowlist"\n{allow}\n'
    async with api_house(tmp_path, config=config) as here:
        program = ApiProgram(here, key)
        said, _ = await program.say("hello", user="ana")
        read, _ = await program.ask("GET", "/v1/skills?user=ana")
        other, problem = await program.say("hello", user="ben")
    assert (200 if listed else 403) == said == read
    assert (403, "not_let_in") == (other, problem["error"]["code"])


async def test_a_key_for_a_person_speaks_as_them(tmp_path: Path) -> None:
    async with api_house(tmp_path) as here:
        first = await here.program()
        await first.say("/log 45m guitar", user="ana")
        sender = f"api:{first.key.split('-')[1]}:ana"
        program = await here.program(who=sender)
        practised = await program.get("/v1/practice")
        status, problem = await program.say("hello", user="ben")
        said, _ = await program.say("hello")
    assert 45 == practised["total_minutes"]
    assert (403, "user_not_yours", 200) == (status, problem["error"]["code"], said)


async def test_who_is_blocked_is_not_heard(tmp_path: Path) -> None:
    async with api_house(tmp_path) as here:
        program, operator = await here.program(), await here.program("read operate")
        await program.say("hello", user="ana")
        (ana,) = (await operator.get("/v1/users"))["users"]
        status, blocked = await operator.ask("POST", f"/v1/users/{ana['user']}/block")
        said, problem = await program.say("hello again", user="ana")
        read, _ = await program.ask("GET", "/v1/practice?user=ana")
    assert (200, "blocked") == (status, blocked["role"])
    assert (403, "not_let_in", 403) == (said, problem["error"]["code"], read)


async def test_a_chat_key_of_an_owner_runs_no_operators_command(tmp_path: Path) -> None:
    async with api_house(tmp_path) as here:
        guest = await here.program()
        for name in ("olga", "ben"):
            await guest.say(f"/name {name}", user=name)
        users = {user["name"]: user["user"] for user in (await here.operator("GET /v1/users"))["users"]}
        await here.operator(f"POST /v1/users/{users['olga']}/role", {"role": "owner"})
        chat = await here.program("chat", users["olga"])
        read = await here.program("chat read", users["olga"])
        operate = await here.program("chat read operate", users["olga"])
        for words, scope in (
            ("/users", "read"),
            (f"/role {users['ben']} operator", "operate"),
            ("/console", "operate"),
        ):
            _, turn = await chat.say(words)
            assert f"scope {scope}," in turn["answer"], turn
        body = {"model": "coach", "messages": [{"role": "user", "content": f"/block {users['ben']}"}]}
        _, completion = await chat.ask("POST", "/v1/chat/completions", json=body)
        assert "scope operate," in completion["choices"][0]["message"]["content"]
        _, helped = await chat.say("/help")
        assert "/block" not in helped["answer"] and "/log" in helped["answer"]

        _, listed = await read.say("/users")
        assert "ben" in listed["answer"]
        _, refused = await read.say(f"/block {users['ben']}")
        assert "scope operate," in refused["answer"]
        roles = {user["name"]: user["role"] for user in (await here.operator("GET /v1/users"))["users"]}
        assert ("owner", "member") == (roles["olga"], roles["ben"])

        await operate.say(f"/role {users['ben']} operator")
        roles = {user["name"]: user["role"] for user in (await here.operator("GET /v1/users"))["users"]}
        assert ("owner", "operator") == (roles["olga"], roles["ben"])


async def test_a_key_to_read_lists_conversations_without_their_words(tmp_path: Path) -> None:
    async with api_house(tmp_path) as here:
        await (await here.program()).say("I am afraid of the audition", user="ana")
        listed = await (await here.program("read")).get("/v1/all-sessions")
    assert 1 == len(listed["sessions"]) and "audition" not in str(listed)


async def test_a_secret_in_a_tools_result_reaches_neither_journal_nor_model(tmp_path: Path) -> None:
    unknown = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
    async with api_house(tmp_path) as here:
        program = await here.program()
        notes = f"found sk-api-test and {unknown} in a file"
        await program.ask("POST", "/v1/practice", json={"skill": "guitar", "minutes": 15, "notes": notes})
        here.model.answers(Reply(calls=(Call("get_practice_sessions", '{"skill_id": "guitar"}'),)), Reply("Scales."))
        await program.say("what did I practise?")
        shown = str(here.model.requests[-1].body["messages"][-1])
        kept = await here.store.read(lambda c: str(c.exec_driver_sql("SELECT payload FROM events").all()))
    for text in (shown, kept):
        assert "found [REDACTED] and [REDACTED] in a file" in text
        assert "sk-api-test" not in text and unknown not in text
