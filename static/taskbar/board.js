/* Opens the board in a tab of its own. Fetched with the first click, so that a page pays nothing for it.

   The address carries the key that may change cards. The server gives it to this page by the same rules as a task: this
   machine, this origin, a token. It goes into no address of this page and no attribute. */

const NOT_GIVEN = "The board could not be opened: the app's server did not give its address. Close this tab and try again.";

export async function openBoard(view, mountBase) {
  const tab = view.open("", "_blank"); // at once: a browser forgets soon that there was a click
  if (tab) tab.opener = null;
  try {
    const { csrf_token: token } = await json(await fetch(`${mountBase}/bootstrap`, { cache: "no-store" }));
    const headers = { "X-CSRF-Token": token, "Content-Type": "application/json" };
    const answer = await fetch(`${mountBase}/lead`, { method: "POST", headers, body: "{}" });
    const said = await json(answer);
    if (!answer.ok) throw new Error(typeof said.message === "string" ? said.message : NOT_GIVEN);
    (tab ?? view).location.href = new URL(said.url, view.location.origin).href;
  } catch (error) {
    if (tab) tab.document.body.textContent = error instanceof TypeError ? NOT_GIVEN : error.message;
  }
}

async function json(response) {
  try {
    return await response.json();
  } catch {
    throw new Error(NOT_GIVEN);
  }
}
