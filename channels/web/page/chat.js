// The chat page: sends frames of the person's actions, stores and shows the frames it receives.

import { Device } from "/web/device.js";
import { Files } from "/web/files.js";
import { Link } from "/web/link.js";
import { Panel } from "/web/panel.js";
import { Store, newId } from "/web/store.js";
import { View, tell, textOf } from "/web/view.js";

const form = document.getElementById("form");
const text = document.getElementById("text");
const send = document.getElementById("send");
const slash = document.getElementById("slash");
const menu = document.getElementById("menu");
const state = document.getElementById("state");
const stop = document.getElementById("stop");
const away = document.getElementById("away");
const editing = document.getElementById("editing");

const AWAY_AFTER_MS = 1500; // shorter interruptions are not shown

let store, link, view, files, device, commands = [], chosen = 0;
let edited = null; // the message that is being edited
const offered = new Set(); // ids of frames that the gateway may have taken: they cannot be edited any more
let draft = ""; // the text before the edit began
let awayTimer = null;
let recalled = false; // earlier messages were shown, by this tab or from the store
let held = null; // timer for sending all unconfirmed frames again

// Return this browser's identity from the gateway; retry if the gateway is busy.
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
  for (const frame of store.unsent) offered.add(frame.id);
  view = new View({ onPress: press, onEdit: edit, onRetry: () => act("retry"), title: session.title });
  view.onTyping = showStop;
  device = new Device();
  files = new Files({ onChange: fit });
  new Panel({ onResume: (id) => act("sessions", id), title: session.title });
  for (const frame of store.unsent) if ((frame.type === "say" || frame.again) && !store.messages.has(frame.id)) put(frame);
  for (const message of store.messages.values()) view.show(message, true);
  recalled = store.messages.size > 0;
  view.nothingYet();
  settled();
  view.toEnd();
  text.value = store.draft;
  fit();
  if (!matchMedia("(pointer: coarse)").matches) text.focus();
  onState("off");
  link = new Link({ onFrame, onState, known });
  link.start();
  acceptInvite();
  acceptDevice();
  if (session.signed_out || location.hash === "#signed-out") tellSignedOut();
}

// The person signed this browser out in another one.
function tellSignedOut() {
  history.replaceState(null, "", location.pathname + location.search);
  device.tellSignedOut();
}

// The code of a link to another browser is in the fragment, which no server and no log sees.
function acceptDevice() {
  const code = /^#device=([A-Za-z0-9_-]{32})$/.exec(location.hash)?.[1];
  if (!code) return;
  history.replaceState(null, "", location.pathname + location.search);
  device.open(code);
}

// Send an invitation's code once and remove it from the address, so that it is neither repeated nor shown.
function acceptInvite() {
  const here = new URL(location.href);
  const code = here.searchParams.get("invite");
  if (code === null) return;
  here.searchParams.delete("invite");
  history.replaceState(null, "", here);
  if (/^[0-9A-Za-z-]{8,40}$/.test(code)) say(`/start ${code}`);
}

// Return true if the cookie still belongs to this conversation; checked before each reconnection.
async function known() {
  const session = await enter();
  if (session.chat === store.chat) return true;
  if (session.signed_out) {
    store.forget();
    location.replace(`${location.pathname}#signed-out`);
    location.reload();
    return false;
  }
  state.textContent = textOf("page.reload");
  return false;
}

function onState(now) {
  const on = now === "on";
  state.textContent = textOf(on ? "page.online" : "page.connecting");
  state.classList.toggle("on", on);
  clearTimeout(awayTimer);
  awayTimer = on ? null : setTimeout(showAway, AWAY_AFTER_MS);
  if (on) {
    if (!away.hidden) tell(textOf("page.online"));
    away.hidden = true;
    document.body.classList.remove("off");
    offer();
  }
}

// Show that the gateway is unreachable, and that messages are sent later.
function showAway() {
  const words = textOf(navigator.onLine ? "page.not_reachable" : "page.no_network", { title: document.title });
  if (away.hidden || away.textContent !== words) tell(words);
  state.textContent = textOf("page.away");
  away.textContent = words;
  away.hidden = false;
  document.body.classList.add("off");
}

// Send all unconfirmed frames again in order; the gateway recognises them by id.
function offer() {
  clearTimeout(held);
  held = null;
  if (link.open) state.textContent = textOf("page.online");
  if (store.unsent.length) give(store.unsent);
}

function give(frames) {
  if (link.send(frames)) for (const frame of frames) offered.add(frame.id);
}

// Later messages wait, so that they do not overtake.
function offerLater(seconds, why) {
  clearTimeout(held);
  held = setTimeout(offer, seconds * 1000);
  if (why) state.textContent = textOf("page.held_back", { seconds });
}

function submitFrame(frame) {
  store.queue(frame);
  store.save();
  if (held === null) give([frame]);
}

// ---------------------------------------------------------------- frames

const HANDLERS = {
  history(frame) {
    const late = store.messages.size > 0 && frame.messages.some((one) => !store.messages.has(one.id));
    for (const message of frame.messages) if (isNews(message)) keep(message, !recalled);
    if (late) view.rebuild(store.sort());
    for (const one of [...store.messages.values()]) if (one.reaction === "working" || one.reaction === "queued") change(one.id, { reaction: null }); // reactions are not stored
    recalled = true; // later histories have the messages that this page missed
  },
  message: (frame) => keep(frame),
  said: (frame) => keep(frame),
  deleted: (frame) => keep(frame),
  reaction: (frame) => change(frame.message, { reaction: frame.reaction }),
  buttons: (frame) => change(frame.message, { buttons: frame.buttons }),
  typing: (frame) => view.type(frame.for_s),
  busy: (frame) => view.wait(frame.for_s),
  device: (frame) => device.heard(frame),
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
  store.save();
  settled();
}

// Return true if the stored message differs from the shown one; buttons and reactions are only known here.
function isNews(message) {
  const held = store.messages.get(message.id);
  if (!held || held.unsent || held.live || held.waiting) return true;
  return held.type === "said" && held.text !== message.text;
}

function keep(frame, silent = false) {
  const { n, ...message } = frame;
  if (frame.type === "deleted" && !store.messages.has(frame.id)) return;
  if (frame.type === "said") message.unsent = false;
  view.show(store.put(message), silent);
}

// Show the available actions: edit the last message, ask it again, stop the running turn.
function settled() {
  const all = [...store.messages.values()];
  const said = all.findLast((message) => message.type === "said");
  const last = all.at(-1);
  const done = last?.type === "message" && !last.live && !last.waiting;
  view.markLast(said?.id, done ? last.id : null);
  showStop();
}

function showStop() {
  const typed = !document.getElementById("typing").hidden;
  const runs = typed || [...store.messages.values()].slice(-8).some((message) => message.live || message.waiting);
  stop.hidden = !runs;
  send.hidden = runs && text.value.trim() === "" && !files?.any;
}

function change(id, fields) {
  if (store.messages.has(id)) view.show(store.put({ id, ...fields }));
}

// ---------------------------------------------------------------- what the person does

function say(words) {
  words = words.trim();
  if (!words && !files.any) return;
  const id = files.any ? files.message : newId();
  const frame = { type: "say", id, text: words, zone: Intl.DateTimeFormat().resolvedOptions().timeZone || "", files: files.toFrames() };
  const shown = put(frame);
  if (files.any) {
    store.put({ id, files: files.toShown() });
    files.forget();
  }
  view.show(store.messages.get(shown.id));
  submitFrame(frame);
  settled();
}

function put(frame) {
  const { id, text, type } = frame;
  return store.put({ type: "said", id, text, at: new Date().toISOString(), unsent: true, edited: type === "edit" });
}

// Send a command of a control; it is not shown as a message.
function act(name, words = "") {
  submitFrame({ type: "do", id: newId(), name, arguments: words });
}

function edit(id) {
  edited = id;
  draft = text.value;
  text.value = store.messages.get(id).text;
  editing.hidden = false;
  fit();
  text.focus();
  text.setSelectionRange(text.value.length, text.value.length);
}

function endEdit() {
  edited = null;
  editing.hidden = true;
  text.value = draft;
  draft = "";
  fit();
}

// Change an unsent message in place; ask an answered one anew, below its answer.
function changeSaid(words) {
  const [id, before] = [edited, store.messages.get(edited)];
  endEdit();
  words = words.trim();
  if (!words || !before || words === before.text) return;
  const waits = store.unsent.find((frame) => frame.id === id);
  if (waits && !offered.has(id)) {
    waits.text = words;
    store.rewrite(waits);
    view.show(store.put({ id, text: words }));
    return;
  }
  const order = [...store.messages.values()];
  const again = order.slice(order.findIndex((message) => message.id === id)).some((message) => message.type === "message" && !message.live && !message.waiting);
  const frame = { type: "edit", id: newId(), message: id, text: words, again };
  view.show(again ? put(frame) : store.put({ id, text: words, edited: true }));
  submitFrame(frame);
  settled();
}

function press(message, data) {
  submitFrame({ type: "press", id: newId(), message, data });
}

function fit() {
  send.disabled = (text.value.trim() === "" && !files?.any) || (files && !files.ready);
  if (view) showStop();
  text.style.height = "auto"; // the controls beside it may have changed
  text.style.height = `${Math.min(text.scrollHeight, 192)}px`;
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (!link || (edited === null && !files.ready)) return;
  if (edited !== null) changeSaid(text.value);
  else {
    say(text.value);
    text.value = "";
  }
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
  } else if (event.key === "Escape" && edited !== null) {
    endEdit();
  } else if (event.key === "ArrowUp" && text.value === "" && edited === null) {
    const said = [...store.messages.values()].findLast((message) => message.type === "said");
    if (said) {
      event.preventDefault();
      edit(said.id);
    }
  }
  shifted = event.shiftKey || event.ctrlKey || event.altKey;
});

// Enter sends, on phones too, whose key shows it; Shift+Enter begins a new line. Phone keyboards tell a key only by
// the text they insert; choosing a word of an input method sends nothing.
let shifted = false;
text.addEventListener("beforeinput", (event) => {
  if (["insertLineBreak", "insertParagraph"].includes(event.inputType) && !event.isComposing && !shifted) submit(event);
});

stop.addEventListener("click", () => {
  act("stop");
  text.focus();
});
document.getElementById("unedit").addEventListener("click", () => {
  endEdit();
  text.focus();
});
document.getElementById("new").addEventListener("click", () => link && act("new"));

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
    item.setAttribute("aria-selected", "false");
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
  if (!menu.hidden) choose(Math.max(0, fitting.findIndex(([name]) => name === prefix)));
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

addEventListener("resize", fit);
addEventListener("pagehide", () => store?.saveDraft(edited === null ? text.value : draft));

function start() {
  begin().catch((error) => {
    state.textContent = textOf("page.connecting");
    setTimeout(start, (error.waitS || 1.5) * 1000);
  });
}

fit();
start();
