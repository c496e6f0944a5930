// Words for those who do not see what moved, and short messages for everybody. One sentence for a frame, at most one in
// three seconds: a board that talks without end is switched off.

import { el, write } from "./dom.js";
import { NAMES } from "./lanes.js";

const PACE_MS = 3_000;
const TOAST_MS = 8_000;

export function createAnnouncer() {
  const region = el("div", { class: "hidden", id: "announcer", "aria-live": "polite", role: "status" });
  const toasts = el("div", { class: "toasts", id: "toast", role: "status" });
  const node = el("div", null, region, toasts);
  let said = -Infinity;
  let timer = null;
  let waiting = null; // the sentence that is said next
  let news = []; // what the board did since it was last spoken about
  let lanes = null; // id -> lane, as it was announced last

  /** Say a sentence; of several within the pace the newest is said, and after it what the board did meanwhile. */
  function say(text) {
    waiting = text;
    soon();
  }

  function soon() {
    const wait = Math.max(0, said + PACE_MS - performance.now());
    clearTimeout(timer);
    timer = setTimeout(() => {
      said = performance.now();
      const more = news.length - 1;
      const moved = more > 0 ? `${news[0].text}; ${more} more change${more === 1 ? "" : "s"}` : news[0]?.text;
      write(region, [waiting, moved].filter(Boolean).join(". "));
      waiting = null;
      news = [];
    }, wait);
  }

  const tell = (id, text) => (news = [...news.filter((one) => one.id !== id), { id, text }]);

  /** One sentence about what a frame has moved. */
  function frame(change, model) {
    const { rows } = model.state;
    const first = lanes === null;
    lanes ??= new Map();
    const before = news;
    for (const id of change.rows) {
      const row = rows.get(id);
      const was = lanes.get(id);
      if (!row) {
        if (was) tell(id, `#${id} is gone`);
        lanes.delete(id);
        continue;
      }
      lanes.set(id, row.status);
      if (was === undefined) tell(id, `#${id} is new in ${NAMES[row.status]}`);
      else if (was !== row.status) tell(id, `#${id} moved to ${NAMES[row.status]}${row.owner ? ` by ${row.owner.label}` : ""}`);
      else if (!news.some((one) => one.id === id)) tell(id, `#${id} changed`);
    }
    if (first) news = [];
    else if (news !== before) soon();
  }

  /** A message that goes by itself, with at most one thing to do about it. It never takes the focus. */
  function toast(text, { action, act, tone = "plain" } = {}) {
    let left = TOAST_MS;
    let since = performance.now();
    let end = setTimeout(close, left);
    const item = el("div", { class: "toast", dataset: { tone } }, el("span", { dir: "auto" }, text),
      action ? el("button", { type: "button", class: "button quiet", on: { click: () => { close(); act(); } } }, action) : null,
      el("button", { type: "button", class: "button icon-only", "aria-label": "Close this message", on: { click: close } }, "×"));
    const hold = () => {
      clearTimeout(end);
      left -= performance.now() - since;
    };
    const go = () => {
      since = performance.now();
      clearTimeout(end);
      end = setTimeout(close, Math.max(left, 1_500));
    };
    for (const [type, work] of [["mouseenter", hold], ["focusin", hold], ["mouseleave", go], ["focusout", go]]) item.addEventListener(type, work);
    function close() {
      clearTimeout(end);
      const focused = item.contains(document.activeElement);
      item.remove();
      if (focused) (toasts.closest("dialog")?.querySelector("[data-close], [data-cancel]") ?? document.querySelector("#pane"))?.focus({ preventScroll: true });
    }
    while (toasts.children.length > 2) toasts.firstElementChild.remove();
    toasts.append(item);
    return close;
  }

  return { node, toasts, say, frame, toast };
}
