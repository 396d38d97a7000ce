// The pools: a card each, a row an endpoint.

import { bar, cell, count, el, millis, percent, row, spark, table } from './dom.js';
import { shortNames } from './explain.js';

// A card shows this many endpoints until it is asked for all.
const SHOWN = 20;
// A queue shorter than this does not fill its bar, so that one waiting request looks like one.
const SMALL_QUEUE = 8;

const opened = new Set();

const headings = [
  { text: 'Endpoint' },
  { text: 'KV cache' },
  { text: 'Waiting' },
  { text: 'Running' },
  { text: 'In flight' },
  { text: 'Prefix blocks' },
  { text: 'LoRA' },
  { text: 'Share of requests' },
  { text: 'Last minute' },
];

/**
 * Draws the pools into `root`.
 *
 * @param {HTMLElement} root
 * @param {object[]} pools as in `/api/pools`
 * @param {import('./rates.js').Rates} rates
 */
export function drawPools(root, pools, rates) {
  if (pools.length === 0) {
    root.replaceChildren(
      el('p', { class: 'empty' }, 'No pools. A pool appears when the configuration names one.'),
    );
    return;
  }
  const sorted = [...pools].sort((a, b) => order(a.name, b.name));
  const redraw = () => drawPools(root, pools, rates);
  const focused = document.activeElement?.getAttribute('data-pool');
  root.replaceChildren(...sorted.map((pool) => card(pool, rates, redraw)));
  if (focused != null) {
    root.querySelector(`[data-pool="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  }
}

// === a card ===

function card(pool, rates, redraw) {
  const endpoints = [...pool.endpoints].sort((a, b) => order(a.id, b.id));
  const names = shortNames(endpoints);
  const scale = scales(endpoints, pool, rates);
  const shown = opened.has(pool.name) ? endpoints : endpoints.slice(0, SHOWN);
  const body = el(
    'tbody',
    { role: 'rowgroup' },
    ...shown.map((endpoint, at) => line(pool, endpoint, names[at], scale, rates)),
  );
  const caption = el('caption', { class: 'hidden' }, `Endpoints of ${pool.name}`);
  return el(
    'article',
    { class: 'card' },
    head(pool),
    endpoints.length > 0
      ? table({ class: 'endpoints' }, caption, headings, body)
      : el('p', { class: 'empty' }, 'No endpoints match this pool.'),
    endpoints.length > SHOWN ? more(pool, endpoints.length, redraw) : null,
  );
}

function head(pool) {
  const profiles = pool.profiles.map((profile) =>
    el('p', { class: 'chain' }, el('b', {}, profile.name), ...chain(profile)),
  );
  const facts = [
    fact('picker from', pool.picker),
    fact('on failure', pool.failureMode),
    el(
      'span',
      { class: 'fact' },
      'saturation ',
      bar(pool.saturation, 'saturation'),
      el('b', {}, percent(pool.saturation)),
    ),
  ];
  return el(
    'header',
    { class: 'card-head' },
    el('h3', {}, pool.name),
    el('p', { class: 'facts' }, ...facts),
    ...profiles,
  );
}

function chain(profile) {
  const steps = [
    ...profile.filters.map((filter) => el('span', { class: 'step' }, filter.name ?? filter)),
    ...profile.scorers.map((scorer) =>
      el('span', { class: 'step' }, scorer.name, el('i', {}, ` × ${scorer.weight}`)),
    ),
    el('span', { class: 'step last' }, profile.picker),
  ];
  return steps;
}

function fact(name, value) {
  return el('span', { class: 'fact' }, `${name} `, el('b', {}, value));
}

function more(pool, total, redraw) {
  const open = opened.has(pool.name);
  const button = el(
    'button',
    { class: 'more', type: 'button', 'data-pool': pool.name, 'aria-expanded': String(open) },
    open ? `Show the first ${SHOWN}` : `Show all ${total} endpoints`,
  );
  button.addEventListener('click', () => {
    if (!opened.delete(pool.name)) opened.add(pool.name);
    redraw();
  });
  return button;
}

// === a row ===

function line(pool, endpoint, name, scale, rates) {
  const share = scale.requests > 0 ? endpoint.requests / scale.requests : 0;
  const history = rates.of(pool.name, endpoint.id);
  const tokens = endpoint.inFlightTokens > 0 ? `${count(endpoint.inFlightTokens)} tokens` : null;
  return row(
    { class: endpoint.state },
    el(
      'th',
      { scope: 'row', role: 'rowheader' },
      el('span', { class: `dot ${endpoint.state}`, 'aria-hidden': 'true' }),
      el('span', { class: 'name', title: endpoint.id }, name),
      el('span', { class: 'under' }, endpoint.address),
      el(
        'span',
        { class: 'under state' },
        `${endpoint.engine ? `${endpoint.engine}, ` : ''}${state(endpoint)}`,
      ),
    ),
    gauge('KV cache', 'kv', percent(endpoint.kvUsage), endpoint.kvUsage),
    gauge('Waiting', 'waiting', count(endpoint.waiting), endpoint.waiting / scale.queue),
    gauge('Running', 'running', count(endpoint.running), endpoint.running / scale.queue),
    gauge(
      'In flight',
      'flight',
      count(endpoint.inFlightRequests),
      endpoint.inFlightRequests / scale.queue,
      tokens,
    ),
    gauge(
      'Prefix blocks',
      'prefix',
      count(endpoint.prefixBlocks),
      endpoint.prefixBlocks / scale.prefix,
    ),
    cell('LoRA', { class: 'lora' }, ...adapters(endpoint)),
    gauge('Share of requests', 'share', percent(share), share, count(endpoint.requests)),
    cell(
      'Last minute',
      { class: 'trend' },
      spark(history, scale.rate, rates.slots),
      el('span', { class: 'hidden' }, `${(history.at(-1) ?? 0).toFixed(1)} requests per second`),
    ),
  );
}

function gauge(label, kind, text, share, under) {
  return cell(
    label,
    { class: 'gauge' },
    el('span', { class: 'value' }, text, under ? el('small', {}, under) : null),
    bar(share, kind),
  );
}

function state(endpoint) {
  if (endpoint.state === 'unknown') return 'never scraped';
  return endpoint.state === 'stale'
    ? `stale, ${millis(endpoint.ageMs)} old`
    : `fresh, ${millis(endpoint.ageMs)} old`;
}

function adapters(endpoint) {
  const chips = [
    ...endpoint.loraActive.map((name) => el('span', { class: 'chip' }, name)),
    ...endpoint.loraWaiting.map((name) =>
      el('span', { class: 'chip pending', title: 'waiting' }, name),
    ),
  ];
  if (chips.length === 0) return [el('span', { class: 'none' }, '–')];
  return endpoint.loraMax > 0 ? [...chips, el('small', {}, `of ${endpoint.loraMax}`)] : chips;
}

// The bars of a card share one scale a quantity, so that rows compare.
function scales(endpoints, pool, rates) {
  const top = (of, least) =>
    endpoints.reduce((most, endpoint) => Math.max(most, of(endpoint) ?? 0), least);
  return {
    queue: top(
      (one) => Math.max(one.waiting ?? 0, one.running ?? 0, one.inFlightRequests),
      SMALL_QUEUE,
    ),
    prefix: top((one) => one.prefixBlocks, 1),
    requests: endpoints.reduce((sum, one) => sum + one.requests, 0),
    rate: top((one) => Math.max(0, ...rates.of(pool.name, one.id)), 1),
  };
}

function order(a, b) {
  return a.localeCompare(b, 'en', { numeric: true });
}
