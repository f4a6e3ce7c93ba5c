"""F01 to F64, by number: each as scripts over each real wire, with the promises about every fault."""

import re
from pathlib import Path

import pytest

from tests.contract.fault_cases import CASES, ELSEWHERE
from tests.contract.fault_world import play_faults
from tests.torture.sampling import sampled

ROOT = Path(__file__).parents[2]
WIRES = ("openai", "anthropic")
FAULTS = sorted({case.fault for case in CASES})
EACH = [f"{fault} {wire}" for fault in FAULTS for wire in WIRES]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("which", sampled(EACH, every=13))
def test_a_fault_ends_in_its_time_with_one_outcome_and_the_next_message_works(tmp_path: Path, which: str) -> None:
    fault, wire = which.split()
    play_faults(tmp_path, [case for case in CASES if case.fault == fault and case.wire in {None, wire}], wire)


def test_every_fault_has_its_runs() -> None:
    assert {f"F{number:02}" for number in range(1, 65)} == {*FAULTS, *ELSEWHERE}
    assert 200 <= sum(1 if case.wire else len(WIRES) for case in CASES)
    for fault, where in ELSEWHERE.items():
        is_there = re.search(rf"{fault}(?!\d)", (ROOT / where).read_text(encoding="utf-8"), re.IGNORECASE)
        assert is_there, f"{fault} in {where}"
