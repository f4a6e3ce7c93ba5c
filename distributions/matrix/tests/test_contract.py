"""The contract of every channel, over a real homeserver."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from distributions.matrix.tests.homeserver import Homeserver
from distributions.matrix.tests.matrix_rig import running
from gateway.testing.channel_contract import EndContract, InContract, OutContract
from gateway.testing.channel_rig import Rig

pytestmark = [pytest.mark.matrix, pytest.mark.timeout(90)]


@pytest.fixture
async def rig(tmp_path: Path, homeserver: Homeserver) -> AsyncIterator[Rig]:
    async with running(tmp_path, homeserver) as made:
        yield made


class TestIn(InContract):
    pass


class TestOut(OutContract):
    pass


class TestEnd(EndContract):
    pass
