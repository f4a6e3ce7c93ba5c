"""The simulators' shared parts: the script, the log of calls, the state of the server."""

import pytest
from pydantic import ValidationError

from channels.simulators.shared.faults import Fault, FaultScript
from channels.simulators.shared.world import Call, World
from channels.simulators.slack.server import SlackSimulator


def test_a_script_with_one_wrong_line_adds_nothing():
    faults = FaultScript()
    with pytest.raises(ValidationError):
        faults.load([{"kind": "cut"}, {"kind": "explode"}])
    assert None is faults.due("chat.postMessage", "D1")


def test_a_method_is_named_in_any_case():
    faults = FaultScript()
    faults.script(Fault(kind="cut", method="chat.postmessage"))
    assert faults.due("chat.postMessage", "D1") is not None


def test_the_log_is_read_by_chat_and_from_where_one_was():
    log = World[str]()
    for chat in ("D1", "D2", "D1"):
        log.record(Call("B", "post", chat))
    assert [1, 3] == [call.seq for call in log.history("D1")]
    assert [2, 3] == [call.seq for call in log.history(after=1)]
    assert 3 == log.newest_seq


async def test_a_simulator_listens_again_where_it_did():
    simulator = SlackSimulator()
    async with simulator:
        before = simulator.base_url
    async with simulator:
        assert before == simulator.base_url
