"""Slack's answers to a send, sorted into kinds of failure: a table, one row a script, with the real SDK."""

from dataclasses import dataclass, field

import pytest

from channels.errors import ChannelError, Permanent, PermanentKind, Retryable, Unknown
from channels.simulators.shared.faults import Fault
from channels.slack.render import MARKDOWN, MRKDWN
from tests.fakes.slack import part, slack


@dataclass(frozen=True)
class Script:
    name: str
    raises: type[ChannelError] | None = None
    kind: PermanentKind | None = None
    retry_after_s: float | None = None
    shown: int = 0  # messages of the bot's the person sees afterwards
    text: str = "hello"
    markup: str | None = MARKDOWN
    chat: str = "D1"
    thread: str | None = None
    faults: tuple[Fault, ...] = field(default=())
    archived: bool = False
    outside: bool = False  # the bot is not in the channel
    says: str = ""  # stands in the error


def _post(kind: str, **more: object) -> tuple[Fault, ...]:
    return (Fault.model_validate({"kind": kind, "method": "chat.postMessage"} | more),)


MALFORMED, BLOCKED, REJECTED = PermanentKind.MALFORMED, PermanentKind.BLOCKED, PermanentKind.REJECTED

SCRIPTS = [
    Script("a Markdown block goes", shown=1),
    Script("mrkdwn goes as a section", markup=MRKDWN, shown=1),
    Script("plain text goes as text", markup=None, shown=1),
    Script("12,000 characters of Markdown go", text="x" * 12_000, shown=1),
    Script("12,001 characters of Markdown do not", Permanent, MALFORMED, text="x" * 12_001),
    Script("3,000 characters of mrkdwn go", text="x" * 3_000, markup=MRKDWN, shown=1),
    Script("3,001 characters of mrkdwn do not", Permanent, MALFORMED, text="x" * 3_001, markup=MRKDWN),
    Script("long plain text goes in sections", text="x" * 12_000, markup=None, shown=1),
    Script("plain text of nothing but brackets goes", text="<" * 11_900, markup=None, shown=1),
    Script("emoji count as characters", text="🎹" * 12_000, shown=1),
    Script("nothing but blanks is refused", Permanent, MALFORMED, text=" \n "),
    Script("a 40 kB code block in one part is refused", Permanent, MALFORMED, text="```\n" + "x" * 40_000 + "\n```"),
    Script("an unknown chat is unreachable", Permanent, BLOCKED, chat="C404"),
    Script("a channel without us is unreachable", Permanent, BLOCKED, chat="C1", outside=True),
    Script("an archived channel is unreachable", Permanent, BLOCKED, chat="C1", archived=True),
    Script("an unknown thread is refused for good", Permanent, REJECTED, thread="1700000000.000001"),
    Script("429 says when", Retryable, retry_after_s=5.0, faults=_post("error", error="ratelimited", retry_after_s=5)),
    Script("429 without a word of when", Retryable, faults=_post("status", status=429, retry_after_s=30)),
    Script("429 as a page", Retryable, faults=_post("html", status=429)),
    Script("internal_error may have happened", Unknown, faults=_post("error", error="internal_error")),
    Script("internal_error that did happen", Unknown, shown=1, faults=_post("error", applied=True)),
    Script("fatal_error may have happened", Unknown, faults=_post("error", error="fatal_error")),
    Script("500 may have happened", Unknown, faults=_post("status")),
    Script("500 that did happen", Unknown, shown=1, faults=_post("status", applied=True)),
    Script("502 as a page may have happened", Unknown, faults=_post("html", status=502)),
    Script("502 as a page that did happen", Unknown, shown=1, faults=_post("html", status=502, applied=True)),
    Script("a page with status 200 is no receipt", Unknown, shown=1, faults=_post("html", status=200, applied=True)),
    Script("a cut connection may have happened", Unknown, faults=_post("cut")),
    Script("a cut connection that did happen", Unknown, shown=1, faults=_post("cut", applied=True)),
    Script("a late answer may have happened", Unknown, shown=1, faults=_post("delay", delay_s=5, applied=True)),
    Script(
        "a dead token waits to be mended", Retryable, faults=_post("error", error="token_revoked"), says="OAuth & Perm"
    ),
    Script("a refused token waits to be mended", Retryable, faults=_post("error", error="invalid_auth"), says="xoxb-"),
    Script("an inactive account waits", Retryable, faults=_post("error", error="account_inactive")),
    Script(
        "a missing scope is named",
        Retryable,
        faults=_post("error", error="missing_scope", needed="chat:write"),
        says="add chat:write at api.slack.com/apps",
    ),
    Script(
        "blocks it does not take are malformed", Permanent, MALFORMED, faults=_post("error", error="invalid_blocks")
    ),
    Script("msg_too_long is malformed", Permanent, MALFORMED, faults=_post("error", error="msg_too_long")),
    Script("a read-only channel is unreachable", Permanent, BLOCKED, faults=_post("error", error="restricted_action")),
    Script(
        "who closed the bot's tab is unreachable",
        Permanent,
        BLOCKED,
        faults=_post("error", error="messages_tab_disabled"),
    ),
    Script(
        "a word nobody knows is refused for good", Permanent, REJECTED, faults=_post("error", error="as_user_not_ok")
    ),
    Script(
        "service_unavailable may have happened",
        Unknown,
        faults=_post("status", status=503, error="service_unavailable"),
    ),
]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
async def test_a_send(script: Script):
    is_late = any(fault.kind == "delay" for fault in script.faults)
    async with slack(call_timeout_s=1.0 if is_late else 30.0) as rig:
        chat = rig.simulator.world.chat(script.chat) if script.chat != "C404" else None
        if chat is not None and script.archived:
            chat.archived = True
        if chat is not None and script.outside:
            chat.members.clear()
        rig.simulator.faults.script(*script.faults)
        sending = rig.channel.send(part(script.text, chat=script.chat, thread=script.thread, markup=script.markup))
        if script.raises is None:
            assert (await sending).platform_id == rig.simulator.answers(script.chat)[0].message_id
        else:
            with pytest.raises(script.raises) as caught:
                await sending
            assert script.kind == getattr(caught.value, "kind", None)
            assert script.says in str(caught.value)
            if script.retry_after_s is not None:
                assert script.retry_after_s == getattr(caught.value, "retry_after_s", None)
        assert script.shown == len(rig.simulator.answers(script.chat))
        assert 1 == len(rig.simulator.history())
        assert [] == rig.simulator.pings()
