// How the conversation looks. The HTML of our messages comes from the gateway, which escapes every character of them;
// what the person said is only ever set as text.

const TEXTS = JSON.parse(document.body.dataset.texts);

// What the person reads, in the page's language, which the gateway chose; `{name}` stands for a value.
export function textOf(key, values = {}) {
  return TEXTS[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

const SIGNS = {
  working: ["✍️", textOf("page.sign_working")],
  queued: ["👀", textOf("page.sign_queued")],
  steered: ["👌", textOf("page.sign_steered")],
  refused: ["🤷", textOf("page.sign_refused")],
};

const scroller = document.getElementById("scroller");
const log = document.getElementById("log");
const empty = document.getElementById("empty");
const typing = document.getElementById("typing");
const busy = document.getElementById("busy");
const newer = document.getElementById("newer");
const time = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });

function leftText(seconds) {
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const parts = hours ? [hours, String(minutes).padStart(2, "0")] : [minutes];
  return [...parts, String(seconds % 60).padStart(2, "0")].join(":");
}

function fileShown(file) {
  const link = document.createElement("a");
  link.className = file.picture ? "picture" : "file";
  link.href = file.url;
  link.download = file.name;
  if (file.picture) {
    const image = document.createElement("img");
    image.src = file.url;
    image.alt = file.description || file.name;
    link.append(image);
  } else {
    const size = file.bytes < 1000 ? `${file.bytes} B` : `${Math.round(file.bytes / 1000)} kB`;
    link.textContent = `${file.name} (${size})`;
  }
  return link;
}

export class View {
  constructor({ onPress, title }) {
    this.onPress = onPress;
    this.title = title;
    this.items = new Map();
    this.lastDay = "";
    this.typingTimer = null;
    this.waitTimer = null;
    newer.addEventListener("click", () => this.toEnd());
    scroller.addEventListener("scroll", () => this.atEnd() && (newer.hidden = true), { passive: true });
    new ResizeObserver(() => this.stuck && this.toEnd()).observe(scroller);
    scroller.addEventListener("scroll", () => (this.stuck = this.atEnd()), { passive: true });
    this.stuck = true;
  }

  atEnd() {
    return scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 80;
  }

  toEnd() {
    scroller.scrollTop = scroller.scrollHeight;
    newer.hidden = true;
  }

  show(message) {
    const follow = this.atEnd() || message.type === "said";
    let item = this.items.get(message.id);
    if (!item) {
      item = this.make(message);
      this.items.set(message.id, item);
    }
    if (message.type === "deleted") this.fillDeleted(item);
    else if (message.type === "said") this.fillSaid(item, message);
    else this.fillMessage(item, message);
    empty.hidden = true;
    if (follow) this.toEnd();
    else newer.hidden = false;
  }

  make(message) {
    const at = new Date(message.at || Date.now());
    if (day.format(at) !== this.lastDay) {
      this.lastDay = day.format(at);
      const line = document.createElement("li");
      line.className = "day";
      line.textContent = this.lastDay === day.format(new Date()) ? textOf("page.today") : this.lastDay;
      log.append(line);
    }
    const item = document.createElement("li");
    item.className = `msg ${message.type === "said" ? "me" : "bot"}`;
    item.innerHTML =
      '<span class="unseen"></span><div class="bubble"></div><div class="presses" hidden></div>' +
      '<div class="meta"><time></time><span class="sign"></span><span class="way"></span></div>';
    item.querySelector(".unseen").textContent = message.type === "said" ? `${textOf("page.you")}:` : `${this.title}:`;
    item.querySelector("time").dateTime = at.toISOString();
    item.querySelector("time").textContent = time.format(at);
    log.append(item);
    return item;
  }

  fillSaid(item, message) {
    item.querySelector(".bubble").textContent = message.text;
    const [sign, means] = SIGNS[message.sign] || ["", ""];
    const shown = item.querySelector(".sign");
    shown.textContent = sign;
    shown.title = means;
    shown.setAttribute("role", "img");
    shown.setAttribute("aria-label", means);
    const way = item.querySelector(".way");
    const [mark, words] = message.unsent ? ["◌", textOf("page.way_unsent")] : ["✓", textOf("page.way_sent")];
    way.textContent = mark;
    way.title = words;
    way.setAttribute("role", "img");
    way.setAttribute("aria-label", words);
  }

  fillMessage(item, message) {
    const bubble = item.querySelector(".bubble");
    if (message.waiting) {
      bubble.innerHTML = '<span class="dots" aria-hidden="true"><i></i><i></i><i></i></span><span class="unseen">…</span>';
    } else {
      bubble.innerHTML = message.html;
    }
    if (message.files?.length) bubble.append(...message.files.map(fileShown));
    bubble.setAttribute("aria-busy", String(Boolean(message.live || message.waiting)));
    this.fillButtons(item, message);
    this.type(0);
  }

  fillButtons(item, message) {
    const presses = item.querySelector(".presses");
    const buttons = (message.buttons || []).map((button) => {
      const made = document.createElement("button");
      made.type = "button";
      made.className = button.style;
      made.textContent = button.label;
      made.addEventListener("click", () => {
        if (made.getAttribute("aria-disabled") === "true") return;
        for (const one of presses.children) one.setAttribute("aria-disabled", "true");
        setTimeout(() => [...presses.children].forEach((one) => one.removeAttribute("aria-disabled")), 4000);
        this.onPress(message.id, button.data);
      });
      return made;
    });
    presses.replaceChildren(...buttons);
    presses.hidden = buttons.length === 0;
  }

  fillDeleted(item) {
    item.classList.add("gone");
    item.querySelector(".bubble").textContent = textOf("page.deleted");
    item.querySelector(".presses").replaceChildren();
  }

  type(seconds) {
    clearTimeout(this.typingTimer);
    const follow = this.atEnd();
    typing.hidden = seconds <= 0;
    if (seconds > 0) {
      this.typingTimer = setTimeout(() => this.type(0), seconds * 1000);
      if (follow) this.toEnd();
    }
  }

  // Says once how long to wait, and then counts down in silence: who listens is not told each second.
  wait(seconds) {
    clearInterval(this.waitTimer);
    busy.hidden = seconds <= 0;
    if (seconds <= 0) return busy.replaceChildren();
    const until = Date.now() + seconds * 1000;
    const left = document.createElement("b");
    left.setAttribute("role", "timer");
    left.setAttribute("aria-live", "off");
    const tick = () => {
      const rest = Math.ceil((until - Date.now()) / 1000);
      left.textContent = leftText(rest);
      if (rest <= 0) this.wait(0);
    };
    const [before, after] = textOf("page.busy", { left: "\n" }).split("\n");
    tick();
    busy.replaceChildren(before, left, after);
    this.waitTimer = setInterval(tick, 1000);
  }

  nothingYet() {
    empty.hidden = this.items.size > 0;
  }
}
