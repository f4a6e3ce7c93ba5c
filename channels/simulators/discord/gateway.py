"""The simulated gateway's WebSocket: HELLO, IDENTIFY, RESUME, heartbeats and close codes. Events come from `sessions`.

Source: discord-api-docs, "Gateway" and "Opcodes and Status Codes" (2026-08).
"""

import asyncio
import contextlib
import zlib

import orjson
from aiohttp import WSMsgType, web
from pydantic import JsonValue

from channels.simulators.discord.sessions import Close, CloseCode, Outbox, Session
from channels.simulators.discord.state import MESSAGE_CONTENT, Bot, DiscordWorld
from channels.simulators.shared.world import JsonObject

DISPATCH, HEARTBEAT, IDENTIFY, RESUME, RECONNECT, INVALID_SESSION, HELLO, ACK = 0, 1, 2, 6, 7, 9, 10, 11
ALL_INTENTS = (1 << 26) - 1


class Gateway:
    """Serves /gateway; its switches are for tests."""

    def __init__(self, world: DiscordWorld) -> None:
        self._world = world
        self.url = ""
        self.heartbeat_ms: JsonValue = 41_250  # what HELLO asks for, whatever that is
        self.heartbeats = 0  # that came in
        self.acks = True  # whether heartbeats are acknowledged
        self.silent = False  # connections are taken and nothing is said
        self.greeting_closes: list[int | None] = []  # close codes for the next connections, before HELLO
        self.sockets = 0  # connections made in all

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Serve one connection until it ends."""
        socket = web.WebSocketResponse(compress=False, autoclose=False, max_msg_size=1 << 20, timeout=0.5)
        await socket.prepare(request)
        self.sockets += 1
        if self.greeting_closes:
            code = self.greeting_closes.pop(0)
            if code is None and request.transport is not None:
                request.transport.abort()
            else:
                await socket.close(code=code or 1000)
            return socket
        connection = _Connection(self, self._world, socket, compressed=request.query.get("compress") == "zlib-stream")
        await connection.run(request)
        return socket


class _Refused(Exception):
    """An error of the client that ends its connection."""

    def __init__(self, code: CloseCode) -> None:
        super().__init__(code)
        self.code = code


class _Connection:
    """One client's socket."""

    def __init__(
        self, gateway: Gateway, world: DiscordWorld, socket: web.WebSocketResponse, *, compressed: bool
    ) -> None:
        self._gateway = gateway
        self._world = world
        self._socket = socket
        self._compressor = zlib.compressobj() if compressed else None
        self._outbox: Outbox = asyncio.Queue()
        self._session: Session | None = None
        self._bot: Bot | None = None

    async def run(self, request: web.BaseRequest) -> None:
        """Talk until either side ends it."""
        if not self._gateway.silent:
            self._say(HELLO, {"heartbeat_interval": self._gateway.heartbeat_ms})
        async with asyncio.TaskGroup() as tasks:
            writing = tasks.create_task(self._write(request))
            code = await self._read()
            writing.cancel()
        if self._bot is not None:
            self._bot.sessions.closes.append(code)
            if self._session is not None:
                self._session.detach(self._outbox, code)
        await self._socket.close()

    def _say(self, op: int, data: JsonValue) -> None:
        self._outbox.put_nowait(orjson.dumps({"op": op, "d": data, "s": None, "t": None}))

    async def _write(self, request: web.BaseRequest) -> None:
        """Send what is put into the outbox."""
        with contextlib.suppress(ConnectionError):
            while True:
                frame = await self._outbox.get()
                if isinstance(frame, Close):
                    if frame.code is None and request.transport is not None:
                        request.transport.abort()
                    else:
                        await self._socket.close(code=frame.code or 1000)
                    return
                if self._compressor is None:
                    await self._socket.send_str(frame.decode())
                else:
                    packed = self._compressor.compress(frame) + self._compressor.flush(zlib.Z_SYNC_FLUSH)
                    await self._socket.send_bytes(packed)

    async def _read(self) -> int | None:
        """Take what the client says. Return the code it closed with, None if it just went."""
        while True:
            message = await self._socket.receive()
            if message.type in (WSMsgType.TEXT, WSMsgType.BINARY):
                self._take(message.data)
            elif message.type is WSMsgType.CLOSE:
                return int(message.data)
            else:
                return None

    def _take(self, raw: str | bytes) -> None:
        try:
            self._obey(raw)
        except _Refused as refused:
            self._outbox.put_nowait(Close(refused.code))

    def _obey(self, raw: str | bytes) -> None:
        try:
            payload = orjson.loads(raw)
            op, data = payload["op"], payload.get("d")
        except (orjson.JSONDecodeError, KeyError, TypeError):
            raise _Refused(CloseCode.DECODE) from None
        if op == HEARTBEAT:
            self._gateway.heartbeats += 1
            if self._gateway.acks:
                self._say(ACK, None)
        elif op in (IDENTIFY, RESUME) and isinstance(data, dict):
            self._enter(op, data)
        elif self._session is None:
            raise _Refused(CloseCode.NOT_IDENTIFIED)

    def _enter(self, op: int, data: dict[str, JsonValue]) -> None:
        """Carry out IDENTIFY or RESUME, for a known token."""
        if self._session is not None:
            raise _Refused(CloseCode.IDENTIFIED_TWICE)
        bot = self._world.bots.get(str(data.get("token") or ""))
        if bot is None or bot.revoked:
            raise _Refused(CloseCode.BAD_TOKEN)
        self._bot = bot
        if op == IDENTIFY:
            self._identify(bot, data.get("intents"), data.get("shard"))
        else:
            self._resume(bot, str(data.get("session_id")), data.get("seq"))

    def _identify(self, bot: Bot, intents: JsonValue, wanted: JsonValue) -> None:
        bot.sessions.identifies += 1
        guilds = [guild for guild in self._world.guilds.values() if bot.id in guild.bots]
        shard = _to_shard(wanted)
        if shard is None:
            raise _Refused(CloseCode.BAD_SHARD)
        if len(guilds) > bot.sessions.limit.guilds_a_shard * shard[1]:
            raise _Refused(CloseCode.FEW_SHARDS)
        if bot.sessions.is_too_quick(shard[0]):
            self._say(INVALID_SESSION, False)
            return
        if not isinstance(intents, int) or intents & ~ALL_INTENTS:
            raise _Refused(CloseCode.BAD_INTENTS)
        if intents & MESSAGE_CONTENT and not bot.message_content:
            raise _Refused(CloseCode.FORBIDDEN_INTENTS)
        session = self._session = bot.sessions.open(intents, self._outbox, shard)
        guilds = [guild for guild in guilds if session.receives(guild.id)]
        unavailable: list[JsonValue] = [{"id": str(guild.id), "unavailable": True} for guild in guilds]
        ready: JsonObject = {
            "v": 10,
            "user": bot.as_user(),
            "guilds": unavailable,
            "session_id": session.id,
            "session_type": "normal",
            "shard": list(shard),
            "resume_gateway_url": self._gateway.url,
            "application": {"id": str(bot.id), "flags": 0},
            "private_channels": [],
            "relationships": [],
            "user_settings": {},
        }
        session.emit("READY", orjson.dumps(ready))
        for guild in guilds:
            session.emit("GUILD_CREATE", orjson.dumps(self._world.as_guild(guild)))

    def _resume(self, bot: Bot, session_id: str, seq: JsonValue) -> None:
        if not isinstance(seq, int):
            raise _Refused(CloseCode.BAD_SEQ)
        taken = bot.sessions.resume(session_id, seq, self._outbox, self._world.resume_window_s)
        if taken is None:
            bot.sessions.refused += 1
            self._say(INVALID_SESSION, False)
            return
        self._session, missed = taken
        for payload in missed:
            self._outbox.put_nowait(payload)
        self._session.emit("RESUMED", b'{"_trace":[]}')


def _to_shard(wanted: JsonValue) -> tuple[int, int] | None:
    """Return which shard of how many an IDENTIFY asks for; None if there is no such."""
    match [0, 1] if wanted is None else wanted:
        case [int(number), int(count)] if 0 <= number < count:
            return number, count
    return None
