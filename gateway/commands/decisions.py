"""Buttons that are commands stored with their message.

A button's handler gets an `Invocation`: its name is the button's word, its arguments are the button's subject. The
signature was checked before: see `gateway.access.buttons`.
"""

from collections.abc import Awaitable, Callable, Mapping

from agent.catalogue import escape
from agent.consent import Consent
from gateway.access.buttons import long_id
from gateway.commands.base import Changed, Handle, Invocation, Reply, Write
from gateway.operators.models import DeniedRequest, PairingRequest, User
from gateway.operators.service import Operators
from gateway.store import approvals
from gateway.store.engine import Connection

VOID = "commands.button_void"
"""Key of the text for a button that is not valid any more."""

SAY = "say"
"""Word of buttons with a suggested reply: `say:<turn>.<index>`."""

RUN_COMMAND = "do"
"""Word of buttons under a reply, each a whole command: `do:<inbox row>.<index>`."""

DECLINE = "decline"
"""Word of a press without a button: a typed no to the question of a command."""

YES_WORDS = frozenset({RUN_COMMAND, "link_agree", "link_join"})
NO_WORDS = frozenset({"link_no"})
"""Words of buttons that a typed yes or no may mean."""

ANSWERS = {"run": Consent.ALLOWED, "run_always": Consent.REMEMBERED, "run_not": Consent.DENIED}
"""Answers to a question about a tool call, by button word: `run:<approval>`."""


def answer_words(may_remember: bool) -> tuple[str, ...]:
    """Return the button words of a question's answers, in the order in which they are offered and numbered from 1."""
    return tuple(word for word, says in ANSWERS.items() if may_remember or says is not Consent.REMEMBERED)


def numbered_answers(may_remember: bool) -> Mapping[str, Consent]:
    """Return what each typed number means."""
    return {str(place): ANSWERS[word] for place, word in enumerate(answer_words(may_remember), 1)}


async def answer_question(asked: Invocation) -> Reply | Write:
    """Take the person's answer to a question about a tool call; its turn continues."""
    approval_id = long_id(asked.arguments)
    return Write(_answer, asked, approval_id, ANSWERS[asked.name]) if approval_id else Reply(asked.say(VOID))


def _answer(connection: Connection, asked: Invocation, approval_id: str, answer: Consent) -> Reply:
    question, now = approvals.by_id(connection, approval_id), asked.clock()
    if question is None or question.user_id != asked.principal.user_id:
        return Reply(asked.say(VOID))
    late = now >= question.until
    if not approvals.settle(connection, question, Consent.EXPIRED if late else answer, now):
        return Reply(asked.say(f"consent.stood_{question.state.value}"))
    said = asked.say(f"consent.stood_{Consent.EXPIRED.value}") if late else ""
    return Reply(said, changed=Changed(unparked=(question.turn_id,)))


async def decline(asked: Invocation) -> Reply:
    """Say that nothing was changed; the question loses its buttons."""
    return Reply(asked.say("commands.declined"))


CONSENT_BUTTONS: Mapping[str, Handle] = dict.fromkeys(ANSWERS, answer_question)
"""Handlers of the buttons under a question about a tool call."""


def whom(about: User | DeniedRequest | PairingRequest) -> str:
    """Return the name and senders of the person an action was about, as Markdown; the name is quoted."""
    senders = about.senders if isinstance(about, User) else (about.sender,)
    return f"`{about.name.replace('`', chr(39))}` ({escape(', '.join(senders))})"


def access_decisions(operators: Operators) -> Mapping[str, Handle]:
    """Return the buttons `approve`, `deny` and `block` of a pending request; the action checks the presser's rank."""

    def about_a_request(decide: Callable[[str, str], Awaitable[User | DeniedRequest]], done: str) -> Handle:
        async def decision(asked: Invocation) -> Reply:
            request_id = long_id(asked.arguments)
            if not request_id:
                return Reply(asked.say(VOID))
            about = await decide(asked.principal.user_id, request_id)
            return Reply(asked.say(done, who=whom(about)))

        return decision

    return {
        "approve": about_a_request(operators.approve_request, "access.approved"),
        "deny": about_a_request(operators.deny, "access.denied"),
        "block": about_a_request(operators.block_request, "access.blocked"),
    }
