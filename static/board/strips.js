// What stands around the lanes: files that could not be read, work that may collide, a word about the disk, and how much
// the board holds.

import { el, set, write } from "./dom.js";

export function createStrips({ model, actions, dialogs }) {
  const damaged = el("ul", { class: "damaged-list" });
  const damagedStrip = el("section", { class: "strip danger", "aria-labelledby": "damaged-name" }, el("h2", { id: "damaged-name" }, "Damaged"), damaged);
  const radar = el("ul", { class: "radar-list" });
  const radarStrip = el("section", { class: "strip warn", "aria-labelledby": "radar-name" }, el("h2", { id: "radar-name" }, "Same files"), radar);
  const notice = el("p", { class: "strip notice", role: "status" });
  const top = el("div", { class: "strips" }, notice, damagedStrip, radarStrip);
  const size = el("span");
  const others = el("span");
  const footer = el("footer", { class: "footer" }, size, others, el("span", { class: "grow" }), el("span", { class: "footer-keys" }, el("kbd", null, "?"), " keys"));

  function draw() {
    const { state } = model;
    damagedStrip.hidden = !state.damaged.length;
    damaged.replaceChildren(...state.damaged.map(damagedRow));
    radarStrip.hidden = !state.radar.length;
    radar.replaceChildren(...state.radar.map(collision));
    notice.hidden = !state.store.notice;
    write(notice, state.store.notice ?? "");
    write(size, state.store.bytes === undefined ? "" : `${bytes(state.store.bytes)} in ${state.round?.features ?? 0} cards`);
    const count = state.store.others ?? 0;
    write(others, count ? `${count} other file${count === 1 ? "" : "s"}` : "");
    set(others, { title: count ? "Files among the cards that are none: pi-taskbar board doctor names them" : null });
  }

  function damagedRow(entry) {
    return el(
      "li", { class: "damaged-row", dataset: { damaged: entry.name } },
      el("button", { type: "button", class: "id-link", on: { click: () => dialogs.openDamaged(entry.name) } }, entry.name),
      el("span", { class: "why", dir: "auto" }, entry.why),
      model.state.can.write
        ? el("button", { type: "button", class: "button quiet", dataset: { action: "aside" }, "aria-label": `Set ${entry.name} aside`, on: { click: () => actions.setAside(entry.name) } }, "Set aside")
        : null,
    );
  }

  function collision(entry) {
    const [one, other] = entry.cards;
    const link = (id) => el("button", { type: "button", class: "id-link", "aria-label": `Open #${id}`, on: { click: () => dialogs.openCard(id) } }, `#${id}`);
    const holder = (id) => model.state.rows.get(id)?.owner?.label;
    return el("li", null, link(one), ` ${holder(one) ?? ""} and `, link(other), ` ${holder(other) ?? ""} both name `, el("code", { dir: "ltr" }, entry.path));
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
