// The connection: a WebSocket, or server-sent events and POST if that is blocked. It reconnects by itself.

const RETRY_MS = [300, 800, 1500, 3000, 6000, 10000];
const SOCKET_TRIES = 3; // failed attempts before the other transport is tried
const COME_LATER = 1013; // close code of a gateway without room for this page

export class Link {
  constructor({ onFrame, onState, known }) {
    this.known = known; // async () => true if the identity is unchanged; called before each reconnection
    this.onFrame = onFrame;
    this.onState = onState; // "on" | "off"
    this.failures = 0;
    this.neverOpened = 0;
    this.socket = null;
    this.events = null;
    this.timer = null;
    addEventListener("online", () => this.now());
    document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && this.now());
  }

  get open() {
    return this.socket?.readyState === WebSocket.OPEN || this.events?.readyState === EventSource.OPEN;
  }

  now() {
    if (!this.open && this.timer !== null) {
      clearTimeout(this.timer);
      this.start();
    }
  }

  async start() {
    this.timer = null;
    if (this.failures > 0) {
      try {
        if (!(await this.known())) return;
      } catch {
        return this.down();
      }
    }
    if (this.neverOpened >= SOCKET_TRIES) this.startEvents();
    else this.startSocket();
  }

  startSocket() {
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/web/ws`);
    let opened = false;
    this.socket = socket;
    socket.onopen = () => {
      opened = true;
      this.neverOpened = 0;
      socket.send(JSON.stringify({ type: "hello" }));
      this.up();
    };
    socket.onmessage = (event) => this.onFrame(JSON.parse(event.data));
    socket.onclose = (event) => {
      if (!opened) this.neverOpened += 1;
      if (event.code === COME_LATER) this.failures = RETRY_MS.length;
      this.socket = null;
      this.down();
    };
  }

  startEvents() {
    const events = new EventSource("/web/events");
    this.events = events;
    events.onopen = () => this.up();
    events.onmessage = (event) => this.onFrame(JSON.parse(event.data));
    events.onerror = () => {
      events.close();
      this.events = null;
      this.down();
    };
  }

  up() {
    this.failures = 0;
    this.onState("on");
  }

  down() {
    this.onState("off");
    const wait = RETRY_MS[Math.min(this.failures, RETRY_MS.length - 1)];
    this.failures += 1;
    this.timer = setTimeout(() => this.start(), wait * (0.8 + 0.4 * Math.random()));
  }

  // Return true if the frames were sent; a frame confirms what was taken.
  send(frames) {
    if (this.socket?.readyState === WebSocket.OPEN) {
      for (const frame of frames) this.socket.send(JSON.stringify(frame));
      return true;
    }
    if (this.events?.readyState === EventSource.OPEN) {
      this.post(frames);
      return true;
    }
    return false;
  }

  async post(frames) {
    const ids = frames.filter((frame) => frame.id).map((frame) => frame.id);
    try {
      const answer = await fetch("/web/messages", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(frames),
      });
      if (answer.ok) {
        const { taken, ...rest } = await answer.json();
        this.onFrame({ type: "taken", ids: taken });
        if (rest.not_taken) this.onFrame({ ...rest, type: "not_taken", ids: rest.not_taken });
      } else if (ids.length) {
        const again_after_s = Number(answer.headers.get("Retry-After")) || 2;
        this.onFrame({ type: "not_taken", ids, again_after_s, reason: answer.status === 429 ? answer.statusText : undefined });
      }
    } catch {
      if (ids.length) this.onFrame({ type: "not_taken", ids, again_after_s: 2 });
    }
  }
}
