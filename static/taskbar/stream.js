/* Live snapshots by one event stream for all tabs of a browser.

   The entry starts it where the server can hold streams. Among the visible tabs, the one that holds a Web Lock follows
   `/events` and passes every frame on through a BroadcastChannel; a tab that is hidden or closed lets go of the lock,
   and the next one takes over. Where locks, channels or streams are missing nothing happens, and the store goes on
   polling. A stream never carries anything that `/state` would not say, so losing one loses nothing. */

const QUIET_MS = 25_000; // the server sends something at least every 15 s
const SHORT_MS = 1_000; // a stream that ends sooner is none: this server cannot hold one now
const RETRY_LIMIT_MS = 1_000;
const ATTEMPTS = 3;

/** Splits an event stream into events: `event(data, id)` gets each, `retry()` is what the server asked for. */
export function createParser(event) {
  let rest = "";
  let data = [];
  let id = null;
  let retry = 0;

  function take(line) {
    if (line === "") {
      if (data.length) event(data.join("\n"), id);
      data = [];
      id = null;
      return;
    }
    const [, field, value] = /^([^:]*):? ?(.*)$/.exec(line);
    if (field === "data") data.push(value);
    else if (field === "id") id = value;
    else if (field === "retry" && /^\d+$/.test(value)) retry = Number(value);
  }

  return {
    retry: () => retry,
    push(text) {
      const lines = (rest + text).split("\n");
      rest = lines.pop();
      for (const line of lines) take(line.endsWith("\r") ? line.slice(0, -1) : line);
    },
  };
}

/** The stream as one page sees it. `name` is the same in all tabs of one mount, `open(after, signal)` asks for
    `/events`. `frame(snapshot, id)` gets every frame, whichever tab follows; `live(flag)` says whether frames can be
    relied on; `changed` that another tab has changed something. `clock` has setTimeout, clearTimeout and now. */
export function createStream({ name, open, frame, live, changed, clock, locks, Channel }) {
  let channel = null;
  let place = null; // aborts this tab's place in the queue, or its lead
  let quiet = null; // the timer that ends trust in a silent stream
  let busy = false;
  let resting = null; // the leader between two streams: { wake, whenReachable }

  function alive() {
    clock.clearTimeout(quiet);
    quiet = clock.setTimeout(dead, QUIET_MS);
    live(true);
  }

  function dead() {
    clock.clearTimeout(quiet);
    live(false);
  }

  const tell = (message) => channel?.postMessage(message);

  function hear({ data }) {
    if (data.kind === "alive") alive();
    else if (data.kind === "dead") dead();
    else if (data.kind === "changed") changed();
    else if (data.kind === "frame") {
      alive();
      frame(data.snapshot, data.id);
    }
  }

  function pass(data, id) {
    try {
      const snapshot = JSON.parse(data);
      tell({ kind: "frame", snapshot, id });
      frame(snapshot, id);
      return true;
    } catch {
      return false;
    }
  }

  /** Follows one stream to its end. Says what to go on after, how long it lasted, and how long the server wants to be
      left alone; `lasted` is null for a stream that broke or never was one. */
  async function follow(after, signal) {
    const abort = new AbortController();
    const giveUp = () => abort.abort();
    signal.addEventListener("abort", giveUp);
    const began = clock.now();
    let watch = clock.setTimeout(giveUp, QUIET_MS);
    let last = after;
    const parser = createParser((data, id) => {
      if (pass(data, id) && id !== null) last = id;
    });
    try {
      const response = await open(after, abort.signal);
      if (!response.ok || !response.body) return { last, lasted: null };
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let chunk; !(chunk = await reader.read()).done; ) {
        clock.clearTimeout(watch);
        watch = clock.setTimeout(giveUp, QUIET_MS);
        if (signal.aborted) break;
        alive();
        tell({ kind: "alive" });
        parser.push(chunk.value);
      }
      return { last, lasted: clock.now() - began, retry: parser.retry() };
    } catch {
      return { last, lasted: null };
    } finally {
      clock.clearTimeout(watch);
      signal.removeEventListener("abort", giveUp);
      giveUp();
    }
  }

  /** Resolves when something calls for another stream, at the latest after `ms`. */
  function rest(signal, { ms = null, whenReachable = false }) {
    return new Promise((resolve) => {
      const timer = ms === null ? null : clock.setTimeout(resolve, ms);
      resting = { wake: resolve, whenReachable };
      signal.addEventListener("abort", resolve, { once: true });
      resting.done = () => {
        clock.clearTimeout(timer);
        signal.removeEventListener("abort", resolve);
      };
    }).finally(() => {
      resting.done();
      resting = null;
    });
  }

  /** Follows stream after stream for as long as this tab leads. A stream that the server ends early in its life is
      taken up again while Pi is at work, and left alone while nothing moves. */
  async function lead(signal) {
    let after = null;
    let attempts = 0;
    while (!signal.aborted) {
      const { last, lasted, retry } = await follow(after, signal);
      if (signal.aborted) break;
      if (lasted !== null && lasted >= SHORT_MS && busy) {
        after = last;
        await rest(signal, { ms: Math.min(retry, RETRY_LIMIT_MS) });
        continue;
      }
      after = null;
      attempts = lasted === null ? attempts + 1 : 0;
      const waiting = rest(signal, { whenReachable: lasted === null && attempts < ATTEMPTS });
      dead();
      tell({ kind: "dead" });
      await waiting;
    }
    tell({ kind: "dead" });
  }

  async function queue() {
    if (place || !channel) return;
    place = new AbortController();
    const { signal } = place;
    try {
      await locks.request(name, { signal }, () => lead(signal));
    } catch {
      // Hidden before our turn came, or a page that may not use locks.
    }
  }

  function hide() {
    place?.abort();
    place = null;
  }

  return {
    /** Listens to the other tabs and, in a visible page, stands in line for the lead. */
    start(visible) {
      if (channel || !locks || !Channel || typeof TextDecoderStream === "undefined") return;
      channel = new Channel(name);
      channel.onmessage = hear;
      if (visible) queue();
    },
    show: queue,
    hide,
    stop() {
      hide();
      channel?.close();
      channel = null;
      dead();
    },
    /** What the store sees: whether Pi is at work, and whether the server answers. */
    update(isBusy, isReachable) {
      const begins = isBusy && !busy;
      busy = isBusy;
      if (resting && (begins || (resting.whenReachable && isReachable))) resting.wake();
    },
    /** Tells the other tabs that this one has changed something. */
    announce: () => tell({ kind: "changed" }),
  };
}
