"""`tenk chat` as a person uses it: a process of its own, with and without a gateway that runs."""

import asyncio
import json
import os
import pty
import select
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import pytest

from channels.viewers.viewer_frames import MAX_SAID_CHARS
from gateway.testing.model import Call, FakeModel, Fault, Reply
from tests.fakes.fork_server import Forked, ForkServer

ROOT = Path(__file__).parents[3]
HELD = ("users", "identities", "turns", "events", "practice_sessions", "erasures")  # of a person
pytestmark = pytest.mark.timeout(60)  # several processes a test


def environment(home: Path, **more: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH",) if name in os.environ} | {"LC_ALL": "C.UTF-8"}
    return kept | {"PYTHONPATH": str(ROOT), "TENK_HOME": str(home / "var"), "TENK_HTTP": "127.0.0.1:0"} | more


def chat(home: Path, *arguments: str, said: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    """Run it to its end; without `said` the input is empty."""
    return ForkServer.of().run(["-m", "gateway", "chat", *arguments], environment(home, **more), home, 50, said=said)


@contextmanager
def gateway(home: Path, config: str = "") -> Iterator[Forked]:
    (home / "mine.toml").write_text(config)
    os.mkfifo(log := home / "gateway.log")
    command = ["-m", "gateway", "run", "--config", "mine.toml"]
    running = ForkServer.of().start(command, environment(home), home, Path(os.devnull), log)
    with log.open() as told:
        try:
            while "http_started" not in told.readline():
                assert running.poll() is None
            yield running
        finally:
            running.send_signal(signal.SIGTERM)
            told.read()
            running.wait_until(40)
            log.unlink()


def test_print_sends_one_text_and_writes_what_happens_as_json(tmp_path: Path):
    done = chat(tmp_path, "--print", "-", said="/log 45m guitar")
    assert (0, "") == (done.returncode, done.stderr)
    (line,) = map(json.loads, done.stdout.splitlines())
    assert ("message", []) == (line["type"], line["choices"])
    assert line["text"].startswith("Logged 45 min 🎸 guitar.")
    assert line["text"].endswith("/timezone Madrid, or your own city.")  # said once, with the first entry
    assert not (tmp_path / "var" / "control.sock").exists()
    empty = chat(tmp_path, "--print", "-", said=" \n")
    assert (1, "", True) == (empty.returncode, empty.stdout, "the text is empty" in empty.stderr)


def test_own_gateway_starts_only_with_a_configuration_that_is_checked(tmp_path: Path):
    (tmp_path / "wrong.toml").write_text('[permissions]\ndeny = ["log_practise"]\n')
    done = chat(tmp_path, "--print", "hello", "--config", "wrong.toml")
    told = 'error: wrong.toml:2: permissions.deny: there is no tool "log_practise"; did you mean "log_practice"?\n'
    assert (1, told) == (done.returncode, done.stderr)


def test_lines_of_the_input_are_said_and_answered(tmp_path: Path):
    done = chat(tmp_path, said="/log 30m piano\n\n/stats piano\n/export")
    assert (0, "") == (done.returncode, done.stderr)
    assert "no files; this writes all your data: tenk users export console:local FILE" in done.stdout
    assert 0 <= done.stdout.find("30 min") < done.stdout.rfind("piano")


def test_lines_over_the_limit_wait_for_room_and_keep_their_order(tmp_path: Path):
    (tmp_path / "mine.toml").write_text("[access.limits]\nburst_messages = 2\nmessages_per_min = 600\n")
    done = chat(tmp_path, "--config", "mine.toml", said="".join(f"/log {n}m guitar\n" for n in (1, 2, 4)))
    assert (0, "") == (done.returncode, done.stderr)
    totals = [line.partition("Total ")[2][:5] for line in done.stdout.splitlines() if "Total" in line]
    assert ["1 min", "3 min", "7 min"] == totals


def test_who_asks_to_be_forgotten_is_when_it_has_ended(tmp_path: Path):
    done = chat(tmp_path, said="/log 45m guitar\n/forget everything yes\n")
    assert (0, "") == (done.returncode, done.stderr)
    with closing(sqlite3.connect(tmp_path / "var" / "tenk.db")) as database:
        counts = [database.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in HELD]
    assert [0] * len(HELD) == counts


def test_running_gateway_is_talked_to_and_continues_a_conversation(tmp_path: Path):
    with gateway(tmp_path):
        assert 0 == chat(tmp_path, "--print", "I like scales").returncode
        chat(tmp_path, "--print", "/new")
        (held,) = json.loads(tenk_sessions(tmp_path))
        done = chat(tmp_path, "--resume", held["id"][-8:], "--print", "/title")
        assert "We are back in “I like scales”" in done.stdout and "is called “I like scales”" in done.stdout
        unknown = chat(tmp_path, "--resume", "abcdef12", "--print", "hello")
        other = chat(tmp_path, "--model", "offline", "--print", "hello")
        long = "x" * (MAX_SAID_CHARS + 1)
        printed, piped = chat(tmp_path, "--print", long), chat(tmp_path, said=f"{long}\n/log 45m guitar\n/new\nhello")
        with terminal(tmp_path, "--resume") as (running, ours):
            _until(ours, b"[2]")
            os.write(ours, b"2\n")
            _until(ours, b"> \x1b[0;1mI like scales")  # as the person's own message
            _press_until_it_ends(ours, b"\x04")
            assert 0 == running.wait_until(30)
    assert (1, "", 1, "") == (unknown.returncode, unknown.stdout, other.returncode, other.stdout)
    assert "no such conversation" in unknown.stderr and "a gateway with its own model and rules" in other.stderr
    assert (1, "") == (printed.returncode, printed.stdout)
    assert f"not sent: {MAX_SAID_CHARS + 1} characters" in printed.stderr
    assert (0, True) == (piped.returncode, "45 min" in piped.stdout)
    assert f"not sent: {MAX_SAID_CHARS + 1} characters" in piped.stderr


def tenk_sessions(home: Path) -> str:
    return ForkServer.of().run(["-m", "gateway", "sessions", "list", "--json"], environment(home), home, 50).stdout


def test_gateway_without_a_console_is_named(tmp_path: Path):
    with gateway(tmp_path, "[channels.console]\nenabled = false\n"):
        done = chat(tmp_path, "--print", "hello")
    assert (1, "") == (done.returncode, done.stdout)
    assert "set channels.console.enabled = true" in done.stderr
    assert "Traceback" not in done.stderr


def test_operator_may_ask_for_a_code_also_here(tmp_path: Path):
    (tmp_path / "mine.toml").write_text('[access.accounts."console:main"]\ndirect = "pairing"\n')
    done = chat(tmp_path, "--config", "mine.toml", "--print", "hello")
    assert "tenk pairing approve" in done.stdout


def test_interrupt_ends_it_cleanly(tmp_path: Path):
    with terminal(tmp_path) as (running, ours):
        drawn = _until(ours, b"account.")
        os.write(ours, b"/log 45m guitar\n")
        drawn += _until(ours, b"45 min")
        os.write(ours, b"half a line")
        running.send_signal(signal.SIGINT)
        running.wait_until(30)
        drawn += _rest(ours)
    assert b"45 min" in drawn
    assert b"Traceback" not in drawn
    assert b"rror" not in drawn
    assert 0 == running.returncode


def test_gateway_that_ends_is_waited_for_and_what_was_said_is_there(tmp_path: Path):
    with ExitStack() as first:
        ending = first.enter_context(gateway(tmp_path))
        with terminal(tmp_path) as (running, ours):
            _until(ours, b"account.")
            os.write(ours, b"/log 45m guitar\n")
            _until(ours, b"45 min")
            ending.send_signal(signal.SIGTERM)
            _until(ours, b"The gateway went away.")
            first.close()
            with gateway(tmp_path):
                _until(ours, b"It is back.")
                os.write(ours, b"/stats\n")
                _until(ours, b"guitar")
                _press_until_it_ends(ours, b"\x04")
                assert 0 == running.wait_until(30)


@contextmanager
def terminal(home: Path, *arguments: str) -> Iterator[tuple[Forked, int]]:
    ours, theirs = pty.openpty()
    drawn = Path(os.ttyname(theirs))
    command = ["-m", "gateway", "chat", *arguments]
    running = ForkServer.of().start(command, environment(home), home, drawn, drawn, said=drawn)
    try:
        select.select([ours], [], [], 40)  # it has opened the terminal, so that we can leave it that end
        os.close(theirs)
        yield running, ours
    finally:
        os.close(ours)
        running.kill()
        running.wait_until(30)


def _until(descriptor: int, wanted: bytes) -> bytes:
    read, ends = b"", time.monotonic() + 40
    while wanted not in read.replace(b"\r", b""):
        assert time.monotonic() < ends, read
        read += os.read(descriptor, 65_536)
    return read


def _press_until_it_ends(descriptor: int, key: bytes) -> None:
    """Press a key each second: a terminal drops one that comes while an answer is being written."""
    with suppress(OSError):  # the other end is closed
        while os.write(descriptor, key):
            while select.select([descriptor], [], [], 1)[0]:
                os.read(descriptor, 65_536)


def _rest(descriptor: int) -> bytes:
    read = b""
    try:
        while chunk := os.read(descriptor, 65_536):
            read += chunk
    except OSError:
        pass  # the other end is closed
    return read


async def test_rules_of_the_command_line_hold_for_its_gateway(tmp_path: Path):
    logs = Reply(calls=(Call("log_practice", '{"minutes": 45, "skill": "guitar"}'),))
    async with FakeModel() as model:
        model.answers(logs, "I may not.")
        place = {"OPENAI_BASE_URL": model.base_url, "OPENAI_API_KEY": "sk-test", "TENK_MODEL": "openai:test"}
        done = await asyncio.to_thread(chat, tmp_path, "--deny", "log_*", "--print", "45 minutes of guitar", **place)
        told = [json.loads(line) for line in done.stdout.splitlines()]
        (denied,) = (line for line in told if line["type"] == "tool_result")
        (answer,) = (line for line in told if line["type"] == "message")
        (ended,) = (line for line in told if line["type"] == "turn_end")
        assert (0, "I may not.", "completed") == (done.returncode, answer["text"], ended["reason"])
        assert ("log_practice", "denied") == (denied["name"], denied["outcome"])
        assert "the rules forbid it (log_*, flag)" in str(model.requests[-1].body["messages"][-1])


async def test_a_question_is_answered_by_its_number_on_a_pipe_and_fails_a_script(tmp_path: Path):
    logs = Reply(calls=(Call("log_practice", '{"minutes": 45, "skill": "guitar"}'),))
    (tmp_path / "mine.toml").write_text('[permissions]\nask = ["log_practice"]\n')
    async with FakeModel() as model:
        place = {"OPENAI_BASE_URL": model.base_url, "OPENAI_API_KEY": "sk-test", "TENK_MODEL": "openai:test"}
        model.answers(logs)
        asked = await asyncio.to_thread(chat, tmp_path, "--config", "mine.toml", "--print", "log it", **place)
        (question,) = (line for line in map(json.loads, asked.stdout.splitlines()) if line["type"] == "message")
        model.answers("It is logged.")
        done = await asyncio.to_thread(chat, tmp_path, "--config", "mine.toml", said="/help\n1\n", **place)
    assert (1, ["Allow once", "Deny"]) == (asked.returncode, question["choices"])
    assert "the agent waits for your decision" in asked.stderr
    assert (0, True) == (done.returncode, done.stdout.endswith("It is logged.\n"))


@pytest.mark.gate
async def test_a_script_fails_if_the_agent_does(tmp_path: Path):
    async with FakeModel(reply=Fault(401)) as model:
        place = {"OPENAI_BASE_URL": model.base_url, "OPENAI_API_KEY": "sk-test", "TENK_MODEL": "openai:test"}
        (tmp_path / "mine.toml").write_text("[model]\noffline_when_down = false\n")
        done = await asyncio.to_thread(chat, tmp_path, "--config", "mine.toml", "--print", "hello", **place)
    assert (1, True) == (done.returncode, "the agent did not answer (model_error)" in done.stderr)


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("log_practise", 'there is no tool "log_practise"; did you mean "log_practice"?'),
        ("pay it", "a rule is a tool's"),
    ],
)
def test_a_rule_of_the_command_line_that_is_none_is_refused(tmp_path: Path, rule: str, told: str):
    done = chat(tmp_path, "--allow", rule, "--print", "hello")
    assert (True, "") == (done.returncode in {1, 2}, done.stdout)
    assert told in " ".join(done.stderr.split())
