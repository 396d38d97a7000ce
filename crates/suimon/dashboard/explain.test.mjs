// Run with `node --test crates/suimon/dashboard/`.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { choice, decisive, explain, points, rows, shortNames } from './explain.js';

const sample = JSON.parse(
  readFileSync(new URL('../tests/data/dashboard/decisions.json', import.meta.url), 'utf8'),
);
const named = (end) => sample.find((record) => record.requestId.endsWith(end));

// A record of one profile; `scores` is a list a scorer, a score a kept endpoint.
function record({
  kept,
  scorers = [],
  chosen,
  filters = [],
  picker = 'max-score-picker',
  loads,
  served,
}) {
  const totals = kept.map((_, at) =>
    scorers.reduce((sum, one) => sum + one.weight * one.scores[at], 0),
  );
  return {
    candidates: loads.map((waiting, at) => ({
      endpoint: `default/sim-${at}`,
      address: `127.0.0.1:${8101 + at}`,
      waiting,
      running: waiting === null ? null : 1,
      kvUsage: waiting === null ? null : 0.1,
      inFlight: 0,
    })),
    profiles: [{ name: 'default', kept, filters, scorers, totals, picker, chosen }],
    outcome: served ? { served } : undefined,
  };
}

const scorer = (name, weight, ...scores) => ({ name, weight, scores });

test('a win names the scorer that made it and the queue', () => {
  const won = record({
    kept: [0, 1],
    scorers: [scorer('queue-scorer', 2, 0, 0.75), scorer('prefix-cache-scorer', 3, 0.1, 0.9)],
    chosen: [1],
    loads: [3, 0],
  });
  assert.equal(
    explain(won),
    'sim-1 won with 4.20: prefix-cache-scorer gave it 2.40 more than the runner-up sim-0; it had 3 fewer waiting.',
  );
});

test('a win tells what spoke against it', () => {
  const won = record({
    kept: [0, 1],
    scorers: [scorer('queue-scorer', 2, 1, 0.5), scorer('prefix-cache-scorer', 3, 0, 1)],
    chosen: [1],
    loads: [0, 2],
  });
  assert.equal(
    explain(won),
    'sim-1 won with 4.00: prefix-cache-scorer gave it 3.00 more than the runner-up sim-0, queue-scorer 1.00 less; it had 2 more waiting.',
  );
});

test('a win by a hair is not told as 0.00', () => {
  const won = record({
    kept: [0, 1],
    scorers: [scorer('queue-scorer', 1, 0.501, 0.5)],
    chosen: [0],
    loads: [1, 1],
  });
  assert.match(explain(won), /less than 0\.01 more than the runner-up sim-1\.$/);
});

test('a runner-up without metrics is told', () => {
  const won = record({
    kept: [0, 1],
    scorers: [scorer('queue-scorer', 2, 0.5, 0)],
    chosen: [0],
    loads: [1, null],
  });
  assert.match(explain(won), /; sim-1 had no fresh metrics\.$/);
  assert.deepEqual(
    rows(won, won.profiles[0]).map((row) => row.known),
    [true, false],
  );
});

test('a winner without metrics is told too', () => {
  const won = record({
    kept: [0, 1],
    scorers: [scorer('prefix-cache-scorer', 3, 1, 0)],
    chosen: [0],
    loads: [null, 2],
  });
  assert.match(explain(won), /; it had no fresh metrics itself\.$/);
});

test('a tie is a tie, with the drawn one first', () => {
  const tie = named('tie');
  assert.equal(explain(tie), 'Tie between 3 endpoints at 7.00, broken at random: sim-1.');
  assert.deepEqual(
    rows(tie, tie.profiles[0]).map((row) => row.name),
    ['sim-1', 'sim-0', 'sim-2'],
  );
});

test('a weighted draw does not claim that the best won', () => {
  const scorers = [scorer('queue-scorer', 2, 1, 0.5)];
  const picker = 'weighted-random-picker';
  const low = record({ kept: [0, 1], scorers, picker, chosen: [1], loads: [0, 1] });
  const high = record({ kept: [0, 1], scorers, picker, chosen: [0], loads: [0, 1] });
  assert.equal(
    explain(low),
    'weighted-random-picker chose sim-1 with 1.00, although sim-0 had 2.00.',
  );
  assert.equal(
    explain(high),
    'weighted-random-picker drew sim-0, which also had the highest total, 2.00.',
  );
});

test('without scorers there is no total to speak of', () => {
  const drawn = record({ kept: [0, 1], picker: 'random-picker', chosen: [1], loads: [0, 0] });
  assert.equal(explain(drawn), 'random-picker chose sim-1 of 2 endpoints; no scorer ran.');
});

test('one endpoint left, one endpoint at all, none', () => {
  const scorers = [scorer('queue-scorer', 2, 1)];
  const filters = [{ name: 'lora-filter', left: 1 }];
  const left = record({ kept: [1], scorers, filters, chosen: [1], loads: [0, 0] });
  assert.equal(explain(left), 'sim-1 was the only one of 2 endpoints that the filters left.');
  const alone = record({ kept: [0], scorers, chosen: [0], loads: [0] });
  assert.equal(explain(alone), 'sim-0 was the only endpoint.');
  const none = record({
    kept: [],
    filters: [{ name: 'lora-filter', left: 0 }],
    chosen: [],
    loads: [0, 0],
  });
  assert.equal(explain(none), 'No endpoint was left of 2: removed by lora-filter.');
  assert.equal(choice(none), null);
  assert.equal(
    explain(record({ kept: [], chosen: [], loads: [] })),
    'No endpoint was there to choose from.',
  );
});

test('removed endpoints name their filter, or those that it may have been', () => {
  const filters = [
    { name: 'keeps-all', left: 3 },
    { name: 'a', left: 2 },
    { name: 'b', left: 1 },
  ];
  const two = record({ kept: [2], filters, chosen: [2], loads: [0, 0, 0] });
  assert.deepEqual(
    rows(two, two.profiles[0]).map((row) => row.removedBy),
    [null, 'removed by a or b', 'removed by a or b'],
  );
});

test('an endpoint that served in place of the choice is named', () => {
  assert.match(explain(named('filtered')), / sim-2 answered in the end\.$/);
  assert.doesNotMatch(explain(named('prefix')), /in the end/);
});

test('several profiles are told by name; the one that served decides', () => {
  const record = named('disaggregated');
  assert.match(explain(record), /^decode: sim-2 won .* prefill: sim-1 won /);
  assert.equal(decisive(record).name, 'decode');
  assert.equal(choice(record).name, 'sim-2');
});

test('parts sum to the totals of the samples', () => {
  for (const record of sample) {
    for (const profile of record.profiles) {
      for (const row of rows(record, profile).filter((one) => one.kept)) {
        const sum = row.parts.reduce((total, part) => total + part.value, 0);
        assert.ok(Math.abs(sum - row.total) < 1e-4, `${record.requestId} ${row.name}`);
      }
    }
  }
});

test('names are cut only where they stay apart', () => {
  const ids = ['a/one', 'b/one', 'b/two', '127.0.0.1:80'].map((endpoint) => ({ endpoint }));
  assert.deepEqual(shortNames(ids), ['a/one', 'b/one', 'two', '127.0.0.1:80']);
});

test('a missing number is a dash', () => {
  assert.equal(points(null), '–');
  assert.equal(points(5.4), '5.40');
});
