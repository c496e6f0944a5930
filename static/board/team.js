// The lead's round: what needs a decision, who is around and what they hold, what is done. Rows are the server's; the
// filter of the toolbar applies, and headings say how many of how many are shown.

import { age, span, secondsSince } from "./ages.js";
import { arrange, el, write } from "./dom.js";
import { isEmpty, matches, matchesTexts, parse } from "./query.js";

const KINDS = {
  damaged: "damaged", cycle: "ring", blocked: "blocked", waiting: "waiting", idle: "idle", unstarted: "not started",
  unplanned: "unplanned", unassigned: "nobody's",
};
const ACTIONS = { reclaim: "Reclaim", claim: "Claim", open: "Open" };
const QUEUE_LIMIT = 200;
const DONE_LIMIT = 60;

export function createTeam({ model, ui, memory, actions, dialogs }) {
  const me = () => memory.tab.get("me");
  const queueHead = el("h2", { id: "queue-name" }, "Needs a decision");
  const teamHead = el("h2", { id: "team-name" }, "Teammates");
  const doneHead = el("h2", { id: "done-name" }, "Done");
  const queue = el("ul", { class: "queue" });
  const team = el("ul", { class: "teammates" });
  const done = el("p", { class: "done-ids" });
  const round = el("p", { class: "round" });
  const node = el(
    "div", { class: "team" }, round,
    el("div", { class: "team-panels" },
      el("section", { class: "panel queue-panel", "aria-labelledby": "queue-name" }, queueHead, el("div", { class: "panel-body", tabindex: "0", role: "region", "aria-labelledby": "queue-name" }, queue)),
      el("section", { class: "panel", "aria-labelledby": "team-name" }, teamHead, el("div", { class: "panel-body" }, team))),
    el("section", { class: "panel done-strip", "aria-labelledby": "done-name" }, doneHead, done),
  );

  function heading(head, name, shown, total, filtered) {
    write(head, `${name} ${filtered ? `${shown}/${total}` : total}`);
  }

  const drawn = new WeakMap(); // list -> Map of key to {made of, node}

  function keyed(list, items, make) {
    const before = drawn.get(list) ?? new Map();
    const after = new Map();
    const nodes = items.map(([key, item]) => {
      const made = JSON.stringify(item) + String(model.state.can.write);
      const known = before.get(key);
      const entry = known?.made === made ? known : { made, node: make(item) };
      after.set(key, entry);
      return entry.node;
    });
    drawn.set(list, after);
    arrange(list, nodes);
  }

  function draw() {
    const { queue: rows, team: mates, rows: cards, order } = model.state;
    const query = parse(ui.state.filter);
    const filtered = !isEmpty(query);
    const decisions = rows.filter((row) => row.kind !== "in_progress");
    const progress = rows.find((row) => row.kind === "in_progress");
    const shown = decisions.filter((row) => {
      const card = cards.get(row.card);
      return card ? matches(card, query) : matchesTexts([row.name ?? "", row.reason], query);
    });
    heading(queueHead, "Needs a decision", shown.length, decisions.length, filtered);
    const items = shown.slice(0, QUEUE_LIMIT).map((row) => [row.name ?? `${row.card}`, { row, card: cards.get(row.card) ?? null }]);
    if (!items.length) items.push(["none", { nothing: filtered && decisions.length ? "No row matches the filter." : "Nothing needs a decision." }]);
    if (shown.length > QUEUE_LIMIT) items.push(["more", { nothing: `${shown.length - QUEUE_LIMIT} more; filter to see them.` }]);
    if (progress && !filtered) items.push(["progress", { nothing: `${progress.count} waiting on work in progress.` }]);
    keyed(queue, items, (item) => (item.nothing ? el("li", { class: "nothing" }, item.nothing) : decision(item.row, item.card)));

    const people = mates.filter((mate) => matchesTexts([mate.label], query));
    const mine = me();
    people.sort((one, other) => (other.id === mine) - (one.id === mine));
    heading(teamHead, "Teammates", people.length, mates.length, filtered);
    const mateItems = people.map((mate) => [mate.id, { mate, text: stateText(mate), you: mate.id === mine }]);
    if (!mateItems.length) mateItems.push(["none", { nothing: mates.length ? "Nobody matches the filter." : "Nobody has joined yet. A session joins with its first card." }]);
    keyed(team, mateItems, (item) => (item.nothing ? el("li", { class: "nothing" }, item.nothing) : teammate(item)));

    const finished = order.done.filter((id) => cards.has(id) && matches(cards.get(id), query));
    heading(doneHead, "Done", finished.length, order.done.length, filtered);
    const links = finished.slice(0, DONE_LIMIT).map((id) => [`${id}`, { id, title: cards.get(id).title }]);
    if (finished.length > DONE_LIMIT) links.push(["more", { rest: finished.length - DONE_LIMIT }]);
    if (!links.length) links.push(["none", { none: true }]);
    keyed(done, links, (item) => {
      if (item.none) return el("span", { class: "nothing" }, "Nothing is finished yet.");
      if (item.rest) return el("span", { class: "nothing" }, `and ${item.rest} more`);
      return el("button", { type: "button", class: "id-link", title: item.title, "aria-label": `Open #${item.id} ${item.title}`, on: { click: () => dialogs.openCard(item.id) } }, `#${item.id}`);
    });
    write(round, model.state.round?.text ?? "");
  }

  function decision(row, card) {
    const reason = [row.reason, row.frees ? `unblocks ${row.frees}` : ""].filter(Boolean).join(" · ");
    const also = row.also.map((kind) => KINDS[kind] ?? kind).join(", ");
    const since = row.since ? el("time", { class: "age", datetime: row.since }, age(row.since, model.now())) : null;
    const canAct = row.action === "open" || (row.action && model.state.can.write);
    const act = {
      claim: () => actions.claim(row.card),
      reclaim: () => actions.reclaim(row.card),
      open: () => (row.card !== null && card ? dialogs.openCard(row.card) : dialogs.openDamaged(row.name)),
    }[row.action];
    return el(
      "li", { class: "decision", dataset: { queueRow: row.card ?? row.name, kind: row.kind, edge: row.edge } },
      el("div", { class: "decision-top" },
        row.card === null || !card
          ? el("span", { class: "card-id" }, row.card === null ? row.name : `#${row.card}`)
          : el("button", { type: "button", class: "id-link", "aria-label": `Open #${row.card} ${card.title}`, on: { click: () => dialogs.openCard(row.card) } }, `#${row.card}`),
        el("span", { class: "decision-title", dir: "auto", title: card?.title ?? null }, card?.title ?? row.name ?? ""),
        card?.owner ? el("span", { class: "chip owner" }, card.owner.label) : null,
        canAct ? el("button", { type: "button", class: "button main", dataset: { action: row.action }, "aria-label": `${ACTIONS[row.action]} ${row.card === null ? row.name : `#${row.card}`}`, on: { click: act } }, ACTIONS[row.action]) : null),
      el("div", { class: "decision-why", title: [reason, also && `also: ${also}`].filter(Boolean).join("\n") },
        el("span", { class: "kind" }, KINDS[row.kind] ?? row.kind), since, el("span", { class: "why", dir: "auto" }, reason)),
    );
  }

  /** `live · 3 held · 1 done · oldest 21m`; a quiet session says for how long. */
  function stateText(mate) {
    const now = model.now();
    const parts = [mate.quietSince ? `quiet for ${span(secondsSince(mate.quietSince, now))}` : mate.state, `${mate.held} held`];
    if (mate.done) parts.push(`${mate.done} done`);
    if (mate.oldest) parts.push(`oldest ${age(mate.oldest, now)}`);
    return parts.join(" · ");
  }

  function teammate({ mate, text, you }) {
    return el(
      "li", { class: "teammate", dataset: { teamRow: mate.id, state: mate.state } },
      el("span", { class: "state-dot", "aria-hidden": "true" }),
      el("span", { class: "label", dir: "auto" }, mate.label, mate.suffix ? ` (…${mate.suffix})` : ""),
      you ? el("span", { class: "chip you" }, "you") : null,
      mate.serves ? el("span", { class: "chip" }, "serves") : null,
      mate.state === "live" && !mate.listening && mate.mode !== "page" && mate.id !== model.state.seat?.id ? el("span", { class: "chip warn" }, "not listening") : null,
      mate.unread ? el("span", { class: "chip mail", title: `${mate.unread} unread` }, `✉ ${mate.unread}`, el("span", { class: "hidden" }, " unread")) : null,
      el("span", { class: "teammate-text" }, text),
    );
  }

  return { node, draw };
}
