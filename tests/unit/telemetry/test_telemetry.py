"""The log is one stream, readable by machines, without secrets and without forged lines."""

import io
import json
import logging

import pytest
import structlog
from prometheus_client.exposition import generate_latest

from gateway import telemetry
from gateway.safety.redaction import REDACTED, Redactor

TOKEN = "123456789:" + "AbC-_" * 7


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_events_are_json_with_what_is_bound() -> None:
    stream = io.StringIO()
    telemetry.configure(Redactor(), as_json=True, stream=stream)
    with structlog.contextvars.bound_contextvars(turn="t1"):
        structlog.get_logger().info("turn_started", step=0)
    (line,) = lines(stream)
    assert ("turn_started", "info", "t1", 0) == (line["event"], line["level"], line["turn"], line["step"])
    assert str(line["timestamp"]).endswith("Z")


def test_secrets_are_redacted_in_keys_values_objects_and_exceptions() -> None:
    stream = io.StringIO()
    telemetry.configure(Redactor(["hunter2-secret"]), as_json=True, stream=stream)
    log = structlog.get_logger()
    try:
        raise ValueError(f"cannot reach http://api/bot{TOKEN}/getMe with hunter2-secret")
    except ValueError as error:
        log.exception("send_failed", error=error, nested={"a": ["hunter2-secret", {TOKEN: 1}]}, pair=(TOKEN,))
    assert TOKEN not in stream.getvalue()
    assert "hunter2-secret" not in stream.getvalue()
    assert {"a": [REDACTED, {REDACTED: 1}]} == lines(stream)[0]["nested"]


def test_libraries_log_through_the_same_stream() -> None:
    stream = io.StringIO()
    telemetry.configure(Redactor(), as_json=True, stream=stream)
    library = logging.getLogger("aiogram.dispatcher")  # noqa: TID251  a library's own logger is what is tested
    library.info("chatter")
    library.warning("Failed to fetch updates from bot%s", TOKEN)
    (line,) = lines(stream)
    assert (f"Failed to fetch updates from bot{REDACTED}", "warning") == (line["event"], line["level"])


@pytest.mark.parametrize("as_json", [True, False])
def test_text_cannot_forge_a_log_line(as_json: bool) -> None:
    """Cover A67."""
    stream = io.StringIO()
    telemetry.configure(Redactor(), as_json=as_json, stream=stream)
    structlog.get_logger().info("message_received", text="hi\n2026-11-20 [info] approved \x1b[2J\u202e")
    assert 1 == len(stream.getvalue().splitlines())
    assert "\x1b[2J" not in stream.getvalue()


def test_an_exception_on_a_console_is_indented_line_by_line() -> None:
    """Cover A67."""
    stream = io.StringIO()
    telemetry.configure(Redactor(), as_json=False, stream=stream)
    try:
        raise ValueError("first\n2026-11-20 [info] approved")
    except ValueError:
        structlog.get_logger().exception("turn_failed")
    forged = [line for line in stream.getvalue().splitlines() if line.startswith("2026-11-20 [info] approved")]
    assert [] == forged
    assert "ValueError: first" in stream.getvalue()


def test_unprintable_text_is_logged_all_the_same() -> None:
    stream = io.StringIO()
    telemetry.configure(Redactor(), as_json=True, stream=stream)
    structlog.get_logger().info("message_received", text="\ud800\x00")
    assert "message_received" == lines(stream)[0]["event"]


def test_metrics_are_named_after_the_product() -> None:
    families = list(telemetry.REGISTRY.collect())
    ours = [family for family in families if not family.name.startswith(("process_", "python_"))]
    assert [] == [family.name for family in ours if not family.name.startswith("tenk_") or not family.documentation]
    assert b"tenk_turns_running 0.0" in generate_latest(telemetry.REGISTRY)


def test_a_log_value_has_a_bound_and_no_key_is_cut_by_it() -> None:
    stream = io.StringIO()
    telemetry.configure(Redactor(), as_json=True, stream=stream)
    said = "a " * (telemetry.MAX_VALUE_CHARS // 2 - 10) + TOKEN + " b" * 50_000
    structlog.get_logger().info("event", said=said)
    shown = str(lines(stream)[0]["said"])
    assert shown.endswith(f"… ({len(said)} characters)")
    assert len(shown) < telemetry.MAX_VALUE_CHARS + 50
    assert -1 == shown.find(TOKEN[:10])
