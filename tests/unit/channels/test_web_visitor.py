"""Cookies: parsed strictly; only one that we signed identifies a person."""

import pytest

from channels.web.visitor import HOST_COOKIE, Identities, Identity, cookie_values


@pytest.mark.parametrize(
    ("headers", "values"),
    [
        (["__Host-tenk_web=a"], ["a"]),
        (["x=1; __Host-tenk_web=a; y=2"], ["a"]),
        (["x=1", "__Host-tenk_web=a"], ["a"]),
        (["__Host-tenk_web=a; __Host-tenk_web=b"], ["a", "b"]),
        (["__Host-tenk_web=a=b"], ["a=b"]),
        (["__Host-tenk_web"], []),
        (["x=1 __Host-tenk_web=a"], []),
        (["x=1\u2003__Host-tenk_web=a"], []),
        (["\u2003__Host-tenk_web=a"], []),
        (["\x0b__Host-tenk_web=a"], []),
        (["__Host-tenk_web\u00a0=a"], []),
        (["__Host-tenk_web =a"], []),
        (["__host-tenk_web=a"], []),
        (["tenk_web=a"], []),
        (['x="1; y=2"'], []),
        ([""], []),
        ([], []),
    ],
)
def test_no_other_cookie_passes_for_ours(headers: list[str], values: list[str]):
    assert values == cookie_values(headers, HOST_COOKIE)


def test_a_mark_is_that_of_one_gateway():
    ada = Identity("x" * 22, fresh=False)
    first, same, other = (Identities(key * 32, lambda _: False) for key in (b"a", b"a", b"b"))
    assert first.value_of(ada) == same.value_of(ada)
    assert first.value_of(ada) != other.value_of(ada)


def test_every_sender_is_a_different_person():
    made = Identities(b"k", lambda _: False)
    assert 1000 == len({made.make().chat for _ in range(1000)})
