"""Printed commands: they work where their reader types them."""

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from gateway.command_line import invocation_of


def typed(
    directory: Path,
    argv: Sequence[str],
    *,
    home: str = "",
    find: Callable[[str], str | None] = lambda _: None,
    python: str = "/usr/bin/python3",
) -> str:
    return invocation_of(argv, {"TENK_HOME": home}, directory, Path(python), find).command("pairing", "approve", "CODE")


def test_from_a_checkout_it_is_the_checkouts_own(tmp_path: Path) -> None:
    for program in (".venv/bin/tenk", str(tmp_path / ".venv/bin/tenk")):
        assert ".venv/bin/tenk pairing approve CODE" == typed(tmp_path, [program, "run"])


def test_where_the_shell_finds_it_it_is_its_name(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "tenk"
    argv = [str(program), "run"]
    assert "tenk pairing approve CODE" == typed(tmp_path, argv, find=lambda _: str(program))
    assert "bin/tenk pairing approve CODE" == typed(tmp_path, argv, find=lambda _: "/usr/local/bin/tenk")


def test_elsewhere_it_is_the_whole_path(tmp_path: Path) -> None:
    program = "/opt/my tools/tenk"
    line = typed(tmp_path, [program, "run"])
    assert [program, "pairing", "approve", "CODE"] == shlex.split(line)


@pytest.mark.parametrize("given", [["--config", "my.toml"], ["--config=my.toml"]])
def test_it_reaches_the_same_home_by_the_same_configuration(tmp_path: Path, given: list[str]) -> None:
    line = typed(tmp_path, [".venv/bin/tenk", "run", *given], home="/srv/my home")
    assert f"TENK_HOME='/srv/my home' .venv/bin/tenk pairing approve CODE {' '.join(given)}" == line


def test_a_stranger_reads_nothing_of_the_machine(tmp_path: Path) -> None:
    python = Path("/usr/bin/python3")
    for program, name in ((".venv/bin/tenk", ".venv/bin/tenk"), ("/opt/ada/tenk", "tenk")):
        assert name == invocation_of([program, "run"], {"TENK_HOME": "/srv/x"}, tmp_path, python, lambda _: None).name
