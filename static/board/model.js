// The board as this page knows it, and who is told when that changes. Frames go in, nothing is drawn here. A patch is
// applied only to the state that it starts from; an own write is shown from its answer, until a frame at least as new
// has come. Time is the server's: taken from frames, carried on by the monotonic clock.

export const LANES = ["todo", "doing", "blocked", "done"];
const SECTIONS = ["round", "queue", "team", "damaged", "radar", "store"];
const RANK = { high: 0, normal: 1, low: 2 };

export function createModel({ clock = () => performance.now() } = {}) {
  const state = {
    epoch: null, rev: -1, digest: null, rows: new Map(),
    order: { todo: [], doing: [], blocked: [], done: [] },
    round: null, queue: [], team: [], damaged: [], radar: [], store: {}, board: {}, seat: null,
    can: { write: false }, connection: { kind: "connecting", since: clock() },
  };
  const listeners = new Set();
  const painted = new Map(); // id -> {row, before}: own writes that no frame has confirmed
  const dropped = new Map(); // id -> the dropped card's rev: own drops that no frame has confirmed
  let served = { todo: [], doing: [], blocked: [], done: [] }; // the lanes as the frames have them
  let serverTime = Date.now();
  let takenAt = clock();

  const now = () => serverTime + (clock() - takenAt);

  function setTime(stamp, forwardOnly) {
    const said = Date.parse(stamp);
    if (Number.isNaN(said) || (forwardOnly && said <= now())) return;
    serverTime = said;
    takenAt = clock();
  }

  function tell(change) {
    for (const listener of [...listeners]) {
      try {
        listener({ rows: new Set(), order: new Set(), sections: new Set(), connection: false, ...change });
      } catch (error) {
        reportError(error); // what cannot be drawn must not keep the next frame from coming
      }
    }
  }

  /** What own writes made of the lanes, put on top of what a frame says. */
  function replace(order) {
    if (dropped.size) for (const lane of LANES) order[lane] = order[lane].filter((id) => !dropped.has(id));
    for (const [id, { row }] of painted) {
      for (const lane of LANES) if (order[lane].includes(id)) order[lane] = order[lane].filter((other) => other !== id);
      const inside = order[row.status];
      const at = row.status === "done" ? 0 : inside.findIndex((other) => comesBefore(row, state.rows.get(other)));
      order[row.status] = at < 0 ? [...inside, id] : [...inside.slice(0, at), id, ...inside.slice(at)];
    }
    return order;
  }

  function putRow(id, row, changed) {
    const own = painted.get(id);
    if (own && row.rev < own.row.rev) {
      own.before = row;
      return;
    }
    if (dropped.has(id) && row.rev <= dropped.get(id)) return;
    painted.delete(id);
    dropped.delete(id);
    const before = state.rows.get(id);
    if (before && JSON.stringify(before) === JSON.stringify(row)) return;
    state.rows.set(id, row);
    changed.add(id);
  }

  function takeSections(data, sections) {
    for (const name of SECTIONS) {
      if (data[name] === undefined) continue;
      state[name] = data[name];
      sections.add(name);
    }
  }

  function takeOrder(order, changed) {
    served = { ...served, ...order };
    const merged = replace({ ...served });
    for (const lane of LANES) {
      if (!same(merged[lane], state.order[lane])) changed.add(lane);
    }
    state.order = merged;
  }

  return {
    state,
    now,

    /** The whole board. `can` overrides what the frame says, for one that was meant for another tab. An answer that was
     * on its way while newer frames came changes only that. */
    applySnapshot(data, { can, replaces = false } = {}) {
      if (!data.rows || !data.order) throw new TypeError("not a board");
      if (!replaces && data.epoch === state.epoch && data.rev < state.rev) {
        this.setCan(can ?? data.can ?? state.can);
        return;
      }
      if (data.epoch !== state.epoch) {
        painted.clear();
        dropped.clear();
      }
      const rows = new Set();
      const order = new Set();
      const sections = new Set();
      setTime(data.now, false);
      Object.assign(state, { epoch: data.epoch, rev: data.rev, digest: data.digest, seat: data.seat, board: data.board ?? {} });
      state.can = can ?? data.can ?? state.can;
      for (const id of [...state.rows.keys()]) {
        if (!(id in data.rows)) {
          state.rows.delete(id);
          painted.delete(id);
          rows.add(id);
        }
      }
      for (const [id, row] of Object.entries(data.rows)) putRow(Number(id), row, rows);
      takeSections(data, sections);
      takeOrder(data.order, order);
      sections.add("board");
      tell({ rows, order, sections });
    },

    /** One step. False if it does not start from the state that is shown. */
    applyPatch(data) {
      if (data.from !== state.rev) return false;
      const rows = new Set();
      const order = new Set();
      const sections = new Set();
      setTime(data.now, true);
      state.rev = data.to;
      state.digest = data.digest;
      for (const id of data.gone ?? []) {
        state.rows.delete(id);
        painted.delete(id);
        dropped.delete(id);
        rows.add(id);
      }
      for (const [id, row] of Object.entries(data.rows ?? {})) putRow(Number(id), row, rows);
      takeSections(data, sections);
      takeOrder(data.order ?? {}, order);
      tell({ rows, order, sections });
      return true;
    },

    /** Another process shows the same state under another name. */
    rebase(data) {
      setTime(data.now, true);
      state.epoch = data.epoch;
      state.rev = data.rev;
    },

    /** What a tab of the same browser needs to show what this one shows; no key, nothing about who may write. */
    exported() {
      const { epoch, rev, digest, round, queue, team, damaged, radar, store, board, seat } = state;
      const time = new Date(now()).toISOString();
      const rows = Object.fromEntries(state.rows);
      for (const [id, { before }] of painted) {
        if (before) rows[id] = before;
        else delete rows[id];
      }
      const order = Object.fromEntries(LANES.map((lane) => [lane, served[lane].filter((id) => id in rows)]));
      return { epoch, rev, digest, order, round, queue, team, damaged, radar, store, board, seat, now: time, rows };
    },

    /** Show an own write (or the card that a refusal carries) before its frame has come. */
    paintCard(card) {
      if (!card || card.damaged || !Number.isInteger(card.id)) return;
      const before = state.rows.get(card.id);
      if (before && before.rev >= card.rev) return;
      const row = faceOf(card, before);
      state.rows.set(card.id, row);
      painted.set(card.id, { row, before: painted.has(card.id) ? painted.get(card.id).before : before });
      dropped.delete(card.id);
      const order = new Set();
      takeOrder({}, order);
      tell({ rows: new Set([card.id]), order });
    },

    /** An own drop, shown before its frame has come. */
    paintGone(id) {
      const row = state.rows.get(id);
      if (!row) return;
      state.rows.delete(id);
      painted.delete(id);
      dropped.set(id, row.rev);
      const order = new Set();
      takeOrder({}, order);
      tell({ rows: new Set([id]), order });
    },

    setCan(can) {
      if (can.write === state.can.write) return;
      state.can = can;
      tell({ sections: new Set(["can"]) });
    },

    setConnection(kind, why) {
      if (kind === state.connection.kind && why === state.connection.why) return;
      state.connection = { kind, why, since: clock() };
      tell({ connection: true });
    },

    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

const same = (one, other) => one === other || (one.length === other.length && one.every((item, at) => item === other[at]));

function comesBefore(row, other) {
  if (!other) return false;
  return RANK[row.priority] - RANK[other.priority] < 0 || (RANK[row.priority] === RANK[other.priority] && row.id < other.id);
}

/** A card's face as far as the card alone tells; the frame that follows knows the rest. */
function faceOf(card, before) {
  const status = card.status === "doing" && !card.owner ? "blocked" : card.status;
  const moved = before?.status !== status;
  const waits = status === "done" ? [] : before?.waits ?? [];
  const reason = status === "done" ? `✓ done${card.owner ? ` by ${card.owner.label}` : ""}` : moved ? "" : before?.reason ?? "";
  const tone = status === "done" ? "success" : moved ? "plain" : before?.tone ?? "plain";
  const claimable = status === "todo" && !card.owner && !waits.length;
  return {
    ...before, id: card.id, rev: card.rev, title: card.title, status, priority: card.priority,
    paths: card.paths.slice(0, 3), pathCount: card.paths.length, owner: card.owner, dependsOn: card.dependsOn,
    waits, waitCount: waits.length, reason, tone,
    createdAt: card.createdAt, touchedAt: card.touchedAt, heldTouchedAt: card.heldTouchedAt, notes: card.notes.length,
    plan: card.plan !== null, mark: before?.mark ?? null,
    buttons: status === "done" ? ["Note", "Open"] : [claimable ? "Claim" : "Move", "Note", "Open"],
  };
}
