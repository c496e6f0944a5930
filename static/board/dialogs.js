// Which dialog is open, and the address that goes with a card's. One card dialog at a time; questions and the edit form lie
// on top of it.

import { openCardDialog } from "./card_dialog.js";
import { confirm } from "./confirm.js";
import { isOpen, showDialog, topDialog } from "./dialog.js";
import { el } from "./dom.js";
import { openEditDialog, openNewDialog } from "./form_dialog.js";
import { openPruneDialog } from "./prune_dialog.js";
import { openSheet } from "./sheet.js";

export function createDialogs(parts) {
  const { model, ui } = parts;
  let card = null; // the open card dialog: {id, dialog}

  /** Where focus goes when what had it is gone: the card that was looked at, or the page. */
  const back = () => document.querySelector(`.lane [data-card="${ui.state.focus}"]`) ?? document.querySelector(".lane .card") ?? document.querySelector("#pane");

  function showCard(id, at) {
    if (card?.id === id) return;
    card?.dialog.close("next");
    const mine = { id };
    card = mine;
    mine.dialog = openCardDialog({ ...parts, id, at, dialogs: self, back, onClose: () => {
      if (card !== mine) return;
      card = null;
      ui.closeCard();
    } });
  }

  function showDamaged(name) {
    const entry = model.state.damaged.find((one) => one.name === name);
    if (!entry) return;
    const close = el("button", { type: "button", class: "button", dataset: { close: "" } }, "Close");
    const dialog = showDialog({ kind: "aside", label: `Damaged file ${name}`, back, content: [
      el("h2", { dir: "ltr" }, entry.name), el("p", { dir: "auto" }, entry.why),
      el("p", { class: "meta" }, [entry.size === null ? null : `${entry.size} bytes`, entry.mtime].filter(Boolean).join(" · ")),
      entry.head ? el("pre", { class: "file-head", dir: "auto" }, entry.head) : null,
      el("p", { class: "hint" }, "The file is left as it is. Repair it with an editor, and the card is back."),
      el("div", { class: "dialog-actions" },
        model.state.can.write ? el("button", { type: "button", class: "button danger", dataset: { action: "aside" }, on: { click: () => { dialog.close(); void parts.actions.setAside(name); } } }, "Set aside") : null,
        el("span", { class: "grow" }), close),
    ] });
    close.addEventListener("click", () => dialog.close());
    close.focus();
  }

  /** The link, for a browser that gives the clipboard to nobody. */
  function showLink(text) {
    const field = el("input", { type: "text", readonly: true, class: "link-field", "aria-label": "Viewer link", ".value": text });
    const close = el("button", { type: "button", class: "button", dataset: { close: "" } }, "Close");
    const dialog = showDialog({ kind: "link", label: "Viewer link", content: [el("h2", null, "Viewer link"), el("p", null, "It can look at the board and change nothing."), field, el("div", { class: "dialog-actions" }, el("span", { class: "grow" }), close)] });
    close.addEventListener("click", () => dialog.close());
    field.focus();
    field.select();
  }

  const self = {
    openCard(id, { at } = {}) {
      ui.setFocus(id);
      ui.openCard(id);
      showCard(id, at);
    },
    openNew: () => model.state.can.write && openNewDialog({ ...parts, back }),
    openEdit: (whole, done) => openEditDialog({ ...parts, card: whole, done, back }),
    openSheet: () => openSheet(parts),
    openPrune: () => model.state.can.write && openPruneDialog({ ...parts, back }),
    openDamaged: showDamaged,
    showLink,
    confirm: (question) => confirm({ back, ...question }),
    isOpen,
    closeTop: () => topDialog()?.close(),
    closeAll() {
      while (topDialog()) topDialog().close();
    },
  };

  ui.subscribe((what) => {
    if (what === "all" && ui.state.card === null && card) card.dialog.close("back");
    else if (what === "all" && ui.state.card !== null) showCard(ui.state.card);
  });
  const stop = model.subscribe(() => {
    if (model.state.rev < 0) return;
    stop();
    if (ui.state.card !== null) showCard(ui.state.card);
  });
  return self;
}
