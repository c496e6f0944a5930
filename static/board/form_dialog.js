// The dialog that publishes a card, and the same one as Edit. A draft of a new card survives everything but Cancel and its
// own success; what is typed into Edit is the card's, not a draft, and goes when that mode is left.

import { showDialog } from "./dialog.js";
import { el, set, uid, write } from "./dom.js";
import { linksPicker } from "./links_picker.js";
import { refusalNote } from "./refusal.js";

const MAX_TITLE = 120;
const PRIORITIES = ["high", "normal", "low"];
const NOTHING = { title: "", paths: "", priority: "normal", note: "", dependsOn: [] };

const words = (text) => text.split(/\s+/).filter(Boolean);
const count = (text) => [...text].length;

function fields({ model, values, except, withNote, onInput }) {
  const title = el("input", { type: "text", id: uid("title"), name: "title", class: "title-field", autocomplete: "off", dir: "auto", required: true, placeholder: "What is to be reached", ".value": values.title });
  const counter = el("span", { class: "counter", "aria-hidden": "true" });
  const over = el("span", { class: "field-error", id: uid("title-error") });
  const paths = el("input", { type: "text", id: uid("paths"), name: "paths", autocomplete: "off", spellcheck: "false", dir: "ltr", placeholder: "src/billing tests/billing", ".value": values.paths });
  const note = withNote ? el("textarea", { id: uid("note"), name: "note", rows: 2, dir: "auto", ".value": values.note }) : null;
  const group = uid("priority");
  const radios = PRIORITIES.map((one) => el("label", { class: "choice" }, el("input", { type: "radio", name: "priority", value: one, ".checked": one === values.priority }), el("span", null, one)));
  const links = linksPicker({ model, chosen: values.dependsOn, except, onChange: onInput });
  set(title, { "aria-describedby": over.id });
  const node = el("div", { class: "form-fields" },
    el("div", { class: "field" }, el("label", { for: title.id }, "Title"), el("div", { class: "title-line" }, title, counter), over),
    el("div", { class: "field" }, el("label", { for: paths.id }, "Paths"), paths),
    el("fieldset", { class: "field" }, el("legend", { id: group }, "Priority"), el("div", { class: "choices" }, radios)),
    el("div", { class: "field" }, el("label", { for: links.field.id }, "Waits for"), links.node),
    note ? el("div", { class: "field" }, el("label", { for: note.id }, "First note"), note) : null);

  const read = () => ({
    title: title.value, paths: paths.value, note: note?.value ?? "", dependsOn: links.values(),
    priority: node.querySelector("[name=priority]:checked")?.value ?? "normal",
  });

  function check() {
    const length = count(title.value.trim());
    write(counter, title.value ? `${length}/${MAX_TITLE}` : "");
    counter.classList.toggle("over", length > MAX_TITLE);
    const problem = length > MAX_TITLE ? `A title has at most ${MAX_TITLE} characters; this one has ${length}.` : "";
    write(over, problem);
    set(title, { "aria-invalid": problem ? "true" : null });
    return !problem;
  }

  node.addEventListener("input", () => {
    check();
    onInput();
  });
  check();

  function fill(to) {
    title.value = to.title;
    paths.value = to.paths;
    if (note) note.value = to.note;
    for (const radio of node.querySelectorAll("[name=priority]")) radio.checked = radio.value === to.priority;
    links.setValues(to.dependsOn);
    check();
  }

  return { node, title, read, fill, check, links };
}

/** What is common to both: fields, a place for refusals, one call at a time. */
function form({ label, submitText, hint, part, send, cancel }) {
  const problem = el("div", { class: "problem-place" });
  const submit = el("button", { type: "submit", class: "button strong", dataset: { submit: "" } }, submitText);
  const node = el("form", { class: "form", novalidate: true },
    el("h2", null, label), part.node, problem, el("p", { class: "hint" }, hint),
    el("div", { class: "dialog-actions" }, el("span", { class: "grow" }), cancel, submit));

  async function go() {
    if (submit.disabled) return;
    const pending = part.links.pending();
    if (!part.check() || !part.read().title.trim() || pending) {
      problem.replaceChildren(el("p", { class: "refusal", role: "alert" },
        pending ? `“${pending}” is not among the cards to wait for yet: take a suggestion, or empty the field.`
          : part.read().title.trim() ? "The title is too long." : "A card needs a title."));
      (pending ? part.links.field : part.title).focus();
      return;
    }
    submit.disabled = true;
    set(node, { "aria-busy": "true" });
    problem.replaceChildren();
    const answer = await send(part.read());
    submit.disabled = false;
    set(node, { "aria-busy": null });
    if (answer && !answer.ok) problem.replaceChildren(refusalNote(answer.body, go));
  }

  node.addEventListener("submit", (event) => {
    event.preventDefault();
    void go();
  });
  return { node, go };
}

export function openNewDialog({ model, memory, actions, announce, back }) {
  let key = null; // what names one attempt: {says, of}
  const keep = () => memory.tab.set("draft", isEmpty(part.read()) ? null : part.read());
  const part = fields({ model, values: { ...NOTHING, ...memory.tab.get("draft", {}) }, except: null, withNote: true, onInput: keep });
  const cancel = el("button", { type: "button", class: "button", dataset: { cancel: "" } }, "Cancel");
  const { node, go } = form({
    label: "New card", submitText: "Add card", part, cancel,
    hint: "Paths are hints, with spaces between. The dialog stays open for the next card; Esc keeps what is typed.",
    send: async (values) => {
      // The same card sent again, after an answer that was lost, is one card.
      const says = JSON.stringify(values);
      if (key?.says !== says) key = { says, of: crypto.randomUUID() };
      const body = { title: values.title, priority: values.priority, key: key.of };
      if (words(values.paths).length) body.paths = words(values.paths);
      if (values.note.trim()) body.note = values.note;
      if (values.dependsOn.length) body.dependsOn = values.dependsOn;
      const answer = await actions.add(body);
      if (answer?.ok) {
        memory.tab.set("draft", null);
        if (JSON.stringify(part.read()) === JSON.stringify(values)) part.fill(NOTHING); // not what was typed meanwhile
        else keep();
        key = null;
        part.title.focus();
        announce.toast(`#${answer.body.card.id} added`);
      }
      return answer;
    },
  });
  const dialog = showDialog({ kind: "new", label: "New card", content: node, onSubmit: go, back, messages: announce.toasts });
  cancel.addEventListener("click", () => {
    memory.tab.set("draft", null);
    dialog.close("cancel");
  });
  part.title.focus();
}

const isEmpty = (values) => !values.title && !values.paths && !values.note && !values.dependsOn.length && values.priority === "normal";

/** Edit `card` (the whole card, as it was fetched). `done()` is called after a save. */
export function openEditDialog({ model, actions, announce, card, done, back }) {
  const values = { title: card.title, paths: card.paths.join(" "), priority: card.priority, note: "", dependsOn: card.dependsOn };
  const part = fields({ model, values, except: card.id, withNote: false, onInput: () => {} });
  const plan = el("input", { type: "text", id: uid("plan"), name: "plan", dir: "ltr", spellcheck: "false", autocomplete: "off", placeholder: "docs/plans/billing.md", ".value": card.plan ?? "" });
  if (card.status !== "done") part.node.append(el("div", { class: "field" }, el("label", { for: plan.id }, "Plan"), plan));
  const cancel = el("button", { type: "button", class: "button", dataset: { cancel: "" } }, "Cancel");
  const base = { title: card.title, paths: card.paths, priority: card.priority, dependsOn: card.dependsOn };
  const { node, go } = form({
    label: `Edit card #${card.id}`, submitText: "Save", part, cancel, hint: "Paths are hints, with spaces between.",
    send: async (now) => {
      const changed = changes(base, { title: now.title, paths: words(now.paths), priority: now.priority, dependsOn: now.dependsOn });
      const planned = plan.value.trim() !== (card.plan ?? "") && plan.value.trim() ? plan.value.trim() : null;
      let answer = null;
      if (Object.keys(changed).length) {
        answer = await actions.edit(card.id, changed, pick(base, changed));
        if (answer?.body?.code === "stale" && answer.body.card) {
          // Who saves once more has seen what is there now, and means it.
          Object.assign(base, pick(answer.body.card, changed));
          return { ...answer, body: { ...answer.body, message: `${answer.body.message} What you typed is still here; Save puts it in place of that.` } };
        }
        if (!answer?.ok) return answer;
        Object.assign(base, pick(answer.body.card, changed));
      }
      if (planned) answer = await actions.plan(card.id, planned);
      if (answer && !answer.ok) return answer;
      dialog.close("saved");
      if (answer) announce.say(`#${card.id} saved`);
      done();
      return answer;
    },
  });
  const dialog = showDialog({ kind: "edit", label: `Edit card #${card.id}`, content: node, onSubmit: go, back });
  cancel.addEventListener("click", () => dialog.close("cancel"));
  part.title.focus();
}

function changes(before, after) {
  return Object.fromEntries(Object.entries(after).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name])));
}

const pick = (from, like) => Object.fromEntries(Object.keys(like).map((name) => [name, from[name]]));
