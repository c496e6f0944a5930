// Ages as people read them. `now` is the server's time in milliseconds (model.now()): this machine's clock is never asked.

const SKEW = 5 * 60; // seconds that another machine's clock may be ahead before it is no longer believed

/** A length of time in its largest whole unit: 45s, 21m, 2h, 3d. */
export function span(seconds) {
  const whole = Math.trunc(seconds);
  if (whole < 60) return `${whole}s`;
  if (whole < 3600) return `${Math.trunc(whole / 60)}m`;
  return whole < 86400 ? `${Math.trunc(whole / 3600)}h` : `${Math.trunc(whole / 86400)}d`;
}

export function secondsSince(stamp, now) {
  return Math.max(0, (now - Date.parse(stamp)) / 1000);
}

/** The age of a stamp; `clock?` where it lies ahead of us. */
export function age(stamp, now) {
  if (Date.parse(stamp) > now + SKEW * 1000) return "clock?";
  return span(secondsSince(stamp, now));
}

/** A stamp for a tooltip, in the reader's own time zone. */
export function full(stamp) {
  const date = new Date(stamp);
  return Number.isNaN(date.getTime()) ? stamp : date.toLocaleString();
}
