"""Looks at one Slack app from outside: both its tokens, the scopes it has, and whether Socket Mode is on."""

from pydantic import SecretStr

from channels.foreign import words_of
from channels.probing import AccountLook, Asker, Finding, NoAnswer, PlatformAnswer, refusal_words
from channels.slack.config import SlackAccount
from channels.slack.error_mapping import APPS
from channels.slack.identity import NEEDED, WANTED


async def probe(account: SlackAccount, asker: Asker) -> list[Finding]:
    """Two calls: auth.test, and over Socket Mode apps.connections.open, whose address is not used."""
    look = AccountLook(f"slack:{account.name}")
    try:
        if await _meet(account, asker, look) and account.app_token is not None and account.mode == "socket":
            await _look_at_socket(account, account.app_token, asker, look)
    except NoAnswer as silence:
        look.bad(f"Slack at {account.api_base} {silence}", "look at the network, and at api_base")
    return look.found


async def _meet(account: SlackAccount, asker: Asker, look: AccountLook) -> bool:
    """Whether the bot token is taken."""
    who = await _call(account, asker, "auth.test", account.bot_token)
    if not who.body.get("ok"):
        look.bad(
            f"Slack refuses the bot token ({refusal_words(who, 'error')})",
            f"take the one that begins with xoxb- at {APPS}, OAuth & Permissions; install the app if there is none",
            ("channels", "slack", account.name, "bot_token"),
        )
        return False
    name, team = words_of(who.body.get("user") or "", 64), words_of(who.body.get("team") or "", 64)
    look.ok(f"the bot token is {name}'s in {team or words_of(who.body.get('team_id') or '', 64)}")
    _judge_scopes(who, look)
    return True


def _judge_scopes(who: PlatformAnswer, look: AccountLook) -> None:
    scopes = {scope.strip() for scope in who.headers.get("x-oauth-scopes", "").split(",")} - {""}
    missing = {scope: what for scope, what in {NEEDED: "answers", **WANTED}.items() if scope not in scopes}
    if not scopes or not missing:
        look.ok("it has every scope" if scopes else "Slack does not say which scopes it has")
        return
    words = "; ".join(f"{scope} (without it no {what})" for scope, what in sorted(missing.items()))
    look.bad(
        f"scopes are missing: {words}",
        f"add them at {APPS}, OAuth & Permissions, and install the app again; `tenk slack-manifest` has them all",
    )


async def _look_at_socket(account: SlackAccount, token: SecretStr, asker: Asker, look: AccountLook) -> None:
    opened = await _call(account, asker, "apps.connections.open", token)
    if not opened.body.get("ok"):
        look.bad(
            f"Slack refuses the app-level token ({refusal_words(opened, 'error')})",
            f"make one at {APPS}, Basic Information, App-Level Tokens, with the scope connections:write",
            ("channels", "slack", account.name, "app_token"),
        )
    elif "Socket Mode is not turned on" in str(opened.body.get("response_metadata")):
        look.bad("Socket Mode is off, so nothing would come in", f"turn it on at {APPS}, Socket Mode")
    else:
        look.ok("Socket Mode opens")


async def _call(account: SlackAccount, asker: Asker, method: str, token: SecretStr) -> PlatformAnswer:
    headers = {"Authorization": f"Bearer {token.get_secret_value()}"}
    return await asker.ask("POST", f"{account.api_url}{method}", headers=headers)
