// The chat page: what the person does becomes frames, what frames say is kept and shown.

import { Link } from "/web/link.js";
import { Store, newId } from "/web/store.js";
import { View, textOf } from "/web/view.js";

const form = document.getElementById("form");
const text = document.getElementById("text");
const send = document.getElementById("send");
const slash = document.getElementById("slash");
const menu = document.getElementById("menu");
const state = document.getElementById("state");

let store, link, view, commands = [], chosen = 0;
let held = null; // the timer after which everything that was not taken is offered again

// Who this browser is; the gateway tells, and waits with it where too many come at once.
async function enter() {
  const answer = await fetch("/web/session", { method: "POST" });
  if (!answer.ok) throw Object.assign(new Error(answer.statusText), { waitS: Number(answer.headers.get("Retry-After")) });
  return answer.json();
}

async function begin() {
  const session = await enter();
  document.title = session.title;
  document.getElementById("title").textContent = session.title;
  text.maxLength = session.max_chars;
  text.placeholder = textOf("page.message_to", { title: session.title });
  store = new Store(session.chat);
  view = new View({ onPress: press, title: session.title });
  for (const message of store.messages.values()) view.show(message);
  view.nothingYet();
  view.toEnd();
  text.value = store.draft;
  fit();
  if (!matchMedia("(pointer: coarse)").matches) text.focus();
  link = new Link({ hello, onFrame, onState, known });
  link.start();
  acceptInvite();
}

// An invitation in the address is said once, and taken out of the address, so that nothing repeats or shows it.
function acceptInvite() {
  const here = new URL(location.href);
  const code = here.searchParams.get("invite");
  if (code === null) return;
  here.searchParams.delete("invite");
  history.replaceState(null, "", here);
  if (/^[0-9A-Za-z-]{8,40}$/.test(code)) say(`/start ${code}`);
}

// Whether this is still the conversation that the browser's cookie stands for; asked before it connects again.
async function known() {
  const session = await enter();
  if (session.chat === store.chat) return true;
  state.textContent = textOf("page.reload");
  return false;
}

function hello() {
  return { type: "hello", epoch: store.epoch, seen: store.seen };
}

function onState(now) {
  state.textContent = textOf(now === "on" ? "page.online" : "page.connecting");
  state.classList.toggle("on", now === "on");
  if (now === "on") offer();
}

// Everything that was not taken yet goes again, in its order; the gateway knows it by its id.
function offer() {
  clearTimeout(held);
  held = null;
  if (link.open) state.textContent = textOf("page.online");
  if (store.unsent.length) link.send(store.unsent);
}

// What is said meanwhile waits behind it, or it would overtake.
function offerLater(seconds, why) {
  clearTimeout(held);
  held = setTimeout(offer, seconds * 1000);
  if (why) state.textContent = textOf("page.held_back", { seconds });
}

function submitFrame(frame) {
  store.unsent.push(frame);
  store.save();
  if (held === null) link.send([frame]);
}

// ---------------------------------------------------------------- frames

const HANDLERS = {
  history(frame) {
    for (const message of frame.messages) keep(message);
    store.saw(frame.epoch, frame.seq);
  },
  message: keep,
  said: keep,
  deleted: keep,
  reaction: (frame) => change(frame.message, { sign: frame.sign }),
  buttons: (frame) => change(frame.message, { buttons: frame.buttons }),
  typing: (frame) => view.type(frame.for_s),
  busy: (frame) => view.wait(frame.for_s),
  commands: (frame) => (commands = frame.commands),
  taken(frame) {
    store.taken(frame.ids);
    for (const id of frame.ids) change(id, { unsent: false });
  },
  not_taken: (frame) => offerLater(frame.again_after_s, frame.reason),
  refused: (frame) => console.warn("refused:", frame.reason),
};

function onFrame(frame) {
  HANDLERS[frame.type]?.(frame);
  if (frame.seq !== undefined && frame.type !== "history") store.saw(undefined, frame.seq);
  store.save();
  if (frame.n !== undefined) link.send([{ type: "shown", n: frame.n }]);
}

function keep(frame) {
  const { n, seq, ...message } = frame;
  if (frame.type === "deleted" && !store.messages.has(frame.id)) return;
  if (frame.type === "said") message.unsent = false;
  view.show(store.put(message));
}

function change(id, fields) {
  if (store.messages.has(id)) view.show(store.put({ id, ...fields }));
}

// ---------------------------------------------------------------- what the person does

function say(words) {
  words = words.trim();
  if (!words) return;
  const frame = { type: "say", id: newId(), text: words, zone: Intl.DateTimeFormat().resolvedOptions().timeZone || "" };
  view.show(store.put({ type: "said", id: frame.id, text: words, at: new Date().toISOString(), unsent: true }));
  submitFrame(frame);
}

function press(message, data) {
  submitFrame({ type: "press", id: newId(), message, data });
}

function fit() {
  text.style.height = "auto";
  text.style.height = `${Math.min(text.scrollHeight, 192)}px`;
  send.disabled = text.value.trim() === "";
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (!link) return;
  say(text.value);
  text.value = "";
  fit();
  closeMenu();
  text.focus();
});

text.addEventListener("input", () => {
  fit();
  if (/^\/\w*$/.test(text.value)) openMenu(text.value.slice(1));
  else closeMenu();
});

text.addEventListener("keydown", (event) => {
  if (!menu.hidden && ["ArrowDown", "ArrowUp", "Tab", "Enter", "Escape"].includes(event.key)) {
    if (event.key === "Enter" && event.shiftKey) return;
    const exact = menu.children[chosen]?.dataset.name === text.value.slice(1);
    if (event.key === "Enter" && exact) return submit(event);
    event.preventDefault();
    if (event.key === "Escape") closeMenu();
    else if (event.key === "ArrowDown") choose(chosen + 1);
    else if (event.key === "ArrowUp") choose(chosen - 1);
    else take(menu.children[chosen]?.dataset.name);
  } else if (event.key === "Enter" && !event.shiftKey && !event.isComposing && !matchMedia("(pointer: coarse)").matches) {
    submit(event);
  }
});

function submit(event) {
  event.preventDefault();
  form.requestSubmit();
}

for (const start of document.querySelectorAll("[data-say]")) {
  start.addEventListener("click", () => link && say(start.dataset.say));
}

// ---------------------------------------------------------------- commands

slash.addEventListener("click", () => {
  if (menu.hidden) {
    text.value = "/";
    fit();
    openMenu("");
  } else closeMenu();
  text.focus();
});

function openMenu(prefix) {
  const fitting = commands.filter(([name]) => name.startsWith(prefix));
  menu.replaceChildren(...fitting.map(([name, about], index) => {
    const item = document.createElement("li");
    item.id = `command-${index}`;
    item.dataset.name = name;
    item.setAttribute("role", "option");
    const title = document.createElement("b");
    title.textContent = `/${name}`;
    const words = document.createElement("span");
    words.textContent = about;
    item.append(title, words);
    item.addEventListener("mousedown", (event) => event.preventDefault());
    item.addEventListener("click", () => take(name));
    return item;
  }));
  menu.hidden = fitting.length === 0;
  slash.setAttribute("aria-expanded", String(!menu.hidden));
  if (!menu.hidden) choose(0);
}

function closeMenu() {
  menu.hidden = true;
  slash.setAttribute("aria-expanded", "false");
  text.removeAttribute("aria-activedescendant");
}

function choose(index) {
  const count = menu.children.length;
  chosen = (index + count) % count;
  [...menu.children].forEach((item, at) => item.setAttribute("aria-selected", String(at === chosen)));
  text.setAttribute("aria-activedescendant", `command-${chosen}`);
  menu.children[chosen].scrollIntoView({ block: "nearest" });
}

function take(name) {
  if (name !== undefined) text.value = `/${name} `;
  closeMenu();
  fit();
  text.focus();
}

addEventListener("pagehide", () => store?.saveDraft(text.value));

function start() {
  begin().catch((error) => {
    state.textContent = textOf("page.connecting");
    setTimeout(start, (error.waitS || 1.5) * 1000);
  });
}

fit();
start();
