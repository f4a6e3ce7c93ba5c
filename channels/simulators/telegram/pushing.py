"""Brings a bot's updates to its webhook, as Telegram does.

One update of a chat is on its way at a time, so that a chat's order holds and one that is refused holds up its chat;
chats go side by side up to `max_connections`. What is not answered 2xx is brought again: at once, then after 2, 4, 8
... seconds up to a minute or two, or later where Retry-After says so, until its time is over. Source: tdlib/
telegram-bot-api `WebhookActor.cpp` (2026-09). Not simulated: calls in the answer, certificates, 410 for a day.
"""

import asyncio
import time
from collections.abc import Callable

import aiohttp

from channels.simulators.telegram.faults import Faults
from channels.simulators.telegram.state import Bot, Webhook
from channels.simulators.telegram.updates import Queued

TIMEOUT_S = 60.0
LONGEST_WAIT_S = 60.0  # up to twice that, by update
LONGEST_RETRY_AFTER_S = 3600.0
SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"  # noqa: S105  the name of a header, not a secret


class Pusher:
    """Brings updates for every bot that has a webhook, while `run` runs."""

    def __init__(self, faults: Faults, changed: Callable[[], None], *, time_scale: float) -> None:
        """`time_scale` shortens the waits between attempts: 0.001 makes milliseconds of seconds."""
        self._faults = faults
        self._changed = changed
        self._time_scale = time_scale
        self._tasks: asyncio.TaskGroup | None = None
        self._http: aiohttp.ClientSession | None = None
        self._busy: set[tuple[int, str]] = set()  # (bot, chat) with something on its way
        self._slots: dict[int, asyncio.Semaphore] = {}

    async def run(self) -> None:
        """Serve until cancelled."""
        timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
        async with (
            aiohttp.ClientSession(timeout=timeout) as self._http,
            asyncio.TaskGroup() as self._tasks,
        ):
            await asyncio.Event().wait()

    def hook_changed(self, bot: Bot) -> None:
        """A bot has another webhook, or none."""
        if bot.webhook is not None:
            self._slots[bot.id] = asyncio.Semaphore(bot.webhook.max_connections)
            for key in bot.updates.keys():  # noqa: SIM118  a method of the queue's own
                self.wake(bot, key)

    def wake(self, bot: Bot, key: str) -> None:
        """Something waits in a chat."""
        if bot.webhook is None or self._tasks is None or (bot.id, key) in self._busy:
            return
        self._busy.add((bot.id, key))
        self._tasks.create_task(self._work_off(bot, key))

    async def _work_off(self, bot: Bot, key: str) -> None:
        """Bring what waits in one chat, in order."""
        try:
            while (hook := bot.webhook) is not None and (queued := bot.updates.first(key)) is not None:
                await self._insist(bot, hook, queued)
        finally:
            self._busy.discard((bot.id, key))

    async def _insist(self, bot: Bot, hook: Webhook, queued: Queued) -> None:
        """Bring one update until it is taken, its time is over, or the webhook is another."""
        failures = 0
        while bot.webhook is hook and bot.updates.holds(queued):
            async with self._slots[bot.id]:
                wait_s = await self._bring(hook, queued)
            if wait_s is None:
                bot.updates.remove(queued)
                hook.brought += 1
                self._changed()
                return
            self._changed()
            backoff_s = min(2.0**failures, LONGEST_WAIT_S + queued.update_id % 60) if failures else 0.0
            failures += 1
            await _either(hook.gone, max(backoff_s, wait_s) * self._time_scale)

    async def _bring(self, hook: Webhook, queued: Queued) -> float | None:
        """One attempt: None when it was taken, else the least wait the bot asked for."""
        assert self._http is not None, "only called while running"
        fault = self._faults.due("webhook", None)
        if fault is not None and fault.kind == "delay":
            await asyncio.sleep(fault.delay_s)
        hook.attempts += 1
        if fault is not None and fault.kind == "cut" and not fault.applied:
            return _note_failure(hook, "Connection reset by peer")
        headers = {"Content-Type": "application/json"}
        if hook.secret_token:
            headers[SECRET_HEADER] = hook.secret_token
        try:
            async with self._http.post(hook.url, data=queued.encoded, headers=headers) as answer:
                await answer.read()
        except (aiohttp.ClientError, TimeoutError) as error:
            return _note_failure(hook, f"Connection failed: {type(error).__name__}")
        if not 200 <= answer.status < 300:
            wait = answer.headers.get("Retry-After", "")
            asked_s = float(wait) if wait.isascii() and wait.isdigit() else 0.0
            _note_failure(hook, f"Wrong response from the webhook: {answer.status} {answer.reason}")
            return min(asked_s, LONGEST_RETRY_AFTER_S)
        if fault is not None and fault.kind in {"cut", "duplicate"}:
            return _note_failure(hook, "Connection reset by peer")
        return None


def _note_failure(hook: Webhook, why: str) -> float:
    hook.last_error_at, hook.last_error = int(time.time()), why
    return 0.0


async def _either(event: asyncio.Event, seconds: float) -> None:
    """Wait for the event, or so long."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        pass
