"""Live answers in Slack's threads as streams: whatever is cut or refused, in the end one message says all of it."""

import asyncio
from contextlib import nullcontext
from dataclasses import dataclass, field

import pytest

from channels.errors import Permanent, Retryable, Unknown
from channels.messages import Button, OutboundPart, Receipt
from channels.slack.render import MRKDWN
from channels.slack.simulator.faults import Fault
from channels.slack.simulator.state import ShownMessage
from tests.fakes.slack import Rig, part, slack

CLEO = "T0SIM:U3"
FIRST = "One is done. Two"
WHOLE = "One is done. Two is done, too. That is **all**."


@dataclass
class Thread:
    """A thread in a channel, and what our bot said in it."""

    rig: Rig
    root: str
    chat: str = "C1"

    def part(self, text: str, **more: object) -> OutboundPart:
        """Something to say in it."""
        return part(text, chat=self.chat, thread=self.root, **more)

    async def begin(self, *, key: str = "placeholder", recipient: str | None = CLEO) -> Receipt:
        """A placeholder."""
        waiting = self.part("…", markup=None, key=key, unfinished=True, recipient=recipient)
        return await self.rig.channel.send(waiting)

    async def look(self) -> Receipt | None:
        """What became of a placeholder whose sending was cut."""
        return await self.rig.channel.find_sent(self.part("…", markup=None, key="placeholder", unfinished=True))

    async def show(self, text: str, begun: Receipt) -> None:
        """A live edit."""
        await self.rig.channel.edit(self.part(text + " …", key="", unfinished=True), begun.platform_id)

    async def end(self, text: str, begun: Receipt, **more: object) -> None:
        """The final edit."""
        await self.rig.channel.edit(self.part(text, key="final", **more), begun.platform_id)

    @property
    def shown(self) -> list[ShownMessage]:
        """What the bot said, as it stands."""
        return self.rig.simulator.answers(self.chat)

    def calls(self) -> list[str]:
        """What was called and done, in order."""
        return [one.method.removeprefix("chat.") for one in self.rig.simulator.history() if one.applied]

    def holds(self, text: str = WHOLE) -> None:
        """One message says it, has its key, is over, and pings nobody."""
        (message,) = self.shown
        assert (text, False, False) == (message.text, message.streaming, message.broken)
        assert {"key": "final"} == message.metadata["event_payload"]
        assert [] == self.rig.simulator.pings()


def thread(rig: Rig, chat: str = "C1") -> Thread:
    """A thread that somebody began."""
    return Thread(rig, rig.simulator.say(chat, "question", person="U3"), chat)


def fault(method: str, kind: str = "cut", **more: object) -> Fault:
    return Fault.model_validate({"method": f"chat.{method}", "kind": kind} | more)


@pytest.mark.parametrize("chat", ["C1", "D3"])
async def test_a_live_answer_in_a_thread_is_a_stream(chat: str):
    """Begun empty, appended to, ended by the rest and with its key: no text goes twice over the wire."""
    async with slack() as rig:
        place = thread(rig, chat)
        begun = await place.begin()
        assert place.shown[0].streaming
        await place.show(FIRST, begun)
        await place.show(FIRST, begun)
        assert "One is done. " == place.shown[0].text
        await place.end(WHOLE, begun)
        place.holds()
        assert ["startStream", "appendStream", "stopStream"] == place.calls()
        assert place.root == place.shown[0].thread


@pytest.mark.parametrize("what", ["no thread", "no recipient", "a bot", "edits", "mrkdwn"])
async def test_elsewhere_a_live_answer_is_edited(what: str):
    """Outside threads, for nobody known, by configuration, in the older markup: a message as before."""
    more = {"edits": {"live": "edits"}, "mrkdwn": {"text_format": "mrkdwn"}}.get(what, {})
    async with slack(**more) as rig:
        place = thread(rig)
        if what == "no thread":
            place.root = None
        begun = await place.begin(recipient={"no recipient": None, "a bot": "T0SIM:B7"}.get(what, CLEO))
        await place.show(FIRST, begun)
        await place.end(WHOLE, begun)
        place.holds()
        assert ["postMessage", "update", "update"] == place.calls()


async def test_an_answer_is_ended_with_its_buttons():
    """They come below the text, work, and can be taken away; the text stays."""
    async with slack() as rig:
        place = thread(rig)
        begun = await place.begin()
        await place.show(FIRST, begun)
        await place.end(WHOLE, begun, buttons=(Button("Yes", "y:1"),))
        place.holds()
        assert ["y:1"] == [one["value"] for one in place.shown[0].buttons]
        await rig.channel.close_buttons(place.part("").address, begun.platform_id)
        assert (WHOLE, []) == (place.shown[0].text, place.shown[0].buttons)


async def test_several_parts_begin_with_the_stream():
    """The first part ends it, the others are messages behind it."""
    async with slack() as rig:
        place = thread(rig)
        begun = await place.begin()
        await place.show(FIRST, begun)
        await place.end(WHOLE, begun)
        await rig.channel.send(place.part("And more.", key="second"))
        assert [WHOLE, "And more."] == [one.text for one in place.shown]
        assert ["final", "second"] == [one.metadata["event_payload"]["key"] for one in place.shown]


# ------------------------------------------------------------ what is cut


@pytest.mark.parametrize("arrived", [True, False])
async def test_a_start_without_an_answer_is_looked_for(arrived: bool):
    """D2: a stream without a key is found by having none; where none was begun, none is found."""
    async with slack() as rig, rig.running():
        place = thread(rig)
        await rig.channel.send(place.part("An older answer.", key="older"))
        rig.simulator.faults.script(fault("startStream", applied=arrived))
        with pytest.raises(Unknown):
            await place.begin()
        found = await place.look()
        assert arrived == (found is not None)
        begun = found or await place.begin()
        await place.show(FIRST, begun)
        await place.end(WHOLE, begun)
        assert ["An older answer.", WHOLE] == [one.text for one in place.shown]
        assert ["older", "final"] == [one.metadata["event_payload"]["key"] for one in place.shown]


async def test_nothing_else_is_taken_for_a_stream():
    """Neither what came before something with a key, nor another thread's, a file, the root, or a word of people's."""
    async with slack() as rig, rig.running():
        place, other = thread(rig), thread(rig)
        await place.begin()
        await rig.channel.send(place.part("The answer before.", key="older"))
        await other.begin()
        rig.simulator.say("C1", "", person="U3", thread=place.root)
        assert None is await place.look()
        assert None is await rig.channel.find_sent(place.part("a send", key="placeholder"))


async def test_a_stream_that_slack_ended_meanwhile_is_found():
    """A death of an hour: the broken message becomes the answer."""
    async with slack() as rig, rig.running():
        place = thread(rig)
        begun = await place.begin()
        rig.simulator.end_streams()
        assert place.shown[0].broken
        assert begun == await place.look()


@pytest.mark.parametrize("applied", [True, False])
async def test_a_piece_without_an_answer_ends_the_counting(applied: bool):
    """What may stand there is never appended again: the stream is closed, the whole is written over it."""
    async with slack() as rig:
        place = thread(rig)
        begun = await place.begin()
        rig.simulator.faults.script(fault("appendStream", applied=applied))
        with pytest.raises(Unknown):
            await place.show(FIRST, begun)
        await place.end(WHOLE, begun)
        place.holds()
        assert 1 == sum(one.method == "chat.appendStream" for one in rig.simulator.history())


async def test_a_piece_that_is_cancelled_ends_the_counting():
    """The final does not wait for a live edit for ever, and cannot know what became of it."""
    async with slack() as rig:
        place = thread(rig)
        begun = await place.begin()
        rig.simulator.faults.script(fault("appendStream", "delay", applied=True, delay_s=5))
        async with asyncio.TaskGroup() as tasks:
            showing = tasks.create_task(place.show(FIRST, begun))
            await rig.simulator.until(lambda: place.shown[0].text != "")
            showing.cancel()
        await place.end(WHOLE, begun)
        place.holds()


@pytest.mark.parametrize("applied", [True, False])
async def test_an_end_without_an_answer_is_made_again(applied: bool):
    """The repeated edit writes the whole over whatever stands, and may be repeated again."""
    async with slack() as rig:
        place = thread(rig)
        begun = await place.begin()
        await place.show(FIRST, begun)
        rig.simulator.faults.script(fault("stopStream", applied=applied))
        with pytest.raises(Unknown):
            await place.end(WHOLE, begun)
        for _ in range(2):
            await place.end(WHOLE, begun)
            place.holds()


@pytest.mark.parametrize("cut", ["stopStream", "update"])
async def test_a_cut_between_closing_and_writing_anew_is_made_good(cut: str):
    """Each step of the long way may be the last one of a try."""
    async with slack() as rig:
        place = thread(rig)
        begun = await place.begin()
        await place.show(FIRST, begun)
        rig.simulator.faults.script(fault(cut, applied=True))
        with pytest.raises(Unknown):
            await place.end("Something else altogether.", begun)
        await place.end("Something else altogether.", begun)
        place.holds("Something else altogether.")


async def test_a_restart_goes_on_with_a_message():
    """Nobody remembers what was appended: the stream is closed and edited from then on."""
    async with slack() as before:
        place = thread(before)
        begun = await place.begin()
        await place.show(FIRST, begun)
        async with slack(api_base=before.simulator.base_url) as after:
            place.rig.channel, kept = after.channel, before.channel
            await place.show("One is done. Two is done, too. That", begun)
            assert "One is done. Two is done, too. That …" == place.shown[0].text
            await place.end(WHOLE, begun)
            place.rig.channel = kept
        place.holds()


# ------------------------------------------------------------ what changes


async def test_text_that_changed_is_written_anew():
    """A stream cannot take anything back: it becomes a message, which is edited from then on."""
    async with slack() as rig:
        place = thread(rig)
        begun = await place.begin()
        await place.show(FIRST, begun)
        await place.show("No, wait. It is", begun)
        assert "No, wait. It is …" == place.shown[0].text
        await place.end(WHOLE, begun)
        place.holds()
        assert ["startStream", "appendStream", "stopStream", "update", "update"] == place.calls()


async def test_plain_text_in_place_of_a_refused_rendering_is_written_anew():
    """Delivery's way out of a malformed rendering works on a stream, too."""
    async with slack() as rig:
        place = thread(rig)
        begun = await place.begin()
        await place.show(FIRST, begun)
        await place.end("plain & simple", begun, markup=None)
        place.holds("plain & simple")


@pytest.mark.parametrize("when", ["live", "final"])
async def test_a_link_never_goes_into_a_stream(when: str):
    """A59: a stream's previews cannot be turned off; what holds a link is an edit, as it always was."""
    linked = "One is done. See [this](https://evil.example/?q=secret). And so on."
    async with slack() as rig:
        place = thread(rig)
        begun = await place.begin()
        await place.show(FIRST, begun)
        if when == "live":
            await place.show(linked, begun)
        await place.end(linked, begun)
        place.holds(linked)
        assert not place.shown[0].unfurls


@pytest.mark.parametrize("text", ["<!channel> hello. You", "&lt;!channel&gt; hello. You", "`<\u2060!here>` hello. You"])
async def test_what_is_appended_pings_as_little_as_what_is_sent(text: str):
    """A63: the simulator tells a ping in a stream; what the renderer escaped is none."""
    async with slack() as rig:
        place = thread(rig)
        begun = await place.begin()
        await place.show(text, begun)
        assert text.startswith("<!") == bool(rig.simulator.pings())


async def test_slack_ends_a_stream_by_itself():
    """After five minutes or a person's stop: the live answer goes on as edits, and nothing stays broken."""
    async with slack() as rig:
        place = thread(rig)
        begun = await place.begin()
        await place.show(FIRST, begun)
        rig.simulator.end_streams()
        assert place.shown[0].broken
        await place.show("One is done. Two is done, too. That", begun)
        assert "One is done. Two is done, too. That …" == place.shown[0].text
        await place.end(WHOLE, begun)
        place.holds()


async def test_slack_ends_a_stream_just_before_its_end():
    """The end is refused, and written over what stands."""
    async with slack() as rig:
        place = thread(rig)
        begun = await place.begin()
        await place.show(FIRST, begun)
        rig.simulator.end_streams()
        await place.end(WHOLE, begun)
        place.holds()
        assert ["startStream", "appendStream", "update"] == place.calls()


async def test_a_stream_that_will_not_close_is_tried_again():
    """While it streams nothing else may change it: the edit comes again later."""
    async with slack() as rig:
        place = thread(rig)
        begun = await place.begin()
        await place.show(FIRST, begun)
        rig.simulator.faults.script(fault("stopStream", "error", error="no_text"))
        with pytest.raises(Retryable, match="streaming_state_conflict"):
            await place.end("Something else.", begun)
        await place.end("Something else.", begun)
        place.holds("Something else.")


async def test_more_streams_than_are_remembered_lose_nothing():
    """The oldest is forgotten, and then written anew."""
    async with slack() as rig:
        place = thread(rig)
        begun = [await place.begin(key=f"p{number}") for number in range(301)]
        await place.show(FIRST, begun[0])
        await place.end(WHOLE, begun[0])
        await place.show(FIRST, begun[300])
        assert (WHOLE, "One is done. ") == (place.shown[0].text, place.shown[300].text)
        assert ["stopStream", "update", "update", "appendStream"] == place.calls()[301:]


# ------------------------------------------------------------ refusals, as a table


@dataclass(frozen=True)
class Script:
    """A placeholder under one condition, and what comes of it."""

    name: str
    faults: tuple[Fault, ...] = field(default=())
    raises: type[Exception] | None = None
    stream: bool = False  # it is one
    next_stream: bool = True  # the one after it is
    elsewhere: bool = True  # one in another chat is


SCRIPTS = [
    Script("nothing is wrong", stream=True),
    Script("429", (fault("startStream", "error", error="ratelimited", retry_after_s=5),), None, False, False, False),
    Script("429 without a word of when", (fault("startStream", "status", status=429),), None, False, False, False),
    Script("not here", (fault("startStream", "error", error="channel_type_not_supported"),), None, False, False, True),
    Script("no such method", (fault("startStream", "error", error="unknown_method"),), None, False, False, False),
    Script("not switched on", (fault("startStream", "error", error="feature_not_enabled"),), None, False, False, False),
    Script("a refusal nobody knows", (fault("startStream", "error", error="as_user_not_ok"),)),
    Script("no recipient of theirs", (fault("startStream", "error", error="missing_recipient_user_id"),)),
    Script("internal_error may have happened", (fault("startStream", "error", error="internal_error"),), Unknown),
    Script("500 may have happened", (fault("startStream", "status"),), Unknown),
    Script("a page is no answer", (fault("startStream", "html", status=200),), Unknown),
    Script("a late answer may have happened", (fault("startStream", "delay", delay_s=5, applied=True),), Unknown),
]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
async def test_a_start(script: Script):
    """What is refused was not said: a plain placeholder stands at once; what is refused for good is not asked again."""
    async with slack(call_timeout_s=0.3) as rig:
        place, other = thread(rig), thread(rig, "C2")
        rig.simulator.faults.script(*script.faults)
        if script.raises is not None:
            with pytest.raises(script.raises):
                await place.begin()
            return
        await place.begin()
        assert [script.stream] == [one.streamed for one in place.shown]
        await place.begin(key="next")
        await other.begin()
        assert (script.next_stream, script.elsewhere) == (place.shown[1].streamed, other.shown[0].streamed)


async def test_after_a_429_streams_come_back():
    """When its time is over, and not before."""
    now_s = [1_000.0]
    async with slack(now_s=lambda: now_s[0]) as rig:
        place = thread(rig)
        rig.simulator.faults.script(fault("startStream", "error", error="ratelimited", retry_after_s=5))
        for later_s, key in ((0, "p1"), (4, "p2"), (6, "p3")):
            now_s[0] = 1_000.0 + later_s
            await place.begin(key=key)
        assert [False, False, True] == [one.streamed for one in place.shown]
        assert 2 == sum(one.method == "chat.startStream" for one in rig.simulator.history())


@pytest.mark.parametrize(
    ("method", "error", "raises"),
    [
        ("appendStream", "ratelimited", Retryable),
        ("appendStream", "internal_error", Unknown),
        ("appendStream", "msg_too_long", None),
        ("appendStream", "stopped_by_user", None),
        ("stopStream", "ratelimited", Retryable),
        ("stopStream", "fatal_error", Unknown),
        ("stopStream", "invalid_blocks", None),
        ("stopStream", "invalid_metadata_format", None),
    ],
)
async def test_a_refused_change_is_made_otherwise_or_again(method: str, error: str, raises: type[Exception] | None):
    """Whatever Slack says to a piece or to the end, the answer comes to stand there once."""
    async with slack() as rig:
        place = thread(rig)
        begun = await place.begin()
        rig.simulator.faults.script(fault(method, "error", error=error))
        for change in (place.show, place.end):
            failing = raises is not None and (change == place.end) == (method == "stopStream")
            with pytest.raises(raises) if failing else nullcontext():
                await change(FIRST if change == place.show else WHOLE, begun)
        await place.end(WHOLE, begun)
        place.holds()


async def test_a_piece_refused_by_429_is_appended_later():
    """It was not done, so the count still holds."""
    async with slack() as rig:
        place = thread(rig)
        begun = await place.begin()
        rig.simulator.faults.script(fault("appendStream", "error", error="ratelimited", retry_after_s=3))
        with pytest.raises(Retryable) as refusal:
            await place.show(FIRST, begun)
        assert 3 == refusal.value.retry_after_s
        await place.show(FIRST, begun)
        await place.end(WHOLE, begun)
        place.holds()
        assert ["startStream", "appendStream", "stopStream"] == place.calls()


async def test_a_chat_we_were_thrown_out_of_is_unreachable_for_a_stream_too():
    """The final edit says so, as for any message."""
    async with slack() as rig:
        place = thread(rig)
        begun = await place.begin()
        rig.simulator.world.chat("C1").archived = True
        with pytest.raises(Permanent, match="is_archived"):
            await place.end(WHOLE, begun)


async def test_the_older_markup_is_never_streamed():
    """What is in it would be read as standard Markdown."""
    async with slack() as rig:
        place = thread(rig)
        begun = await place.begin()
        await place.end("*bold*", begun, markup=MRKDWN)
        place.holds("*bold*")
        assert ["startStream", "stopStream", "update"] == place.calls()
