// The whole of a sentence that a frame had to cut: fetched when a pointer rests on it, shown as its tooltip. Who has no
// pointer finds the same words in the card's dialog.

const MAX_SHOWN = 160; // code points of a reason in a frame (board/reason.py)
const MAX_WHOLE = 4_000;

/** Whether a reason was too long for a frame. */
export const isCut = (reason) => reason.endsWith("…") && [...reason].length === MAX_SHOWN;

/** Below `root`, elements with `data-cut` (a card's number) and `data-begins` (what stands there) get the whole as tooltip. */
export function tellWhole(root, api) {
  const asked = new WeakSet();
  root.addEventListener("pointerover", async (event) => {
    const place = event.target.closest?.("[data-cut]");
    if (!place || asked.has(place)) return;
    asked.add(place);
    const { ok, body } = await api.get(`/api/cards/${place.dataset.cut}`);
    const whole = ok ? wholeOf(body.card, place.dataset.begins) : null;
    if (whole) place.title = place.title.replace(place.dataset.begins, () => whole);
    else asked.delete(place);
  });
}

function wholeOf(card, begins) {
  const start = begins.slice(0, -1);
  const note = (card?.notes ?? []).findLast((one) => one.text.split(/\s+/).join(" ").trim().startsWith(start));
  return note ? [...note.text].slice(0, MAX_WHOLE).join("") : null;
}
