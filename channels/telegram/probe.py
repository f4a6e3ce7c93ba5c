"""Looks at one Telegram bot from outside: its token, and a webhook that keeps it from being polled."""

from channels.foreign import words_of
from channels.probing import AccountLook, Asker, Finding, NoAnswer, PlatformAnswer, refusal_words
from channels.telegram.config import TelegramAccount


async def probe(account: TelegramAccount, asker: Asker) -> list[Finding]:
    """Two calls that change nothing: getMe and getWebhookInfo."""
    look = AccountLook(f"telegram:{account.name}")
    try:
        if await _meet(account, asker, look):
            await _look_at_webhook(account, asker, look)
    except NoAnswer as silence:
        look.bad(f"Telegram at {account.api_base} {silence}", "look at the network, and at api_base")
    return look.found


async def _meet(account: TelegramAccount, asker: Asker, look: AccountLook) -> bool:
    """Whether the token is taken."""
    me = await _call(account, asker, "getMe")
    result = me.body.get("result")
    if not me.body.get("ok") or not isinstance(result, dict):
        look.bad(
            f"Telegram refuses the token ({refusal_words(me, 'description')})",
            "take the one that @BotFather shows under /mybots, API Token",
            ("channels", "telegram", account.name, "token"),
        )
        return False
    reads = "reads all of a group" if result.get("can_read_all_group_messages") else "reads mentions in groups"
    look.ok(f"the token is @{words_of(result.get('username'), 64)}'s, which {reads}")
    return True


async def _look_at_webhook(account: TelegramAccount, asker: Asker, look: AccountLook) -> None:
    result = (await _call(account, asker, "getWebhookInfo")).body.get("result")
    info = result if isinstance(result, dict) else {}
    url, failure = (words_of(info.get(key) or "", 300) for key in ("url", "last_error_message"))

    async def remove() -> str:
        gone = await _call(account, asker, "deleteWebhook")
        if not gone.body.get("ok"):
            raise NoAnswer(f"does not remove the webhook ({refusal_words(gone, 'description')})")
        return "the webhook is removed; what waits at Telegram is fetched by polling"

    if account.mode == "polling" and url:
        to_do = f'remove it with deleteWebhook (`tenk doctor --fix` does), or set mode = "webhook" for {look.part}'
        look.bad(f"a webhook is set ({url}), so Telegram gives nothing to who polls", to_do, mend=remove)
    elif account.mode == "webhook" and url not in ("", account.webhook_target):
        look.bad(
            f"Telegram brings updates to {url}, not to {account.webhook_target}",
            "start the gateway, which sets its own; if another program sets it again, it needs another bot",
        )
    elif account.mode == "webhook" and failure:
        look.bad(
            f"Telegram could not bring updates: {failure}", f"make {account.webhook_target} reachable for Telegram"
        )
    else:
        look.ok("no webhook stands in the way" if account.mode == "polling" else "the webhook is this gateway's")


async def _call(account: TelegramAccount, asker: Asker, method: str) -> PlatformAnswer:
    return await asker.ask("POST", f"{account.api_base}/bot{account.token.get_secret_value()}/{method}", body={})
