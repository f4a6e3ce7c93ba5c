"""The playground: the stage with two people on each platform, what they do there, and what they see, as JSON.

It runs in a process of its own, beside the gateway that it starts, so that a player can kill the gateway.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from channels.simulators.shared.simulator import AnySimulator
from channels.simulators.shared.world import AnyMessage, File
from gateway.demo.chat import GROWS
from gateway.demo.marks import as_read
from gateway.demo.stage import DISCORD_ROOM, SLACK_ROOM, TELEGRAM_ROOM, Stage, StoryBroken
from gateway.demo.story import CODE, SENDER

NAMES = {1: "Ann", 2: "Ben"}  # Ann becomes the owner
PLACES = ("direct", "room")
WORDS_PER_S = 14.0  # the offline coach: slowly enough to be killed in the middle of a sentence
SHOWN_MESSAGES, SHOWN_CALLS = 80, 40
LET_IN_S = 30.0
LIMIT_S = 5  # how long a platform tells the gateway to wait

CONFIG = """\
[gateway]
log_format = "console"

[model]
name = "offline"
words_per_s = {words_per_s}

[access.accounts."telegram:main"]
allow_groups = ["telegram:{telegram_room}"]

[access.accounts."slack:main"]
allow_groups = ["slack:{slack_room}"]

[access.accounts."discord:main"]
allow_groups = ["discord:{discord_room}"]
"""

_ROOMS = {"telegram": TELEGRAM_ROOM, "discord": DISCORD_ROOM, "slack": SLACK_ROOM}
_SENDS = {"telegram": "sendMessage", "discord": "createMessage", "slack": "chat.postMessage"}
_LIMITED: Mapping[str, Mapping[str, JsonValue]] = {
    "telegram": {"kind": "status", "status": 429},
    "discord": {"kind": "status", "status": 429},
    "slack": {"kind": "error", "error": "ratelimited"},
}


class Order(BaseModel):
    """An action on the page; each kind takes the fields that it needs."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    do: Literal["say", "press", "cut", "mend", "lose", "limit", "kill", "start"]
    platform: Literal["telegram", "discord", "slack"] = "telegram"
    place: Literal["direct", "room"] = "direct"
    person: Literal[1, 2] = 1
    text: str = Field(default="", max_length=8_000)
    message: str = Field(default="", max_length=64)
    value: str = Field(default="", max_length=4_000)
    mention: bool = True  # begin a message in a room with the bot's name


class NotDone(Exception):
    """An order that cannot be carried out; the message says why."""


class Playground:
    """Three platforms, two people on each, and a gateway between them that can be killed."""

    def __init__(self, stage: Stage) -> None:
        """Take an open stage on which no gateway runs yet."""
        self._stage = stage
        self._sides: dict[str, AnySimulator] = {name: getattr(stage, name) for name in _ROOMS}
        self._authors: dict[tuple[str, Any], int] = {}  # platform and message -> person
        self._gateway, self._problem = "starting", ""
        self._epoch_s = time.time() - time.monotonic()
        for side in stage.platforms:
            for person, name in NAMES.items():
                side.name_person(person, name)

    # ------------------------------------------------------------ the gateway

    async def run(self) -> None:
        """Start the gateway, let Ann in as its owner on every platform, and note if it ends by itself."""
        await self._start()
        try:
            if not self._problem:
                await self._let_owner_in()
        except StoryBroken as error:
            self._problem = str(error)
        while True:
            if self._gateway == "running" and not self._stage.is_running:
                self._gateway, self._problem = "ended", "The gateway ended by itself; its log says why."
            await asyncio.sleep(0.2)

    async def _start(self) -> None:
        self._gateway, self._problem = "starting", ""
        try:
            await self._stage.start(WORDS_PER_S)
        except* StoryBroken as errors:
            self._problem = str(errors.exceptions[0])
        self._gateway = "running" if self._stage.is_running else "ended"

    async def _let_owner_in(self) -> None:
        """Approve Ann on each platform; the first approval makes her owner there, `tenk users role` on the others."""
        for number, side in enumerate(self._stage.platforms):
            chat = side.direct(1)
            self._say(side, chat, 1, "Hello! It is me, Ann.")
            with suppress(TimeoutError):
                await side.until(lambda side=side, chat=chat: bool(_code_in(side, chat)), LET_IN_S)  # type: ignore[misc]  # mypy takes no defaults here
            if not (code := _code_in(side, chat)):
                raise StoryBroken(f"Ann was given no code on {side.title}")
            sender = SENDER.search(await self._stage.tenk("pairing", "approve", code))
            if number and sender is not None:
                await self._stage.tenk("users", "role", sender[1], "owner")

    # ------------------------------------------------------------ actions

    async def act(self, order: Order) -> None:
        """Carry out an order.

        Raises:
            NotDone: it cannot be carried out.
        """
        match order.do:
            case "kill":
                self._gateway = "killing"
                await self._stage.kill()
                self._gateway = "killed"
            case "start":
                if self._stage.is_running or self._gateway == "starting":
                    raise NotDone("The gateway runs.")
                await self._start()
            case _:
                self._act_on(self._sides[order.platform], order)

    def _act_on(self, side: AnySimulator, order: Order) -> None:
        match order.do:
            case "say":
                self._talk(side, order)
            case "press":
                self._press(side, order)
            case "cut" | "mend":
                side.cut_wire(mended=order.do == "mend")
            case "lose":
                side.faults.load([{"kind": "cut", "method": _SENDS[side.name], "applied": True}])
            case _:
                side.faults.load([{"method": _SENDS[side.name], "retry_after_s": LIMIT_S, **_LIMITED[side.name]}])

    def _talk(self, side: AnySimulator, order: Order) -> None:
        text = order.text.strip()
        if not text:
            raise NotDone("There is nothing to say.")
        chat = self._chat(side, order.place, order.person)
        name, _, rest = text.removeprefix("/").partition(" ")
        if not (text.startswith("/") and side.has_command(name, rest)):
            mention = f"{side.mention} " if order.place == "room" and order.mention else ""
            self._say(side, chat, order.person, mention + text)
            return
        try:
            side.command(chat, name, rest.strip(), person=order.person)
        except LookupError as error:
            raise NotDone(f"{side.title} says: {error}") from None

    def _say(self, side: AnySimulator, chat: Any, person: int, text: str) -> None:
        self._authors[side.name, side.say(chat, text, person=person)] = person

    def _press(self, side: AnySimulator, order: Order) -> None:
        seen = self._messages(side, order.place, order.person)
        held = next((message for message in seen if str(message.message_id) == order.message), None)
        if held is None or order.value not in {value for _, value in held.buttons}:
            raise NotDone("That button is gone.")
        side.press(held.chat_id, held.message_id, order.value, person=order.person)

    # ------------------------------------------------------------ what the page shows

    def state(self) -> dict[str, JsonValue]:
        """Return everything that the page shows."""
        pid = self._stage.pid if self._stage.is_running else None
        return {
            "gateway": {"state": self._gateway, "problem": self._problem, "pid": pid},
            "platforms": [self._platform(side) for side in self._sides.values()],
        }

    def file(self, platform: str, message_id: str, number: int) -> File | None:
        """Return a file of a message, or None."""
        side = self._sides.get(platform)
        views = [self._messages(side, place, person) for place in PLACES for person in NAMES] if side else []
        held = next((message for view in views for message in view if str(message.message_id) == message_id), None)
        return held.files[number] if held is not None and number < len(held.files) else None

    def log(self) -> str:
        """Return the end of the gateway's log."""
        return self._stage.log_tail()

    def _platform(self, side: AnySimulator) -> JsonValue:
        return {
            "name": side.name,
            "title": side.title,
            "connected": self._stage.is_running and not side.is_cut and side.is_connected(),
            "cut": side.is_cut,
            "waiting": side.count_unacknowledged(),
            "views": {
                f"{place}-{person}": [self._message(side, seen) for seen in self._messages(side, place, person)]
                for place in PLACES
                for person in NAMES
            },
            "calls": [
                {
                    "n": call.seq, "at": self._ms(call.at_s), "method": call.method, "status": call.status,
                    "applied": call.applied, "text": (call.text or "")[:160], "why": call.description[:120],
                }
                for call in side.history(after=side.newest_seq - SHOWN_CALLS)
            ],
        }  # fmt: skip

    def _message(self, side: AnySimulator, seen: AnyMessage) -> JsonValue:
        message = as_read(seen)
        author = NAMES.get(self._authors.get((side.name, message.message_id), 0), "")
        return {
            "id": str(message.message_id),
            "bot": message.by_bot,
            "who": "TenK" if message.by_bot else author,
            "text": message.text,
            "looks": list(message.entities or ()),
            "reaction": message.reaction,
            "private": message.private,
            "thread": message.thread is not None,
            "growing": message.streaming or (message.by_bot and message.text.endswith(GROWS)),
            "buttons": [list(button) for button in message.buttons],
            "files": [{"name": file.name, "bytes": len(file.content)} for file in message.files],
            "at": self._ms(message.at_s),
        }

    def _messages(self, side: AnySimulator, place: str, person: int) -> Sequence[AnyMessage]:
        return side.messages(self._chat(side, place, person), person)[-SHOWN_MESSAGES:]

    def _chat(self, side: AnySimulator, place: str, person: int) -> Any:
        return side.direct(person) if place == "direct" else side.room(_ROOMS[side.name])

    def _ms(self, at_s: float) -> int:
        """Return milliseconds since 1970, as browsers count."""
        return int((at_s + self._epoch_s) * 1000)


def _code_in(side: AnySimulator, chat: Any) -> str:
    codes = (CODE.search(as_read(message).text) for message in side.answers(chat))
    return next((found[0] for found in codes if found), "")
