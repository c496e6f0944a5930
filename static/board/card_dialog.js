// A card as a whole: what it says, what it waits for, its history, and everything that may be done about it. The history is
// fetched when the dialog opens and again whenever the card has moved; a note that is being typed stays through all of it.

import { age, full } from "./ages.js";
import { showDialog } from "./dialog.js";
import { el, uid } from "./dom.js";
import { LANES } from "./model.js";
import { NAMES } from "./lanes.js";
import { refusalNote } from "./refusal.js";

const KINDS = { claim: "claimed", release: "released", reclaim: "reclaimed", assign: "assigned", move: "moved", plan: "planned", edit: "edited", add: "added", undo: "brought back" };

export function openCardDialog({ id, at, api, model, memory, actions, announce, dialogs, onClose, back }) {
  let card = null;
  let waits = [];
  let asked = 0;
  let unread = false; // the last look at the card failed, and says so
  let dropping = false;
  let chosen = ""; // the teammate to assign to, kept while the dialog is drawn anew
  const draft = `note:${id}`;
  const head = el("div", { class: "card-head" });
  const facts = el("div", { class: "card-facts" });
  const history = el("ol", { class: "history" });
  const problem = el("div", { class: "problem-place" });
  const text = el("textarea", { id: uid("note"), name: "text", rows: 3, dir: "auto", placeholder: "What happened?", ".value": memory.tab.get(draft, "") });
  const write = el("button", { type: "submit", class: "button strong", dataset: { submit: "" } }, "Add note");
  const noteForm = el("form", { class: "note-form", novalidate: true }, el("label", { for: text.id }, "Note"), text, el("div", { class: "note-actions" }, write));
  const doing = el("div", { class: "card-doing" });
  const foot = el("div", { class: "dialog-actions" });
  const body = el("div", { class: "card-whole" }, head, facts, problem, el("section", { "aria-label": "Notes" }, el("h3", null, "Notes"), history), noteForm, doing);
  const dialog = showDialog({ kind: "card", label: `Card #${id}`, content: [body, foot], wide: true, onSubmit: () => void send(), back, messages: announce.toasts, onClose: (how) => { stop(); onClose(how); } });

  const stop = model.subscribe((change) => {
    if (change.sections.has("can") || change.sections.has("board")) draw();
    if (!change.rows.has(id)) return;
    if (!model.state.rows.has(id) && card) {
      if (dropping) return;
      problem.replaceChildren(el("p", { class: "refusal", role: "alert" }, `#${id} is gone: somebody dropped it.`));
      card = { ...card, gone: true };
      draw();
      return;
    }
    if (model.state.rows.get(id)?.rev !== card?.rev) void fetchCard();
  });

  async function fetchCard() {
    const mine = ++asked;
    const answer = await api.get(`/api/cards/${id}`);
    if (mine !== asked || !dialog.node.isConnected) return;
    if (!answer.ok || answer.body.card.damaged) {
      unread = true;
      problem.replaceChildren(refusalNote(answer.ok ? { message: answer.body.card.why } : answer.body, () => void fetchCard()));
      draw();
      return;
    }
    if (unread) problem.replaceChildren();
    unread = false;
    card = answer.body.card;
    waits = answer.body.waits;
    draw();
  }

  /** One call about this card; its refusal is shown here. True for a success. */
  async function did(work) {
    problem.replaceChildren();
    unread = false;
    const answer = await work();
    if (!answer) return false;
    if (answer.body?.card && !answer.body.card.damaged && answer.body.card.id === id) card = answer.body.card;
    if (!answer.ok) refused(answer.body, () => void did(work));
    draw();
    if (answer.ok) void fetchCard();
    return answer.ok;
  }

  function refused(body, again) {
    unread = false;
    problem.replaceChildren(refusalNote(body, again));
    problem.scrollIntoView({ block: "nearest" });
  }

  async function send() {
    if (!text.value.trim() || write.disabled) return;
    write.disabled = true;
    const sent = text.value;
    if (await did(() => actions.note(id, sent))) {
      if (text.value === sent) text.value = "";
      memory.tab.set(draft, text.value || null);
      announce.say(`Note added to #${id}`);
    }
    write.disabled = false;
  }

  noteForm.addEventListener("submit", (event) => {
    event.preventDefault();
    void send();
  });
  text.addEventListener("input", () => memory.tab.set(draft, text.value || null));

  const button = (words, data, act, kind = "button") => el("button", { type: "button", class: kind, dataset: data, on: { click: act } }, words);

  function draw() {
    const row = model.state.rows.get(id);
    const canWrite = model.state.can.write && !card?.gone && !(row?.mark === "newer");
    const shown = card ?? row;
    const kept = document.activeElement;
    const where = kept && dialog.node.contains(kept) ? JSON.stringify({ ...kept.dataset }) : null;
    head.replaceChildren(...(shown ? heading(shown, row) : [el("h2", null, `#${id}`)]));
    facts.replaceChildren(...(shown ? details(shown) : []));
    history.replaceChildren(...(card?.notes ?? []).toReversed().map(entry));
    if (card && !card.notes.length) history.replaceChildren(el("li", { class: "nothing" }, "Nothing is written down yet."));
    noteForm.hidden = false;
    if (canWrite) {
      if (!noteForm.isConnected) history.parentElement.after(noteForm);
    } else noteForm.remove();
    doing.replaceChildren(...(canWrite && card ? moves(card) : []));
    foot.replaceChildren(...(canWrite && card ? choices(card) : []), el("span", { class: "grow" }), button("Close", { close: "" }, () => dialog.close()));
    if (where !== null && !kept.isConnected) {
      const same = [...dialog.node.querySelectorAll("button, select")].find((one) => JSON.stringify({ ...one.dataset }) === where && where !== "{}");
      (same ?? foot.querySelector("[data-close]")).focus();
    }
  }

  function heading(shown, row) {
    const status = row?.status ?? shown.status;
    return [
      el("div", { class: "lane-word", dataset: { status } }, el("span", { class: "dot" }), NAMES[status] ?? status, el("span", { class: "card-id" }, `#${id}`)),
      el("h2", { dir: "auto" }, shown.title),
      el("p", { class: "meta" }, meta(shown)),
    ];
  }

  function meta(shown) {
    const now = model.now();
    const parts = [shown.owner ? `held by ${shown.owner.label}` : "nobody holds it", `priority ${shown.priority}`];
    if (shown.status === "done" && shown.owner) parts[0] = `done by ${shown.owner.label}`;
    const created = el("time", { datetime: shown.createdAt, title: full(shown.createdAt) }, age(shown.createdAt, now));
    const touched = el("time", { datetime: shown.touchedAt, title: full(shown.touchedAt) }, age(shown.touchedAt, now));
    return [parts.join(" · "), " · added ", created, " ago", shown.createdBy ? ` by ${shown.createdBy.label}` : "", " · moved ", touched, " ago"];
  }

  function details(shown) {
    const link = (other) => button(`#${other.id}`, { link: other.id }, () => dialogs.openCard(other.id), "id-link");
    const row = model.state.rows.get(id);
    const open = card ? waits : row?.waits ?? [];
    const plan = card ? card.plan : null;
    return [
      fact("Paths", shown.paths?.length ? el("span", { class: "card-chips" }, shown.paths.map((path) => el("span", { class: "chip path", dir: "ltr", title: path }, path))) : null),
      fact("Waits for", open.length ? el("span", { class: "waits" }, open.map((one) => el("span", null, link(one), ` ${one.status}`))) : null),
      fact("Plan", plan ? el("code", { class: "plan", dir: "ltr" }, plan) : null),
    ].filter(Boolean);
  }

  function fact(name, value) {
    return value ? el("div", { class: "fact" }, el("span", { class: "fact-name" }, name), value) : null;
  }

  function entry(note) {
    return el("li", { class: "entry", dataset: { kind: note.kind } },
      el("div", { class: "entry-who" }, el("span", { class: "label", dir: "auto" }, note.by?.label ?? "somebody"), note.via === "page" ? " on the page" : "",
        KINDS[note.kind] ? el("span", { class: "entry-kind" }, KINDS[note.kind]) : null,
        el("time", { datetime: note.at, title: full(note.at) }, age(note.at, model.now()))),
      el("p", { dir: "auto" }, note.text));
  }

  function moves(shown) {
    const row = model.state.rows.get(id);
    const lane = row?.status ?? shown.status;
    if (shown.status === "done") return [];
    const to = LANES.filter((one) => one !== lane);
    const mates = model.state.team.filter((mate) => mate.id !== model.state.seat?.id && (mate.state === "live" || mate.state === "quiet"));
    const claim = row?.buttons.includes("Claim") ? button("Claim", { claim: "" }, () => void actions.claim(id, { show: refused }), "button main") : null;
    const select = mates.length && !shown.owner && lane !== "doing"
      ? el("select", { dataset: { assign: "" }, "aria-label": "Assign to", on: { change: (event) => (chosen = event.target.value) } },
        el("option", { value: "" }, "Assign to…"), mates.map((mate) => el("option", { value: mate.id, selected: mate.id === chosen }, mate.suffix ? `${mate.label} (…${mate.suffix})` : mate.label)))
      : null;
    // A choice alone hands nothing over: with the keyboard every step through the list is one.
    const assign = select ? button("Assign", { assignTo: "" }, () => (select.value ? void did(() => actions.assign(id, select.value)) : select.focus())) : null;
    return [
      el("div", { class: "moves", role: "group", "aria-label": "Move to" }, el("span", { class: "fact-name" }, "Move to"),
        to.map((one) => el("button", { type: "button", class: "button move", dataset: { move: one, status: one }, on: { click: () => void did(() => actions.move(id, one, card.rev)) } }, el("span", { class: "dot" }), NAMES[one]))),
      claim || select ? el("div", { class: "moves" }, claim, select, assign) : null,
    ].filter(Boolean);
  }

  function choices(shown) {
    const mine = shown.owner?.id === model.state.seat?.id;
    const live = shown.status !== "done";
    return [
      live && shown.owner && mine ? button("Release", { release: "" }, () => void did(() => actions.release(id))) : null,
      live && shown.owner && !mine ? button("Reclaim", { reclaim: "" }, () => void actions.reclaim(id, { show: refused })) : null,
      live || mine ? button("Edit", { edit: "" }, () => dialogs.openEdit(card, () => void fetchCard())) : null,
      live ? null : button("Reopen", { reopen: "" }, () => void reopen()),
      button("Drop", { drop: "" }, () => void drop(), "button danger"),
    ].filter(Boolean);
  }

  async function reopen() {
    problem.replaceChildren();
    const answer = await actions.reopen(id);
    if (!answer) return;
    if (!answer.ok) {
      refused(answer.body, () => void reopen());
      return;
    }
    announce.toast(`#${id} is open again as #${answer.body.card.id}`);
    dialogs.openCard(answer.body.card.id);
  }

  async function drop() {
    dropping = true;
    if (await actions.drop(id, { show: refused })) dialog.close("dropped");
    dropping = false;
  }

  draw();
  void fetchCard().then(() => {
    const place = at === "note" ? text : at === "move" ? doing.querySelector("[data-move]") : null;
    if (place?.isConnected && (document.activeElement === dialog.node || document.activeElement?.dataset.close !== undefined)) place.focus();
  });
  foot.querySelector("[data-close]").focus();
  return dialog;
}
