"""What journeys share that takes time to make."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.journeys.pantry_house import AGENT


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The distribution, installed into a directory of its own, from nothing but what is here."""
    target = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    offline = ["--no-index", "--no-build-isolation", "--no-deps", "--target", str(target), str(AGENT)]
    subprocess.run([*pip, *offline], check=True, capture_output=True, timeout=60, cwd=target)
    return target
