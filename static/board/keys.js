// The keys of the page. They do nothing while somebody types, composes a character, holds a modifier, or has a dialog
// open: there only Esc, Tab and Ctrl+Enter mean something, and the dialog sees to those.

import { isOpen } from "./dialog.js";

export const KEYS = [
  { keys: ["n"], text: "New card", needs: "write" },
  { keys: ["/"], text: "Filter by title, path or owner" },
  { keys: ["j", "k"], text: "Next or previous card", needs: "board" },
  { keys: ["Enter"], text: "Open the focused card", needs: "board" },
  { keys: ["t"], text: "Switch Board and Team" },
  { keys: ["Esc"], text: "Close a dialog, or clear the filter" },
  { keys: ["?"], text: "This sheet" },
  { keys: ["Ctrl", "Enter"], together: true, text: "Send what a dialog holds", needs: "write" },
];

/** Whether a key of the sheet does something in this view for this reader. */
export const works = (entry, { view, canWrite }) => (entry.needs === "board" ? view === "board" : entry.needs === "write" ? canWrite : true);

const TYPES = "input, textarea, select, [contenteditable]";

export function bindKeys({ ui, dialogs, model, lanes, toolbar }) {
  function step(by) {
    const ids = lanes.shownIds();
    if (!ids.length) return;
    const at = ids.indexOf(ui.state.focus);
    const next = at < 0 ? (by > 0 ? 0 : ids.length - 1) : Math.min(ids.length - 1, Math.max(0, at + by));
    ui.setFocus(ids[next]);
    const face = lanes.faceOf(ids[next]);
    face?.focus({ preventScroll: true });
    face?.scrollIntoView({ block: "nearest" });
  }

  const acts = {
    n: () => model.state.can.write && dialogs.openNew(),
    "/": () => {
      toolbar.filter.focus();
      toolbar.filter.select();
    },
    j: () => ui.state.view === "board" && step(1),
    k: () => ui.state.view === "board" && step(-1),
    t: () => ui.setView(ui.state.view === "board" ? "team" : "board"),
    "?": () => dialogs.openSheet(),
    Escape: () => ui.setFilter(""),
    Enter: (event) => {
      const face = event.target.closest?.(".card");
      if (!face || event.target !== face) return false;
      dialogs.openCard(Number(face.dataset.card));
      return true;
    },
  };

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || event.key === "Process" || event.keyCode === 229) return;
    if (event.ctrlKey || event.metaKey || event.altKey || isOpen()) return;
    const typing = event.target.closest?.(TYPES);
    if (typing && !(event.key === "Escape" && typing === toolbar.filter)) return;
    if (event.repeat && event.key !== "j" && event.key !== "k") return;
    const act = acts[event.key];
    if (!act || act(event) === false) return;
    event.preventDefault();
    if (event.key === "Escape" && typing) typing.blur();
  });
}
