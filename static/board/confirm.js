// A question before something that takes something away. The safe answer has the focus.

import { showDialog } from "./dialog.js";
import { el, uid } from "./dom.js";

/** True if the reader says yes; Esc, a click beside it and Cancel say no. */
export function confirm({ title, text, yes, danger = false, back }) {
  return new Promise((resolve) => {
    const id = uid("confirm");
    const no = el("button", { type: "button", class: "button", dataset: { cancel: "" } }, "Cancel");
    const go = el("button", { type: "button", class: danger ? "button strong danger" : "button strong", dataset: { submit: "" } }, yes);
    const content = [el("h2", null, title), el("p", { id, dir: "auto" }, text), el("div", { class: "dialog-actions" }, el("span", { class: "grow" }), no, go)];
    const dialog = showDialog({ kind: "confirm", label: title, content, back, onClose: (how) => resolve(how === "yes") });
    dialog.node.setAttribute("aria-describedby", id);
    no.addEventListener("click", () => dialog.close("no"));
    go.addEventListener("click", () => dialog.close("yes"));
    (danger ? no : go).focus();
  });
}
