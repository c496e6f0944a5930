// What a browser remembers of this page: drafts and the key for this tab, folds and the theme for good. A browser that
// refuses to remember (private mode, a full store) makes nothing fail; it only forgets.

function shelf(area, prefix) {
  const of = () => (area === "session" ? window.sessionStorage : window.localStorage);
  return {
    get(name, fallback = null) {
      try {
        const text = of().getItem(prefix + name);
        return text === null ? fallback : JSON.parse(text);
      } catch {
        return fallback;
      }
    },
    set(name, value) {
      try {
        if (value === null || value === undefined) of().removeItem(prefix + name);
        else of().setItem(prefix + name, JSON.stringify(value));
        return true;
      } catch {
        return false;
      }
    },
  };
}

/** The shelves of the page at `base`: `tab` ends with the tab, `kept` does not. */
export function createMemory(base) {
  const prefix = `pi-board:${base}:`;
  return { tab: shelf("session", prefix), kept: shelf("local", prefix) };
}
