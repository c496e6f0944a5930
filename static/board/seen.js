// "Since you last looked": which cards have moved since this browser last had the board before its eyes. It remembers one
// moment and nothing about any card.

const AWAY_MS = 60_000; // a glance at another tab is not an absence

export function createSeen({ memory, model }) {
  let since = memory.kept.get("looked", null);
  let hiddenAt = null;

  function leave() {
    hiddenAt = model.now();
    if (model.state.rev >= 0) memory.kept.set("looked", new Date(model.now()).toISOString());
  }

  window.addEventListener("pagehide", leave);
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) leave();
    else if (hiddenAt !== null && model.now() - hiddenAt > AWAY_MS) since = new Date(hiddenAt).toISOString();
  });

  return {
    /** Whether this row has moved since the reader last looked; never on the first visit. */
    isNews: (row) => since !== null && row.touchedAt > since,
    /** The reader has seen everything there is. */
    caughtUp() {
      since = new Date(model.now()).toISOString();
    },
  };
}
