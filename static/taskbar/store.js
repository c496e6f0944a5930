/* The client's knowledge of Pi: the latest snapshot, how far the server can be trusted to answer, what is being asked.

   The entry makes one api and one store for a page; the panel renders what the store says and calls its mutations.
   Snapshots come by reads, by mutations and by a live stream; every rule about which of them wins stands here. A
   mutation is sent once and never again: doubt is settled by reading. No DOM, and no clock but the one passed in. */

const TOKEN_MS = 15_000; // a token from /bootstrap is asked for again after this; a page's inline token lasts longer
const INLINE_TOKEN_MS = 1_800_000;
const READ_MS = 15_000;
const MUTATION_MS = 60_000;
const BUSY_MS = 500;
const STABLE_MS = 30_000;
const RETRY_MS = 1_000;
const LATE_MS = 2_000; // how long a frame from before a mutation may be on its way

const SESSION_STATUS = new Set(["starting", "ready", "busy", "resetting", "unavailable"]);
const PROGRESS = { running: 0, cancelling: 1, completed: 2, failed: 2, cancelled: 2 };

const HELP = "The app's terminal says more. “New conversation” tries to start Pi again.";
const GUIDANCE = {
  forbidden: "The app's server refused this browser. Its terminal says which check refused and what to set.",
  not_found: "The taskbar is no longer served here. Is the app still in debug mode? Reload the page to be sure.",
  unavailable: HELP,
  invalid_csrf: "The page's security token was too old and has been renewed; nothing was sent. Please try again.",
};

/** Why a call brought nothing. `network`: nobody can say whether the server saw it. `sent`: whether it went out at all.
    `snapshot`: what the server said of Pi beside its refusal. */
export class Failure extends Error {
  constructor(message, { code = null, network = false, sent = true, snapshot = null } = {}) {
    super(message);
    this.name = "Failure";
    this.code = code;
    this.network = network;
    this.sent = sent;
    this.snapshot = snapshot;
  }
}

function asSnapshot(value) {
  const task = value?.task;
  const valid =
    value?.contract_version === 1 &&
    SESSION_STATUS.has(value.session?.status) &&
    (task === null || (typeof task?.id === "string" && task.status in PROGRESS));
  if (!valid) throw new Failure("The server answered in a form that this page does not know. Reload the page.");
  return value;
}

/** The HTTP side. `token` is one that the page brought along; otherwise `/bootstrap` supplies it. It stays in here. */
export function createApi({ mountBase, fetch, token = null, now }) {
  let csrf = token === null ? null : { token, until: now() + INLINE_TOKEN_MS };

  async function call(path, { method = "GET", headers = {}, body, within = READ_MS } = {}) {
    let response;
    try {
      response = await fetch(`${mountBase}${path}`, {
        method,
        headers: { accept: "application/json", ...headers },
        body,
        cache: "no-store",
        credentials: "same-origin",
        redirect: "manual",
        signal: AbortSignal.timeout(within),
      });
    } catch {
      throw new Failure("The app's server did not answer.", { network: true });
    }
    let value = null;
    try {
      value = await response.json();
    } catch (error) {
      if (response.ok && error?.name !== "SyntaxError") {
        throw new Failure("The app's server broke off its answer.", { network: true });
      }
    }
    if (response.ok && value !== null) return value;
    throw refusal(response, value);
  }

  function refusal(response, value) {
    const code = typeof value?.error?.code === "string" ? value.error.code : null;
    if (code === "invalid_csrf") csrf = null;
    const said = typeof value?.error?.message === "string" ? value.error.message : null;
    const unknown =
      response.type === "opaqueredirect"
        ? "The app answered with a redirect instead of the taskbar's own answer."
        : `The app's server answered with an error (${response.status}). Its terminal says more.`;
    const help = GUIDANCE[code] ?? (response.status === 404 && !code ? GUIDANCE.not_found : "");
    const text = code === "invalid_csrf" || code === "not_found" ? help : [said && ended(said), help].filter(Boolean).join(" ");
    return new Failure(text || unknown, { code: code ?? `http_${response.status}`, snapshot: value?.snapshot ?? null });
  }

  async function bootstrap() {
    const info = await call("/bootstrap");
    if (typeof info.csrf_token === "string") csrf = { token: info.csrf_token, until: now() + TOKEN_MS };
    return info;
  }

  async function mutate(path, options) {
    if (!csrf || csrf.until <= now()) {
      try {
        await bootstrap();
      } catch (failure) {
        throw new Failure(`${failure.message} Nothing was sent.`, { code: failure.code, sent: false });
      }
    }
    const headers = { "x-csrf-token": csrf?.token ?? "", ...options.headers };
    return asSnapshot(await call(path, { within: MUTATION_MS, ...options, headers }));
  }

  return {
    bootstrap,
    useToken(value) {
      csrf = { token: value, until: now() + INLINE_TOKEN_MS };
    },
    state: async () => asSnapshot(await call("/state")),
    submit: (body) =>
      mutate("/tasks", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
    cancel: (id) => mutate(`/tasks/${encodeURIComponent(id)}`, { method: "DELETE" }),
    reset: () => mutate("/session/reset", { method: "POST" }),
    /** Whether a page can be had: the task may have broken it, and a traceback has no taskbar. */
    async hasPage(href) {
      try {
        const { status, body } = await fetch(href, {
          headers: { accept: "text/html,*/*;q=0.8" },
          cache: "no-store",
          credentials: "same-origin",
          redirect: "manual",
          signal: AbortSignal.timeout(READ_MS),
        });
        await body?.cancel();
        return status < 500;
      } catch {
        return false;
      }
    },
    /** Whether the server answers at all: it may be restarting. */
    async answers() {
      try {
        await call("/bootstrap");
        return true;
      } catch (failure) {
        return !failure.network && !/^http_5/.test(failure.code ?? "http_5");
      }
    },
  };
}

const ended = (text) => (/[.!?]$/.test(text) ? text : `${text}.`);

/** Whether Pi has something in hand, so that the composer waits. */
const isActive = ({ session, task }) =>
  session.status === "busy" ||
  session.status === "resetting" ||
  task?.status === "running" ||
  task?.status === "cancelling";

/** Whether the next change is near. */
export const moves = (snapshot) => snapshot.session.status === "starting" || isActive(snapshot);

/** Whether `shown` is what `answer` says, or what came after it. */
function isAtLeast(shown, answer) {
  if (!shown || shown.session.id !== answer.session.id || shown.task?.id !== answer.task?.id) return false;
  return !answer.task || PROGRESS[shown.task.status] >= PROGRESS[answer.task.status];
}

/** Why the snapshot may be out of date, in words; a single lost packet is not worth any. */
function troubleOf(failure, failures) {
  if (failure.network) return failures > 1 ? "The app's server does not answer. Trying again…" : null;
  if (failure.code !== "unavailable") return `${failure.message} Trying again…`;
  return "Pi's background process cannot be reached; the app's terminal says more. Trying again…";
}

/** The state behind a panel. `changed` is called after every change, `completed` when a task that was seen running is
    seen completed, `mutated` after a mutation; `clock` has setTimeout, clearTimeout and now; `hidden` says whether
    nobody can see the page. */
export function createStore({ api, clock, hidden, changed, completed, mutated = () => {} }) {
  const state = {
    snapshot: null,
    error: null, // the last mutation's, until the next
    trouble: null, // why the snapshot may be out of date
    pending: null, // submit, cancel or reset, while it is on its way
    reachable: false, // whether the last we asked for was answered
  };
  let generation = 0; // grows with every read or mutation that begins or ends: what it overtook is out of date
  let failures = 0;
  let timer = null;
  let live = false; // a stream brings every change, so that there is nothing to poll for
  let stopped = false;
  let late = null; // { test, until }: tells the frames from before our last mutation, which can still be on their way

  function accept(snapshot) {
    const before = state.snapshot?.task;
    state.snapshot = snapshot;
    state.trouble = null;
    state.reachable = true;
    failures = 0;
    const { task } = snapshot;
    if (task?.status === "completed" && before?.id === task.id && before.status === "running") completed(task);
  }

  function schedule() {
    clock.clearTimeout(timer);
    timer = null;
    if (stopped || (live && !failures)) return;
    const delay = failures
      ? Math.min(STABLE_MS, RETRY_MS * 2 ** (failures - 1))
      : state.snapshot && moves(state.snapshot) && !hidden()
        ? BUSY_MS
        : STABLE_MS;
    timer = clock.setTimeout(read, delay);
  }

  async function read() {
    if (stopped) return;
    clock.clearTimeout(timer);
    const mine = ++generation;
    let snapshot;
    try {
      snapshot = await api.state();
    } catch (failure) {
      if (mine === generation && !stopped) miss(failure);
      return;
    }
    if (mine !== generation || stopped) return;
    late = null;
    accept(snapshot);
    schedule();
    changed();
  }

  /** A read or a frame that brought nothing to replace the snapshot with. */
  function miss(failure) {
    failures += 1;
    state.reachable = false;
    state.trouble = troubleOf(failure, failures) ?? state.trouble;
    state.snapshot ??= failure.snapshot;
    schedule();
    changed();
  }

  async function mutate(kind, perform, isLate) {
    if (state.pending) throw new Failure("Something is already on its way.", { sent: false });
    const before = state.snapshot;
    state.pending = kind;
    state.error = null;
    changed();
    try {
      generation += 1;
      const answer = await perform();
      generation += 1;
      late = { test: (frame) => isLate(frame, answer, before), until: clock.now() + LATE_MS };
      const overtaken = state.snapshot !== before;
      const current = overtaken && isAtLeast(state.snapshot, answer);
      if (!current) accept(answer);
      state.pending = null;
      if (overtaken && !current) read();
      else schedule();
      mutated();
      changed();
      return answer;
    } catch (failure) {
      generation += 1;
      state.error = failure.message;
      changed();
      await read();
      state.error =
        failure.network && failure.sent
          ? "The result was uncertain; Pi's current state was read and reconciled. Nothing was sent twice."
          : failure.message;
      state.pending = null;
      changed();
      throw failure;
    }
  }

  return {
    state,
    read,
    /** A frame of the live stream. One without a `revision` only says that the broker cannot be reached. */
    frame(value, revision) {
      if (stopped) return;
      let snapshot;
      try {
        snapshot = asSnapshot(value);
      } catch {
        return;
      }
      if (revision === null) return miss(new Failure("", { code: "unavailable", snapshot }));
      if (late && clock.now() < late.until && late.test(snapshot)) return;
      late = null;
      generation += 1;
      accept(snapshot);
      schedule();
      changed();
    },
    setLive(value) {
      if (live === value) return;
      live = value;
      if (!live && !stopped) read();
      else schedule();
    },
    /** Sends a task once. `prepare` makes the request's body, after everything else is waiting for it. */
    submit: (prepare) =>
      mutate(
        "submit",
        async () => api.submit(await prepare()),
        (frame, answer) => frame.task?.id !== answer.task?.id,
      ),
    cancel() {
      const { id } = state.snapshot.task;
      return mutate(
        "cancel",
        () => api.cancel(id),
        (frame, { task }) => frame.task?.id === task?.id && PROGRESS[frame.task?.status] < PROGRESS[task?.status],
      );
    },
    reset: () => mutate("reset", () => api.reset(), (frame, _, before) => frame.session.id === before?.session.id),
    forgetError() {
      if (state.error === null) return;
      state.error = null;
      changed();
    },
    stop() {
      stopped = true;
      generation += 1;
      clock.clearTimeout(timer);
    },
    start() {
      stopped = false;
      return read();
    },
  };
}

/* What the panel says of all this. */

export const WORDS = {
  starting: "Pi is starting…",
  resetting: "Starting a new conversation…",
  connecting: "Connecting to Pi…",
  unavailable: "Pi cannot take tasks now.",
  running: "Stopping does not undo what Pi has already changed.",
  cancelled: "The task was stopped. Files that Pi had already changed were not rolled back.",
  truncated: "Only the newest 32 KiB are shown; older output was removed.",
};

const STATUS = {
  running: "Working",
  cancelling: "Working",
  completed: "Finished",
  failed: "Finished",
  cancelled: "Stopped",
};

/** The visible status; a task in hand or at its end beats the session. */
function statusOf({ session, task }) {
  if (task?.status === "running" || task?.status === "cancelling") return "Working";
  if (session.status === "resetting") return "Connecting";
  if (task) return STATUS[task.status];
  return { ready: "Ready", unavailable: "Unavailable" }[session.status] ?? "Connecting";
}

/** Whether a task is over, however it went. */
export const hasEnded = (task) => task !== null && task.status !== "running" && task.status !== "cancelling";

function errorsOf({ snapshot, error, trouble }) {
  const { session = {}, task = null } = snapshot ?? {};
  const sessionError =
    session.status === "unavailable"
      ? `${ended(session.error ?? WORDS.unavailable)} ${HELP}`
      : session.status === "ready"
        ? session.error
        : null;
  return [...new Set([task?.error, sessionError, error, trouble].filter(Boolean))].join("\n");
}

/** Everything the panel shows of what the store knows, in words and flags. */
export function describe(state) {
  const snapshot = state.snapshot ?? { session: { status: "connecting", model: null, error: null }, task: null };
  const { session, task } = snapshot;
  const active = isActive(snapshot);
  const waiting = session.status === "starting" ? (session.error ?? WORDS.starting) : WORDS[session.status];
  return {
    active,
    task,
    status: statusOf(snapshot),
    state: task?.status ?? session.status,
    model: session.model ? `Model: ${session.model}` : "Local Pi session",
    activity: task?.activity ?? (session.status === "unavailable" ? "" : (waiting ?? "")),
    hint: active || session.status === "ready" || !task ? null : (waiting ?? null),
    error: errorsOf(state),
    isReady: session.status === "ready",
    isStopping: task?.status === "cancelling" || state.pending === "cancel",
    isRunning: task?.status === "running",
    canReset: !state.pending && (session.status === "ready" || session.status === "unavailable"),
    pending: state.pending,
  };
}

/** One sentence for those who listen. */
export function announcement(view) {
  if (view.error) return `${view.status}. ${view.error}`;
  if (view.state === "completed") return "Task finished.";
  if (view.state === "cancelled") return WORDS.cancelled;
  if (view.state === "ready") return "Pi is ready.";
  return view.activity;
}
