/* The Browser Client's entry: one taskbar in one page.

   The injected tag loads it; it mounts the host element, keeps it there whatever the page does to its body, and ties the
   panel to the store, the store to the stream, and a finished task to a reload of the page. Scripts of the page get
   nothing to call, unless the tag says `data-expose-api`; a task is sent only for a user's own click or key. */

import { HOST, createAnchor, createHost, followTheme } from "./host.js";
import { createPanel } from "./panel.js";
import { Failure, createApi, createStore, moves } from "./store.js";
import { createStream } from "./stream.js";

const CONTRACT_VERSION = 1;
const PRODUCT_VERSION = "0.1.0";
const FRAMEWORK = "flask";

const TAG = "script[data-pi-browser-taskbar]";
const INLINE = "[data-pi-browser-taskbar-bootstrap]";
const INSTANCE = Symbol.for("pi-browser-taskbar");

const SETTLE_MS = 1000; // how soon a dev server notices an edited file
const WAIT_MS = 60_000;
const AGAIN_MS = { first: 500, most: 5000 }; // between questions to a server that does not answer
const RESTORE_MS = 120_000;

const clock = {
  setTimeout: (callback, ms) => globalThis.setTimeout(callback, ms),
  clearTimeout: (timer) => globalThis.clearTimeout(timer),
  now: () => performance.now(),
};
const sleep = (ms) => new Promise((resolve) => clock.setTimeout(resolve, ms));

/* What the browser remembers: the tab its panel and draft, the browser the corner. A page may forbid storage. */

function createMemory(storage, key) {
  let values = {};
  try {
    values = JSON.parse(storage()?.getItem(key) ?? "{}") ?? {};
  } catch {
    // Nothing remembered, or nothing readable.
  }
  return {
    values,
    keep(change) {
      Object.assign(values, change);
      try {
        storage().setItem(key, JSON.stringify(values));
      } catch {
        // Then this page remembers for itself only.
      }
    },
  };
}

/* Whether a reload would lose what the user has entered. */

const WITHOUT_INPUT = new Set(["hidden", "submit", "button", "reset", "image", "range", "color"]);

function isEdited(field) {
  if (field.disabled || field.readOnly) return false;
  if (field.localName === "select") {
    const options = [...field.options];
    const initial = options.some((option) => option.defaultSelected)
      ? options.filter((option) => option.defaultSelected)
      : field.multiple || field.size > 1
        ? []
        : options.filter((option) => !option.disabled).slice(0, 1);
    return options.some((option) => option.selected !== initial.includes(option));
  }
  if (field.localName === "textarea") return field.value !== field.defaultValue;
  if (field.type === "checkbox" || field.type === "radio") return field.checked !== field.defaultChecked;
  if (field.type === "file") return field.files.length > 0;
  return !WITHOUT_INPUT.has(field.type) && field.value !== field.defaultValue;
}

function createInputWatch(document, host) {
  let touched = []; // weakly: what the page has thrown away is not to live on in here
  document.addEventListener(
    "input",
    (event) => {
      const [target] = event.composedPath();
      if (!event.isTrusted || target.getRootNode() === host.shadowRoot || touched.at(-1)?.deref() === target) return;
      const others = touched.filter((one) => ![undefined, target].includes(one.deref()));
      touched = [...others, new WeakRef(target)];
    },
    true,
  );
  return {
    hasUnsaved() {
      const present = touched.map((one) => one.deref()).filter((target) => target?.isConnected);
      const fields = document.querySelectorAll("input, select, textarea");
      const isField = (target) => ["input", "select", "textarea"].includes(target.localName);
      return [...fields].some(isEdited) || present.some((target) => !isField(target) || isEdited(target));
    },
  };
}

/* The route comes with the tag of each page. A tag counts for the address at which it was first seen. */

function createRoutes(document, location, given) {
  const addresses = new WeakMap();
  const first = location.pathname;
  let own = given ?? null;

  function note() {
    for (const tag of document.querySelectorAll(TAG)) {
      if (!addresses.has(tag)) addresses.set(tag, location.pathname);
    }
  }

  note();
  return {
    note,
    set(route) {
      own = route ?? null;
    },
    current() {
      note();
      const tags = [...document.querySelectorAll(TAG)].filter((tag) => addresses.get(tag) === location.pathname);
      try {
        return JSON.parse(tags.at(-1)?.dataset.route ?? "null") ?? (location.pathname === first ? own : null);
      } catch {
        return null;
      }
    },
  };
}

/** Mounts the taskbar, or returns the one that is there. */
function mount(options = {}) {
  const mountBase = (options.mountBase ?? "").replace(/\/+$/, "");
  const document = options.document ?? globalThis.document;
  if (!document) return { contractVersion: CONTRACT_VERSION, framework: FRAMEWORK, mountBase, productVersion: PRODUCT_VERSION };
  for (const host of document.querySelectorAll(HOST)) {
    if (!host[INSTANCE]) continue;
    host[INSTANCE].reconcile(options);
    return host[INSTANCE];
  }
  return createTaskbar(options, document, mountBase);
}

function createTaskbar(options, document, mountBase) {
  const view = document.defaultView;
  const location = options.location ?? document.location;
  const fetch = options.fetch ?? ((path, init) => view.fetch(new URL(path, location.origin), init)); // whatever <base> the page has
  const hidden = () => document.visibilityState === "hidden";
  const tab = createMemory(() => view.sessionStorage, `pi-browser-taskbar:${mountBase}`);
  const browser = createMemory(() => view.localStorage, `pi-browser-taskbar:${mountBase}`);

  const host = createHost(document);
  const anchor = createAnchor(document, host, clock);
  const inputs = createInputWatch(document, host);
  const routes = createRoutes(document, location, options.route);
  const api = createApi({ mountBase, fetch, token: options.csrfToken ?? null, now: clock.now });
  let remoteAccess = isTrue(options.remoteAccess);
  let greeting = options.csrfToken == null ? "due" : "done";

  const store = createStore({ api, clock, hidden, changed, completed: reloadAfter, mutated: () => stream.announce() });
  const stream = createStream({
    name: `pi-browser-taskbar:${mountBase}`,
    open: (after, signal) =>
      fetch(`${mountBase}/events${after === null ? "" : `?after=${encodeURIComponent(after)}`}`, {
        headers: { accept: "text/event-stream" },
        cache: "no-store",
        credentials: "same-origin",
        redirect: "error",
        signal,
      }),
    frame: store.frame,
    live: store.setLive,
    changed: store.read,
    clock,
    locks: view.navigator.locks,
    Channel: view.BroadcastChannel,
  });
  const panel = createPanel({
    document,
    host,
    now: () => Date.now(),
    every(ms, tick) {
      const timer = view.setInterval(tick, ms);
      return () => view.clearInterval(timer);
    },
    isApple: /Mac|iPhone|iPad/.test(view.navigator.platform),
    actions: {
      run: (prompt) => submit(prompt).catch(() => {}),
      cancel: () => store.cancel().catch(() => {}),
      reset: () => store.reset().catch(() => {}),
      reload: () => reload(),
      board: () => import("./board.js").then((part) => part.openBoard(view, mountBase)),
      edited: () => store.forgetError(),
      warm: () => loadCapture().catch(() => {}),
      remember({ corner, ...change }) {
        if (corner) browser.keep({ corner });
        if (Object.keys(change).length) tab.keep(change);
      },
    },
  });

  function changed() {
    if (!host.isConnected) anchor.attach();
    if (!hidden()) panel.render(store.state); // else once it is shown
    const { snapshot, reachable } = store.state;
    if (snapshot) stream.update(moves(snapshot), reachable);
    if (reachable && greeting === "due") greet();
  }

  /** Asks once what only the server knows; again when it was away. */
  async function greet() {
    greeting = "asked";
    try {
      const info = await api.bootstrap();
      greeting = "done";
      remoteAccess = info.remote_access === true;
      panel.setProject(info.project);
      warn();
      if (info.live === true && !stopped) stream.start(!hidden());
    } catch {
      greeting = "due";
    }
  }

  const warn = () => panel.warnInsecure(remoteAccess && location.protocol === "http:");

  /* A task. */

  let attempts = 0;

  /** A browser may remember that a module could not be had, so each attempt has an address of its own. */
  async function loadCapture() {
    try {
      return await import(attempts ? `./capture.js?${attempts}` : "./capture.js");
    } catch {
      attempts += 1;
      throw new Failure("The app's server did not answer. Nothing was sent.", { sent: false });
    }
  }

  async function prepare(prompt) {
    const { capturePage } = await loadCapture();
    return { prompt, context: await capturePage({ document, location, host, route: routes.current() }) };
  }

  function isAdmitted(prompt, before) {
    const task = store.state.snapshot?.task;
    return Boolean(task) && task.id !== before && task.prompt === prompt;
  }

  async function submit(prompt = panel.draft()) {
    const before = store.state.snapshot?.task?.id;
    panel.setReload(null);
    try {
      return await store.submit(() => prepare(prompt));
    } catch (failure) {
      // A browser repeats a request by itself when a kept connection breaks: the second one finds the first at work.
      if (failure.code === "busy" && isAdmitted(prompt, before)) store.forgetError();
      throw failure;
    } finally {
      if (isAdmitted(prompt, before)) {
        panel.setDraft("");
        tab.keep({ draft: "" });
      }
    }
  }

  /* After a task. */

  function whyNotReload() {
    const method = routes.current()?.method ?? "GET";
    if (hidden()) return "The task finished while this page was in the background.";
    if (method !== "GET" && method !== "HEAD") return "This page is the answer to a form, so it was not reloaded.";
    if (inputs.hasUnsaved()) return "This page has unsaved input, so it was not reloaded.";
    return null;
  }

  const offerReload = (text) => panel.setReload({ text, offered: true });

  /** Asks until the server has answered twice: a dev server may be about to restart. */
  async function isServerThere() {
    const end = clock.now() + WAIT_MS;
    let answers = 0;
    let pause = AGAIN_MS.first;
    while (clock.now() <= end) {
      if (!(await api.answers())) {
        answers = 0;
        await sleep(pause);
        pause = Math.min(2 * pause, AGAIN_MS.most);
      } else if (++answers === 2) return true;
      else await sleep(SETTLE_MS);
    }
    return false;
  }

  /** Reloads the page once for a task that was seen to succeed, when the server is there and nothing is lost. */
  async function reloadAfter({ id }) {
    if (tab.values.reloaded === id) return;
    tab.keep({ reloaded: id });
    let reason = whyNotReload();
    if (reason) return offerReload(reason);
    panel.setReload({ text: "Reloading the page…", offered: false });
    if (!(await isServerThere())) reason = "The app does not answer since the task finished; its terminal says why.";
    else if (!(await api.hasPage(location.href))) reason = "This page now fails, so it was not reloaded; the app's terminal says why.";
    reason ??= whyNotReload();
    if (store.state.snapshot?.task?.id !== id) panel.setReload(null);
    else if (reason) offerReload(reason);
    else reload();
  }

  function reload() {
    const { activeElement } = host.shadowRoot;
    tab.keep({
      open: panel.isOpen(),
      draft: panel.nodes.prompt.value,
      restore: { href: location.href, at: Date.now(), x: view.scrollX, y: view.scrollY, focused: activeElement !== null },
    });
    location.reload();
  }

  function recall() {
    const { open, draft, restore } = tab.values;
    if (browser.values.corner) panel.place(browser.values.corner === "right" ? "right" : "left");
    if (draft) panel.setDraft(draft);
    const fresh = restore?.href === location.href && Date.now() - restore.at < RESTORE_MS;
    if (open) panel.open({ focus: Boolean(fresh && restore.focused) });
    if (!restore) return;
    tab.keep({ restore: null });
    if (!fresh) return;
    const scroll = () => view.scrollTo({ left: restore.x, top: restore.y, behavior: "instant" });
    if (document.readyState === "complete") scroll();
    else view.addEventListener("load", scroll, { once: true });
  }

  /* Life in the page. */

  let stopped = true;

  function start() {
    if (!stopped) return;
    stopped = false;
    if (greeting === "done" && options.csrfToken == null) greeting = "due";
    if (greeting === "due") greet();
    return store.start();
  }

  function stop() {
    stopped = true;
    store.stop();
    stream.stop();
  }

  function arrived() {
    routes.note();
    anchor.attach();
    store.read();
  }

  function live() {
    document.addEventListener("visibilitychange", () => {
      if (stopped) return;
      if (hidden()) stream.hide();
      else {
        panel.render(store.state);
        store.read();
        stream.show();
      }
    });
    view.addEventListener("pagehide", stop);
    view.addEventListener("pageshow", (event) => event.persisted && start());
    document.addEventListener(
      "turbo:before-render",
      ({ detail }) => {
        if (!detail?.newBody || detail.renderMethod === "morph") return;
        for (const copy of detail.newBody.querySelectorAll(HOST)) copy.remove();
        detail.newBody.append(host);
      },
      true,
    );
    document.addEventListener("turbo:load", arrived);
    document.addEventListener("turbo:render", arrived);
    if (document.prerendering) document.addEventListener("prerenderingchange", start, { once: true });
    else if (options.autoRefresh !== false) start();
    else stopped = false;
  }

  function reconcile(bootstrap = {}) {
    if (bootstrap.csrfToken) api.useToken(bootstrap.csrfToken);
    if (bootstrap.remoteAccess !== undefined) remoteAccess = isTrue(bootstrap.remoteAccess);
    routes.set(bootstrap.route);
    warn();
    arrived();
  }

  const common = {
    contractVersion: CONTRACT_VERSION,
    framework: FRAMEWORK,
    mountBase,
    productVersion: PRODUCT_VERSION,
    element: host,
    reconcile,
    refresh: store.read,
  };
  const instance = Object.freeze(isExposed(document) ? { ...common, submit } : common);
  host[INSTANCE] = instance;
  if (options.projectApp) panel.setProject(options.projectApp);
  warn();
  followTheme(document, host);
  anchor.attach();
  recall();
  live();
  return instance;
}

const isTrue = (value) => value === true || value === "true";
const isExposed = (document) => document.querySelector(`${TAG}[data-expose-api]`) !== null;

/** What the page says about the taskbar: the injected tag, or an inline element as sibling adapters write it. */
function boot() {
  const inline = document.querySelector(INLINE);
  const tag = document.querySelector(TAG);
  if (!inline && !tag) return;
  if (isExposed(document)) {
    globalThis.PiBrowserTaskbar = Object.freeze({
      contractVersion: CONTRACT_VERSION,
      framework: FRAMEWORK,
      mount,
      productVersion: PRODUCT_VERSION,
    });
  }
  const { csrfToken, mountBase, projectApp, remoteAccess } = inline?.dataset ?? {};
  mount({ csrfToken, projectApp, remoteAccess, mountBase: mountBase ?? tag.dataset.mountBase });
}

if (globalThis.document) boot();
