"""A thread of a simulated Slack in which a live answer grows."""

from dataclasses import dataclass

from channels.messages import OutboundPart, Receipt
from channels.simulators.shared.faults import Fault
from channels.simulators.slack.state import ShownMessage
from tests.fakes.slack import Rig, part

CLEO = "T0SIM:U3"
FIRST = "One is done. Two"
WHOLE = "One is done. Two is done, too. That is **all**."


@dataclass
class Thread:
    """A thread in a channel, with the bot's messages."""

    rig: Rig
    root: str
    chat: str = "C1"

    def part(self, text: str, **more: object) -> OutboundPart:
        return part(text, chat=self.chat, thread=self.root, **more)

    async def begin(self, *, key: str = "placeholder", recipient: str | None = CLEO) -> Receipt:
        waiting = self.part("…", markup=None, key=key, unfinished=True, recipient=recipient)
        return await self.rig.channel.send(waiting)

    async def look(self) -> Receipt | None:
        """Find out what became of a placeholder whose send was cut."""
        return await self.rig.channel.find_sent(self.part("…", markup=None, key="placeholder", unfinished=True))

    async def show(self, text: str, begun: Receipt) -> None:
        await self.rig.channel.edit(self.part(text + " …", key="", unfinished=True), begun.platform_id)

    async def end(self, text: str, begun: Receipt, **more: object) -> None:
        await self.rig.channel.edit(self.part(text, key="final", **more), begun.platform_id)

    @property
    def shown(self) -> list[ShownMessage]:
        return self.rig.simulator.answers(self.chat)

    def calls(self) -> list[str]:
        """Return the calls that were made, in order."""
        return [one.method.removeprefix("chat.") for one in self.rig.simulator.history() if one.applied]

    def holds(self, text: str = WHOLE) -> None:
        """Assert that one finished message says it, has its key and pings no one."""
        (message,) = self.shown
        assert (text, False, False) == (message.text, message.streaming, message.broken)
        assert {"key": "final"} == message.metadata["event_payload"]
        assert [] == self.rig.simulator.pings()


def thread(rig: Rig, chat: str = "C1") -> Thread:
    return Thread(rig, rig.simulator.say(chat, "question", person="U3"), chat)


def fault(method: str, kind: str = "cut", **more: object) -> Fault:
    """Return a fault for a call of chat.*."""
    return Fault.model_validate({"method": f"chat.{method}", "kind": kind} | more)
