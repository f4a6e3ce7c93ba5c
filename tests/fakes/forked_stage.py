"""The demo's stage with forked processes instead of started ones, for speed."""

import asyncio

from gateway.demo.stage import Stage
from tests.fakes.fork_server import ROOT, Forked, ForkServer


class ForkedStage(Stage):
    """The demo's stage with forked processes; `tests/journeys/test_demo.py` starts the real one."""

    async def _start_process(self) -> Forked:  # type: ignore[override]  as much of a process as the stage uses
        _, *command = self._command("run")
        return ForkServer.of().start(command, self._environment(), ROOT, self._log, self._log)

    async def tenk(self, *arguments: str) -> str:
        _, *command = self._command(*arguments)
        done = await asyncio.to_thread(ForkServer.of().run, command, self._environment(), ROOT, timeout_s=30)
        assert 0 == done.returncode, done.stderr
        return done.stdout.strip()
