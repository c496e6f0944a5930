// The band that stays at the top: whose page this is, whether it is live, the two tabs, progress, the filter, and what the
// lead can start from here.

import { span } from "./ages.js";
import { el, icon, set, write } from "./dom.js";
import { MAX_QUERY } from "./query.js";

const BADGE = {
  connecting: ["connecting…", "The board is being fetched."],
  live: ["live", "Changes show as they happen."],
  polling: ["live · 5s", "This page has as many streams as it can hold; the board is asked for every five seconds."],
  reconnecting: ["reconnecting…", "The server does not answer. What is shown is how the board was before."],
  stopped: ["stopped", "The page has stopped. What is shown is how the board was; /board starts it again."],
  hidden: ["paused", "This tab was hidden for a while and follows again when it is shown."],
  refused: ["closed", "This page was restarted: open it again with /board."],
};
const MOON = icon("M13.4 9.7A5.8 5.8 0 0 1 6.3 2.6a5.8 5.8 0 1 0 7.1 7.1z");
const SUN = icon("M8 5.2a2.8 2.8 0 1 0 0 5.6a2.8 2.8 0 1 0 0-5.6z", "M8 1.4v1.2M8 13.4v1.2M1.4 8h1.2M13.4 8h1.2M3.3 3.3l.9.9M11.8 11.8l.9.9M12.7 3.3l-.9.9M4.2 11.8l-.9.9");
const QUIET_AFTER = 60; // seconds without a change after which the badge says for how long

export function createToolbar({ model, ui, memory, actions, dialogs }) {
  const seat = el("span", { class: "chip seat", id: "seat", title: "What this page writes as" });
  const badge = el("span", { class: "live", id: "live" });
  const views = ["board", "team"].map((view) =>
    el("button", { type: "button", class: "view", dataset: { view }, on: { click: () => ui.setView(view) } }, view === "board" ? "Board" : "Team"),
  );
  const bar = el("progress", { max: 1, value: 0, "aria-hidden": "true" });
  const done = el("span", { class: "done-of" });
  const filter = el("input", {
    type: "search", id: "filter", placeholder: "Filter", "aria-label": "Filter by title, path or owner", maxlength: MAX_QUERY, autocomplete: "off",
    spellcheck: "false", "aria-keyshortcuts": "/", on: { input: () => ui.setFilter(filter.value) },
  });
  const fresh = el("button", { type: "button", class: "button strong", id: "new-card", "aria-label": "New card", "aria-keyshortcuts": "n", on: { click: () => dialogs.openNew() } }, "+ ", el("span", { class: "long" }, "New card"));
  const keys = el("button", { type: "button", class: "button icon-only", id: "keys", title: "Keys (?)", "aria-label": "Keys", "aria-keyshortcuts": "?", on: { click: () => dialogs.openSheet() } }, "?");
  const theme = el("button", { type: "button", class: "button icon-only", id: "theme", on: { click: turn } }, MOON, SUN);
  const menu = moreMenu();
  const viewer = el("span", { class: "chip", id: "viewer-chip" }, "read-only");
  const name = el("span", { class: "board-name", dir: "auto" });
  const group = el("div", { class: "tools" });
  const node = el(
    "header", { class: "toolbar" },
    el("div", { class: "who" }, el("span", { class: "mark-sign", "aria-hidden": "true" }, "π"), el("h1", null, name, el("span", { class: "hidden" }, " board")), seat, viewer, badge),
    group,
  );

  function moreMenu() {
    const list = el("div", { class: "menu", id: "more-menu", popover: "auto" },
      item("Copy viewer link", "copy-viewer", () => actions.copyViewerLink()),
      item("Prune finished cards…", "prune", () => dialogs.openPrune()),
      item("Revoke lead links…", "revoke", () => actions.revoke()),
    );
    const button = el("button", { type: "button", class: "button icon-only", id: "more", title: "More", "aria-label": "More", popovertarget: "more-menu", "aria-haspopup": "true" }, "⋯");
    function item(text, id, act) {
      return el("button", { type: "button", class: "menu-item", id, on: { click: () => { list.hidePopover?.(); act(); } } }, text);
    }
    return el("div", { class: "menu-place" }, button, list);
  }

  function turn() {
    const dark = isDark();
    const next = dark ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    memory.kept.set("theme", next);
    draw();
  }

  const isDark = () =>
    document.documentElement.dataset.theme === "dark" ||
    (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);

  function draw() {
    const { state } = model;
    const { features = 0, done: finished = 0 } = state.round ?? {};
    write(name, state.board.name ?? "Board");
    document.title = state.board.name ? `${state.board.name} · board` : "Board";
    write(seat, state.seat?.label ?? "");
    seat.hidden = !state.can.write || !state.seat;
    viewer.hidden = state.can.write || state.rev < 0;
    for (const button of views) set(button, { "aria-pressed": String(button.dataset.view === ui.state.view) });
    bar.max = Math.max(1, features);
    bar.value = finished;
    write(done, `${finished}/${features} done`);
    set(MOON, { hidden: isDark() });
    set(SUN, { hidden: !isDark() });
    set(theme, { "aria-label": isDark() ? "Light theme" : "Dark theme", title: isDark() ? "Light theme" : "Dark theme" });
    if (document.activeElement !== filter && filter.value !== ui.state.filter) filter.value = ui.state.filter;
    const wanted = [
      parts.views, parts.progress, filter, state.can.write ? fresh : null, keys, theme, state.can.write ? menu : null,
    ].filter(Boolean);
    if (wanted.some((one, at) => one !== group.children[at]) || group.children.length !== wanted.length) group.replaceChildren(...wanted);
    tick();
  }

  const parts = {
    views: el("div", { class: "views", role: "group", "aria-label": "View" }, views),
    progress: el("div", { class: "progress", id: "progress" }, bar, done),
  };

  let moved = performance.now();

  /** The badge's age moves by itself. */
  function tick() {
    const { kind } = model.state.connection;
    const [text, title] = BADGE[kind] ?? BADGE.connecting;
    const quiet = (performance.now() - moved) / 1000;
    write(badge, kind === "live" && quiet >= QUIET_AFTER ? `live · ${span(quiet)}` : text);
    set(badge, { "data-live": kind, title });
  }

  model.subscribe((change) => {
    if (change.rows.size || change.order.size) moved = performance.now();
  });

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);

  return { node, draw, tick, filter, words: () => `${badge.textContent}. ${badge.title}` };
}
