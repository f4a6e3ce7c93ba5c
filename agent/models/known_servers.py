"""What is known of the servers behind base URLs: they are asked beside all requests, until there is nothing to learn.

No request waits for a look but the first to a model that nobody named, and none fails by one.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import structlog

from agent.config import LinkConfig
from agent.models.served import ModelServerFacts, ServedModel
from agent.models.server_look import look_at_server
from agent.ports import ModelFailure

log = structlog.get_logger()

LOOK_AGAIN_S = 30.0

NO_LIST = frozenset({404, 405, 501})
"""What a server answers that is there and lists no models: nothing more is learned of it."""

Look = Callable[[LinkConfig, str], Awaitable[ModelServerFacts]]


@dataclass(slots=True)
class _Known:
    server: ModelServerFacts | None = None  # None: it has not answered yet
    problem: ModelFailure | None = None  # of the last look; None: it answered
    looked_s: float = float("-inf")
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class KnownServers:
    """The servers of all links of one gateway."""

    def __init__(self, look: Look = look_at_server, now_s: Callable[[], float] = time.monotonic) -> None:
        """Nothing is known yet."""
        self._look = look
        self._now_s = now_s
        self._known: dict[tuple[str, str], _Known] = {}
        self._links: dict[tuple[str, str], LinkConfig] = {}  # by server and model

    def enlist(self, config: LinkConfig, name: str) -> None:
        """`run` learns of this link's server."""
        self._links[config.base_url or "", name] = config

    async def run(self) -> None:
        """Learn of all servers, again and again until there is nothing more to learn."""
        while True:
            async with asyncio.TaskGroup() as looks:
                for (_, name), config in self._links.items():
                    looks.create_task(self.learn(config, name))
            if all(self._is_known(config, name) for (_, name), config in self._links.items()):
                return
            await asyncio.sleep(LOOK_AGAIN_S)

    def server(self, config: LinkConfig, name: str) -> ModelServerFacts | None:
        """The server as it was last seen; None: it never was."""
        known = self._known.get((config.base_url or "", name))
        return None if known is None else known.server

    def problem(self, config: LinkConfig, name: str) -> ModelFailure | None:
        """Why the server said nothing of itself at the last look; None: it did."""
        known = self._known.get((config.base_url or "", name))
        return None if known is None else known.problem

    def model(self, config: LinkConfig, name: str) -> ServedModel | None:
        """The model of this name on its server; None: nothing is known of it."""
        server = self.server(config, name)
        return None if server is None else server.find(name)

    async def learn(self, config: LinkConfig, name: str) -> ModelServerFacts | None:
        """Look where it helps; the server as it is known then."""
        known = self._known.setdefault((config.base_url or "", name), _Known())
        async with known.lock:
            if not self._is_known(config, name) and self._now_s() - known.looked_s >= LOOK_AGAIN_S:
                known.looked_s = self._now_s()
                try:
                    known.server = await self._look(config, name)
                except ModelFailure as problem:
                    known.problem = problem
                    if problem.status in NO_LIST:
                        known.server = ModelServerFacts()
                    log.debug("model_server_silent", base_url=config.base_url, error=str(problem))
        return known.server

    def _is_known(self, config: LinkConfig, name: str) -> bool:
        """Whether another look could tell nothing more."""
        server = self.server(config, name)
        if server is None or server.lacks(name):
            return False
        model = server.find(name)
        return model is None or model.is_sure
