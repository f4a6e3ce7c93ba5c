// Files of the next message: picked, pasted or dropped, and uploaded at once.

import { newId } from "/web/store.js";
import { made, sizeText, tell, textOf } from "/web/view.js";

const MOST_FILES = 10;
const MOST_BYTES = 8_000_000;
const PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const TEXTS = /\.(txt|md|csv|tsv|log|json|xml|ya?ml|toml|ini|py|js|ts|html?|css|sql|sh)$/i;

const chips = document.getElementById("chips");
const picker = document.getElementById("picker");

// Upload with progress, which `fetch` lacks. A failed request has status 0.
function hand(url, body, onPart) {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.open("POST", url);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.onprogress = (event) => event.lengthComputable && onPart(event.loaded / event.total);
    request.onloadend = () => resolve(request);
    request.send(body);
  });
}

export class Files {
  constructor({ onChange }) {
    this.onChange = onChange;
    this.forget();
    document.getElementById("attach").addEventListener("click", () => picker.click());
    picker.addEventListener("change", () => {
      this.add(picker.files);
      picker.value = "";
    });
    document.getElementById("text").addEventListener("paste", (event) => {
      const pasted = event.clipboardData.files;
      if (!pasted.length) return;
      event.preventDefault();
      this.add(pasted);
    });
    addEventListener("dragover", (event) => {
      if (!event.dataTransfer.types.includes("Files")) return;
      event.preventDefault();
      document.body.classList.add("dropping");
    });
    addEventListener("dragleave", (event) => event.relatedTarget === null && document.body.classList.remove("dropping"));
    addEventListener("drop", (event) => {
      document.body.classList.remove("dropping");
      if (!event.dataTransfer.files.length) return;
      event.preventDefault();
      this.add(event.dataTransfer.files);
    });
  }

  forget() {
    this.message = newId(); // id of their message
    this.next = 0;
    this.held = [];
    chips.replaceChildren();
    chips.hidden = true;
    this.onChange?.();
  }

  get any() {
    return this.held.length > 0;
  }

  get ready() {
    return this.held.every((one) => one.state === "here");
  }

  // Return the files' entries in the message, and for the page until the gateway confirms it.
  toFrames() {
    return this.held.map(({ number, name, mime, size }) => ({ number, name, mime, size }));
  }

  toShown() {
    return this.held.map((one) => ({ url: this.url(one), name: one.name, bytes: one.size, picture: one.picture, description: "" }));
  }

  url({ number }) {
    return `/web/file?of=${this.message}&number=${number}`;
  }

  add(files) {
    for (const file of files) {
      const name = (file.name || "file").slice(-200);
      if (this.held.length >= MOST_FILES || this.next >= 2 * MOST_FILES) return this.refuse(textOf("page.files_many", { most: MOST_FILES }));
      if (file.size > MOST_BYTES) this.refuse(textOf("page.file_large", { name, most: sizeText(MOST_BYTES) }));
      else if (file.size === 0) this.refuse(textOf("page.file_empty", { name }));
      else this.hold(file, name);
    }
  }

  refuse(words) {
    const chip = made("li", { className: "chip failed" }, made("span", { textContent: words }));
    const gone = () => {
      chip.remove();
      chips.hidden = !chips.children.length;
    };
    chip.append(this.removing(words, gone));
    chips.append(chip);
    chips.hidden = false;
    tell(words);
    setTimeout(gone, 12_000);
  }

  hold(file, name) {
    const mime = file.type || (TEXTS.test(name) ? "text/plain" : "application/octet-stream");
    const one = { number: this.next++, name, mime: mime.slice(0, 100), size: file.size, picture: PICTURES.includes(mime), state: "going", file };
    one.chip = made("li", { className: "chip going" });
    this.held.push(one);
    chips.append(one.chip);
    chips.hidden = false;
    this.hand(one);
  }

  async hand(one) {
    const { message } = this;
    this.mark(one, "going");
    let why = textOf("page.file_failed", { name: one.name });
    const answer = await hand(`/web/upload?of=${message}&number=${one.number}`, one.file, (part) => this.progress(one, part));
    if (answer.status >= 200 && answer.status < 300) return this.mark(one, "here");
    if (answer.status === 413) why = textOf("page.file_large", { name: one.name, most: sizeText(MOST_BYTES) });
    else if ([403, 429].includes(answer.status) && answer.getResponseHeader("Content-Type")?.startsWith("text/plain")) why = answer.responseText.trim();
    if (this.held.includes(one)) this.mark(one, "failed", why);
  }

  // Show the progress as a bar, and as a number for screen readers.
  progress(one, part) {
    const bar = one.chip.querySelector("progress");
    if (!bar) return;
    bar.value = part;
    bar.nextSibling.textContent = ` ${Math.floor(part * 100)} %`;
  }

  mark(one, state, why = "") {
    one.state = state;
    one.chip.className = `chip ${state}`;
    const words = made("span", { textContent: why || `${one.name} (${sizeText(one.size)})` });
    one.chip.replaceChildren(words, this.removing(one.name, () => this.remove(one)));
    if (state === "here" && one.picture) one.chip.prepend(made("img", { src: this.url(one), alt: "" }));
    if (state === "going") {
      const bar = made("progress", { max: 1, value: 0 });
      bar.setAttribute("aria-label", textOf("page.file_going"));
      words.after(bar, made("small", { textContent: " 0 %" }));
    }
    if (state === "failed") {
      const again = made("button", { type: "button", className: "again", textContent: textOf("page.retry") });
      again.addEventListener("click", () => this.hand(one));
      words.after(again);
      tell(why);
    }
    this.onChange();
  }

  remove(one) {
    this.held = this.held.filter((other) => other !== one);
    one.chip.remove();
    chips.hidden = !chips.children.length;
    this.onChange();
    document.getElementById("text").focus();
  }

  removing(name, does) {
    const button = made("button", { type: "button", className: "off-it", textContent: "×" });
    button.setAttribute("aria-label", textOf("page.file_remove", { name }));
    button.addEventListener("click", does);
    return button;
  }
}
