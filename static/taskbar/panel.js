/* Launcher and panel: what the user sees and touches, inside one shadow root.

   The entry makes one panel, hands it what the store knows (`render`) and what the user may ask for (`actions`). A
   renderer here is a function from state to nodes; all wiring of events stands in `wire`. The panel never talks to the
   server, never reads the page, and builds its DOM by functions only. */

import { sheet } from "./host.js";
import { WORDS, announcement, describe, hasEnded } from "./store.js";
import { PROMPT_BYTES, byteLength, normalizePrompt } from "./text.js";

const NEAR_LIMIT = 3200;
const WARM = ["pointerenter", "focus"];

/* Events of the pointer, the keyboard and the focus end at the host: shortcuts, focus traps and click handlers of the page
   that wait for an event to bubble stay out of it. One that captures at the window still sees keys, at the host. */
const KEPT =
  "keydown keyup keypress beforeinput input compositionstart compositionupdate compositionend copy cut paste " +
  "pointerdown pointerup mousedown mouseup click dblclick auxclick contextmenu touchstart touchend wheel focusin focusout";

/** Minutes and seconds, hours where there are any. */
export function duration(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const two = (number) => String(number).padStart(2, "0");
  const minutes = Math.floor(seconds / 60);
  return minutes < 60
    ? `${minutes}:${two(seconds % 60)}`
    : `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(seconds % 60)}`;
}

/* Building. */

const INSECURE =
  "This connection is unencrypted: others can read your instructions and Pi's output. Use it on a trusted network only.";
const HIDE = "Hide until the next page load";
const PLACEHOLDER = { idle: "What should Pi change or explain here?", busy: "One task at a time" };
const SVG = "http://www.w3.org/2000/svg";
const ICONS = {
  close: "M4 4l8 8M12 4l-8 8",
  fresh: "M8 3v10M3 8h10",
  hide: "M2 2.5l12 11M6.4 3.4A7 7 0 0 1 8 3.2c3.4 0 5.8 2.6 6.8 4.8a9 9 0 0 1-2 2.7M4.2 4.6A9.6 9.6 0 0 0 1.2 8c1 2.2 3.4 4.8 6.8 4.8 1.2 0 2.3-.3 3.2-.8M6.6 6.7a2 2 0 0 0 2.8 2.8",
  move: "M5 4.5L1.5 8 5 11.5M11 4.5L14.5 8 11 11.5M2 8h12",
  pi: "M3 5.2C3.8 4.2 4.6 4 6 4h8M6.4 4c0 3-.4 5.6-1.8 8.4M10.6 4c-.3 3.4-.5 5-.2 6.6.3 1.5 1.6 2 2.8 1",
};

function build(document) {
  function h(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value === true) element.setAttribute(name, "");
      else if (value !== null && value !== false) element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  }
  function icon(name, attributes = {}) {
    const svg = document.createElementNS(SVG, "svg");
    const path = document.createElementNS(SVG, "path");
    const all = { width: "16", height: "16", viewBox: "0 0 16 16", "aria-hidden": "true", focusable: "false", ...attributes };
    for (const [key, value] of Object.entries(all)) svg.setAttribute(key, value);
    const stroke = { d: ICONS[name], fill: "none", stroke: "currentColor", "stroke-width": "1.6", "stroke-linecap": "round" };
    for (const [key, value] of Object.entries(stroke)) path.setAttribute(key, value);
    svg.append(path);
    return svg;
  }
  const button = (attributes, ...children) => h("button", { type: "button", class: "button", ...attributes }, ...children);
  return { h, icon, button };
}

function createNodes(document) {
  const { h, icon, button } = build(document);
  const n = {};

  n.kicker = h("p", { "data-kicker": true }, "Pi");
  n.model = h("p", { "data-model": true });
  n.reset = button({ "data-new-conversation": true, class: "button plain" }, icon("fresh"), "New conversation");
  n.board = button({ "data-board": true, class: "button plain" }, "Board");
  n.move = button({ "data-move": true, class: "button icon" }, icon("move"));
  n.hide = button(
    { "data-hide": true, class: "button icon", "aria-label": HIDE, title: HIDE },
    icon("hide"),
  );
  n.close = button(
    {
      "data-close": true,
      class: "button icon",
      "aria-controls": "pi-taskbar-panel",
      "aria-expanded": "true",
      "aria-label": "Close Pi browser taskbar",
      title: "Close (Esc)",
    },
    icon("close", { "data-close-icon": "" }),
  );
  const header = h(
    "header",
    {},
    h(
      "div",
      { "data-identity": true },
      h("span", { "data-pi-glyph": true, "aria-hidden": "true" }, icon("pi", { width: "20", height: "20" })),
      h("div", { class: "names" }, n.kicker, n.model),
    ),
    n.move,
    n.hide,
    n.close,
  );

  n.insecure = h("p", { "data-insecure-remote-warning": true, hidden: true }, INSECURE);
  n.scope = h("span", { "data-scope": true }, "Whole page");
  n.focusRow = h("div", { "data-focus-row": true }, h("h2", { id: "pi-taskbar-focus-title" }, "Focus"), n.scope);
  n.focus = h("section", { "data-focus": true, "aria-labelledby": "pi-taskbar-focus-title" }, n.focusRow);

  n.prompt = h("textarea", {
    id: "pi-taskbar-prompt",
    "data-prompt": true,
    rows: "3",
    maxlength: String(PROMPT_BYTES),
    placeholder: PLACEHOLDER.idle,
    autocomplete: "off",
    "aria-describedby": "pi-taskbar-hint",
  });
  n.hint = h("span", { id: "pi-taskbar-hint", "data-hint": true });
  n.count = h("span", { "data-count": true, hidden: true });
  const compose = h(
    "div",
    { class: "compose" },
    h("label", { for: "pi-taskbar-prompt" }, "Task instruction"),
    n.prompt,
    h("div", { class: "under" }, n.hint, n.count, h("span", {}, n.board, n.reset)),
  );

  n.taskPrompt = h("p", { "data-task-prompt": true });
  n.task = h("div", { "data-task": true, hidden: true }, n.taskPrompt);
  n.activity = h("p", { "data-activity": true, hidden: true });
  n.outputText = document.createTextNode("");
  n.output = h(
    "pre",
    { "data-output": true, tabindex: "0", role: "group", "aria-label": "Latest Pi output", hidden: true },
    n.outputText,
  );
  n.truncated = h("p", { "data-output-truncated": true, hidden: true }, WORDS.truncated);
  n.error = h("p", { "data-error": true, hidden: true });
  n.warning = h("p", { "data-cancel-warning": true, hidden: true });
  n.feedback = h(
    "section",
    { "data-feedback": true, "aria-label": "Task progress", hidden: true },
    n.activity,
    n.output,
    n.truncated,
    n.error,
    n.warning,
  );
  n.reloadReason = h("p", { "data-reload-reason": true, hidden: true });
  n.reload = button({ "data-reload": true, hidden: true }, "Reload page");
  n.again = button({ "data-again": true, hidden: true }, "Use this instruction again");
  n.follow = button({ "data-follow": true, hidden: true }, "Newest output ↓");

  n.status = h("p", { "data-status": true, "data-state": "connecting" }, "Connecting");
  n.elapsed = h("span", { "data-elapsed": true, hidden: true });
  n.run = button({ "data-run": true }, "Run with Pi");
  n.actions = h("div", { "data-actions": true }, n.run);
  const footer = h("footer", {}, n.status, n.elapsed, n.actions);

  n.panel = h(
    "section",
    { id: "pi-taskbar-panel", "data-panel": true, "aria-label": "Pi browser task", tabindex: "-1", hidden: true },
    header,
    h(
      "div",
      { class: "body" },
      n.insecure,
      n.focus,
      compose,
      n.task,
      n.feedback,
      h("div", { class: "next" }, n.reloadReason, n.follow, n.reload, n.again),
    ),
    footer,
  );
  n.toggleScope = h("span", { "data-toggle-scope": true, hidden: true });
  n.toggle = h(
    "button",
    {
      type: "button",
      "data-toggle": true,
      "data-state": "connecting",
      "aria-controls": "pi-taskbar-panel",
      "aria-expanded": "false",
    },
    h("span", {}, "Page task"),
    n.toggleScope,
  );
  n.live = h("p", { "data-live": true, "aria-live": "polite", "aria-atomic": "true" });
  return n;
}

/** Sets text only where it differs, so that selections and screen readers are left alone. */
function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function show(node, visible) {
  if (node.hidden === visible) node.hidden = !visible;
}

/** The panel in `host`. `actions`: run(prompt), cancel, reset, reload, edited, remember(change), warm. `now` is the
    wall clock, `every(ms, tick)` returns its own end. */
export function createPanel({ document, host, actions, now, every, isApple }) {
  const root = host.attachShadow({ mode: "open" });
  root.adoptedStyleSheets = [sheet];
  const n = createNodes(document);
  root.append(n.panel, n.toggle, n.live);

  let state = { snapshot: null, error: null, trouble: null, pending: null };
  let reload = null; // { text, offered }
  let following = true; // whether the output keeps showing its newest text
  let shownTask = null;
  let endTicking = null;
  let wasActive = false; // an end that was seen coming is told in a closed panel too
  let isLost = false; // the focus is on the panel because its control could not keep it

  const isOpen = () => !n.panel.hidden;
  const draft = () => normalizePrompt(n.prompt.value);

  function render() {
    const view = describe(state);
    const { task } = view;
    const busy = view.active || view.pending === "submit";
    n.panel.setAttribute("aria-busy", String(view.active));
    if (n.status.dataset.state !== view.state) n.status.dataset.state = n.toggle.dataset.state = view.state;
    say(n.status, view.status);
    say(n.model, view.model);
    n.model.title = view.model;
    n.toggle.setAttribute("aria-label", `Page task, ${view.status}, ${n.scope.textContent}`);
    n.prompt.disabled = busy;
    n.prompt.placeholder = busy ? PLACEHOLDER.busy : PLACEHOLDER.idle;
    n.reset.disabled = !view.canReset;
    n.panel.toggleAttribute("data-compact", busy);

    show(n.task, task !== null);
    say(n.taskPrompt, task?.prompt ?? "");
    renderOutput(task);
    show(n.activity, view.activity !== "");
    say(n.activity, view.activity);
    show(n.truncated, Boolean(task?.output_truncated && task.output));
    show(n.error, view.error !== "");
    say(n.error, view.error);
    const warned = task && ["running", "cancelling", "cancelled"].includes(task.status);
    show(n.warning, Boolean(warned));
    n.warning.toggleAttribute("data-due", task?.status === "cancelled");
    say(n.warning, task?.status === "cancelled" ? WORDS.cancelled : WORDS.running);
    show(n.feedback, [...n.feedback.children].some((child) => !child.hidden));

    show(n.reload, reload?.offered === true);
    show(n.reloadReason, reload !== null);
    say(n.reloadReason, reload?.text ?? "");
    renderComposer(view);
    renderElapsed();
    tick(view.isRunning || task?.status === "cancelling");
    if (isOpen() || wasActive) say(n.live, announcement(view));
    wasActive = view.active;
    keepFocus();
  }

  function renderComposer(view) {
    const bytes = byteLength(draft());
    const stops = view.isRunning || view.isStopping;
    n.run.toggleAttribute("data-stops", stops);
    n.run.disabled = view.isStopping || (!view.isRunning && !(view.isReady && !view.pending && bytes > 0 && bytes <= PROMPT_BYTES));
    say(n.run, view.isStopping ? "Stopping…" : view.isRunning ? "Stop task" : view.pending === "submit" ? "Sending…" : "Run with Pi");
    n.run.title = stops ? "" : `Run (${isApple ? "⌘" : "Ctrl+"}Enter)`;
    say(n.hint, view.hint ?? `${isApple ? "⌘ Enter" : "Ctrl+Enter"} runs, Esc closes`);
    show(n.count, bytes >= NEAR_LIMIT);
    n.count.toggleAttribute("data-over", bytes > PROMPT_BYTES);
    say(n.count, bytes > PROMPT_BYTES ? `${bytes - PROMPT_BYTES} bytes too long` : `${bytes} of ${PROMPT_BYTES} bytes`);
    show(n.again, hasEnded(view.task) && !view.active && view.task.prompt !== draft());
  }

  function renderOutput(task) {
    const output = task?.output ?? "";
    if (task?.id !== shownTask) {
      shownTask = task?.id ?? null;
      following = true;
    }
    show(n.output, output !== "");
    const { data } = n.outputText;
    if (output !== data) {
      if (data && output.startsWith(data)) n.outputText.appendData(output.slice(data.length));
      else n.outputText.data = output;
      if (following) followOutput();
    }
    show(n.follow, !following && !n.output.hidden);
  }

  function followOutput() {
    if (isOpen()) n.output.scrollTop = n.output.scrollHeight;
  }

  function renderElapsed() {
    const task = state.snapshot?.task;
    const began = Date.parse(task?.started_at);
    const end = task?.finished_at ? Date.parse(task.finished_at) : now();
    show(n.elapsed, Boolean(task) && Number.isFinite(end - began));
    say(n.elapsed, n.elapsed.hidden ? "" : duration(end - began));
  }

  function tick(runs) {
    if (runs && isOpen()) endTicking ??= every(1000, renderElapsed);
    else if (endTicking) {
      endTicking();
      endTicking = null;
    }
  }

  /** A control that was disabled under the focus hands it to the nearest one that can act. */
  function keepFocus() {
    const at = root.activeElement;
    if (!at || !(at.disabled || at.hidden || (at === n.panel && isLost))) return;
    const next = !n.prompt.disabled ? n.prompt : !n.run.disabled ? n.run : n.panel;
    isLost = next === n.panel;
    if (next !== at) next.focus({ preventScroll: true });
  }

  function open({ focus }) {
    if (isOpen()) return;
    n.panel.hidden = false;
    n.toggle.hidden = true;
    n.toggle.setAttribute("aria-expanded", "true");
    render();
    if (following) followOutput();
    if (focus) (n.prompt.disabled ? (n.run.disabled ? n.panel : n.run) : n.prompt).focus();
  }

  function close() {
    n.panel.hidden = true;
    n.toggle.hidden = false;
    n.toggle.setAttribute("aria-expanded", "false");
    tick(false);
    n.toggle.focus();
    actions.remember({ open: false });
  }

  function putBack() {
    n.prompt.focus();
    n.prompt.select();
    const { prompt } = state.snapshot.task;
    // The editing command keeps the browser's undo, should something have been typed meanwhile.
    if (!document.execCommand("insertText", false, prompt)) n.prompt.value = prompt;
    edited();
  }

  function edited() {
    actions.remember({ draft: n.prompt.value });
    actions.edited();
    renderComposer(describe(state));
  }

  function place(corner) {
    host.dataset.corner = corner;
    const label = corner === "left" ? "Move to the right corner" : "Move to the left corner";
    n.move.setAttribute("aria-label", label);
    n.move.title = label;
  }

  function act(event) {
    if (!event.isTrusted || n.run.disabled) return;
    if (n.run.hasAttribute("data-stops")) actions.cancel();
    else actions.run(draft());
  }

  function wire() {
    for (const kind of KEPT.split(" ")) host.addEventListener(kind, (event) => event.stopPropagation(), { passive: true });
    for (const kind of WARM) n.prompt.addEventListener(kind, () => actions.warm());
    n.toggle.addEventListener("click", () => {
      n.panel.setAttribute("data-opened", ""); // by hand: a panel that was open on the last page does not move
      open({ focus: true });
      actions.remember({ open: true });
    });
    n.close.addEventListener("click", close);
    n.move.addEventListener("click", () => {
      place(host.dataset.corner === "left" ? "right" : "left");
      actions.remember({ corner: host.dataset.corner });
    });
    n.hide.addEventListener("click", () => host.setAttribute("data-hidden", ""));
    n.prompt.addEventListener("input", edited);
    n.run.addEventListener("click", act);
    n.reset.addEventListener("click", (event) => event.isTrusted && actions.reset());
    n.board.addEventListener("click", (event) => event.isTrusted && actions.board());
    n.reload.addEventListener("click", () => actions.reload());
    n.again.addEventListener("click", putBack);
    n.follow.addEventListener("click", () => {
      following = true;
      followOutput();
      render();
    });
    n.output.addEventListener("scroll", () => {
      const { scrollHeight, scrollTop, clientHeight } = n.output;
      const before = following;
      following = scrollHeight - scrollTop - clientHeight < 8;
      if (following !== before) show(n.follow, !following);
    });
    root.addEventListener("keydown", (event) => {
      if (event.isComposing) return;
      if (event.key === "Escape" && isOpen()) {
        event.preventDefault();
        close();
      } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target === n.prompt) {
        event.preventDefault();
        act(event);
      }
    });
  }

  wire();
  place("left");
  render();

  return {
    open,
    isOpen,
    draft,
    place,
    nodes: n,
    setDraft(text) {
      n.prompt.value = text;
      renderComposer(describe(state));
    },
    setReload(next) {
      reload = next;
      render();
    },
    setProject(name) {
      say(n.kicker, name ? `Pi · ${name}` : "Pi");
      n.kicker.title = name ?? "";
    },
    warnInsecure: (insecure) => show(n.insecure, insecure),
    render(next) {
      state = next;
      render();
    },
  };
}
