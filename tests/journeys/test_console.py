"""The operators' console: opened by a link or a key; what it shows, does and refuses."""

import asyncio
import json
import os
import re
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http.cookies import Morsel
from pathlib import Path

import aiohttp
import pytest

from gateway.store import people
from gateway.testing.model import Fault
from tests.fakes.browser import Page, browser, chromium
from tests.fakes.ports import free_address
from tests.journeys.house import WAIT_S, House, house, slow

ANA, BEN, CAT = 1, 2, 3
PAGES = ("", "/people", "/sessions", "/chat", "/schedules", "/inbox", "/outbox", "/usage", "/audit", "/config", "/logs")


FORM = "application/x-www-form-urlencoded"
BROKEN = (
    (FORM, b"secret=\xff"),
    (f"{FORM}; charset=none-such", b"secret=a"),
    ("multipart/form-data; boundary=x", b"--x\r\nb"),
)


class Visit:
    def __init__(self, http: aiohttp.ClientSession, base: str) -> None:
        self._http, self.base = http, base

    @property
    def cookies(self) -> list[Morsel[str]]:
        return list(self._http.cookie_jar)

    async def get(self, path: str, language: str = "en") -> tuple[int, str]:
        async with self._http.get(f"{self.base}{path}", headers={"Accept-Language": language}) as answer:
            return answer.status, await answer.text()

    async def post(self, path: str, headers: dict[str, str] | None = None, **form: str) -> tuple[int, str]:
        async with self._http.post(f"{self.base}{path}", data=form, headers=headers) as answer:
            return answer.status, await answer.text()

    async def send(self, path: str, kind: str, body: bytes) -> tuple[int, str]:
        async with self._http.post(f"{self.base}{path}", data=body, headers={"Content-Type": kind}) as answer:
            return answer.status, await answer.text()

    def browser(self) -> str:
        """Return the cookie by which the web chat knows this browser; "" if there is none."""
        return next((cookie.value for cookie in self.cookies if cookie.key == "tenk_web"), "")


async def link_of(here: House) -> tuple[str, str]:
    link = (await here.operator("POST /v1/console"))["link"]
    base, _, secret = link.partition("#")
    return base, secret


@asynccontextmanager
async def visiting(base: str, secret: str | None = None) -> AsyncIterator[Visit]:
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as http:
        visit = Visit(http, base)
        if secret is not None:
            status, page = await visit.post("/login", secret=secret)
            assert (200, True) == (status, "How it is doing" in page), page
        yield visit


async def owned(here: House) -> str:
    here.sim.add_person(ANA, "Ana")
    here.sim.say(ANA, "hello")
    await here.told(ANA, "To be let in")
    (asked,) = (await here.operator("GET /v1/pairing"))["requests"]
    await here.operator(f"POST /v1/pairing/{asked['request']}/approve")
    await here.told(ANA, "You are in")
    return str(((await here.operator("GET /v1/users"))["users"])[0]["user"])


CAPPED = """
[model.prices]
input_usd_per_mtok = 2
output_usd_per_mtok = 10
[budgets]
user_usd = 2.5
"""


async def test_only_a_key_or_a_link_opens_it(tmp_path: Path) -> None:
    """Cover A17, A19, A20, A21, A22."""
    async with house(tmp_path, access="pairing", config=CAPPED) as here:
        base, secret = await link_of(here)
        async with visiting(base) as stranger:
            for page in PAGES:
                status, text = await stranger.get(page)
                assert (200, True) == (status, 'id="login"' in text)
                assert "<table" not in text
            assert "alcance <code>read</code> u <code>operate</code>" in (await stranger.get("", "es-MX"))[1]
            assert 401 == (await stranger.post("/act", do="approve", request="x"))[0]
            assert 403 == (await stranger.post("/login", {"Origin": "http://evil.example"}, secret=secret))[0]
            assert 403 == (await stranger.post("/login", {"Host": "rebound.example"}, secret=secret))[0]
            claimed = {"Cookie": "tenk_console=cli", "X-Forwarded-For": "127.0.0.1", "X-User": "cli"}
            assert 401 == (await stranger.post("/act", claimed, do="approve", request="x", by="cli", role="owner"))[0]
            for kind, body in BROKEN:
                assert (400, "this form cannot be read\n") == await stranger.send("/login", kind, body)
        async with visiting(base, secret) as operator:
            for page in PAGES:
                status, text = await operator.get(page)
                assert (200, 1) == (status, text.count("<h1>")), text
                status, text = await operator.get(page, "es")
                assert (200, []) == (status, re.findall(r"ops\.\w+|>Nothing", text)), text
                assert '<html lang="es">' in text
            assert 404 == (await operator.get(f"/usage?days={'9' * 5000}"))[0]
            assert 404 == (await operator.get("/usage?by=nothing"))[0]
            assert "by account" in (await operator.get("/usage?by=channel"))[1]
            assert 400 == (await operator.send("/act", *BROKEN[0]))[0]
            assert 400 == (await operator.send("/act", "text/plain", b"do=discard&id=1"))[0]
            configuration = (await operator.get("/config"))[1]
            assert (False, False) == ("sk-journey" in configuration, "[]\nhooks" in configuration)
            assert "user_usd = 2.5" in configuration
            await operator.post("/logout")
            assert 'id="login"' in (await operator.get("/people"))[1]
        async with visiting(base) as guesser:
            tried = []
            for n in range(20):
                elsewhere = {"X-Forwarded-For": f"10.0.0.{n}", "Forwarded": f"for=10.0.0.{n}"}
                wrong = {"secret": f"wrong-{n}" if n else secret, "role": "owner", f"field-{n}": "x"}
                tried.append((await guesser.post("/login", elsewhere, **wrong))[0])
        assert (401, 429) == (tried[0], tried[-1])
        assert 5 >= tried.count(401)


async def test_links_carry_the_public_address_and_no_forged_one(tmp_path: Path) -> None:
    shown: list[str] = []
    public = {"TENK_PUBLIC_URL": "https://Bot.example.com", "TENK_HTTP": free_address()}
    async with house(tmp_path, access="pairing", environ=public, show=shown.append) as here:
        await here.until(lambda: any("Become the owner" in line for line in shown), "the first owner's link")
        assert "https://bot.example.com/?invite=" in "".join(shown)
        base, secret = await link_of(here)
        made = await here.operator("POST /v1/invites", {"role": "member", "days": 1})
        (web,) = (way["link"] for way in made["ways"] if way["account"] == "web:main")
        assert ("https://bot.example.com/console", True) == (base, web.startswith("https://bot.example.com/?invite="))
        async with visiting(f"http://{public['TENK_HTTP']}/console", secret) as owner:
            forged = {
                "X-Forwarded-Host": "evil.example",
                "X-Forwarded-Proto": "https",
                "Forwarded": "host=evil.example",
            }
            assert 403 == (await owner.post("/act", {"Host": "evil.example"}, do="role"))[0]
            assert 400 == (await owner.post("/act", {"Host": "bot.example.com", **forged}, do="link"))[0]
            (cookie,) = owner.cookies
            assert ("Strict", True, "604800") == (cookie["samesite"], cookie["httponly"], cookie["max-age"])
            assert {"sessions": 1} == await here.operator("POST /v1/console/close")
            assert 'id="login"' in (await owner.get("/people"))[1]
        assert base == (await link_of(here))[0]


async def test_an_owner_decides_and_one_who_is_none_any_more_does_not(tmp_path: Path) -> None:
    async with house(tmp_path, access="pairing") as here:
        ana = await owned(here)
        here.sim.say(ANA, "/console")
        secret = re.search(r"(http://\S+/console)#(\S+)", (await here.told(ANA, "opens the console")).text)
        assert secret is not None
        await here.settled()
        kept = b"".join(file.read_bytes() for file in here.home.rglob("tenk.db*"))
        assert (True, False) == (b"opens the console" in kept, secret[2].encode() in kept)
        here.sim.add_person(BEN, "Ben <b>")
        here.sim.say(BEN, "may I?")
        await here.told(BEN, "To be let in")
        (asked,) = (await here.operator("GET /v1/pairing"))["requests"]
        async with visiting(secret[1], secret[2]) as owner:
            _, page = await owner.get("/people")
            assert "Ben &lt;b&gt;" in page
            assert "<b>" not in page.partition("Ask to be let in")[2].partition("</table>")[0]
            _, page = await owner.get(f"/person?id={ana}")
            assert (True, True) == ("<h1>Ana</h1>" in page, "hello" not in page), page
            assert 404 == (await owner.get("/person?id=ana"))[0]
            _, page = await owner.get("/people?q=ANA")
            assert (True, True) == (">Ana</a>" in page, "with “ANA” (1)" in page)
            assert "with “nobody” (0)" in (await owner.get("/people?q=nobody"))[1]
            status, page = await owner.post("/act", {"HX-Request": "true"}, do="approve", request=asked["request"])
            assert (200, True) == (status, "is let in." in page)
            await here.told(BEN, "You are in")
            status, page = await owner.post("/act", {"HX-Request": "true"}, do="approve", request=asked["request"])
            assert (409, True) == (status, "already" in page), page
            status, page = await owner.post("/act", {"HX-Request": "true"}, do="role", who=ana, role="member")
            assert (409, True) == (status, "owner" in page), page
            spanish = {"HX-Request": "true", "Accept-Language": "es"}
            status, page = await owner.post("/act", spanish, do="retry", id="1")
            assert (409, True) == (status, "la parte 1 se entregó" in page), page
            await two_decide_at_once(here, owner)
            ben = next(user for user in (await here.operator("GET /v1/users"))["users"] if user["user"] != ana)
            await here.operator(f"POST /v1/users/{ben['user']}/role", {"role": "owner"})
            await here.operator(f"POST /v1/users/{ana}/role", {"role": "operator"})
            await here.store.commit(lambda c: people.set_locale(c, ana, "es"))  # as `/language` does
            status, page = await owner.post("/act", {"HX-Request": "true"}, do="block", who=ben["user"])
            assert (409, True) == (status, "por debajo del tuyo" in page), page
            await here.operator(f"POST /v1/users/{ana}/role", {"role": "member"})
            assert 'id="login"' in (await owner.get("/people"))[1]


async def two_decide_at_once(here: House, owner: Visit) -> None:
    here.sim.add_person(CAT, "Cat")
    here.sim.say(CAT, "and I?")
    await here.told(CAT, "To be let in")
    (asked,) = (await here.operator("GET /v1/pairing"))["requests"]
    async with visiting(*(await link_of(here))) as other:
        htmx, same = {"HX-Request": "true"}, asked["request"]
        async with asyncio.TaskGroup() as tasks:
            first = tasks.create_task(owner.post("/act", htmx, do="approve", request=same))
            second = tasks.create_task(other.post("/act", htmx, do="deny", request=same))
    assert [200, 409] == sorted((first.result()[0], second.result()[0])), (first.result(), second.result())
    assert [] == (await here.operator("GET /v1/pairing"))["requests"]


async def test_a_conversation_is_read_as_a_timeline_and_a_key_to_read_changes_nothing(tmp_path: Path) -> None:
    async with house(tmp_path, access="pairing") as here:
        ana = await owned(here)
        await here.settled()
        key = (await here.operator("POST /v1/keys", {"name": "eyes", "scopes": ["read"]}))["key"]
        base, _ = await link_of(here)
        async with visiting(base, key) as reader:
            _, page = await reader.get("/sessions")
            found = re.search(r'href="/console(/session\?id=[^"]+)"', page)
            assert found is not None and "hello" not in page, page
            _, page = await reader.get(found[1])
            assert "hello" not in page and "Ana" in page
            assert page.index("admitted") < page.index("claimed") < page.index("part put")
            assert "call_key" not in page and " in +" not in page
            here.sim.faults.load([{"kind": "status", "method": "sendMessage", "status": 403}])
            here.sim.say(ANA, "are you there?")
            async with asyncio.timeout(30):
                while not any(
                    part["parked"]
                    for part in (await here.operator("GET /v1/outbox", {"state": "ready,sending,unknown,dead"}))[
                        "parts"
                    ]
                ):
                    await asyncio.sleep(0.02)
            assert "</span>parked</td>" in (await reader.get("/outbox"))[1], "a person who blocked the bot is not ready"
            unknown = await reader.get("/session?id=ffffffff", "es"), await reader.get("/inbox?outcome=nope", "es")
            assert [404, 404] == [status for status, _ in unknown]
            assert ("no existe esa conversación" in unknown[0][1], "no es un resultado" in unknown[1][1]) == (
                True,
                True,
            )
            assert "A short answer" not in page
            assert 404 == (await reader.get("/session?id=nobody-has-this"))[0]
            assert '<form method="post" action="/console/act"' not in (await reader.get("/people"))[1]
            assert 403 == (await reader.post("/act", do="role", who=ana, role="owner"))[0]
            await here.operator(f"POST /v1/keys/{key.split('-')[1]}/revoke")
            assert 'id="login"' in (await reader.get("/"))[1] or 'id="login"' in (await reader.get(""))[1]


async def test_a_model_is_tried_again_and_the_agents_pause_and_resume(tmp_path: Path) -> None:
    async with house(tmp_path, config="[model]\ntries = 1\n", environ={"TENK_MODEL": "openai:test"}) as here:
        here.model.answers(Fault(status=401, body={"error": {"message": "bad key"}}))
        here.sim.say(ANA, "hello")
        await here.told(ANA, "not connected")
        async with visiting(*await link_of(here)) as machine:
            assert "Try it now: openai:test" in (await machine.get(""))[1]
            here.model.answers(Fault(status=401, body={"error": {"message": "bad key"}}))
            for words in ("It does not answer", "asks it again"):
                tried = {"do": "try_model", "model": "openai:test"}
                status, page = await machine.post("/act", {"HX-Request": "true"}, **tried)
                assert (200, True) == (status, words in page), page
            assert "answered at 20" in (await here.operator("GET /v1/status"))["models"]["openai:test"]
            assert "The agents are paused." in (await machine.post("/act", {"HX-Request": "true"}, do="pause"))[1]
            here.sim.say(ANA, "and now?")
            page = (await machine.get(""))[1]
            assert (True, False) == ("messages wait" in page, "Pause the agents" in page), page
            assert "The agents work again." in (await machine.post("/act", {"HX-Request": "true"}, do="resume"))[1]
        await here.told(ANA, "A short answer.")


async def test_who_opens_the_chat_talks_as_themselves_without_pairing(tmp_path: Path) -> None:
    async with house(tmp_path, access="pairing") as here:
        await owned(here)
        here.sim.say(ANA, "/console")
        link = re.search(r"(http://\S+/console)#(\S+)", (await here.told(ANA, "opens the console")).text)
        assert link is not None
        for base, secret in ((link[1], link[2]), await link_of(here)):
            async with visiting(base, secret) as visit:
                assert (
                    200 == (await visit.post("/../web/session", {"Origin": base.removesuffix("/console")}))[0]
                )  # as a frame of the web chat, or another server on this host that sets a cookie of its own
                planted, known = visit.browser(), set[str]()
                for _ in range(2):
                    assert "Say something" in (await visit.get("/chat"))[1]
                    known.add(visit.browser())
                assert 1 == len(known), "the browser stays the same once it is known"
                assert planted not in known | {""}
        people = (await here.operator("GET /v1/users"))["users"]
        kinds = [{sender.partition(":")[0] for sender in person["senders"]} for person in people]
        assert sorted([["telegram", "web"], ["console", "web"]]) == sorted(sorted(kind) for kind in kinds)
        assert [1, 1] == [sum(s.startswith("web:") for s in person["senders"]) for person in people]


async def test_settings_are_changed_while_it_runs_with_the_checks_of_the_command(tmp_path: Path) -> None:
    environ = {"TENK_MODEL": "openai:journey"}
    async with house(tmp_path, access="pairing", config=CAPPED, environ=environ) as here:
        await owned(here)
        file = tmp_path / "gateway.toml"
        async with visiting(*await link_of(here)) as machine:

            async def put(key: str, value: str) -> tuple[int, str]:
                return await machine.post("/act", {"HX-Request": "true"}, do="set", key=key, value=value)

            assert 'name="key" value="budgets.user_usd"' in (await machine.get("/config"))[1]
            status, page = await put("budgets.user_usd", "7.25")
            assert (200, True) == (status, "In force now: budgets.user_usd." in page), page
            assert "user_usd = 7.25" in file.read_text()
            assert "user_usd = 7.25" in (await machine.get("/config"))[1]
            assert 409 == (await machine.post("/act", {"HX-Request": "true"}, do="set"))[0]
            status, page = await put("channels.telegram.other.token", "not-a-token-but-secret")
            assert (409, False) == (status, "but-secret" in page)
            wrong = {
                "budgets.user_usd": ("-1", "0.000001 or more"),
                "gateway.log_level": ("debug", "next start"),
                "model.name": ("openai:other", "TENK_MODEL sets this"),
                "no.such": ("1", "there is no such key"),
                "model.prices": ("", "has no price"),  # what only a reload notices is undone
                "Ñ": ("1", "joined by dots"),
            }
            for key, (value, why) in wrong.items():
                status, page = await put(key, value)
                (problem,) = re.findall(r'<p class="problem"[^>]*>(.*?)</p>', page, re.DOTALL)
                assert (409, True) == (status, why in problem), (key, problem)
            status, page = await put("model.api_key", "sk-new-and-secret")
            assert (409, True) == (status, "OPENAI_API_KEY sets this" in page)
            assert "sk-new" not in page
            assert (409, True) == ((found := await put("budgets.user_usd", "9" * 20_001))[0], "20,001" not in found[1])
            kept = file.read_text()
            assert (True, True) == ("user_usd = 7.25" in kept, "input_usd_per_mtok = 2" in kept)
            file.write_text(f"{kept}[retention]\naudit_days = 700\n")
            assert 200 == (await put("budgets.user_usd", ""))[0]
            assert "user_usd" not in file.read_text()
        changes = (await here.operator("GET /v1/audit", {"action": "setting_changed"}))["changes"]
        assert ["from the file", "removed", ""] == [one["detail"] for one in changes]
        file.write_text(file.read_text().replace("days = 700", "days = 800") + "[gateway]\nlog_level = 'debug'\n")
        os.kill(os.getpid(), signal.SIGHUP)
        reloads: list[dict[str, str]] = []
        async with asyncio.timeout(WAIT_S):
            while not reloads:
                await asyncio.sleep(0.01)
                reloads = (await here.operator("GET /v1/audit", {"action": "configuration_reloaded"}))["changes"]
        found = {(row["by"], row["subject"], row["detail"]) for row in reloads}
        assert {("cli", "retention.audit_days", ""), ("cli", "gateway.log_level", "at the next start")} == found
        here.sim.say(ANA, "/console")
        secret = re.search(r"(http://\S+/console)#(\S+)", (await here.told(ANA, "opens the console")).text)
        assert secret is not None
        async with visiting(secret[1], secret[2]) as owner:  # who does not have the machine
            assert 'value="set"' not in (await owner.get("/config"))[1]
            status, page = await owner.post("/act", {"HX-Request": "true"}, do="set", key="access.direct", value="open")
            assert (409, True) == (status, "only an operator decides that" in page), page


@pytest.mark.browser
@pytest.mark.timeout(240)
@pytest.mark.skipif(chromium() is None, reason="no Chromium is installed (Debian: apt-get install chromium)")
async def test_it_is_used_in_a_browser_and_on_a_phone(tmp_path: Path) -> None:
    async with house(tmp_path, access="pairing") as here, browser(tmp_path / "profile") as page:
        await owned(here)
        await here.settled()
        here.sim.add_person(BEN, "Ben")
        here.sim.say(BEN, "may I?")
        await here.told(BEN, "To be let in")
        await page.look(1200, 900)
        link = (await here.operator("POST /v1/console"))["link"]
        await page.go(link.partition("#")[0])
        await page.until("!!document.getElementById('login')")  # who has it open already follows the link there, too
        await page.go(link)
        await page.until("document.querySelector('h1')?.textContent === 'How it is doing'")
        await page.picture(tmp_path / "console-1.png")
        await page.value(
            "[...document.querySelectorAll('nav a')].find((link) => link.textContent === 'People').click()"
        )
        await page.until("document.querySelector('h1')?.textContent === 'People'")
        await page.until("typeof htmx !== 'undefined'")
        await page.value("document.querySelector('[aria-label=\"Approve: Ben\"]').focus()")
        await page.press("Enter")
        await page.until("document.getElementById('said').textContent === 'Ben is let in.'")
        await page.until("document.activeElement.id === 'said'")  # not the button that is there now
        await here.told(BEN, "You are in")
        await page.picture(tmp_path / "console-2.png")
        for name in ("usage", "sessions", "logs"):
            await page.value(f"document.querySelector('nav a[href=\"/console/{name}\"]').click()")
            await page.until(f"location.pathname === '/console/{name}' && document.readyState === 'complete'")
            await page.picture(tmp_path / f"console-{name}.png")
            if name == "usage":
                await page.until("document.querySelectorAll('.chart canvas').length === 2")
        await page.value("document.querySelector('nav a[href=\"/console/sessions\"]').click()")
        await page.until("document.querySelector('tbody a') && location.pathname === '/console/sessions'")
        await page.value(
            "document.querySelector('tbody a').focus(); document.getElementById('part').dataset.old = '1'; 0"
        )
        await page.until("!document.getElementById('part').dataset.old")  # it has renewed itself
        assert await page.value("document.activeElement === document.querySelector('tbody a')")
        await page.press("Enter")
        await page.until("document.querySelectorAll('.hops li').length > 5")
        session = await page.value("location.pathname + location.search")
        await page.go(await page.value("location.origin + '/console/people'"))
        person = await page.until("(link => link && link.pathname + link.search)(document.querySelector('th a'))")
        assert [] == page.complaints
        assert [] == await barriers_of(page, tmp_path, session, person)


@pytest.mark.browser
@pytest.mark.timeout(240)
@pytest.mark.skipif(chromium() is None, reason="no Chromium is installed (Debian: apt-get install chromium)")
async def test_keys_alone_open_the_menu_and_change_a_setting(tmp_path: Path) -> None:
    async with house(tmp_path, config=CAPPED) as here, browser(tmp_path / "profile") as page:
        await page.look(390, 844, phone=True)
        await page.go((await here.operator("POST /v1/console"))["link"])
        await page.until("document.querySelector('.menu')?.hidden === false")
        focused = "document.activeElement"

        async def tab_to(what: str) -> None:
            for _ in range(200):
                await page.press("Tab")
                if await page.value(f"{focused}.matches({what!r})"):
                    assert await page.value(f"getComputedStyle({focused}).outlineStyle !== 'none'"), what
                    return
            raise AssertionError(f"no key leads to {what}")

        assert not await page.value("document.querySelector('nav').checkVisibility()")
        await tab_to("a.skip")
        await tab_to(".menu")
        await page.press("Enter")
        await tab_to('nav a[href="/console/config"]')
        await page.press("Enter")
        await page.until("location.pathname === '/console/config' && document.querySelector('.menu')?.hidden === false")
        await tab_to("details:has([id='set-budgets.user_usd']) > summary")
        await page.press("Enter")
        await tab_to('[id="set-budgets.user_usd"]')
        await page.type("x")  # over what is selected
        await page.press("Enter")
        await page.until(f"{focused}.getAttribute('aria-invalid') && !document.querySelector('.htmx-settling')")
        problem = await page.value(f"document.getElementById({focused}.getAttribute('aria-describedby')).textContent")
        assert "a number is wanted" in problem
        await page.value(f"{focused}.select()")
        await page.type("3")
        await page.press("Enter")
        await page.until("document.getElementById('said').textContent === 'In force now: budgets.user_usd.'")
        assert "user_usd = 3" in (tmp_path / "gateway.toml").read_text()


CUT = """[...document.querySelectorAll(".scroll, .scroll *, button")]
    .filter((each) => each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).display !== "inline")
    .map((each) => each.outerHTML.slice(0, 80))"""
"""Elements whose content is wider than they are."""


@pytest.mark.browser
@pytest.mark.timeout(240)
@pytest.mark.skipif(chromium() is None, reason="no Chromium is installed (Debian: apt-get install chromium)")
async def test_days_and_times_are_those_of_the_browsers_zone(tmp_path: Path) -> None:
    async with house(tmp_path, access="pairing") as here, browser(tmp_path / "profile") as page:
        await owned(here)
        await here.settled()
        for zone in ("Europe/Madrid", "Pacific/Auckland", "America/Los_Angeles"):
            await page.call("Emulation.setTimezoneOverride", timezoneId=zone)
            await page.go((await here.operator("POST /v1/console"))["link"])
            await page.until(f"document.querySelector('.zone')?.textContent.includes('{zone}')")
            await page.go(await page.value("location.origin + '/console/usage'"))
            await page.until("document.querySelectorAll('.chart canvas').length === 2")  # no prices, no chart of them
            charts = json.loads(await page.value("document.querySelector('.charts').dataset.charts"))
            assert await page.value("new Date().toLocaleDateString('sv')") == charts["days"][-1]
            assert (0, 1) == (sum(charts["calls"][:-1]), charts["calls"][-1])
            await page.go(await page.value("location.origin + '/console/sessions'"))
            at = "document.querySelector('td time')"
            await page.until(f"!!{at}")
            assert await page.value(f"new Date({at}.dateTime).toLocaleString('sv') === {at}.textContent")
            await page.call("Network.clearBrowserCookies")
        assert [] == page.complaints


@pytest.mark.browser
@pytest.mark.timeout(240)
@pytest.mark.skipif(chromium() is None, reason="no Chromium is installed (Debian: apt-get install chromium)")
async def test_an_operator_talks_with_the_agent_and_sees_its_steps_grow(tmp_path: Path) -> None:
    async with house(tmp_path) as here, browser(tmp_path / "profile") as page:
        here.model.brain = lambda _body: slow("Good evening, operator. " * 20, seconds=4)
        await page.look(1280, 900)
        await page.go((await here.operator("POST /v1/console"))["link"])
        await page.until("!!document.querySelector('nav a[href=\"/console/chat\"]')")
        await page.value("document.querySelector('nav a[href=\"/console/chat\"]').click()")
        inside = "document.querySelector('iframe').contentDocument"
        await page.until(f"{inside}.getElementById('state')?.textContent === 'Online'")
        await page.until("document.getElementById('part').innerText.includes('Say something')")
        await page.value(f"{inside}.getElementById('text').focus()")
        await page.type("good evening")
        await page.press("Enter")
        running = "[...document.querySelectorAll('.turn h2')].some((head) => head.textContent.includes('at work'))"
        begun = await page.until(f"{running} && document.querySelectorAll('.hops li').length")
        await page.until("document.querySelector('.turn h2')?.textContent.includes('completed')")
        assert begun < await page.value("document.querySelectorAll('.hops li').length")
        await page.until(f"{inside}.body.innerText.includes('Good evening, operator.')")
        assert "evening" not in await page.value("document.getElementById('part').innerText")
        for width, dark in ((390, True), (1280, False)):
            await page.look(width, 844, phone=width < 500, dark=dark)
            assert [] == await page.barriers()
            await page.picture(tmp_path / f"console-chat-{width}.png")
        assert [] == page.complaints


async def barriers_of(page: Page, pictures: Path, *more: str) -> list[str]:
    found = []
    base = await page.value("location.origin")
    for path in (*(f"/console{name}" for name in PAGES), *more, "/console/outbox?state=none"):
        await page.go(f"{base}{path}")
        await page.until(f"location.pathname + location.search === '{path}' && document.readyState === 'complete'")
        for width, dark in ((390, False), (390, True), (1280, False), (1280, True)):
            await page.look(width, 844, phone=width < 500, dark=dark)
            name = f"{path.replace('/', '-').replace('?', '-')[1:40]}-{width}-{'dark' if dark else 'light'}"
            found += [f"{name}: {barrier}" for barrier in await page.barriers()]
            wide = await page.value("document.documentElement.scrollWidth") > width
            found += [f"{name} is wider than its window"] if wide else []
            found += [f"{name}: {what} is cut" for what in await page.value(CUT)]
            await page.picture(pictures / f"{name}.png")
    await page.look(390, 844, phone=True)
    await page.value("document.querySelector('.who button').click()")
    await page.until("!!document.getElementById('login')")
    return found + [f"login: {barrier}" for barrier in await page.barriers()]
