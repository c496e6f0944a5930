// Making elements. Text goes in as text and nowhere else: nothing in here, or anywhere on this page, parses markup.

/** An element. `props`: `class`, `dataset`, `on` (listeners), properties that start with `.`, everything else an
 * attribute; null, undefined and false leave it out. Children: nodes, texts, arrays of them, null. */
export function el(tag, props, ...children) {
  const node = tag === "svg" || tag === "path" || tag === "circle"
    ? document.createElementNS("http://www.w3.org/2000/svg", tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") node.setAttribute("class", value);
    else if (name === "dataset") Object.assign(node.dataset, value);
    else if (name === "on") for (const [type, listener] of Object.entries(value)) node.addEventListener(type, listener);
    else if (name.startsWith(".")) node[name.slice(1)] = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  add(node, children);
  return node;
}

export function add(node, children) {
  for (const child of children) {
    if (Array.isArray(child)) add(node, child);
    else if (child !== null && child !== undefined && child !== false) node.append(child);
  }
}

/** Write a text if it is another one: an unchanged one keeps selections and costs no layout. */
export function write(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Set or remove attributes. */
export function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) node.removeAttribute(name);
    else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value === true ? "" : String(value));
  }
}

/** Make `parent`'s children these nodes in this order, moving as few as can be: what stays keeps focus and scroll. */
export function arrange(parent, nodes) {
  const wanted = new Set(nodes);
  for (const child of [...parent.children]) if (!wanted.has(child)) child.remove();
  let place = parent.firstElementChild;
  for (const node of nodes) {
    if (node === place) place = place.nextElementSibling;
    else parent.insertBefore(node, place);
  }
}

/** Children by key: an item that says the same as before keeps its element, and with it focus and selection. `draw(items)`
 * takes `[key, item]` pairs; `make(item)` draws one. */
export function keyed(parent, make) {
  let before = new Map();
  return (items) => {
    const after = new Map();
    for (const [key, item] of items) {
      const says = JSON.stringify(item);
      const known = before.get(key);
      after.set(key, known?.says === says ? known : { says, node: make(item), replaces: known?.node });
    }
    before = after;
    const focused = parent.contains(document.activeElement) ? document.activeElement : null;
    arrange(parent, [...after.values()].map((entry) => entry.node));
    if (!focused || focused === document.activeElement) return;
    const heir = focused.isConnected ? focused : successor(after, focused);
    heir?.focus({ preventScroll: true });
  };
}

/** What stands now where `focused` stood: the same kind of button in the element that took its place. */
function successor(entries, focused) {
  for (const { node, replaces } of entries.values()) {
    if (!replaces?.contains(focused)) continue;
    const { action } = focused.dataset;
    return node.querySelector(action ? `[data-action="${action}"]` : "button") ?? node.querySelector("button");
  }
  return null;
}

/** A small drawing, of strokes in the text's colour; decoration only. */
export function icon(...paths) {
  return el(
    "svg",
    { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true", class: "icon", focusable: "false" },
    paths.map((d) => el("path", { d })),
  );
}

let last = 0;
/** An id that nothing else in the document has. */
export const uid = (stem) => `${stem}-${++last}`;
