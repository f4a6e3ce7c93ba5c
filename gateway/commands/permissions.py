"""`/permissions`: a person sees what runs unasked because they said "always", and takes it back."""

from functools import partial

from agent.catalogue import Catalogue
from agent.language import escape
from agent.wellformed import clean
from channels.base import CommandOption
from gateway.commands.base import Command, ForgetPermission, Invocation, PermissionsForgotten, Reply, Results
from gateway.store import approvals
from gateway.store.engine import Store
from gateway.texts import HARNESS

ALL = "all"
SHOWN_CHARS = 64


def permissions_command(store: Store, texts: Catalogue = HARNESS) -> Command:
    """The command, over what is remembered there."""

    async def handle(asked: Invocation) -> Reply:
        wanted, said, locale = clean(asked.arguments), texts.text, asked.principal.locale
        if not wanted:
            look = partial(approvals.list_remembered, tenant=asked.principal.tenant, user_id=asked.principal.user_id)
            tools = "\n".join(f"- {escape(tool)}" for tool in await store.read(look, lasting=True))
            listed = said(locale, "commands.permissions_listed", tools=tools)
            return Reply(listed if tools else said(locale, "commands.permissions_none"))
        tool = None if wanted.lower() == ALL else wanted

        def to_text(results: Results) -> str:
            if PermissionsForgotten(0) in results:
                return said(locale, "commands.permissions_unknown", tool=escape(wanted[:SHOWN_CHARS]))
            return said(locale, "commands.permissions_forgotten")

        return Reply(to_text, session=ForgetPermission(tool))

    option = CommandOption("tool", "menu.permissions.tool")
    return Command("permissions", "menu.permissions", handle, options=(option,))
