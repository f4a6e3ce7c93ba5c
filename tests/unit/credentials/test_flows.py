"""A flow holds ten minutes, once, for the person who began it; the page shows text and nothing else."""

from datetime import UTC, datetime, timedelta

import pytest

from agent.ports import Principal
from gateway.credentials.flows import MOST, OAuthFlows
from gateway.http.oauth_page import page_of

ANA, BEN = (Principal(name, "default") for name in ("ana", "ben"))


class Hand:
    """A clock that is moved."""

    now = datetime(2026, 3, 4, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


def test_a_state_is_good_once_in_time_and_for_its_person() -> None:
    """Another's try does not end it; a new one ends the one before."""
    clock = Hand()
    flows = OAuthFlows(clock)
    flow = flows.begin(ANA, "acme")
    assert (64, flow) == (len(flow.verifier), flows.of_person(ANA, "acme"))
    assert [None, None] == [flows.take(BEN, flow.state), flows.take(ANA, "other")]
    assert [flow, None] == [flows.take(ANA, flow.state) for _ in range(2)]
    old, new = flows.begin(ANA, "acme"), flows.begin(ANA, "acme")
    assert [None, new] == [flows.take(ANA, each.state) for each in (old, new)]
    late = flows.begin(ANA, "acme")
    clock.now += timedelta(minutes=10)
    assert (None, None) == (flows.take(ANA, late.state), flows.of_person(BEN, "acme"))
    assert flow.verifier not in repr(flow)


def test_they_are_bounded() -> None:
    """The oldest makes room."""
    flows = OAuthFlows(Hand())
    first = flows.begin(ANA, "acme")
    for number in range(MOST):
        flows.begin(Principal(str(number), "default"), "acme")
    assert flows.take(ANA, first.state) is None


@pytest.mark.parametrize(("code", "state"), [("", "s"), ("c", ""), ("c" * 5000, "s")])
def test_the_page_without_a_code_says_so(code: str, state: str) -> None:
    """In the person's language."""
    assert "Almost connected" in page_of("en", code, state)
    assert "/connect" not in page_of("es", code, state)


def test_the_page_shows_a_command_as_text() -> None:
    """Whoever made the link cannot make it say anything else."""
    page = page_of("en", "<script>", '"&{state}')
    assert "/connect &lt;script&gt;#&quot;&amp;{state}" in page
    assert "<script" not in page
