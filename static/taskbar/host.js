/* The host: the one element that the taskbar puts into a page, how it stays there, and how everything in it looks.

   The entry makes it, the panel adopts the style sheet into its shadow root. No style of the page can reach inside, and
   nothing here reaches anything of the page.

   The host is armoured with `!important`: within a shadow root such a rule beats every rule of the page. Sizes are
   fractions of what is there (never viewport units, which ignore zoom) and multiples of the reader's own font size. */

export const HOST = "[data-pi-browser-taskbar-host]";

const THEMES = ["data-theme", "data-bs-theme", "data-color-scheme"];
const THEME_MS = 100;
const CROWD = { times: 12, within: 4000 }; // how often a page may throw the host out before it gets a rest

/** A new host, not yet in the page. */
export function createHost(document) {
  const host = document.createElement("div");
  host.id = "pi-browser-taskbar-host";
  host.setAttribute("data-pi-browser-taskbar-host", "");
  host.setAttribute("data-turbo-permanent", "");
  return host;
}

function isLight(root, view) {
  const said = THEMES.map((name) => root.getAttribute(name)?.toLowerCase() ?? "");
  if (said.some((theme) => theme.includes("light"))) return true;
  if (said.some((theme) => theme.includes("dark"))) return false;
  const schemes = view.getComputedStyle(root).colorScheme.split(/\s+/);
  if (!schemes.includes("light")) return false;
  return !schemes.includes("dark") || view.matchMedia("(prefers-color-scheme: light)").matches;
}

/** Keeps the host in the page's theme; dark where the page does not say. */
export function followTheme(document, host) {
  const view = document.defaultView;
  const root = document.documentElement;
  let due = null;
  const apply = () => {
    due = null;
    host.toggleAttribute("data-light-theme", isLight(root, view));
  };
  // Not at once: some pages write to their root with every frame, and an answer costs them a look at all styles.
  const soon = () => (due ??= view.setTimeout(apply, THEME_MS));
  new MutationObserver(soon).observe(root, { attributes: true, attributeFilter: [...THEMES, "class", "style"] });
  view.matchMedia("(prefers-color-scheme: light)").addEventListener("change", apply);
  apply();
}

/** Keeps the host the last child of the body and above everything, also when the body is replaced. While a modal dialog
    of the page is open, which makes everything outside of it inert, the host lives in that dialog. */
export function createAnchor(document, host, clock) {
  let watched = null; // what the host was put into; it and all around it are watched
  let removals = [];
  let resting = null;
  let dialog = null; // the modal dialog that was opened last

  const home = () => (dialog?.isConnected && dialog.matches(":modal") ? dialog : document.body);
  const observer = new MutationObserver(() => {
    if (resting || (host.isConnected && host.parentNode === home() && host.parentNode === watched)) return;
    const now = clock.now();
    removals = [...removals.filter((at) => now - at < CROWD.within), now];
    if (removals.length <= CROWD.times) return attach();
    resting = clock.setTimeout(() => {
      resting = null;
      attach();
    }, CROWD.within);
  });

  function watch(parent) {
    observer.disconnect();
    for (let at = parent; at; at = at.parentNode) observer.observe(at, { childList: true });
    watched = parent;
  }

  function attach() {
    if (!document.body) return;
    // Copies without life: what a history cache kept of an earlier page.
    for (const copy of document.querySelectorAll(HOST)) if (copy !== host) copy.remove();
    const parent = home();
    if (watched !== parent) watch(parent);
    if (host.parentNode !== parent) {
      if (parent.moveBefore && host.isConnected) parent.moveBefore(host, null);
      else parent.append(host);
    }
    raise();
  }

  /** Into the top layer, where no transform, filter or z-index of the page reaches. */
  function raise() {
    if (!host.showPopover) return;
    host.popover = "manual";
    try {
      if (dialog === host.parentNode && host.matches(":popover-open")) host.hidePopover(); // to come out above the dialog
      if (!host.matches(":popover-open")) host.showPopover();
    } catch {
      // A document that is not shown; the host's own z-index has to do.
    }
  }

  document.addEventListener(
    "toggle",
    ({ target, newState }) => {
      if (!(target instanceof HTMLDialogElement)) return;
      if (newState === "open" && target.matches(":modal")) dialog = target;
      else if (target !== dialog) return;
      else dialog = [...document.querySelectorAll("dialog:modal")].at(-1) ?? null;
      attach();
    },
    true,
  );

  return { attach };
}

const css = `
:host {
  all: initial !important;
  position: fixed !important; inset: auto auto 0 0 !important; z-index: 2147483647 !important;
  display: block !important; width: 0 !important; height: 0 !important; overflow: visible !important;
  margin: 0 !important; padding: 0 !important; border: 0 !important;
  direction: ltr !important;
  color-scheme: dark !important;
  font: medium/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif !important;
  -webkit-text-size-adjust: 100%;
  --pit-back: rgb(18, 24, 32); --pit-raised: #1b2430; --pit-sunk: #0c1117; --pit-line: #2b3746;
  --pit-edge: #66788d; --pit-text: #e9eff6; --pit-soft: #a9b8c9; --pit-accent: #6cc5f5;
  --pit-accent-strong: #9ad9fb; --pit-on-accent: #06202f; --pit-good: #6fd79b; --pit-busy: #f3c262;
  --pit-bad: #ff9a92; --pit-bad-back: #3a1d20; --pit-warn-back: #33291a;
  --pit-shadow: 0 1px 2px rgb(0 0 0 / 0.4), 0 12px 40px rgb(0 0 0 / 0.45);
}
:host([data-light-theme]) {
  color-scheme: light !important;
  --pit-back: rgb(246, 248, 251); --pit-raised: #ffffff; --pit-sunk: #ffffff; --pit-line: #d6dee8;
  --pit-edge: #76879a; --pit-text: #17202b; --pit-soft: #4d5d6e; --pit-accent: #0a63a8;
  --pit-accent-strong: #084f87; --pit-on-accent: #ffffff; --pit-good: #11713d; --pit-busy: #8a5600;
  --pit-bad: #b3261e; --pit-bad-back: #fdeceb; --pit-warn-back: #fff3dc;
  --pit-shadow: 0 1px 2px rgb(23 32 43 / 0.12), 0 12px 36px rgb(23 32 43 / 0.2);
}
:host([data-hidden]) { display: none !important; }
:host::backdrop { display: none !important; }
*, ::before, ::after { box-sizing: border-box; }
[hidden] { display: none !important; }
button, textarea { font: inherit; color: inherit; margin: 0; letter-spacing: inherit; }
button { cursor: pointer; }
button:disabled { cursor: default; }
p, h2, pre, ul { margin: 0; padding: 0; font: inherit; }
svg { display: block; flex: none; }

[data-toggle], [data-panel] {
  position: fixed;
  font-size: 0.875em;
  color: var(--pit-text);
  background: var(--pit-back);
  border: 1px solid var(--pit-line);
  box-shadow: var(--pit-shadow);
  bottom: 16px;
  left: 16px;
}
:host([data-corner="right"]) [data-toggle], :host([data-corner="right"]) [data-panel] { left: auto; right: 16px; }

/* Launcher */
[data-toggle] {
  display: inline-flex;
  align-items: center;
  gap: 9px;
  min-height: 40px;
  max-width: calc(100% - 32px);
  padding: 0 16px 0 12px;
  border-radius: 20px;
  border-color: var(--pit-edge);
  font-weight: 600;
  white-space: nowrap;
}
[data-toggle]:hover { background: var(--pit-raised); border-color: var(--pit-accent); }
[data-toggle-scope] { color: var(--pit-soft); font-weight: 400; overflow: hidden; text-overflow: ellipsis; }
[data-toggle]:focus-visible {
  outline: 2px solid var(--pit-back);
  outline-offset: 0;
  box-shadow: 0 0 0 4px var(--pit-accent), var(--pit-shadow);
}

/* The state as a dot; the words beside it or in the label say the same. */
[data-toggle]::before, [data-status]::before {
  content: "";
  flex: none;
  width: 10px;
  height: 10px;
  border-radius: 50%;
  background: var(--pit-dot, var(--pit-soft));
}
[data-state="ready"] { --pit-dot: var(--pit-good); }
[data-state="completed"] { --pit-dot: var(--pit-good); }
[data-state="running"], [data-state="cancelling"], [data-state="busy"] { --pit-dot: var(--pit-busy); }
[data-state="failed"], [data-state="unavailable"] { --pit-dot: var(--pit-bad); }
[data-state="starting"]::before, [data-state="resetting"]::before, [data-state="connecting"]::before {
  background: transparent;
  border: 2px solid var(--pit-soft);
}
[data-state="cancelled"]::before { border-radius: 2px; }
[data-state="running"]::before, [data-state="cancelling"]::before { animation: pit-pulse 1.2s ease-in-out infinite; }
@keyframes pit-pulse { 50% { opacity: 0.35; transform: scale(0.8); } }

/* Panel */
[data-panel] {
  display: flex;
  flex-direction: column;
  width: min(410px, calc(100% - 32px));
  max-height: calc(100% - 32px);
  overflow: auto;
  overscroll-behavior: contain;
  border-radius: 14px;
  scrollbar-width: thin;
  scrollbar-color: var(--pit-edge) transparent;
}
[data-panel] > * { flex: none; }
.body { display: grid; gap: 12px; padding: 12px 14px; scrollbar-width: thin; }
[data-panel] :is(button, textarea, pre):focus-visible { outline: 3px solid var(--pit-accent); outline-offset: 1px; }

header {
  position: relative;
  display: flex;
  align-items: center;
  gap: 4px;
  padding: 8px 8px 8px 14px;
  border-bottom: 1px solid var(--pit-line);
  background: var(--pit-back);
}
[aria-busy="true"] header::after {
  content: "";
  position: absolute;
  inset: auto 0 -1px 0;
  height: 2px;
  background: linear-gradient(90deg, transparent, var(--pit-accent), transparent) 0 / 40% 100% no-repeat;
  animation: pit-sweep 1.8s ease-in-out infinite;
}
@keyframes pit-sweep { from { background-position: -70% 0; } to { background-position: 170% 0; } }
[data-identity] { display: flex; align-items: center; gap: 10px; min-width: 0; flex: 1; }
[data-pi-glyph] {
  display: grid;
  place-items: center;
  flex: none;
  width: 32px;
  height: 32px;
  border-radius: 9px;
  color: var(--pit-on-accent);
  background: var(--pit-accent);
}
.names { min-width: 0; line-height: 1.3; }
[data-kicker], [data-model] { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
[data-kicker] { font-weight: 600; }
[data-model] { color: var(--pit-soft); font-size: 0.86em; }

.button {
  display: inline-flex;
  align-items: center;
  justify-content: center;
  gap: 7px;
  min-height: 34px;
  padding: 0 12px;
  border: 1px solid var(--pit-edge);
  border-radius: 9px;
  background: transparent;
  font-weight: 600;
  white-space: nowrap;
}
.button:hover:enabled { border-color: var(--pit-accent); background: var(--pit-raised); }
.button:disabled { color: var(--pit-soft); border-color: var(--pit-line); }
.icon { width: 32px; min-height: 34px; padding: 0; border-color: transparent; color: var(--pit-soft); }
.icon:hover:enabled { color: var(--pit-text); border-color: var(--pit-line); }
.plain { border-color: transparent; padding: 0 8px; font-weight: 500; font-size: 0.93em; color: var(--pit-soft); }
.plain:hover:enabled { color: var(--pit-text); border-color: var(--pit-line); }
.plain:disabled { border-color: transparent; opacity: 0.55; }
[data-run] {
  min-width: 128px;
  color: var(--pit-on-accent);
  background: var(--pit-accent);
  border-color: var(--pit-accent);
}
[data-run]:hover:enabled { background: var(--pit-accent-strong); border-color: var(--pit-accent-strong); }
[data-run]:disabled { color: var(--pit-soft); background: var(--pit-raised); border-color: var(--pit-line); }
[data-run][data-stops] { color: var(--pit-bad); background: transparent; border-color: var(--pit-bad); }
[data-run][data-stops]:hover:enabled { background: var(--pit-bad-back); border-color: var(--pit-bad); }

[data-cancel-warning] { color: var(--pit-soft); font-size: 0.86em; }
[data-insecure-remote-warning], [data-cancel-warning][data-due] {
  color: inherit;
  font-size: inherit;
  padding: 8px 11px;
  border-radius: 9px;
  border-left: 3px solid var(--pit-busy);
  background: var(--pit-warn-back);
}

/* Focus and instruction */
[data-focus-row] { display: flex; align-items: center; gap: 8px; min-height: 26px; }
[data-focus-row] h2, label { font-weight: 600; font-size: 0.93em; color: var(--pit-soft); }
[data-scope] {
  padding: 2px 10px;
  border: 1px solid var(--pit-line);
  border-radius: 20px;
  font-weight: 600;
  font-size: 0.93em;
}
.compose { display: grid; gap: 6px; }
[data-prompt] {
  display: block;
  width: 100%;
  min-height: 5.6em;
  max-height: 15em;
  padding: 9px 11px;
  resize: vertical;
  field-sizing: content;
  border: 1px solid var(--pit-edge);
  border-radius: 9px;
  background: var(--pit-sunk);
  line-height: 1.45;
}
[data-prompt]::placeholder { color: var(--pit-soft); opacity: 1; }
[data-prompt]:disabled { color: var(--pit-soft); border-color: var(--pit-line); background: var(--pit-back); }
[data-compact] [data-prompt] { min-height: 0; resize: none; }
[data-compact] .under { display: none; }
.under { display: flex; flex-wrap: wrap; align-items: center; gap: 2px 12px; color: var(--pit-soft); font-size: 0.86em; }
.under > :last-child { display: flex; margin: 0 -8px 0 auto; }
.under .plain { min-height: 28px; font-size: inherit; }
.under [data-over] { color: var(--pit-bad); font-weight: 600; }

/* What Pi was asked, and what it does and says */
[data-task] { display: grid; gap: 6px; padding-top: 12px; border-top: 1px solid var(--pit-line); }
[data-task-prompt] {
  display: -webkit-box;
  -webkit-box-orient: vertical;
  -webkit-line-clamp: 3;
  overflow: hidden;
  padding-left: 10px;
  border-left: 2px solid var(--pit-line);
  color: var(--pit-soft);
  overflow-wrap: anywhere;
  white-space: pre-line;
}
[data-feedback] { display: grid; gap: 8px; min-width: 0; }
[data-activity] { font-weight: 600; overflow-wrap: anywhere; }
.scroller { position: relative; min-width: 0; }
[data-output] {
  max-height: 19em;
  min-height: 3em;
  overflow: auto;
  overscroll-behavior: contain;
  padding: 9px 11px;
  border: 1px solid var(--pit-line);
  border-radius: 9px;
  background: var(--pit-sunk);
  font: 0.93em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  white-space: pre-wrap;
  overflow-wrap: anywhere;
  tab-size: 4;
  scrollbar-width: thin;
  scrollbar-color: var(--pit-edge) transparent;
}
[data-follow] {
  position: absolute;
  right: 12px;
  bottom: 8px;
  min-height: 28px;
  padding: 0 10px;
  font-size: 0.86em;
  border-radius: 14px;
  background: var(--pit-raised);
  box-shadow: 0 2px 8px rgb(0 0 0 / 0.3);
}
[data-output-truncated] { color: var(--pit-soft); font-size: 0.86em; }
[data-error] {
  padding: 8px 11px;
  border-radius: 9px;
  border-left: 3px solid var(--pit-bad);
  background: var(--pit-bad-back);
  overflow-wrap: anywhere;
  white-space: pre-line;
}
.next { display: flex; flex-wrap: wrap; gap: 8px; }
.next:not(:has(> :not([hidden]))) { display: none; }

footer {
  display: flex;
  align-items: center;
  gap: 10px;
  padding: 10px 14px;
  border-top: 1px solid var(--pit-line);
  background: var(--pit-back);
}
[data-status] { display: flex; align-items: center; gap: 8px; font-weight: 600; }
[data-elapsed] { color: var(--pit-soft); font-variant-numeric: tabular-nums; }
[data-actions] { display: flex; gap: 8px; margin-left: auto; }

[data-live] {
  position: fixed;
  width: 1px;
  height: 1px;
  margin: -1px;
  overflow: hidden;
  clip-path: inset(50%);
  white-space: nowrap;
}

@media (min-height: 560px) {
  [data-panel] > .body { flex: 0 1 auto; min-height: 0; overflow: auto; overscroll-behavior: contain; }
}
@media (max-width: 480px) {
  [data-toggle], [data-panel] { bottom: 10px; left: 10px; }
  :host([data-corner="right"]) [data-toggle], :host([data-corner="right"]) [data-panel] { right: 10px; }
  [data-panel] { width: calc(100% - 20px); max-height: calc(100% - 20px); }
  footer { flex-wrap: wrap; }
  [data-elapsed] { margin-left: auto; }
  [data-actions] { flex: 1 0 100%; margin: 0; }
  [data-actions] > * { flex: 1 1 0; min-height: 40px; }
}
@media (prefers-reduced-motion: no-preference) {
  /* Not the one button that is now "Run", now "Stop": the colours of the two do not mix. */
  .button:not([data-run]), [data-toggle] { transition: background-color 0.12s, border-color 0.12s, color 0.12s; }
  [data-panel][data-opened] { animation: pit-open 0.14s ease-out; }
  @keyframes pit-open { from { opacity: 0; transform: translateY(6px); } }
}
@media (prefers-reduced-motion: reduce) {
  *, ::before, ::after { animation: none !important; transition: none !important; }
}
@media (forced-colors: active) {
  [data-toggle], [data-panel], .button, [data-prompt], [data-output] { border-color: CanvasText; }
  .button:disabled { border-color: GrayText; color: GrayText; }
  [data-toggle]::before, [data-status]::before { forced-color-adjust: none; background: CanvasText; }
  [data-toggle]:focus-visible { outline: 3px solid Highlight; }
  [data-pi-glyph] { border: 1px solid CanvasText; }
}
@media print {
  :host { display: none !important; }
}
`;

/** The sheet, made once for the page. */
export const sheet = new CSSStyleSheet();
sheet.replaceSync(css);
