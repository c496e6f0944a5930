// One tab of a browser follows the server; the others are told by it. A lock that the browser gives to one tab at a time
// says which: when that tab is closed, the next one has it. A tab that the browser has frozen beats no more, and another
// one takes the lock from it. Nothing secret goes over the channel: every tab of this origin could listen.

export const BEAT_MS = 15_000;
export const DEAD_MS = 40_000;

export const canShare = () => Boolean(navigator.locks && window.BroadcastChannel);

/** `onLead()` is called when this tab is to follow the server, `onFollow()` when another one does, `onMessage(data)` for
 * what another tab says. */
export function createTabs({ name, onLead, onFollow, onMessage, beatMs = BEAT_MS, deadMs = DEAD_MS }) {
  const channel = new BroadcastChannel(name);
  let leads = false;
  let letGo = null;
  let heard = performance.now();
  let stopped = false;
  let timer = null;

  function tell(message) {
    if (!stopped) channel.postMessage(message);
  }

  async function stand(options = {}) {
    try {
      await navigator.locks.request(name, options, () => {
        if (stopped) return undefined;
        leads = true;
        onLead();
        return new Promise((resolve) => (letGo = resolve));
      });
    } catch {
      // stolen by a tab that took this one for dead, or aborted
    }
    if (stopped) return;
    const did = leads;
    letGo = null;
    leads = false;
    if (did) onFollow();
    heard = performance.now();
    // A tab that stole the lock still stands in the queue; one that was refused at once asks again in peace.
    if (!options.steal) setTimeout(() => stopped || void stand(), did ? 0 : beatMs);
  }

  channel.onmessage = ({ data }) => {
    heard = performance.now();
    if (data?.type !== "beat") onMessage(data);
  };

  return {
    start() {
      onFollow();
      void stand();
      timer = setInterval(() => {
        if (leads) tell({ type: "beat" });
        else if (performance.now() - heard > deadMs && !document.hidden) {
          heard = performance.now();
          void stand({ steal: true });
        }
      }, beatMs);
    },
    stop() {
      stopped = true;
      clearInterval(timer);
      letGo?.();
      channel.close();
    },
    tell,
    get leads() {
      return leads;
    },
  };
}
