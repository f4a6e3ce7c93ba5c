// What this tab keeps across a reload: the conversation as shown, and what has not been taken by the gateway yet.
// Nothing is shown or sent here.

const KEY = "tenk-chat-1";
const MOST = 200;

export class Store {
  constructor(chat) {
    this.chat = chat;
    this.key = `${KEY}:${chat}`;
    const kept = read(this.key);
    this.epoch = kept.epoch || "";
    this.seen = kept.seen || 0;
    this.messages = new Map((kept.messages || []).map((message) => [message.id, message]));
    this.unsent = kept.unsent || []; // frames, in order, each with an id of its own
    this.draft = read(`${this.key}:draft`).text || "";
  }

  put(message) {
    this.messages.set(message.id, { ...this.messages.get(message.id), ...message });
    if (this.messages.size > MOST) this.messages.delete(this.messages.keys().next().value);
    return this.messages.get(message.id);
  }

  saw(epoch, seq) {
    if (epoch !== undefined && epoch !== this.epoch) {
      this.epoch = epoch;
      this.seen = 0;
    }
    if (seq > this.seen) this.seen = seq;
  }

  taken(ids) {
    this.unsent = this.unsent.filter((frame) => !ids.includes(frame.id));
  }

  saveDraft(text) {
    write(`${this.key}:draft`, { text });
  }

  save() {
    const { epoch, seen, unsent } = this;
    for (let most = MOST; most >= 10; most = Math.floor(most / 2)) {
      const messages = [...this.messages.values()].slice(-most);
      if (write(this.key, { epoch, seen, unsent, messages })) return;
    }
  }
}

// Whether it is kept: the browser may have no room for so much, or for anything.
function write(key, value) {
  try {
    sessionStorage.setItem(key, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

function read(key) {
  try {
    return JSON.parse(sessionStorage.getItem(key)) || {};
  } catch {
    return {};
  }
}

export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
