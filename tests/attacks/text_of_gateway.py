"""What of `gateway` reads a stranger's, a person's or a model's words. How to register: see `tests.attacks.entries`."""

import json
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

from agent.coach.practice import Skill
from agent.ports import Principal
from agent.wellformed import well_formed
from channels.messages import Address, ChatKind, CommandInvoked, InboundMessage, Rejected, Sender
from gateway.access import api_keys, pasted
from gateway.cluster.wakeups import WAKE, Wakeups
from gateway.coach import commands as coach_commands
from gateway.commands.session import SESSION_COMMANDS, find_zone, near_zones
from gateway.commands.table import CommandTable
from gateway.delivery.pages import close_open_markup
from gateway.http.api import answer_format, openai_conversation, openai_format
from gateway.http.api.openai_format import (
    CompletionMessage,
    CompletionPart,
    CompletionRequest,
    JsonSchema,
    ResponseFormat,
)
from gateway.http.api.problems import ApiRefusal
from gateway.ownership import IN
from gateway.safety import guard, output, redaction
from gateway.safety.names import KnownName, Lookalikes
from gateway.sessions import pictures
from gateway.sessions.inbox_rules import is_marked, words_of
from gateway.sessions.questions import describe, typed_answer
from gateway.sessions.user_items import frame
from gateway.telemetry import Cleaner
from tests.attacks.entries import Entry
from tests.attacks.text_of_delivery import ENTRIES as OF_DELIVERY
from tests.attacks.text_of_delivery import EXCUSED as DELIVERY_EXCUSED

NOW = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
ANA = Principal("u1", "default", "Ana", locale="en")
TABLE = CommandTable(SESSION_COMMANDS, "coach")
SCRUBBER = output.Scrubber(["secret-of-ours", "aaaaaaaaaa", "1m 1m 1m"])
CLEANER = Cleaner(redaction.Redactor(["secret-of-ours"]), one_line=True)
SKILL = Skill("s1", "Guitar", "", "#000000", 600_000, archived=False, total_minutes=0)


def a_message(text: str) -> InboundMessage:
    """What a person said."""
    return InboundMessage(
        event_id="e1", message_id="1", address=Address("sim", "main", "c1"), sender=Sender("p1", text), received_at=NOW,
        kind=ChatKind.DIRECT, text=text, mentions_bot=True,
    )  # fmt: skip


def words(text: str) -> None:
    """What of a message decides where it goes."""
    event = a_message(text)
    is_marked(event, "coach")
    words_of(event, "coach")
    words_of(CommandInvoked(
        event_id="e1", address=event.address, sender=event.sender, received_at=NOW, kind=ChatKind.DIRECT, name=text,
        arguments=text,
    ), "coach")  # fmt: skip


def completions(given: str) -> None:
    """What a client of OpenAI's sends: JSON holds no lone surrogate."""
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
    """A command, one we have not, and a zone."""
    TABLE.parse(text)
    TABLE.calls(f"mode {text}")
    TABLE.parse(f"/{text}")
    TABLE.unknown(text[:32], ANA)
    find_zone(text)
    near_zones(text)
    coach_commands._find((SKILL,), text)  # noqa: SLF001  what /stats looks its argument up with


def logged(text: str) -> None:
    """Every value of a log event."""
    CLEANER(None, "info", {"event": text, text: text, "exception": text, "more": [text, {"a": text}]})


def suspect(text: str) -> None:
    """An answer in which there is something to clean."""
    output.clean(f"<{text}")
    output.clean(f"@{text}\n\n{text}")


def named(text: str) -> None:
    """Somebody's name as lists show it."""
    Lookalikes((KnownName("Ada", "owner"),)).introduce(text)
    frame("attached document", text, text)


def asked(text: str) -> None:
    """A call with this in its arguments, and this for an answer to it."""
    describe(json.dumps({"a": text, text: [text]}))
    typed_answer(text, may_remember=True)


def woken(text: str) -> None:
    """A word of whoever may publish where our processes meet."""
    wakeups = Wakeups("me")
    wakeups.on(IN, lambda _shard: None)
    wakeups.hear(f"{WAKE} {text}")
    wakeups.hear(f"{WAKE} you\n{text}")
    wakeups.hear(f"{WAKE} you\n{IN} {text}")


ENTRIES: dict[str, Entry] = {
    "gateway.sessions.pictures:read_image": Entry(lambda text: pictures.read_image(b"\xff\xd8" + b"\xff" * len(text))),
    "gateway.access.pasted:hide_secrets": Entry(lambda text: pasted.hide_secrets(Rejected("1", text, "")), 16_384),
    "gateway.safety.guard:find": Entry(guard.find, guard.MAX_LOOKED_AT_CHARS),
    "gateway.safety.guard:find_all": Entry(guard.find_all),
    "gateway.safety.output:clean": Entry(output.clean),
    "gateway.safety.output:clean of a suspect": Entry(suspect),
    "gateway.safety.output:Scrubber.last_look": Entry(SCRUBBER.last_look),
    "gateway.safety.redaction:Redactor.redact": Entry(SCRUBBER.scrub),
    "gateway.safety.redaction:Redactor.redact of digits": Entry(lambda text: SCRUBBER.scrub(f"{text} {'0f' * 32}")),
    "gateway.safety.redaction:redact_keys": Entry(redaction.redact_keys),
    "gateway.safety.redaction:escape_controls": Entry(redaction.escape_controls),
    "gateway.telemetry:Cleaner": Entry(logged),
    "gateway.sessions.inbox_rules:words_of": Entry(words),
    "gateway.commands.table:CommandTable": Entry(commands),
    "gateway.commands.table:CommandTable.calls": Entry(commands),
    "gateway.http.api.openai_format": Entry(completions),
    "gateway.http.api.openai_conversation": Entry(completions),
    "gateway.http.api.answer_format": Entry(completions),
    "gateway.delivery.pages:close_open_markup": Entry(close_open_markup),
    "gateway.safety.names:Lookalikes": Entry(named),
    "gateway.sessions.questions:describe": Entry(asked),
    "gateway.cluster.wakeups:Wakeups.hear": Entry(woken),
    **OF_DELIVERY,
}

EXCUSED: dict[str, str] = {
    "gateway.sessions.pictures:_unseen": "looks at the first 50 characters of a type that a platform tells",
    "gateway.ops.model_rests:_keep": "loops over the operator's few models, by their names",
    "gateway.commands.decisions": "looks at what one press led to",
    "gateway.sessions.questions:Questions._list_answers": "loops over the three answers there are",
    "gateway.sessions.questions:Questions._buttons": "loops over the three answers there are",
    "gateway.sessions.budgets:words_of": "loops over the two limits of a cap",
    "gateway.safety.names:short_of": "one pattern of 36 characters, matched whole",
    "gateway.ops.conversations": "loops over rows of the store; titles and names in them are short",
    "gateway.ops.usage_report": "adds up the counts of recorded calls; the score is measured with the agent's",
    "gateway.sessions.parking": "loops over the turns that wait, by their ids",
    **DELIVERY_EXCUSED,
    "gateway.commands.connect": "two parts of one reply, and the operator's few models",
    "gateway.http.oauth_page:page_of": "four values of one page, at most 4,096 characters",
    "gateway.credentials.formats": "loops over three names of fields, and the operator's own path",
    "gateway.safety.vault": "loops over the operator's few keys, read once at the start",
    "gateway.cli.": "the operator's own terminal and their own words",
    "gateway.demo.": "the demo shows what it says itself, in a process of its own",
    "gateway.testing.": "a test kit: its texts are those of the test that uses it",
    "gateway.config.listing": "the operator's own configuration, when somebody looks at it",
    "gateway.console.": "loops over rows that the store bounds, fields of one event, and code in our own words",
    "gateway.config.sources": "the operator's own configuration, read once at the start",
    "gateway.config.settings": "the operator's own configuration, read once at the start",
    "gateway.config.named_things": "the operator's own configuration, read once at the start",
    "gateway.reloading:TenantChange.apply": "loops over the operator's tenants when the configuration is read again",
    "gateway.inbound.manager:ChannelManager.states": "loops over the operator's accounts",
    "gateway.sessions.budgets:Budgets.standing": "loops over twenty caps, of a tenant by its name",
    "gateway.sessions.router:Router.running_of": "loops over sessions, compares tenants' names",
    "gateway.inbound.manager:ChannelManager.reports": "loops over the operator's accounts",
    "gateway.tenant:Tenant.__init__": "the operator's own few models, by their names",
    "gateway.ops.personal_data": "names of people, as an operator types them",
    "gateway.store.personal_data": "goes over tables and columns, once at an operator's word",
    "gateway.delivery.owner_words:OwnerWords.parts": "goes over owners, and the gateway's own words for them",
    "gateway.delivery.owner_words:owner_chats": "the name of an account that is down",
    "gateway.ops.home_check:check_database": "what its server has off, of three settings",
    "gateway.ops.home_check:check_secrets": "the address of the database, the operator's own",
    "gateway.reloading:Reloader.reload": "goes over keys of the operator's own configuration",
    "gateway.telemetry:LossyStream._put": "writes a line as it is",
    "gateway.telemetry:learn_secrets": "goes over the one redactor there is",
    "gateway.safety.redaction:Redactor.learn": "the secrets in use, read at the start and by a reload",
    "gateway.config.editing": "the operator's own configuration, changed at a terminal",
    "gateway.config.environment": "the operator's own configuration, read once at the start",
    "gateway.safety.output:_Element.__init__": "our own names of tags, compiled once at the start",
    "gateway.ops.watchdog": "the names of our own functions on a stack, a dozen",
    "gateway.product": "names in the operator's configuration, read once at the start",
    "gateway.extensions": "names in the operator's configuration and in entry points, read once at the start",
    "gateway.commands.table:CommandTable.__init__": "our own commands and their own texts",
    "gateway.commands.table:CommandTable._in_words": "our own commands and their options, at the start",
    "gateway.sessions.router:Router.forget": "compares the keys of living sessions",
    "gateway.coach.file_commands": "writes about a file that was read: ten lines of it, and the names of skills",
    "gateway.coach.commands:_goal": "takes times out of what is 200 characters at most",
    "gateway.sessions.budgets:Budgets._reserve": "tries once for each call that was settled; looks at numbers alone",
    "gateway.sessions.user_items:_decode": "decodes two million bytes at most, once",
    "gateway.coach.writer:_columns": "one pattern of seven characters, matched whole",
    "gateway.coach.writer:edit_skill": "six fields of a skill",
    "gateway.coach.writer:merge_skills": "the skills of one name",
    "gateway.coach.practice_rows": "loops over rows; a database looks at their texts, and only by ids",
    "gateway.command_line": "the command line this process was started with, read once at the start",
    "gateway.ops.alerts": "loops over the troubles there are, one for an account and a model at most, and over owners",
    "gateway.ops.trace": "an operator's own words, beside names of at most 128 characters",
    "gateway.ops.operators": "loops over the accounts of the configuration",
    "gateway.commands.groups": "names three settings of one group",
    "gateway.commands.linking": "loops over the two buttons of a question, and the two sides of a link",
    "gateway.inbound.owner_cards": "loops over a tenant's owners, and where each was heard last",
    "gateway.commands.people": "loops over everybody known, by four short values of each",
    "gateway.sessions.conversation": "loops over the turns that are kept, by the number of their events",
    "gateway.sessions.user_items:UserItemBuilder._check": "loops over the names of patterns",
    "gateway.coach.change_words": "joins the words of the few changes of one command",
    "gateway.sessions.invocations:CommandSession.clear": "reads the words of the messages that wait in one session",
    "gateway.sessions.aside": "builds a message like any other; loops over our own tools and events",
    "gateway.sessions.modes:rows_to_merge": "loops over the few rows that wait in memory",
    "gateway.sessions.mailbox": "asks the store again, by the ids of rows",
    "gateway.access.": "loops over people, requests and lists, whose ids and codes are short",
    "gateway.inbound.admission": "loops over the events of one batch",
    "gateway.inbound.intake": "loops over the events of one batch",
    "gateway.inbound.typed_answers:to_press": "loops over the eight suggestions of an answer",
    "gateway.sessions.presses:SuggestedReplies.lines": "loops over the eight suggestions of an answer",
    "gateway.inbound.web_records": "loops over the turns of one conversation, 60 at most, and their messages",
    "gateway.http.": "loops over the channels of the configuration",
    "gateway.cluster.": "names of leases, which the configuration has",
    "gateway.ownership": "names of leases, which the configuration has",
    "gateway.delivery.delivery:Delivery.is_sending": "loops over lanes, by their names",
    "gateway.inbound.bus:SharedBus.wake": "compares a word with the numbers of 256 shards",
    "gateway.ops.status:GatewayStatus._channel_troubles": "loops over the operator's accounts",
    "gateway.answering:make_sessions": "loops over the agents of the configuration",
    "gateway.operators:PublicLinks.ways": "loops over the operator's accounts",
    "gateway.inbound.manager:ChannelManager.__init__": "loops over the operator's accounts",
    "gateway.coach.writer:import_entries": "compares the words of entries that `read_file` has bounded, each once",
    "gateway.delivery.live_answer:LiveAnswer.start": "loops over the parts of an answer that were sent before a crash",
    "gateway.inbound.connections:AccountReading._while_held": "loops over the leases of one account",
    "gateway.sessions.commits": "loops over the rows of a turn, by their ids",
    "gateway.store.": "loops over rows; a database looks at their texts, and only by ids",
    "gateway.delivery.splitter": "measured with the rendering of a platform, on the way there",
    "gateway.delivery.pacing": "chats by their ids, of which a bounded number is kept",
    "gateway.delivery.pages:AnswerPages._turn": "loops over the pages of an answer, of which there are only so many",
}
