"""Words what a person is asked before a tool runs: with exactly what it would do, and the ways to answer. Pure.

Where a channel has no buttons the answers are numbered, and typed. What an answer does is a commit of the press's.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from agent.catalogue import Catalogue, escape
from agent.consent import AskedCall, Consent
from agent.ports import Principal
from agent.wellformed import clean
from channels.base import Channel, HasButtons
from channels.messages import Button, ButtonStyle
from gateway.access.buttons import SealedButtons, short_id
from gateway.commands.decisions import ANSWERS, answer_words, numbered_answers
from gateway.delivery.message_parts import OutboundMessage
from gateway.sessions.turn_lifecycle import Claim
from gateway.store.approvals import Approval
from gateway.store.causes import QuestionOf

STYLES = {Consent.ALLOWED: ButtonStyle.PRIMARY, Consent.DENIED: ButtonStyle.DANGER}

HEARD_FOR = timedelta(days=7)
"""The time after its expiry in which a press is told that it comes too late; after that it means nothing."""

VALUE_CHARS = 300
TASK_CHARS = 120
VALUES = 20


@dataclass(frozen=True, slots=True)
class Questions:
    """Makes the questions of a gateway."""

    seals: SealedButtons
    texts: Catalogue  # what people read
    valid: timedelta  # how long a question holds

    def message(
        self,
        channel: Channel,
        claim: Claim,
        principal: Principal,
        ask: AskedCall,
        approval: Approval,
        task: str,
    ) -> OutboundMessage:
        """Return the question, addressed to the chat of the turn; in a group it names the person.

        A task's question names what the task is for.
        """
        turn, locale = claim.turn, principal.locale
        words = answer_words(approval.may_remember)
        minutes = max(1, round(self.valid.total_seconds() / 60))
        what = "\n\n".join([_what(ask), *([self.texts.text(locale, "consent.destructive")] if ask.destructive else [])])
        asked = self.texts.text(locale, "consent.question", ask=self._ask(ask, locale), arguments=what, minutes=minutes)
        if task:
            said = escape(clean(task)[:TASK_CHARS])
            asked = self.texts.text(locale, "consent.question_task", task=said, question=asked)
        if turn.reply_to is not None and principal.display_name:
            asked = self.texts.text(
                locale, "consent.question_named", name=escape(clean(principal.display_name)[:64]), question=asked
            )
        if approval.numbered:
            asked = f"{asked}\n\n{self._list_answers(words, locale)}"
        return OutboundMessage(
            turn.address,
            QuestionOf(claim.turn.id, claim.answer.waits),
            asked,
            turn.reply_to,
            reply_route_of=claim.answers,
            buttons=() if approval.numbered else self._buttons(words, claim, approval, locale),
            locale=locale,
        )

    def _ask(self, ask: AskedCall, locale: str | None) -> str:
        """Return what is asked for: in words if the tool has some, else by its name, which rules use."""
        if ask.says:
            return self.texts.text(locale, "consent.ask_in_words", what=self.texts.text(locale, ask.says))
        return self.texts.text(locale, "consent.ask", tool=escape(clean(ask.tool)))

    def _list_answers(self, words: Sequence[str], locale: str | None) -> str:
        lines = [f"{number}. {self._label(word, locale)}" for number, word in enumerate(words, 1)]
        return "\n".join([*lines, "", self.texts.text(locale, "consent.type_number")])

    def _buttons(
        self, words: Sequence[str], claim: Claim, approval: Approval, locale: str | None
    ) -> tuple[Button, ...]:
        address, subject = claim.turn.address, short_id(approval.id)
        account, until = f"{address.channel}:{address.account}", approval.until + HEARD_FOR
        found = []
        for word in words:
            data = self.seals.seal(word, subject, approval.user_id, account, until)
            found.append(Button(self._label(word, locale), data, STYLES.get(ANSWERS[word], ButtonStyle.SECONDARY)))
        return tuple(found)

    def _label(self, word: str, locale: str | None) -> str:
        return self.texts.text(locale, f"consent.button_{word}")


def is_numbered(channel: Channel) -> bool:
    """Return True if answers are typed on this channel."""
    return not isinstance(channel, HasButtons)


def typed_consent(approval: Approval, text: str) -> Consent | None:
    """Return the consent that a typed number means; None if it is none of the numbers, or there are buttons."""
    return typed_answer(text, may_remember=approval.may_remember) if approval.numbered else None


def typed_answer(text: str, *, may_remember: bool) -> Consent | None:
    """Return the answer that a typed number means, or None."""
    return numbered_answers(may_remember).get(text.strip().rstrip("."))


def describe(arguments: str, unshown: Sequence[str] = ()) -> str:
    """Return a call's arguments but the `unshown` as a person reads them, one a line, literally; cuts are marked."""
    given = {name: value for name, value in json.loads(arguments).items() if value is not None and name not in unshown}
    lines = [f"- {escape(clean(str(name)))}: {_value(value)}" for name, value in list(given.items())[:VALUES]]
    more = len(given) - len(lines)
    return "\n".join([*lines, *([f"- … +{more}"] if more else [])]) or "–"


def on_one_line(arguments: str) -> str:
    """Return a call's arguments in one line of plain text."""
    given = {name: value for name, value in json.loads(arguments).items() if value is not None}
    texts = ((name, value if isinstance(value, str) else json.dumps(value)) for name, value in given.items())
    return clean(", ".join(f"{name}: {text}" for name, text in texts))


def _what(ask: AskedCall) -> str:
    """Return the action that would be done, under a hook's words about it."""
    said, told = describe(ask.arguments, ask.unshown), clean(ask.question)[:VALUE_CHARS]
    return f"{escape(told)}\n\n{said}" if told else said


def _value(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    shown = clean(text)
    cut = len(shown) - VALUE_CHARS
    return escape(shown) if cut <= 0 else f"{escape(shown[:VALUE_CHARS])}… (+{cut})"
