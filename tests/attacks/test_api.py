"""Attacks on `/v1` by strangers, other sites' pages and keys without the scope: an error of one shape."""

import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp
from structlog.testing import capture_logs

from tests.fakes.api import ApiHouse, ApiProgram, api_house

PAGE = "https://app.example.com"
LISTED = f'cors_origins = ["{PAGE}"]'


async def raw(here: ApiHouse, path: str, method: str = "GET", **more: Any) -> tuple[int, Any, dict[str, str]]:
    async with aiohttp.ClientSession() as session, session.request(method, here.url + path, **more) as answer:
        text = await answer.text()
        return answer.status, json.loads(text) if text else None, dict(answer.headers)


async def test_only_a_key_that_holds_opens_anything(tmp_path: Path) -> None:
    async with api_house(tmp_path) as here:
        key = await here.key("chat read operate")
        wrong = [None, "Basic abc", "Bearer", "Bearer x", f"Bearer {key}0", f"Bearer {key[:-1]}", f"Bearer {key[:-1]}x"]
        wrong += [f"Bearer {key.upper()}", f"Bearer tenk-{'a' * 8}-{'0' * 32}", "Bearer " + "a" * 4000, "Bearer \u00e9"]
        for given in wrong:
            headers = {} if given is None else {"Authorization": given}
            status, body, sent = await raw(here, "/v1/sessions", headers=headers)
            assert (401, "Bearer") == (status, sent["WWW-Authenticate"]), given
            assert body["error"]["code"] in {"key_missing", "key_refused"}
            assert "tenk keys create" in body["error"]["what_to_do"]
        program = ApiProgram(here, key)
        assert 200 == (await program.ask("GET", "/v1/sessions"))[0]
        await here.operator(f"POST /v1/keys/{key.split('-')[1]}/revoke")
        status, body = await program.ask("GET", "/v1/sessions")
    assert (401, "key_refused") == (status, body["error"]["code"])


async def test_each_route_asks_for_its_scope(tmp_path: Path) -> None:
    scopes = ("chat", "read", "operate")
    async with api_house(tmp_path, offline=True) as here:
        _, document, _ = await raw(here, "/v1/openapi.json")
        without = {scope: await here.program(" ".join(set(scopes) - {scope})) for scope in scopes}
        found: dict[str, set[int]] = {}
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                (scope,) = [scope for scope in scopes if f"`{scope}`" in operation["description"]]
                asked = path.replace("{", "").replace("}", "")
                status, body = await without[scope].ask(method.upper(), asked, json={})
                found.setdefault(scope, set()).add(status)
                assert "scope_missing" == body["error"]["code"], (method, path)
        audit = (await here.operator("GET /v1/audit"))["changes"]
    assert {scope: {403} for scope in scopes} == found
    assert {"api_key_created"} == {row["action"] for row in audit}


async def test_pages_of_others_are_not_heard(tmp_path: Path) -> None:
    async with api_house(tmp_path) as here:
        program = await here.program()
        asked = {"Origin": PAGE, "Access-Control-Request-Method": "POST"}
        status, body, sent = await raw(here, "/v1/chat", "OPTIONS", headers=asked)
        assert (403, "Access-Control-Allow-Origin" in sent) == (status, False)
        status, body = await program.ask("POST", "/v1/chat", json={"message": "hi"}, headers={"Origin": PAGE})
        assert (403, []) == (status, here.model.requests)
        assert body["error"]["message"]
    async with api_house(tmp_path, http=LISTED) as here:
        again = ApiProgram(here, program.key)
        asked |= {"Access-Control-Request-Headers": "authorization, x-stainless-os"}
        status, _, sent = await raw(here, "/v1/chat", "OPTIONS", headers=asked)
        assert (204, PAGE) == (status, sent["Access-Control-Allow-Origin"])
        assert "x-stainless-os" in sent["Access-Control-Allow-Headers"]
        posting = {"json": {"message": "hi"}, "headers": {"Origin": PAGE}}
        async with again.http.post(f"{here.url}/v1/chat", **posting) as answer:
            assert (200, PAGE) == (answer.status, answer.headers["Access-Control-Allow-Origin"])
        for other in ("https://evil.example", "null", f"{PAGE}.evil.example", PAGE.upper()):
            status, _ = await again.ask("POST", "/v1/chat", json={"message": "hi"}, headers={"Origin": other})
            assert 403 == status, other
            async with again.http.get(f"{here.url}/v1/sessions", headers={"Origin": other}) as answer:
                assert "Access-Control-Allow-Origin" not in answer.headers


async def test_a_name_that_was_rebound_learns_nothing(tmp_path: Path) -> None:
    """Cover A20."""
    async with api_house(tmp_path) as here:
        program = await here.program()
        status, body = await program.ask("GET", "/v1/sessions", headers={"Host": "evil.example"})
        docs, _, _ = await raw(here, "/v1/openapi.json", headers={"Host": "evil.example"})
    assert (403, "host_refused", 403) == (status, body["error"]["code"], docs)


NO_REQUESTS: list[tuple[bytes, dict[str, str], int]] = [
    (b"{" + b" " * 1_000_001 + b"}", {}, 413),
    (b'{"message": "' + b"a" * 100_001 + b'"}', {}, 422),
    (b"\x1f\x8b", {"Content-Encoding": "gzip"}, 415),
    (b"message=hi", {"Content-Type": "text/plain"}, 415),
    (b"{", {}, 400),
    (b"[" * 100_000, {}, 400),
    (b'{"message": "\\ud800"}', {}, 400),
    (b'{"message": "hi", "message": 4}', {}, 422),
    (b'{"message": "hi", "wait_s": 1e999}', {}, 422),
    (b'{"message": "hi", "wait_s": NaN}', {}, 422),
    (b'{"message": "hi", "user": "../../etc"}', {}, 422),
    (b'{"message": "hi", "user": "a:b"}', {}, 422),
    (b'{"message": "hi", "session": ""}', {}, 422),
    (b'{"message": "hi", "role": "owner"}', {}, 422),
    (b'{"message": " \\u0000 "}', {}, 422),
    (b'{"message": "hi"}', {"Idempotency-Key": "a b"}, 422),
]
"""A body, its headers, and the status it is answered with."""


async def test_what_is_no_request_is_told_so(tmp_path: Path) -> None:
    async with api_house(tmp_path, offline=True) as here:
        program = await here.program()
        for body, headers, status in NO_REQUESTS:
            sent = {"Content-Type": "application/json", **headers}
            found, problem = await program.ask("POST", "/v1/chat", data=body, headers=sent)
            assert status == found, (body[:60], problem)
            assert {"code", "message", "what_to_do", "type"} <= set(problem["error"])
        assert [] == (await program.get("/v1/sessions"))["sessions"]


async def test_a_key_is_nowhere_but_in_its_holders_hand(tmp_path: Path) -> None:
    with capture_logs() as lines:
        async with api_house(tmp_path) as here:
            key = await here.key("chat read operate")
            secret = key.split("-")[2]
            program = ApiProgram(here, key)
            await program.say("hello")
            _, users = await program.ask("GET", "/v1/users")
            kept = (await here.operator("GET /v1/keys"))["keys"]
            audit = (await here.operator("GET /v1/audit"))["changes"]
            asked = [str(request.body) for request in here.model.requests]
    files = b"".join(path.read_bytes() for path in here.home.rglob("*") if path.is_file())
    assert secret not in json.dumps([users, kept, audit, asked]) + repr(lines)
    assert secret.encode() not in files
    assert key.split("-")[1].encode() in files


async def test_an_operators_key_is_no_owner(tmp_path: Path) -> None:
    async with api_house(tmp_path) as here:
        program, operator = await here.program(), await here.program("read operate")
        await program.say("hello", user="ana")
        (ana,) = (await operator.get("/v1/users"))["users"]
        path = f"/v1/users/{ana['user']}"
        raised, problem = await operator.ask("POST", f"{path}/role", json={"role": "owner"})
        await here.operator(f"POST /v1/users/{ana['user']}/role", {"role": "owner"})
        blocked, _ = await operator.ask("POST", f"{path}/block")
        unmade, _ = await operator.ask("POST", f"{path}/role", json={"role": "member"})
        code, _ = await operator.ask("POST", "/v1/pairing/approve", json={"code": "AAAA-AAAA"})
    assert (409, 409, 409, 409) == (raised, blocked, unmade, code)
    assert "refused" == problem["error"]["code"]


async def test_a_failed_delivery_is_driven_again_by_an_operator(tmp_path: Path) -> None:
    async with api_house(tmp_path) as here:
        program, operator = await here.program(), await here.program("read operate")
        await program.say("hello")
        await program.say("hello again")

        def spoil(connection: Any) -> None:
            connection.exec_driver_sql("UPDATE outbox SET state = 'dead', error = 'refused'")

        await here.store.commit(spoil)
        newest, oldest = (await operator.get("/v1/outbox"))["parts"]
        retried = await operator.ask("POST", f"/v1/outbox/{newest['id']}/retry")
        dropped = await operator.ask("POST", f"/v1/outbox/{oldest['id']}/discard")
        again, _ = await operator.ask("POST", f"/v1/outbox/{oldest['id']}/discard")
        async with asyncio.timeout(30):
            while (await here.store.read(states))[newest["id"]] != "sent":
                await asyncio.sleep(0.01)
        left = (await operator.get("/v1/outbox"))["parts"]
    assert ("dead", "refused") == (newest["state"], newest["error"])
    assert "short answer" not in json.dumps([newest, oldest])
    assert ((200, "ready"), (200, "discarded")) == (
        (retried[0], retried[1]["state"]),
        (dropped[0], dropped[1]["state"]),
    )
    assert (404, []) == (again, left)


def states(connection: Any) -> dict[int, str]:
    return {row.id: row.state for row in connection.exec_driver_sql("SELECT id, state FROM outbox")}


async def test_an_instant_without_an_offset_is_utc(tmp_path: Path) -> None:
    async with api_house(tmp_path, offline=True) as here:
        program = await here.program("read")
        listed = {
            since: await program.ask("GET", f"/v1/audit?since={since}") for since in ("2026-11-22", "2999-01-01T00:00")
        }
    assert [200, 200] == [status for status, _ in listed.values()]
    assert [] == listed["2999-01-01T00:00"][1]["changes"]
