// Elements and number formats. Text enters the page only through textContent: names of models,
// endpoints and requests are whatever a client sent.

const SVG = 'http://www.w3.org/2000/svg';
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

/** An element with attributes and children; strings become text nodes, null is skipped. */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  return fill(node, attributes, children);
}

/** The same for SVG. */
export function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  return fill(node, attributes, children);
}

/** A table part that keeps its role when the narrow layout turns it into a block. */
export function row(attributes, ...cells) {
  return el('tr', { role: 'row', ...attributes }, ...cells);
}

/** A cell; `label` is its column's heading, shown where the head row is not. */
export function cell(label, attributes, ...children) {
  return el('td', { role: 'cell', 'data-label': label, ...attributes }, ...children);
}

/** A table with its head row. */
export function table(attributes, caption, headings, body) {
  const heads = headings.map((heading) =>
    el('th', { scope: 'col', role: 'columnheader', class: heading.class }, heading.text),
  );
  return el(
    'table',
    { role: 'table', ...attributes },
    caption,
    el('thead', { role: 'rowgroup' }, el('tr', { role: 'row' }, ...heads)),
    body,
  );
}

/** A bar of `share` (0..=1) of its track. */
export function bar(share, kind) {
  const filled = el('span', { class: 'fill' });
  filled.style.width = `${(100 * Math.min(1, Math.max(0, share || 0))).toFixed(2)}%`;
  return el('span', { class: `bar ${kind}`, 'aria-hidden': 'true' }, filled);
}

/** The floodgate that marks what was chosen. */
export function gate(label) {
  const use = svg('use', { href: '#gate' });
  const attributes = label
    ? { class: 'gate', role: 'img', 'aria-label': label }
    : { class: 'gate', 'aria-hidden': 'true' };
  return svg('svg', { viewBox: '0 0 16 16', ...attributes }, use);
}

/** A line of the last values on a common scale. */
export function spark(values, top, slots) {
  const width = 100;
  const height = 24;
  const step = width / (slots - 1);
  const from = slots - values.length;
  const x = (at) => ((from + at) * step).toFixed(1);
  const y = (value) => (height - 1 - (value / (top || 1)) * (height - 3)).toFixed(1);
  const line = values.map((value, at) => `${x(at)},${y(value)}`).join(' ');
  const area = values.length > 1 ? `${x(0)},${height} ${line} ${width},${height}` : '';
  return svg(
    'svg',
    {
      class: 'spark',
      viewBox: `0 0 ${width} ${height}`,
      preserveAspectRatio: 'none',
      'aria-hidden': 'true',
    },
    svg('line', { class: 'axis', x1: 0, x2: width, y1: height, y2: height }),
    svg('polygon', { points: area }),
    svg('polyline', { points: line }),
  );
}

/** 1234 as `1.2K`; unknown as a dash. */
export function count(value) {
  return value == null ? '–' : compact.format(value);
}

/** 0.134 as `13%`. */
export function percent(share) {
  return share == null ? '–' : `${Math.round(share * 100)}%`;
}

/** Milliseconds in the unit that reads best. */
export function millis(value) {
  if (value == null) return '–';
  if (value < 10) return `${value.toFixed(1)} ms`;
  if (value < 1000) return `${Math.round(value)} ms`;
  return value < 60_000 ? `${(value / 1000).toFixed(1)} s` : span(value / 1000);
}

/** Seconds as `2 d 3 h`, `4 min 5 s`. */
export function span(seconds) {
  const days = Math.floor(seconds / 86_400);
  const hours = Math.floor(seconds / 3_600) % 24;
  const minutes = Math.floor(seconds / 60) % 60;
  if (days > 0) return `${days} d ${hours} h`;
  if (hours > 0) return `${hours} h ${minutes} min`;
  if (minutes > 0) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(seconds)} s`;
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value != null && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child != null));
  return node;
}
