"""The sample of many like cases that `make test` runs; the others run in `make gate`."""

from collections.abc import Iterable
from typing import Any

import pytest


def sampled(cases: Iterable[Any], every: int) -> list[Any]:
    """Return each case as a parameter, all but every so many marked `gate`."""
    return [
        pytest.param(case, marks=() if number % every == 0 else pytest.mark.gate) for number, case in enumerate(cases)
    ]
