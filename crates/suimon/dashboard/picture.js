// The picture of one decision: for each profile a stacked bar a candidate.

import { bar, count, el, gate, millis, percent, row } from './dom.js';
import { status } from './decisions.js';
import { explain, points, rows } from './explain.js';

// Endpoints that a picture shows; the rest is counted.
const SHOWN = 20;
const COLOURS = 8;
// Scorers that everybody uses keep their colour whatever else is configured.
const colours = new Map([
  ['queue-scorer', 1],
  ['prefix-cache-scorer', 2],
  ['running-requests-size-scorer', 3],
  ['kv-cache-utilization-scorer', 4],
  ['lora-affinity-scorer', 5],
]);

/**
 * Draws the picture of `record`.
 *
 * @param {HTMLElement} sentence where the explanation goes
 * @param {HTMLElement} root where the picture goes
 * @param {HTMLElement} tip the tooltip of the page
 * @param {object} record an item of `/api/decisions`
 */
export function drawPicture(sentence, root, tip, record) {
  tip.hidden = true;
  const said = explain(record);
  if (sentence.textContent !== said) sentence.textContent = said;
  root.replaceChildren(
    facts(record),
    ...record.profiles.map((profile) => drawProfile(record, profile, tip)),
  );
}

// === facts ===

function facts(record) {
  const outcome = record.outcome;
  const list = [
    ['request', record.requestId],
    ['route', record.route],
    ['pool', record.pool],
    [
      'model',
      record.targetModel === record.model
        ? record.model
        : `${record.model} → ${record.targetModel}`,
    ],
    ['priority', String(record.priority)],
    ['picked in', `${count(record.pickMicros)} µs`],
    ['outcome', outcome ? status(outcome) : el('span', { class: 'status running' }, 'running')],
  ];
  if (outcome) {
    list.push(
      ['end', outcome.end],
      ['first byte', millis(outcome.firstByteMs)],
      ['duration', millis(outcome.durationMs)],
      ['tokens', tokens(outcome)],
    );
  }
  const known = list.filter(([, value]) => value !== '' && value !== '–');
  return el(
    'dl',
    { class: 'about' },
    ...known.map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value))),
  );
}

function tokens(outcome) {
  const said = [];
  if (outcome.promptTokens != null) said.push(`${count(outcome.promptTokens)} prompt`);
  if (outcome.cachedTokens != null) said.push(`${count(outcome.cachedTokens)} cached`);
  if (outcome.completionTokens != null) said.push(`${count(outcome.completionTokens)} generated`);
  return said.join(', ');
}

// === a profile ===

function drawProfile(record, profile, tip) {
  const all = rows(record, profile);
  const full = Math.max(
    profile.scorers.reduce((sum, scorer) => sum + Math.max(0, scorer.weight), 0),
    ...all.map((one) => one.total ?? 0),
  );
  const body = el(
    'tbody',
    { role: 'rowgroup' },
    ...all.slice(0, SHOWN).map((one) => drawRow(one, full, tip)),
  );
  if (all.length > SHOWN) body.append(rest(all));
  const board = el(
    'table',
    { role: 'table', class: 'board' },
    caption(record, profile),
    columns(full),
    body,
  );
  board.addEventListener('keydown', walk);
  board.querySelector('.segment')?.setAttribute('tabindex', '0');
  return el('section', { class: 'profile' }, board);
}

function caption(record, profile) {
  const candidates = record.candidates.length;
  const steps = [candidates === 1 ? '1 candidate' : `${candidates} candidates`];
  for (const filter of profile.filters) steps.push(`${filter.name} left ${filter.left}`);
  const legend = profile.scorers.map((scorer) =>
    el(
      'span',
      { class: 'key' },
      el('span', { class: `swatch c${colour(scorer.name)}`, 'aria-hidden': 'true' }),
      scorer.name,
      el('i', {}, ` × ${scorer.weight}`),
    ),
  );
  return el(
    'caption',
    {},
    el(
      'span',
      { class: 'title' },
      el('b', {}, profile.name),
      ` ${steps.join(', ')}, ${profile.picker}`,
    ),
    el('span', { class: 'legend' }, ...legend),
  );
}

function columns(full) {
  const head = (text, kind) => el('th', { scope: 'col', role: 'columnheader', class: kind }, text);
  return el(
    'thead',
    { role: 'rowgroup' },
    el(
      'tr',
      { role: 'row' },
      head('Endpoint'),
      head('Weight × score'),
      head(`of ${points(full)}`, 'number'),
    ),
  );
}

function rest(all) {
  const hidden = all.slice(SHOWN);
  const removed = hidden.filter((one) => !one.kept).length;
  const why = removed > 0 ? `, ${removed} of them removed by filters` : '';
  return row(
    { class: 'rest' },
    el('td', { role: 'cell', colspan: '3' }, `… ${hidden.length.toLocaleString('en')} more${why}`),
  );
}

// === a candidate ===

function drawRow(one, full, tip) {
  const kind = [
    one.rank === 0 ? 'chosen' : '',
    one.kept ? '' : 'removed',
    one.known ? '' : 'unknown',
  ];
  const name = el(
    'th',
    { scope: 'row', role: 'rowheader', title: one.candidate.endpoint },
    one.rank === 0 ? gate('chosen') : null,
    el('span', { class: 'name' }, one.name),
    one.rank > 0 ? el('small', {}, `fallback ${one.rank}`) : null,
  );
  const drawn = one.parts.filter((part) => part.value > 0);
  const stack = el(
    'span',
    { class: 'stack' },
    ...drawn.map((part) => segment(one, part, full, tip)),
  );
  if (one.kept) hint(stack, tip, one, null);
  const middle = one.kept ? stack : el('span', { class: 'why' }, one.removedBy);
  return row(
    { class: kind.join(' ').trim() || null },
    name,
    el(
      'td',
      { role: 'cell', class: 'scores' },
      middle,
      el('span', { class: 'load' }, ...load(one)),
    ),
    el('td', { role: 'cell', class: 'number total' }, one.kept ? points(one.total) : '–'),
  );
}

function load({ candidate, known }) {
  const flight = `${count(candidate.inFlight)} in flight`;
  if (!known) return [el('b', {}, 'no fresh metrics'), `, ${flight}`];
  return [
    `${count(candidate.waiting)} waiting, ${count(candidate.running)} running, ${flight}, KV `,
    bar(candidate.kvUsage, 'kv'),
    ` ${percent(candidate.kvUsage)}`,
  ];
}

function segment(one, part, full, tip) {
  const node = el('span', {
    class: `segment c${colour(part.scorer)}`,
    role: 'img',
    tabindex: '-1',
    'aria-label': `${one.name}, ${product(part)}`,
  });
  node.style.width = `${((100 * part.value) / full).toFixed(3)}%`;
  hint(node, tip, one, part);
  return node;
}

function product(part) {
  return `${part.scorer}: ${points(part.score)} × ${part.weight} = ${points(part.value)}`;
}

// === the tooltip ===

function hint(node, tip, one, current) {
  const show = (event) => {
    event.stopPropagation();
    tip.replaceChildren(
      el('b', {}, one.name),
      ...one.parts.map((part) =>
        el(
          'span',
          { class: part === current ? 'current' : null },
          el('span', { class: `swatch c${colour(part.scorer)}` }),
          product(part),
        ),
      ),
    );
    tip.hidden = false;
    const box = node.getBoundingClientRect();
    const left = Math.min(box.left, document.documentElement.clientWidth - tip.offsetWidth - 8);
    const below = box.bottom + 8 + tip.offsetHeight < window.innerHeight;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${below ? box.bottom + 8 : box.top - 8 - tip.offsetHeight}px`;
  };
  const hide = () => {
    tip.hidden = true;
  };
  node.addEventListener('mouseover', show);
  node.addEventListener('focus', show);
  node.addEventListener('mouseleave', hide);
  node.addEventListener('blur', hide);
}

// One tab stop a board; the arrows walk its segments.
function walk(event) {
  const from = event.target.closest('.segment');
  const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!from || !step) return;
  const sideways = event.key === 'ArrowRight' || event.key === 'ArrowLeft';
  const stacks = [...event.currentTarget.querySelectorAll('.stack')].filter(
    (stack) => stack.firstElementChild,
  );
  const stack = from.closest('.stack');
  const place = [...stack.children].indexOf(from);
  const other = stacks[stacks.indexOf(stack) + step];
  const to = sideways
    ? stack.children[place + step]
    : other?.children[Math.min(place, other.children.length - 1)];
  event.preventDefault();
  if (!to) return;
  from.setAttribute('tabindex', '-1');
  to.setAttribute('tabindex', '0');
  to.focus();
}

function colour(scorer) {
  if (!colours.has(scorer)) colours.set(scorer, (colours.size % COLOURS) + 1);
  return colours.get(scorer);
}
