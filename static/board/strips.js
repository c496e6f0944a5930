// What stands around the lanes: files that could not be read, work that may collide, a word about the disk, and how much
// the board holds.

import { el, keyed, set, write } from "./dom.js";

export function createStrips({ model, ui, actions, dialogs }) {
  const damaged = el("ul", { class: "damaged-list" });
  const damagedStrip = el("section", { class: "strip danger", "aria-labelledby": "damaged-name" }, el("h2", { id: "damaged-name" }, "Damaged"), damaged);
  const radar = el("ul", { class: "radar-list" });
  const radarStrip = el("section", { class: "strip warn", "aria-labelledby": "radar-name" }, el("h2", { id: "radar-name" }, "Same files"), radar);
  const stopped = el("p", { class: "strip", id: "stopped" },
    el("span", null, "The page has stopped. What is shown is how the board was; ", el("code", null, "/board"), " in Pi or ", el("code", null, "pi-taskbar board"), " in a terminal starts it again."));
  const notice = el("p", { class: "strip notice", role: "status" });
  const top = el("div", { class: "strips" }, stopped, notice, damagedStrip, radarStrip);
  const size = el("span");
  const others = el("span");
  const footer = el("footer", { class: "footer" }, size, others, el("span", { class: "grow" }), el("span", { class: "footer-keys" }, el("kbd", null, "?"), " keys"));

  const drawDamaged = keyed(damaged, damagedRow);
  const drawRadar = keyed(radar, collision);

  function draw() {
    const { state } = model;
    // On the Team tab the queue has a row for each of them.
    damagedStrip.hidden = !state.damaged.length || ui.state.view !== "board";
    drawDamaged(state.damaged.map((entry) => [entry.name, { entry, canWrite: state.can.write }]));
    radarStrip.hidden = !state.radar.length;
    drawRadar(state.radar.map((entry) => [`${entry.cards} ${entry.path}`, { ...entry, holders: entry.cards.map(holder) }]));
    stopped.hidden = state.connection.kind !== "stopped";
    notice.hidden = !state.store.notice;
    write(notice, state.store.notice ?? "");
    const cards = state.round?.features ?? 0;
    write(size, state.store.bytes === undefined ? "" : `${bytes(state.store.bytes)} in ${cards} card${cards === 1 ? "" : "s"}`);
    const count = state.store.others ?? 0;
    write(others, count ? `${count} other file${count === 1 ? "" : "s"}` : "");
    set(others, { title: count ? "Files among the cards that are none: pi-taskbar board doctor names them" : null });
  }

  const holder = (id) => model.state.rows.get(id)?.owner?.label ?? "";

  function damagedRow({ entry, canWrite }) {
    return el(
      "li", { class: "damaged-row", dataset: { damaged: entry.name } },
      el("button", { type: "button", class: "id-link", on: { click: () => dialogs.openDamaged(entry.name) } }, entry.name),
      el("span", { class: "why", dir: "auto" }, entry.why),
      canWrite
        ? el("button", { type: "button", class: "button quiet", dataset: { action: "aside" }, "aria-label": `Set aside ${entry.name}`, on: { click: () => actions.setAside(entry.name) } }, "Set aside")
        : null,
    );
  }

  function collision(entry) {
    const [one, other] = entry.cards;
    const [first, second] = entry.holders;
    const link = (id) => el("button", { type: "button", class: "id-link", "aria-label": `Open #${id}`, on: { click: () => dialogs.openCard(id) } }, `#${id}`);
    return el("li", null, link(one), " ", el("bdi", null, first), " and ", link(other), " ", el("bdi", null, second), " both name ", el("code", { dir: "ltr" }, entry.path));
  }

  return { top, footer, draw };
}

export function bytes(size) {
  let left = size;
  for (const unit of ["bytes", "KB", "MB"]) {
    if (left < 1000) return `${Math.round(left)} ${unit}`;
    left /= 1000;
  }
  return `${Math.round(left)} GB`;
}
