"""The model of `gateway.testing` with Anthropic's API as well; it refuses what a strict API would refuse."""

from collections.abc import Iterable
from typing import Any

from aiohttp import web

from gateway.testing.model import Answer, Brain, FakeModel, Reply
from tests.fakes import anthropic_shapes
from tests.fakes.strict_transcripts import flaws_in_request

MESSAGES = "/v1/messages"


class ModelServer(FakeModel):
    """A model server; a flaw in any request fails the test when its context closes."""

    def __init__(self, brain: Brain | None = None, *, port: int = 0, reply: Answer | None = None) -> None:
        super().__init__(brain, port=port, reply=reply)
        self.flaws: list[str] = []
        self.looks = True  # off where another looks for them, or sends what no API takes

    async def __aexit__(self, kind: object = None, *_: object) -> None:
        await super().__aexit__(kind)
        assert kind is not None or not self.flaws, f"a strict API refuses: {self.flaws}"

    def add_routes(self, app: web.Application) -> None:
        super().add_routes(app)
        app.router.add_post(MESSAGES, self.answer)

    def look_at(self, path: str, body: dict[str, Any]) -> None:
        if self.looks:
            self.flaws += flaws_in_request(body, openai=path != MESSAGES)

    def whole(self, path: str, reply: Reply, body: dict[str, Any]) -> dict[str, Any]:
        return anthropic_shapes.whole(reply, body) if path == MESSAGES else super().whole(path, reply, body)

    def chunks(self, path: str, reply: Reply, body: dict[str, Any]) -> Iterable[dict[str, Any]]:
        return anthropic_shapes.events(reply, body) if path == MESSAGES else super().chunks(path, reply, body)
