"""Live answers in Slack's threads as streams: in the end one message says all of it."""

import pytest

from channels.errors import Retryable, Unknown
from channels.messages import Button
from channels.slack.render import MRKDWN
from tests.fakes.slack import slack
from tests.fakes.slack_thread import CLEO, FIRST, WHOLE, fault, thread


@pytest.mark.parametrize("chat", ["C1", "D3"])
async def test_a_live_answer_in_a_thread_is_a_stream(chat: str):
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


@pytest.mark.parametrize("allowed", [True, False])
async def test_what_a_tool_does_is_the_status_of_a_stream_that_has_no_text_yet(allowed: bool):
    async with slack() as rig:
        place = thread(rig)
        begun = await place.begin()
        if not allowed:
            rig.simulator.world.the_app().scopes = "chat:write"
        for words in (r"Reading your last 30 days of C\* …", "Reading your goals …"):
            await rig.channel.edit(place.part(words, key="", unfinished=True, is_status=True), begun.platform_id)
        await place.show(FIRST, begun)
        await place.end(WHOLE, begun)
        place.holds()
        assert ["startStream", "appendStream", "stopStream"] == [one for one in place.calls() if "Stream" in one]
        said = [(place.root, words) for words in ("Reading your last 30 days of C* …", "Reading your goals …", "")]
        assert (said if allowed else []) == rig.simulator.world.chat("C1").statuses


async def test_an_answer_is_ended_with_its_buttons():
    async with slack() as rig:
        place = thread(rig)
        begun = await place.begin()
        await place.show(FIRST, begun)
        await place.end(WHOLE, begun, buttons=(Button("Yes", "y:1"),))
        place.holds()
        assert ["y:1"] == [value for _, value in place.shown[0].buttons]
        await rig.channel.close_buttons(place.part("").address, begun.platform_id)
        assert (WHOLE, []) == (place.shown[0].text, place.shown[0].buttons)


# ------------------------------------------------------------ what is cut


@pytest.mark.parametrize("arrived", [True, False])
async def test_a_start_without_an_answer_is_looked_for(arrived: bool):
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
    async with slack() as rig, rig.running():
        place, other = thread(rig), thread(rig)
        await place.begin()
        await rig.channel.send(place.part("The answer before.", key="older"))
        await other.begin()
        rig.simulator.say("C1", "", person="U3", under=place.root)
        assert None is await place.look()
        assert None is await rig.channel.find_sent(place.part("a send", key="placeholder"))


@pytest.mark.parametrize("applied", [True, False])
async def test_a_piece_without_an_answer_ends_the_counting(applied: bool):
    async with slack() as rig:
        place = thread(rig)
        begun = await place.begin()
        rig.simulator.faults.script(fault("appendStream", applied=applied))
        with pytest.raises(Unknown):
            await place.show(FIRST, begun)
        await place.end(WHOLE, begun)
        place.holds()
        assert 1 == sum(one.method == "chat.appendStream" for one in rig.simulator.history())


@pytest.mark.parametrize("applied", [True, False])
async def test_an_end_without_an_answer_is_made_again(applied: bool):
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


async def test_plain_text_in_place_of_a_refused_rendering_is_written_anew():
    async with slack() as rig:
        place = thread(rig)
        begun = await place.begin()
        await place.show(FIRST, begun)
        await place.end("plain & simple", begun, markup=None)
        place.holds("plain & simple")


@pytest.mark.parametrize("when", ["live", "final"])
async def test_a_link_never_goes_into_a_stream(when: str):
    """Cover A59."""
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
    """Cover A63."""
    async with slack() as rig:
        place = thread(rig)
        begun = await place.begin()
        await place.show(text, begun)
        assert text.startswith("<!") == bool(rig.simulator.pings())


async def test_a_stream_that_will_not_close_is_tried_again():
    async with slack() as rig:
        place = thread(rig)
        begun = await place.begin()
        await place.show(FIRST, begun)
        rig.simulator.faults.script(fault("stopStream", "error", error="no_text"))
        with pytest.raises(Retryable, match="streaming_state_conflict"):
            await place.end("Something else.", begun)
        await place.end("Something else.", begun)
        place.holds("Something else.")


async def test_the_older_markup_is_never_streamed():
    async with slack() as rig:
        place = thread(rig)
        begun = await place.begin()
        await place.end("*bold*", begun, markup=MRKDWN)
        place.holds("*bold*")
        assert ["startStream", "stopStream", "update"] == place.calls()
