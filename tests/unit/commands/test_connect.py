"""`/connect`: its texts and questions; it never repeats a secret."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import aiohttp
import pytest

from agent.config import LinkConfig
from agent.credentials import Credential
from agent.errors import FailureKind
from agent.models.failures import failure
from agent.ports import Principal
from gateway.access.pasted import secret_of
from gateway.commands.base import Reply, Write
from gateway.commands.connect import Connecting, connect_command, model_command, providers_of
from gateway.credentials.config import ConnectConfig, OAuthConfig
from gateway.safety.vault import Vault
from gateway.store import credentials
from gateway.store.credentials import Connected
from gateway.store.engine import Store
from gateway.texts import HARNESS
from tests.fakes.invocations import FakeSession, invocation
from tests.fakes.oauth_server import CLIENT, OAuthServer
from tests.fakes.practice_reader import add_people
from tests.fakes.spine import quick_store

NOW = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
ANA = Principal("ana", "default", locale="en")
SECRET = "canary-key-0123456789"


class Rig:
    def __init__(self, store: Store) -> None:
        self.store = store
        self.vault = Vault.fresh()
        self.answer: Exception | None = None
        self.checked: list[str] = []
        self.session = FakeSession(deletes=True)
        self.now = NOW
        links = [LinkConfig(name="openai:m"), LinkConfig(name="anthropic:m"), LinkConfig(name="openai:other")]
        self.providers = providers_of(links, {"anthropic": ConnectConfig(title="Claude")})
        self.command = connect_command(store, Connecting(self.vault, self.providers, self.check))

    async def check(self, _link: LinkConfig, credential: Credential) -> None:
        self.checked.append(credential.secret)
        if self.answer is not None:
            raise self.answer

    async def say(self, words: str, *, direct: bool = True, arguments: str | None = None) -> Reply:
        sealed = self.vault.seal(words, secret_of("default", "sim:1")) if words else ""
        given = sealed if arguments is None else arguments
        wanted = await self.command.handle(
            invocation("connect", given, ANA, self.session, direct=direct, store=self.store)
        )
        reply = await self.store.commit(wanted.run) if isinstance(wanted, Write) else wanted
        assert reply.redact
        assert SECRET not in reply.text
        return reply

    async def kept(self, provider: str) -> tuple[str, str] | None:
        """Return the kind of Ana's credential and what was sealed, or None."""
        find = partial(credentials.find, tenant="default", user_id="ana", provider=provider)
        if (found := await self.store.read(find)) is None:
            return None
        return found.kind, self.vault.open(found.sealed, credentials.secret_of("default", "ana", provider))


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    store = await quick_store(tmp_path / "tenk.db")
    await store.commit(lambda connection: add_people(connection, ANA))
    yield Rig(store)
    await store.aclose()


def text(key: str, **values: str) -> str:
    return HARNESS.text("en", f"connect.{key}", **values)


@pytest.mark.parametrize("quoted", ['"{}"', "`{}`", "“{}”", "<{}>"])
async def test_quotation_marks_around_a_key_are_none_of_it(rig: Rig, quoted: str) -> None:
    await rig.say(f"openai {quoted.format(SECRET)}")
    assert [SECRET] == rig.checked


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (FailureKind.AUTH, "refused"),
        (FailureKind.NETWORK, "unchecked"),
        (FailureKind.SERVER, "unchecked"),
        (FailureKind.TIMEOUT, "unchecked"),
        (FailureKind.OVERLOADED, "unchecked"),
        (FailureKind.QUOTA, "done"),
        (FailureKind.RATE_LIMIT, "done"),
        (FailureKind.BAD_REQUEST, "done"),
    ],
)
async def test_what_the_provider_says_decides(rig: Rig, kind: FailureKind, said: str) -> None:
    rig.answer = failure(kind, "no")
    reply = await rig.say(f"anthropic {SECRET}")
    assert reply.text.startswith(text(said, title="Claude"))
    assert (said == "done", 1) == (await rig.kept("anthropic") is not None, rig.session.deleted)


@pytest.mark.parametrize(
    "words", [SECRET, f"acme {SECRET}", f"openai {SECRET} more", "off", "off acme", f"off {SECRET}"]
)
async def test_what_cannot_be_understood_is_asked_for_and_never_repeated(rig: Rig, words: str) -> None:
    rig.session.deletes = None
    reply = await rig.say(words)
    assert (text("which", names="openai, anthropic"), []) == (reply.text, rig.checked)


async def test_a_key_no_header_could_hold_is_refused_unasked(rig: Rig) -> None:
    reply = await rig.say("openai клю́ч")
    assert (True, []) == (reply.text.startswith(text("unusable")), rig.checked)


async def test_alone_it_lists_what_is_connected(rig: Rig) -> None:
    connected = Connected("anthropic", "api", NOW)
    put = partial(credentials.put, tenant="default", user_id="ana", connected=connected, sealed="sealed")
    await rig.store.commit(put)
    listed = (await rig.say("")).text
    assert "OpenAI (`openai`): not connected" in listed and "Claude (`anthropic`): your own, since 2026-03-04" in listed
    assert text("how", name="openai") == (await rig.say("openai")).text
    said = [(await rig.say("off Anthropic")).text for _ in range(2)]
    assert [text("off", title="Claude"), text("off_none", title="Claude")] == said
    assert await rig.kept("anthropic") is None


async def test_where_there_is_nothing_to_connect_to_it_says_so(rig: Rig) -> None:
    rig.command = connect_command(rig.store, Connecting(rig.vault))
    assert text("nothing") == (await rig.say("")).text
    assert f"{text('nothing')}\n\n{text('deleted')}" == (await rig.say(f"openai {SECRET}")).text
    assert text("again") == (await rig.say("", arguments=Vault.fresh().seal("x", secret_of("default", "sim:1")))).text
    assert {} == providers_of([LinkConfig(), LinkConfig(name="openai:m", base_url="http://127.0.0.1:1/v1")], {})


# ---------------------------------------------------------------- an account by OAuth


@pytest.fixture
async def server(rig: Rig) -> AsyncIterator[OAuthServer]:
    async with OAuthServer() as server:
        described(rig, server)
        yield server


def described(rig: Rig, server: OAuthServer, **more: object) -> None:
    given = {
        "authorize_url": f"{server.url}/authorize",
        "token_url": f"{server.url}/token",
        "client_id": CLIENT,
        "redirect_url": "https://bot.example/oauth/callback",
    }
    connect = {"anthropic": ConnectConfig(title="Claude", oauth=OAuthConfig.model_validate(given | more))}
    providers = providers_of([LinkConfig(name="openai:m"), LinkConfig(name="anthropic:m")], connect)
    rig.command = connect_command(rig.store, Connecting(rig.vault, providers, rig.check, lambda: rig.now))


async def agree(rig: Rig) -> tuple[str, str]:
    begun = await rig.say("anthropic")
    url = next(line for line in begun.text.splitlines() if line.startswith("http"))
    async with aiohttp.ClientSession() as browser, browser.get(url, allow_redirects=False) as answer:
        back = dict(parse_qsl(urlsplit(answer.headers["Location"]).query))
    return back["code"], back["state"]


@pytest.mark.parametrize("form", ["{code}#{state}", "anthropic {code}#{state}", "anthropic {code}"])
async def test_an_account_is_connected_by_a_code(rig: Rig, server: OAuthServer, form: str) -> None:
    code, state = await agree(rig)
    reply = await rig.say(form.format(code=code, state=state))
    kind, opened = await rig.kept("anthropic") or ("", "")
    assert (f"{text('done', title='Claude')}\n\n{text('deleted')}", "oauth", []) == (reply.text, kind, rig.checked)
    assert all(given in opened for given in server.given[1:])
    assert text("stale") == (await rig.say(f"anthropic {code}#{state}")).text


async def test_a_flow_that_is_over_or_refused_connects_nothing(rig: Rig, server: OAuthServer) -> None:
    code, state = await agree(rig)
    rig.now += timedelta(minutes=10)
    assert text("stale") == (await rig.say(f"{code}#{state}")).text
    code, state = await agree(rig)
    server.html = True
    refused = await rig.say(f"{code}#{state}")
    assert (text("not_exchanged", title="Claude", name="anthropic"), None) == (
        refused.text,
        await rig.kept("anthropic"),
    )
    assert text("stale") == (await rig.say("code#state")).text


async def test_where_codes_have_their_state_behind_them_a_word_alone_is_a_key(rig: Rig, server: OAuthServer) -> None:
    await rig.say(f"anthropic {SECRET}")
    assert "api" == (await rig.kept("anthropic") or "")[0]
    await rig.say("off anthropic")
    described(rig, server, code_format="code#state")
    await agree(rig)
    await rig.say(f"anthropic {SECRET}")
    assert "api" == (await rig.kept("anthropic") or "")[0]
    assert [SECRET, SECRET] == rig.checked


async def test_a_key_given_in_place_of_a_code_is_a_key(rig: Rig, server: OAuthServer) -> None:
    await agree(rig)
    await rig.say(f"anthropic {SECRET}")
    assert ("api", [SECRET]) == ((await rig.kept("anthropic") or "")[0], rig.checked)
    await agree(rig)
    rig.answer = failure(FailureKind.AUTH, "no")
    assert text("not_exchanged", title="Claude", name="anthropic") == (await rig.say(f"anthropic {SECRET}")).text


# ---------------------------------------------------------------- which model answers


@pytest.mark.parametrize(
    ("words", "said", "chosen"),
    [
        ("", "**openai:large**", None),
        ("small", "From now on **anthropic:small** answers you", "anthropic:small"),
        ("OPENAI:LARGE", "From now on **openai:large** answers you", "openai:large"),
        ("auto", "From now on **openai:large** answers you", None),
        ("a", "I know no single model by that name", None),
    ],
)
async def test_a_person_sees_and_chooses_the_model_that_answers(
    rig: Rig, words: str, said: str, chosen: str | None
) -> None:
    rig.command = model_command(Connecting(models=("openai:large", "anthropic:small", "openai:large")))
    wanted = await rig.command.handle(invocation("model", words, ANA))
    reply = await rig.store.commit(wanted.run) if isinstance(wanted, Write) else wanted
    assert said in reply.text.replace("\\", "")
    assert chosen == (reply.changed.person.model if reply.changed.person else None)
