// Dropping what was finished long ago. First the cards are shown that would go; only then there is a button.

import { age } from "./ages.js";
import { showDialog } from "./dialog.js";
import { el, uid } from "./dom.js";
import { refusalNote } from "./refusal.js";

const DAYS = 14;
const SHOWN = 200;

export function openPruneDialog({ model, actions, announce, back }) {
  const days = el("input", { type: "number", id: uid("days"), name: "days", min: 0, max: 3650, value: DAYS, inputmode: "numeric" });
  const result = el("div", { class: "prune-result", "aria-live": "polite" });
  const cancel = el("button", { type: "button", class: "button", dataset: { cancel: "" } }, "Cancel");
  const go = el("button", { type: "submit", class: "button strong danger", dataset: { submit: "" }, disabled: true }, "Prune");
  const node = el("form", { class: "form", novalidate: true },
    el("h2", null, "Prune finished cards"),
    el("div", { class: "field row" }, el("label", { for: days.id }, "Finished at least"), days, el("span", null, "days ago")),
    result,
    el("div", { class: "dialog-actions" }, el("span", { class: "grow" }), cancel, go));
  const dialog = showDialog({ kind: "prune", label: "Prune finished cards", content: node, back, messages: announce.toasts });
  let asked = 0;
  const since = () => (days.value === "" ? DAYS : days.valueAsNumber);
  const isNumber = () => !days.validity.badInput; // "-" and "1e" are empty to a program

  async function preview() {
    const mine = ++asked;
    go.disabled = true;
    if (!isNumber()) {
      result.replaceChildren(refusalNote({ message: "How many days? Write a whole number." }));
      return;
    }
    const answer = await actions.prune(since(), true);
    if (mine !== asked || !dialog.node.isConnected) return;
    if (answer === null) {
      setTimeout(preview, 100); // the last look is still on its way
      return;
    }
    if (!answer.ok) {
      result.replaceChildren(refusalNote(answer.body, preview));
      return;
    }
    show(answer.body);
  }

  function show({ cards, kept }) {
    const now = model.now();
    result.replaceChildren(...[
      el("p", null, cards.length ? `${cards.length} card${cards.length === 1 ? "" : "s"} would be dropped, each with a copy that Undo brings back for a day:` : "No card is that old."),
      cards.length ? el("ul", { class: "prune-list" }, cards.slice(0, SHOWN).map((card) => el("li", { dir: "auto" }, `#${card.id} ${card.title} `, el("span", { class: "age" }, age(card.finishedAt, now))))) : null,
      cards.length > SHOWN ? el("p", null, `and ${cards.length - SHOWN} more`) : null,
      kept.length ? el("p", null, "These stay:") : null,
      kept.length ? el("ul", { class: "prune-list" }, kept.slice(0, SHOWN).map((card) => el("li", { dir: "auto" }, `#${card.id} ${card.title}: ${card.why}`))) : null,
    ].filter(Boolean));
    go.textContent = cards.length ? `Drop ${cards.length}` : "Prune";
    go.disabled = !cards.length;
  }

  days.addEventListener("input", preview);
  cancel.addEventListener("click", () => dialog.close("cancel"));
  node.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (go.disabled) return;
    go.disabled = true;
    const answer = await actions.prune(since(), false);
    if (!answer) return;
    if (!answer.ok) {
      result.replaceChildren(refusalNote(answer.body, preview));
      return;
    }
    const { cards, kept } = answer.body;
    dialog.close("pruned");
    announce.toast(`${cards.length} finished card${cards.length === 1 ? "" : "s"} dropped${kept.length ? `, ${kept.length} kept` : ""}`);
  });
  days.focus();
  void preview();
}
