// The cards that a card waits for, as chips, with a field that finds more by number or words. Enter takes the first
// suggestion; Backspace in the empty field takes the last chip away.

import { el, set, uid } from "./dom.js";
import { matches, parse } from "./query.js";

const SUGGESTIONS = 6;

/** `values()` gives the numbers. `except`: the card itself. */
export function linksPicker({ model, chosen = [], except = null, onChange = () => {} }) {
  let ids = [...chosen];
  let at = 0;
  const listId = uid("links");
  const chips = el("ul", { class: "link-chips" });
  const field = el("input", {
    type: "text", id: uid("links-field"), autocomplete: "off", role: "combobox", "aria-expanded": "false", "aria-controls": listId, "aria-autocomplete": "list",
    "aria-label": "Add a card to wait for, by number or words", name: "dependsOn", placeholder: "a number, or words of a title",
  });
  const list = el("ul", { class: "suggestions", id: listId, role: "listbox", hidden: true });
  const node = el("div", { class: "links-picker" }, chips, field, list);

  const titleOf = (id) => model.state.rows.get(id)?.title ?? "not on the board";

  function draw() {
    chips.replaceChildren(...ids.map((id) => el("li", { class: "chip" }, `#${id} `, el("span", { class: "link-title", dir: "auto" }, titleOf(id)),
      el("button", { type: "button", class: "chip-x", "aria-label": `Do not wait for #${id}`, on: { click: () => remove(id) } }, "×"))));
  }

  function found() {
    const text = field.value.trim();
    if (!text) return [];
    const query = parse(/^\d+$/.test(text) ? `#${text}` : text);
    const rows = [];
    for (const row of model.state.rows.values()) {
      if (row.id !== except && !ids.includes(row.id) && matches(row, query)) rows.push(row);
      if (rows.length === SUGGESTIONS) break;
    }
    return rows;
  }

  function suggest() {
    const rows = found();
    at = Math.min(at, Math.max(0, rows.length - 1));
    list.hidden = !rows.length;
    list.replaceChildren(...rows.map((row, place) => el("li", {
      role: "option", id: `${listId}-${row.id}`, class: "suggestion", "aria-selected": String(place === at), dir: "auto",
      on: { pointerdown: (event) => { event.preventDefault(); take(row.id); } },
    }, `#${row.id} ${row.title}`)));
    set(field, { "aria-expanded": String(rows.length > 0), "aria-activedescendant": rows.length ? `${listId}-${rows[at].id}` : null });
  }

  function take(id) {
    if (!ids.includes(id)) ids.push(id);
    field.value = "";
    at = 0;
    draw();
    suggest();
    onChange();
  }

  function remove(id) {
    ids = ids.filter((other) => other !== id);
    draw();
    suggest();
    field.focus();
    onChange();
  }

  field.addEventListener("input", () => { at = 0; suggest(); });
  field.addEventListener("blur", () => { list.hidden = true; set(field, { "aria-expanded": "false" }); });
  field.addEventListener("focus", suggest);
  field.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const rows = found();
    if (event.key === "Enter" && !event.ctrlKey && !event.metaKey && field.value.trim()) {
      event.preventDefault();
      if (rows[at]) take(rows[at].id);
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      at = (at + (event.key === "ArrowDown" ? 1 : -1) + Math.max(1, rows.length)) % Math.max(1, rows.length);
      suggest();
    } else if (event.key === "Backspace" && !field.value && ids.length) {
      remove(ids.at(-1));
    } else if (event.key === "Escape" && field.value) {
      event.preventDefault();
      event.stopPropagation();
      field.value = "";
      suggest();
    }
  });
  draw();
  return {
    node,
    field,
    values: () => ids,
    /** A number that was typed and not taken yet. */
    pending: () => field.value.trim(),
    setValues(to) {
      ids = [...to];
      field.value = "";
      draw();
    },
  };
}
