"""Checks of a configured model, for an operator who has mended it."""

from collections.abc import Callable, Iterable

from agent.config import ModelConfig
from agent.models.health import Gate, HealthBoard
from gateway.errors import GatewayError
from gateway.operators.models import TriedModel
from gateway.ops.doctor import check_link
from gateway.ops.instrumentation import ModelWatch
from gateway.ops.model_servers import links_of

TRIED_S = 8.0
"""Seconds for the answer: less than a request of an operator may take."""


class ModelTrials:
    """Checks of models, whose success ends what kept the gateway from asking them."""

    def __init__(
        self, board: HealthBoard, watch: ModelWatch, list_in_force: Callable[[], Iterable[ModelConfig]]
    ) -> None:
        self._board = board
        self._watch = watch
        self._list_in_force = list_in_force

    async def attempt(self, name: str) -> TriedModel:
        """Ask a model a short question; if it answers, it is asked again from now on.

        Raises:
            GatewayError: no such model is configured.
        """
        links = {link.name: (part, link) for config in self._list_in_force() for part, link in links_of(config).items()}
        if name not in links:
            raise GatewayError(f"no model {name!r} is configured; there is: {', '.join(links)}")
        finding = await check_link(*links[name], TRIED_S)
        if not finding.to_do:
            self._board.end_cooldowns(name)
            self._board.open(name, Gate.CIRCUIT)
            self._watch.note_response(name)
        return TriedModel(model=name, works=not finding.to_do, words=finding.words, to_do=finding.to_do)
