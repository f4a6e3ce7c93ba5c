"""A person blocks the bot and comes back; Telegram refuses and recovers."""

from pathlib import Path

from channels.simulators.shared.faults import Fault
from gateway.delivery.message_parts import recovered_mark
from gateway.testing.model import Reply
from tests.journeys.house import house, slow


async def test_what_could_not_be_said_to_who_blocked_the_bot_is_said_when_they_return(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        here.model.answers(slow("While you were away."))
        here.sim.say(1, "one")
        await here.asked(1)
        here.sim.block(1)
        here.sim.say(2, "two")
        await here.told(2, "A short answer.")
        assert "While you were away." not in str(here.texts(1))
        here.sim.unblock(1)
        await here.told(1, "While you were away.")
        here.sim.say(1, "three")
        await here.until(lambda: any("A short answer." in text for text in here.texts(1)), "the next answer")
        assert 1 == sum("While you were away." in text for text in here.texts(1))


async def test_a_send_that_may_have_arrived_goes_again_marked(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        here.sim.faults.script(Fault(kind="cut", method="sendMessage", applied=True))
        here.model.answers(Reply("Only once, please."))
        here.sim.say(1, "hello")
        await here.until(lambda: len(here.texts(1)) == 2, "both sends")
        assert ["Only once, please.", "Only once, please." + recovered_mark(None)] == here.texts(1)


async def test_a_send_that_never_left_goes_again_unmarked(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        here.sim.faults.script(Fault(kind="status", status=429, retry_after_s=1, method="sendMessage"))
        here.model.answers(Reply("Only once, please."))
        here.sim.say(1, "hello")
        await here.told(1, "Only once, please.")
        assert ["Only once, please."] == here.texts(1)
