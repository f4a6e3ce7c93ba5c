"""Hostile requests generated from our own OpenAPI document: no request breaks the gateway.

Every case is one request to one operation, its parts good, bad or absurd by chance. The answer must have a status that
the document names, in the model that it names, and never a 5xx.
"""

import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from yarl import URL

from gateway.http.api.problems import ApiProblemAnswer
from tests.fakes.api import ApiHouse, api_house

SAMPLE = 150
WHOLE = 1_500

WORDS = [
    "", " ", "\x00", "../..", "main", "t-1", "%00", "a" * 200, "1", "-1", "0x10", "null", "NaN", "é", "🎸", "/log 5m a",
    "9" * 30, "true", "2026-11-22", "0000-00-00", "9999-12-31", "/plan", "/new", "/stop", "x'; DROP TABLE users; --",
]  # fmt: skip
TEXTS = st.text(max_size=40) | st.sampled_from(WORDS)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
RAW = st.sampled_from(
    [b"", b"{", b"null", b"[]", b'"x"', b"\xff\xfe", b"{}{}", b'{"message": "\\ud800"}', b"[" * 5000, b"1e999"]
)
NAMES = [
    "Idempotency-Key",
    "Accept-Language",
    "X-Tenk-Session",
    "X-Stainless-Retry-Count",
    "Content-Type",
    "Origin",
    "Accept",
]
VALUES = ["", "a", "es-MX", "en;q=0.9, *", "application/json", "text/plain", "null", "1", "x" * 300, "a b"]
HEADERS = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(VALUES), max_size=2)

Request = tuple[str, str, bytes | None, dict[str, str]]
"""Method, path with its query, body, headers."""


def good(schema: dict[str, Any], whole: dict[str, Any]) -> st.SearchStrategy[Any]:
    if "$ref" in schema:
        return good(whole["components"]["schemas"][schema["$ref"].rpartition("/")[2]], whole)
    if "anyOf" in schema:
        return st.one_of([good(option, whole) for option in schema["anyOf"]])
    if "enum" in schema or "const" in schema:
        return st.sampled_from(schema.get("enum") or [schema["const"]])
    match schema.get("type"):
        case "object":
            fields = {name: good(value, whole) for name, value in schema.get("properties", {}).items()}
            needed = {name: fields.pop(name) for name in schema.get("required", ())}
            return st.fixed_dictionaries(needed, optional=fields)
        case "array":
            return st.lists(good(schema.get("items", {}), whole), max_size=3)
        case "integer":
            return st.integers(int(schema.get("minimum", -5)), int(schema.get("maximum", 500)))
        case "number":
            return st.sampled_from([0, 0.01])  # seconds to wait, all of them
        case "boolean":
            return st.booleans()
        case "string":
            return st.sampled_from(
                ["main", "hello", "/log 45m guitar", "/help", "2026-11-22", "guitar", "telegram:main"]
            )
        case "null":
            return st.none()
    return JSON


@st.composite
def requests(draw: st.DrawFn, whole: dict[str, Any]) -> Request:
    path, methods = draw(st.sampled_from(sorted(whole["paths"].items())))
    method, operation = draw(st.sampled_from(sorted(methods.items())))
    query: list[tuple[str, str]] = []
    for param in operation["parameters"]:
        if param["in"] == "path":
            value = draw(st.sampled_from(["main", "t-1", "1", "coach", "00000000", "9" * 40]) | TEXTS)
            path = path.replace(f"{{{param['name']}}}", _quoted(value))
        elif param["in"] == "query" and draw(st.booleans()):
            query.append((param["name"], str(draw(good(param["schema"], whole) | TEXTS))))
    if draw(st.integers(0, 9)) == 0:
        query.append((draw(TEXTS), draw(TEXTS)))
    body: bytes | None = None
    if "requestBody" in operation:
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        body = draw(st.one_of(good(schema, whole).map(_dump), good(schema, whole).map(_dump), JSON.map(_dump), RAW))
    elif draw(st.integers(0, 4)) == 0:
        body = draw(RAW)
    tail = "&".join(f"{_quoted(name)}={_quoted(value)}" for name, value in query)
    return method.upper(), path + (f"?{tail}" if tail else ""), body, draw(HEADERS)


def _dump(value: object) -> bytes:
    return json.dumps(value).encode()


def _quoted(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode("utf-8", "replace"))


async def ask(here: ApiHouse, http: aiohttp.ClientSession, request: Request) -> tuple[int, str, bytes]:
    method, path, body, headers = request
    sent = {"Content-Type": "application/json", **headers}
    async with http.request(method, URL(here.url + path, encoded=True), data=body, headers=sent) as answer:
        return answer.status, answer.content_type, await answer.read()


def check(request: Request, status: int, kind: str, body: bytes) -> None:
    assert status < 500, (request, status, body[:500])
    if status >= 400:
        assert "application/json" == kind, (request, status, kind)
        assert ApiProblemAnswer.model_validate_json(body).error.what_to_do, request


async def fuzz(directory: Path, cases: int) -> None:
    async with api_house(directory, offline=True) as here:
        program = await here.program("chat read operate")
        _, whole = await program.ask("GET", "/v1/openapi.json")
        del whole["paths"]["/v1/pause"]  # it would refuse the requests after it
        loop = asyncio.get_running_loop()

        @settings(
            max_examples=cases,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(requests(whole))
        def try_all(request: Request) -> None:
            asked = asyncio.run_coroutine_threadsafe(ask(here, program.http, request), loop)
            check(request, *asked.result(timeout=60))

        await asyncio.to_thread(try_all)
        status, _ = await program.ask("GET", "/v1/users")
    assert 200 == status


async def test_no_hostile_request_breaks_the_api(tmp_path: Path) -> None:
    await fuzz(tmp_path, SAMPLE)


@pytest.mark.gate
@pytest.mark.timeout(600)
async def test_no_request_of_1500_breaks_the_api(tmp_path: Path) -> None:
    await fuzz(tmp_path, WHOLE)
