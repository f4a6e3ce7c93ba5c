// What this browser keeps across a reload: the conversation as this tab shows it, and, for all its tabs, what the gateway
// has not taken yet. Nothing is shown or sent here.

const KEY = "tenk-chat-1";
const MOST = 200;

export class Store {
  constructor(chat) {
    this.chat = chat;
    this.key = `${KEY}:${chat}`;
    const kept = read("sessionStorage", this.key);
    this.messages = new Map((kept.messages || []).map((message) => [message.id, message]));
    this.unsent = [...(kept.unsent || []), ...(read("localStorage", this.waiting).frames || [])]; // each with its own id
    this.unsent = [...new Map(this.unsent.map((frame) => [frame.id, frame])).values()];
    this.draft = read("sessionStorage", `${this.key}:draft`).text || "";
  }

  get waiting() {
    return `${this.key}:unsent`;
  }

  put(message) {
    const before = this.messages.get(message.id);
    if (message.below && before?.below !== message.below) this.messages = placedBelow(this.messages, message);
    const at = (message.edited && before?.at) || message.at || before?.at; // changed words stand where they were said
    this.messages.set(message.id, { ...before, ...message, at });
    if (this.messages.size > MOST) this.messages.delete(this.messages.keys().next().value);
    return this.messages.get(message.id);
  }

  // By time: what was said earlier came later.
  sort() {
    const sorted = [...this.messages].sort(([, one], [, other]) => (one.at || "").localeCompare(other.at || ""));
    this.messages = new Map(sorted);
    return this.messages.values();
  }

  // What is to be sent: kept beside the tab, which may be closed before the gateway can be reached.
  queue(frame) {
    this.unsent.push(frame);
    this.change((frames) => [...frames, frame]);
  }

  // What waits is to say something else.
  rewrite(frame) {
    this.change((frames) => frames.map((one) => (one.id === frame.id ? frame : one)));
    this.save();
  }

  taken(ids) {
    this.unsent = this.unsent.filter((frame) => !ids.includes(frame.id));
    this.change((frames) => frames.filter((frame) => !ids.includes(frame.id)));
  }

  change(how) {
    const frames = read("localStorage", this.waiting).frames || [];
    const changed = how(frames);
    if (changed.length) write("localStorage", this.waiting, { frames: changed });
    else if (frames.length) forget("localStorage", this.waiting);
  }

  // Nothing of this chat stays in this browser: it is nobody's any more.
  forget() {
    this.gone = true;
    for (const key of [this.key, `${this.key}:draft`]) forget("sessionStorage", key);
    forget("localStorage", this.waiting);
  }

  saveDraft(text) {
    if (!this.gone) write("sessionStorage", `${this.key}:draft`, { text });
  }

  save() {
    if (this.gone) return;
    const { unsent } = this;
    for (let most = MOST; most >= 10; most = Math.floor(most / 2)) {
      const messages = [...this.messages.values()].slice(-most);
      if (write("sessionStorage", this.key, { unsent, messages })) return;
    }
  }
}

function placedBelow(messages, { id, below }) {
  if (!messages.has(below)) return messages;
  const others = [...messages].filter(([one]) => one !== id);
  const place = others.findIndex(([one]) => one === below) + 1;
  return new Map([...others.slice(0, place), [id, messages.get(id) || {}], ...others.slice(place)]);
}

// Whether it is kept: the browser may have no room for so much, or for anything.
function write(place, key, value) {
  try {
    window[place].setItem(key, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

function forget(place, key) {
  try {
    window[place].removeItem(key);
  } catch {
    // nothing is kept there either
  }
}

function read(place, key) {
  try {
    return JSON.parse(window[place].getItem(key)) || {};
  } catch {
    return {};
  }
}

export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
