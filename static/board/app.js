// Where the page begins: takes the key out of the address, makes the parts, and redraws what a change touches. It draws
// nothing itself.

import { createActions } from "./actions.js";
import { createAnnouncer } from "./announce.js";
import { createApi } from "./api.js";
import { tickAges } from "./card.js";
import { createDialogs } from "./dialogs.js";
import { el } from "./dom.js";
import { bindKeys } from "./keys.js";
import { createLanes } from "./lanes.js";
import { createLive } from "./live.js";
import { createMemory } from "./memory.js";
import { createModel } from "./model.js";
import { refusedPage } from "./refused.js";
import { createSeen } from "./seen.js";
import { createStrips } from "./strips.js";
import { createTeam } from "./team.js";
import { createToolbar } from "./toolbar.js";
import { createUi } from "./ui.js";
import { tellWhole } from "./whole.js";

const TICK_MS = 1_000;
const root = document.documentElement;
const { base, where, taskbar } = root.dataset;
const memory = createMemory(base);

/** The key out of the fragment or this tab's memory; the address bar keeps neither it nor the session's name. */
function takeKey() {
  const given = new URLSearchParams(location.hash.slice(1));
  const query = new URLSearchParams(location.search);
  const key = given.get("k");
  const me = given.get("me") ?? query.get("me");
  if (key) memory.tab.set("key", key);
  if (me) memory.tab.set("me", me);
  query.delete("me");
  const rest = query.toString();
  if (location.hash || me) history.replaceState(history.state, "", location.pathname + (rest ? `?${rest}` : ""));
  return key ?? memory.tab.get("key");
}

function start() {
  const key = takeKey();
  // A link followed in a tab that has the page already only changes the fragment.
  window.addEventListener("hashchange", () => location.reload());
  if (!key) {
    refuse(false);
    return;
  }
  const api = createApi({ base, key });
  const model = createModel();
  const ui = createUi({ memory });
  const announce = createAnnouncer();
  const seen = createSeen({ memory, model });
  const parts = { api, model, ui, memory, announce, base };
  parts.actions = createActions(parts);
  parts.dialogs = createDialogs(parts);
  parts.actions.use(parts.dialogs);
  const toolbar = createToolbar(parts);
  const lanes = createLanes({ ...parts, seen });
  const team = createTeam(parts);
  const strips = createStrips(parts);
  const main = el("main", { class: "pane", id: "pane", tabindex: "-1" });
  const page = el("div", { class: "page" }, toolbar.node, main, strips.footer);

  let shown = null;
  let due = false;
  let over = false; // the key is good for nothing any more
  const scrolled = {}; // view -> how far down it was left

  function draw() {
    due = false;
    if (over) return;
    const before = shown;
    shown = ui.state.view;
    root.dataset.writes = model.state.can.write ? "1" : "0";
    root.dataset.shows = shown;
    toolbar.draw();
    strips.draw();
    if (model.state.rev < 0) {
      main.replaceChildren(skeleton());
      return;
    }
    const view = shown === "team" ? team : lanes;
    view.draw();
    const body = emptyBoard() ?? view.node;
    if (main.lastElementChild === body) return;
    main.replaceChildren(strips.top, body);
    if (before === shown) return;
    main.scrollTop = scrolled[shown] ?? 0;
    if (document.activeElement === document.body) lanes.faceOf(ui.state.focus)?.focus({ preventScroll: true });
  }

  function soon() {
    if (due) return;
    due = true;
    requestAnimationFrame(draw);
  }

  let nothing = null;

  /** An empty board explains itself; the dialog is not what greets anybody. */
  function emptyBoard() {
    const { rows, damaged, can } = model.state;
    if (rows.size || damaged.length || ui.state.view !== "board") return (nothing = null);
    if (nothing && nothing.dataset.writes === String(can.write)) return nothing;
    nothing = el(
      "section", { class: "empty-board", dataset: { writes: String(can.write) } },
      el("h2", null, "No cards yet"),
      el("p", null, "A card is one feature: what is to be reached, who is on it, and what it waits for. Every agent session on this repository sees the same board."),
      can.write
        ? el("button", { type: "button", class: "button strong", id: "first-card", on: { click: () => parts.dialogs.openNew() } }, "Add the first card")
        : null,
      el("p", { class: "aside" }, "An agent adds one with its board tool, a terminal with ", el("code", null, "pi-taskbar board add"), "."),
    );
    return nothing;
  }

  function shutOut() {
    over = true;
    parts.dialogs.closeAll();
    page.remove();
    refuse(true);
  }

  let met = false; // the page has been live once: only then is a change of the connection worth words

  model.subscribe((change) => {
    if (change.connection && model.state.connection.kind === "refused") {
      memory.tab.set("key", null);
      shutOut();
      return;
    }
    soon();
    announce.frame(change, model);
    if (!change.connection) return;
    toolbar.tick();
    if (met) announce.say(toolbar.words());
    met ||= model.state.connection.kind === "live";
  });
  ui.subscribe((what) => {
    if (what === "card" && ui.state.card !== null) seen.saw(ui.state.card);
    soon();
  });
  main.addEventListener("scroll", () => (scrolled[shown] = main.scrollTop), { passive: true });
  lanes.node.addEventListener("click", (event) => {
    const face = event.target.closest(".card");
    if (!face) return;
    const id = Number(face.dataset.card);
    const action = event.target.closest("[data-action]")?.dataset.action;
    ui.setFocus(id);
    if (action === "claim") parts.actions.claim(id);
    else if (action === "note") parts.dialogs.openCard(id, { at: "note" });
    else if (action === "move") parts.dialogs.openCard(id, { at: "move" });
    else if (action === "open" || event.target.closest(".card-title")) parts.dialogs.openCard(id);
  });
  lanes.node.addEventListener("focusin", (event) => {
    const face = event.target.closest?.(".card");
    if (face) ui.setFocus(Number(face.dataset.card));
  });
  bindKeys({ ...parts, lanes, toolbar });
  tellWhole(main, api);
  setInterval(() => {
    if (document.hidden) return;
    toolbar.tick();
    tickAges(main, model.now());
  }, TICK_MS);
  document.body.append(page, announce.node);
  draw();
  createLive(parts).start();

  function skeleton() {
    return el("div", { class: "skeleton", "aria-hidden": "true" }, [3, 2, 1, 2].map((cards) => el("div", { class: "lane" }, Array.from({ length: cards }, () => el("div", { class: "card" })))));
  }
}

/** In place of the board: why there is none, in words. */
function refuse(had) {
  const words = refusedPage({ had, where, taskbar, open: (address) => location.assign(address) });
  root.dataset.writes = "0";
  document.title = "Board";
  document.body.append(words);
  words.focus();
}

start();
