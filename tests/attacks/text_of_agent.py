"""Functions of `agent` that read a person's or a model's words."""

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime

import orjson

from agent import end_texts, recovery, responses
from agent.catalogue import language_of
from agent.coach import log_line, practice
from agent.coach.log_line import LogLineError
from agent.coach.prose import tell_result
from agent.coach.reader.reader import OfflineReader
from agent.config import ModelConfig
from agent.context import compaction, layers, sections, sizes
from agent.encoded_pieces import EncodedPieces
from agent.journal import open_calls
from agent.models import (
    anthropic_answer,
    anthropic_format,
    facts,
    failures,
    http_wire,
    json_bodies,
    openai_format,
    prompted_tools,
)
from agent.models.http_wire import EventParser
from agent.permission_rules import BadRule, Source, Verdict, parse_rule, ruling_of
from agent.ports import ModelFailure, ModelRequest, RequestContext, SystemPrompt, TextDelta, ToolSpec
from agent.tools import schema, toolbox
from agent.tools.base import Tool
from agent.tools.toolbox import ToolBox
from agent.transcript import (
    AssistantItem,
    EndReason,
    Item,
    JournalEvent,
    ModelResponded,
    NoteItem,
    ToolCall,
    ToolItem,
    ToolReturned,
    TurnStarted,
    UserItem,
    fold,
)
from agent.wellformed import well_formed
from gateway.texts import HARNESS
from tests.attacks.growth import Entry
from tests.attacks.text_of_coach import ENTRIES as OF_COACH
from tests.fakes.agents import Number

TODAY = date(2026, 3, 4)
NOW = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
SKILLS = ("Guitar", "Piano", "Guitar scales", "a", "my")
CONTEXT = RequestContext("en", datetime(2026, 3, 4, 12, tzinfo=UTC))
READ = '{"success":true,"data":{"skills":[]},"error":null}'
TOOLS = tuple(ToolSpec(name, name, {}) for name in ("get_user_skills", "log_practice", "create_skill", "edit_session"))
PIECE_CHARS = 8
MOST_CALLS = 100


def parse_log(text: str) -> None:
    with suppress(LogLineError):
        log_line.parse_log(text, TODAY, SKILLS)


def log_then_text(text: str) -> None:
    parse_log(f"45m {text}")


def clean_name(text: str) -> None:
    with suppress(practice.PracticeRefused):
        practice.clean_name(text)


def conversation(text: str) -> tuple[Item, ...]:
    call = ToolCall("c1", "get_user_skills", text)
    said = (UserItem(text), AssistantItem(text, (call,)), ToolItem("c1", "get_user_skills", READ), NoteItem(text))
    return (*said, AssistantItem(text), UserItem(text), AssistantItem("", (call,)), ToolItem("c1", "a", text))


def offline(text: str) -> None:
    call = ToolCall("c1", "get_user_skills", "{}")
    for more in ((), (AssistantItem("", (call,)), ToolItem("c1", "get_user_skills", READ))):
        OfflineReader().answer(ModelRequest(SystemPrompt(), (UserItem(text), *more), TOOLS, 100, context=CONTEXT))


def pieces(text: str) -> list[str]:
    return [text[at : at + PIECE_CHARS] for at in range(0, len(text), PIECE_CHARS)]


def streamed(text: str) -> None:
    assembly = openai_format.CompletionAssembly(lambda _event: None, "test")
    with suppress(ModelFailure):
        for index, piece in enumerate(pieces(text)):
            function = {"name": piece, "arguments": piece}
            calls = [{"index": index, "id": piece, "function": function}, {"id": f"n{index}", "function": function}]
            assembly.feed({"choices": [{"delta": {"content": piece}}]})
            assembly.feed({"choices": [{"delta": {"reasoning_content": piece}}]})
            assembly.feed({"choices": [{"delta": {"content": [{"text": piece}], "tool_calls": calls}}]})
        assembly.response()


def streamed_messages(text: str) -> None:
    assembly = anthropic_answer.MessageAssembly(lambda _event: None, "test")
    with suppress(ModelFailure):
        for index, piece in enumerate(pieces(text)):
            for place, (kind, delta) in enumerate(_DELTAS.items()):
                block = {"type": kind, "id": piece, "name": piece, "input": {piece: piece}}
                begun = {"type": "content_block_start", "index": 3 * index + place, "content_block": block}
                more = {
                    "type": "content_block_delta",
                    "index": 3 * index + place,
                    "delta": {"type": delta[0], delta[1]: piece},
                }
                for event in (begun, more):
                    assembly.take_event("", json_bodies.encode(event))
        assembly.take_event("", json_bodies.encode({"type": "message_delta", "delta": {}, "usage": {text: 1}}))
        for index in range(3 * len(pieces(text))):
            assembly.take_event("", json_bodies.encode({"type": "content_block_stop", "index": index}))
        assembly.response()


_DELTAS = {
    "text": ("text_delta", "text"),
    "thinking": ("thinking_delta", "thinking"),
    "tool_use": ("input_json_delta", "partial_json"),
}


def events(text: str) -> None:
    parser = EventParser()
    for piece in pieces(text):
        parser.feed(piece.encode("utf-8", "surrogatepass"))
    parser.feed(text.encode("utf-8", "surrogatepass") + b"\n\n")


def answered(text: str) -> None:
    for make in (openai_format.CompletionAssembly, anthropic_answer.MessageAssembly):
        with suppress(ModelFailure):
            http_wire.read_whole(text.encode("utf-8", "surrogatepass"), make(lambda _event: None, "test"))


def refused(text: str) -> None:
    failures.from_answer(500, {"Retry-After": text}, text, NOW, "sk-secret")
    failures.from_error({"message": text, "code": text}, "sk-secret")
    problem = failures.from_answer(400, {}, text, NOW, "sk-secret")
    failures.refuses_tools(problem)
    failures.refused_field(problem)


def served_list(text: str) -> None:
    server = facts.read_models({"data": [{"id": text[:1000]}, {"id": "b"}]})
    server.advice(text[:1000] if server.lacks(text) else "b")
    facts.read_show(server.models[0], {"parameters": text, "model_info": {text: 1}}, {"models": [{"name": text}]})


async def _nothing(_context: object, _arguments: object) -> None:
    pass


DEFERRED = ToolBox([Tool(name="later", description="Do it later", arguments=Number, run=_nothing, should_defer=True)])


def searched(text: str) -> None:
    for content in (text, '{"data":{"loaded":["' + text + '"]}}', '{"data":{"loaded":[' + text + "]}}"):
        DEFERRED.names_loaded([ToolItem("c", "tool_search", content)])


def call_arguments(text: str) -> None:
    for written in (text, '{"n": "' + text + '"}', '{"n":' + text + "}"):
        with suppress(schema.BadArguments):
            schema.read(written, Number)


def arguments_of_others(text: str) -> None:
    with suppress(schema.BadArguments):
        schema.fit({"towns": [text, text], text: {text: text}}, OTHERS)


OTHERS = {
    "type": "object",
    "properties": {"towns": {"type": "array", "items": {"enum": ["Lima"]}}},
    "additionalProperties": False,
}


def responded(text: str) -> ModelResponded:
    return ModelResponded(0, text, tuple(ToolCall(piece, piece, piece) for piece in pieces(text)))


def classified(text: str) -> None:
    responses.classify(ModelResponded(0, text))


def with_own_ids(text: str) -> None:
    responses.with_own_ids(responses.at_most(responded(text), MOST_CALLS), 0, frozenset(pieces(text)), "turn")


def journal_of(text: str) -> list[JournalEvent]:
    response = responses.with_own_ids(responses.at_most(responded(text), MOST_CALLS), 0, frozenset(), "turn")
    returned = [
        ToolReturned(0, f"turn/0/{index}", call.id, call.name, call.arguments)
        for index, call in enumerate(response.tool_calls)
    ]
    return [TurnStarted((UserItem(text),)), response, *returned]


def many_calls(text: str) -> None:
    journal = journal_of(text)
    open_calls(journal)
    recovery.detect_loop(journal * 4)
    wild = [ModelResponded(0, text, (ToolCall("c", text, text),)), ToolReturned(0, "k", "c", text, text)]
    recovery.detect_loop([*wild * 4, *[ModelResponded(0, text)] * 4])
    fold([*journal, ModelResponded(1, text), *(ModelResponded(2, piece) for piece in pieces(text))])


def prompted(text: str) -> None:
    items = (*conversation(text), UserItem(text, sender=text))
    body = openai_format.request_body(
        ModelRequest(SystemPrompt(text), items, TOOLS, 100), "m", "max_tokens", usage_in_stream=True
    )
    json_bodies.encode(body)
    request = ModelRequest(SystemPrompt(text, text), items, TOOLS, 100)
    json_bodies.encode(anthropic_format.request_body(request, "m", ModelConfig()))
    kept = replace(request, pieces=EncodedPieces())
    for sent in (kept, replace(kept, items=items[1:])):
        json_bodies.encode_request(sent, lambda asked: anthropic_format.request_body(asked, "m", ModelConfig()))
    sizes.estimate_tokens(layers.trim_history(items, 100, 1000))
    sizes.features_of(items, [UserItem(text, data=text)])
    layers.blank_old_results(items)
    layers.drop_results(items, layers.largest_results(items, len(text)))
    layers.collapse_steps(items, 1)
    layers.show_notes(items, {layers.digest_of(span): text for span in layers.old_steps(items, 1)})
    for size in (100, 10_000):
        list(compaction._chunks(items, sizes.WindowRoom(size)))  # noqa: SLF001  what a summary is made of
    sections.compose({sections.Section.PERSONA: text, sections.Section.PERSON: text})


def prompted_calls(text: str) -> None:
    for said in (
        text,
        f"<tool_call>{text}",
        text.replace(" ", "<tool_call>"),
        "```".join(pieces(text)),
        f"[{text}",
        '{"name":' * len(pieces(text)) + text,
    ):
        prompted_tools.read_calls(said, ["double", text])
        for call in (("double", said), ("double", "{}"), (text, "{")):
            prompted_tools._is_quoted([call], [UserItem(text), UserItem(said)])  # noqa: SLF001  what is not run
    for given in (well_formed(text), {well_formed(text): well_formed(text)}):
        prompted_tools.read_calls(orjson.dumps({"name": "double", "arguments": given}).decode(), ["double"])
    screen = prompted_tools._Screen(lambda _event: None)  # noqa: SLF001  what every piece passes
    for piece in pieces(text):
        screen(TextDelta(piece))
    screen.release()


def told_results(given: str) -> None:
    text = well_formed(given)  # nothing else is journaled
    shapes: list[object] = [text, {text: text}, [text], text.split(), {word: [word] for word in text.split()}]
    returned = [ToolReturned(0, "k", "c", "t", orjson.dumps({"data": data}).decode()) for data in shapes]
    returned.append(ToolReturned(0, "k", "c", "t", text))
    end_texts.found_text(HARNESS, returned, None, "en", TODAY)
    end_texts.found_text(HARNESS, returned, tell_result, "en", TODAY)


BOMBS = [
    parse_rule(f"*({name}={pattern})", verdict, Source.SESSION)
    for name in ("to", "what")
    for verdict in (Verdict.ALLOW, Verdict.DENY)
    for pattern in ("*a" * 100 + "!", "*[a-z]" * 40 + "!", "*?" * 100 + "!", "*" * 250 + "!", "*a*b" * 60 + "!")
]


def ruled(text: str) -> None:
    ruling_of(BOMBS, text, {"to": text, "what": {"deep": [text, {"deeper": text}]}})
    with suppress(BadRule):
        parse_rule(text, Verdict.DENY, Source.SESSION)


ENTRIES: dict[str, Entry] = {
    **OF_COACH,
    "agent.coach.log_line:parse_log behind a duration": Entry(log_then_text, log_line.MAX_LINE_CHARS),
    "agent.coach.reader.reader:OfflineReader.answer": Entry(offline, one_of=4),
    "agent.catalogue:language_of": Entry(language_of),
    "agent.permission_rules:ruling_of": Entry(ruled),
    "agent.models.openai_format:CompletionAssembly": Entry(streamed),
    "agent.models.anthropic_answer:MessageAssembly": Entry(streamed_messages),
    "agent.models.openai_format:request_body": Entry(prompted),
    "agent.models.http_wire:read_whole": Entry(answered),
    "agent.models.prompted_tools:read_calls": Entry(prompted_calls),
    "agent.models.http_wire:EventParser": Entry(events),
    "agent.models.failures:from_answer": Entry(refused),
    "agent.models.facts:read_show": Entry(served_list),
    "agent.responses:classify": Entry(classified),
    "agent.end_texts:with_note": Entry(
        lambda text: end_texts.with_note(text, end_texts.end_note(HARNESS, EndReason.TIMEOUT, text, text))
    ),
    "agent.end_texts:found_text": Entry(told_results),
    "agent.recovery:detect_loop": Entry(many_calls),
    "agent.tools.schema:read": Entry(call_arguments),
    "agent.tools.schema:fit": Entry(arguments_of_others),
    "agent.tools.toolbox:page_of": Entry(lambda text: toolbox.page_of(text, 0, 10_000)),
    "agent.tools.toolbox:ToolBox.find_deferred": Entry(DEFERRED.find_deferred, 500),
    "agent.tools.toolbox:ToolBox.names_loaded": Entry(searched),
    "agent.tools.toolbox:ToolBox.missing": Entry(lambda text: ToolBox([]).missing(text)),
}
