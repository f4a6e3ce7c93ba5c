"""A picture sent to the coach on Telegram."""

import base64
from pathlib import Path
from typing import Any

from channels.simulators.shared.faults import Fault as PlatformFault
from channels.simulators.shared.world import File
from gateway.testing.model import Fault, Reply
from tests.fakes.pictures import png
from tests.journeys.house import House, house

SEES = "[model]\nsees_images = true\n"
SHEET = png(900, 600, padding=3_000)


def shown(body: dict[str, Any]) -> list[bytes]:
    parts = [
        part for message in body["messages"] if isinstance(message["content"], list) for part in message["content"]
    ]
    urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    return [base64.b64decode(url.removeprefix("data:image/png;base64,"), validate=True) for url in urls]


async def send(here: House, answer: str, caption: str, file: File | None = None, *before: Fault) -> str:
    here.model.answers(*before, Reply(answer))
    if file is None:
        here.telegram.send_picture(1, SHEET, caption)
    else:
        here.sim.send_file(1, file, caption=caption)
    return (await here.told(1, answer)).text


async def test_a_model_that_sees_is_shown_the_picture_also_after_a_restart(tmp_path: Path) -> None:
    async with house(tmp_path, config=SEES) as here:
        assert "It is in G." == await send(here, "It is in G.", "which key is this?")
        assert [SHEET] == shown(here.model.requests[0].body)
        large = File("document", b"x", "scan.png", "image/png", told_bytes=6_000_000)
        read = await send(here, "Slowly, then.", "and how do I begin?", large)
        assert read.startswith("Slowly, then.") and "too large" in read
        here.sim.faults.script(PlatformFault(kind="status", status=404, method="download"))
        assert "gone" in await send(here, "Send it again.", "this?")
        events = await here.rows("SELECT payload FROM events")
        assert not any(base64.b64encode(SHEET[:60]).decode()[:40] in str(event) for event in events)
    async with house(tmp_path, config=SEES) as here:
        here.sim.world.bot().last_message_id = 100  # Telegram counts on
        here.model.answers(Reply("In four four."))
        here.sim.say(1, "and which time?")
        await here.told(1, "In four four.")
        assert [SHEET] == shown(here.model.requests[0].body)
        refusal = Fault(400, {"error": {"message": "image exceeds 5 MB maximum"}})
        read = await send(here, "Not seen.", "this one?", None, refusal, refusal)
        assert "would not take a picture" in read
        assert [2, 1, 0] == [len(shown(request.body)) for request in here.model.requests[1:]]
        assert 2 == len(await here.rows("SELECT id FROM blobs WHERE turn_id IS NOT NULL"))


async def test_a_model_that_sees_none_gets_a_line_and_the_person_is_told_once(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        assert "I can't look at pictures" in await send(here, "Tell me more.", "what is this?")
        assert "A scale?" == await send(here, "A scale?", "and this?")
        assert "image/jpeg: this model sees no pictures]" in str(here.model.requests[0].body["messages"])
        assert [] == await here.rows("SELECT id FROM blobs")
        assert "getFile" not in {call.method for call in here.sim.history()}
