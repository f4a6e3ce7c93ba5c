"""Looks at one Discord bot from outside: its token, its intent, its shards, and how often it may identify."""

from channels.discord.config import PORTAL, DiscordAccount
from channels.discord.sharding import to_gateway_info
from channels.foreign import whole_of, words_of
from channels.probing import AccountLook, Asker, Finding, NoAnswer, PlatformAnswer, refusal_words

MESSAGE_CONTENT = 1 << 18 | 1 << 19
"""Flags of an application that has the intent, verified or not (Discord's reference, Application Flags, 2026-11)."""

AGENT = "DiscordBot (tenk-gateway, 1)"
"""Discord answers no other kind of name (docs.discord.com/developers/reference#user-agent, 2026-11)."""


async def probe(account: DiscordAccount, asker: Asker) -> list[Finding]:
    """Three calls that change nothing: who we are, what the application may, and the gateway's sessions."""
    look = AccountLook(f"discord:{account.name}")
    try:
        me = await _get(account, asker, "/users/@me")
        if me.status != 200:
            look.bad(
                f"Discord refuses the token ({refusal_words(me, 'message')})",
                f"take a new one at {PORTAL}, page Bot, Reset Token",
                ("channels", "discord", account.name, "token"),
            )
            return look.found
        look.ok(f"the token is {words_of(me.body.get('username'), 64)}'s")
        _judge_intent(account, await _get(account, asker, "/oauth2/applications/@me"), look)
        _judge_sessions(account, await _get(account, asker, "/gateway/bot"), look)
    except NoAnswer as silence:
        look.bad(f"Discord at {account.api_base} {silence}", "look at the network, and at api_base")
    return look.found


def _judge_intent(account: DiscordAccount, application: PlatformAnswer, look: AccountLook) -> None:
    flags = whole_of(application.body.get("flags"))
    if flags is None or not account.message_content:
        return
    if flags & MESSAGE_CONTENT:
        look.ok("it may read what is said (Message Content intent)")
        return
    look.bad(
        "the Message Content intent is off, and Discord refuses who asks for it",
        f"turn it on at {PORTAL}, page Bot, or set message_content = false: then it sees of servers only mentions",
    )


def _judge_sessions(account: DiscordAccount, gateway: PlatformAnswer, look: AccountLook) -> None:
    """Its shards, beside what Discord recommends, and how many sessions may still be opened."""
    info = to_gateway_info("", gateway.body)
    count = info.shards if account.shards == "auto" else account.shards
    if info.is_used_up:
        look.bad("it has identified too often today", "stop what starts it again and again, and wait for tomorrow")
    elif count < info.shards:
        look.bad(
            f"it has {count} of the {info.shards} shards that Discord recommends for as many servers as it is in",
            'set shards = "auto"; Discord refuses a bot with much too few',
            ("channels", "discord", account.name, "shards"),
        )
    elif info.starts_left is not None:
        look.ok(f"{count} {'shard' if count == 1 else 'shards'}; {info.starts_left} sessions may be opened today")


async def _get(account: DiscordAccount, asker: Asker, path: str) -> PlatformAnswer:
    headers = {"Authorization": f"Bot {account.token.get_secret_value()}", "User-Agent": AGENT}
    return await asker.ask("GET", f"{account.api_base}{path}", headers=headers)
