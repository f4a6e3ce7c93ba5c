"""Spans of a turn by OpenTelemetry's GenAI conventions; none unless enabled."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import NonRecordingSpan, SpanKind, StatusCode

from gateway import spans
from gateway.testing.model import Call, Fault, Reply
from tests.journeys.house import house

LOGGED = Reply(calls=(Call("log_practice", '{"skill": "guitar", "minutes": 30}'),), usage=(100, 10))


@pytest.fixture
def exporter() -> Iterator[InMemorySpanExporter]:
    kept, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    spans.record_spans(provider)
    yield kept
    spans.stop_recording()
    provider.shutdown()


def parent_of(span: ReadableSpan) -> int | None:
    return None if span.parent is None else span.parent.span_id


async def test_a_turn_is_a_span_around_its_models_and_tools(tmp_path: Path, exporter: InMemorySpanExporter) -> None:
    async with house(tmp_path) as here:
        here.model.answers(LOGGED, Reply("Noted, well done.", usage=(150, 20)))
        here.sim.say(1, "30 minutes of guitar")
        await here.told(1, "Noted")
        here.model.answers(Fault(status=400, body={"error": {"message": "bad model"}}))
        here.sim.say(1, "and now?")
        await here.told(1, "refuses this request")
        await here.settled()
        first, second = await here.rows("SELECT id, session_id, user_id FROM turns ORDER BY id")
    by_turn: dict[str, list[ReadableSpan]] = {}
    done = exporter.get_finished_spans()
    turns = {span.context.span_id: span for span in done if span.name == "invoke_agent coach"}
    for span in done:
        whose = turns.get(parent_of(span) or 0)
        if whose is not None:
            by_turn.setdefault(str((whose.attributes or {})["tenk.turn.id"]), []).append(span)
    asked, ran, answered = sorted(by_turn[first["id"]], key=lambda span: span.end_time or 0)
    assert ["chat journey", "execute_tool log_practice", "chat journey"] == [asked.name, ran.name, answered.name]
    assert (SpanKind.CLIENT, "chat", "openai", "journey", 100, 10, ("tools",)) == (
        asked.kind,
        *(
            (asked.attributes or {})[name]
            for name in (
                "gen_ai.operation.name",
                "gen_ai.provider.name",
                "gen_ai.request.model",
                "gen_ai.usage.input_tokens",
                "gen_ai.usage.output_tokens",
                "gen_ai.response.finish_reasons",
            )
        ),
    )
    assert "execute_tool" == (ran.attributes or {})["gen_ai.operation.name"]
    (turn,) = (span for span in turns.values() if (span.attributes or {})["tenk.turn.id"] == first["id"])
    assert (first["session_id"], first["user_id"], "completed", 250) == tuple(
        (turn.attributes or {})[name]
        for name in ("gen_ai.conversation.id", "user.id", "tenk.turn.end_reason", "gen_ai.usage.input_tokens")
    )
    assert {"trace_id": f"{turn.context.trace_id:032x}"} == spans.trace_id_of(NonRecordingSpan(turn.context))
    (failed,) = by_turn[second["id"]]
    assert ("bad_request", StatusCode.ERROR) == ((failed.attributes or {})["error.type"], failed.status.status_code)
    whole = " ".join(span.to_json() for span in done)
    assert [] == [
        words for words in ("guitar", "well done", "bad model", "and now") if words in whole.replace("log_practice", "")
    ]


def test_nothing_of_it_is_loaded_unless_it_is_wanted() -> None:
    code = "import gateway.spans, sys; sys.exit('opentelemetry' in sys.modules)"
    assert 0 == subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode
    with spans.span("x", {}) as current:
        assert (None, {}) == (current, spans.trace_id_of(current))
    spans.note_attributes({"a": 1})
    spans.note_past("x", 1.0, {})
