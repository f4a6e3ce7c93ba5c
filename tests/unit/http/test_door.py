"""Listening goes on when there is no descriptor for who comes."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]

SCRIPT = """
import asyncio, errno, os, resource, socket
from gateway.http.door import accept_peer

async def main():
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket() as client:
        listener.setblocking(False)
        client.connect(listener.getsockname())
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        taken = []
        try:
            while True:
                taken.append(os.open(os.devnull, os.O_RDONLY))
        except OSError as error:
            assert error.errno == errno.EMFILE
        pauses = []

        async def pause(seconds):
            pauses.append(seconds)
            if len(pauses) == 3:
                os.close(taken.pop())

        with await accept_peer(listener, pause) as peer:
            assert peer.getpeername() == client.getsockname()
            print(pauses)

asyncio.run(main())
"""


def test_lack_of_descriptors_is_waited_out():
    """With growing pauses; whoever connected meanwhile is met as soon as there is one."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)}
    )
    assert ("", "[0.05, 0.1, 0.2]") == (done.stderr, done.stdout.splitlines()[-1])
    assert 1 == done.stdout.count("descriptors_exhausted")
