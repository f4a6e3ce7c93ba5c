"""A tool's child process: its output, and its end with all its children."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from agent.bounded import run_bounded
from agent.child_process import MAX_OUTPUT_BYTES, run_program
from agent.loop import run_turn
from agent.models.scripted import ScriptedModel, calls
from agent.tools.base import Effect
from agent.transcript import CallOutcome
from tests.fakes.agents import a_tool, an_agent, returned
from tests.fakes.turn_port import FakeTurnPort, a_turn
from tests.fakes.virtual_time import passes
from tests.house.tree import ROOT

FAMILY = """
import os, signal, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
with open(sys.argv[1] + ".new", "w") as file:
    file.write(f"{os.getpid()} {child.pid}")
os.rename(sys.argv[1] + ".new", sys.argv[1])
signal.pause()
"""


def runs(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


async def until(holds):
    """Wait until it holds, for as long as a busy machine may need."""
    async with asyncio.timeout(60):
        while not holds():
            await passes(0.02)


async def test_what_a_program_is_given_and_writes():
    script = "import sys; print(sys.stdin.read() + sys.argv[1]); print('oh', file=sys.stderr); sys.exit(3)"
    done = await run_program([sys.executable, "-c", script, "; $HOME"], b"hello ")
    assert (3, b"hello ; $HOME\n", b"oh\n") == (done.code, done.output, done.errors)


async def test_a_program_that_writes_too_much_and_reads_nothing_still_ends():
    script = f"print('x' * {3 * MAX_OUTPUT_BYTES})"
    done = await run_program([sys.executable, "-c", script], b"y" * 1_000_000)
    assert (0, MAX_OUTPUT_BYTES) == (done.code, len(done.output))


DAEMON = """
import os, signal
if os.fork():
    os.write(1, b"heard")
    os._exit(0)
os.setsid()
os.write(1, b" daemon ")
signal.alarm(30)
signal.pause()
"""


async def test_a_daemon_that_keeps_the_pipes_is_not_waited_for():
    before = len(list(Path("/dev/fd").iterdir()))
    done = await run_bounded(run_program([sys.executable, "-c", DAEMON], b"y" * 200_000), 20)
    assert (0, True) == (done.code, b"heard" in done.output)
    assert before == len(list(Path("/dev/fd").iterdir()))


async def test_f47_a_program_that_never_stops_writing_leaves_nothing_behind():
    flood = "import os\nwhile True: os.write(1, bytes(65536))"

    async def run():
        with pytest.raises(TimeoutError):
            await run_bounded(run_program([sys.executable, "-c", flood]), 0.3)

    async with asyncio.TaskGroup() as group:
        for _ in range(4):
            group.create_task(run())
    await until(lambda: 1 == len(asyncio.all_tasks()))


async def test_a_program_there_is_not_cannot_be_started():
    with pytest.raises(FileNotFoundError):
        await run_program(["/nowhere/at/all"])


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")
async def test_f47_a_tool_whose_program_hangs_is_timed_out_and_its_grandchildren_die(tmp_path):
    there = tmp_path / "pids"

    async def hang(_context, _arguments):
        await run_bounded(
            run_program([sys.executable, "-c", FAMILY, str(there)]), lambda: 0.0 if there.exists() else 0.02
        )

    port, model = FakeTurnPort(), ScriptedModel([calls(("hang", "{}")), "It hangs."])
    tool = a_tool("hang", hang, effect=Effect.UNSAFE)
    await run_turn(a_turn(port), port.ports, an_agent(model, tool, allow_tools=("*",)))
    (result,) = returned(port)
    assert CallOutcome.UNKNOWN is result.outcome
    assert "timed out" in json.loads(result.content)["error"]
    pids = there.read_text().split()
    assert 2 == len(pids)
    await until(lambda: not any(runs(pid) for pid in pids))
    assert "It hangs." == port.answer.split("\n")[0]


PARENT = """
import asyncio, sys
from agent.peer_process import run_peer

async def main():
    async with run_peer(sys.argv[1:], {}):
        await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_a_program_that_ignores_the_end_of_its_input_dies_with_a_killed_parent(tmp_path):
    (noted := tmp_path / "pid").touch()
    argv = [sys.executable, "-c", PARENT, "sh", "-c", f"echo $$ > {noted}; while :; do sleep 1; done"]
    with subprocess.Popen(argv, cwd=ROOT) as parent:
        await until(noted.read_text)
        parent.kill()
    await until(lambda: not runs(noted.read_text().strip()))
