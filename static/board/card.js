// A card's face: number, title, who has it and for how long, where it happens, one line that says why it is where it is,
// and at most three actions. What may be done is the server's to say (`row.buttons`); a viewer's page draws Open alone.

import { age, full } from "./ages.js";
import { el, write } from "./dom.js";
import { isCut } from "./whole.js";

const ACTIONS = {
  Claim: { action: "claim", kind: "main" },
  Move: { action: "move", kind: "main" },
  Note: { action: "note", kind: "quiet" },
  Open: { action: "open", kind: "quiet" },
};

/** The element of one row. `canWrite`: whether the reader may change cards. */
export function cardFace(row, { canWrite, now, isNews, seat }) {
  const buttons = row.buttons.filter((name) => name === "Open" || canWrite);
  const title = `#${row.id} ${row.title}`;
  const node = el(
    "li",
    {
      class: "card", tabindex: "-1", "aria-label": title,
      dataset: { card: row.id, status: row.status, ...(isNews ? { news: "1" } : {}), ...(row.mark ? { mark: row.mark } : {}) },
    },
    el(
      "div", { class: "card-top" },
      el("span", { class: "card-id" }, `#${row.id}`),
      row.priority === "normal" ? null : el("span", { class: `chip priority-${row.priority}` }, row.priority),
      isNews ? el("span", { class: "news", title: "Moved since you last looked" }, el("span", { class: "hidden" }, "new")) : null,
      el("span", { class: "grow" }),
      el("time", { class: "age", datetime: row.touchedAt, title: full(row.touchedAt) }, age(row.touchedAt, now)),
    ),
    el("h3", { class: "card-title", dir: "auto", title: row.title }, row.title),
    details(row, seat),
    el(
      "p", { class: "reason", dir: "auto", dataset: { reason: "", tone: row.tone, ...(isCut(row.reason) ? { cut: row.id, begins: row.reason } : {}) }, title: row.reason || null },
      row.reason,
    ),
    row.mark ? el("p", { class: "mark" }, row.mark === "newer" ? "written by a newer board: read-only here" : "repaired on read") : null,
    el(
      "div", { class: "card-actions" },
      buttons.map((name) =>
        el(
          "button",
          { type: "button", class: `button ${ACTIONS[name].kind}`, dataset: { action: ACTIONS[name].action }, "aria-label": `${name} #${row.id}` },
          name,
        ),
      ),
    ),
  );
  return node;
}

function details(row, seat) {
  const owner = row.owner
    ? el("span", { class: "chip owner", dataset: { owner: row.owner.id }, title: row.owner.id === seat?.id ? "this page's seat" : null }, row.owner.label)
    : null;
  const hints = row.paths.map((path) => el("span", { class: "chip path", dir: "ltr", title: path }, path));
  const more = row.pathCount - row.paths.length;
  if (!owner && !hints.length) return null;
  return el("div", { class: "card-chips" }, owner, hints, more > 0 ? el("span", { class: "chip path more" }, `+${more}`) : null);
}

/** Bring the ages of everything drawn up to date; an age that reads the same is left alone. */
export function tickAges(root, now) {
  for (const node of root.querySelectorAll("time[datetime]")) write(node, (node.dataset.before ?? "") + age(node.dateTime, now));
}
