"""A sample of the conversations of `make eval`: no number is invented, no condition forgotten."""

import pytest

from tests.evaluation.conversations import MODEL, RULES, cases, run_case


@pytest.mark.gate
@pytest.mark.parametrize("by", [RULES, MODEL])
@pytest.mark.parametrize("case", list(cases())[::7], ids=lambda case: case.told)
async def test_a_judge_finds_no_invented_number_and_no_forgotten_condition(case, by: str) -> None:
    found = await run_case(case, by)
    assert ([], []) == (found.invented, found.forgotten)
