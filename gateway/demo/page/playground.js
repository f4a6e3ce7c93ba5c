// The playground: shows the state that the server sends whole each time it changed, and sends what is done here.
// Everything anybody said is set as text; nothing here makes HTML of it.

const SAYINGS = {
  1: ["/log 45m guitar scales", "How am I doing?", "Plan my week", "/chart"],
  2: ["Hi, may I use this too?", "I practised chess for 30 minutes", "/stats", "/help"],
};
const GATEWAY = {
  starting: ["warn", "starting …"],
  running: ["good", "running"],
  killing: ["bad", "killing …"],
  killed: ["bad", "killed: what is said waits"],
  ended: ["bad", "ended"],
};

const time = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const byId = (id) => document.getElementById(id);
const columns = new Map();

async function act(order) {
  const answer = await fetch("/playground/act", {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(order),
  }).catch(() => null);
  if (answer && answer.ok) return tell("");
  tell(answer ? (await answer.text()).trim() : "The playground is not reachable.");
}

function tell(problem) {
  byId("problem").textContent = problem;
  byId("problem").hidden = !problem;
}

function make(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

// The text in pieces, each with the looks that cover it; offsets count UTF-16 units, as strings here do.
function styled(text, looks) {
  const cuts = new Set([0, text.length]);
  for (const look of looks) cuts.add(look.offset).add(look.offset + look.length);
  const edges = [...cuts].filter((edge) => edge <= text.length).sort((first, second) => first - second);
  const shown = document.createDocumentFragment();
  edges.slice(0, -1).forEach((start, at) => {
    const covering = looks.filter((look) => look.offset <= start && start < look.offset + look.length);
    const piece = make("span", covering.map((look) => `l-${look.type}`).join(" "), text.slice(start, edges[at + 1]));
    const link = covering.find((look) => look.url);
    if (link) piece.title = link.url;
    shown.append(piece);
  });
  return shown;
}

class Column {
  constructor(name) {
    this.name = name;
    this.person = 1;
    this.place = "direct";
    this.node = byId("platform").content.firstElementChild.cloneNode(true);
    this.find = (selector) => this.node.querySelector(selector);
    this.shown = "";
    this.find("form").addEventListener("submit", (event) => this.say(event));
    for (const button of this.node.querySelectorAll(".choice button")) {
      button.addEventListener("click", () => this.choose(button.dataset));
    }
    for (const button of this.node.querySelectorAll("[data-do]")) {
      button.addEventListener("click", () => this.order({ do: this.cut && button.dataset.do === "cut" ? "mend" : button.dataset.do }));
    }
    this.choose({});
  }

  order(fields) {
    return act({ platform: this.name, place: this.place, person: this.person, ...fields });
  }

  say(event) {
    event.preventDefault();
    const field = this.find(".text");
    if (!field.value.trim()) return;
    this.order({ do: "say", text: field.value, mention: this.find(".mention input").checked });
    field.value = "";
  }

  choose({ person, place }) {
    this.person = Number(person || this.person);
    this.place = place || this.place;
    for (const button of this.node.querySelectorAll(".choice button")) {
      const { person: who, place: where } = button.dataset;
      button.setAttribute("aria-pressed", String(who ? Number(who) === this.person : where === this.place));
    }
    this.find(".mention").hidden = this.place === "direct";
    this.find(".chips").replaceChildren(...SAYINGS[this.person].map((text) => {
      const chip = make("button", "", text);
      chip.type = "button";
      chip.addEventListener("click", () => this.order({ do: "say", text }));
      return chip;
    }));
    this.find(".text").setAttribute("aria-label", `What ${this.person === 1 ? "Ann" : "Ben"} says`);
    this.find(".text").placeholder = `As ${this.person === 1 ? "Ann" : "Ben"} …`;
    if (this.state) this.show(this.state);
  }

  show(state) {
    this.state = state;
    this.cut = state.cut;
    this.find("h2").textContent = state.title;
    this.find(".messages").setAttribute("aria-label", `Messages on ${state.title}`);
    this.find(".calls").setAttribute("aria-label", `Calls of the gateway to ${state.title}`);
    const [look, words] = state.cut ? ["bad", "wire cut"] : state.connected ? ["good", "connected"] : ["warn", "not connected"];
    this.find(".state .dot").className = `dot ${look}`;
    this.find(".state .words").textContent = state.waiting ? `${words}, ${state.waiting} wait` : words;
    const cutter = this.find('[data-do="cut"]');
    cutter.textContent = state.cut ? "Mend it" : "Cut it";
    cutter.setAttribute("aria-pressed", String(state.cut));
    const messages = state.views[`${this.place}-${this.person}`];
    this.redraw(this.find(".messages"), messages, (message) => this.message(message), "messages");
    this.redraw(this.find(".calls"), state.calls, call, "calls");
  }

  redraw(list, items, draw, kind) {
    const now = `${this.place}-${this.person}-${JSON.stringify(items)}`;
    if (this[kind] === now) return;
    this[kind] = now;
    const atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 60;
    const above = list.scrollTop;
    list.replaceChildren(...items.map(draw));
    list.scrollTop = atEnd || kind === "messages" ? list.scrollHeight : above;
  }

  message(message) {
    const mine = !message.bot;
    const item = make("li", [mine ? "mine" : "", message.growing ? "growing" : ""].join(" ").trim());
    const bubble = make("div", "bubble");
    bubble.append(styled(message.text, message.looks));
    message.files.forEach((file, at) => bubble.append(this.file(message, file, at)));
    item.append(bubble);
    if (message.buttons.length) {
      const presses = make("div", "presses");
      for (const [label, value] of message.buttons) {
        const button = make("button", "", label);
        button.type = "button";
        button.addEventListener("click", () => this.order({ do: "press", message: message.id, value }));
        presses.append(button);
      }
      item.append(presses);
    }
    const notes = [message.who, time.format(message.at)];
    if (message.thread) notes.push("in a thread");
    if (message.private) notes.push("only you see this");
    if (message.reaction) notes.push(message.reaction);
    item.append(make("span", "meta", notes.filter(Boolean).join(" · ")));
    return item;
  }

  file(message, file, at) {
    const url = `/playground/file?platform=${this.name}&message=${encodeURIComponent(message.id)}&n=${at}`;
    if (!file.picture) return make("div", "meta", `📎 ${file.name}, ${file.bytes} bytes`);
    const image = make("img");
    image.src = url;
    image.alt = file.name;
    return image;
  }
}

function call({ at, method, status, applied, text, why }) {
  const item = make("li");
  const good = status >= 200 && status < 300 && !why;
  const label = status === 0 ? "cut" : String(status);
  item.append(make("span", good ? "status" : "status bad", label));
  item.append(` ${time.format(at)} ${method} `);
  const hidden = !good && applied ? "arrived, the gateway was not told" : why;
  item.append(make("span", "said", [hidden, text].filter(Boolean).join(" — ")));
  item.title = item.textContent;
  return item;
}

function show({ gateway, platforms }) {
  const [look, words] = GATEWAY[gateway.state];
  byId("gateway-dot").className = `dot ${look}`;
  byId("gateway-state").textContent = gateway.pid ? `${words}, process ${gateway.pid}` : words;
  byId("kill").disabled = gateway.state !== "running" && gateway.state !== "starting";
  byId("start").disabled = gateway.state !== "killed" && gateway.state !== "ended";
  if (gateway.problem) tell(gateway.problem);
  for (const state of platforms) {
    if (!columns.has(state.name)) {
      columns.set(state.name, new Column(state.name));
      byId("platforms").append(columns.get(state.name).node);
    }
    columns.get(state.name).show(state);
  }
}

async function readLog() {
  if (!byId("log-box").open) return;
  const answer = await fetch("/playground/log").catch(() => null);
  if (answer && answer.ok) byId("log-text").textContent = await answer.text();
}

byId("kill").addEventListener("click", () => act({ do: "kill" }));
byId("start").addEventListener("click", () => act({ do: "start" }));
byId("log-box").addEventListener("toggle", readLog);
setInterval(readLog, 1500);
const events = new EventSource("/playground/events");
events.addEventListener("message", ({ data }) => show(JSON.parse(data)));
events.addEventListener("error", () => {
  byId("gateway-dot").className = "dot bad";
  byId("gateway-state").textContent = "the playground itself is not reachable";
});
