"""The client's address: only trusted proxies are believed."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict, CIMultiDictProxy
from pydantic import ValidationError

from gateway.http.config import HttpConfig
from gateway.http.forwarded import MAX_HOPS, RequestClient, client_of

PROXIES = HttpConfig(trusted_proxies=("127.0.0.1", "10.0.0.0/8", "fd00::/8")).trusted
NEAR = "127.0.0.1"
FOR = "X-Forwarded-For"


def asked(peer: str | None, *headers: tuple[str, str]) -> RequestClient:
    return client_of(peer, CIMultiDictProxy(CIMultiDict(headers)), PROXIES)


@pytest.mark.parametrize(
    ("listed", "address"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("6.6.6.6, 203.0.113.7", "203.0.113.7"),
        ("6.6.6.6, 203.0.113.7, 10.1.2.3, 127.0.0.1", "203.0.113.7"),
        ("10.9.9.9, 10.1.2.3", "10.9.9.9"),
        ("203.0.113.7:51234", "203.0.113.7"),
        ("2001:db8::7", "2001:db8::7"),
        ("[2001:db8::7]:443", "2001:db8::7"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        (" 203.0.113.7\t", "203.0.113.7"),
        ("garbage, 203.0.113.7", "203.0.113.7"),
        ("203.0.113.7, garbage", NEAR),
        ("203.0.113.7, unknown, 10.1.2.3", NEAR),
        ("", NEAR),
        (",", NEAR),
        ("203.0.113.7,", NEAR),
        ("256.1.1.1", NEAR),
        ("1" * 8000, NEAR),
        ("6.6.6.6," + "127.0.0.1," * MAX_HOPS + "127.0.0.1", NEAR),
    ],
)
def test_last_address_that_is_no_proxys_is_the_clients(listed: str, address: str):
    assert address == asked(NEAR, (FOR, listed)).address


def test_lines_of_one_header_are_one_list():
    assert "203.0.113.7" == asked(NEAR, (FOR, "6.6.6.6"), (FOR, "203.0.113.7")).address
    assert "203.0.113.7" == asked(NEAR, (FOR, "203.0.113.7"), (FOR, "10.1.2.3")).address


@pytest.mark.parametrize("peer", ["203.0.113.99", "192.168.1.2", "::1", None, ""])
def test_an_untrusted_proxy_is_not_believed(peer: str | None):
    """Cover A17."""
    said = [(FOR, "127.0.0.1"), ("X-Forwarded-Proto", "https"), ("Forwarded", "for=127.0.0.1;proto=https")]
    assert RequestClient(peer, https=False, proxied=True) == asked(peer, *said)
    assert RequestClient(peer) == asked(peer)


@pytest.mark.parametrize(
    ("value", "address"),
    [
        ("for=203.0.113.7", "203.0.113.7"),
        ('for="[2001:db8::7]:4711";proto=https;by=10.0.0.1', "2001:db8::7"),
        ("for=6.6.6.6, For=203.0.113.7;host=x, for=10.1.2.3", "203.0.113.7"),
        ("for=_hidden", NEAR),
        ("proto=https", NEAR),
        ('for="203.0.113.7', NEAR),
        ("for==203.0.113.7", NEAR),
        (";;;", NEAR),
    ],
)
def test_standard_header_says_the_same(value: str, address: str):
    assert address == asked(NEAR, ("Forwarded", value)).address


def test_header_that_the_proxy_only_passes_on_decides_nothing():
    assert NEAR == asked(NEAR, (FOR, "203.0.113.7"), ("Forwarded", "for=6.6.6.6")).address
    assert "203.0.113.7" == asked(NEAR, (FOR, "203.0.113.7"), ("Forwarded", "for=203.0.113.7")).address


@pytest.mark.parametrize(
    ("headers", "https"),
    [
        ([("X-Forwarded-Proto", "https")], True),
        ([("X-Forwarded-Proto", "HTTPS")], True),
        ([("X-Forwarded-Proto", "https, http")], False),
        ([("X-Forwarded-Proto", "http, https")], True),
        ([("X-Forwarded-Proto", "httpss")], False),
        ([("Forwarded", "for=203.0.113.7;proto=https")], True),
        ([("Forwarded", "for=203.0.113.7;proto=https"), ("X-Forwarded-Proto", "http")], False),
        ([], False),
    ],
)
def test_nearest_proxy_says_whether_it_was_https(headers: list[tuple[str, str]], https: bool):
    assert https == asked(NEAR, *headers).https


@given(st.lists(st.sampled_from(["6.6.6.6", "10.0.0.1", "x", "", '"', "for=1.1.1.1", "::1", "fd00::1"]), max_size=40))
def test_a_client_cannot_choose_the_address_that_a_proxy_wrote(made_up: list[str]):
    listed = ", ".join([*made_up, "203.0.113.7"])
    assert "203.0.113.7" == asked(NEAR, (FOR, listed)).address
    both = asked(NEAR, (FOR, listed), ("Forwarded", ", ".join(made_up)))
    assert both.address in {"203.0.113.7", NEAR}


@pytest.mark.parametrize("bad", ["proxy.example", "10.0.0.1/8", "0.0.0.0/0", "::/0", ""])
def test_proxies_are_addresses_and_not_everybody(bad: str):
    with pytest.raises(ValidationError):
        HttpConfig(trusted_proxies=(bad,))


def test_networks_are_those_configured():
    assert (ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("::1/128")) == HttpConfig(
        trusted_proxies=("10.0.0.0/8", "::1")
    ).trusted
