"""Invariants after any torture, seen from outside: the chats, the ledger, and the store of the dead process."""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import pairwise

from agent.transcript import JOURNAL_EVENT, JournalEvent, TurnEnded, UserItem, fold
from channels.simulators.shared.world import AnyMessage
from gateway.delivery.message_parts import WAITING_TEXT, recovered_mark
from tests.fakes.strict_transcripts import flaws_in_items
from tests.torture.gateway_process import API_KEY
from tests.torture.script import PARAGRAPHS
from tests.torture.script import TOKEN as MESSAGE
from tests.torture.world import COMMANDS, OWN_COMMANDS, Said, World, take

MARK = recovered_mark(None).strip()


@dataclass(slots=True)
class Verdict:
    """The findings."""

    kills: int
    messages: int
    lost: list[str] = field(default_factory=list)  # neither answered nor told
    doubled: list[str] = field(default_factory=list)  # said twice without a mark
    wrong: list[str] = field(default_factory=list)  # any other broken promise, each with its number
    marked: int = 0  # parts under a recovery mark
    marked_commands: int = 0  # answers under it to commands of the platform's own
    told: int = 0  # failed, and said so: after three attempts without a step, or out of time
    unknown: int = 0  # parts whose second attempt was cut too: recorded for the operator
    strays: int = 0  # placeholders left behind
    repeats: int = 0  # idempotent requests made again with their key
    slowest_start_s: float = 0.0  # until it listened

    @property
    def broken(self) -> list[str]:
        return [*self.lost, *self.doubled, *self.wrong]

    def line(self) -> str:
        """Return one line for a table."""
        marked = f"{self.marked}+{self.marked_commands}"
        return (
            f"kills {self.kills:4}  messages {self.messages:5}  lost {len(self.lost)}  doubled {len(self.doubled)}  "
            f"marked {marked}  other {len(self.wrong)}  told {self.told}  unknown {self.unknown}  "
            f"strays {self.strays}  key repeats {self.repeats}  slowest start {self.slowest_start_s:.1f} s"
        )


def examine(world: World) -> Verdict:
    """Check every invariant after the gateway has ended."""
    verdict = Verdict(world.kills, len(world.said))
    verdict.repeats = world.ledger.repeats.total()
    verdict.slowest_start_s = max(world.recoveries_s, default=0.0)
    with closing(sqlite3.connect(world.database)) as connection:
        connection.row_factory = sqlite3.Row
        store = _Store(connection)
        verdict.wrong += store.flaws()
        _check_inbox(world, store, verdict)
        _check_answers(world, store, verdict)
        _check_effects(world, store, verdict)
        _check_commands(world, store, verdict)
        _check_own_commands(world, store, verdict)
        _check_transcripts(world, store, verdict)
    marked = verdict.marked + verdict.marked_commands
    if marked > world.cut_sends + store.unknown_sends:
        verdict.wrong.append(f"I6: {marked} marked, but {world.cut_sends} sends were cut")
    if verdict.marked and not world.platform.marks:
        verdict.wrong.append(f"I6: {verdict.marked} marked, where nothing is said twice")
    if verdict.strays > store.unknown_placeholders:
        verdict.wrong.append(f"I6: {verdict.strays} placeholders stand, {store.unknown_placeholders} in doubt")
    verdict.wrong += [f"I8: the model was sent what a strict API refuses: {flaw}" for flaw in world.model.unsendable]
    log = world.gateway.tail(100_000_000)
    verdict.doubled += [f"I6: said twice under the key {double}" for double in world.platform.doubles()]
    secrets = {**world.platform.secrets, "the API key": API_KEY}
    verdict.wrong += [f"I13: {name} stands in the log" for name, secret in secrets.items() if secret in log]
    return verdict


class _Store:
    """The store of the dead process."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.inbox = {
            (row["chat"], row["message_id"]): row
            for row in self.rows("SELECT * FROM inbox WHERE event_id LIKE 'msg:%'")
        }
        self.outbox = self.rows("SELECT * FROM outbox ORDER BY id")
        self.turns = {row["id"]: row for row in self.rows("SELECT * FROM turns")}
        self.unknown_sends = sum(1 for row in self.outbox if row["marked"])
        self.unknown_placeholders = sum(
            1 for row in self.outbox if row["action"] == "placeholder" and row["state"] == "unknown"
        )

    def rows(self, query: str) -> list[sqlite3.Row]:
        return self._connection.execute(query).fetchall()

    def told(self, row: sqlite3.Row) -> bool:
        """Return True if this message was given up and its person was told so."""
        turn = self.turns.get(row["turn_id"])
        given_up = row["outcome"] == "failed" or (turn is not None and turn["end_reason"] != "completed")
        cause = row["turn_id"] or f"inbox:{row['id']}"
        return given_up and any(part["cause"] == cause and part["state"] == "sent" for part in self.outbox)

    def flaws(self) -> Iterator[str]:
        """Return violations of I2 and I11: open rows, a broken database."""
        for (said,) in self._connection.execute("PRAGMA integrity_check").fetchall():
            if said != "ok":
                yield f"I11: {said}"
        for row in self.rows("SELECT * FROM inbox WHERE outcome IS NULL"):
            yield f"I1: row {row['id']} ({row['event_id']}) has no outcome"
        for turn in self.turns.values():
            if turn["end_reason"] is None:
                yield f"I2: turn {turn['id']} has not ended"
        for row in self.outbox:
            if row["state"] in ("ready", "sending", "dead"):
                yield f"I2: part {row['cause']}/{row['part']} is {row['state']}: {row['error']}"

    def journals(self) -> dict[str, list[tuple[str, JournalEvent]]]:
        """Return the events of each session, in order, with their turns."""
        found: dict[str, list[tuple[str, JournalEvent]]] = defaultdict(list)
        for row in self.rows("SELECT session_id, turn_id, payload FROM events ORDER BY session_id, seq"):
            found[row["session_id"]].append((row["turn_id"], JOURNAL_EVENT.validate_json(row["payload"])))
        return found


def _check_inbox(world: World, store: _Store, verdict: Verdict) -> None:
    for said in world.said:
        row = store.inbox.get((world.platform.key(said.chat), said.message_id))
        if row is None:
            verdict.lost.append(f"I1: m{said.number} was taken from the platform and is not in the inbox")
        elif row["outcome"] not in ("answered", "merged", "failed"):
            verdict.wrong.append(f"I1: m{said.number} ended as {row['outcome']} ({row['detail']})")


def _check_answers(world: World, store: _Store, verdict: Verdict) -> None:
    for chat in sorted({said.chat for said in world.said}):
        shown = world.answers(chat)
        verdict.marked += sum(MARK in one.text for one in shown if chat != OWN_COMMANDS)  # those are counted apart
        verdict.strays += sum(one.text.strip() in ("", WAITING_TEXT) for one in shown)  # a stream begins empty
        own = [said for said in world.said if said.chat == chat]
        for said in own:
            row = store.inbox.get((world.platform.key(chat), said.message_id))
            _check_answer(said, row, shown, store, verdict)
        foreign = {int(number) for one in shown for number, _ in _tokens(one)} - {said.number for said in own}
        verdict.wrong += [f"I3: chat {chat} was shown the answer to m{number}" for number in sorted(foreign)]
        order = [number for one in shown for number in _answered(one)]
        firsts = list(dict.fromkeys(order))
        inversions = [(a, b) for a, b in pairwise(firsts) if b < a]
        verdict.wrong += [f"I4: chat {chat} was shown m{b} after m{a}" for a, b in inversions]


def _check_answer(
    said: Said, row: sqlite3.Row | None, shown: list[AnyMessage], store: _Store, verdict: Verdict
) -> None:
    turn_id = row["turn_id"] if row is not None else None
    parts = [part for part in store.outbox if part["cause"] == turn_id]
    unknown = any(part["state"] == "unknown" and part["action"] != "placeholder" for part in parts)
    verdict.unknown += unknown
    telling = [one for one in shown if said.number in _answered(one)]
    if not telling:
        if row is not None and store.told(row):
            verdict.told += 1
        elif not unknown:
            verdict.lost.append(f"I2: m{said.number} was never answered")
        return
    unmarked = [one for one in telling if MARK not in one.text]
    times = sum(_answered(one).count(said.number) for one in unmarked)
    if times > 1:
        verdict.doubled.append(f"I6: m{said.number} was answered {times} times")
    if "l" not in said.kinds or unknown:
        return
    if row is not None and store.told(row):
        verdict.told += 1
        return
    clear = [one for one in shown if MARK not in one.text]
    found = [int(at) for one in clear for at in _paragraphs(one, said.number)]
    if len(set(found)) != len(found):
        verdict.doubled.append(f"I6: a part of m{said.number} was said twice")
    whole = list(dict.fromkeys(int(at) for one in shown for at in _paragraphs(one, said.number)))
    if whole != list(range(1, PARAGRAPHS + 1)):
        missing = sorted(set(range(1, PARAGRAPHS + 1)) - set(whole))
        verdict.wrong.append(f"I5: m{said.number}: missing {missing[:5]}, order kept: {whole == sorted(whole)}")


def _tokens(one: AnyMessage) -> list[tuple[str, str]]:
    return MESSAGE.findall(one.text)


def _answered(one: AnyMessage) -> list[int]:
    return [int(word[4:]) for word in one.text.split() if word.startswith("re:m") and word[4:].isdigit()]


def _paragraphs(one: AnyMessage, number: int) -> list[str]:
    head = f"m{number}."
    return [word[len(head) :] for word in one.text.split() if word.startswith(head) and word[len(head) :].isdigit()]


def _check_effects(world: World, store: _Store, verdict: Verdict) -> None:
    practised = Counter(row["notes"] for row in store.rows("SELECT notes FROM practice_sessions"))
    for said in world.said:
        row = store.inbox.get((world.platform.key(said.chat), said.message_id))
        turn = store.turns.get(row["turn_id"]) if row is not None else None
        finished = turn is not None and turn["end_reason"] == "completed"
        ref = f"m{said.number}"
        for kind, done in (("p", practised[ref]), ("i", world.ledger.noted[ref])):
            least = 1 if finished and kind in said.kinds else 0
            if not least <= done <= 1:
                verdict.wrong.append(f"I7: {ref}: its {kind} effect happened {done} times")
        if world.ledger.paid[ref] > 1:
            verdict.wrong.append(f"I7: {ref}: its unsafe effect happened {world.ledger.paid[ref]} times")


def _check_commands(world: World, store: _Store, verdict: Verdict) -> None:
    minutes = Counter(row["minutes"] for row in store.rows("SELECT minutes FROM practice_sessions"))
    for one in world.logged:
        told = any(row["outcome"] == "failed" and f"/log {one}m" in row["payload"] for row in store.inbox.values())
        verdict.told += told
        if minutes[one] != int(not told):
            verdict.wrong.append(f"I7: /log of {one} min happened {minutes[one]} times")
    answers = world.answers(COMMANDS)
    clear = sum(MARK not in one.text for one in answers)
    verdict.marked += len(answers) - clear
    if clear > len(world.logged):
        verdict.doubled.append(f"I6: {len(world.logged)} commands were answered {clear} times")
    if len(answers) < len(world.logged):
        verdict.lost.append(f"I2: {len(world.logged)} commands have {len(answers)} answers")


def _check_own_commands(world: World, store: _Store, verdict: Verdict) -> None:
    done = Counter(row["notes"] for row in store.rows("SELECT notes FROM practice_sessions"))
    given_up = [row["payload"] for row in store.rows("SELECT payload FROM inbox WHERE outcome = 'failed'")]
    due = 0
    for used in world.used:
        note = take(used.number)
        told = any(note in payload for payload in given_up)
        verdict.told += told
        least = int(used.taken() and not told)
        due += least
        if not least <= done[note] <= 1:
            verdict.wrong.append(f"I7: the command {note} happened {done[note]} times, not {least}")
    asked = len(world.used) + sum(said.chat == OWN_COMMANDS for said in world.said)
    answered = len(world.answers(OWN_COMMANDS))
    clear = sum(MARK not in one.text for one in world.answers(OWN_COMMANDS))
    verdict.marked_commands = answered - clear
    if clear > asked:
        verdict.doubled.append(f"I6: {asked} commands of the platform's own were answered {clear} times")
    if answered < due + asked - len(world.used):
        verdict.lost.append(f"I2: {due} commands of the platform's own have {answered} answers")


def _check_transcripts(world: World, store: _Store, verdict: Verdict) -> None:
    heard: Counter[int] = Counter()
    for session_id, journal in store.journals().items():
        items = fold(event for _, event in journal)
        verdict.wrong += [f"I8: session {session_id}: {flaw}" for flaw in flaws_in_items(items)]
        for item in items:
            if isinstance(item, UserItem):
                heard.update(int(number) for number, _ in MESSAGE.findall(item.text))
        ended = Counter(turn_id for turn_id, event in journal if isinstance(event, TurnEnded))
        for turn_id in {turn_id for turn_id, _ in journal}:
            if ended[turn_id] != 1:
                verdict.wrong.append(f"I8: turn {turn_id} has {ended[turn_id]} ends in its journal")
    for said in world.said:
        row = store.inbox.get((world.platform.key(said.chat), said.message_id))
        begun = row is None or row["turn_id"] is not None  # else its person was told that no turn could begin
        if heard[said.number] != int(begun):
            verdict.wrong.append(f"I9: m{said.number} stands {heard[said.number]} times in its transcript")
