"""A Slack channel running against the simulator."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

from aiohttp import web

from channels.simulators.slack.server import SlackSimulator
from channels.simulators.slack.state import APP_TOKEN, BOT_TOKEN, SIGNING_SECRET
from channels.slack.adapter import SlackChannel
from channels.slack.config import SlackAccount
from channels.slack.render import MARKDOWN
from tests.fakes import simulated_channel
from tests.fakes.simulated_channel import Pauses, part_of
from tests.fakes.sink import RecordingSink

part = partial(part_of, "slack", chat="D1", markup=MARKDOWN)
"""Something to send to a chat of account main."""

BOT = "U0TENK"


class Rig(simulated_channel.Rig):
    """A rig that is connected when the next socket is."""

    async def connected(self) -> None:
        """Wait for it; over HTTP nothing is waited for."""
        before = self.simulator.sockets.connections
        if not self.simulator.world.the_app().webhook_url:
            await self.simulator.until(lambda: self.simulator.sockets.connections > before)


def account(simulator: SlackSimulator, **more: object) -> SlackAccount:
    """Return a configuration that points at the simulator."""
    return SlackAccount.model_validate(
        {
            "bot_token": BOT_TOKEN,
            "app_token": APP_TOKEN,
            "signing_secret": SIGNING_SECRET,
            "api_base": simulator.base_url,
        }
        | more
    )


@asynccontextmanager
async def slack(
    sink: RecordingSink | None = None,
    simulated: dict | None = None,
    now_s: Callable[[], float] = time.time,
    **more: object,
) -> AsyncIterator[Rig]:
    """Return a rig whose channel does not receive yet; `more` goes into its configuration."""
    options = {"redeliver_after_s": 0.2, "retry_after_s": (0.0, 0.05, 0.1)} | (simulated or {})
    async with SlackSimulator(**options) as simulator:
        simulator.add_app()
        pauses = Pauses()
        channel = SlackChannel(account(simulator, **more), sleep=pauses, now_s=now_s)
        try:
            yield Rig(simulator, channel, sink or RecordingSink(), pauses)
        finally:
            await channel.aclose()


@asynccontextmanager
async def slack_by_http(sink: RecordingSink | None = None, **more: object) -> AsyncIterator[Rig]:
    """Return a rig that receives by HTTP: the simulator posts to the channel's routes."""
    async with slack(sink, mode="http", **more) as rig:
        application = web.Application(client_max_size=1_000_000)
        for route in rig.channel.http_routes():
            application.router.add_route(route.method, route.path, route.handler)
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        rig.simulator.world.the_app().webhook_url = f"http://{host}:{port}/webhooks/slack/main/events"
        try:
            yield rig
        finally:
            await runner.cleanup()
