"""Probe of a Telegram bot: its token, and a webhook that would prevent polling."""

from channels.chat.probing import AccountProbe, Asker, Finding, NoAnswer, PlatformAnswer, refusal_words
from channels.foreign import words_of
from channels.telegram.config import TelegramAccount


async def probe(account: TelegramAccount, asker: Asker) -> list[Finding]:
    """Check one bot by getMe and getWebhookInfo, which change nothing."""
    return await _TelegramProbe(account, asker).run()


class _TelegramProbe(AccountProbe):
    platform = "Telegram"

    def __init__(self, account: TelegramAccount, asker: Asker) -> None:
        super().__init__(account, asker)
        self._account = account

    async def check(self) -> None:
        me = await self._call("getMe")
        result = me.body.get("result")
        if not me.body.get("ok") or not isinstance(result, dict):
            to_do = "take the one that @BotFather shows under /mybots, API Token"
            self.add_refusal("token", me, "description", to_do, key="token")
            return
        reads = "reads all of a group" if result.get("can_read_all_group_messages") else "reads mentions in groups"
        self.ok(f"the token is @{words_of(result.get('username'), 64)}'s, which {reads}")
        self._judge_webhook(await self._call("getWebhookInfo"))

    def _judge_webhook(self, answer: PlatformAnswer) -> None:
        account, result = self._account, answer.body.get("result")
        info = result if isinstance(result, dict) else {}
        url, failure = (words_of(info.get(key) or "", 300) for key in ("url", "last_error_message"))
        if account.mode == "polling" and url:
            to_do = f'remove it with deleteWebhook (`tenk doctor --fix` does), or set mode = "webhook" for {self.part}'
            self.bad(
                f"a webhook is set ({url}), so Telegram gives no updates to a bot that polls", to_do, mend=self._remove
            )
        elif account.mode == "webhook" and url not in ("", account.webhook_target):
            self.bad(
                f"Telegram brings updates to {url}, not to {account.webhook_target}",
                "start the gateway, which sets its own; if another program sets it again, it needs another bot",
            )
        elif account.mode == "webhook" and failure:
            to_do = f"make {account.webhook_target} reachable for Telegram"
            self.bad(f"Telegram could not bring updates: {failure}", to_do)
        else:
            self.ok("no webhook prevents polling" if account.mode == "polling" else "the webhook is this gateway's")

    async def _remove(self) -> str:
        removed = await self._call("deleteWebhook")
        if not removed.body.get("ok"):
            raise NoAnswer(f"does not remove the webhook ({refusal_words(removed, 'description')})")
        return "the webhook is removed; pending updates are fetched by polling"

    async def _call(self, method: str) -> PlatformAnswer:
        url = f"{self._account.api_base}/bot{self._account.token.get_secret_value()}/{method}"
        return await self.asker.ask("POST", url, body={})
