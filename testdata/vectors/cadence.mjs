// Writes the vectors that the Solidity and the Rust cadence must both reproduce.
//
//   node testdata/vectors/cadence.mjs           writes cadence.json beside this file
//   node testdata/vectors/cadence.mjs --check   writes nothing; exits 1 if the file is stale
//
// The model keeps every accepted moment in a list and counts those less than a period old; the contract looks
// at one moment of a packed ring. There is no clock, and what looks random is SHA-256 of a counter.

import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';

const FILE = new URL('./cadence.json', import.meta.url);
const START = 1767225600; // 2026-01-01T00:00:00Z
const GOLEM = createHash('sha256').update('golem').digest('hex');

const hex = (value, bytes) => value.toString(16).padStart(bytes * 2, '0');
const termsOf = (golemId, period, count) => `0x${golemId}${hex(period, 4)}${hex(count, 1)}`;

let drawn = 0;
function draw(below) {
  const digest = createHash('sha256').update(`cadence ${drawn++}`).digest();
  return digest.readUIntBE(0, 6) % below;
}

const moments = [];
const steps = [];
let now = START;

/** Asks for a redemption and writes down what a list of all moments says to it. */
function ask(name, period, count) {
  const inPeriod = moments.filter((at) => now - at < period).length;
  const accepted = inPeriod < count;
  // The moment that must grow old before there is room again, if there was one.
  const dueAt = moments.length < count ? 0 : moments[moments.length - count] + period;
  if (accepted !== now >= dueAt) throw new Error(`the model contradicts itself: ${name}`);
  if (accepted) moments.push(now);
  steps.push({ name, period: `${period}`, count: `${count}`, now: `${now}`, dueAt: `${dueAt}`, accepted });
}

const WEEK = 604800;
ask('the first of a life', WEEK, 1);
ask('a second one in the same second', WEEK, 1);
now += WEEK - 1;
ask('a second before the week is over', WEEK, 1);
now += 1;
ask('exactly a week later', WEEK, 1);
ask('the shortest period, in the second of the last', 1, 1);
now += 1;
ask('the shortest period, a second later', 1, 1);
ask('the longest period', 4294967295, 3);
ask('the longest period, with room for one more', 4294967295, 4);
ask('the highest count', 4294967295, 255);
for (let i = 0; i < 250; i++) {
  now += draw(3);
  ask('up to the highest count in one period', 4294967295, 255);
}
ask('beyond the highest count', 4294967295, 255);
for (let i = 0; i < 700; i++) {
  const period = 1 + draw([20, 600, WEEK][draw(3)]);
  const count = 1 + draw([4, 12, 255][draw(3)]);
  const edge = moments[moments.length - 1 - draw(Math.min(moments.length, 300))] + period - draw(2);
  now = draw(2) && edge > now && edge < now + 2 * WEEK ? edge : now + draw(4);
  ask('drawn', period, count);
}

const valid = [
  ['once a week', GOLEM, WEEK, 1],
  ['the least', '00'.repeat(32), 1, 1],
  ['the most', 'ff'.repeat(32), 4294967295, 255],
].map(([name, golemId, period, count]) => ({
  name,
  golemId: `0x${golemId}`,
  period: `${period}`,
  count: `${count}`,
  terms: termsOf(golemId, period, count),
}));

const whole = termsOf(GOLEM, WEEK, 1);
const malformed = [
  ...[0, 1, 32, 36].map((length) => [`${length} bytes`, whole.slice(0, 2 + 2 * length), 'TermsLength', [37, length]]),
  ...[38, 74].map((length) => [`${length} bytes`, whole.padEnd(2 + 2 * length, '0'), 'TermsLength', [37, length]]),
  ['no period', termsOf(GOLEM, 0, 1), 'ZeroPeriod', []],
  ['no count', termsOf(GOLEM, WEEK, 0), 'ZeroCount', []],
  ['neither', termsOf(GOLEM, 0, 0), 'ZeroPeriod', []],
].map(([name, terms, error, numbers]) => ({ name, terms, error, numbers: numbers.map(String) }));

const list = (rows) => `[\n${rows.map((row) => `    ${JSON.stringify(row)}`).join(',\n')}\n  ]`;
const text = `{\n  "steps": ${list(steps)},\n  "valid": ${list(valid)},\n  "malformed": ${list(malformed)}\n}\n`;

if (process.argv.includes('--check')) {
  if (readFileSync(FILE, 'utf8') !== text) {
    console.error('cadence.json is stale: run node testdata/vectors/cadence.mjs');
    process.exit(1);
  }
} else {
  writeFileSync(FILE, text);
}
