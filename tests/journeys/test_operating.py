"""An operator's day: find, report, resend and trace a failed answer; a failing model makes the gateway unready."""

from pathlib import Path

from channels.simulators.shared.faults import Fault as Refusal
from gateway.testing.model import Fault, Reply
from tests.fakes.ports import free_address
from tests.journeys.house import House, house
from tests.journeys.test_metrics import figures


async def test_an_undelivered_answer_is_found_reported_resent_and_traced(tmp_path: Path) -> None:
    address = free_address()
    async with house(tmp_path, environ={"TENK_HTTP": address}) as here:
        await owner(here)
        here.model.answers(Reply("You practised a lot."))
        refusal = Refusal(kind="status", status=400, method="sendMessage", description="Bad Request: nonsense", chat=2)
        here.sim.faults.script(refusal.model_copy(update={"times": None}))
        here.sim.say(2, "how much did I practise?")
        await here.told(1, "Refused for good: 1; perhaps said, perhaps not: 0. The newest: Bad Request: nonsense")
        listed = (await here.operator("GET /v1/outbox", {"state": "dead"}))["parts"]
        (letter,) = [line for line in listed if not line["cause"].startswith("dead:")]
        await here.settled()  # the apology for it is refused a moment later
        (before,) = (await here.operator("GET /v1/trace", {"who": "2", "count": 1}))["messages"]
        status, measured = await here.operator("GET /v1/status"), await figures(address)
        here.sim.faults.clear()
        await here.operator(f"POST /v1/outbox/{letter['id']}/retry")
        for apology in (await here.operator("GET /v1/outbox", {"state": "dead"}))["parts"]:
            await here.operator(f"POST /v1/outbox/{apology['id']}/discard")
        await here.told(2, "You practised a lot.")
        await here.told(1, "Nothing undelivered is left.")
        (after,) = (await here.operator("GET /v1/trace", {"who": "telegram:2", "at": "1 min ago", "count": 1}))[
            "messages"
        ]
        audit = (await here.operator("GET /v1/audit"))["changes"]
    assert ("dead", "Bad Request: nonsense", "main") == (letter["state"], letter["error"], letter["account"])
    assert "Answered after" in before["verdict"][0]
    assert f"`tenk outbox retry {letter['id']}` sends it again" in before["verdict"][1]
    assert "Delivered: 1 of 1 part" in after["verdict"][1]
    assert ["received", "admitted", "claimed"] == [hop["hop"] for hop in after["hops"]][:3]
    assert "1 dead; the newest: Bad" in status["needs_you"]["letters"]
    assert 2 == measured['tenk_outbox_failed{state="dead"}']
    assert {"outbox_retried", "outbox_discarded"} <= {row["action"] for row in audit}
    assert 1 == sum("Refused for good" in text for text in here.texts(1))


async def test_a_model_that_fails_everybody_is_not_ready(tmp_path: Path) -> None:
    async with house(tmp_path, config="[model]\noffline_when_down = true\ntries = 1\n") as here:
        await owner(here)
        here.model.answers(*[Fault(status=401, body={"error": {"message": "bad key"}})] * 4)
        here.sim.say(2, "what is a fugue?")
        await here.told(1, "The key or the account of the model openai:journey is refused")
        failing = await here.operator("GET /v1/status")
        (asked,) = (await here.operator("GET /v1/trace", {"who": "2", "count": 1}))["messages"]
    assert "fails since 20" in failing["models"]["openai:journey"]
    assert "auth (HTTP 401)" in failing["needs_you"]["model openai:journey"]
    assert "model" in failing["parts"]
    assert "by offline:rules, because the first model failed (openai:journey: auth)" in asked["verdict"][0]


async def owner(here: House) -> None:
    here.model.answers(Reply("Hello."))
    here.sim.say(1, "hello")
    await here.told(1, "Hello.")
    await here.settled()
    (person,) = (await here.operator("GET /v1/users"))["users"]
    await here.operator(f"POST /v1/users/{person['user']}/role", {"role": "owner"})
