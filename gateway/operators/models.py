"""Models of the operators' service: the input and output of each action, in process and over `/v1`."""

from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    PlainSerializer,
    SerializerFunctionWrapHandler,
    WithJsonSchema,
    model_serializer,
)

from agent.calendar import is_zone
from agent.memory.memory import MAX_BODY_CHARS, MAX_DESCRIPTION_CHARS, MemoryOrigin, MemoryType
from gateway.access.config import Role
from gateway.store.erasure import Extent
from gateway.store.groups import MOST_CONTEXT
from gateway.store.reports import InboxLine
from gateway.store.trusted import TrustKind

Moment = Annotated[
    datetime,
    PlainSerializer(datetime.isoformat, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}, mode="serialization"),
]
"""An aware instant; in JSON with its offset in digits."""


def _in_utc(moment: datetime) -> datetime:
    """Return an aware instant; a date or a time without an offset is UTC."""
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


MAX_WHO_CHARS = 200
Who = Annotated[str, Field(max_length=MAX_WHO_CHARS)]
"""A person: a sender such as telegram:42, a user id or the end of one."""


class Model(BaseModel):
    """Base of every model: frozen, and closed to unknown fields."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", defer_build=True, serialize_by_alias=True, validate_by_name=True
    )


class SparseModel(Model):
    """A model whose JSON leaves out fields without a value."""

    @model_serializer(mode="wrap")
    def _without_none(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in handler(self).items() if value is not None}


# ---------------------------------------------------------------- people


class User(Model):
    """A person whom the gateway knows."""

    user: str
    tenant: str
    name: str
    role: str = Field(description="owner, operator, member or blocked.")
    senders: tuple[str, ...] = Field(description="Platform ids: telegram:42.")
    accounts: tuple[str, ...] = Field(description="Accounts with access: telegram:main.")
    timezone: str


class Users(Model):
    """All known people, oldest first."""

    users: tuple[User, ...]


class FoundUsers(Model):
    """The people who match a search, newest first."""

    users: tuple[User, ...]
    before: int  # matches on the pages before
    count: int  # of all matches; `users` holds one page


class PairingRequest(Model):
    """A stranger's request for access."""

    request: str
    sender: str
    name: str
    account: str
    asked_at: Moment
    age_s: int
    expires_at: Moment


class PairingRequests(Model):
    """Pending requests, the most likely first."""

    requests: tuple[PairingRequest, ...]


class DeniedRequest(Model):
    """A denied request."""

    request: str
    sender: str
    name: str


class CodeEntry(Model):
    """The code that the bot showed to a person."""

    code: str = Field(max_length=64)


class OperatorMessage(Model):
    """A message to a person, in the direct chat in which they wrote last."""

    text: str = Field(min_length=1, max_length=20_000, description="Markdown.")


class SentMessage(Model):
    """The chat into which a message goes; `tenk outbox` shows what became of it."""

    account: str = Field(description="Such as telegram:main.")
    chat: str


class RoleChange(Model):
    """A person's new role."""

    role: Role = Field(description="member also ends a block.")


class AccountName(Model):
    """An account, such as telegram:main."""

    account: str = Field(min_length=1, max_length=128)


class BlockWish(Model):
    """A person to block."""

    who: Who = Field(description="A request's number, a sender, or a user's id.")


class Erasing(Model):
    """The extent of a deletion."""

    extent: Extent = Field(description="talk: what they said and what was made of it; everything: who they are, too.")


class GroupChange(Model):
    """New settings of a group; None keeps the old value."""

    allowed: bool | None = None
    every_message: bool | None = Field(default=None, description="Every message is meant for the bot, not mentions.")
    context: int | None = Field(default=None, ge=0, le=MOST_CONTEXT, description="Earlier messages that are kept.")
    agent: str | None = Field(default=None, max_length=32, description="The agent that answers there.")


class KnownPerson(Model):
    """The person that an action is about."""

    user: str
    tenant: str
    name: str
    role: str
    senders: tuple[str, ...]


class ForgottenPerson(KnownPerson):
    """A person whose data is being deleted."""

    extent: Extent


class AuditQuery(Model):
    """A filter of the audit log; an empty field matches everything."""

    by: str = Field(default="", description="Only changes by this actor: cli, a name, a sender, an id or its end.")
    about: str = Field(
        default="",
        description="Only changes that name this: a name, a sender, an id or its end, a key of the configuration.",
    )
    action: str = Field(default="", description="Only these: role_changed, api_key_created and so on.")
    since: Annotated[datetime, AfterValidator(_in_utc)] | None = Field(
        default=None, description="Only changes from this instant on; without an offset it is UTC."
    )
    limit: int = Field(default=100, ge=1, le=10_000)


class AuditEntry(Model):
    """One entry of the audit log."""

    at: Moment
    by: str
    by_name: str = Field(description="Of the person; empty: it was no person.")
    action: str
    subject: str
    subject_name: str = Field(description="Of the person; empty: it is about no known person.")
    detail: str


class AuditLog(Model):
    """Audit entries, newest first."""

    changes: tuple[AuditEntry, ...]


# ---------------------------------------------------------------- invitations and keys


class InviteTerms(Model):
    """Role and lifetime of an invitation."""

    role: str = Field(default="member", description="member, operator or owner.")
    days: float = Field(default=7, allow_inf_nan=False)


class Invite(Model):
    """An invitation and its state, without its code."""

    invite: str
    role: str
    state: str = Field(description="waits, used, expired or revoked.")
    made_at: Moment
    made_by: str
    expires_at: Moment
    used_by: str | None


class BotLink(Model):
    """A link that opens a bot with a code."""

    account: str
    link: str


class MadeInvite(Invite):
    """A new invitation with its code, which no later answer contains."""

    code: str
    ways: tuple[BotLink, ...] = ()


class Invites(Model):
    """Invitations, newest first."""

    invites: tuple[Invite, ...]


class RevokedInvite(Model):
    """A revoked invitation."""

    invite: str


class KeyTerms(Model):
    """Terms of a new API key."""

    name: str
    scopes: tuple[str, ...] = Field(default=("chat",), description="chat, read, operate, system.")
    who: Who = Field(default="", description="The person whom it speaks for; none: people of its own.")


class Key(Model):
    """An API key, without its text."""

    id: str
    name: str
    scopes: tuple[str, ...]
    speaks_for: str | None = Field(serialization_alias="for")
    created_at: Moment
    created_by: str
    revoked_at: Moment | None


class MadeKey(Key):
    """A new key with its text, which no later answer contains."""

    key: str


class Keys(Model):
    """Keys, oldest first."""

    keys: tuple[Key, ...]


class RevokedKey(Model):
    """A revoked key."""

    id: str
    name: str


class RotatedKeys(Model):
    """The result of a rotation of the encryption keys."""

    sealed: int
    lost: int
    key: str
    next: str


# ---------------------------------------------------------------- trust


class TrustName(Model):
    """A thing that needs trust."""

    kind: TrustKind
    name: str = Field(min_length=1, max_length=200)


class TrustTerms(TrustName):
    """A thing as an operator saw it."""

    digest: str = Field(pattern=r"^[0-9a-f]{64}$", description="SHA-256 of what was seen, in hex.")


class TrustedThing(TrustTerms):
    """A trusted thing."""

    tenant: str
    trusted_at: Moment
    trusted_by: str


class TrustedThings(Model):
    """All trusted things, by tenant, kind and name."""

    trusted: tuple[TrustedThing, ...]


# ---------------------------------------------------------------- messages


class InboxQuery(Model):
    """A filter of the inbox."""

    outcome: str | None = Field(default=None, description="Only these: open, answered, refused, failed and so on.")
    limit: int = Field(default=50, ge=1, le=1_000)


class Inbox(Model):
    """Inbox rows, newest first, without their text."""

    rows: tuple[InboxLine, ...]


class OutboxQuery(Model):
    """A filter of the outbox."""

    state: str = Field(default="dead,unknown", description="In one of these states, with commas between.")
    limit: int = Field(default=50, ge=1, le=1_000)


class PartLine(Model):
    """A part of an outgoing message and its state, without its text."""

    id: int
    state: str = Field(description="unknown: it may be there; dead: it was refused for good.")
    channel: str
    account: str
    chat: str
    thread: str | None
    name: str | None = Field(description="Whom it answers, if that is known.")
    cause: str = Field(description="A turn's id, or what else it answers: inbox:17.")
    part: int = Field(description="From 0.")
    action: str = Field(description="placeholder, send, edit or delete.")
    attempts: int
    maybe_doubled: bool = Field(description="An earlier attempt may have arrived.")
    platform_id: str | None = Field(description="Of the message that it became.")
    error: str | None = Field(description="Of the last attempt.")
    parked: str | None = Field(description="Why nothing is sent to its chat for now.")
    created_at: datetime
    not_before: datetime | None
    done_at: datetime | None


class Outbox(Model):
    """Parts, newest first."""

    parts: tuple[PartLine, ...]


class OutboxText(Model):
    """A part with its text, in which eight bullets replace a secret."""

    line: PartLine
    plain: str
    files: int


class OutboxChange(Model):
    """The new state of a part."""

    id: int
    state: Literal["ready", "discarded"]


# ---------------------------------------------------------------- conversations


class ConversationsQuery(Model):
    """A filter of conversations."""

    limit: int = Field(default=50, ge=1, le=100_000)
    person: Who | None = Field(default=None, description="Only those in which this person spoke last.")


class ConversationLine(Model):
    """A conversation on any channel, without its title, which only its person may see."""

    id: str
    person: str
    user: str
    agent: str
    key: str
    generation: int = Field(description="/new raises it.")
    living: bool = Field(description="What is said in its chat next continues it.")
    mode: str
    turns: int
    created_at: Moment
    used_at: Moment
    cost_microusd: int | None


class ConversationList(Model):
    """Conversations, the most recently used first."""

    sessions: tuple[ConversationLine, ...]


class TurnLine(Model):
    """A turn of a conversation."""

    turn: str
    kind: str
    person: str
    user: str
    started_at: Moment
    end_reason: str | None
    ended_at: Moment | None
    task: str = Field(default="", description="The task on which it works; empty: it answers a person.")
    parent: str | None = Field(default=None, description="The turn that gave it this task.")


class HopLine(Model):
    """One recorded step of a message or a turn."""

    at: Moment
    hop: str
    turn: str | None
    inbox: int | None
    facts: Mapping[str, JsonValue]


class TimelineQuery(Model):
    """The number of turns to show."""

    turns: int = Field(default=20, ge=1, le=500, description="Its newest turns.")


class Timeline(Model):
    """A conversation turn by turn, with each hop."""

    session: ConversationLine
    turns: tuple[TurnLine, ...]
    hops: tuple[HopLine, ...]


class ExportQuery(Model):
    """The start of a page of an export."""

    skip: int = Field(default=0, ge=0, le=10**9, description="Turns of earlier pages.")


class ExportedTurn(TurnLine):
    """A turn with its messages, calls and results."""

    events: tuple[Mapping[str, JsonValue], ...]


class ConversationExport(Model):
    """A page of a conversation's turns."""

    session: ConversationLine
    turns: tuple[ExportedTurn, ...]
    more: bool


class TraceQuery(Model):
    """A person's messages to trace: near a time, or the last ones."""

    who: Who
    at: str | None = Field(
        default=None, max_length=64, description='In their time: "yesterday", "yesterday 10:00", "3 h ago".'
    )
    count: int = Field(default=3, ge=1, le=20)


class TracedPerson(Model):
    """The person whose messages are traced."""

    user: str | None
    name: str
    role: str
    senders: tuple[str, ...]
    timezone: str


class TracedMessage(Model):
    """A message, its fate in sentences, and its hops."""

    row: int
    at: Moment
    account: str
    chat: str
    kind: str
    outcome: str
    turn: str | None
    verdict: tuple[str, ...]
    hops: tuple[HopLine, ...]


class Trace(Model):
    """The trace of a person's messages, oldest first."""

    person: TracedPerson
    since: Moment | None = Field(description="Start of the time that was asked for, in the person's zone.")
    until: Moment | None
    near: bool = Field(description="Whether they are of that time; if not, they are the nearest.")
    more: bool = Field(description="Whether that time has earlier ones, too.")
    messages: tuple[TracedMessage, ...]


# ---------------------------------------------------------------- usage


class TasksQuery(Model):
    """The number of tasks to list."""

    limit: int = Field(default=50, ge=1, le=1_000)


class BoardTask(Model):
    """One task of a board."""

    id: str
    user: str
    person: str
    agent: str
    state: str = Field(description="pending, blocked, in_progress, stale, in_review, completed, failed or cancelled.")
    title: str
    blocked_by: tuple[str, ...] = Field(description="Ids of tasks that are not completed.")
    worker: str = Field(description="The last agent to claim it; empty: none has.")
    claims: int
    changed_at: Moment


class MemoriesQuery(Model):
    """An agent, and the start of a page of its memories."""

    agent: str = Field(min_length=1, max_length=64)
    skip: int = Field(default=0, ge=0, le=100_000, description="Memories of earlier pages.")


class MemoryText(Model):
    """One memory."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$")
    type: MemoryType
    description: str = Field(min_length=1, max_length=MAX_DESCRIPTION_CHARS)
    body: str = Field(min_length=1, max_length=MAX_BODY_CHARS, description="Markdown.")
    origin: MemoryOrigin | None = Field(default=None, description="None: an operator.")
    created_at: Moment | None = None
    updated_at: Moment | None = None


class MemoriesPage(Model):
    """A page of memories, the newest first."""

    user: str
    memories: tuple[MemoryText, ...]
    total: int
    more: bool = Field(description="There is another page.")


class MemoriesImport(Model):
    """Memories to add, or to put in place of those of their names."""

    agent: str = Field(min_length=1, max_length=64)
    memories: tuple[MemoryText, ...] = Field(min_length=1, max_length=100)


class KeptMemories(Model):
    """Memories that were added or changed."""

    user: str
    names: tuple[str, ...]


class BoardTasks(Model):
    """Tasks of boards, newest change first."""

    tasks: tuple[BoardTask, ...]


class ConsolidationsQuery(Model):
    """The number of passages to list."""

    limit: int = Field(default=50, ge=1, le=1_000)


class ConsolidatedPassage(Model):
    """A passage of a conversation that was consolidated, or given up."""

    session: str
    user: str
    person: str
    agent: str
    outcome: str = Field(description="done, silent, given_up or skipped.")
    messages: int
    facts: int
    memories: int
    model: str = Field(description="Empty: none was asked.")
    cost_microusd: int | None = Field(description="None: unknown.")
    at: Moment


class ConsolidatedPassages(Model):
    """Passages, the newest first."""

    consolidations: tuple[ConsolidatedPassage, ...]


class SchedulesQuery(Model):
    """The number of schedules to list."""

    limit: int = Field(default=50, ge=1, le=1_000)
    user: str | None = Field(default=None, max_length=64, description="Only those of the person with this id.")


class ScheduleRow(Model):
    """One schedule or reminder, without its text."""

    id: str
    tenant: str
    user: str
    person: str
    agent: str
    kind: str = Field(description="schedule, or the command that answers it, such as reminder.")
    when: str = Field(description="Its rule: a cron expression, a time, or minutes of a heartbeat.")
    zone: str
    next_at: Moment
    paused: str = Field(description="person, failures or operator; empty: it is not paused.")
    failures: int = Field(description="Failed turns in a row.")


class ScheduleList(Model):
    """Schedules, the next first."""

    schedules: tuple[ScheduleRow, ...]


class UsageQuery(Model):
    """The number of days to look back."""

    days: int = Field(default=7, ge=1, le=366)


def _known_zone(name: str) -> str:
    if not is_zone(name):
        raise ValueError("is not a time zone such as Europe/Madrid")
    return name


class SummaryQuery(UsageQuery):
    """The number of days to look back, today included, and the zone of the days."""

    timezone: Annotated[str, AfterValidator(_known_zone)] = Field(
        default="UTC", max_length=64, description="An IANA name, such as Europe/Madrid."
    )


UsageGrouping = Literal["person", "model", "channel", "day"]
"""Usage is summed by one of these; a channel is an account such as telegram:main, a day is one in UTC."""


class UsageByQuery(UsageQuery):
    """The number of days to look back, and what to sum by."""

    by: UsageGrouping


class UsageSums(Model):
    """Sums of model calls."""

    calls: int
    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    discarded: int = Field(description="Calls whose response was thrown away.")
    estimated: int = Field(description="Calls whose tokens are an estimate.")
    cost_microusd: int | None = Field(description="Millionths of a US dollar, of the calls whose cost is known.")
    unpriced_calls: int = Field(description="Calls whose cost is unknown.")


class UsageGroup(UsageSums):
    """The calls of one person, model, channel account or day."""

    group: str = Field(description="Id of the person, or name of the model, account or day.")
    name: str


class UsageGroups(Model):
    """Sums of calls, the most costly first."""

    rows: tuple[UsageGroup, ...]


class UsageRow(UsageSums):
    """Calls of one person to one model on one UTC day."""

    day: date
    user: str
    name: str
    model: str


class UsageReport(Model):
    """Usage rows, oldest day first."""

    rows: tuple[UsageRow, ...]


class DaySum(Model):
    """All calls of one day."""

    calls: int
    tokens: int
    microusd: int | None = Field(description="Of the calls whose cost is known; null: of none.")


class UsageSummary(Model):
    """The sums of each day, for one page."""

    days: Mapping[date, DaySum] = Field(description="Every day, oldest first; the last one is today.")


class WeightSums(Model):
    """Usage of the turns of one weight; tokens count only calls with a known cost."""

    turns: int = 0
    calls: int = 0
    unpriced: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_microusd: int = 0


class UsageRoutes(Model):
    """Usage of light turns and of all others."""

    light: WeightSums
    main: WeightSums


# ---------------------------------------------------------------- the process


class ClusterMember(Model):
    """A process of a cluster."""

    state: str
    version: str
    since: str
    shards: int
    waiting: int
    behind_s: float
    leases: tuple[str, ...]
    fenced_writes: int


class ClusterAccount(Model):
    """A channel account with the processes that read and send for it."""

    read_by: str
    sent_by: str
    unsent: int
    behind_s: float


class ClusterBacklog(Model):
    """The number of waiting rows and the age of the oldest."""

    waiting: int
    behind_s: float


class ClusterReport(SparseModel):
    """The processes on one database, with the owners and backlogs."""

    versions_differ: str | None = None
    members: Mapping[str, ClusterMember]
    accounts: Mapping[str, ClusterAccount]
    shards_without_owner: int
    without_owner: ClusterBacklog | None = None
    waiting: int
    behind_s: float
    waiting_by_age: Mapping[str, int]


class Status(SparseModel):
    """The status of a running gateway, or of its database if none runs."""

    running: bool = True
    paused: str | None = None
    needs_you: Mapping[str, str] | None = None
    process: int | None = None
    up_s: int | None = None
    model: str | None = None
    models: Mapping[str, str] | None = None
    budgets: Mapping[str, str] | None = None
    parts: Mapping[str, str] | None = None
    connections: Mapping[str, str] | None = None
    capabilities: Mapping[str, str] | None = None
    turns_running: int | None = None
    inbox_open: int | None = None
    store: str | None = Field(default=None, description="Why the database cannot be read, while no gateway runs.")
    outbox: Mapping[str, int] | None = None
    people: int | None = None
    pairing_requests: Mapping[str, int] | None = None
    floods_of_strangers: Mapping[str, str] | None = None
    resting: Mapping[str, str] | None = None
    cluster: ClusterReport | None = None


class Reloaded(Model):
    """The changed settings: those in force now, and those that need a restart."""

    in_force: tuple[str, ...]
    next_start: tuple[str, ...]
    defaults: dict[str, str] = Field(description="Values of those that no file and no variable sets any more.")


class PauseChange(Model):
    """The result of a pause or of its end."""

    changed: bool = Field(description="False: it was paused, or not paused, already.")


class Stopping(Model):
    """A gateway that stops."""

    process: int
    drain_s: float = Field(description="Seconds that running turns have to end.")
    managed: bool = Field(description="True: a service manager such as systemd may start it again.")


MAX_SETTING_CHARS = 20_000


class SettingChange(Model):
    """A new value of a setting that applies while the gateway runs."""

    key: str = Field(max_length=200, description="Such as access.direct.")
    value: str = Field(max_length=MAX_SETTING_CHARS, description="As for `tenk config set`; empty: its default.")


class ModelName(Model):
    """A model, such as openai:gpt-5."""

    model: str = Field(max_length=255)


class TriedModel(Model):
    """The answer to a short question to a model."""

    model: str
    works: bool
    words: str
    to_do: str = Field(description="How to mend it; empty if it works.")


class ClosedConsoles(Model):
    """The number of sessions of the console that were ended."""

    sessions: int


class ConsoleLink(Model):
    """A link that opens the console once."""

    link: str
    ref: str = Field(exclude=True)  # a reference to the secret in the link, for stored messages
