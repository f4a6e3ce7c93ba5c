// The view of the conversation. The HTML of our messages comes from the gateway, which escapes all text;
// the person's messages are only set as text.

const TEXTS = JSON.parse(document.body.dataset.texts);

// Texts in the page's language, which the gateway chose; `{name}` is a field.
export function textOf(key, values = {}) {
  return TEXTS[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

const REACTIONS = {
  working: ["✍️", textOf("page.sign_working")],
  queued: ["👀", textOf("page.sign_queued")],
  steered: ["👌", textOf("page.sign_steered")],
  refused: ["🤷", textOf("page.sign_refused")],
};

const ICONS = {
  copy: "M9 9h10v11H9zM15 9V5H5v11h4",
  done: "M5 12.5 10 17.5 19.5 7",
  edit: "M4 20l1-4L16 5l3 3L8 19zM14 7l3 3",
  retry: "M19 12a7 7 0 1 1-2.2-5.1M19 4v4h-4",
};

const TOLD_AT_ONCE = 5; // lines that a screen reader's region keeps

const scroller = document.getElementById("scroller");
const log = document.getElementById("log");
const told = document.getElementById("told");
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

export function made(tag, fields = {}, ...inside) {
  const element = Object.assign(document.createElement(tag), fields);
  element.append(...inside);
  return element;
}

function icon(name) {
  const [svg, path] = ["svg", "path"].map((tag) => document.createElementNS("http://www.w3.org/2000/svg", tag));
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

function action(name, label, does) {
  const button = made("button", { type: "button", className: `act ${name}`, title: label }, icon(name));
  button.setAttribute("aria-label", label);
  button.addEventListener("click", () => does(button));
  return button;
}

export async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    if (!copyBySelection(text)) return;
  }
  tell(textOf("page.copied"));
  const before = [...button.childNodes], label = button.ariaLabel;
  button.replaceChildren(icon("done"));
  button.setAttribute("aria-label", textOf("page.copied"));
  setTimeout(() => {
    button.replaceChildren(...before);
    if (label === null) button.removeAttribute("aria-label");
    else button.setAttribute("aria-label", label);
  }, 2000);
}

// Without a clipboard, over plain http from another machine.
function copyBySelection(text) {
  const area = made("textarea", { value: text, className: "unseen" });
  const before = document.activeElement;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  before?.focus();
  return done;
}

// Announce a text to screen readers, once.
export function tell(words) {
  told.append(made("p", { textContent: words }));
  while (told.children.length > TOLD_AT_ONCE) told.firstChild.remove();
}

export function fileShown(file) {
  const link = made("a", { className: file.picture ? "picture" : "file", href: file.url, download: file.name });
  if (file.picture) {
    const image = made("img", { src: file.url, alt: file.description || file.name });
    image.addEventListener("error", () => link.replaceWith(made("span", { className: "file lost", textContent: `${file.name}: ${textOf("page.file_gone")}` })));
    link.append(image);
  } else link.textContent = file.bytes ? `${file.name} (${sizeText(file.bytes)})` : file.name;
  return link;
}

export function sizeText(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1e6 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

// Make wide tables scroll; give code blocks their language and a copy button.
export function decorate(bubble) {
  for (const table of bubble.querySelectorAll("table")) {
    const around = made("div", { className: "wide", tabIndex: 0 });
    around.setAttribute("role", "region");
    around.setAttribute("aria-label", textOf("page.table"));
    table.replaceWith(around);
    around.append(table);
  }
  for (const pre of bubble.querySelectorAll("pre")) {
    const language = made("span", { className: "language" });
    language.dataset.name = pre.dataset.language || "";
    const head = made("div", { className: "head" }, language, action("copy", textOf("page.copy_code"), (button) => copy(pre.textContent, button)));
    const around = made("div", { className: "code" });
    pre.replaceWith(around);
    pre.setAttribute("role", "region");
    pre.setAttribute("aria-label", pre.dataset.language ? `${textOf("page.code")}: ${pre.dataset.language}` : textOf("page.code"));
    around.append(head, pre);
  }
}

export class View {
  constructor({ onPress, onEdit, onRetry, title }) {
    this.onPress = onPress;
    this.onEdit = onEdit;
    this.onRetry = onRetry;
    this.title = title;
    this.items = new Map();
    this.said = new Map(); // the announced text of each finished message
    this.lastDay = "";
    this.typingTimer = null;
    this.waitTimer = null;
    newer.addEventListener("click", () => this.toEnd());
    scroller.addEventListener("scroll", () => this.atEnd() && (newer.hidden = true), { passive: true });
    const sizes = new ResizeObserver(() => this.stuck && this.toEnd());
    for (const one of [scroller, log]) sizes.observe(one); // a picture that loads makes the log longer
    scroller.addEventListener("scroll", () => this.scrolled(), { passive: true });
    this.stuck = true;
    this.top = 0;
  }

  // Follow the end unless the person scrolled up; a longer log alone is no scrolling.
  scrolled() {
    if (this.atEnd()) this.stuck = true;
    else if (scroller.scrollTop < this.top) this.stuck = false;
    this.top = scroller.scrollTop;
  }

  atEnd() {
    return scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 80;
  }

  toEnd() {
    scroller.scrollTop = scroller.scrollHeight;
    this.stuck = true;
    this.top = scroller.scrollTop;
    newer.hidden = true;
  }

  // `silent`: do not announce it to screen readers.
  show(message, silent = false) {
    this.scrolled(); // a scroll of this frame has no event yet
    const follow = this.stuck || message.type === "said";
    let item = this.items.get(message.id);
    const isNew = !item && !silent;
    if (!item) {
      item = this.make(message);
      this.items.set(message.id, item);
    }
    const above = message.below && this.items.get(message.below);
    if (above && above.compareDocumentPosition(item) & Node.DOCUMENT_POSITION_PRECEDING) above.after(item);
    if (message.type === "deleted") this.fillDeleted(item);
    else if (message.type === "said") this.fillSaid(item, message);
    else this.fillMessage(item, message, silent);
    empty.hidden = true;
    if (follow) this.toEnd();
    else if (isNew) newer.hidden = false;
  }

  make(message) {
    const at = new Date(message.at || Date.now());
    if (day.format(at) !== this.lastDay) {
      this.lastDay = day.format(at);
      const words = this.lastDay === day.format(new Date()) ? textOf("page.today") : this.lastDay;
      log.append(made("li", { className: "day", textContent: words }));
    }
    const item = made("li", { className: `msg ${message.type === "said" ? "me" : "bot"}` });
    item.innerHTML =
      '<span class="unseen"></span><div class="bubble"></div><div class="presses" hidden></div>' +
      '<div class="meta"><time></time><span class="edited"></span><span class="reaction"></span><span class="way"></span><span class="why"></span><span class="acts"></span></div>';
    item.querySelector(".unseen").textContent = message.type === "said" ? `${textOf("page.you")}:` : `${this.title}:`;
    item.querySelector("time").dateTime = at.toISOString();
    item.querySelector("time").textContent = time.format(at);
    item.querySelector(".acts").append(...this.acts(message));
    log.append(item);
    return item;
  }

  acts(message) {
    const { id } = message;
    const bubble = () => this.items.get(id).querySelector(".bubble");
    const copying = action("copy", textOf("page.copy"), (button) => copy(bubble().innerText.trim(), button));
    if (message.type === "said") return [copying, action("edit", textOf("page.edit"), () => this.onEdit(id))];
    return [copying, action("retry", textOf("page.retry"), () => this.onRetry(id))];
  }

  fillSaid(item, message) {
    item.querySelector(".bubble").textContent = message.text;
    if (message.files?.length) item.querySelector(".bubble").append(...message.files.map(fileShown));
    const [reaction, means] = REACTIONS[message.reaction] || ["", ""];
    named(item.querySelector(".reaction"), reaction, means);
    const [mark, words] = message.unsent ? ["◌", textOf("page.way_unsent")] : ["✓", textOf("page.way_sent")];
    named(item.querySelector(".way"), mark, words);
    item.querySelector(".why").dataset.words = words;
    item.classList.toggle("waits", Boolean(message.unsent));
    item.querySelector(".edited").textContent = message.edited ? textOf("page.edited") : "";
  }

  fillMessage(item, message, silent) {
    const bubble = item.querySelector(".bubble");
    const grows = Boolean(message.live || message.waiting);
    if (message.waiting) {
      bubble.innerHTML = '<span class="dots" aria-hidden="true"><i></i><i></i><i></i></span><span class="unseen">…</span>';
    } else {
      bubble.innerHTML = message.html;
      decorate(bubble);
    }
    item.classList.toggle("grows", grows);
    item.classList.toggle("works", Boolean(message.status));
    if (message.files?.length) bubble.append(...message.files.map(fileShown));
    bubble.setAttribute("aria-busy", String(grows));
    this.fillButtons(item, message);
    this.type(0);
    if (!grows) this.tellOnce(message.id, bubble, silent);
  }

  // Announce an answer when it is complete, and again only if it changes.
  tellOnce(id, bubble, silent) {
    const words = bubble.innerText;
    if (this.said.get(id) === words) return;
    this.said.set(id, words);
    if (!silent) tell(`${this.title}: ${words}`);
  }

  fillButtons(item, message) {
    const presses = item.querySelector(".presses");
    const focused = [...presses.children].indexOf(document.activeElement);
    const buttons = (message.buttons || []).map((button) => {
      const pressed = made("button", { type: "button", className: button.style, textContent: button.label });
      pressed.addEventListener("click", () => {
        if (pressed.getAttribute("aria-disabled") === "true") return;
        for (const one of presses.children) one.setAttribute("aria-disabled", "true");
        setTimeout(() => [...presses.children].forEach((one) => one.removeAttribute("aria-disabled")), 4000);
        this.onPress(message.id, button.data);
      });
      return pressed;
    });
    presses.replaceChildren(...buttons);
    presses.hidden = buttons.length === 0;
    if (focused >= 0) (buttons[focused] || scroller).focus();
  }

  fillDeleted(item) {
    item.classList.add("gone");
    item.querySelector(".bubble").textContent = textOf("page.deleted");
    item.querySelector(".presses").replaceChildren();
    item.querySelector(".acts").replaceChildren();
  }

  // Mark the last messages, which can be edited or asked again.
  markLast(editable, retryable) {
    for (const one of log.querySelectorAll(".last")) one.classList.remove("last");
    this.items.get(editable)?.classList.add("last");
    this.items.get(retryable)?.classList.add("last");
  }

  type(seconds) {
    clearTimeout(this.typingTimer);
    const follow = this.atEnd();
    typing.hidden = seconds <= 0;
    if (seconds > 0) {
      this.typingTimer = setTimeout(() => this.type(0), seconds * 1000);
      if (follow) this.toEnd();
    }
    this.onTyping?.(seconds > 0);
  }

  // Announce the waiting time once, then count down silently.
  wait(seconds) {
    clearInterval(this.waitTimer);
    busy.hidden = seconds <= 0;
    if (seconds <= 0) return busy.replaceChildren();
    const until = Date.now() + seconds * 1000;
    const left = made("b");
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

  rebuild(messages) {
    log.replaceChildren();
    this.items.clear();
    this.lastDay = "";
    for (const message of messages) this.show(message, true);
  }

  nothingYet() {
    empty.hidden = this.items.size > 0;
  }
}

function named(element, shown, means) {
  element.textContent = shown;
  element.title = means;
  if (shown) {
    element.setAttribute("role", "img");
    element.setAttribute("aria-label", means);
  } else {
    element.removeAttribute("role");
    element.removeAttribute("aria-label");
  }
}
