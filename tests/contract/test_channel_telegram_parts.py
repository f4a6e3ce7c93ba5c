"""Parts as people see them: buttons, files, topics, edits, drafts; one row a script."""

import asyncio
from dataclasses import dataclass, replace

import pytest

from channels.errors import ChannelError, Permanent, PermanentKind, Retryable, Unknown
from channels.markdown.parse import parse
from channels.messages import Address, Button, ButtonStyle, OutboundPart
from channels.simulators.shared.faults import Fault
from channels.simulators.telegram.state import ShownMessage
from tests.fakes.telegram import PNG, TOKEN, Rig, paper, part, photo, telegram

YES, NO = Button("Yes", "p:1:y", ButtonStyle.PRIMARY), Button("No", "p:1:n", ButtonStyle.DANGER)
GROUP = -1_000_000_000_500


@dataclass(frozen=True)
class Script:
    name: str
    part: OutboundPart
    shows: tuple[str, ...] = ()  # "text", "text [button|button]", "photo: caption", "document name: caption"
    raises: type[ChannelError] | None = None
    kind: PermanentKind | None = None
    faults: tuple[Fault, ...] = ()


def _as_seen(message: ShownMessage) -> str:
    seen = message.text
    if message.file is not None:
        seen = f"{message.file.kind} {message.file.name}".strip() + f": {message.text}".rstrip()
    labels = [[str(key["text"]) for key in row] for row in message.keyboard]
    return seen + "".join(f" [{'|'.join(row)}]" for row in labels)


def _fault(kind: str, method: str, **more: object) -> tuple[Fault, ...]:
    return (Fault.model_validate({"kind": kind, "method": method} | more),)


WIDE = [Button(f"choice {n} of them all", f"c{n}") for n in range(3)]
REJECTED, MALFORMED = PermanentKind.REJECTED, PermanentKind.MALFORMED
BOLD_PAST_THE_END = '[{"type":"bold","offset":3,"length":9}]'

SCRIPTS = [
    Script("short buttons share a row", part("sure?", buttons=[YES, NO]), ("sure? [Yes|No]",)),
    Script(
        "long buttons have a row each",
        part("which?", buttons=WIDE),
        ("which? [choice 0 of them all] [choice 1 of them all] [choice 2 of them all]",),
    ),
    Script(
        "four short buttons are two rows",
        part("?", buttons=[Button(one, one) for one in "abcd"]),
        ("? [a|b|c] [d]",),
    ),
    Script("64 bytes of data go", part("x", buttons=[Button("ok", "d" * 64)]), ("x [ok]",)),
    Script("65 bytes do not", part("x", buttons=[Button("ok", "d" * 65)]), raises=Permanent, kind=REJECTED),
    Script("a button without data is refused", part("x", buttons=[Button("ok", "")]), raises=Permanent, kind=REJECTED),
    Script("a photo with a caption", part("week 3", media=[photo()]), ("photo: week 3",)),
    Script("a photo without one", part("", media=[photo()]), ("photo:",)),
    Script("a document keeps its name", part("all of it", media=[paper()]), ("document log.csv: all of it",)),
    Script("a file with buttons", part("ok?", media=[paper()], buttons=[YES]), ("document log.csv: ok? [Yes]",)),
    Script("a caption of 1024 units goes", part("x" * 1024, media=[photo()]), ("photo: " + "x" * 1024,)),
    Script("of 1025 it does not", part("x" * 1025, media=[photo()]), raises=Permanent, kind=REJECTED),
    Script("512 emoji are 1024 units", part("🎹" * 512, media=[photo()]), ("photo: " + "🎹" * 512,)),
    Script("513 are too many", part("🎹" * 513, media=[photo()]), raises=Permanent, kind=REJECTED),
    Script(
        "entities of a caption that do not fit are malformed",
        part("week", media=[photo()], markup=BOLD_PAST_THE_END),
        raises=Permanent,
        kind=MALFORMED,
    ),
    Script("two photos are an album", part("both", media=[photo(), photo()]), ("photo: both", "photo:")),
    Script(
        "a photo beside a document is a document",
        part("both", media=[photo(), paper()]),
        ("document chart.png: both", "document log.csv:"),
    ),
    Script("ten files go", part("", media=[paper()] * 10), ("document log.csv:",) * 10),
    Script("eleven do not", part("", media=[paper()] * 11), raises=Permanent, kind=REJECTED),
    Script(
        "no buttons under an album", part("", media=[photo(), photo()], buttons=[YES]), raises=Permanent, kind=REJECTED
    ),
    Script(
        "a picture over 10 MB is a document",
        part("", media=[photo(PNG + b"x" * 10_000_000)]),
        ("document chart.png:",),
    ),
    Script(
        "a drawing Telegram cannot show is a document",
        part("", media=[photo(b"<svg/>", "a.svg", "image/svg+xml")]),
        ("document a.svg:",),
    ),
    Script(
        "bytes that are no picture are refused",
        part("", media=[photo(b"no picture")]),
        raises=Permanent,
        kind=REJECTED,
    ),
    Script("an empty file is refused", part("", media=[paper(b"")]), raises=Permanent, kind=REJECTED),
    Script(
        "a name that is a path is a name (A70)",
        part("", media=[paper(name="../../etc/passwd")]),
        ("document passwd:",),
    ),
    Script("a name of nothing is one all the same", part("", media=[paper(name="..\\..")]), ("document file:",)),
    Script(
        "a quote in a name breaks no header",
        part("", media=[paper(name='a"\r\nX-Evil: 1;b.txt')]),
        ("document a_X-Evil_ 1_b.txt:",),
    ),
    Script(
        "429 for a file says when",
        part("", media=[paper()]),
        raises=Retryable,
        faults=_fault("status", "sendDocument", status=429),
    ),
    Script(
        "a file whose answer is cut may have arrived; here it did",
        part("", media=[paper()]),
        ("document log.csv:",),
        raises=Unknown,
        faults=_fault("cut", "sendDocument", applied=True),
    ),
    Script(
        "a photo that ends in 500 may have arrived",
        part("", media=[photo()]),
        raises=Unknown,
        faults=_fault("status", "sendPhoto"),
    ),
]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
async def test_part(script: Script):
    async with telegram() as rig:
        rig.simulator.add_chat(1, "private")
        rig.simulator.faults.script(*script.faults)
        if script.raises is None:
            receipt = await rig.channel.send(script.part)
            assert str(rig.simulator.answers(1)[0].message_id) == receipt.platform_id
        else:
            with pytest.raises(script.raises) as caught:
                await rig.channel.send(script.part)
            assert script.kind is getattr(caught.value, "kind", None)
        assert list(script.shows) == [_as_seen(message) for message in rig.simulator.answers(1)]


# Edits and buttons.


async def _standing(rig: Rig, *buttons: Button) -> str:
    rig.simulator.add_chat(1, "private")
    return (await rig.channel.send(part("sure?", buttons=buttons))).platform_id


async def test_closed_buttons_are_gone_and_the_text_stays():
    async with telegram() as rig:
        standing = await _standing(rig, YES, NO)
        for _ in range(2):
            await rig.channel.close_buttons(Address("telegram", "main", "1"), standing)
            assert ["sure?"] == [_as_seen(message) for message in rig.simulator.answers(1)]
        with pytest.raises(Permanent) as gone:
            await rig.channel.close_buttons(Address("telegram", "main", "1"), "99")
        assert PermanentKind.TARGET_GONE is gone.value.kind


async def test_placeholder_becomes_a_file():
    async with telegram() as rig:
        standing = await _standing(rig)
        await rig.channel.edit(part("your week", media=[photo()], buttons=[YES]), standing)
        assert ["photo: your week [Yes]"] == [_as_seen(message) for message in rig.simulator.answers(1)]
        with pytest.raises(Permanent):
            await rig.channel.edit(part("x", media=[photo(), photo()]), standing)


async def test_forged_press_is_handed_on_as_what_it_is():
    """Cover A34."""
    async with telegram() as rig:
        rig.simulator.add_chat(GROUP, "supergroup")
        rig.simulator.add_person(8, "Eve", language_code="es")
        sent = await rig.channel.send(part("sure?", chat=GROUP, buttons=[YES]))
        async with rig.running():
            rig.simulator.press(GROUP, int(sent.platform_id), "p:2:y", person=8)
            await rig.sink.until(lambda: bool(rig.sink.events))
        (pressed,) = rig.sink.events
        assert ("telegram:8", str(GROUP), "p:2:y", sent.platform_id, "es") == (
            pressed.sender_key,
            pressed.address.chat,
            pressed.data,
            pressed.message_id,
            pressed.locale,
        )


# Groups and topics.


async def test_topic_is_answered_in_the_topic():
    async with telegram() as rig:
        rig.simulator.add_chat(GROUP, "supergroup", forum=True)
        async with rig.running():
            asked = rig.simulator.say(GROUP, "@tenk_bot how long?", person=7, thread=42)
            await rig.sink.until(lambda: bool(rig.sink.events))
        (event,) = rig.sink.events
        assert ("42", True) == (event.address.thread, event.mentions_bot)
        await rig.channel.show_typing(event.address)
        await rig.channel.send(replace(part("an hour", reply_to=asked), address=event.address))
        await rig.channel.send(replace(part("", media=[photo()]), address=event.address))
        await rig.channel.send(replace(part("", media=[photo(), photo()]), address=event.address))
        answers = rig.simulator.answers(GROUP)
        assert [(42, asked), (42, None), (42, None), (42, None)] == [(one.thread, one.reply_to) for one in answers]


async def test_chat_that_moved_says_where_to():
    """Cover A31."""
    async with telegram() as rig:
        rig.simulator.add_chat(-5, "group")
        sent = await rig.channel.send(part("before", chat=-5))
        rig.simulator.migrate(-5, GROUP, person=7)
        for call in (
            rig.channel.send(part("after", chat=-5)),
            rig.channel.send(part("", chat=-5, media=[photo()])),
            rig.channel.edit(part("changed", chat=-5), sent.platform_id),
        ):
            with pytest.raises(Permanent) as moved:
                await call
            assert (PermanentKind.MOVED, str(GROUP)) == (moved.value.kind, moved.value.moved_to)
        await rig.channel.send(part("after", chat=GROUP))
        assert ["after"] == [one.text for one in rig.simulator.answers(GROUP)]


# Drafts and rich messages.


async def test_drafts_are_for_private_chats_of_accounts_that_want_them():
    person, group = Address("telegram", "main", "1"), Address("telegram", "main", str(GROUP))
    async with telegram() as placeholders, telegram(live="draft") as drafts:
        assert (False, False) == (placeholders.channel.drafts_in(person), placeholders.channel.drafts_in(group))
        assert (True, False) == (drafts.channel.drafts_in(person), drafts.channel.drafts_in(group))


async def test_draft_grows_and_vanishes_with_the_message():
    home = Address("telegram", "main", "1")
    async with telegram(live="draft") as rig:
        rig.simulator.add_chat(1, "private")
        for text in ("", "An", "An **hour**"):
            await rig.channel.draft(home, 77, rig.channel.renderer.render(parse(text)))
        draft = rig.simulator.draft(1)
        assert draft is not None
        assert (77, "An hour", []) == (draft.draft_id, draft.text, rig.simulator.answers(1))
        await rig.channel.send(part("An hour."))
        assert (None, ["An hour."]) == (rig.simulator.draft(1), [one.text for one in rig.simulator.answers(1)])


@pytest.mark.parametrize(
    ("chat", "draft_id", "faults"),
    [
        (GROUP, 77, ()),
        (1, 0, ()),
        (404, 77, ()),
        (1, 77, _fault("status", "sendMessageDraft", status=429)),
        (1, 77, _fault("html", "sendMessageDraft")),
    ],
)
async def test_draft_that_fails_is_told(chat: int, draft_id: int, faults: tuple[Fault, ...]):
    async with telegram(live="draft") as rig:
        rig.simulator.add_chat(1, "private")
        rig.simulator.add_chat(GROUP, "supergroup")
        rig.simulator.faults.script(*faults)
        with pytest.raises((Permanent, Retryable, Unknown)):
            await rig.channel.draft(Address("telegram", "main", str(chat)), draft_id, part("x").rendered)
        assert rig.simulator.draft(1) is None


async def test_cancelled_upload_leaves_nothing_behind():
    async with telegram() as rig:
        rig.simulator.add_chat(1, "private")
        rig.simulator.faults.script(Fault(kind="delay", method="sendDocument", applied=True, delay_s=5))
        async with asyncio.TaskGroup() as tasks:
            sending = tasks.create_task(rig.channel.send(part("", media=[paper()])))
            await rig.simulator.until(lambda: bool(rig.simulator.answers(1)))
            sending.cancel()
        assert sending.cancelled()


async def test_token_is_in_no_error_of_a_file():
    """Cover A92."""
    async with telegram() as rig:
        rig.simulator.add_chat(1, "private")
        rig.simulator.faults.script(Fault(kind="cut", method="sendDocument"))
        with pytest.raises(Unknown) as caught:
            await rig.channel.send(part("", media=[paper()]))
        assert TOKEN.partition(":")[2] not in repr(caught.value) + repr(caught.value.__context__)
