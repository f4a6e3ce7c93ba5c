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

  save() {
    const { epoch, seen, unsent } = this;
    for (let most = MOST; most >= 10; most = Math.floor(most / 2)) {
      const messages = [...this.messages.values()].slice(-most);
      try {
        sessionStorage.setItem(this.key, JSON.stringify({ epoch, seen, unsent, messages }));
        return;
      } catch {
        // the browser has no room for so much, or for anything
      }
    }
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
