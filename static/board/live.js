// Keeping the model equal to the server: one stream for all tabs of a browser, resumed where it ended, and asking now and
// then where no stream can be had. Whatever happens, the last board stays readable, and the badge says how old it is.

import { createEventReader } from "./events.js";
import { canShare, createTabs } from "./tabs.js";

export const TIMES = {
  silence: 35_000, // the server says something at least every 15 s
  grace: 4_000, // a stream that ended on purpose may take this long to return before anybody is told
  backoff: [1_000, 2_000, 4_000, 8_000, 15_000],
  poll: 5_000,
  probe: 15_000,
  hello: 300,
  hidden: 60_000,
};

const GONE = new Set([401, 403]);

export function createLive({ api, model, base, times = TIMES }) {
  let stream = null; // the open one: {abort, lastByte}
  let timer = null;
  let failures = 0;
  let retry = 1_500;
  let stopped = false;
  let paused = false; // this tab is hidden and shares no stream
  let leading = false;
  let tabs = null;
  let watch = null;
  let helloTimer = null;
  let hiddenTimer = null;
  let doubtTimer = null;
  let lastAgain = -Infinity;
  let needsWhole = false; // what is shown stays, but no step can be taken from it
  let knowsCan = false; // what this tab's own key may do has been answered

  const jitter = (ms) => ms * (0.8 + 0.4 * Math.random());

  function later(ms, work) {
    clearTimeout(timer);
    timer = setTimeout(work, ms);
  }

  function connection(kind, why) {
    model.setConnection(kind, why);
    if (leading) tabs?.tell({ type: "connection", kind, why });
  }

  function refused() {
    halt();
    model.setConnection("refused");
  }

  // ---- the whole board, asked for ----

  /** The board as it is, with what this tab's own key may do. False if it could not be had. */
  async function fetchBoard() {
    const { epoch, rev } = model.state;
    const known = knowsCan && rev >= 0 && !needsWhole;
    const answer = await api.get("/api/board", { headers: known ? { "If-None-Match": `"${epoch}.${rev}"` } : {} });
    if (stopped) return false;
    if (GONE.has(answer.status)) {
      refused();
      return false;
    }
    if (answer.status === 304) return true;
    if (!answer.ok) return false;
    if (!apply("snapshot", answer.body, answer.body?.can)) {
      needsWhole = true;
      return false;
    }
    knowsCan = true;
    return true;
  }

  // ---- the stream ----

  function open() {
    clearTimeout(timer);
    paused = false;
    if (stopped || !leading || stream) return;
    const { epoch, rev, digest } = model.state;
    const query = rev >= 0 && !needsWhole ? `?last=${encodeURIComponent(`${epoch}.${rev}`)}&have=${encodeURIComponent(digest ?? "")}` : "";
    const abort = new AbortController();
    const mine = { abort, lastByte: performance.now() };
    stream = mine;
    void read(query, mine).then((outcome) => {
      if (stream !== mine) return; // given up for another one
      stream = null;
      if (!stopped && leading) ended(outcome);
    });
  }

  /** Read one stream to its end: "clean", "failed", "refused", "full", "bye" or "again" (start over without a state). */
  async function read(query, mine) {
    let response;
    try {
      response = await api.stream(`/events${query}`, mine.abort.signal);
    } catch {
      return "failed";
    }
    if (GONE.has(response.status)) return "refused";
    if (response.status === 503) return "full";
    const isStream = (response.headers.get("Content-Type") ?? "").startsWith("text/event-stream");
    if (!response.ok || !response.body || !isStream) {
      mine.abort.abort();
      return "failed";
    }
    if (model.state.rev >= 0) connected();
    let outcome = "clean";
    const events = createEventReader({
      onEvent: (event) => {
        if (outcome === "clean") outcome = take(event) ?? outcome;
      },
      onRetry: (ms) => (retry = ms),
    });
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (stream !== mine) return "given up";
        if (done) return outcome;
        mine.lastByte = performance.now();
        events.feed(decoder.decode(value, { stream: true }));
        if (outcome !== "clean") {
          mine.abort.abort();
          return outcome;
        }
      }
    } catch {
      return outcome === "clean" ? "failed" : outcome;
    }
  }

  /** Nothing answers: said only if nothing does for some seconds, for many streams are cut and come back at once. */
  function doubt() {
    doubtTimer ??= setTimeout(() => connection("reconnecting"), model.state.rev >= 0 ? times.grace : 0);
  }

  function settled() {
    clearTimeout(doubtTimer);
    doubtTimer = null;
  }

  function connected() {
    failures = 0;
    settled();
    connection("live");
  }

  /** One event of the stream. What it says about the stream's end, if anything. */
  function take({ event, data, id }) {
    let said;
    try {
      said = JSON.parse(data);
    } catch {
      return "again";
    }
    if (said === null || typeof said !== "object") return "again";
    if (event === "bye") return `bye ${said.why}`;
    const epoch = (id ?? "").slice(0, (id ?? "").lastIndexOf("."));
    if (event === "patch" && epoch && epoch !== model.state.epoch) return "again";
    if (!apply(event, said, said.can ?? model.state.can)) return "again";
    if (event === "snapshot") knowsCan = true;
    connected();
    tabs?.tell({ type: "frame", event, data: said, epoch });
    return null;
  }

  function apply(event, data, can) {
    try {
      if (event === "snapshot") {
        model.applySnapshot(data, { can, replaces: needsWhole });
        needsWhole = false;
      } else if (event === "rebase") model.rebase(data);
      else if (event === "patch") return model.applyPatch(data);
      return true;
    } catch {
      return false; // not a frame of this page's making
    }
  }

  function ended(outcome) {
    if (outcome === "refused") return refused();
    if (outcome.startsWith("bye")) {
      settled();
      connection("stopped", outcome.slice(4));
      return later(times.probe, probe);
    }
    if (outcome === "full") {
      settled();
      connection("polling");
      return poll();
    }
    if (outcome === "again") {
      needsWhole = true;
      const wait = performance.now() - lastAgain < 10_000 ? times.backoff[1] : 0;
      lastAgain = performance.now();
      return later(wait, open);
    }
    if (outcome === "clean") return later(retry, open);
    const wait = times.backoff[Math.min(failures, times.backoff.length - 1)];
    failures += 1;
    doubt();
    later(jitter(failures === 1 ? Math.min(wait, 500) : wait), open);
  }

  async function poll(round = 1) {
    const had = await fetchBoard();
    if (stopped || !leading || stream || paused) return; // a stream was opened meanwhile, or nobody looks
    connection(had ? "polling" : "reconnecting");
    tabs?.tell({ type: "state", state: model.exported(), connection: model.state.connection.kind });
    later(times.poll, () => (round % 6 ? void poll(round + 1) : open()));
  }

  /** After the page said good-bye: see whether it is there again. */
  async function probe() {
    const back = await fetchBoard();
    if (stopped || !leading || stream || paused) return;
    if (back) open();
    else later(times.probe, probe);
  }

  /** Start over at once: the machine slept, the network is back, nothing has come for too long. */
  function reopen() {
    if (stopped || !leading) return;
    stream?.abort.abort();
    stream = null;
    open();
  }

  const isSilent = () => stream && performance.now() - stream.lastByte > times.silence;

  // ---- the other tabs ----

  function lead() {
    leading = true;
    clearTimeout(helloTimer);
    open();
  }

  function follow() {
    leading = false;
    clearTimeout(timer);
    settled();
    stream?.abort.abort();
    stream = null;
    hello();
  }

  function hello() {
    tabs.tell({ type: "hello" });
    clearTimeout(helloTimer);
    helloTimer = setTimeout(() => {
      if (!leading) void fetchBoard();
    }, times.hello);
  }

  function hear(message) {
    if (stopped) return;
    if (message.type === "hello" && leading && model.state.rev >= 0) {
      tabs.tell({ type: "state", state: model.exported(), connection: model.state.connection.kind });
    } else if (leading) {
      return;
    } else if (message.type === "state") {
      clearTimeout(helloTimer);
      model.applySnapshot(message.state, { can: model.state.can });
      model.setConnection(message.connection ?? "live");
      if (!knowsCan) void fetchBoard();
    } else if (message.type === "frame") {
      const known = message.event === "snapshot" || message.epoch === model.state.epoch || message.event === "rebase";
      if (known && apply(message.event, message.data, model.state.can)) model.setConnection("live");
      else if (!known || message.data.to > model.state.rev) hello();
    } else if (message.type === "connection") {
      model.setConnection(message.kind, message.why);
    }
  }

  // ---- the page's life ----

  function onVisible() {
    clearTimeout(hiddenTimer);
    if (document.hidden) {
      if (!tabs) hiddenTimer = setTimeout(pause, times.hidden);
    } else if (!stream || isSilent()) {
      reopen();
    }
  }

  function pause() {
    paused = true;
    stream?.abort.abort();
    stream = null;
    clearTimeout(timer);
    settled();
    model.setConnection("hidden");
  }

  function halt() {
    stopped = true;
    clearTimeout(timer);
    clearTimeout(helloTimer);
    clearTimeout(hiddenTimer);
    settled();
    clearInterval(watch);
    stream?.abort.abort();
    stream = null;
    tabs?.stop();
    window.removeEventListener("online", reopen);
    document.removeEventListener("visibilitychange", onVisible);
  }

  return {
    async start() {
      window.addEventListener("online", reopen);
      document.addEventListener("visibilitychange", onVisible);
      watch = setInterval(() => {
        if (!isSilent()) return;
        doubt();
        reopen();
      }, Math.min(5_000, times.silence));
      await fetchBoard();
      if (stopped) return;
      if (canShare()) {
        tabs = createTabs({ name: `pi-board:${base}`, onLead: lead, onFollow: follow, onMessage: hear });
        tabs.start();
      } else {
        lead();
      }
    },
    stop: halt,
    reopen,
  };
}
