// The list of decisions, newest first.

import { cell, count, el, gate, millis, row, table } from './dom.js';
import { choice, points } from './explain.js';

const headings = [
  { text: 'Request' },
  { text: 'Model' },
  { text: 'Endpoint' },
  { text: 'Total', class: 'number' },
  { text: 'Outcome' },
];

/** What tells decisions apart; a client may use a request id twice. */
export function key(record) {
  return `${record.requestId} ${record.time}`;
}

/** The records whose model, endpoint or request id contain `text`. */
export function matching(records, text) {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return records;
  return records.filter((record) => {
    const chosen = choice(record)?.candidate;
    const fields = [
      record.requestId,
      record.model,
      record.targetModel,
      chosen?.endpoint,
      chosen?.address,
      record.outcome?.served,
    ];
    return fields.some((field) => field?.toLowerCase().includes(wanted));
  });
}

/**
 * Draws the list into `root`.
 *
 * @param {HTMLElement} root
 * @param {object[]} records
 * @param {object | null} selected one of them
 */
export function drawDecisions(root, records, selected) {
  const focused = root.contains(document.activeElement)
    ? document.activeElement.getAttribute('data-key')
    : null;
  const caption = el('caption', { class: 'hidden' }, 'Decisions, newest first');
  const lines = records.map((record) => line(record, record === selected));
  const body = el('tbody', { role: 'rowgroup' }, ...lines);
  root.replaceChildren(table({ class: 'decisions' }, caption, headings, body));
  if (focused !== null) focusOn(root, focused);
}

/** Moves the focus to the row of a decision. */
export function focusOn(root, wanted) {
  const link = root.querySelector(`a[data-key="${CSS.escape(wanted)}"]`);
  link?.focus({ preventScroll: true });
  link?.closest('tr').scrollIntoView({ block: 'nearest' });
}

/** What to send where there is nothing to show yet. */
export function drawNoDecisions(root, origin, model) {
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] });
  const quoted = body.replaceAll("'", "'\\''");
  const curl =
    `curl ${origin}/v1/chat/completions \\\n` +
    `  -H 'content-type: application/json' \\\n  -d '${quoted}'`;
  root.replaceChildren(
    el('p', { class: 'empty' }, 'No decisions yet. Send a request:'),
    el('pre', { class: 'command', tabindex: '0' }, curl),
  );
}

// === a row ===

function line(record, selected) {
  const chosen = choice(record);
  const at = new Date(record.time * 1000);
  const renamed = record.targetModel !== record.model;
  const link = el(
    'a',
    {
      href: `#${encodeURIComponent(record.requestId)}`,
      'data-key': key(record),
      title: record.requestId,
    },
    record.requestId,
  );
  const time = el(
    'time',
    { class: 'under', datetime: at.toISOString() },
    at.toLocaleTimeString('en-GB'),
  );
  return row(
    { class: selected ? 'selected' : null, 'aria-current': selected ? 'true' : null },
    el('th', { scope: 'row', role: 'rowheader' }, link, time),
    cell(
      'Model',
      { class: 'model' },
      el('span', { title: record.model }, record.model || '–'),
      renamed
        ? el('span', { class: 'under', title: record.targetModel }, `→ ${record.targetModel}`)
        : null,
    ),
    cell('Endpoint', {}, chosen ? gate() : null, el('span', {}, chosen?.name ?? 'none')),
    cell('Total', { class: 'number' }, points(chosen?.total)),
    cell('Outcome', {}, ...ending(record.outcome)),
  );
}

function ending(outcome) {
  if (!outcome) return [el('span', { class: 'status running' }, 'running')];
  const cached = outcome.cachedTokens > 0 ? ` · ${count(outcome.cachedTokens)} cached` : '';
  return [
    status(outcome),
    el('span', { class: 'under' }, `${millis(outcome.durationMs)}${cached}`),
  ];
}

/** The status as a pill. */
export function status(outcome) {
  if (outcome.status === 0) return el('span', { class: 'status gone' }, 'client left');
  const good = outcome.status < 400 && outcome.end === 'completed';
  const text =
    good || outcome.end === 'completed'
      ? String(outcome.status)
      : `${outcome.status} ${outcome.end}`;
  return el('span', { class: `status ${good ? 'good' : 'bad'}` }, text);
}
