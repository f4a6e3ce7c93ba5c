// Storage across reloads: this tab's conversation, and the frames of all tabs that the gateway has not confirmed.

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
    const at = (message.edited && before?.at) || message.at || before?.at; // an edited message keeps its place
    this.messages.set(message.id, { ...before, ...message, at });
    if (this.messages.size > MOST) this.messages.delete(this.messages.keys().next().value);
    return this.messages.get(message.id);
  }

  // Sort by time: earlier messages may arrive later.
  sort() {
    const sorted = [...this.messages].sort(([, one], [, other]) => (one.at || "").localeCompare(other.at || ""));
    this.messages = new Map(sorted);
    return this.messages.values();
  }

  // Unsent frames are stored outside the tab, which may be closed before the gateway can be reached.
  queue(frame) {
    this.unsent.push(frame);
    this.change((frames) => [...frames, frame]);
  }

  // Change the text of an unsent message.
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

  // Delete the chat from this browser.
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

// Return true if it was stored: the browser may refuse storage.
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
    // storage is not available
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
