// A person's browsers: list them, link another (offer, confirm, accept), sign one out. The gateway decides what is
// allowed.

import { copy, made, textOf } from "/web/view.js";

const dialog = document.getElementById("devices");
const words = document.getElementById("devices-words");
const number = document.getElementById("devices-number");
const link = document.getElementById("devices-link");
const url = document.getElementById("devices-url");
const list = document.getElementById("devices-list");
const [copying, yes, no, go, others, add] = ["copy", "yes", "no", "go", "others", "add"].map((name) => document.getElementById(`devices-${name}`));

const BROWSERS = [[/Edg/, "Edge"], [/OPR/, "Opera"], [/Firefox|FxiOS/, "Firefox"], [/Chrome|CriOS/, "Chrome"], [/Safari/, "Safari"]];
const SYSTEMS = [[/iPhone/, "iPhone"], [/iPad/, "iPad"], [/Android/, "Android"], [/Windows/, "Windows"], [/Mac OS/, "Mac"], [/CrOS/, "ChromeOS"], [/Linux/, "Linux"]];

const ASK_AGAIN_MS = 2000;

async function ask(body) {
  try {
    const answer = await fetch("/web/device", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    if (answer.ok) return await answer.json();
    if (answer.status === 403) return { refused: (await answer.text()).trim() };
  } catch {
    // reported below
  }
  return { refused: textOf("page.try_later") };
}

function face(text, shown = []) {
  words.textContent = text;
  for (const part of [number, link, list, yes, no, go, others, add]) part.hidden = !shown.includes(part);
  if (!dialog.open) dialog.showModal();
  shown.find((part) => part.tagName === "BUTTON")?.focus();
}

function nameOf(agent) {
  const named = [BROWSERS, SYSTEMS].map((kinds) => kinds.find(([kind]) => kind.test(agent))?.[1]).filter(Boolean);
  return named.join(", ") || textOf("page.device_unknown");
}

export class Device {
  constructor() {
    document.getElementById("device").addEventListener("click", () => this.list());
    add.addEventListener("click", () => this.offer());
    others.addEventListener("click", () => this.signOut(null));
    document.getElementById("devices-close").addEventListener("click", () => dialog.close());
    copying.addEventListener("click", () => copy(url.value, copying));
    yes.addEventListener("click", () => this.decide(true));
    no.addEventListener("click", () => this.decide(false));
  }

  async list() {
    const told = await ask({ do: "list" });
    if (told.refused) return face(told.refused);
    list.replaceChildren(...told.devices.map((device) => this.row(device)));
    face(textOf("page.device_list"), [list, add, ...(told.devices.length > 1 ? [others] : [])]);
  }

  row(device) {
    const when = new Date(device.seen_at).toLocaleString(document.documentElement.lang, { dateStyle: "medium", timeStyle: "short" });
    const name = nameOf(device.browser);
    const about = made("small", { textContent: device.here ? textOf("page.device_here") : textOf("page.device_seen", { when }) });
    const out = made("button", { type: "button", className: "secondary", textContent: textOf("page.device_out") });
    out.setAttribute("aria-label", `${textOf("page.device_out")}: ${name}`);
    out.addEventListener("click", () => this.signOut(device.id));
    return made("li", {}, made("span", { textContent: name }), about, out);
  }

  async signOut(device) {
    const done = await ask({ do: "out", device });
    if (done.refused) return face(done.refused);
    this.list();
  }

  tellSignedOut() {
    face(textOf("page.device_signed_out"));
  }

  async offer() {
    const made = await ask({ do: "offer" });
    if (made.refused) return face(made.refused);
    url.value = `${location.origin}/#device=${made.code}`;
    face(textOf("page.device_made", { minutes: Math.round(made.for_s / 60) }), [link]);
    url.focus();
    url.select();
  }

  // Another browser opened our link and shows a number, or was linked.
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

  // This browser opened a link: nothing happens before its person allows it.
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
