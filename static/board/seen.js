// "Since you last looked": which cards have moved since this browser last had the board before its eyes. It remembers one
// moment and nothing about any card.

const AWAY_MS = 60_000; // a glance at another tab is not an absence

export function createSeen({ memory, model }) {
  let since = memory.kept.get("looked", null);
  let until = null; // when this visit began: what moves before the reader's eyes is no news
  let hiddenAt = null;
  const looked = new Set();

  function leave() {
    hiddenAt = model.now();
    if (model.state.rev >= 0) memory.kept.set("looked", new Date(model.now()).toISOString());
  }

  window.addEventListener("pagehide", leave);
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) leave();
    else if (hiddenAt !== null && model.now() - hiddenAt > AWAY_MS) {
      since = new Date(hiddenAt).toISOString();
      until = new Date(model.now()).toISOString();
      looked.clear();
    }
  });

  return {
    /** Whether this row moved between the reader's last visit and this one; never on the first visit. */
    isNews(row) {
      if (since === null || looked.has(row.id)) return false;
      until ??= new Date(model.now()).toISOString();
      return row.touchedAt > since && row.touchedAt <= until;
    },
    /** The reader has opened this card. */
    saw: (id) => looked.add(id),
  };
}
