"""A model over another distribution's wire: any error of it is a failure of the model, so that another is asked."""

from dataclasses import replace

import structlog

from agent.bounded import Interrupted
from agent.config import LinkConfig
from agent.errors import FailureKind
from agent.foreign_code import contain_exits
from agent.models.failures import clean, failure
from agent.ports import ChatModel, ModelFacts, ModelFailure, ModelRequest, OnModelEvent
from agent.transcript import ModelResponded

log = structlog.get_logger()


class ForeignModel:
    """A model whose errors are failures, and whose responses name it."""

    def __init__(self, model: ChatModel, config: LinkConfig) -> None:
        self.name = model.name
        self._model = model
        self._secret = config.api_key.get_secret_value() if config.api_key is not None else ""

    @property
    def facts(self) -> ModelFacts:
        return self._model.facts

    async def respond(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        """Return the model's response.

        Raises:
            ModelFailure: the model failed.
        """
        try:
            with contain_exits():
                response: object = await self._model.respond(request, on_event)
        except (ModelFailure, Interrupted):
            raise
        except Exception as error:  # noqa: BLE001  one call of another distribution's code: it counts as a failure
            log.error("foreign_model_failed", model=self.name, exc_info=error)
            words = f"{type(error).__name__}: {error}".splitlines()[0]
            raise failure(FailureKind.SERVER, clean(words, self._secret)) from error
        if not isinstance(response, ModelResponded):
            words = f"it returned a {type(response).__name__}, not a ModelResponded"
            raise failure(FailureKind.SERVER, words)
        return response if response.model else replace(response, model=self.name)

    async def aclose(self) -> None:
        """Close the model."""
        await self._model.aclose()
