"""Hundreds of silent connections with few descriptors: the gateway runs on and answers others."""

import asyncio
import contextlib
import os
import resource
import signal
import socket
import sys
from pathlib import Path

import aiohttp
import pytest

from gateway.operators.client import call
from tests.fakes.ports import free_port

pytestmark = pytest.mark.timeout(60)

ROOT = Path(__file__).parents[2]
FILES = 96
CROWD = 300
CONFIG = "[http]\nhead_timeout_s = 0.5\n"


def few_files() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES // 2, FILES))


async def status(url: str) -> int:
    try:
        async with aiohttp.ClientSession() as session, session.get(url) as answer:
            return answer.status
    except aiohttp.ClientError:
        return 0


async def connected(port: int) -> socket.socket:
    peer = socket.socket()
    peer.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        peer.connect(("127.0.0.1", port))
    return peer


async def test_silent_crowd_takes_nothing_from_anybody(tmp_path: Path):
    (tmp_path / "mine.toml").write_text(CONFIG)
    port = free_port()
    url, home = f"http://127.0.0.1:{port}/", tmp_path / "var"
    ours = {"PYTHONPATH": str(ROOT), "TENK_HOME": str(home), "TENK_HTTP": f"127.0.0.1:{port}"}
    with (tmp_path / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *[sys.executable, "-m", "gateway", "run", "--config", str(tmp_path / "mine.toml")],
            cwd=tmp_path,
            stdout=log,
            stderr=log,
            env=os.environ | ours,
            preexec_fn=few_files,
        )
    with contextlib.ExitStack() as held:
        try:
            async with asyncio.timeout(30):
                while await status(f"{url}readyz") != 200:
                    await asyncio.sleep(0.05)
                for _ in range(CROWD):
                    held.enter_context(await connected(port))
                answer = await call(home / "control.sock", "GET /v1/status")
                assert process.pid == answer["process"]
                while await status(url) != 200:  # at the latest when the silent ones of its queue are cut
                    await asyncio.sleep(0.05)
                assert process.pid == (await call(home / "control.sock", "GET /v1/status"))["process"]
                for _ in range(CROWD):
                    held.enter_context(await connected(port))
                process.send_signal(signal.SIGTERM)
                assert 0 == await process.wait(), (tmp_path / "log").read_text()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    said = (tmp_path / "log").read_text()
    assert "gateway_stopped" in said
    assert "Traceback" not in said
