// Writes the vectors that the Solidity and the Rust spend window must both reproduce, bit for bit.
//
//   node testdata/vectors/spend-window.mjs           writes spend-window.json beside this file
//   node testdata/vectors/spend-window.mjs --check   writes nothing; exits 1 if the file is stale
//
// The model shares no code and no method with either: it keeps a list of entries instead of shifted bits,
// and beside it every spend with its second and its exact amount, against which each sequence is checked.
// There is no clock, and what looks random is SHA-256 of a counter: the same bytes every time.

import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';

const FILE = new URL('./spend-window.json', import.meta.url);
const FULL = 32767n;
const LAST_BUCKET = 33554431n;
const LONGEST = 16383n;
const HOUR = 3600n;
const START = 1767225600n; // 2026-01-01T00:00:00Z

/** Names and widths of the word's fields, highest bit first. */
const FIELDS = [
  ['epoch', 16],
  ['scale', 6],
  ['minutes', 14],
  ['newest', 25],
  ...Array.from({ length: 13 }, (_, i) => [12 - i, 15]),
];

class Refusal extends Error {
  constructor(verdict, ...numbers) {
    super(verdict);
    this.numbers = numbers;
  }
}

/** The word as binary digits. */
function toWord({ entries, ...head }) {
  const digits = FIELDS.map(([field, width]) => {
    const value =
      typeof field === 'string'
        ? head[field]
        : entries.filter(({ age }) => age === BigInt(field)).reduce((sum, { units }) => sum + units, 0n);
    const text = value.toString(2);
    if (text.length > width) throw new Error(`field ${field} does not hold ${value}`);
    return text.padStart(width, '0');
  });
  return `0x${BigInt(`0b${digits.join('')}`).toString(16).padStart(64, '0')}`;
}

function fromWord(word) {
  const digits = BigInt(word).toString(2).padStart(256, '0');
  const state = { entries: [] };
  let at = 0;
  for (const [field, width] of FIELDS) {
    const value = BigInt(`0b${digits.slice(at, at + width)}`);
    at += width;
    if (typeof field === 'string') state[field] = value;
    else state.entries.push({ age: BigInt(field), units: value });
  }
  return state;
}

const sum = (entries) => entries.reduce((all, { units }) => all + units, 0n);
const ceilDiv = (a, b) => (a % b === 0n ? a / b : a / b + 1n);
const least = (a, b) => (a < b ? a : b);

/** Entries still live, with their age in buckets of the grid they were made on. */
function live(state, now) {
  if (state.minutes === 0n) return state.entries;
  const bucket = now / (state.minutes * 60n);
  if (bucket < state.newest) throw new Refusal('TimeWentBack', bucket, state.newest);
  return state.entries
    .map(({ age, units }) => ({ age: age + bucket - state.newest, units }))
    .filter(({ age }) => age <= 12n);
}

function scaleOf(cap) {
  let scale = 0n;
  while (cap / 2n ** scale > FULL) scale += 1n;
  return scale;
}

/** The state as of now under the terms of a step, before anything is spent. */
function current(state, { cap, minutes, epoch, now }) {
  if (cap === 0n) throw new Refusal('ZeroCap');
  if (minutes < 1n || minutes > LONGEST) throw new Refusal('BucketLength', minutes, LONGEST);
  if (epoch < state.epoch) throw new Refusal('StaleEpoch', epoch, state.epoch);
  const grid = epoch === state.epoch && state.minutes > minutes ? state.minutes : minutes;
  const newest = now / (grid * 60n);
  if (newest > LAST_BUCKET) throw new Refusal('TimeOutOfRange', newest, LAST_BUCKET);

  let entries = live(state, now);
  if (grid !== state.minutes) entries = [{ age: 0n, units: least(sum(entries), FULL) }];
  let scale = scaleOf(cap);
  if (scale >= state.scale) {
    const by = 2n ** (scale - state.scale);
    const ages = [...new Set(entries.map(({ age }) => age))];
    entries = ages.map((age) => ({ age, units: ceilDiv(sum(entries.filter((e) => e.age === age)), by) }));
  } else {
    const by = 2n ** (state.scale - scale);
    if (sum(entries) * by > FULL) scale = state.scale;
    else entries = entries.map(({ age, units }) => ({ age, units: units * by }));
  }
  return { epoch, scale, minutes: grid, newest, entries };
}

/** Plays one step; `exact` is the list of everything that was accepted, or null after a foreign word. */
function play(name, before, step, exact) {
  const state = fromWord(before);
  const row = { name, before, ...step };
  try {
    const next = current(state, step);
    const unit = 2n ** next.scale;
    const room = step.cap / unit - sum(next.entries);
    row.spent = sum(live(state, step.now)) * 2n ** state.scale;
    row.remaining = room > 0n ? room * unit : 0n;
    const units = ceilDiv(step.amount, unit);
    if (units > 0n && units > room) {
      throw new Refusal('OverCap', sum(next.entries) * unit, step.amount, step.cap);
    }
    next.entries.push({ age: 0n, units });
    row.verdict = 'ok';
    row.numbers = [];
    row.next = toWord(next);
    if (exact) note(name, exact, step);
  } catch (refusal) {
    if (!(refusal instanceof Refusal)) throw refusal;
    row.spent ??= 0n;
    row.remaining ??= 0n;
    row.verdict = refusal.message;
    row.numbers = refusal.numbers;
    row.next = before;
  }
  return row;
}

/** Adds an accepted step and stops the generator if any window that ends here is over the cap. */
function note(name, exact, { amount, cap, minutes, epoch, now }) {
  const last = exact.at(-1);
  const grid = last && last.epoch === epoch && last.grid > minutes ? last.grid : minutes;
  exact.push({ amount, grid, epoch, now });
  if (amount === 0n) return;
  let inWindow = 0n;
  let shortest = grid;
  for (const past of exact.toReversed()) {
    shortest = least(shortest, past.grid);
    if (now - past.now <= 12n * 60n * shortest) inWindow += past.amount;
  }
  if (inWindow > cap) throw new Error(`${name}: ${inWindow} in one period, cap ${cap}`);
}

const ZERO = `0x${'0'.repeat(64)}`;
const rows = [];

/** Plays steps one after the other; each gives what differs from the one before it. */
function sequence(name, steps, word = ZERO) {
  const exact = word === ZERO ? [] : null;
  let step = { amount: 0n, cap: 20000n, minutes: 120n, epoch: 1n, now: START };
  for (const change of steps) {
    const given = typeof change === 'function' ? change(word, step) : change;
    step = { ...step, ...given };
    const row = play(name, word, step, exact);
    rows.push(row);
    word = row.next;
  }
}

const DAY_GRID = START - (START % (2n * HOUR));
const foreign = (fields) =>
  toWord({
    epoch: 1n,
    scale: 0n,
    minutes: 120n,
    newest: DAY_GRID / (2n * HOUR),
    ...fields,
    entries: (fields.buckets ?? []).map((units, i) => ({ age: BigInt(i), units })),
  });

sequence('up to the cap and not one more', [
  { amount: 19999n },
  { amount: 2n },
  { amount: 1n },
  { amount: 1n },
  { amount: 0n },
]);
sequence('spent in the first second of a bucket: free after 13 buckets', [
  { now: DAY_GRID, amount: 20000n },
  { now: DAY_GRID + 24n * HOUR, amount: 1n },
  { now: DAY_GRID + 26n * HOUR - 1n, amount: 1n },
  { now: DAY_GRID + 26n * HOUR, amount: 20000n },
]);
sequence('spent in the last second of a bucket: free one second after the period', [
  { now: DAY_GRID + 2n * HOUR - 1n, amount: 20000n },
  { now: DAY_GRID + 26n * HOUR - 1n, amount: 1n },
  { now: DAY_GRID + 26n * HOUR, amount: 20000n },
]);
sequence(
  'a little in every bucket: one frees at a time',
  Array.from({ length: 16 }, (_, i) => ({ now: DAY_GRID + BigInt(i) * 2n * HOUR, amount: 1538n })),
);
sequence('long silence', [{ amount: 20000n }, { now: START + 10n ** 9n, amount: 20000n }]);
for (const cap of [1n, FULL, FULL + 1n, FULL + 2n, 65535n, 65536n, 10n ** 8n, 2n ** 63n, 2n ** 64n - 1n]) {
  const unit = 2n ** scaleOf(cap);
  const whole = (cap / unit) * unit;
  sequence(`rounding under a cap of ${cap}`, [
    { cap, amount: cap },
    { amount: whole },
    { now: START + 26n * HOUR, amount: 1n },
    { amount: whole - unit + 1n },
    { amount: whole - unit },
    { amount: 1n },
    { amount: 0n },
  ]);
}
sequence(
  'amounts that no number type of money holds',
  [2n ** 64n - 1n, 2n ** 64n, 2n ** 128n, 2n ** 255n, 2n ** 256n - 1n].flatMap((amount) => [
    { cap: 20000n, amount },
    { cap: 2n ** 64n - 1n, amount },
  ]),
);
sequence('epochs', [
  { epoch: 7n, amount: 5n },
  { epoch: 6n, amount: 1n },
  { epoch: 0n, amount: 0n },
  { epoch: 7n, amount: 5n },
  { epoch: 8n, amount: 0n },
  { epoch: 7n, amount: 5n },
  { epoch: 65535n, amount: 20000n },
  { epoch: 65535n, amount: 19990n },
  { epoch: 65534n, amount: 1n },
]);
sequence('time goes back', [
  { now: START + 2n * HOUR, amount: 1n },
  { now: START + 2n * HOUR - 1n, amount: 1n },
  { now: 0n, amount: 0n },
  { now: START, minutes: 240n, amount: 1n },
  { now: START + 2n * HOUR, minutes: 120n, amount: 1n },
]);
sequence('where the index ends', [
  { minutes: 1n, now: 2n ** 25n * 60n - 1n, amount: 1n },
  { now: 2n ** 25n * 60n, amount: 1n },
  { now: 2n ** 64n - 1n, amount: 0n },
  { minutes: 2n, now: 2n ** 25n * 60n, amount: 1n },
  { minutes: 16383n, now: 2n ** 25n * 60n * 16383n - 1n, amount: 1n },
  { now: 2n ** 25n * 60n * 16383n, amount: 1n },
]);
sequence('malformed terms', [
  { cap: 0n, amount: 0n },
  { cap: 1n, minutes: 0n },
  { minutes: 16384n },
  { minutes: 65535n },
  { cap: 0n, minutes: 0n },
  { cap: 1n, minutes: 16383n, amount: 1n },
]);
sequence('a smaller cap after the larger is spent, and the larger again', [
  { cap: 2n ** 40n, amount: 2n ** 39n },
  { cap: 1000n, epoch: 2n, amount: 1n },
  { amount: 0n },
  { now: START + HOUR, amount: 0n },
  { cap: 2n ** 40n, epoch: 3n, amount: 2n ** 39n + 1n },
  { amount: 2n ** 38n },
  { amount: 2n ** 38n + 1n },
]);
sequence('a finer scale that everything fits', [
  { cap: 2n ** 20n, amount: 10000n },
  { now: START + 2n * HOUR, amount: 10001n },
  { cap: 30000n, epoch: 2n, amount: 0n },
  { amount: 10000n },
  { amount: 9500n },
]);
sequence('a finer scale that is full to the last unit, and one more', [
  { cap: 65535n, amount: 32766n },
  { cap: 32767n, amount: 0n },
  { cap: 65535n, amount: 2n },
  { cap: 32767n, amount: 0n },
  { cap: 65535n, amount: 32766n },
]);
sequence('a coarser scale rounds every bucket up', [
  ...Array.from({ length: 13 }, (_, i) => ({ now: DAY_GRID + BigInt(i) * 2n * HOUR, amount: 3n })),
  { cap: 2n ** 17n, amount: 0n },
  { cap: 2n ** 64n - 1n, amount: 0n },
  { cap: 20000n, amount: 0n },
]);
sequence('a longer grid takes everything along', [
  { minutes: 10n, amount: 7000n },
  { now: START + 90n * 60n, amount: 7000n },
  { now: START + 120n * 60n, minutes: 20n, amount: 6000n },
  { amount: 1n },
  { now: START + 120n * 60n + 240n * 60n, amount: 1n },
  { now: START + 120n * 60n + 260n * 60n, amount: 20000n },
]);
sequence('a shorter grid waits for a new epoch', [
  { minutes: 120n, amount: 20000n },
  { minutes: 1n, amount: 0n },
  { now: START + 13n * 60n, minutes: 1n, amount: 1n },
  { minutes: 120n, amount: 1n },
  { minutes: 1n, epoch: 2n, amount: 1n },
  { amount: 0n },
  { now: START + 25n * 60n, amount: 1n },
  { now: START + 26n * 60n, amount: 20000n },
]);

// Words that no sequence leads to must be read alike all the same.
const allFull = foreign({ buckets: Array(13).fill(FULL) });
const gridless = foreign({ minutes: 0n, buckets: [1n, 2n, 3n, ...Array(9).fill(0n), 994n] });
const coarsest = foreign({ scale: 63n, buckets: [2n, 1n] });
sequence('thirteen full buckets on another grid', [{ minutes: 240n }, { cap: 2n ** 20n }], allFull);
sequence(
  'thirteen full buckets at every scale',
  [{ cap: 32767n }, { cap: 2n ** 20n }, { cap: 2n ** 64n - 1n }, { cap: 1n }],
  allFull,
);
sequence('a word without a grid keeps what it holds', [{ amount: 1n }, { amount: 19000n }], gridless);
sequence(
  'the coarsest scale a word can name',
  [{ cap: 2n ** 64n - 1n, amount: 1n }, { now: START + 26n * HOUR, amount: 1n }],
  coarsest,
);
sequence(
  'all bits set',
  [
    { epoch: 1n },
    { epoch: 65535n },
    { minutes: 16383n, now: 2n ** 25n * 60n * 16383n - 1n, amount: 1n },
    { amount: 0n },
  ],
  `0x${'f'.repeat(64)}`,
);

/** Numbers from a name: SHA-256 of it and a counter. */
function dice(name) {
  let count = 0;
  const roll = (below) => {
    const hash = createHash('sha256').update(`${name} ${count++}`).digest('hex');
    return BigInt(`0x${hash}`) % below;
  };
  return { roll, pick: (...of) => of[Number(roll(BigInt(of.length)))] };
}

/** Amounts around what is left, so that both verdicts come often. */
function amountNear({ roll, pick }, word, step) {
  let left = 0n;
  try {
    const next = current(fromWord(word), step);
    left = (step.cap / 2n ** next.scale - sum(next.entries)) * 2n ** next.scale;
  } catch (refusal) {
    if (!(refusal instanceof Refusal)) throw refusal;
  }
  left = left > 0n ? left : 0n;
  const atEdge = pick(0n, left, left + 1n, left > 0n ? left - 1n : 1n);
  const anywhere = pick(roll(left + 2n), roll(step.cap + 1n) / 8n, roll(step.cap) / 50n + 1n);
  return pick(atEdge, anywhere);
}

function random(name, length, { regrant, minutes, caps }) {
  const fate = dice(name);
  const { roll, pick } = fate;
  let epoch = roll(3n);
  sequence(
    name,
    Array.from({ length }, (_, i) => (word, last) => {
      const step = i === 0 ? { ...last, epoch, minutes: pick(...minutes), cap: pick(...caps) } : { ...last };
      const length = step.minutes * 60n;
      const within = pick(0n, 1n, roll(60n), length - 1n, length);
      const beyond = pick(roll(length), roll(3n * length), 11n * length + roll(3n * length));
      step.now += pick(within, beyond);
      if (roll(40n) === 0n) step.now -= 2n * length;
      if (regrant && roll(4n) === 0n) {
        epoch += roll(3n) === 0n ? 0n : 1n;
        step.epoch = epoch;
        step.minutes = pick(...minutes);
        step.cap = pick(...caps);
      } else if (regrant && roll(12n) === 0n && epoch > 0n) {
        step.epoch = epoch - 1n;
      } else {
        step.epoch = epoch;
      }
      return { ...step, amount: amountNear(fate, word, step) };
    }),
  );
}

const EDGES = [1n, 100n, 32767n, 32768n, 2n ** 64n - 1n];
const PERIODS = [1n, 7n, 840n, 16383n];
const NEARBY = [60n, 90n, 120n, 121n, 840n];
const DOLLARS = [5_000_000n, 100_000_000n, 2_500_000_000n, 999_999_999_999n];
for (let i = 0; i < 3; i++) {
  random(`a day, one grant, ${i}`, 30, { regrant: false, minutes: [120n], caps: DOLLARS });
  random(`another period, one grant, ${i}`, 20, { regrant: false, minutes: PERIODS, caps: EDGES });
  random(`same grid, new grants, ${i}`, 30, { regrant: true, minutes: [120n], caps: [...DOLLARS, ...EDGES] });
  random(`new grids, new grants, ${i}`, 40, { regrant: true, minutes: NEARBY, caps: [...DOLLARS, 30000n] });
}

const text = `{
  "steps": [
${rows
  .map(({ name, before, amount, cap, minutes, epoch, now, verdict, numbers, next, spent, remaining }) =>
    JSON.stringify({
      name,
      before,
      amount: `${amount}`,
      cap: `${cap}`,
      bucketMinutes: `${minutes}`,
      epoch: `${epoch}`,
      now: `${now}`,
      verdict,
      numbers: numbers.map(String),
      next,
      spent: `${spent}`,
      remaining: `${remaining}`,
    }),
  )
  .map((line) => `    ${line}`)
  .join(',\n')}
  ]
}
`;

if (process.argv.includes('--check')) {
  if (readFileSync(FILE, 'utf8') !== text) {
    console.error('spend-window.json is stale: run node testdata/vectors/spend-window.mjs');
    process.exit(1);
  }
} else {
  writeFileSync(FILE, text);
}
