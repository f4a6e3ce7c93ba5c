"""Telegram's answers to a send, sorted into kinds of failure: a table, one row a script."""

from dataclasses import dataclass, field

import pytest

from channels.errors import ChannelError, Permanent, PermanentKind, Retryable, Unknown
from channels.simulators.shared.faults import Fault
from tests.fakes.telegram import part, telegram


@dataclass(frozen=True)
class Script:
    name: str
    raises: type[ChannelError] | None = None
    kind: PermanentKind | None = None
    retry_after_s: float | None = None
    shown: int = 0  # messages of the bot's the person sees afterwards
    text: str = "hello"
    markup: str | None = None
    chat: int = 1
    faults: tuple[Fault, ...] = field(default=())
    blocked: bool = False


def _send(kind: str, **more: object) -> tuple[Fault, ...]:
    return (Fault.model_validate({"kind": kind, "method": "sendMessage"} | more),)


def _bold(offset: int, length: int) -> str:
    return f'[{{"type":"bold","offset":{offset},"length":{length}}}]'


MALFORMED, BLOCKED, REJECTED = PermanentKind.MALFORMED, PermanentKind.BLOCKED, PermanentKind.REJECTED

SCRIPTS = [
    Script("plain text goes", shown=1),
    Script("4096 units go", text="x" * 4096, shown=1),
    Script("4097 units do not", Permanent, REJECTED, text="x" * 4097),
    Script("2048 emoji are 4096 units", text="🎹" * 2048, shown=1),
    Script("2049 emoji are too long", Permanent, REJECTED, text="🎹" * 2049),
    Script("nothing but blanks is empty", Permanent, REJECTED, text=" \n "),
    Script("a lone surrogate is refused by Telegram, not by a crash", Permanent, REJECTED, text="a\ud800"),
    Script("an entity past the end is malformed", Permanent, MALFORMED, markup=_bold(3, 9)),
    Script("an entity inside a surrogate pair is malformed", Permanent, MALFORMED, text="🎹🎹", markup=_bold(1, 2)),
    Script("a negative offset is malformed", Permanent, MALFORMED, markup=_bold(-1, 2)),
    Script("an unknown entity is malformed", Permanent, MALFORMED, markup='[{"type":"shout","offset":0,"length":1}]'),
    Script("entities count UTF-16 units", text="🎹 hi", markup=_bold(3, 2), shown=1),
    Script("an unknown chat is unreachable", Permanent, BLOCKED, chat=404),
    Script("who blocked us is unreachable", Permanent, BLOCKED, blocked=True),
    Script(
        "a deactivated account is unreachable",
        Permanent,
        BLOCKED,
        faults=_send("status", status=403, description="Forbidden: user is deactivated"),
    ),
    Script("429 says when", Retryable, retry_after_s=5.0, faults=_send("status", status=429, retry_after_s=5)),
    Script(
        "429 for hours is obeyed too",
        Retryable,
        retry_after_s=9e3,
        faults=_send("status", status=429, retry_after_s=9000),
    ),
    Script("500 may have happened", Unknown, faults=_send("status", status=500)),
    Script("500 that did happen", Unknown, shown=1, faults=_send("status", status=500, applied=True)),
    Script("502 as a page may have happened", Unknown, faults=_send("html")),
    Script("502 as a page that did happen", Unknown, shown=1, faults=_send("html", applied=True)),
    Script("a cut connection may have happened", Unknown, faults=_send("cut")),
    Script("a cut connection that did happen", Unknown, shown=1, faults=_send("cut", applied=True)),
    Script("a page with status 200 is no receipt", Unknown, shown=1, faults=_send("html", status=200, applied=True)),
    Script("a refused token waits to be mended", Retryable, faults=_send("status", status=401)),
    Script(
        "a closed topic is refused for good",
        Permanent,
        REJECTED,
        faults=_send("status", status=400, description="Bad Request: TOPIC_CLOSED"),
    ),
    Script(
        "no right to write is unreachable",
        Permanent,
        BLOCKED,
        faults=_send(
            "status", status=400, description="Bad Request: not enough rights to send text messages to the chat"
        ),
    ),
    Script("a slow answer is an answer", shown=1, faults=_send("delay", delay_s=0.05, applied=True)),
]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
async def test_send(script: Script):
    async with telegram() as rig:
        rig.simulator.add_chat(1, "private")
        rig.simulator.faults.script(*script.faults)
        if script.blocked:
            rig.simulator.block(1)
        sending = rig.channel.send(part(script.text, markup=script.markup, chat=script.chat))
        if script.raises is None:
            assert "1" == (await sending).platform_id
        else:
            with pytest.raises(script.raises) as caught:
                await sending
            assert script.kind is getattr(caught.value, "kind", None)
            assert script.retry_after_s == getattr(caught.value, "retry_after_s", None)
        assert script.shown == len(rig.simulator.answers(1))
