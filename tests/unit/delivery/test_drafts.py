"""A live answer as a draft: shown when new, renewed before it fades, and never a reason to fail."""

from channels.errors import Permanent, Retryable
from channels.messages import Address, Rendered
from gateway.delivery.live_answer import StreamedDraft

CHAT = Address("telegram", "main", "42")


class Drafting:
    draft_lasts_s = 30.0

    def __init__(self) -> None:
        self.shown: list[tuple[int, str]] = []
        self.failures: list[Exception] = []

    def drafts_in(self, address: Address) -> bool:
        return address == CHAT

    async def draft(self, address: Address, draft_id: int, rendered: Rendered) -> None:
        if self.failures:
            raise self.failures.pop(0)
        self.shown.append((draft_id, rendered.text))


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def drafting() -> tuple[StreamedDraft, Drafting, Clock]:
    channel, clock = Drafting(), Clock()
    draft = StreamedDraft(channel, CHAT, "turn", clock, every_s=1.0, timeout_s=5.0)
    return draft, channel, clock


async def test_an_unchanged_draft_is_renewed_before_it_fades() -> None:
    draft, channel, clock = drafting()
    await draft.show(Rendered("thinking"))
    clock.now_s += 10.0
    await draft.show(Rendered("thinking"))
    clock.now_s += 10.0
    await draft.show(Rendered("thinking"))
    assert 2 == len(channel.shown)


async def test_a_429_is_obeyed_and_other_failures_do_not_matter() -> None:
    draft, channel, clock = drafting()
    channel.failures = [Retryable("429", retry_after_s=7.0), Permanent("no drafts here")]
    await draft.show(Rendered("a"))
    clock.now_s += 6.0
    await draft.show(Rendered("ab"))
    assert [Permanent] == [type(failure) for failure in channel.failures]
    clock.now_s += 2.0
    await draft.show(Rendered("ab"))
    clock.now_s += 2.0
    await draft.show(Rendered("abc"))
    assert ["abc"] == [text for _, text in channel.shown]
