"""Files and environment as settings, or a clear error."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.coach.product import COACH
from gateway.config.environment import ANTHROPIC_DEFAULT, OPENAI_DEFAULT, OPENAI_ONLY
from gateway.config.listing import lines_of
from gateway.config.settings import Settings, load
from gateway.config.sources import ConfigFile, Sources
from gateway.errors import SettingsError
from gateway.product import in_force

TOKEN = "123456789:" + "AbC-_" * 7
Given = Callable[..., Settings]

BOT, TOKENS = "[channels.telegram.main]\n", f"[channels.telegram.main]\ntoken = '{TOKEN}'\n"


@pytest.fixture
def given(tmp_path: Path) -> Given:
    """Load with this main file, this secrets file, and this environment."""

    def loaded(main: str = "", secrets: str = "", **environ: str) -> Settings:
        (tmp_path / "gateway.toml").write_text(main)
        (tmp_path / "secrets.toml").write_text(secrets)
        (tmp_path / "secrets.toml").chmod(0o600)
        return load(tmp_path / "gateway.toml", environ)

    return loaded


def refusal(given: Given, main: str = "", secrets: str = "", **environ: str) -> str:
    with pytest.raises(SettingsError) as refused:
        given(main, secrets, **environ)
    return str(refused.value)


@pytest.mark.parametrize(
    ("main", "environ", "place"),
    [
        ('[gateway]\nnats_url = "nats://localhost:4222"', {}, "gateway.toml:2: gateway.nats_url: NATS"),
        ("", {"NATS_URL": "nats://localhost:4222"}, "NATS_URL: gateway.nats_url: NATS"),
        ('[gateway]\nrole = "all"', {}, "gateway.toml:2: gateway.role: there are no roles any more"),
        ("", {"TENK_ROLE": "worker"}, "TENK_ROLE: gateway.role: there are no roles any more"),
    ],
)
def test_a_setting_of_an_earlier_version_says_what_replaced_it(
    given: Given, main: str, environ: dict[str, str], place: str
) -> None:
    assert re.search(f"{re.escape(place)}.*; remove it$", refusal(given, main, **environ))


def test_nothing_configured_is_enough(tmp_path: Path, given: Given) -> None:
    settings = given()
    assert (Path("var"), "sqlite:///var/tenk.db") == (settings.home, settings.database_url)
    assert ("pairing", "127.0.0.1:8080") == (settings.access.direct, settings.http.listen)
    assert ("offline", {}) == (settings.model.name, settings.channels.telegram)


def test_the_environment_alone_is_enough(given: Given) -> None:
    settings = given(
        '[http]\nlisten = "127.0.0.1:1"\n',
        TENK_HOME="data",
        DATABASE_URL="postgresql://tenk:hunter2@db/tenk",
        TENK_HTTP="127.0.0.1:9090",
        TENK_MODEL="openai:some-model",
        TENK_ACCESS="allowlist",
        TELEGRAM_BOT_TOKEN=TOKEN,
        TELEGRAM_API_BASE="http://127.0.0.1:8081",
        OPENAI_API_KEY="key-of-openai",
        OPENAI_BASE_URL="http://127.0.0.1:8082/v1",
    )
    account = settings.channels.telegram["main"]
    assert (Path("data"), "postgresql://tenk:hunter2@db/tenk") == (settings.home, settings.database_url)
    assert ("127.0.0.1:9090", "allowlist") == (settings.http.listen, settings.access.direct)
    assert ("openai:some-model", "http://127.0.0.1:8082/v1") == (settings.model.name, settings.model.base_url)
    assert (TOKEN, "http://127.0.0.1:8081") == (account.token.get_secret_value(), account.api_base)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('model = "openai:x"', "model"),
        ("channels = 5", "channels"),
        ("[channels]\ntelegram = 5", "channels.telegram"),
        ("[model]\nfallback = 5", "model.fallback"),
    ],
)
def test_a_value_in_place_of_a_table_is_named(given: Given, text: str, key: str) -> None:
    server = "http://127.0.0.1:1"
    with pytest.raises(SettingsError, match=rf"toml:\d: {key}: this is a table of its own"):
        given(f"{text}\n", OPENAI_API_KEY="key-of-openai", TELEGRAM_BOT_TOKEN=TOKEN, TELEGRAM_API_BASE=server)


def test_empty_variables_count_as_not_set(given: Given) -> None:
    assert given() == given(TENK_HOME="", TENK_MODEL=" ", TELEGRAM_BOT_TOKEN="", OPENAI_API_KEY="")


@pytest.mark.parametrize(
    ("environ", "name"),
    [
        ({}, "offline"),
        ({"OPENAI_API_KEY": "key-of-openai"}, OPENAI_DEFAULT),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}, OPENAI_ONLY),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:1/v1", "OPENAI_API_KEY": "key-of-openai"}, OPENAI_ONLY),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:1/v1", "TENK_MODEL": "openai:llama3"}, "openai:llama3"),
        ({"OPENAI_API_KEY": "key-of-openai", "TENK_MODEL": "offline"}, "offline"),
        ({"ANTHROPIC_API_KEY": "key-of-anthropic"}, ANTHROPIC_DEFAULT),
        ({"ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}, ANTHROPIC_DEFAULT),
        ({"ANTHROPIC_API_KEY": "key-of-anthropic", "TENK_MODEL": "anthropic:claude-x"}, "anthropic:claude-x"),
        ({"ANTHROPIC_API_KEY": "key-of-anthropic", "OPENAI_API_KEY": "key-of-openai"}, OPENAI_DEFAULT),
    ],
)
def test_the_model_is_whichever_key_is_there(given: Given, environ: dict[str, str], name: str) -> None:
    assert name == given(**environ).model.name


def test_a_key_of_an_unused_provider_stays_out(given: Given) -> None:
    assert given(OPENAI_API_KEY="key-of-openai", TENK_MODEL="offline").model.api_key is None


def test_the_light_model_has_its_providers_key(given: Given) -> None:
    both = {"OPENAI_API_KEY": "key-of-openai", "ANTHROPIC_API_KEY": "key-of-anthropic", "TENK_MODEL": "openai:some"}
    light = given('[model.light]\nname = "anthropic:small"\n', **both).model.light
    assert light is not None and light.api_key is not None
    assert "key-of-anthropic" == light.api_key.get_secret_value()
    told = refusal(given, '[model]\n[model.light]\nname = "small"\n', **both)
    assert ":3: model.light.name: write offline" in told


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("anthropic:claude", "needs a key or a server: with the name, set model.api_key (ANTHROPIC_API_KEY), or"),
        ("openai", 'or openai:NAME (it is "openai")'),
        ("anthropic:*", "write offline, anthropic:NAME"),
        ("openai:", "write offline, anthropic:NAME"),
        ("gpt", "write offline, anthropic:NAME"),
        ("openai:some-model", "set model.api_key (OPENAI_API_KEY), or model.base_url (OPENAI_BASE_URL)"),
    ],
)
def test_a_model_that_cannot_be_used_is_refused(given: Given, name: str, message: str) -> None:
    told = refusal(given, TENK_MODEL=name)
    assert told.startswith("TENK_MODEL: model.")
    assert message in told


def test_a_base_without_a_token_makes_no_account(given: Given) -> None:
    assert {} == given(TELEGRAM_API_BASE="http://127.0.0.1:8081").channels.telegram


def test_a_missing_token_says_where_it_belongs(given: Given) -> None:
    told = refusal(given, "[channels.telegram.coach]\n")
    assert "gateway.toml:1: channels.telegram.coach.token: is missing; it belongs in" in told


def test_a_bad_token_is_refused_without_being_shown(given: Given) -> None:
    told = refusal(given, TELEGRAM_BOT_TOKEN="not-a-token-but-secret")
    assert told.startswith("TELEGRAM_BOT_TOKEN: channels.telegram.main.token: is not a bot token")
    assert "not-a-token-but-secret" not in told


def test_a_secret_in_the_main_file_is_refused(given: Given) -> None:
    told = refusal(given, f'[channels.telegram.main]\ntoken = "{TOKEN}"\n')
    assert "gateway.toml:2: channels.telegram.main.token: secrets do not belong in this file" in told
    assert TOKEN not in told


@pytest.mark.parametrize(
    ("main", "message"),
    [
        ("[http]\nlisen = 1\n", 'gateway.toml:2: http.lisen: there is no such key; did you mean "listen"?'),
        ("[htp]\n", 'gateway.toml:1: htp: there is no such key; did you mean "http"?'),
        (
            "[sessions]\n\nmode = 'x'\n",
            "toml:3: sessions.mode: it has to be one of: steer, followup, collect, interrupt",
        ),
        ("[agent]\nmax_steps = 0\n", "gateway.toml:2: agent.max_steps: it has to be 1 or more (it is 0)"),
        ("agent = 3\n", "gateway.toml:1: agent: this is a table of its own, with keys"),
        ("[channels]\ntelegram = 3\n", "gateway.toml:2: channels.telegram: this is a table of its own"),
        ("[http]\nlisten = '8080'\n", "gateway.toml:2: http.listen: write an address and a port, such as 127.0.0.1:80"),
        ("[http]\nlisten = '[::1]:99999'\n", "gateway.toml:2: http.listen: port 99999 is over 65535"),
        ("[http]\nallowed_hosts = 'a.b'\n", 'http.allowed_hosts: a list is written in brackets: ["one", "two"]'),
        ("[http]\nlisten = '0.0.0.0:80'\n", "gateway.toml:1: http: 0.0.0.0:80 can be reached from other machines"),
        (
            BOT + "[agent.personas]\n'telegram:mian' = 'x'\n",
            'no such account; did you mean "telegram:main"?',
        ),
        (
            "[agent.personas]\n'telegran:main' = 'x'\n",
            'personas.telegran:main: there is no such account; did you mean "tele',
        ),
        ('[access]\nallow = ["telegram:42"]\n', "no such key; it belongs in [access.accounts.NAME]"),
        ("[access]\nburst_messages = 3\n", "no such key; it belongs in [access.limits]"),
        ("[model]\nbase_url = 'localhost:11434/v1'\n", "in front, such as http://localhost:11434/v1 (it is"),
        ("[model]\nbase_url = 'http://[::1'\n", "toml:2: model.base_url: write the whole URL"),
        ("[web]\nsearch = 'searx.lan'\n", "mcp:SERVER:TOOL, or the URL of a SearXNG: write the whole URL"),
        ("[mcp.files]\nurl = 'ftp://files'\n", "in front, such as http://files (it is"),
        (BOT + "[access.accounts.'telegram:ada']\n", "access.accounts.telegram:ada: there is no such account; did"),
        ("[access]\ndirect = 'opn'\n", "gateway.toml:2: access.direct: it has to be one of: pairing, allowlist, open"),
    ],
)
def test_a_mistake_names_file_line_and_key(given: Given, main: str, message: str) -> None:
    assert message in refusal(given, main, secrets=TOKENS if BOT in main else "")


def test_what_is_said_of_a_platform_without_accounts_waits_for_its_token(given: Given) -> None:
    given("[agent.personas]\n'telegram:main' = 'x'\n'web:main' = 'y'\n[access.accounts.'slack:main']\n")


def test_a_value_of_the_environment_is_blamed_on_its_variable(given: Given) -> None:
    """Cover A18."""
    assert refusal(given, TENK_HTTP="0.0.0.0:8080").startswith("TENK_HTTP: http: 0.0.0.0:8080 can be reached")
    assert refusal(given, TENK_ACCESS="everyone").startswith("TENK_ACCESS: access.direct: it has to be one of: pairing")


def test_the_coach_limits_lie_under_what_is_set(given: Given) -> None:
    agent = in_force(in_force(given("[agent]\ndeadline_s = 99\n"), COACH), COACH).agent
    assert (5, 99) == (agent.max_steps, agent.deadline_s)
    assert 7 == in_force(given("[agent]\nmax_steps = 7\n"), COACH).agent.max_steps


def test_the_page_is_called_what_the_agent_is_called(given: Given) -> None:
    assert "TenK Coach" == in_force(given(""), COACH).channels.web.title
    assert "Ours" == in_force(given('[channels.web]\ntitle = "Ours"\n'), COACH).channels.web.title


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ('product = "choach"', 'gateway.toml:2: agent.product: there is no agent "choach"; did you mean "coach"?'),
        ('product = "nobody"', 'agent.product: there is no agent "nobody"; there are: '),
        ('tools = ["weather"]', 'gateway.toml:2: agent.tools: there is no tool "weather"; there are: '),
    ],
)
def test_a_missing_agent_or_tool_is_reported(given: Given, config: str, words: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(words)):
        given(f"[agent]\n{config}\n")


def test_a_named_file_has_to_be_there(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="there is no such file"):
        load(tmp_path / "none.toml", {})


def test_secrets_that_others_can_read_are_refused(tmp_path: Path, given: Given) -> None:
    given()
    (tmp_path / "secrets.toml").chmod(0o644)
    with pytest.raises(SettingsError, match=r"mode 0644.*chmod 600"):
        load(tmp_path / "gateway.toml", {})


def test_every_secret_in_use_is_known_to_the_redactor(given: Given) -> None:
    settings = given(
        "",
        '[http]\napi_key = "0123456789abcdef"\n',
        TELEGRAM_BOT_TOKEN=TOKEN,
        DATABASE_URL="postgresql://u:hunter2@h/d",
    )
    assert {"0123456789abcdef", TOKEN, "postgresql://u:hunter2@h/d", "hunter2"} == settings.secret_values()


def test_settings_never_show_a_secret(given: Given) -> None:
    settings = given(TELEGRAM_BOT_TOKEN=TOKEN, DATABASE_URL="postgresql://u:hunter2@h/d")
    assert [] == [secret for secret in settings.secret_values() if secret in repr(settings) + str(settings)]


@pytest.fixture
def letterbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "contract" / "example_channel"))


@pytest.mark.usefixtures("letterbox")
def test_a_third_party_channel_is_configured_like_ours(given: Given) -> None:
    settings = given('[channels.letterbox.home]\ndirectory = "a"\n[channels.letterbox.work]\ndirectory = "b"\n')
    found = [(channel, account.name) for channel, account in settings.channels.accounts()]
    assert [("letterbox", "home"), ("letterbox", "work")] == found
    told = refusal(given, '[channels.letterbox.home]\ndirectori = "a"\ndirectory = "a"\n')
    assert told.endswith(
        'gateway.toml:2: channels.letterbox.home.directori: there is no such key; did you mean "directory"?'
    )
    told = refusal(given, '[channels.letterbox]\ndirectory = "a"\n')
    assert told.endswith("letterbox.directory: it belongs in [channels.letterbox.NAME], where NAME is a name of yours")
    told = refusal(given, '[channels.letterbx.home]\ndirectory = "a"\n')
    assert told.endswith('gateway.toml:1: channels.letterbx: there is no such key; did you mean "letterbox"?')
    assert ", api, " in (told := refusal(given, "[channels.zzz]\n")) and "letterbox" in told


def test_a_channel_that_is_not_installed_is_refused(given: Given) -> None:
    told = refusal(given, "[channels.telegrm.main]\n")
    assert told.endswith('gateway.toml:1: channels.telegrm: there is no such key; did you mean "telegram"?')


def test_an_address_is_listed_without_what_may_be_a_secret_in_it(given: Given) -> None:
    address = "http://me:hidden-1@127.0.0.1:9/v1?key=hidden-2&v=hidden-3"
    settings = given(
        f'[model]\nname = "openai:m"\n[model.fallback.b]\nname = "openai:n"\nbase_url = "{address}"',
        OPENAI_API_KEY="sk-x",
    )
    listed = "\n".join(lines_of(settings, Sources(ConfigFile(Path()), ConfigFile(Path()), {})))
    assert "hidden" not in listed
    assert '"http://********@127.0.0.1:9/v1?key=********&v=********"' in listed


def test_a_list_of_fallbacks_is_refused_in_words(given: Given) -> None:
    assert "model.fallback" in refusal(given, '[[model.fallback]]\nname = "openai:n"', TENK_MODEL="openai:m")
