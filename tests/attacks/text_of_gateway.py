"""Functions of `gateway` that read a stranger's, a person's or a model's words."""

import json
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

from agent.coach.practice import Skill
from agent.ports import Principal
from agent.wellformed import well_formed
from channels.base import Limits, TextUnit
from channels.messages import Address, ChatKind, CommandInvoked, InboundMessage, Rejected, Sender
from channels.telegram.render import TelegramRenderer
from gateway.access import api_keys, pasted
from gateway.coach import commands as coach_commands
from gateway.commands.session import SESSION_COMMANDS, find_zone, near_zones
from gateway.commands.table import CommandTable
from gateway.delivery.block_splitter import cut_before
from gateway.delivery.pages import AnswerPages
from gateway.delivery.splitter import MAX_PARTS, split
from gateway.http.api import answer_format, openai_conversation, openai_format
from gateway.http.api.openai_format import (
    CompletionMessage,
    CompletionPart,
    CompletionRequest,
    JsonSchema,
    ResponseFormat,
)
from gateway.http.api.problems import ApiRefusal
from gateway.safety import guard, output, redaction
from gateway.safety.names import KnownName, Lookalikes
from gateway.sessions import pictures
from gateway.sessions.inbox_rules import read_words
from gateway.sessions.questions import describe, typed_answer
from gateway.sessions.user_items import frame
from gateway.telemetry import Cleaner
from tests.attacks.growth import Entry
from tests.fakes.chat import FakeChannel

NOW = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
ANA = Principal("u1", "default", "Ana", locale="en")
TABLE = CommandTable(SESSION_COMMANDS, "coach")
SCRUBBER = output.Scrubber(["secret-of-ours", "aaaaaaaaaa", "1m 1m 1m"])
CLEANER = Cleaner(redaction.Redactor(["secret-of-ours"]), one_line=True)
SKILL = Skill("s1", "Guitar", "", "#000000", 600_000, archived=False, total_minutes=0)


def a_message(text: str) -> InboundMessage:
    return InboundMessage(
        event_id="e1",
        message_id="1",
        address=Address("sim", "main", "c1"),
        sender=Sender("p1", text),
        received_at=NOW,
        kind=ChatKind.DIRECT,
        text=text,
        mentions_bot=True,
    )


def words(text: str) -> None:
    event = a_message(text)
    read_words(event, "coach")
    read_words(
        CommandInvoked(
            event_id="e1",
            address=event.address,
            sender=event.sender,
            received_at=NOW,
            kind=ChatKind.DIRECT,
            name=text,
            arguments=text,
        ),
        "coach",
    )


def completions(given: str) -> None:
    text = well_formed(given)
    user, part = CompletionMessage(role="user", content=text), CompletionPart(type="text", text=text)
    parts = CompletionMessage(role="user", content=(part, part))
    request = CompletionRequest(messages=(user, parts), user=text[:512])
    with suppress(ApiRefusal):  # it says nothing
        openai_format.words_to_say(request)
    openai_format.first_words(request.messages)
    openai_format.user_named(text)
    said = openai_conversation.place([("user", text), ("assistant", text), ("user", text)], text)
    openai_conversation.session_named({"X-OpenWebUI-Chat-Id": text}, said, text)
    with suppress(ApiRefusal):  # it cannot be a name
        openai_conversation.session_named({"X-Tenk-Session": text}, replace(said, previous=None), text)
    schema = ResponseFormat(type="json_schema", json_schema=JsonSchema(schema={"enum": [text]}))
    for answer in (text, json.dumps({text: [text]})):
        with suppress(ApiRefusal):  # it is no JSON, or other JSON
            answer_format.in_form(schema, answer)
    api_keys.id_of(text)


def commands(text: str) -> None:
    TABLE.parse(text)
    TABLE.calls(f"mode {text}")
    TABLE.parse(f"/{text}")
    TABLE.unknown(text[:32], ANA)
    find_zone(text)
    near_zones(text)
    coach_commands._find((SKILL,), text)  # noqa: SLF001  what /stats looks its argument up with


def logged(text: str) -> None:
    CLEANER(None, "info", {"event": text, text: text, "exception": text, "more": [text, {"a": text}]})


def suspect(text: str) -> None:
    output.clean(f"<{text}")
    output.clean(f"@{text}\n\n{text}")


def named(text: str) -> None:
    Lookalikes((KnownName("Ada", "owner"),)).introduce(text)
    frame("attached document", text, text)


def asked(text: str) -> None:
    describe(json.dumps({"a": text, text: [text]}))
    typed_answer(text, may_remember=True)


TELEGRAM = TelegramRenderer()
SMALL = Limits(max_text=400, unit=TextUnit.UTF16)
"""Little room; of more than `MAX_PARTS` times that no more is looked at."""


def in_parts(text: str) -> None:
    split(text, TELEGRAM, SMALL)


def growing(text: str) -> None:
    half = len(text) // 2
    AnswerPages(FakeChannel(limits=SMALL, renderer=TELEGRAM)).read(text[:half]).read(text).all_of(text)


def cut(text: str) -> None:
    cut_before(text, len(text) - 2)
    cut_before(text, len(text) - 2, [(0, 3), (5, 7)])


ENTRIES: dict[str, Entry] = {
    "gateway.sessions.pictures:read_image": Entry(lambda text: pictures.read_image(b"\xff\xd8" + b"\xff" * len(text))),
    "gateway.access.pasted:hide_secrets": Entry(lambda text: pasted.hide_secrets(Rejected("1", text, "")), 16_384),
    "gateway.safety.guard:find_all": Entry(guard.find_all),
    "gateway.safety.output:clean of a suspect": Entry(suspect),
    "gateway.safety.output:Scrubber.last_look": Entry(SCRUBBER.last_look),
    "gateway.safety.redaction:Redactor.redact of digits": Entry(lambda text: SCRUBBER.scrub(f"{text} {'0f' * 32}")),
    "gateway.telemetry:Cleaner": Entry(logged),
    "gateway.sessions.inbox_rules:read_words": Entry(words),
    "gateway.commands.table:CommandTable": Entry(commands),
    "gateway.http.api.openai_format": Entry(completions),
    "gateway.http.api.openai_conversation": Entry(completions),
    "gateway.http.api.answer_format": Entry(completions),
    "gateway.safety.names:Lookalikes": Entry(named),
    "gateway.sessions.questions:describe": Entry(asked),
    "gateway.delivery.block_splitter:cut_before": Entry(cut),
    "gateway.delivery.splitter:split": Entry(in_parts, MAX_PARTS * SMALL.max_text),
    "gateway.delivery.pages:AnswerPages": Entry(growing, MAX_PARTS * SMALL.max_text),
}
