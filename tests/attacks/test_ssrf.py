"""Requests to internal addresses: in every spelling, by redirect, by a name that changes its address (A80 to A88)."""

import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from ipaddress import ip_address
from typing import Any

import pytest

from agent.tools.base import ToolError
from agent.web.addresses import AddressGuard, AddressRefused, is_own_address, is_public
from agent.web.config import WebConfig
from agent.web.pages import PageReader
from tests.fakes.websites import Website, page, redirect, website

PRIVATE = [
    *("127.0.0.1", "127.1.2.3", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1"),
    *("169.254.169.254", "192.0.0.192", "100.100.100.200", "100.64.0.1", "fd00:ec2::254", "168.63.129.16"),
    *("224.0.0.1", "239.255.255.255", "255.255.255.255", "240.0.0.1", "198.18.0.1", "198.19.255.255", "192.88.99.1"),
    *("192.0.2.1", "198.51.100.1", "203.0.113.1"),
    *("::1", "::", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "::8.8.8.8", "64:ff9b::7f00:1"),
    *("64:ff9b:1::7f00:1", "2002:7f00:1::", "2002:808:808::", "2001::7f00:1", "2001:0:4136:e378:8000:63bf:3fff:fdd2"),
    *("fe80::1", "fec0::1", "fc00::1", "fd12:3456::1", "ff02::1", "2001:db8::1", "3fff::1", "100::1", "5f00::1"),
]
PUBLIC = ["8.8.8.8", "93.184.216.34", "172.32.0.1", "100.128.0.1", "192.0.1.1", "2606:4700::6810:84e5", "2a00:1450::1"]


@pytest.mark.parametrize("address", PRIVATE)
def test_no_connection_leaves_the_public_internet(address: str) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    there: Any = (address, 80, 0, 0) if ":" in address else (address, 80)
    with pytest.raises(AddressRefused):
        AddressGuard().open_socket((family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", there))


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_public(address: str) -> None:
    assert is_public(address)


def test_what_python_calls_private_is_refused() -> None:
    edges = {
        f"{first}.{second}.{third}.1"
        for first in range(256)
        for second in (0, 18, 31, 51, 64, 88, 127, 168, 254)
        for third in (0, 2, 100, 113)
    }
    assert [] == sorted(each for each in edges if is_public(each) and not ip_address(each).is_global)


@pytest.mark.parametrize("port", [0, 22, 25, 6379, 5432, 9200, 11211, 65535])
def test_other_ports_than_those_of_web_servers_are_refused(port: int) -> None:
    with pytest.raises(AddressRefused):
        AddressGuard().open_socket((socket.AF_INET, socket.SOCK_STREAM, 6, "", ("8.8.8.8", port)))


def test_an_address_of_this_machine_is_recognised() -> None:
    assert is_own_address(socket.AF_INET, ("127.0.0.1", 80))


def test_an_exception_is_for_its_port_alone() -> None:
    guard = AddressGuard(["10.1.0.0/16:8000", "[::1]:9000"])
    for family, there in ((socket.AF_INET, ("10.1.2.3", 8000)), (socket.AF_INET6, ("::1", 9000, 0, 0))):
        guard.open_socket((family, socket.SOCK_STREAM, 6, "", there)).close()
    for address, port in (("10.1.2.3", 80), ("10.2.0.1", 8000), ("127.0.0.1", 9000)):
        with pytest.raises(AddressRefused):
            guard.open_socket((socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)))


async def test_an_address_with_a_password_is_refused() -> None:
    async with website({"/": page("words", "text/plain")}) as site, reader(site) as reading:
        for before in ("user@", "user:word@", ":word@"):
            with pytest.raises(ToolError):
                await reading.read(f"http://{before}127.0.0.1:{site.port}/")
        assert [] == site.asked


Records = Sequence[str]


def resolver(*answers: Records) -> Any:
    """Return a lookup that gives these addresses, one answer after the other, the last for ever."""
    given = list(answers)

    def lookup(_host: str, port: int, *_: object) -> list[tuple[Any, ...]]:
        records = given.pop(0) if len(given) > 1 else given[0]
        return [
            (socket.AF_INET6, socket.SOCK_STREAM, 6, "", (address, port, 0, 0))
            if ":" in address
            else (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))
            for address in records
        ]

    return lookup


@asynccontextmanager
async def reader(site: Website | None = None, **more: Any) -> AsyncIterator[PageReader]:
    config = WebConfig(allow_private=() if site is None else (site.place,), timeout_s=30)
    made = PageReader(config, **more)
    try:
        yield made
    finally:
        await made.aclose()


HOSTS = [
    *("127.0.0.1", "127.1", "0", "0x7f000001", "2130706433", "017700000001", "0177.0.0.1", "127.0.0.1.", "localhost"),
    *("[::1]", "[::ffff:127.0.0.1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[::ffff:7f00:1]"),
    *("１２７.０.０.１", "127。0。0。1", "①②⑦.⓪.⓪.①", "[fe80::1%25lo]", "[fe80::1%25eth0]"),
    *("example.org@127.0.0.1", "127.0.0.1#@example.org", "127.0.0.1\\@example.org", "example.org\\@127.0.0.1"),
    *("", " ", "%31%32%37.0.0.1", "127.0.0.1%00.example.org", "a" * 300),
]


@pytest.mark.parametrize("host", HOSTS)
async def test_no_spelling_of_a_host_reaches_this_machine(host: str) -> None:
    async with website({"/": page("secret")}) as secret, reader() as reading:
        for url in (f"http://{host}:{secret.port}/", f"http://{host}/"):
            with pytest.raises(ToolError):
                await reading.read(url)
        assert [] == secret.asked


@pytest.mark.parametrize(
    "url",
    [
        *("file:///etc/passwd", "gopher://127.0.0.1:6379/_INFO", "ftp://example.org/", "data:text/html,secret", "//x/"),
        *("unix:///run/docker.sock", "javascript:alert(1)", "ws://127.0.0.1/", "\0"),
        *("http:///etc/passwd", "/etc/passwd", "", "http://[::1", "http://example.org:99999/", "http+unix://x/"),
    ],
)
async def test_other_schemes_are_refused(url: str) -> None:
    async with reader() as reading:
        with pytest.raises(ToolError):
            await reading.read(url)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_leads_to_no_internal_address(status: int) -> None:
    async with website({"/": page("secret")}) as secret, website() as site, reader(site) as reading:
        for target in (
            secret.url(),
            f"//127.0.0.1:{secret.port}/",
            f"http://localhost:{secret.port}",
            "file:///etc/hosts",
        ):
            site.pages["/"] = redirect(target, status)
            with pytest.raises(ToolError):
                await reading.read(site.url())
        assert [] == secret.asked


async def test_the_sixth_redirect_is_not_followed() -> None:
    async with website({f"/{at}": redirect(f"/{at + 1}") for at in range(10)}) as site, reader(site) as reading:
        with pytest.raises(ToolError, match="more than 5"):
            await reading.read(site.url("/0"))
        assert [f"/{at}" for at in range(6)] == site.asked


async def test_a_name_that_changes_its_address_is_refused_at_its_second() -> None:
    async with website() as site, website({"/": page("secret")}, "::1", site.port) as secret:
        site.pages["/"] = redirect(f"http://rebind.example:{site.port}/")
        async with reader(site, lookup=resolver(["127.0.0.1"], ["::1"])) as reading:
            with pytest.raises(ToolError, match="not on the public Internet"):
                await reading.read(f"http://rebind.example:{site.port}/")
        assert (["/"], []) == (site.asked, secret.asked)


async def test_of_several_addresses_only_a_permitted_one_is_connected() -> None:
    async with website({"/": page("open words", "text/plain")}) as site:
        mixed = resolver(["10.0.0.1", "127.0.0.1", "169.254.169.254"])
        async with reader(site, lookup=mixed) as reading:
            assert "open words" == (await reading.read(f"http://mixed.example:{site.port}/")).text
        async with reader(site, lookup=resolver(["10.0.0.1", "169.254.169.254"])) as reading:
            with pytest.raises(ToolError, match="not on the public Internet"):
                await reading.read(f"http://private.example:{site.port}/")


async def test_a_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with website({"/": page("words", "text/plain")}) as site, website() as proxy, reader(site) as reading:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url())
        assert "words" == (await reading.read(site.url())).text
        assert [] == proxy.asked
