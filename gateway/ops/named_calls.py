"""The operators' service by name with JSON arguments, for the control socket."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pydantic import BaseModel, JsonValue, ValidationError

from agent.plain_errors import words_of_problem
from gateway.access.ranks import BY_CLI
from gateway.errors import GatewayError
from gateway.operators import models
from gateway.operators.service import Operators

Given = dict[str, JsonValue]
Named = Callable[[Operators, Any], Awaitable[BaseModel]]


def line_of(part: models.PartLine) -> dict[str, Any]:
    d = part.model_dump(mode="json")
    channel = d.pop("channel")
    d["account"] = f"{channel}:{d['account']}"
    return {"id": d.pop("id"), "state": d.pop("state"), "account": d.pop("account"), **d}


def usage_row(row: models.UsageRow) -> dict[str, Any]:
    d = row.model_dump(mode="json")
    for name in ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"):
        d[name] = d[name] or 0
    d["unpriced"] = d.pop("unpriced_calls")
    return d


async def _part(do: Operators, a: Any, method: Any) -> JsonValue:
    part = await do.show_part(BY_CLI, int(a["id"]))
    await method(BY_CLI, int(a["id"]))
    return line_of(part)


async def _text(do: Operators, a: Any) -> JsonValue:
    found = await do.show_part_text(BY_CLI, int(a["id"]))
    return {"line": line_of(found.line), "plain": found.plain, "files": found.files}


async def _outbox(do: Operators, a: Any) -> JsonValue:
    states = a.get("states") or ["ready", "sending", "unknown", "dead"]
    found = await do.list_outbox(BY_CLI, models.OutboxQuery(state=",".join(states), limit=a.get("limit", 50)))
    return [line_of(part) for part in found.parts]


async def _usage(do: Operators, a: Any) -> JsonValue:
    days = a["days"]
    if not days.isdecimal() or len(days) > 3:
        raise GatewayError("days is a number from 1 to 366")
    return [usage_row(row) for row in (await do.usage(BY_CLI, models.UsageQuery(days=int(days)))).rows]


async def _approve(do: Operators, a: Any) -> BaseModel:
    if "request" in a:
        return await do.approve_request(BY_CLI, a["request"])
    return await do.approve(BY_CLI, models.CodeEntry(code=a["code"]))


def _dump(value: Any, field: str = "") -> Any:
    dumped = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    return dumped[field] if field else dumped


NAMED: Mapping[str, tuple[Callable[[Operators, Any], Awaitable[Any]], str]] = {
    "status": (lambda do, _: do.status(BY_CLI), ""),
    "pairing.list": (lambda do, _: do.list_requests(BY_CLI), "requests"),
    "pairing.approve": (_approve, ""),
    "pairing.deny": (lambda do, a: do.deny(BY_CLI, a["request"]), ""),
    "pairing.block": (lambda do, a: do.block(BY_CLI, models.BlockWish(who=a["who"])), ""),
    "users.list": (lambda do, _: do.list_users(BY_CLI), "users"),
    "users.role": (lambda do, a: do.set_role(BY_CLI, a["who"], models.RoleChange(role=a["role"])), ""),
    "users.revoke": (lambda do, a: do.revoke(BY_CLI, a["who"], models.AccountName(account=a["account"])), ""),
    "users.unlink": (lambda do, a: do.unlink(BY_CLI, a["who"]), ""),
    "users.forget": (lambda do, a: do.forget(BY_CLI, a["who"], models.Erasing(extent=a["extent"])), ""),
    "users.export": (lambda do, a: do.note_export(BY_CLI, a["who"]), ""),
    "users.audit": (lambda do, a: do.read_audit(BY_CLI, models.AuditQuery(**a)), "changes"),
    "invite.list": (lambda do, _: do.list_invites(BY_CLI), "invites"),
    "invite.make": (
        lambda do, a: do.invite_with_links(BY_CLI, models.InviteTerms(role=a["role"], days=float(a["days"]))),
        "",
    ),
    "invite.revoke": (lambda do, a: do.revoke_invite(BY_CLI, a["invite"]), ""),
    "keys.list": (lambda do, _: do.list_keys(BY_CLI), "keys"),
    "keys.create": (
        lambda do, a: do.create_key(
            BY_CLI, models.KeyTerms(name=a["name"], scopes=tuple(a["scopes"].split()), who=a["who"])
        ),
        "",
    ),
    "keys.revoke": (lambda do, a: do.revoke_key(BY_CLI, a["id"]), ""),
    "keys.rotate": (lambda do, _: do.rotate_keys(BY_CLI), ""),
    "sessions.list": (
        lambda do, a: do.list_conversations(BY_CLI, models.ConversationsQuery(limit=a["most"], person=a.get("person"))),
        "sessions",
    ),
    "sessions.show": (lambda do, a: do.show_conversation(BY_CLI, a["id"], models.TimelineQuery(turns=a["turns"])), ""),
    "sessions.export": (lambda do, a: do.export_conversation(BY_CLI, a["id"], models.ExportQuery(skip=a["skip"])), ""),
    "inbox.list": (lambda do, a: do.list_inbox(BY_CLI, models.InboxQuery(**a)), "rows"),
    "outbox.list": (_outbox, ""),
    "outbox.show": (_text, ""),
    "outbox.retry": (lambda do, a: _part(do, a, do.retry_part), ""),
    "outbox.discard": (lambda do, a: _part(do, a, do.discard_part), ""),
    "usage": (_usage, ""),
    "usage.summary": (lambda do, a: do.usage_summary(BY_CLI, models.UsageQuery(days=int(a["days"]))), ""),
    "usage.routes": (lambda do, a: do.usage_routes(BY_CLI, models.UsageQuery(days=int(a["days"]))), ""),
    "trace": (lambda do, a: do.trace(BY_CLI, models.TraceQuery(**a)), ""),
    "reload": (lambda do, _: do.reload(BY_CLI), ""),
    "models.end_cooldown": (lambda do, a: do.end_cooldown(BY_CLI, models.ModelName(model=a["model"])), "ended"),
    "console.link": (lambda do, _: do.open_console(BY_CLI), ""),
}


async def call_named(do: Operators, name: str, arguments: Given) -> JsonValue:
    method, field = NAMED[name]
    try:
        return _dump(await method(do, arguments), field)  # type: ignore[no-any-return]  # JSON it is
    except (ValidationError, KeyError, ValueError) as error:
        why = words_of_problem(error.errors()[0]) if isinstance(error, ValidationError) else str(error)
        raise GatewayError(f"the arguments: {why}") from None
