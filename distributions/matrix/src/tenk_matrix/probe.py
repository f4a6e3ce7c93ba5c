"""Probe of a Matrix account, for `tenk doctor`: its homeserver and its access token."""

from channels.chat.probing import AccountProbe, Asker, Finding
from channels.foreign import words_of
from tenk_matrix.config import MatrixAccount
from tenk_matrix.wire import path_of


async def probe(account: MatrixAccount, asker: Asker) -> list[Finding]:
    """Check one account by a call that changes nothing."""
    return await _MatrixProbe(account, asker).run()


class _MatrixProbe(AccountProbe):
    platform = "Matrix"

    def __init__(self, account: MatrixAccount, asker: Asker) -> None:
        super().__init__(account, asker)
        self._account = account

    async def check(self) -> None:
        headers = {"Authorization": f"Bearer {self._account.access_token.get_secret_value()}"}
        url = self._account.api_base + path_of("account", "whoami")
        answer = await self.asker.ask("GET", url, headers=headers)
        if answer.status != 200:
            self.add_refusal("access token", answer, "error", "log in again for a new one", key="access_token")
            return
        self.ok(f"the access token is {words_of(answer.body.get('user_id') or '', 255)}'s")
