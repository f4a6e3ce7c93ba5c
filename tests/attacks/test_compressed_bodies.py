"""Compressed request bodies: the gateway decompresses none."""

import gzip
import time

from tests.contract.test_http_connections import raw
from tests.fakes.http import Loaded, served


async def test_compressed_body_is_refused_and_not_decompressed():
    bomb = gzip.compress(bytes(200_000_000), 9)  # 200 KB that would be a thousand times as much
    begun_s = time.process_time()
    gzip.decompress(bomb)
    one_s = time.process_time() - begun_s
    async with served(Loaded()) as url:
        begun_s = time.process_time()
        for path in ["/web/messages", "/web/session", "/nothing", "/healthz", "/webhooks/slack/main/events"] * 2:
            async with raw(url) as connection:
                head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Encoding: gzip\r\n"
                connection.say(f"{head}Content-Length: {len(bomb)}\r\n\r\n".encode() + bomb)
                assert 415 == await connection.status()
        assert time.process_time() - begun_s < one_s
