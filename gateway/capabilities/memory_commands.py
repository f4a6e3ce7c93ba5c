"""`/memory`: people see what an agent remembers of them, correct it, forget it and take it along; direct chats only."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial

from agent.calendar import local_date
from agent.catalogue import escape
from agent.memory.files import EXTENSION, visible_text, write_memory
from agent.memory.index import FILE, write_index
from agent.memory.memory import (
    MAX_BODY_CHARS,
    MAX_DESCRIPTION_CHARS,
    NAME,
    Memory,
    MemoryHead,
    MemoryOrigin,
    MemoryType,
)
from agent.wellformed import clean, cut_text
from channels.base import CommandOption
from channels.messages import AttachmentKind, Button, ButtonStyle, OutboundMedia
from gateway.access.buttons import SealedButtons, long_id, short_id
from gateway.capabilities.memory_search import MemorySearch
from gateway.commands.base import Command, Handle, HelpGroup, Invocation, Reply, Write
from gateway.commands.decisions import VOID
from gateway.store import memory as rows
from gateway.store.engine import Connection
from gateway.store.memory import MemoryFull, MemoryOwner, MemoryRow

MOST_SHOWN = 20
MOST_BUTTONS = 5
LABEL_CHARS = 40
HOLDS = timedelta(days=1)

SHOW, DROP, ALL, KEEP = "mem_show", "mem_drop", "mem_all", "mem_keep"
"""Words of the buttons: show one memory, forget it, forget all, forget none."""

NO_SUBJECT = "all"


class MemoryCommands:
    """The command of one tenant, and its buttons."""

    def __init__(self, product: str, seals: SealedButtons, search: MemorySearch) -> None:
        self._product = product
        self._seals = seals
        self._search = search

    def commands(self) -> Sequence[Command]:
        what = CommandOption("what", "menu.memory.what")
        return (Command("memory", "menu.memory", self.memory, options=(what,), group=HelpGroup.ACCOUNT),)

    def buttons(self) -> Mapping[str, Handle]:
        return {SHOW: self._press_show, DROP: self._press_drop, ALL: self._press_all, KEEP: self._press_keep}

    def _owner(self, asked: Invocation) -> MemoryOwner:
        principal = asked.principal
        return MemoryOwner(principal.tenant, principal.agent or self._product, principal.user_id)

    async def memory(self, asked: Invocation) -> Reply | Write:
        """List memories, or show, edit, forget or export them."""
        if asked.principal.in_group:
            return Reply(asked.say("memory.only_direct"))
        verb, _, rest = asked.arguments.partition(" ")
        rest = rest.strip()
        match verb.lower():
            case "":
                return await self._list(asked)
            case "edit" if rest:
                return self._edit(asked, rest)
            case "forget" if rest.split()[:1] == [NO_SUBJECT]:
                return await self._forget_all(asked, is_sure=rest.split()[1:2] == ["yes"])
            case "forget" if rest:
                return Write(self._forget, asked, _name_of(rest))
            case "edit" | "forget":
                return Reply(asked.say("memory.how"))
            case "export":
                return await self._export(asked)
            case _:
                return await self._find(asked)

    # ---------------------------------------------------------------- seeing

    async def _list(self, asked: Invocation) -> Reply:
        owner = self._owner(asked)
        heads = await asked.store.read(partial(rows.list_memories, owner=owner, limit=MOST_SHOWN), lasting=True)
        count = await asked.store.read(partial(rows.count_memories, owner=owner), lasting=True)
        if not heads:
            return Reply(asked.say("memory.none"))
        listed = _lines(asked, heads)
        if count > len(heads):
            listed = f"{listed}\n\n{asked.plural('commands.and_more', count - len(heads))}"
        text = f"{asked.plural('memory.listed', count)}\n\n{listed}\n\n{asked.say('memory.how')}"
        forget_all = self._button(asked, asked.say("memory.button_all"), ALL, NO_SUBJECT, ButtonStyle.DANGER)
        return Reply(text, buttons=(*self._show_buttons(asked, heads), forget_all))

    async def _find(self, asked: Invocation) -> Reply:
        """Show the memory of this name, or list those with these words."""
        owner, wanted = self._owner(asked), clean(asked.arguments)
        row = await asked.store.read(partial(rows.find_memory, owner=owner, name=_name_of(wanted)), lasting=True)
        if row is not None:
            return self._reply_with(asked, row)
        known = await self._search.find_memories([owner], wanted, MOST_SHOWN)
        if not known:
            return Reply(asked.say("memory.unknown", wanted=escape(cut_text(wanted, LABEL_CHARS))))
        text = asked.plural("memory.found", len(known), wanted=escape(cut_text(wanted, LABEL_CHARS)))
        return Reply(f"{text}\n\n{_lines(asked, known)}", buttons=self._show_buttons(asked, known))

    def _reply_with(self, asked: Invocation, row: MemoryRow) -> Reply:
        about = asked.say(
            "memory.about",
            type=asked.say(f"memory.type_{row.type.value}"),
            day=_day(asked, row),
            origin=asked.say(f"memory.origin_{row.origin.value}"),
        )
        body = "\n".join(escape(clean(line)) for line in row.body.splitlines())
        title = "" if row.description == row.body else f"**{escape(row.description)}**\n\n"
        text = f"{title}{body}\n\n{about}"
        how = asked.say("memory.how_edit", name=row.name)
        drop = self._button(asked, asked.say("memory.button_drop"), DROP, short_id(row.id), ButtonStyle.DANGER)
        return Reply(f"{text}\n\n{how}", buttons=(drop,))

    def _show_buttons(self, asked: Invocation, found: Sequence[MemoryRow]) -> tuple[Button, ...]:
        return tuple(self._button(asked, row.name, SHOW, short_id(row.id)) for row in found[:MOST_BUTTONS])

    def _button(
        self, asked: Invocation, label: str, word: str, subject: str, style: ButtonStyle = ButtonStyle.SECONDARY
    ) -> Button:
        account = f"{asked.address.channel}:{asked.address.account}"
        data = self._seals.seal(word, subject, asked.principal.user_id, account, asked.now + HOLDS)
        return Button(label[:LABEL_CHARS], data, style)

    async def _export(self, asked: Invocation) -> Reply:
        """Send all memories as files."""
        known = await asked.store.read(partial(rows.list_memories, owner=self._owner(asked)), lasting=True)
        if not known:
            return Reply(asked.say("memory.none"))
        name = f"memory-{local_date(asked.now, asked.principal.timezone):%Y-%m-%d}.zip"
        file = OutboundMedia(AttachmentKind.DOCUMENT, name, "application/zip", _zip(known))
        return Reply(asked.plural("memory.exported", len(known)), files=(file,))

    # ---------------------------------------------------------------- changing

    def _edit(self, asked: Invocation, rest: str) -> Reply | Write:
        """Give a memory another text, or add one that the person writes."""
        name, _, body = rest.partition(" ") if " " in rest.partition("\n")[0] else rest.partition("\n")
        name, body = _name_of(name), visible_text(body)
        if NAME.fullmatch(name) is None:
            return Reply(asked.say("memory.bad_name", wanted=escape(cut_text(clean(name), LABEL_CHARS))))
        if not body:
            return Reply(asked.say("memory.how_edit", name=name))
        if len(body) > MAX_BODY_CHARS:
            return Reply(asked.say("memory.too_long", most=f"{MAX_BODY_CHARS:,}"))
        return Write(self._keep, asked, name, body)

    def _keep(self, connection: Connection, asked: Invocation, name: str, body: str) -> Reply:
        owner, now = self._owner(asked), asked.now
        known = rows.find_memory(connection, owner, name)
        memory = Memory(
            name=name,
            type=MemoryType.USER if known is None else known.type,
            description=cut_text(clean(body), MAX_DESCRIPTION_CHARS),
            body=body,
            origin=MemoryOrigin.PERSON,
            source=asked.key,
            created_at=now,
            updated_at=now,
        )
        try:
            rows.put_memory(connection, owner, memory)
        except MemoryFull:
            return Reply(asked.say("memory.full", most=f"{rows.MAX_MEMORIES:,}"))
        return Reply(asked.say("memory.added" if known is None else "memory.changed", name=name))

    def _forget(self, connection: Connection, asked: Invocation, name: str) -> Reply:
        if not rows.forget_memory(connection, self._owner(asked), name):
            return Reply(asked.say("memory.unknown", wanted=escape(cut_text(clean(name), LABEL_CHARS))))
        return Reply(asked.say("memory.forgotten", name=escape(name)))

    async def _forget_all(self, asked: Invocation, *, is_sure: bool) -> Reply | Write:
        if is_sure:
            return Write(self._drop_all, asked)
        count = await asked.store.read(partial(rows.count_memories, owner=self._owner(asked)), lasting=True)
        if not count:
            return Reply(asked.say("memory.none"))
        sure = self._button(asked, asked.say("memory.button_sure"), ALL, "sure", ButtonStyle.DANGER)
        keep = self._button(asked, asked.say("memory.button_keep"), KEEP, NO_SUBJECT)
        return Reply(asked.plural("memory.ask_all", count), buttons=(sure, keep))

    def _drop_all(self, connection: Connection, asked: Invocation) -> Reply:
        count = rows.forget_memories(connection, self._owner(asked))
        return Reply(asked.plural("memory.forgot_all", count) if count else asked.say("memory.none"))

    # ---------------------------------------------------------------- buttons

    async def _press_show(self, asked: Invocation) -> Reply:
        row = await self._find_pressed(asked)
        return Reply(asked.say(VOID)) if row is None else self._reply_with(asked, row)

    async def _press_drop(self, asked: Invocation) -> Reply | Write:
        row = await self._find_pressed(asked)
        return Reply(asked.say(VOID)) if row is None else Write(self._forget, asked, row.name)

    async def _press_all(self, asked: Invocation) -> Reply | Write:
        if asked.principal.in_group:
            return Reply(asked.say("memory.only_direct"))
        return await self._forget_all(asked, is_sure=asked.arguments != NO_SUBJECT)

    async def _press_keep(self, asked: Invocation) -> Reply:
        return Reply(asked.say("memory.kept"))

    async def _find_pressed(self, asked: Invocation) -> MemoryRow | None:
        """Return the memory that a button names, if there is one still."""
        if asked.principal.in_group:
            return None
        look = partial(rows.find_by_id, owner=self._owner(asked), id_=long_id(asked.arguments))
        return await asked.store.read(look, lasting=True)


def _name_of(text: str) -> str:
    return text.strip("` ").lower().removesuffix(EXTENSION)


def _day(asked: Invocation, head: MemoryHead) -> str:
    return f"{local_date(head.updated_at, asked.principal.timezone):%Y-%m-%d}"


def _lines(asked: Invocation, found: Sequence[MemoryHead]) -> str:
    return "\n".join(f"- `{head.name}` ({_day(asked, head)}): {escape(head.description)}" for head in found)


def _zip(known: Sequence[MemoryRow]) -> bytes:
    """Return an archive of the index and one file a memory."""
    files = {FILE: write_index(known, len(known)) + "\n"}
    files |= {f"{row.name}{EXTENSION}": write_memory(row) for row in known}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)
    return packed.getvalue()
