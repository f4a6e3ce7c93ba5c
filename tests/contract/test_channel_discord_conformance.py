"""Discord's answers to a send, sorted into kinds of failure: a table, one row a script."""

from dataclasses import dataclass, field

import pytest

from channels.errors import ChannelError, Permanent, PermanentKind, Retryable, Unknown
from channels.messages import AttachmentKind, Button, OutboundMedia, OutboundPart
from channels.simulators.shared.faults import Fault
from tests.fakes.discord import ROOM, Rig, discord, part

BLOCKED, REJECTED, GONE = PermanentKind.BLOCKED, PermanentKind.REJECTED, PermanentKind.TARGET_GONE


@dataclass(frozen=True)
class Script:
    name: str
    raises: type[ChannelError] | None = None
    kind: PermanentKind | None = None
    retry_after_s: float | None = None
    shown: int = 0  # messages of the bot's that people see afterwards
    sent: OutboundPart = field(default_factory=lambda: part("hello"))
    faults: tuple[Fault, ...] = ()
    prepared: str = ""  # a method of this module's `Prepared`
    timeout_s: float = 30.0
    again: bool = False  # the same part is sent once more


def _fault(kind: str, **more: object) -> tuple[Fault, ...]:
    return (Fault.model_validate({"kind": kind, "method": "createMessage"} | more),)


def _file(name: str, size: int) -> OutboundMedia:
    return OutboundMedia(AttachmentKind.DOCUMENT, name, "text/plain", b"x" * size)


def _buttons(count: int) -> tuple[Button, ...]:
    return tuple(Button(f"b{n}", f"id:{n}") for n in range(count))


class Prepared:
    @staticmethod
    def blocked(rig: Rig) -> None:
        rig.simulator.block(1)

    @staticmethod
    def muted(rig: Rig) -> None:
        rig.simulator.block(ROOM)

    @staticmethod
    def hidden(rig: Rig) -> None:
        rig.simulator.world.channels[ROOM].readable = False

    @staticmethod
    def revoked_later(rig: Rig) -> None:
        rig.simulator.world.bot().revoked = True

    @staticmethod
    def nonce_forgotten(rig: Rig) -> None:
        rig.simulator.world.nonce_window_s = 0.0


SCRIPTS = [
    Script("plain text goes", shown=1),
    Script("2000 characters go", sent=part("x" * 2000), shown=1),
    Script("2001 characters do not", Permanent, REJECTED, sent=part("x" * 2001)),
    Script("2000 emoji are 2000 characters", sent=part("🎹" * 2000), shown=1),
    Script("nothing but blanks is empty", Permanent, REJECTED, sent=part(" \n ")),
    Script("a lone surrogate is refused, not a crash", Permanent, REJECTED, sent=part("a\ud800")),
    Script("an unknown channel is unreachable", Permanent, BLOCKED, sent=part("x", chat=404)),
    Script("who takes no direct messages is unreachable", Permanent, BLOCKED, prepared="blocked"),
    Script("where we may not write is unreachable", Permanent, BLOCKED, sent=part("x", chat=ROOM), prepared="muted"),
    Script("where we may not look is unreachable", Permanent, BLOCKED, sent=part("x", chat=ROOM), prepared="hidden"),
    Script("a reply to what is gone goes without", sent=part("x", reply_to=99), shown=1),
    Script("twenty-five buttons go", sent=part("x", buttons=_buttons(25)), shown=1),
    Script("a file goes", sent=part("", media=(_file("a.txt", 10),)), shown=1),
    Script("ten files go", sent=part("x", media=tuple(_file(f"{n}.txt", 10) for n in range(10))), shown=1),
    Script("a file named ../../x goes, by another name", sent=part("", media=(_file("../../x", 10),)), shown=1),
    Script("a file of 21 MB is too large", Permanent, REJECTED, sent=part("", media=(_file("a", 21 << 20),))),
    Script("nine megabytes go", sent=part("", media=(_file("a.bin", 9 << 20),)), shown=1),
    Script("the same key says it once", shown=1, again=True),
    Script("the same key is forgotten after a while", shown=2, again=True, prepared="nonce_forgotten"),
    Script("a short 429 is waited for", shown=1, faults=_fault("status", status=429, retry_after_s=0.05)),
    Script(
        "a global 429 is waited for",
        shown=1,
        faults=_fault("status", status=429, retry_after_s=0.05, everywhere=True),
    ),
    Script(
        "a long 429 says when", Retryable, retry_after_s=600.0, faults=_fault("status", status=429, retry_after_s=600)
    ),
    Script(
        "a 429 that lasts longer than a call may is no send",
        Retryable,
        retry_after_s=20.0,
        faults=_fault("status", status=429, retry_after_s=20),
        timeout_s=1.0,
    ),
    Script("Cloudflare's 429 waits a minute", Retryable, retry_after_s=60.0, faults=_fault("html", status=429)),
    Script("500 may have happened", Unknown, faults=_fault("status")),
    Script("500 that did happen", Unknown, shown=1, faults=_fault("status", applied=True)),
    Script("500 that did happen, and again", Unknown, shown=1, faults=_fault("status", applied=True), again=True),
    Script("503 may have happened", Unknown, faults=_fault("status", status=503)),
    Script("502 as a page may have happened", Unknown, faults=_fault("html")),
    Script("502 as a page that did happen", Unknown, shown=1, faults=_fault("html", applied=True), again=True),
    Script("a cut connection may have happened", Unknown, faults=_fault("cut")),
    Script("a cut connection that did happen", Unknown, shown=1, faults=_fault("cut", applied=True), again=True),
    Script("a page with status 200 is no receipt", Unknown, shown=1, faults=_fault("html", status=200, applied=True)),
    Script(
        "a late answer may have happened",
        Unknown,
        shown=1,
        faults=_fault("delay", delay_s=5, applied=True),
        timeout_s=1.0,
    ),
    Script("a slow answer is an answer", shown=1, faults=_fault("delay", delay_s=0.05, applied=True)),
    Script("a refused token waits to be mended", Retryable, prepared="revoked_later"),
    Script(
        "a limit with another status waits too",
        Retryable,
        faults=_fault("status", status=400, code=30046, description="Slow"),
    ),
    Script(
        "what AutoMod blocks is refused for good",
        Permanent,
        REJECTED,
        faults=_fault("status", status=400, code=200000, description="Blocked by AutoMod"),
    ),
    Script("a 400 without reasons is refused for good", Permanent, REJECTED, faults=_fault("status", status=400)),
]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
async def test_send(script: Script):
    async with discord(call_timeout_s=script.timeout_s) as rig:
        rig.simulator.faults.script(*script.faults)
        if script.prepared:
            getattr(Prepared, script.prepared)(rig)
        if script.raises is None:
            assert (await rig.channel.send(script.sent)).platform_id.isdigit()
        else:
            with pytest.raises(script.raises) as caught:
                await rig.channel.send(script.sent)
            assert script.kind is getattr(caught.value, "kind", None)
            assert script.retry_after_s == getattr(caught.value, "retry_after_s", None)
        if script.again:
            await rig.channel.send(script.sent)
        assert script.shown == len(rig.simulator.answers(int(script.sent.address.chat)))


@dataclass(frozen=True)
class Edit:
    name: str
    raises: type[ChannelError] | None = None
    kind: PermanentKind | None = None
    text: str = "other"
    faults: tuple[Fault, ...] = ()
    gone: bool = False
    foreign: bool = False
    shown: str = "other"


EDITS = [
    Edit("an edit replaces"),
    Edit("the same text is done", text="first", shown="first"),
    Edit("what is gone has no text", Permanent, GONE, gone=True),
    Edit("what is not ours is refused", Permanent, REJECTED, foreign=True),
    Edit("too long is refused", Permanent, REJECTED, text="x" * 2001, shown="first"),
    Edit("500 may have happened", Unknown, faults=(Fault(kind="status", method="editMessage"),), shown="first"),
    Edit("500 that did happen", Unknown, faults=(Fault(kind="status", method="editMessage", applied=True),)),
]


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.name)
async def test_edit(edit: Edit):
    async with discord() as rig:
        ours = int((await rig.channel.send(part("first"))).platform_id)
        if edit.gone:
            rig.simulator.delete(1, ours)
        target = rig.simulator.say(1, "mine") if edit.foreign else ours
        rig.simulator.faults.script(*edit.faults)
        if edit.raises is None:
            assert str(ours) == (await rig.channel.edit(part(edit.text), str(target))).platform_id
        else:
            with pytest.raises(edit.raises) as caught:
                await rig.channel.edit(part(edit.text), str(target))
            assert edit.kind is getattr(caught.value, "kind", None)
        if not edit.gone and not edit.foreign:
            assert [edit.shown] == [message.text for message in rig.simulator.answers(1)]
