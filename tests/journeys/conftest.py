"""Expensive fixtures of the journeys."""

import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes.browser import Page, browser
from tests.journeys.browsing import GatewayProcess, a_gateway
from tests.journeys.pantry_house import AGENT


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the distribution into a directory of its own, from local files alone."""
    target = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    offline = ["--no-index", "--no-build-isolation", "--no-deps", "--target", str(target), str(AGENT)]
    subprocess.run([*pip, *offline], check=True, capture_output=True, timeout=60, cwd=target)
    return target


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[GatewayProcess]:
    """Run a gateway whose only setting is how fast its offline coach speaks."""
    async with a_gateway(tmp_path) as made:
        yield made


@pytest.fixture
async def page(tmp_path: Path) -> AsyncIterator[Page]:
    async with browser(tmp_path / "profile") as tab:
        await tab.look(1200, 800)
        yield tab


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """Return the directory for this test's screenshots."""
    directory = tmp_path / "pictures"
    directory.mkdir()
    sys.stdout.write(f"\npictures: {directory}\n")
    return directory
