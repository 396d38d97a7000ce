// Requests per second, from the counters of successive polls.

/** The rates of the last polls, for the whole and for each endpoint. */
export class Rates {
  /** @param {number} slots polls to remember */
  constructor(slots) {
    this.slots = slots;
    this.total = [];
    this.lines = new Map();
    this.uptime = null;
  }

  /** Takes one answer of `/api/pools`. The server's uptime is the clock. */
  add({ uptimeSeconds, pools }) {
    const passed = uptimeSeconds - this.uptime;
    const first = this.uptime === null || passed < 0;
    if (!first && passed === 0) return;
    const before = first ? new Map() : this.lines;
    const next = new Map();
    let sum = 0;
    for (const pool of pools) {
      for (const endpoint of pool.endpoints) {
        const key = `${pool.name}\n${endpoint.id}`;
        const line = before.get(key);
        const values = line ? line.values : [];
        if (line) {
          const rate = Math.max(0, endpoint.requests - line.requests) / passed;
          values.push(rate);
          if (values.length > this.slots) values.shift();
          sum += rate;
        }
        next.set(key, { requests: endpoint.requests, values });
      }
    }
    this.lines = next;
    this.uptime = uptimeSeconds;
    this.total = first ? [] : [...this.total, sum].slice(-this.slots);
  }

  /** The remembered rates of one endpoint, oldest first. */
  of(pool, id) {
    return this.lines.get(`${pool}\n${id}`)?.values ?? [];
  }

  /** Mean of the last five polls; null before the second. */
  now() {
    const last = this.total.slice(-5);
    return last.length === 0 ? null : last.reduce((sum, rate) => sum + rate, 0) / last.length;
  }
}
