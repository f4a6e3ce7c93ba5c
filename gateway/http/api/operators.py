"""The operators' routes: one for each action of the service, the same over TCP and the control socket."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

from pydantic import BaseModel

from gateway.access.api_keys import Scope
from gateway.errors import GatewayError, StoreUnavailable
from gateway.http.api.problems import ApiRefusal
from gateway.http.api.routes import ANY_SEGMENT, ApiRequest, ApiRoute
from gateway.operators import models
from gateway.operators.actions import NotAllowed
from gateway.operators.cases import CaseWish, DraftedCase
from gateway.operators.messages import NoSuchPart, PartNotFailed
from gateway.operators.replay_models import LONGEST_REPLAY_S, Replay, ReplayWish, ShownTurn, TurnQuery
from gateway.operators.service import Operators
from gateway.store.reports import MAX_ROW_ID

MORE_S = 10.0
"""Seconds for what surrounds a replay."""

Method = Callable[..., Awaitable[BaseModel]]
"""A method of the service, called with the actor, the path's names, and the query or body."""


def operator_routes(operators: Operators) -> tuple[ApiRoute, ...]:
    """Return the rows of the route table for a service, of one tenant or of all."""
    return (*_people(operators), *_access(operators), *_messages(operators), *_process(operators))


def _people(do: Operators) -> tuple[ApiRoute, ...]:
    reads, acts = partial(_reads, tag="people"), partial(_acts, tag="people")
    return (
        reads("/v1/users", "List all people.", do.list_users, models.Users),
        acts("/v1/users/{user}/role", "Change a person's role.", do.set_role, models.User, body=models.RoleChange),
        acts(
            "/v1/users/{user}/revoke",
            "Revoke a person's access to an account.",
            do.revoke,
            models.User,
            body=models.AccountName,
        ),
        acts("/v1/users/{user}/block", "Block a person.", _block_user(do), models.User),
        acts("/v1/users/{user}/unblock", "End a person's block.", do.unblock, models.User),
        acts(
            "/v1/users/{user}/send",
            "Send a message to a person, in the direct chat in which they wrote last.",
            do.send_message,
            models.SentMessage,
            body=models.OperatorMessage,
        ),
        acts("/v1/users/{user}/unlink", "Undo a person's link with another channel.", do.unlink, models.User),
        acts(
            "/v1/users/{user}/forget",
            "Delete a person's data; only from this machine.",
            do.forget,
            models.ForgottenPerson,
            body=models.Erasing,
        ),
        acts(
            "/v1/users/{user}/export",
            "Record an export of a person's data; only from this machine.",
            do.note_export,
            models.KnownPerson,
        ),
        reads(
            "/v1/users/{user}/memories",
            "Return an agent's memories of a person; only from this machine.",
            do.read_memories,
            models.MemoriesPage,
            query=models.MemoriesQuery,
        ),
        acts(
            "/v1/users/{user}/memories",
            "Import an agent's memories of a person; only from this machine.",
            do.import_memories,
            models.KeptMemories,
            body=models.MemoriesImport,
        ),
        reads("/v1/pairing", "List open pairing requests.", do.list_requests, models.PairingRequests),
        acts(
            "/v1/pairing/approve", "Approve the person with this code.", do.approve, models.User, body=models.CodeEntry
        ),
        acts("/v1/pairing/block", "Block a person, known or not.", do.block, models.User, body=models.BlockWish),
        acts("/v1/pairing/{request}/approve", "Approve a request.", do.approve_request, models.User),
        acts("/v1/pairing/{request}/deny", "Deny a request without a message.", do.deny, models.DeniedRequest),
        acts("/v1/pairing/{request}/block", "Block the person who made a request.", do.block_request, models.User),
    )


def _access(do: Operators) -> tuple[ApiRoute, ...]:
    reads, acts = partial(_reads, tag="access"), partial(_acts, tag="access")
    return (
        reads("/v1/invites", "List invitations and their state.", do.list_invites, models.Invites),
        acts(
            "/v1/invites",
            "Make an invitation for one person.",
            do.invite_with_links,
            models.MadeInvite,
            body=models.InviteTerms,
        ),
        acts("/v1/invites/{invite}/revoke", "Revoke an invitation.", do.revoke_invite, models.RevokedInvite),
        reads("/v1/keys", "List API keys; only from this machine.", do.list_keys, models.Keys),
        acts(
            "/v1/keys", "Make an API key; only from this machine.", do.create_key, models.MadeKey, body=models.KeyTerms
        ),
        acts(
            "/v1/keys/rotate", "Rotate the encryption key; only from this machine.", do.rotate_keys, models.RotatedKeys
        ),
        acts("/v1/keys/{key}/revoke", "Revoke an API key; only from this machine.", do.revoke_key, models.RevokedKey),
        reads("/v1/trust", "List what is trusted; only from this machine.", do.list_trusted, models.TrustedThings),
        acts(
            "/v1/trust",
            "Trust a thing as it was seen; only from this machine.",
            do.trust,
            models.TrustedThing,
            body=models.TrustTerms,
        ),
        acts(
            "/v1/trust/remove",
            "Stop trusting a thing; only from this machine.",
            do.distrust,
            models.TrustedThing,
            body=models.TrustName,
        ),
        reads("/v1/audit", "List changes from the audit log.", do.read_audit, models.AuditLog, query=models.AuditQuery),
    )


def _messages(do: Operators) -> tuple[ApiRoute, ...]:
    reads, acts = partial(_reads, tag="operations"), partial(_acts, tag="operations")
    return (
        reads("/v1/inbox", "List incoming messages.", do.list_inbox, models.Inbox, query=models.InboxQuery),
        reads(
            "/v1/outbox",
            "List outgoing messages; by default the undelivered ones.",
            do.list_outbox,
            models.Outbox,
            query=models.OutboxQuery,
        ),
        reads("/v1/outbox/{part}", "Return one part of an outgoing message.", _by_id(do.show_part), models.PartLine),
        reads(
            "/v1/outbox/{part}/text",
            "Return one part with its text; only from this machine.",
            _by_id(do.show_part_text),
            models.OutboxText,
        ),
        acts("/v1/outbox/{part}/retry", "Send a failed part again.", _by_id(do.retry_part), models.OutboxChange),
        acts("/v1/outbox/{part}/discard", "Discard a failed part.", _by_id(do.discard_part), models.OutboxChange),
        reads(
            "/v1/schedules",
            "List schedules and reminders.",
            do.list_schedules,
            models.ScheduleList,
            query=models.SchedulesQuery,
        ),
        acts("/v1/schedules/{schedule}/pause", "Pause a schedule.", do.pause_schedule, models.ScheduleRow),
        acts("/v1/schedules/{schedule}/resume", "Resume a schedule.", do.resume_schedule, models.ScheduleRow),
        acts("/v1/schedules/{schedule}/delete", "Delete a schedule.", do.delete_schedule, models.ScheduleRow),
        reads("/v1/trace", "Trace a person's messages.", do.trace, models.Trace, query=models.TraceQuery),
        reads(
            "/v1/all-sessions",
            "List conversations on all channels.",
            do.list_conversations,
            models.ConversationList,
            query=models.ConversationsQuery,
        ),
        reads(
            "/v1/all-sessions/{session}",
            "Return a conversation turn by turn.",
            do.show_conversation,
            models.Timeline,
            query=models.TimelineQuery,
        ),
        reads(
            "/v1/all-sessions/{session}/export",
            "Export a conversation; only from this machine.",
            do.export_conversation,
            models.ConversationExport,
            query=models.ExportQuery,
        ),
        acts(
            "/v1/all-sessions/{session}/case",
            "Draft a case of a conversation; only from this machine.",
            do.draft_case,
            DraftedCase,
            body=CaseWish,
        ),
        reads(
            "/v1/all-turns/{turn}",
            "Return a turn with its steps; only from this machine.",
            do.show_turn,
            ShownTurn,
            query=TurnQuery,
        ),
        replace(
            acts(
                "/v1/all-turns/{turn}/replay",
                "Run a turn again without effects; only from this machine.",
                do.replay_turn,
                Replay,
                body=ReplayWish,
            ),
            limit_s=LONGEST_REPLAY_S + MORE_S,
        ),
        reads(
            "/v1/consolidations",
            "List passages of conversations that were consolidated.",
            do.list_consolidations,
            models.ConsolidatedPassages,
            query=models.ConsolidationsQuery,
        ),
        reads("/v1/tasks", "List tasks of boards.", do.list_tasks, models.BoardTasks, query=models.TasksQuery),
        reads(
            "/v1/usage",
            "Return model usage by day, person and model.",
            do.usage,
            models.UsageReport,
            query=models.UsageQuery,
        ),
        reads(
            "/v1/usage/by",
            "Return sums by person, model, channel account or day.",
            do.usage_by,
            models.UsageGroups,
            query=models.UsageByQuery,
        ),
        reads(
            "/v1/usage/summary",
            "Return the usage of each day in a zone.",
            do.usage_summary,
            models.UsageSummary,
            query=models.SummaryQuery,
        ),
        reads(
            "/v1/usage/routes",
            "Return the usage of light turns and of all others.",
            do.usage_routes,
            models.UsageRoutes,
            query=models.UsageQuery,
        ),
    )


def _process(do: Operators) -> tuple[ApiRoute, ...]:
    reads, acts = partial(_reads, tag="gateway"), partial(_acts, tag="gateway")
    return (
        reads("/v1/status", "Return the gateway's status.", do.status, models.Status),
        acts("/v1/reload", "Reload the configuration; only from this machine.", do.reload, models.Reloaded),
        acts("/v1/stop", "Stop the gateway; only from this machine.", do.stop, models.Stopping),
        acts("/v1/pause", "Pause the agents: messages wait.", do.pause, models.PauseChange),
        acts("/v1/resume", "Resume the agents.", do.resume, models.PauseChange),
        acts(
            "/v1/settings",
            "Change a setting while the gateway runs; only from this machine.",
            do.change_setting,
            models.Reloaded,
            body=models.SettingChange,
        ),
        acts(
            "/v1/models/try",
            "Ask a model a short question; only from this machine.",
            do.try_model,
            models.TriedModel,
            body=models.ModelName,
        ),
        acts("/v1/console", "Make a link to the console.", do.console_link, models.ConsoleLink),
        acts(
            "/v1/console/close",
            "End every session of the console; only from this machine.",
            do.close_consoles,
            models.ClosedConsoles,
        ),
    )


def _reads(
    path: str, summary: str, method: Method, answer: type[BaseModel], *, tag: str, query: type[BaseModel] | None = None
) -> ApiRoute:
    return ApiRoute(
        method="GET",
        path=path,
        scope=Scope.READ,
        tag=tag,
        summary=summary,
        handle=_handler(method),
        answer=answer,
        query=query,
        segment=ANY_SEGMENT,
    )


def _acts(
    path: str, summary: str, method: Method, answer: type[BaseModel], *, tag: str, body: type[BaseModel] | None = None
) -> ApiRoute:
    return ApiRoute(
        method="POST",
        path=path,
        scope=Scope.OPERATE,
        tag=tag,
        summary=summary,
        handle=_handler(method),
        answer=answer,
        body=body,
        segment=ANY_SEGMENT,
    )


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
            raise ApiRefusal(409, "refused", str(refused), "Check the current state, and try again.") from None

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
