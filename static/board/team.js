// The lead's round: what needs a decision, who is around and what they hold, what is done. Rows are the server's; the
// filter of the toolbar applies, and headings say how many of how many are shown.

import { age } from "./ages.js";
import { el, keyed, write } from "./dom.js";
import { isEmpty, matches, matchesTexts, parse } from "./query.js";
import { isCut } from "./whole.js";

const KINDS = {
  damaged: "damaged", cycle: "ring", blocked: "blocked", waiting: "waiting", idle: "idle", unstarted: "not started",
  unplanned: "unplanned", unassigned: "nobody's",
};
const ACTIONS = { reclaim: "Reclaim", claim: "Claim", open: "Open" };
const QUEUE_LIMIT = 200;
const TEAM_LIMIT = 200;
const DONE_LIMIT = 60;

export function createTeam({ model, ui, memory, actions, dialogs }) {
  const me = () => memory.tab.get("me");
  const queueHead = heading("queue-name", "Needs a decision");
  const teamHead = heading("team-name", "Teammates");
  const doneHead = heading("done-name", "Done");
  const queue = el("ul", { class: "queue" });
  const team = el("ul", { class: "teammates" });
  const done = el("p", { class: "done-ids" });
  const round = el("p", { class: "round" });
  const node = el(
    "div", { class: "team" }, round,
    el("div", { class: "team-panels" },
      el("section", { class: "panel queue-panel", "aria-labelledby": "queue-name" }, queueHead.node, el("div", { class: "panel-body", tabindex: "0", role: "group", "aria-labelledby": "queue-name" }, queue)),
      el("section", { class: "panel", "aria-labelledby": "team-name" }, teamHead.node, el("div", { class: "panel-body" }, team))),
    el("section", { class: "panel done-strip", "aria-labelledby": "done-name" }, doneHead.node, done),
  );

  const nothing = (text) => el("li", { class: "nothing" }, text);
  const drawQueue = keyed(queue, (item) => (item.nothing ? nothing(item.nothing) : decision(item.row, item.card, item.canWrite)));
  const drawTeam = keyed(team, (item) => (item.nothing ? nothing(item.nothing) : teammate(item)));
  const drawDone = keyed(done, (item) => {
    if (item.nothing) return el("span", { class: "nothing" }, item.nothing);
    return el("button", { type: "button", class: "id-link", title: item.title, "aria-label": `Open #${item.id} ${item.title}`, on: { click: () => dialogs.openCard(item.id) } }, `#${item.id}`);
  });

  function heading(id, name) {
    const count = el("span", { class: "pill" });
    const head = el("h2", { id }, `${name} `, count);
    return { node: head, say: (shown, total, filtered) => write(count, filtered ? `${shown}/${total}` : String(total)) };
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
    queueHead.say(shown.length, decisions.length, filtered);
    const canWrite = model.state.can.write;
    const items = shown.slice(0, QUEUE_LIMIT).map((row) => [row.name ?? `${row.card}`, { row, card: faceOf(cards.get(row.card)), canWrite }]);
    if (!items.length) items.push(["none", { nothing: filtered && decisions.length ? "No row matches the filter." : "Nothing needs a decision." }]);
    if (shown.length > QUEUE_LIMIT) items.push(["more", { nothing: `${shown.length - QUEUE_LIMIT} more; filter to see them.` }]);
    if (progress && !filtered) items.push(["progress", { nothing: `${progress.count} waiting on work in progress.` }]);
    drawQueue(items);

    const people = mates.filter((mate) => matchesTexts([mate.label], query));
    const mine = me();
    people.sort((one, other) => (other.id === mine) - (one.id === mine));
    teamHead.say(people.length, mates.length, filtered);
    const seat = model.state.seat?.id;
    const mateItems = people.slice(0, TEAM_LIMIT).map((mate) => [mate.id, { mate, you: mate.id === mine, isSeat: mate.id === seat }]);
    if (people.length > TEAM_LIMIT) mateItems.push(["more", { nothing: `${people.length - TEAM_LIMIT} more; filter to see them.` }]);
    if (!mateItems.length) mateItems.push(["none", { nothing: mates.length ? "Nobody matches the filter." : "Nobody has joined yet. A session joins with its first card." }]);
    drawTeam(mateItems);

    const finished = order.done.filter((id) => cards.has(id) && matches(cards.get(id), query));
    doneHead.say(finished.length, order.done.length, filtered);
    const links = finished.slice(0, DONE_LIMIT).map((id) => [`${id}`, { id, title: cards.get(id).title }]);
    if (finished.length > DONE_LIMIT) links.push(["more", { nothing: `and ${finished.length - DONE_LIMIT} more` }]);
    if (!links.length) links.push(["none", { nothing: order.done.length ? "No card here matches the filter." : "Nothing is finished yet." }]);
    drawDone(links);
    write(round, model.state.round?.text ?? "");
  }

  /** What a row of the queue shows of its card. */
  const faceOf = (card) => (card ? { title: card.title, owner: card.owner } : null);

  function decision(row, card, canWrite) {
    const reason = [row.reason, row.frees ? `unblocks ${row.frees}` : ""].filter(Boolean).join(" · ");
    const also = row.also.map((kind) => KINDS[kind] ?? kind).join(", ");
    const since = row.since ? el("time", { class: "age", datetime: row.since }, age(row.since, model.now())) : null;
    const canAct = row.action === "open" || (row.action && canWrite);
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
      el("div", { class: "decision-why", dataset: card && isCut(row.reason) ? { cut: row.card, begins: row.reason } : {}, title: [reason, also && `also: ${also}`].filter(Boolean).join("\n") },
        el("span", { class: "kind" }, KINDS[row.kind] ?? row.kind), since, el("span", { class: "why", dir: "auto" }, reason)),
    );
  }

  /** `live · 3 held · 1 done · oldest 21m`; a quiet session says for how long. The ages go on by themselves. */
  function stateText(mate) {
    const since = (stamp) => el("time", { datetime: stamp }, age(stamp, model.now()));
    return [
      ...(mate.quietSince ? ["quiet for ", since(mate.quietSince)] : [mate.state]), ` · ${mate.held} held`,
      mate.done ? ` · ${mate.done} done` : null, ...(mate.oldest ? [" · oldest ", since(mate.oldest)] : []),
    ];
  }

  function teammate({ mate, you, isSeat }) {
    return el(
      "li", { class: "teammate", dataset: { teamRow: mate.id, state: mate.state } },
      el("span", { class: "state-dot", "aria-hidden": "true" }),
      el("span", { class: "label", dir: "auto" }, mate.label, mate.suffix ? ` (…${mate.suffix})` : ""),
      you ? el("span", { class: "chip you" }, "you") : null,
      mate.serves ? el("span", { class: "chip" }, "serves") : null,
      mate.state === "live" && !mate.listening && mate.mode !== "page" && !isSeat ? el("span", { class: "chip warn" }, "not listening") : null,
      mate.unread ? el("span", { class: "chip mail", title: `${mate.unread} unread` }, `✉ ${mate.unread}`, el("span", { class: "hidden" }, " unread")) : null,
      el("span", { class: "teammate-text" }, stateText(mate)),
    );
  }

  return { node, draw };
}
