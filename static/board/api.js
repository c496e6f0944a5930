// The page's calls to its server. The key goes along in a header, never in an address. Nothing here throws: an answer is
// always `{ok, status, body, headers}`, and where nothing answered at all the body says so.

const OFFLINE = { ok: false, code: "offline", message: "The page's server does not answer. Nothing was changed.", next: [], retry: true };

export function createApi({ base, key }) {
  let current = key;

  async function call(method, path, { body, headers = {}, signal } = {}) {
    const request = { method, headers: { "X-Board-Key": current ?? "", ...headers }, cache: "no-store", signal };
    if (body !== undefined) {
      request.headers["Content-Type"] = "application/json";
      request.body = JSON.stringify(body);
    }
    let response;
    try {
      response = await fetch(base + path, request);
    } catch {
      return { ok: false, status: 0, body: OFFLINE, headers: new Headers() };
    }
    let said = null;
    try {
      if (response.status !== 304) said = await response.json();
    } catch {
      said = { ...OFFLINE, message: "The server's answer could not be read." };
      return { ok: false, status: response.status, body: said, headers: response.headers };
    }
    return { ok: response.ok, status: response.status, body: said, headers: response.headers };
  }

  return {
    get: (path, options) => call("GET", path, options),
    write: (method, path, body = {}) => call(method, path, { body }),
    /** The stream's response; rejects where nothing answers. */
    stream: (path, signal) =>
      fetch(base + path, { headers: { "X-Board-Key": current ?? "", Accept: "text/event-stream" }, cache: "no-store", signal }),
    setKey: (to) => (current = to),
    get key() {
      return current;
    },
  };
}
