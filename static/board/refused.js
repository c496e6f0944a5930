// The page without a key, or with one that is good for nothing any more: what happened, in words, and the way back in.
// Inside an app that has the taskbar, the lead's link can be asked for here, by the taskbar's own rules.

import { el, write } from "./dom.js";

/** The words for a reader who has no good key. `had`: there was one, so the page was started anew or the link revoked. */
export function refusedPage({ had, where, taskbar, open }) {
  const problem = el("p", { class: "problem", role: "alert" });
  const button = el("button", { type: "button", class: "button strong", id: "open-lead", on: { click: ask } }, "Open as team-lead");

  async function ask() {
    button.disabled = true;
    write(problem, "");
    const address = await leadAddress(taskbar).catch((error) => {
      write(problem, error.message);
      return null;
    });
    button.disabled = false;
    if (address) open(address);
  }

  return el(
    "main", { class: "refused", id: "refused", tabindex: "-1" },
    el("div", { class: "mark-sign", "aria-hidden": "true" }, "π"),
    el("h1", null, had ? "This link is no longer good" : "The board needs its link"),
    had
      ? el("p", null, "The page was started again, or its lead revoked the link. Nothing on the board is lost.")
      : el("p", null, "Its address alone opens nothing: the link that the page was opened with carries a key, which is taken out of the address bar so that it is not handed on by accident."),
    where === "app" && taskbar
      ? [el("p", null, "On this machine you can open it as the lead:"), button, problem]
      : null,
    el("p", null, "In Pi, run ", el("code", null, "/board"), ". In a terminal, run ", el("code", null, "pi-taskbar board"), "."),
  );
}

async function leadAddress(taskbar) {
  const refused = "The taskbar did not hand out the link. Reload the app's page and try again.";
  const bootstrap = await fetch(`${taskbar}/bootstrap`, { cache: "no-store" });
  if (!bootstrap.ok) throw new Error(refused);
  const { csrf_token: token } = await bootstrap.json();
  const answer = await fetch(`${taskbar}/lead`, { method: "POST", headers: { "X-CSRF-Token": token, "Content-Type": "application/json" }, body: "{}" });
  const said = await answer.json();
  if (!answer.ok) throw new Error(said?.error?.message ?? said?.message ?? refused);
  return said.url;
}
