// Server-sent events out of a response that is being read: text in pieces goes in, whole events come out.

/** `feed(text)` for each piece; `onEvent({event, data, id})` for each event, `onRetry(ms)` for what the server asks. */
export function createEventReader({ onEvent, onRetry }) {
  let pieces = [];
  let event = "message";
  let data = [];
  let id = null;

  function take(line) {
    if (line === "") {
      if (data.length) onEvent({ event, data: data.join("\n"), id });
      event = "message";
      data = [];
      return;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "data") data.push(value);
    else if (field === "event") event = value;
    else if (field === "id") id = value;
    else if (field === "retry" && /^\d+$/.test(value)) onRetry(Number(value));
  }

  return {
    feed(text) {
      pieces.push(text);
      if (!text.includes("\n")) return; // a long line in many pieces is put together once
      const lines = pieces.join("").split("\n");
      pieces = [lines.pop()];
      for (const line of lines) take(line.endsWith("\r") ? line.slice(0, -1) : line);
    },
  };
}
