"""Private answers on Slack: by response URL, then in direct messages, never to a whole channel (A52)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest

from channels.errors import Permanent, PermanentKind, Retryable, Unknown
from channels.messages import AttachmentKind, Button, OutboundMedia, OutboundPart, Route
from channels.simulators.shared.faults import Fault
from channels.slack.reply_route import ReplyRoute
from tests.fakes.slack import Rig, part, slack

EXPORT = (OutboundMedia(AttachmentKind.DOCUMENT, "practice.csv", "text/csv", b"skill,minutes\nguitar,45\n"),)


@asynccontextmanager
async def asked(command: str = "/stats") -> AsyncIterator[tuple[Rig, Route]]:
    async with slack() as rig, rig.running():
        rig.simulator.command("C1", command, person="U7")
        await rig.sink.until(lambda: bool(rig.sink.events))
        route = rig.sink.events[0].route
        assert route is not None
        yield rig, route


def expired(route: Route) -> Route:
    way = ReplyRoute.of(route)
    return ReplyRoute(way.person, datetime.now(UTC) - timedelta(seconds=1), way.url).as_route()


async def test_the_gateway_never_loses_the_way_to_a_person():
    async with asked() as (_, route):
        assert route.expires_at > datetime.now(UTC) + timedelta(days=10_000)
        assert "U7" == ReplyRoute.of(expired(route)).person


async def test_a_used_up_response_url_is_followed_by_direct_messages():
    async with asked() as (rig, route):
        for n in range(7):
            await rig.channel.send(part(f"part {n}", chat="C1", key=f"k{n}", route=route))
        assert ["U7"] * 5 == [one.only_for for one in rig.simulator.answers("C1", "U7")]
        assert ["part 5", "part 6"] == [one.text for one in rig.simulator.answers("D7")]


async def test_an_expired_response_url_is_not_asked_again():
    async with asked() as (rig, route):
        answer = part(
            "12 h", chat="C1", thread="1700000000.000001", route=expired(route), buttons=(Button("Yes", "y"),)
        )
        await rig.channel.send(answer)
        assert [] == rig.simulator.answers("C1", "U7")
        (shown,) = rig.simulator.answers("D7")
        assert ("12 h", 1, None) == (shown.text, len(shown.buttons), shown.thread)


async def test_a_file_asked_for_alone_goes_to_direct_messages():
    async with asked() as (rig, route):
        await rig.channel.send(part("All of it.", chat="C1", route=route, media=EXPORT))
        assert [] == rig.simulator.answers("C1", "U7")
        assert ["practice.csv"] == [one.name for one in rig.simulator.answers("D7")[0].files]


@pytest.mark.parametrize("error", ["cannot_dm_bot", "user_disabled", "user_not_found"])
async def test_who_takes_no_direct_messages_is_answered_alone_in_the_channel(error: str):
    async with asked() as (rig, route):
        rig.simulator.faults.script(Fault(kind="error", error=error, method="conversations.open"))
        await rig.channel.send(part("12 h", chat="C1", route=expired(route)))
        assert [("12 h", "U7")] == [(one.text, one.only_for) for one in rig.simulator.answers("C1", "U7")]


async def test_without_the_scope_for_direct_messages_it_is_the_same():
    async with asked() as (rig, route):
        rig.simulator.world.the_app().scopes = "chat:write,commands"
        await rig.channel.send(part("12 h", chat="C1", route=expired(route)))
        assert [("12 h", "U7")] == [(one.text, one.only_for) for one in rig.simulator.answers("C1", "U7")]


@pytest.mark.parametrize("media", [(), EXPORT], ids=["text", "file"])
async def test_a_private_answer_without_a_route_is_shown_to_no_person(media: tuple[OutboundMedia, ...]):
    async with asked() as (rig, route):
        rig.simulator.faults.script(
            Fault(kind="error", error="cannot_dm_bot", method="conversations.open"),
            Fault(kind="error", error="not_in_channel", method="chat.postEphemeral"),
        )
        with pytest.raises(Permanent, match="cannot be written to directly") as refused:
            await rig.channel.send(part("12 h", chat="C1", route=expired(route), media=media))
        assert PermanentKind.REJECTED is refused.value.kind
        assert [] == rig.simulator.answers("C1", "U7")


@pytest.mark.parametrize("method", ["conversations.open", "chat.postMessage"])
@pytest.mark.parametrize(
    ("fault", "raises"),
    [
        ({"kind": "error", "error": "ratelimited"}, Retryable),
        ({"kind": "error", "error": "fatal_error"}, Unknown),
        ({"kind": "cut"}, Unknown),
    ],
    ids=["429", "fatal", "cut"],
)
async def test_what_may_pass_is_waited_for(method: str, fault: dict, raises: type[Exception]):
    async with asked() as (rig, route):
        rig.simulator.faults.script(Fault.model_validate(fault | {"method": method}))
        with pytest.raises(raises):
            await rig.channel.send(part("12 h", chat="C1", route=expired(route)))
        assert [] == rig.simulator.answers("C1", "U7")


def lost(text: str, route: Route, media: tuple[OutboundMedia, ...] = ()) -> OutboundPart:
    return part(text, chat="C1", route=route, media=media)


async def test_a_direct_message_is_found_again():
    async with asked() as (rig, route):
        answer = lost("12 h", expired(route))
        rig.simulator.faults.script(Fault(kind="cut", method="chat.postMessage", applied=True))
        with pytest.raises(Unknown):
            await rig.channel.send(answer)
        assert await rig.channel.find_sent(answer) is not None


async def test_a_file_is_found_again_or_known_to_be_missing():
    async with asked() as (rig, route):
        answer = lost("All of it.", route, EXPORT)
        assert None is await rig.channel.find_sent(answer)
        rig.simulator.faults.script(Fault(kind="cut", method="files.completeUploadExternal", applied=True))
        with pytest.raises(Unknown):
            await rig.channel.send(answer)
        assert await rig.channel.find_sent(answer) is not None


@pytest.mark.parametrize("later", [False, True], ids=["while it lives", "after its end"])
async def test_what_went_by_a_response_url_cannot_be_looked_for(later: bool):
    async with asked() as (rig, route):
        await rig.channel.send(lost("12 h", route))
        with pytest.raises(Unknown):
            await rig.channel.find_sent(lost("12 h", expired(route) if later else route))


async def test_a_limit_is_no_answer_to_whether_it_was_said():
    async with asked() as (rig, route):
        rig.simulator.faults.script(Fault(kind="error", error="ratelimited", method="conversations.history"))
        rig.simulator.world.chat("D7")
        with pytest.raises(Retryable):
            await rig.channel.find_sent(lost("12 h", expired(route)))
