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
  let waiting = null;
  let lanes = null; // id -> lane, as it was announced last

  /** Say a sentence; of several within the pace the newest is said. */
  function say(text) {
    waiting = text;
    const wait = Math.max(0, said + PACE_MS - performance.now());
    clearTimeout(timer);
    timer = setTimeout(() => {
      said = performance.now();
      write(region, waiting);
    }, wait);
  }

  /** One sentence about what a frame has moved. */
  function frame(change, model) {
    const { rows } = model.state;
    const first = lanes === null;
    lanes ??= new Map();
    const news = [];
    for (const id of change.rows) {
      const row = rows.get(id);
      const before = lanes.get(id);
      if (!row) {
        if (before) news.push(`#${id} is gone`);
        lanes.delete(id);
        continue;
      }
      lanes.set(id, row.status);
      if (before === undefined) news.push(`#${id} is new in ${NAMES[row.status]}`);
      else if (before !== row.status) news.push(`#${id} moved to ${NAMES[row.status]}${row.owner ? ` by ${row.owner.label}` : ""}`);
      else news.push(`#${id} changed`);
    }
    if (first || !news.length) return;
    const more = news.length - 1;
    say(more ? `${news[0]}; ${more} more change${more === 1 ? "" : "s"}` : news[0]);
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
      item.remove();
    }
    while (toasts.children.length > 2) toasts.firstElementChild.remove();
    toasts.append(item);
    return close;
  }

  return { node, toasts, say, frame, toast };
}
