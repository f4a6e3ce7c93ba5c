"""Contents of the wheel."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.house.tree import PACKAGES, ROOT, files, named


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    target = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)],
        cwd=ROOT,
        capture_output=True,
        check=True,
        timeout=50,
    )
    (wheel,) = Path(target).glob("*.whl")
    return set(zipfile.ZipFile(wheel).namelist())


def test_every_file_of_the_packages_travels(names: set[str]) -> None:
    ours = {named(path) for path in files() if path.relative_to(ROOT).parts[0] in PACKAGES}
    assert set() == ours - names
    assert any(name.endswith("share/tenk-gateway/gateway.toml") for name in names)


def test_nothing_private_travels(names: set[str]) -> None:
    private = [name for name in names if Path(name).name == "secrets.toml" or name.startswith(("var/", "tests/"))]
    assert [] == private
