"""Probe of a Slack app: both its tokens, its scopes, and Socket Mode."""

from pydantic import SecretStr

from channels.chat.probing import AccountProbe, Asker, Finding, PlatformAnswer
from channels.foreign import words_of
from channels.slack.config import SlackAccount
from channels.slack.error_mapping import APPS
from channels.slack.identity import NEEDED, WANTED


async def probe(account: SlackAccount, asker: Asker) -> list[Finding]:
    """Check one app by auth.test, and for Socket Mode by apps.connections.open, whose URL is not used."""
    return await _SlackProbe(account, asker).run()


class _SlackProbe(AccountProbe):
    platform = "Slack"

    def __init__(self, account: SlackAccount, asker: Asker) -> None:
        super().__init__(account, asker)
        self._account = account

    async def check(self) -> None:
        account = self._account
        who = await self._call("auth.test", account.bot_token)
        if not who.body.get("ok"):
            to_do = (
                f"take the one that begins with xoxb- at {APPS}, OAuth & Permissions; install the app if there is none"
            )
            self.add_refusal("bot token", who, "error", to_do, key="bot_token")
            return
        name, team = words_of(who.body.get("user") or "", 64), words_of(who.body.get("team") or "", 64)
        self.ok(f"the bot token is {name}'s in {team or words_of(who.body.get('team_id') or '', 64)}")
        self._judge_scopes(who)
        if account.app_token is not None and account.mode == "socket":
            self._judge_socket(await self._call("apps.connections.open", account.app_token))

    def _judge_scopes(self, who: PlatformAnswer) -> None:
        scopes = {scope.strip() for scope in who.headers.get("x-oauth-scopes", "").split(",")} - {""}
        missing = {scope: what for scope, what in {NEEDED: "answers", **WANTED}.items() if scope not in scopes}
        if not scopes or not missing:
            self.ok("it has every scope" if scopes else "Slack does not say which scopes it has")
            return
        words = "; ".join(f"{scope} (without it no {what})" for scope, what in sorted(missing.items()))
        self.bad(
            f"scopes are missing: {words}",
            f"add them at {APPS}, OAuth & Permissions, and install the app again; `tenk slack-manifest` has them all",
        )

    def _judge_socket(self, opened: PlatformAnswer) -> None:
        if not opened.body.get("ok"):
            to_do = f"make one at {APPS}, Basic Information, App-Level Tokens, with the scope connections:write"
            self.add_refusal("app-level token", opened, "error", to_do, key="app_token")
        elif "Socket Mode is not turned on" in str(opened.body.get("response_metadata")):
            self.bad("Socket Mode is off, so nothing would come in", f"turn it on at {APPS}, Socket Mode")
        else:
            self.ok("Socket Mode opens")

    async def _call(self, method: str, token: SecretStr) -> PlatformAnswer:
        headers = {"Authorization": f"Bearer {token.get_secret_value()}"}
        return await self.asker.ask("POST", f"{self._account.api_url}{method}", headers=headers)
