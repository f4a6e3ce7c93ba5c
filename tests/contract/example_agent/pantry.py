"""A third-party agent that keeps what a household has in store: a whole agent, without a line of ours.

Beside it a tool and a model that any agent may be given by name. Its tests: `tests/journeys/test_second_agent.py`.
"""

import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path

import sqlalchemy as sa
from pydantic import BaseModel, Field

from agent.catalogue import Catalogue
from agent.config import ModelConfig
from agent.context.sections import Section
from agent.hooks.chain import python_hook
from agent.hooks.points import Hook, HookPoint
from agent.ports import Change, LocalEffect, ModelFacts, ModelRequest, OnModelEvent, Principal, TextDelta
from agent.tools.base import Effect, Tool, ToolContext, tool, tools_of
from agent.transcript import ModelResponded, UserItem
from channels.base import CommandOption
from gateway.commands.base import Command, Invocation, Reply, Write
from gateway.product import AgentProduct
from gateway.store.agent_tables import AgentTables, agent_metadata
from gateway.store.engine import Connection, Store
from gateway.store.tables.base import Id, Instant, tenant_column
from gateway.store.tables.people import users

TEXTS = Catalogue(Path(__file__).parent / "pantry_locale", "pantry")

metadata = agent_metadata()
items = sa.Table(
    "pantry_items",
    metadata,
    tenant_column(),
    sa.Column("user_id", Id, sa.ForeignKey(users.c.id), nullable=False),
    sa.Column("key", sa.String(64), nullable=False),  # the call that put it there
    sa.Column("item", sa.String(80), nullable=False),
    sa.Column("put_at", Instant, nullable=False),
    sa.PrimaryKeyConstraint("tenant_id", "user_id", "key"),
)


def put_item(change: Change, item: str) -> Mapping[str, object]:
    """Put something into the pantry of the change's person."""
    who = {"tenant_id": change.principal.tenant, "user_id": change.principal.user_id}
    change.tx.execute(items.insert(), {**who, "key": change.key, "item": item, "put_at": change.now})
    return {"put": item}


class ItemToPut(BaseModel):
    """An item and its place."""

    item: str = Field(max_length=80)


class PantryTools:
    """The agent's tools."""

    @tool(ItemToPut, effect=Effect.LOCAL)
    async def put_item(self, context: ToolContext, arguments: ItemToPut) -> object:
        """Put one thing into the pantry."""
        return LocalEffect(put_item, arguments.item)

    @tool(ItemToPut, effect=Effect.UNSAFE)
    async def order_item(self, context: ToolContext, arguments: ItemToPut) -> object:
        """Order one thing from the shop, for money."""
        with Path(os.environ["PANTRY_ORDERS"]).open("a") as orders:
            orders.write(f"{arguments.item}\n")
        return {"ordered": arguments.item}


def _tools(_store: Store) -> Sequence[Tool]:
    return tools_of(PantryTools())


async def _list(store: Store, asked: Invocation) -> Reply:
    person = asked.principal
    mine = sa.select(items.c.item).filter_by(tenant_id=person.tenant, user_id=person.user_id).order_by(items.c.item)
    there = await store.read(lambda connection: list(connection.execute(mine).scalars()))
    chosen = [item for item in there if item.startswith(asked.arguments)]
    locale = person.locale
    return Reply(TEXTS.text(locale, "pantry.listed", items=", ".join(chosen) or TEXTS.text(locale, "pantry.nothing")))


async def _put(asked: Invocation) -> Write:
    """Put something into the pantry: in the same commit as the words that say so."""
    return Write(_put_and_say, asked, asked.arguments[:80])


def _put_and_say(connection: Connection, asked: Invocation, item: str) -> Reply:
    put_item(Change(connection, asked.principal, asked.key, asked.now), item)
    return Reply(asked.say("pantry.listed", items=item))


def _commands(store: Store) -> Sequence[Command]:
    beginning, item = CommandOption("beginning", "menu.list.beginning"), CommandOption("item", "What it is")
    return (
        Command("list", "menu.list", partial(_list, store), options=(beginning,)),
        Command("put", "Put something there", _put, options=(item,)),
    )


def _prompt(principal: Principal, now: datetime, hints: str = "") -> Mapping[Section, str]:
    return {
        Section.IDENTITY: "You keep a household's pantry. Put there what they bring.",
        Section.TIME: f"It is {now:%Y-%m-%d}.",
        Section.FORMATTING: hints,
    }


async def _is_plain(given: Mapping[str, object]) -> str:
    """Return what an answer lacks that leaves open if anything was done."""
    return "Do it, or say that you do not." if "perhaps" in str(given["text"]) else ""


PANTRY = AgentProduct(
    name="pantry",
    title="The Pantry",
    description="Knows what is in the larder",
    prompt=_prompt,
    tools=_tools,
    commands=_commands,
    tables=AgentTables(metadata),
    texts=TEXTS,
    checks=lambda _store: (_is_plain,),
)


class Kitchen:
    """A tool for any agent."""

    @tool(ItemToPut, effect=Effect.NONE, concurrency_safe=True)
    async def smell(self, context: ToolContext, arguments: ItemToPut) -> object:
        """Find out if something is still good."""
        return f"{arguments.item} smells good"


def _too_much(given: Mapping[str, object]) -> dict[str, object]:
    wanted = given["input"]
    assert isinstance(wanted, Mapping)
    return {"decision": "deny", "reason": "too dear"} if "gold" in str(wanted["item"]) else {}


AUDIT = Hook(name="audit", point=HookPoint.PRE_TOOL, call=python_hook(_too_much), tools=("order_*",))
"""A hook for any agent."""


class Parrot:
    """A model for any agent: it repeats the last message."""

    def __init__(self, name: str, _config: ModelConfig) -> None:
        self.name = f"parrot:{name}"
        self.facts = ModelFacts()

    async def respond(self, request: ModelRequest, on_event: OnModelEvent) -> ModelResponded:
        """Repeat the person's last words."""
        said = [item.text for item in request.items if isinstance(item, UserItem)]
        on_event(TextDelta(said[-1]))
        return ModelResponded(0, said[-1])

    async def aclose(self) -> None:
        pass
