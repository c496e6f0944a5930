// One modal dialog: Tab stays inside, Esc and a click beside it close it, and focus goes back to what opened it. Several
// may lie on each other; keys go to the topmost.

import { el } from "./dom.js";

const open = [];
const FOCUSABLE = "a[href], button:not([disabled]), input:not([disabled]), select:not([disabled]), textarea:not([disabled]), summary, [tabindex='0']";

export const isOpen = () => open.length > 0;
export const topDialog = () => open.at(-1) ?? null;

/** Show `content` as a dialog. `onClose(how)` is told how it was closed: "esc", "backdrop", or what `close` was given.
 * `back()` gives the element to focus afterwards, for when the one that had focus is gone. */
export function showDialog({ kind, label, content, wide = false, onClose = () => {}, onSubmit = null, back = () => null, messages = null }) {
  const opener = document.activeElement;
  const node = el("dialog", { class: wide ? "dialog wide" : "dialog", dataset: { dialog: kind }, "aria-label": label }, content);
  let closed = false;
  const self = { node, kind, close, messages };

  function close(how = "close") {
    if (closed) return;
    while (open.at(-1) !== self) open.at(-1).close("below"); // what lies on top goes first
    closed = true;
    open.splice(open.indexOf(self), 1);
    if (messages?.parentElement === node) (open.findLast((one) => one.messages)?.node ?? document.body).append(messages);
    node.close();
    node.remove();
    const target = opener?.isConnected && opener !== document.body ? opener : (successor(open.at(-1)?.node, opener) ?? back());
    target?.focus?.({ preventScroll: true });
    onClose(how);
  }

  node.addEventListener("cancel", (event) => {
    event.preventDefault();
    close("esc");
  });
  // A browser may close a dialog for good without asking, where it was told not to once before.
  node.addEventListener("close", () => close("esc"));
  let pressed = null;
  node.addEventListener("pointerdown", (event) => (pressed = event.target));
  node.addEventListener("click", (event) => {
    // Only what began and ended beside the dialog: a text selected past its edge closes nothing.
    if (event.target === node && pressed === node && isBeside(node, event)) close("backdrop");
  });
  node.addEventListener("keydown", (event) => {
    if (event.isComposing || event.key === "Process") return;
    if (event.key === "Tab" || event.keyCode === 9) keepInside(node, event); // WebKitGTK has no name for Shift+Tab
    else if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && onSubmit) {
      event.preventDefault();
      onSubmit();
    }
  });
  document.body.append(node);
  if (messages) node.append(messages);
  open.push(self);
  node.showModal();
  return self;
}

/** In the dialog below, which may have been drawn anew meanwhile: the button that is the same, or the way out. */
function successor(below, opener) {
  if (!below) return null;
  const says = JSON.stringify({ ...opener?.dataset });
  const same = says === "{}" ? null : [...below.querySelectorAll("button")].find((one) => JSON.stringify({ ...one.dataset }) === says);
  return same ?? below.querySelector("[data-close], [data-cancel]");
}

function isBeside(node, event) {
  const box = node.getBoundingClientRect();
  return event.clientX < box.left || event.clientX > box.right || event.clientY < box.top || event.clientY > box.bottom;
}

/** Tab goes round among the dialog's own places. Engines differ in where it goes from one dialog that lies on another. */
function keepInside(node, event) {
  const places = [...node.querySelectorAll(FOCUSABLE)].filter((one) => one.getClientRects().length > 0 && isStop(one));
  if (!places.length) return;
  event.preventDefault();
  const here = document.activeElement;
  const at = places.findIndex((one) => one === here || (one.type === "radio" && one.name === here.name && one.form === here.form));
  const next = at < 0 ? (event.shiftKey ? places.length - 1 : 0) : (at + (event.shiftKey ? places.length - 1 : 1)) % places.length;
  places[next].focus();
}

/** Of a group of radio buttons Tab stops at the chosen one; the arrow keys go on from there. */
const isStop = (one) => one.type !== "radio" || one.checked;
