"""Base of the stateful properties: an event loop that runs only within a rule, on a clock of its own, and a store
that is quick to make.
"""

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

from hypothesis.stateful import RuleBasedStateMachine

from tests.fakes.spine import QuickStore, quick_store
from tests.fakes.virtual_time import VirtualTimeLoop

T = TypeVar("T")


class AsyncMachine(RuleBasedStateMachine):
    """A state machine whose rules are coroutines over a fresh store; nothing runs between two rules."""

    def __init__(self) -> None:
        super().__init__()
        self._home = tempfile.mkdtemp()
        loop = VirtualTimeLoop()
        self._runner = asyncio.Runner(loop_factory=lambda: loop)
        self.store: QuickStore = self.run(quick_store(Path(self._home) / "tenk.db"))
        loop.busy = lambda: self.store.engine.under_way > 0

    def run(self, rule: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end, and what is under way beside it."""
        return self._runner.run(rule)

    async def last(self) -> None:
        """Check what the property asks for when the run is over."""

    def teardown(self) -> None:
        """Run the last check, then close everything."""
        try:
            self.run(self.last())
        finally:
            self.run(self.store.aclose())
            self._runner.close()
            shutil.rmtree(self._home)
