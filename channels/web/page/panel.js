// A dialog of past conversations: list, read and continue them.

import { decorate, fileShown, made, textOf } from "/web/view.js";

const dialog = document.getElementById("panel");
const list = document.getElementById("list");
const read = document.getElementById("read");
const heading = document.getElementById("panel-title");
const back = document.getElementById("back");
const resume = document.getElementById("resume");
const note = document.getElementById("panel-note");
const when = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

let shown = null; // the open conversation

export class Panel {
  constructor({ onResume, title }) {
    this.title = title;
    document.getElementById("past").addEventListener("click", () => this.open());
    document.getElementById("panel-close").addEventListener("click", () => dialog.close());
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
    dialog.addEventListener("close", () => read.replaceChildren());
    back.addEventListener("click", () => this.open());
    resume.addEventListener("click", () => {
      dialog.close();
      onResume(shown.id);
    });
  }

  async open() {
    const from = shown?.id;
    this.face(null);
    if (!dialog.open) dialog.showModal();
    const found = await this.ask("/web/conversations");
    if (!found) return;
    note.textContent = found.conversations.length ? "" : textOf("page.no_conversations");
    list.replaceChildren(...found.conversations.map((one) => this.row(one)));
    (list.querySelector(`[data-id="${from}"]`) || list.querySelector("button"))?.focus();
  }

  row(one) {
    const title = made("b", { textContent: one.title || textOf("page.untitled") });
    const at = when.format(new Date(one.at));
    const used = made("span", { textContent: one.place ? `${one.place}, ${at}` : at });
    const button = made("button", { type: "button" }, title, used);
    button.dataset.id = one.id;
    if (one.living) button.append(made("span", { className: "living", textContent: textOf("page.living") }));
    button.addEventListener("click", () => this.show(one));
    return made("li", {}, button);
  }

  async show(one) {
    this.face(one);
    back.focus();
    const found = await this.ask(`/web/conversation?id=${encodeURIComponent(one.id)}`);
    if (!found || shown !== one) return;
    note.textContent = found.messages.length ? "" : textOf("page.nothing_kept");
    read.replaceChildren(...found.messages.map((message) => this.item(message)));
    read.scrollTop = read.scrollHeight;
  }

  // Show the list, or one conversation.
  face(one) {
    shown = one;
    heading.textContent = one ? one.title || textOf("page.untitled") : textOf("page.conversations");
    list.hidden = Boolean(one);
    read.hidden = back.hidden = !one;
    resume.hidden = !one || one.living;
    list.replaceChildren();
    read.replaceChildren();
    note.textContent = textOf("page.loading");
  }

  item(message) {
    const mine = message.type === "said";
    const bubble = made("div", { className: "bubble" });
    if (mine) bubble.textContent = message.text;
    else {
      bubble.innerHTML = message.html;
      decorate(bubble);
    }
    bubble.append(...(message.files || []).map(fileShown));
    const who = made("span", { className: "unseen", textContent: `${mine ? textOf("page.you") : this.title}:` });
    const at = made("div", { className: "meta" }, made("time", { dateTime: message.at, textContent: when.format(new Date(message.at)) }));
    return made("li", { className: `msg ${mine ? "me" : "bot"}` }, who, bubble, at);
  }

  async ask(path) {
    try {
      const answer = await fetch(path);
      if (answer.ok) return await answer.json();
    } catch {
      // reported below
    }
    note.textContent = textOf("page.try_later");
    return null;
  }
}
