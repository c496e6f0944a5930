// A refused call, in words, at the place where it was made: what happened, and what would be accepted instead.

import { el } from "./dom.js";

const CALLS = {
  claim: (call) => `claim #${call.card}`,
  move: (call) => `move #${call.card} to ${call.status}`,
  note: (call) => `write a note on #${call.card}`,
  release: (call) => `release #${call.card}`,
  reclaim: (call) => `reclaim #${call.card}`,
  reopen: (call) => `reopen #${call.card}`,
  drop: (call) => `drop #${call.card}`,
  edit: (call) => `edit #${call.card}`,
  add: () => "add a new card",
  list: () => "look at the cards",
};

/** What to say about an answer that is no success. */
export function refusalText(body) {
  return body?.message ?? "The server's answer could not be read.";
}

/** The refusal as an element; `again` retries the very same call where that can help. */
export function refusalNote(body, again) {
  const ideas = (body?.next ?? []).map((call) => {
    const words = CALLS[call.action]?.(call) ?? call.action;
    return el("li", null, call.why ? `${words}: ${call.why}` : words);
  });
  return el(
    "div", { class: "refusal", role: "alert", dataset: { code: body?.code ?? "" } },
    el("p", { dir: "auto" }, refusalText(body)),
    ideas.length ? el("p", null, "You could:") : null,
    ideas.length ? el("ul", null, ideas) : null,
    body?.retry && again ? el("button", { type: "button", class: "button quiet", dataset: { again: "" }, on: { click: again } }, "Try again") : null,
  );
}
