"""The playground: the stage with a person and the owner on each platform, what they do, and what they see.

It lives in a process of its own, beside the gateway that it starts, so that whoever plays can kill that one.
"""

import asyncio
import contextlib
import re
import time
from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from channels.simulators.shared.person_side import PersonSide, SeenMessage
from gateway.demo.stage import DISCORD_ROOM, SLACK_ROOM, TELEGRAM_ROOM, Stage, StoryBroken
from gateway.demo.story import CODE
from gateway.demo.transcript import as_read

OWNER, NEWCOMER = 1, 2
NAMES = {OWNER: "Ann", NEWCOMER: "Ben"}
PLACES = ("direct", "room")

WORDS_PER_S = 14.0
"""How fast the offline coach speaks: slowly enough to be killed in the middle of a sentence."""

SHOWN_MESSAGES = 80
SHOWN_CALLS = 40
TYPING_SHOWN_S = 5.0
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
_LIMITS: Mapping[str, Mapping[str, JsonValue]] = {
    "telegram": {"kind": "status", "status": 429},
    "discord": {"kind": "status", "status": 429},
    "slack": {"kind": "error", "error": "ratelimited"},
}


_SENDER = re.compile(r"\((\S+?)[,)]")
"""Who somebody is, as `tenk pairing approve` prints it."""


class Order(BaseModel):
    """What somebody does on the page; each kind takes what it needs."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    do: Literal["say", "press", "cut", "mend", "lose", "limit", "kill", "start"]
    platform: Literal["telegram", "discord", "slack"] = "telegram"
    place: Literal["direct", "room"] = "direct"
    person: Literal[1, 2] = 1
    text: str = Field(default="", max_length=8_000)
    message: str = Field(default="", max_length=64)
    value: str = Field(default="", max_length=4_000)
    mention: bool = True  # whether what is said in a room is said to the bot


class NotDone(Exception):
    """An order that cannot be carried out; the message says why."""


class Playground:
    """Three platforms, two people on each, and a gateway between them that can be killed."""

    def __init__(self, stage: Stage) -> None:
        """`stage` is open; no gateway runs yet."""
        self._stage = stage
        self._sides: dict[str, PersonSide] = {side.name: side for side in stage.platforms}
        self._authors: dict[tuple[str, str], int] = {}  # platform and message -> who wrote it
        self._typing: dict[tuple[str, str], tuple[int, float]] = {}  # platform and chat -> how often, last when
        self._gateway = "starting"
        self._problem = ""
        self._shifted_s = time.time() - time.monotonic()
        for side in stage.platforms:
            for person, name in NAMES.items():
                side.name_person(person, name)

    # ------------------------------------------------------------ the gateway

    async def begin(self) -> None:
        """Start the gateway, and let Ann in as its owner on every platform; what fails is shown on the page."""
        if await self._start():
            try:
                await self._let_owner_in()
            except StoryBroken as error:
                self._problem = str(error)

    async def _start(self) -> bool:
        self._gateway, self._problem = "starting", ""
        try:
            await self._stage.start(WORDS_PER_S)
        except* StoryBroken as errors:
            self._problem = str(errors.exceptions[0])
        self._gateway = "running" if self._stage.is_running else "ended"
        return not self._problem

    async def _let_owner_in(self) -> None:
        """The first one let in becomes the owner, on one platform; the command line makes her that on the others."""
        for side in self._stage.platforms:
            direct = side.direct(OWNER)
            self._say(side, direct, OWNER, "Hello! It is me, Ann.")
            with contextlib.suppress(TimeoutError):
                await side.until(lambda side=side, direct=direct: _code_in(side, direct) is not None, LET_IN_S)  # type: ignore[misc]  # mypy takes no defaults here
            code = _code_in(side, direct)
            if code is None:
                raise StoryBroken(f"Ann was given no code on {side.title}")
            told = await self._stage.tenk("pairing", "approve", code)
            sender = _SENDER.search(told)
            if side is not self._stage.platforms[0] and sender is not None:
                await self._stage.tenk("users", "role", sender[1], "owner")

    async def watch(self) -> None:
        """Note a gateway that ends by itself; returns never."""
        while True:
            if self._gateway == "running" and not self._stage.is_running:
                self._gateway, self._problem = "ended", "The gateway ended by itself; its log says why."
            await asyncio.sleep(0.2)

    # ------------------------------------------------------------ what is done

    async def act(self, order: Order) -> None:
        """Carry out an order.

        Raises:
            NotDone: it cannot be, just now or at all.
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
                self._play(self._sides[order.platform], order)

    def _play(self, side: PersonSide, order: Order) -> None:
        """What is done on one platform, or to its wire."""
        match order.do:
            case "say":
                self._talk(side, order)
            case "press":
                self._press(side, order)
            case "cut" | "mend":
                side.cut_wire(mended=order.do == "mend")
            case "lose":
                side.script_fault(kind="cut", method=_SENDS[side.name], applied=True)
            case _:
                side.script_fault(method=_SENDS[side.name], retry_after_s=LIMIT_S, **_LIMITS[side.name])

    def _talk(self, side: PersonSide, order: Order) -> None:
        text = order.text.strip()
        if not text:
            raise NotDone("There is nothing to say.")
        chat = self._chat(side, order.place, order.person)
        name, _, rest = text.removeprefix("/").partition(" ")
        if text.startswith("/") and side.has_command(name, rest):
            try:
                side.command(chat, name, rest.strip(), person=order.person)
            except LookupError as error:
                raise NotDone(f"{side.title} says: {error}") from None
            return
        spoken = f"{side.mention} {text}" if order.place == "room" and order.mention else text
        self._say(side, chat, order.person, spoken)

    def _say(self, side: PersonSide, chat: str, person: int, text: str) -> None:
        self._authors[side.name, side.say(chat, text, person=person)] = person

    def _press(self, side: PersonSide, order: Order) -> None:
        seen = self._view(side, order.place, order.person)
        held = next((message for message in seen if message.message_id == order.message), None)
        if held is None or order.value not in {value for _, value in held.buttons}:
            raise NotDone("That button is gone.")
        side.press(held.chat, held.message_id, order.value, person=order.person)

    # ------------------------------------------------------------ what is seen

    def state(self) -> dict[str, JsonValue]:
        """Everything the page shows, as JSON."""
        return {
            "gateway": {"state": self._gateway, "problem": self._problem, "pid": self._pid()},
            "platforms": [self._platform(self._sides[name]) for name in _ROOMS],
        }

    def file(self, platform: str, message_id: str, number: int) -> tuple[str, bytes] | None:
        """Name and content of a file in a message; None where there is none."""
        side = self._sides.get(platform)
        places = [(place, person) for place in PLACES for person in NAMES] if side is not None else []
        for place, person in places:
            for message in self._view(side, place, person) if side is not None else ():
                if message.message_id == message_id and number < len(message.files):
                    return message.files[number].name, message.files[number].content
        return None

    def log(self) -> str:
        """The last lines that the gateway logged."""
        return self._stage.log_tail()

    def _pid(self) -> int | None:
        return self._stage.pid if self._stage.is_running else None

    def _platform(self, side: PersonSide) -> dict[str, JsonValue]:
        views: dict[str, JsonValue] = {}
        for place in PLACES:
            for person in NAMES:
                views[f"{place}-{person}"] = {
                    "messages": [self._message(side, message) for message in self._view(side, place, person)],
                    "typing": self._is_typing(side, self._chat(side, place, person)),
                }
        return {
            "name": side.name,
            "title": side.title,
            "connected": self._stage.is_running and not side.is_cut and side.is_connected(),
            "cut": side.is_cut,
            "waiting": side.count_unacknowledged(),
            "views": views,
            "calls": [
                {
                    "n": call.seq, "at": self._wall(call.at_s), "method": call.method, "status": call.status,
                    "applied": call.applied, "text": (call.text or "")[:160], "why": call.description[:120],
                }
                for call in side.recent_calls(SHOWN_CALLS)
            ],
        }  # fmt: skip

    def _message(self, side: PersonSide, seen: SeenMessage) -> dict[str, JsonValue]:
        message = as_read(seen)
        author = self._authors.get((side.name, message.message_id))
        return {
            "id": message.message_id,
            "bot": message.by_bot,
            "who": "TenK" if message.by_bot else NAMES.get(author or 0, ""),
            "text": message.text,
            "looks": list(message.entities or ()),
            "reaction": message.reaction,
            "private": message.private,
            "thread": message.thread is not None,
            "growing": message.streaming or (message.by_bot and message.text.endswith("…")),
            "buttons": [list(button) for button in message.buttons],
            "files": [{"name": file.name, "bytes": len(file.content)} for file in message.files],
            "at": self._wall(message.at_s),
        }

    def _view(self, side: PersonSide, place: str, person: int) -> Sequence[SeenMessage]:
        return side.messages(self._chat(side, place, person), person)[-SHOWN_MESSAGES:]

    def _chat(self, side: PersonSide, place: str, person: int) -> str:
        return side.direct(person) if place == "direct" else side.room(_ROOMS[side.name])

    def _is_typing(self, side: PersonSide, chat: str) -> bool:
        times, at_s = self._typing.get((side.name, chat), (0, 0.0))
        now = side.typing(chat)
        if now > times:
            times, at_s = self._typing[side.name, chat] = now, time.monotonic()
        return bool(times) and self._stage.is_running and time.monotonic() - at_s < TYPING_SHOWN_S

    def _wall(self, at_s: float) -> int:
        """Milliseconds since 1970, as browsers count."""
        return int((at_s + self._shifted_s) * 1000)


def _code_in(side: PersonSide, chat: str) -> str | None:
    return next((found[0] for message in side.answers(chat) if (found := CODE.search(as_read(message).text))), None)
