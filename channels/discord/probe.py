"""Probe of a Discord bot: its token, intent, shards, and remaining session starts."""

from channels.chat.probing import AccountProbe, Asker, Finding, PlatformAnswer
from channels.discord.config import PORTAL, DiscordAccount
from channels.discord.sharding import to_gateway_info
from channels.foreign import whole_of, words_of

MESSAGE_CONTENT = 1 << 18 | 1 << 19
"""Flags of an application that has the intent, verified or not (Discord's reference, Application Flags, 2026-11)."""

AGENT = "DiscordBot (tenk-gateway, 1)"
"""User-Agent in the form that Discord requires (docs.discord.com/developers/reference#user-agent, 2026-11)."""


async def probe(account: DiscordAccount, asker: Asker) -> list[Finding]:
    """Check one bot by three calls that change nothing."""
    return await _DiscordProbe(account, asker).run()


class _DiscordProbe(AccountProbe):
    platform = "Discord"

    def __init__(self, account: DiscordAccount, asker: Asker) -> None:
        super().__init__(account, asker)
        self._account = account

    async def check(self) -> None:
        me = await self._get("/users/@me")
        if me.status != 200:
            self.add_refusal("token", me, "message", f"take a new one at {PORTAL}, page Bot, Reset Token", key="token")
            return
        self.ok(f"the token is {words_of(me.body.get('username'), 64)}'s")
        self._judge_intent(await self._get("/oauth2/applications/@me"))
        self._judge_sessions(await self._get("/gateway/bot"))

    def _judge_intent(self, application: PlatformAnswer) -> None:
        flags = whole_of(application.body.get("flags"))
        if flags is None or not self._account.message_content:
            return
        if flags & MESSAGE_CONTENT:
            self.ok("it may read what is said (Message Content intent)")
            return
        self.bad(
            "the Message Content intent is off, and Discord refuses who asks for it",
            f"turn it on at {PORTAL}, page Bot, or set message_content = false: then it sees of servers only mentions",
        )

    def _judge_sessions(self, gateway: PlatformAnswer) -> None:
        info = to_gateway_info("", gateway.body)
        count = info.shards if self._account.shards == "auto" else self._account.shards
        if info.is_used_up:
            self.bad("it has identified too often today", "stop what starts it again and again, and wait for tomorrow")
        elif count < info.shards:
            self.bad(
                f"it has {count} of the {info.shards} shards that Discord recommends for as many servers as it is in",
                'set shards = "auto"; Discord refuses a bot with much too few',
                key="shards",
            )
        elif info.starts_left is not None:
            self.ok(f"{count} {'shard' if count == 1 else 'shards'}; {info.starts_left} sessions may be opened today")

    async def _get(self, path: str) -> PlatformAnswer:
        headers = {"Authorization": f"Bot {self._account.token.get_secret_value()}", "User-Agent": AGENT}
        return await self.asker.ask("GET", f"{self._account.api_base}{path}", headers=headers)
