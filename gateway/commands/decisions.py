"""Buttons under messages stand for what operators decide and what people say. `/permissions` lists what was said.

The decisions themselves are `gateway.access`'s; `gateway.sessions` says how a session takes what was said.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from pydantic import JsonValue

from agent.catalogue import Catalogue
from agent.consent import Consent
from agent.language import escape
from agent.ports import Principal
from agent.wellformed import clean
from channels.base import CommandOption
from gateway.access.buttons import long_id
from gateway.access.operations import AccessOperations, OperationRefused
from gateway.commands.base import (
    AnswerApproval,
    ApprovalAnswered,
    Command,
    ForgetPermission,
    Invocation,
    PermissionsForgotten,
    Reply,
    Results,
    SaySuggested,
    SuggestionTaken,
)
from gateway.store import approvals
from gateway.store.engine import Store
from gateway.texts import HARNESS

Decision = Callable[[str, Principal], Awaitable[Reply]]
"""From what a button is about and who pressed it to what is said; the change is made by then and bears repetition.

The button was ours, made for whoever pressed it, and its time not over: see `gateway.access.buttons`.
"""

VOID = "commands.button_void"
"""What is said of a button that means nothing any more."""

SAY = "say"
"""The word of buttons that say what an answer suggested: `say:<turn>.<index>`."""


def offer_text(texts: Catalogue, locale: str | None, before: str) -> str:
    """Return what is said of a button whose offer was taken before or does not hold any more."""
    if before:
        return texts.text(locale, "commands.offer_done", what=escape(before))
    return texts.text(locale, "commands.offer_over")


def reply_decisions(texts: Catalogue = HARNESS) -> Mapping[str, Decision]:
    """`say`: the words become a message of whoever the button was made for; the turn behind it answers."""

    async def say(subject: str, principal: Principal) -> Reply:
        turn, _, index = subject.partition(".")
        void = texts.text(principal.locale, VOID)
        if not long_id(turn) or not index.isdecimal():
            return Reply(void)

        def to_text(results: Results) -> str:
            done = next((result for result in results if isinstance(result, SuggestionTaken)), SuggestionTaken(False))
            return "" if done.said else offer_text(texts, principal.locale, done.before)

        return Reply(to_text, session=SaySuggested(long_id(turn), int(index)))

    return {SAY: say}


ANSWERS = {"run": Consent.ALLOWED, "run_always": Consent.REMEMBERED, "run_not": Consent.DENIED}
"""What the buttons under a question about a tool call say, by the word that they carry: `run:<approval>`."""


def consent_decisions(texts: Catalogue = HARNESS) -> Mapping[str, Decision]:
    """`run`, `run_always` and `run_not`: a person's word about one tool call; its turn goes on with it."""

    def saying(answer: Consent) -> Decision:
        async def decision(subject: str, principal: Principal) -> Reply:
            if not (approval_id := long_id(subject)):
                return Reply(texts.text(principal.locale, VOID))

            def to_text(results: Results) -> str:
                done = next((result for result in results if isinstance(result, ApprovalAnswered)), None)
                if done is None or done.stood is None:
                    return texts.text(principal.locale, VOID)
                return "" if done.taken else texts.text(principal.locale, f"consent.stood_{done.stood.value}")

            return Reply(to_text, session=AnswerApproval(approval_id, answer))

        return decision

    return {word: saying(answer) for word, answer in ANSWERS.items()}


def question_of_another(
    find: Mapping[str, Callable[[str], Awaitable[str | None]]], texts: Catalogue = HARNESS
) -> Callable[[str, str, Principal], Awaitable[Reply | None]]:
    """Tells whoever presses a button of a question that is another's that it is; nothing of what was asked.

    `find` says by a button's word whom a question was asked, by its id.
    """

    async def tell(word: str, subject: str, principal: Principal) -> Reply | None:
        asked_id = long_id(subject.partition(".")[0]) if word in find else ""
        asked = await find[word](asked_id) if asked_id else None
        if asked is None or asked == principal.user_id:
            return None
        return Reply(texts.text(principal.locale, "consent.not_yours"))

    return tell


def whom(about: Mapping[str, JsonValue]) -> str:
    """Whom an operation was about, as Markdown: the name, which is a stranger's own word, and what access goes by."""
    senders = about.get("senders") or [about.get("sender")]
    ids = ", ".join(str(sender) for sender in senders) if isinstance(senders, list) else ""
    return f"`{str(about.get('name')).replace('`', chr(39))}` ({escape(ids)})"


def access_decisions(operations: AccessOperations) -> Mapping[str, Decision]:
    """`approve`, `deny` and `block`, each about a request that is pending; who may, the operation decides (A34)."""

    def about_a_request(decide: Callable[[str, str], Awaitable[Mapping[str, JsonValue]]], done: str) -> Decision:
        async def decision(subject: str, principal: Principal) -> Reply:
            request_id, locale = long_id(subject), principal.locale
            if not request_id:
                return Reply(HARNESS.text(locale, VOID))
            try:
                about = await decide(request_id, principal.user_id)
            except OperationRefused as refused:
                return Reply(HARNESS.text(locale, "access.nothing_changed", why=refused.text(locale)))
            return Reply(HARNESS.text(locale, done, who=whom(about)))

        return decision

    return {
        "approve": about_a_request(operations.approve_request, "access.approved"),
        "deny": about_a_request(operations.deny, "access.denied"),
        "block": about_a_request(operations.block_request, "access.blocked"),
    }


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
