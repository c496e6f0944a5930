// Every change that this page can ask for. Each is one call; its answer is shown at once, before the frame that follows it.
// What takes something from somebody asks first. A refusal is handed back to whoever asked, or shown as a message.

import { refusalText } from "./refusal.js";

export function createActions({ api, model, memory, announce }) {
  let dialogs = null;
  const under = new Set(); // calls that are on their way, so that a double click is one

  /** One call. Null where the very same one is still on its way. */
  async function call(method, path, body = {}) {
    const key = `${method} ${path}`;
    if (under.has(key)) return null;
    under.add(key);
    const answer = await api.write(method, path, body).finally(() => under.delete(key));
    if (answer.body?.card) model.paintCard(answer.body.card);
    return answer;
  }

  const cardCall = (id, verb, body) => call("POST", `/api/cards/${id}/${verb}`, body);

  /** Show a refusal where `show` does, or as a message; true for a success. */
  function told(answer, { again, show } = {}) {
    if (answer === null) return false;
    if (answer.ok) return true;
    if (show) {
      show(answer.body, again);
      return false;
    }
    announce.toast(refusalText(answer.body), { tone: "danger", ...(answer.body?.retry && again ? { action: "Try again", act: again } : {}) });
    return false;
  }

  const label = (id) => {
    const row = model.state.rows.get(id);
    return row ? `#${id} ${row.title}` : `#${id}`;
  };

  const self = {
    use: (given) => (dialogs = given),

    async claim(id, { show } = {}) {
      const seat = model.state.seat?.label ?? "team-lead";
      const yes = await dialogs.confirm({ title: `Claim #${id}?`, text: `${label(id)} moves to Doing and is held by ${seat}, the seat of this page. It comes back with Release, or with reclaim from a terminal.`, yes: "Claim" });
      if (yes && told(await cardCall(id, "claim"), { again: () => self.claim(id, { show }), show })) announce.say(`#${id} claimed`);
    },
    async reclaim(id, { show } = {}) {
      const owner = model.state.rows.get(id)?.owner?.label ?? "its holder";
      const yes = await dialogs.confirm({ title: `Reclaim #${id}?`, text: `${label(id)} goes back to To do with its notes. ${owner} is not told; work in progress there may go on.`, yes: "Reclaim", danger: true });
      if (yes && told(await cardCall(id, "reclaim"), { again: () => self.reclaim(id, { show }), show })) announce.say(`#${id} is in To do`);
    },
    async drop(id, { show } = {}) {
      const yes = await dialogs.confirm({ title: `Drop #${id}?`, text: `${label(id)} leaves the board with its notes. A copy is kept for a day, so that Undo brings it back.`, yes: "Drop", danger: true });
      if (!yes) return false;
      const answer = await call("DELETE", `/api/cards/${id}`);
      if (!told(answer, { again: () => self.drop(id, { show }), show })) return false;
      model.paintGone(id);
      announce.toast(`#${id} dropped`, { action: "Undo", act: () => self.undo(id) });
      return true;
    },
    async undo(id) {
      if (told(await call("POST", "/api/undo", id ? { card: id } : {}))) announce.toast(`#${id} is back`);
    },
    async setAside(name) {
      const first = await dialogs.confirm({ title: `Set ${name} aside?`, text: "The file is moved out of the cards into the folder damaged/, where nothing looks at it any more. Its number is not given again.", yes: "Set aside" });
      if (!first) return;
      const second = await dialogs.confirm({ title: "Really?", text: `Only a person can bring ${name} back, by hand. If an editor or another tool is just writing it, wait.`, yes: `Set ${name} aside`, danger: true });
      if (second && told(await call("POST", "/api/damaged/set-aside", { name }))) announce.toast(`${name} is set aside`);
    },
    async revoke() {
      const yes = await dialogs.confirm({ title: "Revoke lead links?", text: "Every link that may change cards stops working, in every tab and for everybody who was given one; this tab goes on. Viewer links stay good.", yes: "Revoke", danger: true });
      if (!yes) return;
      const answer = await call("POST", "/api/lead/revoke");
      if (!told(answer)) return;
      self.keepKey(answer.body.key);
      announce.toast("Lead links revoked; this tab has a new one");
    },
    keepKey(key) {
      api.setKey(key);
      memory.tab.set("key", key);
    },
    async copyViewerLink() {
      const answer = await api.get("/api/links");
      if (!told(answer)) return;
      const text = answer.body.viewer;
      try {
        await navigator.clipboard.writeText(text);
        announce.toast("Viewer link copied: it can look and change nothing");
      } catch {
        dialogs.showLink(text);
      }
    },

    // What dialogs ask for; they show a refusal themselves.
    add: (fields) => call("POST", "/api/cards", fields),
    edit: (id, fields, base) => cardCall(id, "edit", { ...fields, base }),
    plan: (id, path) => cardCall(id, "plan", { path }),
    note: (id, text) => cardCall(id, "note", { text }),
    move: (id, status, ifRev) => cardCall(id, "move", ifRev ? { status, ifRev } : { status }),
    assign: (id, to) => cardCall(id, "assign", { label: to }),
    release: (id) => cardCall(id, "release"),
    reopen: (id) => cardCall(id, "reopen"),
    prune: (days, dryRun) => call("POST", "/api/prune", { days, dryRun }),
  };
  return self;
}
