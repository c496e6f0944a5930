// The keyboard sheet, drawn from the table that the keys are bound by; what does nothing here is greyed.

import { showDialog } from "./dialog.js";
import { el } from "./dom.js";
import { KEYS, works } from "./keys.js";

export function openSheet({ ui, model }) {
  const here = { view: ui.state.view, canWrite: model.state.can.write };
  const close = el("button", { type: "button", class: "button", dataset: { close: "" } }, "Close");
  const rows = KEYS.map((entry) => {
    const does = works(entry, here);
    return el("tr", { class: does ? null : "off" },
      el("th", { scope: "row" }, entry.keys.map((key, at) => [at ? (entry.together ? " + " : " / ") : null, el("kbd", null, key)])),
      el("td", null, entry.text, does ? null : el("span", { class: "note-off" }, entry.needs === "board" ? " (on the Board tab)" : " (not for viewers)")));
  });
  const content = [el("h2", null, "Keys"), el("table", { class: "keys-table" }, el("tbody", null, rows)), el("div", { class: "dialog-actions" }, el("span", { class: "grow" }), close)];
  const dialog = showDialog({ kind: "sheet", label: "Keys", content });
  close.addEventListener("click", () => dialog.close());
  close.focus();
}
