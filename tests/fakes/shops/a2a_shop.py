"""The shop as an A2A agent on the official server; a context keeps what it heard."""

import asyncio
import socket
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from a2a.helpers import new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, Task, TaskState, TaskStatus
from starlette.applications import Starlette
from uvicorn import Config, Server

from tests.fakes.shops import tools
from tests.fakes.shops.words import Use, decide


class ShopExecutor(AgentExecutor):
    """An agent that answers by `decide`, in pieces of an artifact."""

    def __init__(self) -> None:
        self.heard: dict[str, list[str]] = defaultdict(list)
        self.cancelled: list[str] = []

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.context_id and context.task_id and context.message
        heard = self.heard[context.context_id]
        heard.append(context.message.parts[-1].text)
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        if context.current_task is None:
            status = TaskStatus(state=TaskState.TASK_STATE_SUBMITTED)
            await event_queue.enqueue_event(Task(id=context.task_id, context_id=context.context_id, status=status))
        await updater.start_work()
        said = decide(heard, pictures=sum(bool(part.raw) for part in context.message.parts))
        if isinstance(said, Use):
            pieces, trouble = ("The shop says: ", await getattr(tools, said.tool)(said.item)), ""
        else:
            pieces, trouble = said.pieces, said.trouble
        for at, piece in enumerate(pieces):
            await updater.add_artifact([new_text_part(piece)], "answer", append=at > 0)
        if trouble == "hang":
            await asyncio.Event().wait()
        if trouble == "break":
            await updater.failed(updater.new_agent_message([new_text_part("the shop is on fire")]))
        else:
            await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.context_id and context.task_id
        self.cancelled.append(context.task_id)
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


@asynccontextmanager
async def listening(app_at: Callable[[str], Starlette]) -> AsyncIterator[str]:
    """Serve the app that is made for its URL; yield the URL."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        server = Server(Config(app_at(url), log_config=None, lifespan="off", timeout_graceful_shutdown=1))
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(server.serve([listener]))
            while not server.started:
                await asyncio.sleep(0.005)
            try:
                yield url
            finally:
                server.should_exit = True


@asynccontextmanager
async def serving(executor: AgentExecutor, *, streaming: bool = True) -> AsyncIterator[str]:
    """Serve an agent; yield its URL."""

    def app_at(url: str) -> Starlette:
        card = AgentCard(
            name="Shop",
            version="1",
            description="A shop",
            capabilities=AgentCapabilities(streaming=streaming),
            supported_interfaces=[AgentInterface(url=f"{url}/rpc", protocol_binding="JSONRPC", protocol_version="1.0")],
        )
        handler = DefaultRequestHandler(executor, InMemoryTaskStore(), card)
        return Starlette(routes=[*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/rpc")])

    async with listening(app_at) as url:
        yield url


@asynccontextmanager
async def shop() -> AsyncIterator[str]:
    """Serve the shop; yield its URL."""
    async with serving(ShopExecutor()) as url:
        yield url
