"""Web servers that speak nonsense, and pages that are built to break a parser: each is one clear error."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from agent.tools.base import ToolError
from agent.web.config import WebConfig
from agent.web.pages import PageReader
from tests.fakes.websites import page, website


@asynccontextmanager
async def answering(head: bytes, again: bytes = b"", tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Answer each connection by these bytes, and then `again` and again; yield the port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(head)
            while again:
                writer.write(again)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def read(port: int, *, scheme: str = "http", timeout_s: float = 30) -> str:
    config = WebConfig(allow_private=(f"127.0.0.1:{port}",), timeout_s=timeout_s)
    reading = PageReader(config)
    try:
        found = await reading.read(f"{scheme}://127.0.0.1:{port}/")
    except ToolError as refusal:
        return f"refused: {refusal}"
    finally:
        await reading.aclose()
    return found.text or found.note


OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1 99999999 OK\r\n\r\n",
        b"HTTP/9.9 200 OK\r\n\r\nwords",
        OK + b"Content-Length: -1\r\n\r\nwords",
        OK + b"Content-Length: 99999999999999999999\r\n\r\nwords",
        OK + b"Content-Length: 100\r\n\r\nwords",
        OK + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nwords",
        OK + b"Transfer-Encoding: chunked\r\n\r\n-5\r\nwords",
        OK + b"X: " + b"x" * 100_000 + b"\r\n\r\n",
        OK + b"Bad Header\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: http://[::1\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: \xff\xfe\x00\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: http://" + b"a." * 200 + b"example/\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: " + b"/" * 3000 + b"\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n",
    ],
)
async def test_nonsense_is_an_error(head: bytes) -> None:
    async with answering(head) as port:
        assert (await read(port)).startswith("refused: ")


@pytest.mark.parametrize(
    ("head", "again"),
    [
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (OK, b"X-More: x\r\n"),
        (OK + b"\r\n", b"words " * 100),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n", b"5\r\nwords\r\n"),
        (OK + b"Set-Cookie: a=b\r\n" * 300 + b"\r\n", b"x" * 1000),
    ],
)
async def test_an_answer_without_an_end_has_one(head: bytes, again: bytes) -> None:
    async with answering(head, again) as port:
        assert (await read(port, timeout_s=1)).startswith("refused: ")


@pytest.mark.parametrize(
    "head",
    [
        OK + b"Content-Encoding: br\r\n\r\n\x8b\x02\x80words\x03",
        OK + b"Content-Type: text/html\r\nContent-Length: 5\r\n\r\nwords",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=\xff\xff\r\nContent-Length: 5\r\n\r\nwords",
        b"HTTP/1.1 200 OK\r\nContent-Type: ;;;,\r\nContent-Length: 5\r\n\r\nwords",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwords",
        b"HTTP/1.0 200 OK\r\n\r\nwords",
    ],
)
async def test_odd_answers_are_read_or_refused(head: bytes) -> None:
    async with answering(head) as port:
        found = await read(port)
        assert any(each in found for each in ("words", "refused: ", "cannot be read"))


async def test_a_certificate_that_no_authority_signed_is_refused(tmp_path: Path) -> None:
    async with answering(OK + b"Content-Length: 5\r\n\r\nwords", tls=self_signed(tmp_path)) as port:
        assert "certificate is not valid" in await read(port, scheme="https")


def self_signed(directory: Path) -> ssl.SSLContext:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now, now + timedelta(1))
    both = directory / "both.pem"
    both.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(both)
    return context


async def test_plain_words_on_a_port_of_https_are_an_error() -> None:
    async with website({"/": page("words")}) as site:
        assert (await read(site.port, scheme="https")).startswith("refused: ")


@pytest.mark.gate
@pytest.mark.parametrize(
    "body",
    [
        "<p>word " * 50_000,
        "<p>word " * 600_000,
        "<div>" * 900_000,
        "<b><i>" * 800_000 + "words",
        "<table><tr><td>" * 300_000,
        f"<p {' '.join(f'a{at}=1' for at in range(400_000))}>words",
        "<a href='" * 500_000,
        "<!--" * 1_200_000,
        "<!DOCTYPE" * 500_000,
        "&" * 5_000_000,
        "&#x110000;" * 400_000,
        "<meta charset=" * 300_000,
        "<script>" * 600_000,
        '<script type="application/ld+json">' + "[" * 2_000_000,
        f'<script type="application/ld+json">{{"articleBody": "{"words " * 500_000}"}}</script>',
        "<title>" * 700_000,
        "\x00<" * 2_000_000,
        "<select><option>" * 300_000,
        "<li><ul>" * 500_000,
        "2026-01-01 " * 400_000,
    ],
    ids=range(20),
)
async def test_a_page_that_is_built_to_break_a_parser_is_read_or_refused(body: str) -> None:
    async with website({"/": page(body)}) as site:
        begun_s = asyncio.get_running_loop().time()
        await read(site.port, timeout_s=5)
        assert asyncio.get_running_loop().time() - begun_s < 10
