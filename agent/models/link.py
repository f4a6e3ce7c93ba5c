"""One model of a chain, asked with the first credential that is not refused: the person's own first.

A refused credential cools down and is not used meanwhile.
"""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b

import structlog

from agent.credentials import Credential
from agent.errors import FailureKind
from agent.models.credentials import OWN, ConfiguredKey, CredentialSource
from agent.models.health import Gate, HealthBoard
from agent.ports import ChatModel, ModelFacts, ModelFailure, ModelRequest, OnModelEvent
from agent.transcript import ModelResponded

log = structlog.get_logger()

FIRST_COOLDOWN_S = {FailureKind.AUTH: 300.0, FailureKind.QUOTA: 3600.0}
"""First cooldown in seconds; doubled with each consecutive one."""

LONGEST_COOLDOWN_S = 86_400.0

MOST_DOUBLED = 20


class ModelLink:
    """A model with its credentials and their cooldowns."""

    def __init__(
        self, model: ChatModel, board: HealthBoard, sources: Sequence[CredentialSource] = (), mark: str = ""
    ) -> None:
        """Without `sources` the model has its credential from its configuration.

        The configured key cools down under the model's name, any other under its own name, so that a person's bad key
        does not take the model from others. `mark` identifies key and server: cooldowns with another mark are ignored.
        """
        self.name = model.name
        self._model = model
        self._board = board
        self._sources = sources
        board.register(model.name, mark)

    @property
    def facts(self) -> ModelFacts:
        return self._model.facts

    async def respond(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        """Return the model's response with the first credential that is not refused.

        Raises:
            ModelFailure: the model failed; if all credentials are refused or missing, the failure of the first.
        """
        if not self._sources:
            return await self._ask(self.name, request, on_event)
        refused: list[ModelFailure] = []
        for source in self._sources:
            held = await source.find(request.who)
            if held is None:
                continue
            shared = source.name == ConfiguredKey.name
            name = self.name if shared else f"{self.name} {source.name} {_mark(held)}"
            try:
                own = replace(request, credential=held, own_credential=source.name == OWN)
                return await self._ask(name, own, on_event)
            except ModelFailure as problem:
                if problem.kind not in FIRST_COOLDOWN_S:
                    raise
                log.warning("credential_refused", model=self.name, source=source.name, error=str(problem))
                refused.append(problem)
        words = f"there is no key for {self.name}: people may /connect, or see [model] in the configuration"
        raise refused[0] if refused else ModelFailure(FailureKind.AUTH, words)

    async def _ask(self, name: str, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        """Ask unless this name cools down; start a cooldown after a refusal."""
        cooldown = self._board.check(name, Gate.COOLDOWN)
        try:
            response = await self._model.respond(request, on_event)
        except ModelFailure as problem:
            if (first_s := FIRST_COOLDOWN_S.get(problem.kind)) is not None:
                doubled = 0 if cooldown is None else min(cooldown.strikes, MOST_DOUBLED)
                self._board.close(name, Gate.COOLDOWN, problem, min(first_s * 2**doubled, LONGEST_COOLDOWN_S))
            raise
        self._board.open(name, Gate.COOLDOWN)
        return response

    async def aclose(self) -> None:
        """Close the model."""
        await self._model.aclose()


def _mark(credential: Credential) -> str:
    """Return a hash that differs for each secret and does not reveal it."""
    return blake2b(credential.secret.encode(errors="replace"), digest_size=8).hexdigest()
