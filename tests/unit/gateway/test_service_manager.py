"""Reports to systemd, on a socket of the test's own."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.ops.service_manager import report


@pytest.fixture(params=["path", "abstract"])
def listening(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[socket.socket, str]]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.settimeout(10)
        address = str(tmp_path / "notify") if request.param == "path" else f"\0{tmp_path}"
        manager.bind(address)
        yield manager, address.replace("\0", "@")


class Enough(Exception):
    """End of a test's last sleep."""


async def test_readiness_and_each_third_of_the_watchdogs_time_are_reported(listening) -> None:
    manager, address = listening
    slept: list[float] = []

    async def rest(seconds: float) -> None:
        if len(slept) == 2:
            raise Enough
        slept.append(seconds)

    environ = {"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "60000000"}
    with pytest.raises(Enough):
        await report(environ, rest)
    assert "NOTIFY_SOCKET" not in environ, "a child process would report in the gateway's name"
    assert [b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1"] == [manager.recv(64) for _ in range(3)]
    assert [20.0, 20.0] == slept


async def test_a_unit_without_a_watchdog_hears_of_readiness_alone(listening) -> None:
    manager, address = listening
    await report({"NOTIFY_SOCKET": address})
    assert b"READY=1" == manager.recv(64)


async def test_nothing_is_reported_without_a_service_manager() -> None:
    await report({})
