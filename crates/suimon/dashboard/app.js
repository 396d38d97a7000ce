// Polls the admin API and keeps the page in step with it.

import { count, span, spark } from './dom.js';
import { drawDecisions, drawNoDecisions, focusOn, key, matching } from './decisions.js';
import { drawPicture } from './picture.js';
import { drawPools } from './pools.js';
import { Rates } from './rates.js';

const POLL_MS = 1000;
const TIMEOUT_MS = 5000;
// With more rows than this, the pools are drawn at each fifth poll only.
const MANY_ROWS = 200;
// The gateway listens here unless the pools' answer says otherwise.
const GATEWAY_PORT = 8080;

const at = (id) => document.getElementById(id);
const rates = new Rates(60);
const state = { pools: null, decisions: null, selected: null, polls: 0, listed: '', pictured: '' };

at('filter').addEventListener('input', update);
at('list').addEventListener('click', choose);
at('list').addEventListener('keydown', step);
window.addEventListener('hashchange', update);
window.addEventListener('scroll', () => (at('tip').hidden = true), { passive: true });
poll();

// === polling ===

async function poll() {
  if (document.visibilityState !== 'hidden') {
    try {
      [state.pools, state.decisions] = await Promise.all([
        read('api/pools'),
        read('api/decisions?limit=50'),
      ]);
      rates.add(state.pools);
      connection(true);
      drawHead();
      if (poolsDue()) drawPools(at('pools'), state.pools.pools, rates);
      update();
    } catch (error) {
      console.warn(error);
      connection(false);
    }
  }
  setTimeout(poll, POLL_MS);
}

async function read(path) {
  const response = await fetch(path, {
    cache: 'no-store',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (!response.ok) throw new Error(`${path} answered ${response.status}`);
  return response.json();
}

function connection(live) {
  const text = live ? 'live' : 'lost, retrying';
  if (at('connection').textContent !== text) at('connection').textContent = text;
  at('connection').classList.toggle('live', live);
  at('connection').classList.toggle('lost', !live);
  document.body.classList.toggle('old', !live);
}

function drawHead() {
  const rate = rates.now();
  at('version').textContent = state.pools.version;
  at('uptime').textContent = span(state.pools.uptimeSeconds);
  at('rate').textContent = rate === null ? '–' : `${rate < 10 ? rate.toFixed(1) : count(rate)} / s`;
  at('rate-line').replaceChildren(spark(rates.total, Math.max(1, ...rates.total), rates.slots));
}

function poolsDue() {
  state.polls += 1;
  if (selectingIn(at('pools'))) return false;
  return state.polls % 5 === 1 || at('pools').querySelectorAll('tbody tr').length <= MANY_ROWS;
}

// === decisions ===

function update() {
  if (!state.decisions) return;
  const shown = matching(state.decisions, at('filter').value);
  select(shown);
  drawList(shown);
  drawSelected();
}

// The hash names the decision to show; without one, or as `latest`, it is the newest.
function select(shown) {
  const wanted = hash();
  const newest = following();
  at('follow').setAttribute('aria-current', String(newest));
  at('sentence').setAttribute('aria-live', newest ? 'off' : 'polite');
  if (newest) {
    const held = at('detail').matches(':hover, :focus-within');
    const same =
      held && state.selected && shown.find((record) => key(record) === key(state.selected));
    state.selected = same || shown[0] || null;
    return;
  }
  const before = state.selected?.requestId === wanted ? state.selected : null;
  const again = before && state.decisions.find((record) => key(record) === key(before));
  state.selected =
    again ?? before ?? state.decisions.find((record) => record.requestId === wanted) ?? null;
}

function drawList(shown) {
  const content = JSON.stringify([shown.map(version), state.selected && key(state.selected)]);
  if (content === state.listed || selectingIn(at('list'))) return;
  state.listed = content;
  if (state.decisions.length === 0) {
    const gateway = state.pools.gateway ?? `http://${location.hostname}:${GATEWAY_PORT}`;
    drawNoDecisions(at('list'), gateway, state.pools.model ?? 'MODEL');
  } else if (shown.length === 0) {
    at('list').replaceChildren(
      Object.assign(document.createElement('p'), {
        className: 'empty',
        textContent: 'No decision matches.',
      }),
    );
  } else {
    drawDecisions(at('list'), shown, state.selected);
  }
}

function drawSelected() {
  at('picture').hidden = state.decisions.length === 0 && following();
  const content = state.selected ? version(state.selected) : `none ${hash()}`;
  if (content === state.pictured || (state.selected && selectingIn(at('picture')))) return;
  state.pictured = content;
  if (state.selected) {
    drawPicture(at('sentence'), at('detail'), at('tip'), state.selected);
    return;
  }
  at('detail').replaceChildren();
  at('sentence').textContent = following()
    ? 'No decision is selected.'
    : `Decision ${hash()} is not among the newest ${state.decisions.length}.`;
}

// A record changes once, when its outcome comes.
function version(record) {
  return `${key(record)} ${record.outcome ? 'ended' : 'running'}`;
}

// === selection ===

function choose(event) {
  const link = event.target.closest('tr')?.querySelector('a[data-key]');
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || selectingIn(at('list'))) return;
  event.preventDefault();
  go(link.getAttribute('data-key'));
}

function step(event) {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!by) return;
  const shown = matching(state.decisions ?? [], at('filter').value);
  const focused = document.activeElement?.getAttribute('data-key');
  const next = shown[shown.findIndex((record) => key(record) === focused) + by];
  event.preventDefault();
  if (next) go(key(next));
}

function go(wanted) {
  const record = state.decisions.find((one) => key(one) === wanted);
  if (!record) return;
  state.selected = record;
  history.replaceState(null, '', `#${encodeURIComponent(record.requestId)}`);
  update();
  focusOn(at('list'), wanted);
}

function following() {
  return hash() === '' || hash() === 'latest';
}

function hash() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return location.hash.slice(1);
  }
}

// Text that the reader is marking is not redrawn under the mouse.
function selectingIn(root) {
  const selection = getSelection();
  return !selection.isCollapsed && root.contains(selection.anchorNode);
}
