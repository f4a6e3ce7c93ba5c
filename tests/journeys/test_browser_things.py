"""Files and second browsers on the chat page in a real Chromium."""

import base64
from pathlib import Path

from tests.fakes.browser import Page, browser
from tests.journeys.browsing import IN_CHROMIUM, ONLINE, PNG, GatewayProcess, let_in, wait_for
from tests.journeys.test_browser_chat import SAID

pytestmark = IN_CHROMIUM

DROP = f"""(() => {{
  const files = new DataTransfer();
  const png = Uint8Array.from(atob('{base64.b64encode(PNG).decode()}'), (c) => c.charCodeAt(0));
  files.items.add(new File(['# Notes\\nscales in C'], 'notes.md'));
  files.items.add(new File([png], 'cat.png', {{ type: 'image/png' }}));
  files.items.add(new File([new Uint8Array(9000000)], 'film.mp4', {{ type: 'video/mp4' }}));
  dispatchEvent(new DragEvent('drop', {{ dataTransfer: files, cancelable: true }}));
}})()"""


PASTE = """(() => {
  const clipboard = new DataTransfer();
  clipboard.items.add(new File(['pasted'], 'pasted.txt', { type: 'text/plain' }));
  const event = new ClipboardEvent('paste', { clipboardData: clipboard, bubbles: true, cancelable: true });
  document.getElementById('text').dispatchEvent(event);
  return event.defaultPrevented;
})()"""
PART = "document.querySelector('.chip.going progress')?.value"


async def pick_and_paste(page: Page, directory: Path) -> None:
    picked = directory / "picked.bin"
    picked.write_bytes(bytes(600_000))
    await page.call("Network.enable")
    slow = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 150_000}
    await page.call("Network.emulateNetworkConditions", **slow)
    document = await page.call("DOM.getDocument")
    picker = await page.call("DOM.querySelector", nodeId=document["root"]["nodeId"], selector="#picker")
    await page.call("DOM.setFileInputFiles", nodeId=picker["nodeId"], files=[str(picked)])
    await page.until(f"{PART} > 0 && {PART} < 1")
    assert "%" in await page.value("document.querySelector('.chip.going').innerText")
    await page.call("Network.emulateNetworkConditions", **slow | {"uploadThroughput": -1})
    assert await page.value(PASTE)
    await page.until("document.querySelectorAll('.chip.here').length === 4")


async def test_files_go_with_a_message_and_are_seen_again(
    page: Page, gateway: GatewayProcess, pictures: Path, tmp_path: Path
):
    await page.go(gateway.url)
    await page.until(ONLINE)
    await page.value(DROP)
    await page.until("document.querySelector('.chip.failed')?.innerText.includes('once you have been let in')")
    await page.call("Page.reload")
    await let_in(page, gateway)
    await page.value(DROP)
    await page.until("document.querySelectorAll('.chip.here').length === 2")
    assert "film.mp4” is over 8.0 MB" in await page.value("document.querySelector('.chip.failed').innerText")
    await page.picture(pictures / "1-chips.png")
    await pick_and_paste(page, tmp_path)
    await page.say("what is in my notes?")
    await page.until("document.querySelector('.me .picture img')?.naturalWidth === 1")
    await page.until("document.querySelectorAll('.waits').length === 0 && document.getElementById('stop').hidden")
    await page.picture(pictures / "2-sent.png")
    await page.value("sessionStorage.clear(); 1")
    await page.call("Page.navigate", url="about:blank")
    gateway.end()
    gateway.start()
    await wait_for(gateway)
    await page.go(gateway.url)
    await page.until("document.querySelector('.me .picture img')?.naturalWidth === 1")
    assert "notes.md" in await page.value("document.querySelector('.me .file').innerText")
    saved = await page.value(
        "fetch(document.querySelector('.me .file').href)"
        ".then(async (one) => [one.headers.get('content-type'), await one.text()])"
    )
    assert ["application/octet-stream", "# Notes\nscales in C"] == saved
    assert [] == [one for one in page.complaints if "403" not in one]


async def test_a_person_goes_on_in_another_browser(page: Page, gateway: GatewayProcess, pictures: Path, tmp_path: Path):
    await let_in(page, gateway)
    await page.value("document.getElementById('device').click()")
    await page.until("document.querySelectorAll('#devices-list li').length === 1")
    await page.picture(pictures / "0-devices.png")
    assert "this one" in await page.value("document.getElementById('devices-list').innerText")
    assert not await page.value("document.getElementById('devices-others').checkVisibility()")
    await page.value("document.getElementById('devices-add').click()")
    link = await page.until("document.getElementById('devices-url').value")
    await page.picture(pictures / "1-link.png")
    async with browser(tmp_path / "another") as phone:
        await phone.look(390, 844, phone=True)
        await phone.go(link)
        await phone.until("!document.getElementById('devices-go').hidden")
        assert "#" not in await phone.value("location.href")
        await phone.picture(pictures / "2-opened.png")
        await phone.value("document.getElementById('devices-go').click()")
        number = await phone.until("document.getElementById('devices-number').textContent")
        await page.until(f"document.getElementById('devices-number').textContent === '{number}'")
        await page.picture(pictures / "3-asked.png")
        await page.value("document.getElementById('devices-yes').click()")
        await phone.until(f"{ONLINE} && {SAID}.includes('hello there')")
        await phone.say("/log 45m guitar")
        await page.until(f"{SAID}.includes('/log 45m guitar')")
        await page.until("document.getElementById('devices').innerText.includes('Another device')")
        await phone.picture(pictures / "4-phone.png")
        await sign_out(page, phone, pictures)
    audit = gateway.tenk("audit").stdout
    assert "device_added" in audit
    assert "device_removed" in audit
    assert [] == page.complaints


async def sign_out(page: Page, phone: Page, pictures: Path) -> None:
    await page.value("document.getElementById('devices').close(); document.getElementById('device').click()")
    await page.until("document.querySelectorAll('#devices-list li').length === 2")
    await page.picture(pictures / "5-both.png")
    assert [] == await page.barriers(), "devices"
    other = "[...document.querySelectorAll('#devices-list li')].find((li) => !li.innerText.includes('this one'))"
    await page.value(f"{other}.querySelector('button').click()")
    told = "document.getElementById('devices')"
    await phone.until(f"{told}.open && {told}.innerText.includes('was signed out') && {ONLINE}")
    await phone.picture(pictures / "6-signed-out.png")
    assert [] == await phone.value(SAID)
    await page.until(f"document.querySelectorAll('#devices-list li').length === 1 && {ONLINE}")


async def test_the_playground_and_the_reference_of_the_api_shut_nobody_out(
    page: Page, gateway: GatewayProcess, pictures: Path
):
    every = ((390, False), (390, True), (1280, False), (1280, True))
    for name, words, looks in (("playground", "You are in", every), ("v1/docs", "OpenAPI", every[1:3])):
        await page.go(f"{gateway.url}{name}")
        await page.until(f"document.body.textContent.includes('{words}')")
        for width, dark in looks:
            await page.look(width, 844, dark=dark, phone=width < 400)
            await page.picture(pictures / f"{name.replace('/', '-')}-{width}-{'dark' if dark else 'light'}.png")
            assert [] == await page.barriers(), (name, width, dark)
            assert await page.value("document.documentElement.scrollWidth") <= width, (name, width)
        assert [] == page.complaints
