"""The fault script: its targets and counts."""

import pytest
from pydantic import ValidationError

from channels.simulators.shared.faults import Fault, FaultScript


def _hits(faults: FaultScript, calls: int, method: str = "sendmessage", chat: int | None = 1) -> list[int]:
    return [n for n in range(1, calls + 1) if faults.due(method, chat) is not None]


@pytest.mark.parametrize(
    ("fault", "hit"),
    [
        (Fault(kind="cut"), [1]),
        (Fault(kind="cut", times=3), [1, 2, 3]),
        (Fault(kind="cut", skip=2), [3]),
        (Fault(kind="cut", every=3, times=None), [1, 4, 7, 10]),
        (Fault(kind="cut", every=3, skip=1, times=2), [2, 5]),
        (Fault(kind="cut", method="sendMessage"), [1]),
        (Fault(kind="cut", method="editMessageText"), []),
        (Fault(kind="cut", chat=2), []),
    ],
)
def test_which_calls_are_hit(fault: Fault, hit: list[int]):
    faults = FaultScript(only_by_name={"getupdates"})
    faults.script(fault)
    assert hit == _hits(faults, 10)
    assert len(hit) == faults.hits()


def test_any_method_is_not_getupdates():
    faults = FaultScript(only_by_name={"getupdates"})
    faults.script(Fault(kind="cut", times=None))
    assert [] == _hits(faults, 3, method="getupdates", chat=None)


def test_faults_are_used_in_their_order_and_can_be_ended():
    faults = FaultScript(only_by_name={"getupdates"})
    faults.script(Fault(kind="cut"), Fault(kind="html", times=2))
    kinds = [fault.kind if (fault := faults.due("sendmessage", 1)) else None for _ in range(4)]
    assert ["cut", "html", "html", None] == kinds
    faults.script(Fault(kind="cut", times=None))
    faults.clear()
    assert [] == _hits(faults, 3)


@pytest.mark.parametrize("line", [{"kind": "explode"}, {"kind": "cut", "time": 3}, {"kind": "cut", "every": 0}, "cut"])
def test_a_script_that_is_none_is_refused(line: object):
    with pytest.raises(ValidationError):
        FaultScript(only_by_name={"getupdates"}).load([line])
