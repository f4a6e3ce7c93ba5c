"""The routes of operators: people, requests to be let in, sessions, what could not be delivered, what models cost.

Rules are `gateway.access`'s; a key decides with the rank of an operator, and the audit log has its id.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import partial
from typing import Literal

from pydantic import Field, JsonValue

from gateway.access.api_keys import Scope
from gateway.access.operations import AccessOperations
from gateway.delivery.dead_letters import DeadLetters, NoSuchPart, PartNotFailed
from gateway.http.api.problems import ApiRefusal
from gateway.http.api.routes import ApiModel, ApiRequest, ApiRoute
from gateway.store import api_turns, people
from gateway.store.engine import Store
from gateway.store.outbox import FAILED
from gateway.store.reports import MAX_ROW_ID, OutboxLine, outbox_lines
from gateway.store.usage import usage_sums


class LimitQuery(ApiModel):
    """How many, at most."""

    limit: int = Field(50, ge=1, le=200)


class UsageQuery(ApiModel):
    """How far to look back."""

    days: int = Field(7, ge=1, le=366)


class UserAnswer(ApiModel):
    """Somebody who is known."""

    user: str
    tenant: str
    name: str
    role: str = Field(description="owner, operator, member or blocked.")
    senders: tuple[str, ...] = Field(description="By the platforms' ids: telegram:42.")
    accounts: tuple[str, ...] = Field(description="Where they are let in: telegram:main.")
    timezone: str


class UsersAnswer(ApiModel):
    """Everybody, in the order they came."""

    users: tuple[UserAnswer, ...]


class PairingRequestAnswer(ApiModel):
    """Somebody who wants to be let in."""

    request: str
    sender: str
    name: str
    account: str
    asked_at: datetime
    age_s: int
    expires_at: datetime


class PairingAnswer(ApiModel):
    """Who waits, the likeliest first."""

    requests: tuple[PairingRequestAnswer, ...]


class DeniedAnswer(ApiModel):
    """A request that was turned down."""

    request: str
    sender: str
    name: str


class CodeRequest(ApiModel):
    """The code that a person was shown."""

    code: str = Field(min_length=1, max_length=64)


class RoleRequest(ApiModel):
    """What somebody shall be."""

    role: Literal["owner", "operator", "member"]


class AccountRequest(ApiModel):
    """An account, such as telegram:main."""

    account: str = Field(min_length=1, max_length=128)


class OperatorSession(ApiModel):
    """A conversation on any channel."""

    id: str
    key: str
    generation: int = Field(description="/new raises it.")
    mode: str
    created_at: datetime


class OperatorSessionsAnswer(ApiModel):
    """Conversations, the youngest first."""

    sessions: tuple[OperatorSession, ...]


class OutboxPartAnswer(ApiModel):
    """A part of an answer that was not delivered; never what it says."""

    id: int
    state: str = Field(description="unknown: it may be there; dead: it was refused for good.")
    channel: str
    account: str
    chat: str
    thread: str | None
    error: str | None
    attempts: int
    created_at: datetime


class OutboxAnswer(ApiModel):
    """What needs an operator, newest first."""

    parts: tuple[OutboxPartAnswer, ...]


class OutboxChange(ApiModel):
    """What became of a part."""

    id: int
    state: Literal["ready", "discarded"]


class UsageRow(ApiModel):
    """Calls of one person to one model on one UTC day."""

    day: date
    user: str
    name: str
    model: str
    calls: int
    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    cost_microusd: int | None = Field(description="Millionths of a US dollar, of the calls whose cost is known.")
    unpriced_calls: int = Field(description="Calls whose cost is unknown.")


class UsageAnswer(ApiModel):
    """What models were used for, oldest day first."""

    rows: tuple[UsageRow, ...]


@dataclass(frozen=True, slots=True)
class OperatorRoutes:
    """The handlers over one gateway."""

    store: Store
    operations: AccessOperations
    clock: Callable[[], datetime]
    letters: DeadLetters

    async def users(self, call: ApiRequest) -> UsersAnswer:
        """Everybody known to the key's tenant."""
        known = [UserAnswer.model_validate(user) for user in await self.operations.users()]
        return UsersAnswer(users=tuple(user for user in known if user.tenant == call.key.tenant))

    async def set_role(self, call: ApiRequest) -> UserAnswer:
        """Another role for somebody below an operator."""
        assert isinstance(call.body, RoleRequest), "its row says so"
        return _user(await self.operations.set_role(call.path["user"], call.body.role, call.key.actor))

    async def revoke(self, call: ApiRequest) -> UserAnswer:
        """Take back what let somebody in."""
        assert isinstance(call.body, AccountRequest), "its row says so"
        return _user(await self.operations.revoke(call.path["user"], call.body.account, call.key.actor))

    async def block(self, call: ApiRequest) -> UserAnswer:
        """Silence for somebody."""
        return _user(await self.operations.block(call.path["user"], call.key.actor))

    async def pairing(self, call: ApiRequest) -> PairingAnswer:
        """Who wants to be let in."""
        asked = await self.operations.list_requests()
        return PairingAnswer(requests=tuple(PairingRequestAnswer.model_validate(request) for request in asked))

    async def approve_code(self, call: ApiRequest) -> UserAnswer:
        """Let in whose code this is."""
        assert isinstance(call.body, CodeRequest), "its row says so"
        return _user(await self.operations.approve(call.body.code, call.key.actor))

    async def approve(self, call: ApiRequest) -> UserAnswer:
        """Let in who made a request."""
        return _user(await self.operations.approve_request(call.path["request"], call.key.actor))

    async def deny(self, call: ApiRequest) -> DeniedAnswer:
        """Turn a request down."""
        return DeniedAnswer.model_validate(await self.operations.deny(call.path["request"], call.key.actor))

    async def block_request(self, call: ApiRequest) -> UserAnswer:
        """Silence for who made a request."""
        return _user(await self.operations.block_request(call.path["request"], call.key.actor))

    async def sessions(self, call: ApiRequest) -> OperatorSessionsAnswer:
        """Conversations on every channel."""
        assert isinstance(call.query, LimitQuery), "its row says so"
        query = partial(api_turns.newest_sessions, tenant=call.key.tenant, limit=call.query.limit)
        rows = await self.store.read(query)
        return OperatorSessionsAnswer(
            sessions=tuple(
                OperatorSession(
                    id=row.id, key=row.key, generation=row.generation, mode=row.mode, created_at=row.created_at
                )
                for row in rows
            )
        )  # fmt: skip

    async def outbox(self, call: ApiRequest) -> OutboxAnswer:
        """What could not be delivered."""
        assert isinstance(call.query, LimitQuery), "its row says so"
        failed = [str(state) for state in FAILED]
        query = partial(outbox_lines, tenant=call.key.tenant, limit=call.query.limit, states=failed)
        return OutboxAnswer(parts=tuple(map(_part, await self.store.read(query))))

    async def retry(self, call: ApiRequest) -> OutboxChange:
        """Say a failed part again; one that may be there already says so where the platform cannot tell."""
        return await self._change(call, self.letters.retry, "ready")

    async def discard(self, call: ApiRequest) -> OutboxChange:
        """Give a failed part up."""
        return await self._change(call, self.letters.discard, "discarded")

    async def _change(
        self,
        call: ApiRequest,
        change: Callable[[str, int, str], Awaitable[object]],
        state: Literal["ready", "discarded"],
    ) -> OutboxChange:
        id_ = _row_id(call)
        try:
            await change(call.key.tenant, id_, call.key.actor)
        except (NoSuchPart, PartNotFailed):
            raise _no_such_part() from None
        return OutboxChange(id=id_, state=state)

    async def usage(self, call: ApiRequest) -> UsageAnswer:
        """Calls and tokens by day, person and model."""
        assert isinstance(call.query, UsageQuery), "its row says so"
        since = self.clock() - timedelta(days=call.query.days)
        query = partial(usage_sums, tenant=call.key.tenant, since=since)
        names = {person.user_id: person.display_name for person in await self.store.read(people.everybody)}
        return UsageAnswer(
            rows=tuple(
                UsageRow(
                    day=row.day, user=row.user_id, name=names.get(row.user_id, row.user_id), model=row.model,
                    calls=row.calls, input_tokens=row.input_tokens, output_tokens=row.output_tokens,
                    cache_read_tokens=row.cache_read_tokens, cache_write_tokens=row.cache_write_tokens,
                    cost_microusd=row.cost_microusd, unpriced_calls=row.unpriced,
                )
                for row in await self.store.read(query)
            )
        )  # fmt: skip


def _user(person: dict[str, JsonValue]) -> UserAnswer:
    return UserAnswer.model_validate(person)


def _part(line: OutboxLine) -> OutboxPartAnswer:
    channel, _, account = line.account.partition(":")
    return OutboxPartAnswer(
        id=line.id, state=line.state, channel=channel, account=account, chat=line.chat, thread=line.thread,
        error=line.error, attempts=line.attempts, created_at=line.created_at,
    )  # fmt: skip


def _row_id(call: ApiRequest) -> int:
    text = call.path["part"]
    if not text.isascii() or not text.isdigit() or not 0 < int(text[:20]) <= MAX_ROW_ID or len(text) > 19:
        raise _no_such_part()
    return int(text)


def _no_such_part() -> ApiRefusal:
    return ApiRefusal(404, "not_found", "no failed part has this id", "GET /v1/outbox lists them.")


def operator_routes(handlers: OperatorRoutes) -> tuple[ApiRoute, ...]:
    """The rows of the table."""
    return (*_people_routes(handlers), *_operations_routes(handlers))


_reading = partial(ApiRoute, method="GET", scope=Scope.READ)
_deciding = partial(ApiRoute, method="POST", scope=Scope.OPERATE)


def _people_routes(handlers: OperatorRoutes) -> tuple[ApiRoute, ...]:
    return (
        _reading(
            path="/v1/users", tag="people", summary="Everybody known.", handle=handlers.users, answer=UsersAnswer
        ),
        _deciding(
            path="/v1/users/{user}/role", tag="people", summary="Give somebody another role.",
            handle=handlers.set_role, body=RoleRequest, answer=UserAnswer,
        ),
        _deciding(
            path="/v1/users/{user}/revoke", tag="people", summary="Take back what let somebody into an account.",
            handle=handlers.revoke, body=AccountRequest, answer=UserAnswer,
        ),
        _deciding(
            path="/v1/users/{user}/block", tag="people", summary="Silence somebody.", handle=handlers.block,
            answer=UserAnswer,
        ),
        _reading(
            path="/v1/pairing", tag="people", summary="Who wants to be let in.", handle=handlers.pairing,
            answer=PairingAnswer,
        ),
        _deciding(
            path="/v1/pairing/approve", tag="people", summary="Let in whose code this is.",
            handle=handlers.approve_code, body=CodeRequest, answer=UserAnswer,
        ),
        _deciding(
            path="/v1/pairing/{request}/approve", tag="people", summary="Let in who made a request.",
            handle=handlers.approve, answer=UserAnswer,
        ),
        _deciding(
            path="/v1/pairing/{request}/deny", tag="people", summary="Turn a request down, in silence.",
            handle=handlers.deny, answer=DeniedAnswer,
        ),
        _deciding(
            path="/v1/pairing/{request}/block", tag="people", summary="Silence who made a request.",
            handle=handlers.block_request, answer=UserAnswer,
        ),
    )  # fmt: skip


def _operations_routes(handlers: OperatorRoutes) -> tuple[ApiRoute, ...]:
    return (
        _reading(
            path="/v1/all-sessions", tag="operations", summary="Conversations on every channel.",
            handle=handlers.sessions, query=LimitQuery, answer=OperatorSessionsAnswer,
        ),
        _reading(
            path="/v1/outbox", tag="operations", summary="What could not be delivered.", handle=handlers.outbox,
            query=LimitQuery, answer=OutboxAnswer,
        ),
        _deciding(
            path="/v1/outbox/{part}/retry", tag="operations", summary="Say a failed part again.",
            handle=handlers.retry, answer=OutboxChange,
        ),
        _deciding(
            path="/v1/outbox/{part}/discard", tag="operations", summary="Give a failed part up.",
            handle=handlers.discard, answer=OutboxChange,
        ),
        _reading(
            path="/v1/usage", tag="operations", summary="What models were used for.", handle=handlers.usage,
            query=UsageQuery, answer=UsageAnswer,
        ),
    )  # fmt: skip
