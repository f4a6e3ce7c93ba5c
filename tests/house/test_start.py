"""Help comes at once, and heavy things are loaded only when they are used."""

import asyncio
import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from gateway.store.engine import Store
from tests.house.tree import ROOT

HEAVY = {"pydantic", "aiohttp", "sqlalchemy", "alembic", "structlog", "prometheus_client", "aiogram", "asyncio"}


def loaded_by(code: str, **environ: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after `code`."""
    script = f"import json, sys\n{code}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env=os.environ | environ,
        capture_output=True,
        text=True,
        check=True,
        timeout=50,
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_help_loads_click_only() -> None:
    """`tenk --help` loads nothing that is not needed to print a table (it takes under 300 ms)."""
    code = "from gateway.cli.root import root\nroot(['--help'], standalone_mode=False)"
    assert set() == loaded_by(code) & HEAVY


def test_a_list_of_conversations_loads_tables_and_no_settings(tmp_path: Path) -> None:
    """`tenk sessions list` is waited for: without a gateway it asks the file, with one its socket."""
    ours = "gateway.config.settings", "gateway.store.writer", "gateway.app", "agent.transcript", "channels.messages"
    code = "from gateway.cli.root import root\nroot(['sessions', 'list'], standalone_mode=False)"
    asyncio.run(_make_database(tmp_path))
    loaded = loaded_by(code, TENK_HOME=str(tmp_path))
    assert {"sqlalchemy", "asyncio"} == loaded & {*HEAVY, *ours}  # the second comes with the first
    assert set() == loaded_by("import gateway.cli.sessions, gateway.cli.users, gateway.cli.messages") & {*HEAVY, *ours}


def test_no_list_loads_settings_or_a_server(tmp_path: Path) -> None:
    """Without a gateway each asks the file by what it shows alone, in half the time that settings take."""
    asyncio.run(_make_database(tmp_path))
    asked = ["users list", "audit", "pairing list", "invite list", "keys list", "inbox", "outbox list", "usage"]
    asked += ["sessions list --person telegram:1", "trace ana"]
    code = (
        "import contextlib, gateway.cli.root\nfrom gateway.errors import GatewayError\n"
        f"for words in {asked}:\n    with contextlib.suppress(GatewayError):\n"
        "        gateway.cli.root.root(words.split(), standalone_mode=False)"
    )
    unasked = {"aiohttp", "alembic", "gateway.config.settings", "gateway.product", "gateway.app", "gateway.ops.status"}
    loaded = loaded_by(code, TENK_HOME=str(tmp_path))
    assert {"gateway.ops.trace", "gateway.ops.usage_report"} < loaded and not loaded & unasked


def test_the_status_of_a_gateway_that_does_not_run_loads_no_library(tmp_path: Path) -> None:
    """`tenk status` takes under 300 ms also where it reads the file itself."""
    asyncio.run(_make_database(tmp_path))
    code = (
        "import contextlib, gateway.cli.root\nwith contextlib.suppress(SystemExit): gateway.cli.root.root(['status'])"
    )
    assert set() == loaded_by(code, TENK_HOME=str(tmp_path)) & HEAVY


async def _make_database(home: Path) -> None:
    await (await Store.open(f"sqlite:///{home / 'tenk.db'}")).aclose()


UNASKED = {"aiogram", "discord", "slack_bolt", "openai", "hypothesis", "pytest"}


@pytest.mark.parametrize(
    "module",
    [
        "channels.base",
        "channels.registry",
        "channels.telegram.config",
        "gateway.config.settings",
        "gateway.app",
        "agent.loop",
    ],
)
def test_no_platform_sdk_is_loaded_unasked(module: str) -> None:
    """Contracts, configuration and the whole gateway import without a platform's SDK."""
    assert set() == loaded_by(f"import {module}") & UNASKED


SELDOM = {
    "alembic", "jinja2", "sqlalchemy.dialects.postgresql", "agent.coach.offline", "regex", "markdown_it",
    "greenlet", "rich", "frozenlist._frozenlist", "bz2", "lzma",
}  # fmt: skip


def test_the_gateway_loads_nothing_that_is_seldom_used() -> None:
    """Not migrations, pages, the other database or what reads long texts; nor what others load because it is there."""
    code = "from gateway.cli.root import root\nroot(['run', '--help'], standalone_mode=False)"
    code += "\nimport gateway.coach.product"
    assert set() == loaded_by(code) & SELDOM


CONTEXTS = """
import gc, ssl
contexts = [one for one in gc.get_objects() if isinstance(one, ssl.SSLContext)]
assert [0, 0] == [one.cert_store_stats()["x509"] for one in contexts], contexts
"""
GET = """
import asyncio, aiohttp
async def answer(reader, writer):
    await reader.readuntil(b"\\r\\n\\r\\n")
    writer.write(b"HTTP/1.1 204 No Content\\r\\nConnection: close\\r\\n\\r\\n")
    writer.close()
async def get(certificate):
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    async with server, aiohttp.ClientSession() as session:
        async with session.get(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/") as response:
            return response.status
async def both():
    try:
        await get("stranger.pem")
    except aiohttp.ClientConnectorCertificateError:
        return await get("known.pem")
assert asyncio.run(both()) == 204
"""


def test_certificates_are_read_with_the_first_encrypted_connection(tmp_path: Path) -> None:
    """At rest no context holds any; the first connection refuses a stranger, the next one trusts who is known."""
    for name in ("known", "stranger"):
        (tmp_path / f"{name}.pem").write_bytes(_certificate())
    run = "from gateway.cli.root import root\nroot(['run', '--help'], standalone_mode=False)"
    code = f"{run}\n{CONTEXTS}import os\nos.chdir({str(tmp_path)!r}){GET}"
    loaded_by(code, SSL_CERT_FILE=str(tmp_path / "known.pem"), SSL_CERT_DIR=str(tmp_path))


def _certificate() -> bytes:
    """A key and its own certificate for this machine."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    begun_at = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(begun_at - timedelta(days=1))
        .not_valid_after(begun_at + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    secret = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    return secret + certificate.public_bytes(serialization.Encoding.PEM)
