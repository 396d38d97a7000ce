// Says in words and rows why a decision went where it went. Pure: no DOM, no clock, no network.

/**
 * One plain sentence, or two, that explain a decision.
 *
 * @param {object} record an item of `/api/decisions`
 * @returns {string}
 */
export function explain(record) {
  const profiles = record.profiles ?? [];
  if (profiles.length === 0) return 'No profile ran for this request.';
  const sentences = profiles.map((profile) => {
    const text = explainProfile(record, profile);
    return profiles.length > 1 ? `${profile.name}: ${text}` : text;
  });
  const moved = servedElsewhere(record);
  if (moved) sentences.push(`${moved} answered in the end.`);
  return sentences.join(' ');
}

/**
 * What the profile made of each candidate: the kept ones by total, then those that filters removed.
 *
 * @param {object} record an item of `/api/decisions`
 * @param {object} profile one of its profiles
 */
export function rows(record, profile) {
  const names = shortNames(record.candidates);
  const place = new Map(profile.kept.map((candidate, at) => [candidate, at]));
  const rank = new Map(profile.chosen.map((candidate, at) => [candidate, at]));
  const removedBy = removers(record, profile);
  const all = record.candidates.map((candidate, index) => {
    const at = place.get(index);
    const kept = at !== undefined;
    return {
      candidate,
      name: names[index],
      kept,
      known: candidate.waiting != null || candidate.running != null || candidate.kvUsage != null,
      total: kept ? number(profile.totals[at]) : null,
      parts: kept ? parts(profile, at) : [],
      rank: rank.get(index) ?? null,
      removedBy: kept ? null : removedBy,
    };
  });
  return all.sort(byTotal);
}

/**
 * The profile that named the endpoint of the request: the one whose choice served it, else the
 * first that chose any.
 */
export function decisive(record) {
  const profiles = record.profiles ?? [];
  const served = record.outcome?.served;
  const chose = (profile) =>
    profile.chosen.some((index) => record.candidates[index]?.address === served);
  return (
    (served && profiles.find(chose)) ||
    profiles.find((profile) => profile.chosen.length > 0) ||
    null
  );
}

/** The endpoint that the decision put first, with its total; null when none was chosen. */
export function choice(record) {
  const profile = decisive(record);
  if (!profile) return null;
  const index = profile.chosen[0];
  const at = profile.kept.indexOf(index);
  const candidate = record.candidates[index];
  return candidate
    ? { candidate, name: shortNames(record.candidates)[index], total: profile.totals[at] ?? null }
    : null;
}

/** Ids without their namespace where that stays unambiguous. */
export function shortNames(items) {
  const ids = items.map((item) => item.endpoint ?? item.id);
  const short = ids.map((id) => id.slice(id.lastIndexOf('/') + 1));
  const count = new Map();
  for (const name of short) count.set(name, (count.get(name) ?? 0) + 1);
  return short.map((name, at) => (name !== '' && count.get(name) === 1 ? name : ids[at]));
}

/** A score or a total as the page writes it. */
export function points(value) {
  return value == null ? '–' : value.toFixed(2);
}

// === one profile ===

function explainProfile(record, profile) {
  const list = rows(record, profile);
  const kept = list.filter((row) => row.kept);
  const winner = list.find((row) => row.rank === 0);
  if (!winner) return noneChosen(profile, list, kept);
  if (kept.length === 1) return onlyOne(winner, list.length);
  if (profile.scorers.length === 0) {
    return `${profile.picker} chose ${winner.name} of ${kept.length} endpoints; no scorer ran.`;
  }
  const best = Math.max(...kept.map((row) => row.total));
  if (winner.total < best) return notTheBest(profile, winner, kept, best);
  if (/random/.test(profile.picker)) {
    return `${profile.picker} drew ${winner.name}, which also had the highest total, ${points(best)}.`;
  }
  const tied = kept.filter((row) => row.total === best);
  if (tied.length > 1) {
    return `Tie between ${tied.length} endpoints at ${points(best)}, broken at random: ${winner.name}.`;
  }
  return won(
    winner,
    kept.find((row) => row !== winner),
  );
}

function noneChosen(profile, list, kept) {
  if (list.length === 0) return 'No endpoint was there to choose from.';
  if (kept.length > 0) return `${profile.picker} chose none of ${counted(kept.length)}.`;
  return `No endpoint was left of ${list.length}: ${list[0].removedBy}.`;
}

function onlyOne(winner, candidates) {
  if (candidates === 1) return `${winner.name} was the only endpoint.`;
  return `${winner.name} was the only one of ${candidates} endpoints that the filters left.`;
}

function notTheBest(profile, winner, kept, best) {
  const first = kept.find((row) => row.total === best);
  const had = `${first.name} had ${points(best)}`;
  return `${profile.picker} chose ${winner.name} with ${points(winner.total)}, although ${had}.`;
}

function won(winner, second) {
  const gaps = winner.parts.map((part, at) => ({
    scorer: part.scorer,
    gap: part.value - second.parts[at].value,
  }));
  gaps.sort((a, b) => b.gap - a.gap);
  const most = gaps[0];
  const least = gaps.at(-1);
  const clauses = [
    `${winner.name} won with ${points(winner.total)}: ` +
      `${most.scorer} gave it ${gap(most.gap)} more than the runner-up ${second.name}`,
  ];
  if (least.gap <= -0.005) clauses[0] += `, ${least.scorer} ${gap(-least.gap)} less`;
  const queue = waiting(winner, second);
  if (queue) clauses.push(queue);
  return `${clauses.join('; ')}.`;
}

function waiting(winner, second) {
  if (!winner.known) return 'it had no fresh metrics itself';
  if (!second.known) return `${second.name} had no fresh metrics`;
  if (winner.candidate.waiting == null || second.candidate.waiting == null) return null;
  const fewer = second.candidate.waiting - winner.candidate.waiting;
  if (fewer === 0) return null;
  return `it had ${Math.abs(fewer)} ${fewer > 0 ? 'fewer' : 'more'} waiting`;
}

// === parts ===

function parts(profile, at) {
  return profile.scorers.map((scorer) => {
    const score = number(scorer.scores[at]);
    return { scorer: scorer.name, weight: scorer.weight, score, value: score * scorer.weight };
  });
}

// The record counts what each filter left, not which: only a lone remover can be named for sure.
function removers(record, profile) {
  let before = record.candidates.length;
  const names = [];
  for (const filter of profile.filters) {
    if (filter.left < before) names.push(filter.name);
    before = filter.left;
  }
  return names.length === 0 ? 'not considered' : `removed by ${names.join(' or ')}`;
}

function servedElsewhere(record) {
  const served = record.outcome?.served;
  const first = choice(record)?.candidate;
  if (!served || !first || first.address === served) return null;
  const at = record.candidates.findIndex((candidate) => candidate.address === served);
  return at < 0 ? served : shortNames(record.candidates)[at];
}

function byTotal(a, b) {
  if (a.kept !== b.kept) return a.kept ? -1 : 1;
  if (a.total !== b.total) return b.total - a.total;
  const chosen = (a.rank ?? Infinity) - (b.rank ?? Infinity);
  if (chosen < 0 || chosen > 0) return chosen;
  return a.candidate.endpoint < b.candidate.endpoint ? -1 : 1;
}

function gap(value) {
  return value < 0.005 ? 'less than 0.01' : points(value);
}

function counted(count) {
  return count === 1 ? '1 endpoint' : `${count} endpoints`;
}

function number(value) {
  return Number.isFinite(value) ? value : 0;
}
