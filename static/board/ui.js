// What this reader looks at: which tab, which card, which lane, what is filtered, what is folded. The address says as
// much of it as is worth a bookmark, and the back button undoes it. Nothing here is known to the server.

import { LANES } from "./model.js";

const VIEWS = ["board", "team"];
const PAGE = 60;
const WRITE_MS = 300; // a browser refuses an address that changes with every key of a fast typist

export function createUi({ memory }) {
  const listeners = new Set();
  let writing = null; // the timer after which the address follows the filter
  const state = { view: "board", card: null, filter: "", lane: null, folds: memory.kept.get("folds", {}), more: {}, focus: null };

  function read() {
    const query = new URLSearchParams(location.search);
    const card = Number(query.get("card"));
    state.view = VIEWS.includes(query.get("view")) ? query.get("view") : "board";
    state.card = Number.isInteger(card) && card > 0 ? card : null;
    state.filter = query.get("q") ?? "";
    state.lane = LANES.includes(query.get("lane")) ? query.get("lane") : null;
  }

  function address() {
    const query = new URLSearchParams();
    if (state.view !== "board") query.set("view", state.view);
    if (state.card !== null) query.set("card", state.card);
    if (state.filter) query.set("q", state.filter);
    if (state.lane) query.set("lane", state.lane);
    const text = query.toString();
    return location.pathname + (text ? `?${text}` : "");
  }

  // Closing a card leaves its entry behind, with the address of what is below it. It is spare: what comes next takes it
  // over, so that looking at ten cards costs one step back and not ten.
  function changed(what, how = "replaceState", spare = false) {
    clearTimeout(writing);
    if (what === "filter") writing = setTimeout(() => note("replaceState", false), WRITE_MS);
    else note(how, spare);
    for (const listener of [...listeners]) listener(what);
  }

  function note(how, spare) {
    const over = how === "pushState" && history.state?.spare ? "replaceState" : how;
    const stays = how === "replaceState" && Boolean(history.state?.spare);
    try {
      history[over]({ board: true, spare: spare || stays }, "", address());
    } catch {
      // too often for this browser: the address is behind until the next change
    }
  }

  read();
  window.addEventListener("popstate", () => {
    clearTimeout(writing);
    read();
    for (const listener of [...listeners]) listener("all");
  });

  return {
    state,
    /** Listeners are told what changed: view, card, filter, lane, folds, more or all. */
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    setView(view) {
      if (view === state.view) return;
      state.view = view;
      changed("view", "pushState");
    },
    openCard(id) {
      if (id === state.card) return;
      const how = state.card === null ? "pushState" : "replaceState";
      state.card = id;
      changed("card", how);
    },
    closeCard() {
      if (state.card === null) return;
      state.card = null;
      changed("card", "replaceState", true);
    },
    setFilter(text) {
      if (text === state.filter) return;
      state.filter = text;
      state.more = {};
      changed("filter");
    },
    setLane(lane) {
      state.lane = lane;
      changed("lane");
    },
    toggleFold(lane) {
      state.folds = { ...state.folds, [lane]: !state.folds[lane] };
      memory.kept.set("folds", state.folds);
      changed("folds");
    },
    showMore(lane) {
      state.more = { ...state.more, [lane]: (state.more[lane] ?? PAGE) + PAGE * 5 };
      changed("more");
    },
    limit: (lane) => state.more[lane] ?? PAGE,
    /** The card that j and k go from. */
    setFocus(id) {
      state.focus = id;
    },
  };
}
