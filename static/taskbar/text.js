/* Strings as the contract's wire has them: cleaned like the server cleans them, cut to their bytes, addresses without
   their values.

   The panel asks it about instructions, the capture about everything that it reads from a page. It touches no DOM. */

export const PROMPT_BYTES = 4000;
export const MANY = 32; // classes of a node, names of a query
export const WINDOW = 4096; // characters of one text that are read
const FAR = 262_144; // how far into a text its beginning is searched for

const ORIGIN_BYTES = 512;
const PATH_BYTES = 2048;
const QUERY_NAME_BYTES = 128;
const ROUTE_BYTES = { method: 16, pattern: 1000, handler: 500, action: 256 };
const URL_CHARACTERS = 16384;

const STRIPPED = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;
const LONE_SURROGATES = /\p{Surrogate}/gu;
const SPACE = "\\t-\\r \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const SPACES = new RegExp(`[${SPACE}]+`, "g");
const ENDS = new RegExp(`^[${SPACE}]+|[${SPACE}]+$`, "g");
const INK = new RegExp(`[^${SPACE}]`, "g");

const encoder = new TextEncoder();
const scratch = new Uint8Array(WINDOW);

function settled(text) {
  return text
    .replace(LONE_SURROGATES, "\ufffd")
    .replace(/\r\n?/g, "\n")
    .replace(STRIPPED, "")
    .normalize("NFC");
}

/** `text` on one line: a space for every run of white space, none at the ends. */
export const onOneLine = (text) => settled(text).replace(SPACES, " ").replace(ENDS, "");

/** An instruction as the server will read it; empty when there is none. */
export const normalizePrompt = (text) => settled(text).replace(ENDS, "");

/** How many bytes `text` takes on the wire. */
export const byteLength = (text) => encoder.encode(text).length;

/** The longest beginning of `text` that fits, cut between code points; `reasons` learns of a cut. */
function cut(text, bytes, reasons) {
  if (text.length * 3 <= bytes) return text;
  const { read } = encoder.encodeInto(text, scratch.subarray(0, bytes));
  if (read === text.length) return text;
  reasons.add("string");
  return text.slice(0, read).replace(ENDS, "");
}

/** Where in `text`, at or after `from`, the first character that is no white space stands; -1 when none does. */
export function inkFrom(text, from) {
  INK.lastIndex = from;
  return INK.test(text) ? INK.lastIndex - 1 : -1;
}

/** A cleaned and bounded string, or undefined when nothing of it remains. Looks at no more of `text` than it needs. */
export function bounded(text, bytes, reasons) {
  if (!text) return undefined;
  if (text.length > FAR) {
    text = text.slice(0, FAR);
    reasons.add("string");
  }
  if (text.length > WINDOW) {
    const start = inkFrom(text, 0);
    if (start < 0) return undefined;
    if (inkFrom(text, start + WINDOW) >= 0) reasons.add("string");
    text = text.slice(start, start + WINDOW);
  }
  return cut(onOneLine(text), bytes, reasons) || undefined;
}

/* Addresses. */

const ORIGIN = /^https?:\/\/(\[[0-9A-Fa-f:.]+\]|(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*)(?::([0-9]{1,5}))?$/;

function carriedOrigin(url) {
  const match = ORIGIN.exec(url.origin);
  return match && match[2] !== "0" && url.origin.length <= ORIGIN_BYTES ? url.origin : null;
}

function readablePath(url, reasons) {
  let path = url.pathname;
  if (path.length > URL_CHARACTERS) {
    path = path.slice(0, URL_CHARACTERS).replace(/%[0-9A-Fa-f]?$/, "");
    reasons.add("string");
  }
  try {
    path = decodeURI(path);
  } catch {
    // Bytes that are no UTF-8 stay escaped.
  }
  path = cut(onOneLine(path), PATH_BYTES, reasons).replace(/%[0-9A-Fa-f]?$/, "");
  return path.startsWith("/") ? path : "/";
}

function queryNames(url, reasons) {
  const names = new Set();
  const query = url.search.slice(0, URL_CHARACTERS);
  for (const name of new URLSearchParams(query).keys()) {
    const carried = bounded(name, QUERY_NAME_BYTES, reasons);
    if (carried) names.add(carried);
    if (names.size === MANY) break;
  }
  return [...names];
}

/** An absolute address without its values, or undefined where the wire has no place for it. */
export function address(value, base, reasons) {
  if (value.length > URL_CHARACTERS) return undefined;
  let url;
  try {
    url = new URL(value, base);
  } catch {
    return undefined;
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") return undefined;
  const origin = carriedOrigin(url);
  return origin ? { origin, path: readablePath(url, reasons), query_names: queryNames(url, reasons) } : undefined;
}

/** Where the page is. A host name that the wire has no form for reads as `localhost`. */
export function whereabouts(location, reasons) {
  let url;
  try {
    url = new URL(location.href);
  } catch {
    url = null;
  }
  if (!url || (url.protocol !== "http:" && url.protocol !== "https:")) {
    return { origin: "http://localhost", path: "/", query_names: [] };
  }
  return {
    origin: carriedOrigin(url) ?? `${url.protocol}//localhost${url.port && url.port !== "0" ? `:${url.port}` : ""}`,
    path: readablePath(url, reasons),
    query_names: queryNames(url, reasons),
  };
}

/** The route of the page's own tag in the contract's bounds, or null. */
export function routeInBounds(route) {
  if (!route || typeof route !== "object") return null;
  const field = (name) => (typeof route[name] === "string" ? onOneLine(route[name]) : "");
  const carried = {
    method: field("method").toUpperCase(),
    pattern: field("pattern"),
    handler: field("handler"),
    action: field("action") || null,
  };
  const fits = Object.entries(carried).every(([name, value]) => byteLength(value ?? "") <= ROUTE_BYTES[name]);
  return fits && /^[A-Z]+$/.test(carried.method) && carried.pattern && carried.handler ? carried : null;
}

