"""Over the wires of Discord and Slack: what is replied to or shared comes with the message, as whose it is."""

from channels.messages import InboundMessage, Quoted, QuoteKind
from tests.fakes.discord import discord
from tests.fakes.slack import slack


async def test_a_reply_on_discord_brings_what_it_answers() -> None:
    """With who said it; once that is gone, nothing of it."""
    async with discord() as rig, rig.running():
        rig.simulator.add_person(1, "Ana")
        first = rig.simulator.say(1, "I practised 45m")
        rig.simulator.say(1, "log that", reply_to=first)
        await rig.sink.until(lambda: len(rig.sink.events) == 2)
        reply = rig.sink.events[1]
        assert isinstance(reply, InboundMessage)
        assert ("log that", (Quoted(QuoteKind.REPLY, "I practised 45m", "Ana"),)) == (reply.text, reply.quoted)


async def test_a_share_on_slack_brings_what_it_passes_on() -> None:
    """Beside the words of who shares it, or alone."""
    shared = {"is_share": True, "author_name": "Bo", "text": "I practised 45m"}
    async with slack() as rig, rig.running():
        rig.simulator.say("D1", "log that", extra={"attachments": [shared]})
        rig.simulator.say("D1", "", extra={"attachments": [shared]})
        await rig.sink.until(lambda: len(rig.sink.events) == 2)
        expected = (Quoted(QuoteKind.FORWARD, "I practised 45m", "Bo"),)
        heard = [(event.text, event.quoted) for event in rig.sink.events if isinstance(event, InboundMessage)]
        assert [("log that", expected), ("", expected)] == heard
