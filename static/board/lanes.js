// The four lanes: trays with a head that stays in view, a count, and cards that are made anew only when their row has
// moved, so that focus, scroll and half-typed text survive every frame. A long lane shows its first cards and a button.

import { cardFace } from "./card.js";
import { arrange, el, icon, set, write } from "./dom.js";
import { LANES } from "./model.js";
import { isEmpty, matches, parse } from "./query.js";

export const NAMES = { todo: "To do", doing: "Doing", blocked: "Blocked", done: "Done" };
const NOTHING = {
  todo: "Nothing waits to be taken.",
  doing: "Nobody is at work.",
  blocked: "Nothing is stuck.",
  done: "Nothing is finished yet.",
};

const NARROW = matchMedia("(max-width: 860px)"); // one lane at a time, and none folded (board.css)

export function createLanes({ model, ui, seen }) {
  const faces = new Map(); // id -> {row, node, canWrite, isNews}
  let opened = null; // the lane that a narrow page opened on: it stays there until the reader goes elsewhere
  let asked = null; // the lane whose reader has just asked for more: focus goes to the first that comes
  const trays = new Map(LANES.map((lane) => [lane, tray(lane)]));
  const tabs = el(
    "div", { class: "lane-switch", role: "group", "aria-label": "Lane" },
    LANES.map((lane) =>
      el("button", { type: "button", class: "lane-tab", dataset: { laneTab: lane, status: lane }, on: { click: () => ui.setLane(lane) } },
        el("span", { class: "dot" }), NAMES[lane], el("span", { class: "pill" }, "0")),
    ),
  );
  const node = el("div", { class: "lanes-view" }, tabs, el("div", { class: "lanes" }, [...trays.values()].map((one) => one.node)));

  function tray(lane) {
    const id = `lane-${lane}`;
    const count = el("span", { class: "pill", dataset: { count: "" } }, "0");
    const fold = el(
      "button", { type: "button", class: "fold", dataset: { fold: "" }, "aria-controls": id, on: { click: () => ui.toggleFold(lane) } },
      icon("M4 6l4 4 4-4"), el("span", { class: "hidden" }, `Fold ${NAMES[lane]}`),
    );
    const list = el("ol", { class: "cards", id, role: "list", "aria-label": `${NAMES[lane]} cards` });
    const empty = el("p", { class: "lane-empty" }, NOTHING[lane]);
    const more = el("button", { type: "button", class: "button quiet show-more", on: { click: () => showMore(lane) } });
    const section = el(
      "section", { class: "lane", dataset: { lane, status: lane }, "aria-labelledby": `${id}-name` },
      el("header", { class: "lane-head" }, el("span", { class: "dot" }), el("h2", { id: `${id}-name` }, NAMES[lane]), count, el("span", { class: "hidden" }, "cards"), el("span", { class: "grow" }), fold),
      el("div", { class: "lane-body" }, list, empty, more),
    );
    return { node: section, count, fold, list, empty, more };
  }

  function showMore(lane) {
    asked = { lane, at: trays.get(lane).list.children.length };
    ui.showMore(lane);
  }

  /** The ids that a lane shows under the filter. */
  function visible(lane, query) {
    const ids = model.state.order[lane];
    if (isEmpty(query)) return ids;
    return ids.filter((id) => {
      const row = model.state.rows.get(id);
      return row && matches(row, query);
    });
  }

  function face(id) {
    const row = model.state.rows.get(id);
    if (!row) return null;
    const canWrite = model.state.can.write;
    const isNews = seen.isNews(row);
    const known = faces.get(id);
    if (known && known.row === row && known.canWrite === canWrite && known.isNews === isNews) return known.node;
    const made = cardFace(row, { canWrite, now: model.now(), isNews, seat: model.state.seat });
    faces.set(id, { row, canWrite, isNews, node: made });
    return made;
  }

  function draw() {
    const query = parse(ui.state.filter);
    const filtered = !isEmpty(query);
    opened ??= LANES.find((lane) => model.state.order[lane].length) ?? null;
    const narrow = ui.state.lane ?? opened ?? "todo";
    const alive = new Set();
    const held = heldFocus();
    for (const [lane, { node: section, count, fold, list, empty, more }] of trays) {
      const ids = visible(lane, query);
      const total = model.state.order[lane].length;
      const folded = Boolean(ui.state.folds[lane]) && !NARROW.matches;
      const shown = folded ? [] : ids.slice(0, ui.limit(lane));
      arrange(list, shown.map(face).filter(Boolean));
      for (const id of shown) alive.add(id);
      write(count, filtered ? `${ids.length}/${total}` : String(total));
      set(fold, { "aria-expanded": String(!folded) });
      set(section, { "data-folded": folded ? "1" : null, "data-narrow": lane === narrow ? "1" : null });
      empty.hidden = folded || ids.length > 0;
      write(empty, filtered && total > 0 ? "No card here matches the filter." : NOTHING[lane]);
      const left = folded ? 0 : ids.length - shown.length;
      more.hidden = left <= 0;
      write(more, `Show ${Math.min(left, 300)} more of ${left}`);
      const tab = tabs.querySelector(`[data-lane-tab="${lane}"]`);
      set(tab, { "aria-pressed": String(lane === narrow) });
      write(tab.querySelector(".pill"), count.textContent);
    }
    for (const id of faces.keys()) if (!alive.has(id)) faces.delete(id);
    if (asked) trays.get(asked.lane).list.children[asked.at]?.focus({ preventScroll: true });
    asked = null;
    if (held && document.activeElement !== held.node) giveFocus(held);
  }

  /** What in the lanes has the focus: the card, which of its buttons, and where it stands. */
  function heldFocus() {
    const active = document.activeElement;
    const card = active?.closest?.(".card");
    if (!card || !node.contains(card)) return null;
    return { node: active, id: Number(card.dataset.card), action: active.dataset.action, lane: card.dataset.status, at: [...card.parentNode.children].indexOf(card) };
  }

  /** A card that was made anew, or went to another lane, takes its focus along; one that is gone leaves it to its neighbour. */
  function giveFocus({ node: before, id, action, lane, at }) {
    const { list, fold } = trays.get(lane);
    const card = faces.get(id)?.node ?? list.children[Math.min(at, list.children.length - 1)];
    const place = before.isConnected ? before : (action && card?.querySelector(`[data-action="${action}"]`)) || card || fold;
    place.focus({ preventScroll: true });
  }

  NARROW.addEventListener("change", draw);

  return {
    node,
    draw,
    /** The element of a card, if it is drawn. */
    faceOf: (id) => faces.get(id)?.node ?? null,
    /** The ids that are drawn, lane by lane. */
    shownIds: () => [...node.querySelectorAll(".lane .card")].filter((card) => card.offsetParent !== null).map((card) => Number(card.dataset.card)),
  };
}
