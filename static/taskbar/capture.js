/* What Pi is told about the page: a bounded tree of what a reader of the page can see, in the contract's own form.

   The entry loads this file and calls `capturePage` when a task is submitted, never before. Everything here only reads
   the page. Form values, hidden and editable content, HTML, frames and shadow trees are never read, and
   whatever the wire cannot carry is mapped or left out here, so that no odd page makes the server refuse a task.
   Work is linear in what is looked at, and handed back to the page after every few milliseconds. */

import { MANY, WINDOW, address, bounded, byteLength, inkFrom, onOneLine, routeInBounds, whereabouts } from "./text.js";

const PAGE = { nodes: 750, depth: 12, bytes: 49152 };
const BYTES = { tag: 64, role: 64, name: 512, text: 1000, id: 256, class: 128, attribute: 256 };
const NAME_STEPS = 400; // nodes looked at for one accessible name
const SLICE_MS = 8;
const REASONS = ["bytes", "nodes", "depth", "string"];
const DROPPED_LAST = ["text", "name", "classes", "attributes", "state", "href", "src", "id", "role"];

const EXCLUDED_TAGS = new Set(
  "base head iframe link meta noscript option script style template title".split(" "),
);
const FIELDS = new Set(["input", "select", "textarea"]);
const CONTROLS = new Set(["button", "fieldset", ...FIELDS]);
// What is in these is a value, or stands in for what the browser draws.
const CLOSED_TAGS = new Set([...FIELDS, ..."audio canvas meter output progress video".split(" ")]);
const NAMED_BY_CONTENT = new Set(["a", "button", "summary"]);
const ATTRIBUTES = ["name", "type", "placeholder", "data-testid"];
const STATES = ["disabled", "checked", "selected", "expanded", "pressed", "required", "invalid"];

/* The DOM, read past what a form makes of it: in a form with a field called `children`, `form.children` is that field. */

const getter = (prototype, name) => {
  const { get } = Object.getOwnPropertyDescriptor(prototype, name);
  return (target) => get.call(target);
};
const has = (element, name) => Element.prototype.hasAttribute.call(element, name);
const attributeOf = (element, name) => Element.prototype.getAttribute.call(element, name);
const tagOf = getter(Element.prototype, "localName");
const childrenOf = getter(Element.prototype, "children");
const classListOf = getter(Element.prototype, "classList");
const kindOf = getter(Node.prototype, "nodeType");
const firstOf = getter(Node.prototype, "firstChild");
const nextOf = getter(Node.prototype, "nextSibling");
const parentOf = getter(Node.prototype, "parentNode");
const scrolledOf = ["scrollLeft", "scrollTop"].map((name) => getter(Element.prototype, name));
const boxOf = (element) => Element.prototype.getBoundingClientRect.call(element);
const isRendered = (element) => Element.prototype.checkVisibility?.call(element) ?? true;

const isFolded = (element) => tagOf(element) === "details" && !has(element, "open");

/** Whether a clip leaves nothing to see. */
function isClippedAway({ clip, clipPath, position }) {
  const [top, right, bottom, left] = clip?.match(/-?[\d.]+|auto/g)?.map(parseFloat) ?? [];
  if (/absolute|fixed/.test(position) && (bottom <= top || right <= left)) return true;
  if (/^circle\(0(px|%)/.test(clipPath)) return true;
  const inset = /^inset\(([^()r]+)/.exec(clipPath)?.[1].trim().split(" ") ?? ["0"];
  const [t, r = t, b = t, l = r] = inset.map((side) => (side.endsWith("%") ? parseFloat(side) : 0));
  return t + b >= 100 || r + l >= 100;
}

/** Whether the text that stands directly in an element of this style has no size or no place. */
const isTextless = ({ fontSize, textIndent }) => parseFloat(fontSize) < 1 || parseFloat(textIndent) < -900;

/** The tag's local name in the letters that the wire has: `fb:like` reads `fb-like`. */
function carriedTag(element) {
  const name = tagOf(element).slice(0, 4 * BYTES.tag).toLowerCase().replace(/[^a-z0-9-]+/g, "-");
  return (/^[a-z]/.test(name) ? name : `x-${name}`).slice(0, BYTES.tag);
}

/* Slices. */

// A message of one's own stands in line behind whatever the page has to do; `scheduler.yield` would push ahead of it.
const handOver = () =>
  new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });

function createSlices(now) {
  let end = now() + SLICE_MS;
  return {
    due: () => now() >= end,
    async rest() {
      await handOver();
      end = now() + SLICE_MS;
    },
  };
}

/** A reader of one document as it is now. `host` is the taskbar's own element; `sourceOf` names where an element was
    written, when anything knows. */
export function createCapture({ document, host, sourceOf = () => null, now = () => performance.now() }) {
  const view = document.defaultView;
  const base = document.baseURI;
  const slices = createSlices(now);
  const leftEdge = view.getComputedStyle(document.documentElement).direction === "rtl" ? -Infinity : 0;
  const displays = new Map(); // how an element is laid out; null where it is excluded
  const textless = new Set();
  const concealed = new Map();
  let labels = null;

  function display(element) {
    let shown = displays.get(element);
    if (shown === undefined) displays.set(element, (shown = lookAt(element)));
    return shown;
  }

  function lookAt(element) {
    const tag = tagOf(element);
    if (element === host || EXCLUDED_TAGS.has(tag) || (tag === "input" && element.type === "hidden")) return null;
    if (has(element, "hidden") || has(element, "inert") || attributeOf(element, "aria-hidden") === "true") return null;
    if ((attributeOf(element, "contenteditable") ?? "false").toLowerCase() !== "false") return null;
    const style = view.getComputedStyle(element);
    const hidden =
      style.display === "none" ||
      style.visibility !== "visible" ||
      style.contentVisibility === "hidden" ||
      style.opacity < 0.05 ||
      (isFolded(parentOf(element)) && tag !== "summary") ||
      (style.display !== "contents" && (!isRendered(element) || hasNoPlace(element, tag, style)));
    if (hidden) return null;
    if (isTextless(style)) textless.add(element);
    return style.display;
  }

  /** Whether the element is clipped or shrunk to nothing, or beyond the page's edge. */
  function hasNoPlace(element, tag, style) {
    if (isClippedAway(style) || style.transform.startsWith("matrix(0, 0, 0, 0,")) return true;
    const { width, height, right, bottom } = boxOf(element);
    const clips = style.display !== "inline" && tag !== "img";
    if (clips && ((style.overflowX !== "visible" && width <= 1) || (style.overflowY !== "visible" && height < 1))) return true;
    const [x, y] = style.position === "fixed" ? [0, 0] : [view.scrollX, view.scrollY];
    return (
      (width > 0 && right + x <= leftEdge && !isScrolled(element, 0)) ||
      (height > 0 && bottom + y <= 0 && !isScrolled(element, 1))
    );
  }

  /** Whether something around it has been scrolled along `axis`, so that what is beyond the edge can come back. */
  function isScrolled(element, axis) {
    for (let at = parentOf(element); at && kindOf(at) === 1 && at !== document.scrollingElement; at = parentOf(at)) {
      if (scrolledOf[axis](at) > 0) return true;
    }
    return false;
  }

  /** Whether nobody reads the text nodes directly in the element. */
  const isMute = (element) => CLOSED_TAGS.has(tagOf(element)) || isFolded(element) || textless.has(element);

  /** Whether neither the element nor anything around it is excluded: for elements reached by a reference. */
  function isShown(element) {
    const path = [];
    let shown = true;
    for (let at = element; at && kindOf(at) === 1; at = parentOf(at)) {
      if (concealed.has(at)) {
        shown = !concealed.get(at);
        break;
      }
      path.push(at);
    }
    for (const at of path.reverse()) {
      shown = shown && (at === document.documentElement || at === document.body || display(at) !== null);
      concealed.set(at, !shown);
    }
    return shown;
  }

  /** The element's own text nodes. The page may get its turn between them. */
  async function directText(element, reasons) {
    if (isMute(element)) return undefined;
    let text = "";
    let steps = 0;
    for (let node = firstOf(element); node; node = nextOf(node)) {
      if (++steps % 256 === 0 && slices.due()) await slices.rest();
      if (kindOf(node) !== 3) continue;
      const piece = bounded(node.data, BYTES.text, reasons);
      if (!piece) continue;
      text = text ? `${text} ${piece}` : piece;
      if (text.length > BYTES.text) break;
    }
    return bounded(text, BYTES.text, reasons);
  }

  /** The visible text below `element`, for a name; without what controls hold. Words of different blocks stay apart. */
  function visibleText(element, reasons) {
    if (CLOSED_TAGS.has(tagOf(element))) return undefined;
    let text = "";
    let apart = false;
    let steps = 0;
    let node = element;
    let below = true;
    while (text.length <= BYTES.name) {
      let next = below ? firstOf(node) : null;
      while (!next && node !== element) {
        next = nextOf(node);
        if (next) break;
        node = parentOf(node);
        if (!node) return bounded(text, BYTES.name, reasons);
        if (node !== element && display(node) !== "inline") apart = true;
      }
      if (!next) break;
      if (++steps > NAME_STEPS) {
        reasons.add("string");
        break;
      }
      node = next;
      below = false;
      if (kindOf(node) === 3) {
        if (isMute(parentOf(node))) continue;
        const piece = bounded(node.data, BYTES.name, reasons);
        const spaced = node.data.length > 0 && inkFrom(node.data, 0) !== 0;
        if (piece) text += (apart || spaced) && text ? ` ${piece}` : piece;
        apart = (piece ? false : apart || spaced) || (piece && onOneLine(node.data.at(-1)) === "");
      } else if (kindOf(node) === 1) {
        const shown = display(node);
        below = shown !== null && !CLOSED_TAGS.has(tagOf(node));
        if (shown !== null && (shown !== "inline" || tagOf(node) === "br")) apart = true;
      }
    }
    return bounded(text, BYTES.name, reasons);
  }

  /** The labels of every control, found in one pass over the document's labels. */
  async function labelsOf(element) {
    if (!labels) {
      labels = new Map();
      for (const label of [...document.getElementsByTagName("label")]) {
        if (slices.due()) await slices.rest();
        const { control } = label;
        if (!control) continue;
        if (!labels.has(control)) labels.set(control, []);
        if (labels.get(control).length < MANY) labels.get(control).push(label);
      }
    }
    return labels.get(element) ?? [];
  }

  const joinedText = (elements, reasons) =>
    bounded(
      elements.map((one) => (one && isShown(one) && visibleText(one, reasons)) || "").join(" "),
      BYTES.name,
      reasons,
    );

  async function accessibleName(element, reasons) {
    const attribute = (name) => bounded(attributeOf(element, name), BYTES.name, reasons);
    const tag = tagOf(element);
    const references = attributeOf(element, "aria-labelledby");
    if (references) {
      const ids = references.slice(0, WINDOW).split(/\s+/).filter(Boolean).slice(0, MANY);
      const name = joinedText(ids.map((id) => document.getElementById(id)), reasons);
      if (name) return name;
    }
    const said = attribute("aria-label");
    if (said) return said;
    if (tag !== "form" && "labels" in element) {
      const label = joinedText(await labelsOf(element), reasons);
      if (label) return label;
    }
    if (tag === "img" || tag === "area" || (tag === "input" && element.type === "image")) {
      const alternative = attribute("alt");
      if (alternative) return alternative;
    }
    const title = attribute("title");
    if (title) return title;
    return NAMED_BY_CONTENT.has(tag) || has(element, "role") ? visibleText(element, reasons) : undefined;
  }

  function nativeState(element) {
    const tag = tagOf(element);
    if (!CONTROLS.has(tag)) return {};
    const native = { disabled: element.matches(":disabled"), required: element.required };
    if (tag === "input" && (element.type === "checkbox" || element.type === "radio")) {
      native.checked = element.indeterminate ? "mixed" : element.checked;
    }
    if (FIELDS.has(tag)) native.invalid = !element.validity.valid;
    return native;
  }

  function state(element) {
    const native = nativeState(element);
    const found = {};
    for (const name of STATES) {
      const said = attributeOf(element, `aria-${name}`)?.trim().toLowerCase();
      if (said === "true" || said === "false") found[name] = said === "true";
      else if (said === "mixed" && (name === "checked" || name === "pressed")) found[name] = said;
      else if ((said === "grammar" || said === "spelling") && name === "invalid") found[name] = said;
      else if (native[name] !== undefined) found[name] = native[name];
    }
    return Object.keys(found).length ? found : undefined;
  }

  function classes(element, reasons) {
    const found = new Set();
    for (const name of classListOf(element)) {
      const carried = bounded(name, BYTES.class, reasons);
      if (carried) found.add(carried);
      if (found.size === MANY) break;
    }
    return found.size ? [...found] : undefined;
  }

  function attributes(element, reasons) {
    const found = {};
    for (const name of ATTRIBUTES) {
      const value = bounded(attributeOf(element, name), BYTES.attribute, reasons);
      if (value) found[name] = value;
    }
    return Object.keys(found).length ? found : undefined;
  }

  function link(element, name, reasons) {
    const value = attributeOf(element, name);
    return value === null ? undefined : address(value, base, reasons);
  }

  /** One element without its children, in the key order of the wire. */
  async function describe(element, reasons) {
    const fields = {
      tag: carriedTag(element),
      role: bounded(attributeOf(element, "role"), BYTES.role, reasons),
      name: await accessibleName(element, reasons),
      text: await directText(element, reasons),
      id: bounded(attributeOf(element, "id"), BYTES.id, reasons),
      classes: classes(element, reasons),
      attributes: attributes(element, reasons),
      state: state(element),
      href: link(element, "href", reasons),
      src: link(element, "src", reasons),
      source: sourceOf(element) ?? undefined,
      children: [],
    };
    for (const key of Object.keys(fields)) if (fields[key] === undefined) delete fields[key];
    return fields;
  }

  /** The elements at and below `root`, level by level: at most `limits.nodes`, none deeper than `limits.depth`, and no
      more than fit `limits.bytes` (the root comes in any case). Each entry has the node, the entry it hangs on, and
      the bytes of the node without its children. */
  async function tree(root, limits, reasons) {
    const node = await describe(root, reasons);
    const entries = [{ node, parent: null, element: root, depth: 0, bytes: byteLength(JSON.stringify(node)) }];
    let total = entries[0].bytes;
    for (let at = 0; at < entries.length; at++) {
      const parent = entries[at];
      if (CLOSED_TAGS.has(parent.node.tag)) continue;
      for (const child of [...childrenOf(parent.element)]) {
        if (slices.due()) await slices.rest();
        if (display(child) === null) continue;
        if (parent.depth === limits.depth) {
          reasons.add("depth");
          break;
        }
        if (entries.length === limits.nodes) {
          reasons.add("nodes");
          return entries;
        }
        const cuts = new Set();
        const below = await describe(child, cuts);
        const bytes = byteLength(JSON.stringify(below));
        total += bytes + (parent.node.children.length > 0 ? 1 : 0);
        if (total > limits.bytes) {
          reasons.add("bytes");
          return entries;
        }
        for (const cut of cuts) reasons.add(cut);
        parent.node.children.push(below);
        entries.push({ node: below, parent, element: child, depth: parent.depth + 1, bytes });
      }
    }
    return entries;
  }

  return { tree, describe, isShown };
}

/** Makes the tree of `entries` take at most `limit` bytes: the last nodes go first, then what describes the root.
    Every node was measured once, when it was made. */
export function trim(entries, limit, reasons) {
  let bytes = 0;
  for (const { node, bytes: own } of entries) bytes += own + Math.max(0, node.children.length - 1);
  while (bytes > limit && entries.length > 1) {
    const { parent, bytes: own } = entries.pop();
    parent.node.children.pop();
    bytes -= own + (parent.node.children.length > 0 ? 1 : 0);
    reasons.add("bytes");
  }
  const root = entries[0].node;
  for (const field of DROPPED_LAST) {
    if (bytes <= limit) break;
    if (!(field in root)) continue;
    delete root[field];
    bytes = byteLength(JSON.stringify(root));
    reasons.add("bytes");
  }
  return bytes;
}

/** The browser context of a task about the whole page. */
export async function capturePage({ document, location, host, route, sourceOf, now }) {
  const reasons = new Set();
  const where = whereabouts(location, reasons);
  let snapshot;
  try {
    const capture = createCapture({ document, host, sourceOf, now });
    const entries = await capture.tree(document.body, PAGE, reasons);
    trim(entries, PAGE.bytes, reasons);
    snapshot = entries[0].node;
  } catch {
    // A page that has changed the DOM's own methods: the task goes without it.
    snapshot = { tag: "body", children: [] };
    reasons.add("nodes");
  }
  const cuts = REASONS.filter((reason) => reasons.has(reason));
  return {
    contract_version: 1,
    location: where,
    route: routeInBounds(route),
    snapshot,
    focus_points: [],
    truncation: cuts.length ? [{ section: "page", reasons: cuts }] : [],
  };
}
