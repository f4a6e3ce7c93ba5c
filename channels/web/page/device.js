// Going on in another browser: a link made here, opened there, allowed here. What one may is decided by the gateway.

import { copy, textOf } from "/web/view.js";

const dialog = document.getElementById("devices");
const words = document.getElementById("devices-words");
const number = document.getElementById("devices-number");
const link = document.getElementById("devices-link");
const url = document.getElementById("devices-url");
const [copying, yes, no, go] = ["copy", "yes", "no", "go"].map((name) => document.getElementById(`devices-${name}`));

const ASK_AGAIN_MS = 2000;

async function ask(body) {
  try {
    const answer = await fetch("/web/device", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    if (answer.ok) return await answer.json();
    if (answer.status === 403) return { refused: (await answer.text()).trim() };
  } catch {
    // told below
  }
  return { refused: textOf("page.try_later") };
}

function face(text, shown = []) {
  words.textContent = text;
  for (const part of [number, link, yes, no, go]) part.hidden = !shown.includes(part);
  if (!dialog.open) dialog.showModal();
  shown.find((part) => part.tagName === "BUTTON")?.focus();
}

export class Device {
  constructor() {
    document.getElementById("device").addEventListener("click", () => this.offer());
    document.getElementById("devices-close").addEventListener("click", () => dialog.close());
    copying.addEventListener("click", () => copy(url.value, copying));
    yes.addEventListener("click", () => this.decide(true));
    no.addEventListener("click", () => this.decide(false));
  }

  async offer() {
    const made = await ask({ do: "offer" });
    if (made.refused) return face(made.refused);
    url.value = `${location.origin}/#device=${made.code}`;
    face(textOf("page.device_made", { minutes: Math.round(made.for_s / 60) }), [link]);
    url.focus();
    url.select();
  }

  // A browser has opened our link and shows a number, or has become us.
  heard(frame) {
    if (frame.number === "") {
      return face(textOf("page.device_done"));
    }
    this.number = number.textContent = frame.number;
    face(textOf("page.device_asks"), [number, no, yes]);
  }

  async decide(allow) {
    const done = await ask({ do: "decide", number: this.number, allow });
    face(done.refused || textOf(allow ? "page.device_waits" : "page.device_denied"));
  }

  // This browser was opened by a link of somebody's: nothing happens before its person says so.
  open(code) {
    face(textOf("page.device_compare"), [go]);
    go.onclick = async () => {
      const asked = await ask({ do: "ask", code });
      if (asked.refused) return face(asked.refused);
      number.textContent = asked.number;
      face(textOf("page.device_waits"), [number]);
      this.wait(asked.claim);
    };
  }

  async wait(claim) {
    const taken = await ask({ do: "take", claim });
    if (taken.refused) return face(taken.refused);
    if (taken.chat) return location.reload();
    setTimeout(() => this.wait(claim), ASK_AGAIN_MS);
  }
}
