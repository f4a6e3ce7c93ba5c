"""The routes of operators: one for each action of the service, the same over TCP and over the control socket."""

from collections.abc import Awaitable, Callable
from functools import partial

from pydantic import BaseModel

from gateway.access.api_keys import Scope
from gateway.errors import GatewayError, StoreUnavailable
from gateway.http.api.problems import ApiRefusal
from gateway.http.api.routes import ANY_SEGMENT, ApiRequest, ApiRoute
from gateway.operators import models
from gateway.operators.actions import NotAllowed
from gateway.operators.messages import NoSuchPart, PartNotFailed
from gateway.operators.service import Operators
from gateway.store.reports import MAX_ROW_ID

Method = Callable[..., Awaitable[BaseModel]]
"""A method of the service: it takes the actor, what the path names, and the query or body."""


def operator_routes(operators: Operators) -> tuple[ApiRoute, ...]:
    """Return the rows of the table over one tenant's service, or over that of all."""
    return (*_people(operators), *_access(operators), *_messages(operators), *_process(operators))


def _people(do: Operators) -> tuple[ApiRoute, ...]:
    reads, acts = partial(_reads, tag="people"), partial(_acts, tag="people")
    return (
        reads("/v1/users", "Everybody known.", do.list_users, models.Users),
        acts("/v1/users/{user}/role", "Give somebody another role.", do.set_role, models.User, body=models.RoleChange),
        acts(
            "/v1/users/{user}/revoke",
            "Take back what let somebody into an account.",
            do.revoke,
            models.User,
            body=models.AccountName,
        ),
        acts("/v1/users/{user}/block", "Silence somebody.", _block_user(do), models.User),
        acts("/v1/users/{user}/unlink", "Undo a link of somebody with another channel.", do.unlink, models.User),
        acts(
            "/v1/users/{user}/forget",
            "Forget somebody; for this machine alone.",
            do.forget,
            models.ForgottenPerson,
            body=models.Erasing,
        ),
        acts(
            "/v1/users/{user}/export",
            "Record that somebody's data is given out; for this machine alone.",
            do.note_export,
            models.KnownPerson,
        ),
        reads("/v1/pairing", "Who wants to be let in.", do.list_requests, models.PairingRequests),
        acts("/v1/pairing/approve", "Let in whose code this is.", do.approve, models.User, body=models.CodeEntry),
        acts("/v1/pairing/block", "Silence a person, known or not.", do.block, models.User, body=models.BlockWish),
        acts("/v1/pairing/{request}/approve", "Let in who made a request.", do.approve_request, models.User),
        acts("/v1/pairing/{request}/deny", "Turn a request down, in silence.", do.deny, models.DeniedRequest),
        acts("/v1/pairing/{request}/block", "Silence who made a request.", do.block_request, models.User),
    )


def _access(do: Operators) -> tuple[ApiRoute, ...]:
    reads, acts = partial(_reads, tag="access"), partial(_acts, tag="access")
    return (
        reads("/v1/invites", "Invitations and what became of them.", do.list_invites, models.Invites),
        acts(
            "/v1/invites",
            "Make an invitation for one person.",
            do.invite_with_links,
            models.MadeInvite,
            body=models.InviteTerms,
        ),
        acts("/v1/invites/{invite}/revoke", "Take an invitation back.", do.revoke_invite, models.RevokedInvite),
        reads("/v1/keys", "Keys of the API; for this machine alone.", do.list_keys, models.Keys),
        acts("/v1/keys", "Make a key; for this machine alone.", do.create_key, models.MadeKey, body=models.KeyTerms),
        acts(
            "/v1/keys/rotate", "Change the key of secrets; for this machine alone.", do.rotate_keys, models.RotatedKeys
        ),
        acts("/v1/keys/{key}/revoke", "Take a key back; for this machine alone.", do.revoke_key, models.RevokedKey),
        reads("/v1/audit", "Who changed what.", do.read_audit, models.AuditLog, query=models.AuditQuery),
    )


def _messages(do: Operators) -> tuple[ApiRoute, ...]:
    reads, acts = partial(_reads, tag="operations"), partial(_acts, tag="operations")
    return (
        reads("/v1/inbox", "What came in.", do.list_inbox, models.Inbox, query=models.InboxQuery),
        reads(
            "/v1/outbox",
            "What could not be delivered, or is in another state.",
            do.list_outbox,
            models.Outbox,
            query=models.OutboxQuery,
        ),
        reads("/v1/outbox/{part}", "One part of a message.", _by_id(do.show_part), models.PartLine),
        reads(
            "/v1/outbox/{part}/text",
            "One part with what it says; for this machine alone.",
            _by_id(do.show_part_text),
            models.OutboxText,
        ),
        acts("/v1/outbox/{part}/retry", "Say a failed part again.", _by_id(do.retry_part), models.OutboxChange),
        acts("/v1/outbox/{part}/discard", "Give a failed part up.", _by_id(do.discard_part), models.OutboxChange),
        reads("/v1/trace", "What became of a person's messages.", do.trace, models.Trace, query=models.TraceQuery),
        reads(
            "/v1/all-sessions",
            "Conversations on every channel.",
            do.list_conversations,
            models.ConversationList,
            query=models.ConversationsQuery,
        ),
        reads(
            "/v1/all-sessions/{session}",
            "A conversation turn by turn.",
            do.show_conversation,
            models.Timeline,
            query=models.TimelineQuery,
        ),
        reads(
            "/v1/all-sessions/{session}/export",
            "All that was said in a conversation; for this machine alone.",
            do.export_conversation,
            models.ConversationExport,
            query=models.ExportQuery,
        ),
        reads("/v1/usage", "What models were used for.", do.usage, models.UsageReport, query=models.UsageQuery),
        reads(
            "/v1/usage/summary",
            "The sums of each day, and the newest rows.",
            do.usage_summary,
            models.UsageSummary,
            query=models.UsageQuery,
        ),
        reads(
            "/v1/usage/routes",
            "What turns that ask little used.",
            do.usage_routes,
            models.UsageRoutes,
            query=models.UsageQuery,
        ),
    )


def _process(do: Operators) -> tuple[ApiRoute, ...]:
    reads, acts = partial(_reads, tag="gateway"), partial(_acts, tag="gateway")
    return (
        reads("/v1/status", "How the gateway is doing.", do.status, models.Status),
        acts("/v1/reload", "Read the configuration again; for this machine alone.", do.reload, models.Reloaded),
        acts(
            "/v1/models/end-cooldown",
            "End the cooldown of a model; for this machine alone.",
            do.end_cooldown,
            models.CooldownEnd,
            body=models.ModelName,
        ),
        acts("/v1/console", "Make a link to the console.", do.console_link, models.ConsoleLink),
    )


def _reads(
    path: str, summary: str, method: Method, answer: type[BaseModel], *, tag: str, query: type[BaseModel] | None = None
) -> ApiRoute:
    return ApiRoute(
        method="GET", path=path, scope=Scope.READ, tag=tag, summary=summary, handle=_handler(method), answer=answer,
        query=query, segment=ANY_SEGMENT,
    )  # fmt: skip


def _acts(
    path: str, summary: str, method: Method, answer: type[BaseModel], *, tag: str, body: type[BaseModel] | None = None
) -> ApiRoute:
    return ApiRoute(
        method="POST", path=path, scope=Scope.OPERATE, tag=tag, summary=summary, handle=_handler(method),
        answer=answer, body=body, segment=ANY_SEGMENT,
    )  # fmt: skip


def _handler(method: Method) -> Callable[[ApiRequest], Awaitable[BaseModel]]:
    async def handle(call: ApiRequest) -> BaseModel:
        models_given = [given for given in (call.query, call.body) if given is not None]
        try:
            return await method(call.actor, *call.path.values(), *models_given)
        except StoreUnavailable:
            raise
        except (NoSuchPart, PartNotFailed) as refused:
            raise ApiRefusal(404, "not_found", str(refused), "GET /v1/outbox lists the failed parts.") from None
        except NotAllowed as refused:
            mend = "Run `tenk` on the gateway's own machine."
            raise ApiRefusal(403, "scope_missing", str(refused), mend) from None
        except GatewayError as refused:
            raise ApiRefusal(409, "refused", str(refused), "Look at how things stand, and ask anew.") from None

    return handle


def _block_user(do: Operators) -> Method:
    async def block(by: str, who: str) -> models.User:
        return await do.block(by, models.BlockWish(who=who[: models.MAX_WHO_CHARS]))

    return block


def _by_id(method: Method) -> Method:
    async def with_number(by: str, text: str) -> BaseModel:
        is_id = text.isascii() and text.isdigit() and len(text) <= 19 and 0 < int(text) <= MAX_ROW_ID
        if not is_id:
            raise NoSuchPart("ops.no_id")
        return await method(by, int(text))

    return with_number
