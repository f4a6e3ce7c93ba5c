"""A shop's assistant as an A2A agent, which needs no network beyond this machine: `python a2a_shop.py`.

It needs `pip install 'a2a-sdk[http-server]' uvicorn`.
"""

import uvicorn
from a2a.helpers import new_task_from_user_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface
from starlette.applications import Starlette


class Shop(AgentExecutor):
    """Answers "price tea"; asks before it does "order tea"."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Answer a message: begin a task, or go on with the one that asked."""
        task = context.current_task or new_task_from_user_message(context.message)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        word, _, item = task.history[0].parts[-1].text.partition(" ")
        if context.current_task is None:
            await event_queue.enqueue_event(task)
            if word == "order":
                question = updater.new_agent_message([new_text_part(f"Order {item}? Say yes or no.")])
                await updater.requires_input(question)
                return
        if word == "price":
            said = f"{item} costs 3 euros."
        elif word == "order":
            said = f"{item} is ordered." if context.get_user_input() == "yes" else "Nothing is ordered."
        else:
            said = "Say: price tea, or: order tea."
        await updater.add_artifact([new_text_part(said)])
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """End a task that was stopped."""
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def app_at(url: str) -> Starlette:
    """Return the server for this URL."""
    card = AgentCard(
        name="Shop",
        description="Sells tea",
        version="1.0",
        capabilities=AgentCapabilities(streaming=True),
        supported_interfaces=[AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version="1.0")],
    )
    handler = DefaultRequestHandler(Shop(), InMemoryTaskStore(), card)
    return Starlette(routes=[*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/")])


if __name__ == "__main__":
    uvicorn.run(app_at("http://127.0.0.1:8901"), host="127.0.0.1", port=8901)
