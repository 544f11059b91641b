// Writes the vectors that every reader of a charter's terms must agree on: what they say, or why they are refused.
//
//   node testdata/vectors/charter.mjs           writes charter.json beside this file
//   node testdata/vectors/charter.mjs --check   writes nothing; exits 1 if the file is stale
//
// Terms are packed by viem from the types of the layout in CharterTerms.sol and Listing.sol; what is wrong with the
// refused ones is written down here by hand. There is no clock and no randomness.
//
//   charters, listings                    every field, and the terms that say so
//   malformedCharters, malformedListings  terms, the error, and the numbers the contract's error carries
//   unknownRoles                          listings the contract takes until the target is called, and Rust never
//
// A charter's sections follow its header where `flags` has their bit; their fields are 0 where it has not. Numbers are decimal strings, everything else is hex.

import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import {
  concat,
  encodePacked,
  keccak256,
  maxUint16,
  maxUint32,
  maxUint40,
  maxUint48,
  maxUint64,
  size,
  slice,
  toHex,
} from 'viem';

const require = createRequire(import.meta.url);

const HEADER = 232;
const LISTING_HEADER = 26;
const NOBODY = `0x${'00'.repeat(20)}`;
const EVERYBODY = `0x${'ff'.repeat(20)}`;
const ALL_CLASSES = 0x3fffen;
const LAST_CLASS = 17n;
const LAST_ROLE = 10n;
const START = 1_800_000_000n;

// The local chain's addresses, where it has them.
const USDC = '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913';
const WETH = '0x4200000000000000000000000000000000000006';
const ROUTER_02 = '0x2626664c2603336e57b271c5c0b26f421741e481';
const POSITIONS = '0x03a520b32c04bf3beef7beb72e919cf822ed34f1';
const VAULT = '0x21c75182ca2f9e9fac0a39fcba1422a3d650d2bc';

const LISTING = [
  ['sequencerFeed', 'address'],
  ['sequencerGrace', 'uint32'],
];
const TOKEN = [
  ['token', 'address'],
  ['role', 'uint8'],
  ['feed', 'address'],
  ['tokenDecimals', 'uint8'],
  ['feedDecimals', 'uint8'],
  ['maxAge', 'uint32'],
];
const TARGET = [
  ['target', 'address'],
  ['role', 'uint8'],
];
const CHARTER = [
  ['golemId', 'bytes32'],
  ['owner', 'address'],
  ['epoch', 'uint16'],
  ['generation', 'uint32'],
  ['bucketMinutes', 'uint16'],
  ['slippageBps', 'uint16'],
  ['navBps', 'uint16'],
  ['account', 'address'],
  ['spendCap', 'uint64'],
  ['staleness', 'uint32'],
  ['beneficiary', 'address'],
  ['start', 'uint40'],
  ['end', 'uint40'],
  ['flags', 'uint16'],
  ['agentKey', 'address'],
  ['navCap', 'uint64'],
  ['classes', 'uint32'],
  ['vault', 'address'],
  ['gasCeiling', 'uint48'],
  ['gasDailyCap', 'uint48'],
  ['registry', 'address'],
  ['settlementAsset', 'address'],
];

// Sections, by the bit of `flags` that says they are there.
const REPLICANTS = 1n;
const ROYALTY = 2n;
const EMOTION = 4n;
const ALL_FLAGS = REPLICANTS | ROYALTY | EMOTION;
const SECTIONS = [
  [ROYALTY, [['maxRoyaltyBps', 'uint16']]],
  [
    EMOTION,
    [
      ['minPleasure', 'int8'],
      ['maxArousal', 'int8'],
      ['minDominance', 'int8'],
      ['moodClasses', 'uint32'],
    ],
  ],
];

const pack = (fields, value) =>
  encodePacked(
    fields.map(([, type]) => type),
    // viem takes small integers as numbers.
    fields.map(([name, type]) => (/^(int8|uint(8|16|32|40|48))$/.test(type) ? Number(value[name]) : value[name])),
  );

/** A listing's terms; `counts` only where they are to lie. */
function packListing(listing, counts = [listing.tokens.length, listing.targets.length]) {
  return concat([
    pack(LISTING, listing),
    toHex(counts[0], { size: 1 }),
    toHex(counts[1], { size: 1 }),
    ...listing.tokens.map((token) => pack(TOKEN, token)),
    ...listing.targets.map((target) => pack(TARGET, target)),
  ]);
}

const packHead = (charter) =>
  concat([
    pack(CHARTER, charter),
    ...SECTIONS.filter(([flag]) => charter.flags & flag).map(([, fields]) => pack(fields, charter)),
  ]);
const packCharter = (charter) => concat([packHead(charter), packListing(charter.listing)]);

/** Some address, always the same for the same word. */
const named = (word) => slice(keccak256(toHex(word)), 12);
const hashOf = (word) => keccak256(toHex(word));

// ------------------------------------------------------------------------------------------------------- listings

const listings = [];
const malformedListings = [];
const unknownRoles = [];

const NOTHING = { sequencerFeed: NOBODY, sequencerGrace: 0n, tokens: [], targets: [] };
const usdc = { token: USDC, role: 1n, feed: named('usdc / usd'), tokenDecimals: 6n, feedDecimals: 8n, maxAge: 86_400n };
const weth = { token: WETH, role: 2n, feed: named('eth / usd'), tokenDecimals: 18n, feedDecimals: 8n, maxAge: 3600n };
const coin = { token: NOBODY, role: 0n, feed: named('eth / usd'), tokenDecimals: 18n, feedDecimals: 8n, maxAge: 3600n };
const router = { target: ROUTER_02, role: 4n };
const usual = {
  sequencerFeed: named('sequencer'),
  sequencerGrace: 3600n,
  tokens: [usdc, weth],
  targets: [router, { target: POSITIONS, role: 5n }, { target: VAULT, role: 6n }, { target: named('key'), role: 8n }],
};

function listing(name, fields) {
  const value = { ...NOTHING, ...fields };
  listings.push({ name, ...value, terms: packListing(value) });
}

listing('nothing', {});
listing('a sequencer and nothing else', { sequencerFeed: named('sequencer'), sequencerGrace: 3600n });
listing('a grace of all ones', { sequencerFeed: EVERYBODY, sequencerGrace: maxUint32 });
listing('a grace without a feed', { sequencerGrace: 1n });
listing('one token', { tokens: [usdc] });
listing('one target', { targets: [router] });
listing('the chain’s own coin', { tokens: [coin] });
listing('two of each', { tokens: [usdc, weth], targets: [router, { target: USDC, role: 1n }] });
listing('the usual', usual);
listing('a token twice', { tokens: [usdc, { ...usdc, feed: named('another feed'), maxAge: 1n }] });
listing('a target twice', { targets: [router, { target: ROUTER_02, role: 1n }] });
listing('a token of all ones', {
  tokens: [{ token: EVERYBODY, role: LAST_ROLE, feed: EVERYBODY, tokenDecimals: 255n, feedDecimals: 255n, maxAge: maxUint32 }],
});
listing('a token of nothing', {
  tokens: [{ token: NOBODY, role: 0n, feed: NOBODY, tokenDecimals: 0n, feedDecimals: 0n, maxAge: 0n }],
});
for (let role = 0n; role <= LAST_ROLE; role++) listing(`a token of role ${role}`, { tokens: [{ ...usdc, role }] });
listing('a token that is a target too', { tokens: [usdc], targets: [{ target: USDC, role: 6n }] });
for (let role = 1n; role <= LAST_ROLE; role++) listing(`role ${role}`, { targets: [{ target: named('target'), role }] });
listing('every role', {
  targets: Array.from({ length: Number(LAST_ROLE) }, (_, i) => ({ target: named(`target ${i}`), role: BigInt(i + 1) })),
});
listing('as many as are counted', {
  tokens: Array.from({ length: 255 }, (_, i) => ({ ...usdc, token: named(`token ${i}`), maxAge: BigInt(i) })),
  targets: Array.from({ length: 255 }, (_, i) => ({ target: named(`target ${i}`), role: (BigInt(i) % LAST_ROLE) + 1n })),
});
listing('tokens alone, many', {
  tokens: Array.from({ length: 40 }, (_, i) => ({ ...weth, token: named(`token ${i}`), tokenDecimals: BigInt(i) })),
});
listing('targets alone, many', {
  targets: Array.from({ length: 40 }, (_, i) => ({ target: named(`target ${i}`), role: 1n })),
});

function lengthOf(terms) {
  if (size(terms) < LISTING_HEADER) return LISTING_HEADER;
  const [tokens, targets] = [slice(terms, 24, 25), slice(terms, 25, 26)].map(Number);
  return LISTING_HEADER + 47 * tokens + 21 * targets;
}

/** Refused for its length; `terms` may be cut, filled up, or lie about its counts. */
function badLength(name, terms) {
  const expected = lengthOf(terms);
  if (expected === size(terms)) throw new Error(`${name} is not malformed`);
  malformedListings.push({ name, terms, error: 'ListingLength', numbers: [expected, size(terms)] });
}

const front = (terms, length) => (length === 0 ? '0x' : slice(terms, 0, length));
const USUAL = packListing(usual);
for (const length of [0, 1, 20, 24, 25]) badLength(`${length} bytes`, front(USUAL, length));
badLength('a header of two tokens and four targets alone', front(USUAL, LISTING_HEADER));
badLength('a byte short of the first token', front(USUAL, LISTING_HEADER + 46));
badLength('cut between two tokens', front(USUAL, LISTING_HEADER + 47));
badLength('cut between tokens and targets', front(USUAL, LISTING_HEADER + 94));
badLength('without its last target', front(USUAL, size(USUAL) - 21));
badLength('a byte short', front(USUAL, size(USUAL) - 1));
badLength('a byte long', concat([USUAL, '0x00']));
badLength('a target long', concat([USUAL, pack(TARGET, router)]));
badLength('a token long', concat([USUAL, pack(TOKEN, usdc)]));
badLength('nothing, and a byte', concat([packListing(NOTHING), '0xff']));
badLength('counts a token too many', packListing(usual, [3, 4]));
badLength('counts a token too few', packListing(usual, [1, 4]));
badLength('counts a target too many', packListing(usual, [2, 5]));
badLength('counts a target too few', packListing(usual, [2, 3]));
badLength('counts the other way round', packListing(usual, [4, 2]));
badLength('counts 255 and has none', packListing(NOTHING, [255, 255]));

for (const role of [0n, LAST_ROLE + 1n, LAST_ROLE + 2n, 127n, 128n, 254n, 255n]) {
  const value = { ...NOTHING, targets: [router, { target: named('odd'), role }] };
  unknownRoles.push({ name: `role ${role}`, target: named('odd'), role, terms: packListing(value) });
}
for (const role of [LAST_ROLE + 1n, LAST_ROLE + 2n, 127n, 128n, 254n, 255n]) {
  const value = { ...NOTHING, tokens: [usdc, { ...weth, role }] };
  unknownRoles.push({ name: `a token of role ${role}`, target: WETH, role, terms: packListing(value) });
}

// ------------------------------------------------------------------------------------------------------- charters

const charters = [];
const malformedCharters = [];

const plain = {
  golemId: hashOf('golem'),
  owner: named('owner'),
  epoch: 1n,
  generation: 0n,
  bucketMinutes: 120n,
  slippageBps: 100n,
  navBps: 1000n,
  account: named('account'),
  spendCap: 1_000_000_000n,
  staleness: 86_400n,
  beneficiary: named('beneficiary'),
  start: START,
  end: START + 604_800n,
  flags: 0n,
  agentKey: named('agent key'),
  navCap: 500_000_000n,
  classes: ALL_CLASSES,
  vault: VAULT,
  gasCeiling: 50_000_000n,
  gasDailyCap: 10_000_000n,
  registry: named('registry'),
  settlementAsset: USDC,
  maxRoyaltyBps: 0n,
  minPleasure: 0n,
  maxArousal: 0n,
  minDominance: 0n,
  moodClasses: 0n,
  listing: usual,
};
const none = Object.fromEntries(
  CHARTER.map(([name, type]) => [name, type === 'bytes32' ? `0x${'00'.repeat(32)}` : type === 'address' ? NOBODY : 0n]),
);
for (const [name] of SECTIONS.flatMap(([, fields]) => fields)) none[name] = 0n;
none.listing = NOTHING;
const most = {
  ...none,
  golemId: `0x${'ff'.repeat(32)}`,
  epoch: maxUint16,
  generation: maxUint32,
  bucketMinutes: maxUint16,
  slippageBps: 10_000n,
  navBps: 10_000n,
  spendCap: maxUint64,
  staleness: maxUint32,
  start: maxUint40,
  end: maxUint40,
  flags: ALL_FLAGS,
  navCap: maxUint64,
  classes: ALL_CLASSES,
  gasCeiling: maxUint48,
  gasDailyCap: maxUint48,
  maxRoyaltyBps: 10_000n,
  minPleasure: 100n,
  maxArousal: 100n,
  minDominance: 100n,
  moodClasses: ALL_CLASSES,
};
for (const [name, type] of CHARTER) if (type === 'address') most[name] = EVERYBODY;

function charter(name, fields, base = plain) {
  const value = { ...base, ...fields };
  charters.push({ name, ...value, terms: packCharter(value) });
}

charter('the usual', {});
charter('nothing at all', {}, none);
charter('as much as there is room for', {}, most);
charter('no listing', { listing: NOTHING });
// One field at a time: nothing but it, and everything but it.
for (const [name] of CHARTER) {
  // What flags say has to be there; they have their own below.
  if (name === 'flags') continue;
  // A window of nothing but its start would be inverted, and so would all but its end.
  if (name !== 'start') charter(`only ${name}`, { [name]: most[name] }, none);
  if (name !== 'end') charter(`all but ${name}`, { [name]: none[name] }, most);
}
charter('a window of one second', { start: START, end: START });
charter('a window from the first second to the last', { start: 0n, end: maxUint40 });
charter('bounds of the whole', { slippageBps: 10_000n, navBps: 10_000n });
charter('bounds of nothing', { slippageBps: 0n, navBps: 0n });
charter('children may redeem', { flags: 1n });
charter('no class', { classes: 0n });
for (let bit = 1n; bit <= LAST_CLASS; bit++) charter(`class ${bit} alone`, { classes: 1n << bit });

const royalty = { flags: ROYALTY, maxRoyaltyBps: 2000n };
const emotion = { flags: EMOTION, minPleasure: -20n, maxArousal: 60n, minDominance: -50n, moodClasses: 1n << 1n };
const both = { ...royalty, ...emotion, flags: ROYALTY | EMOTION };
for (const base of [royalty, emotion, both]) {
  for (const flags of [base.flags, base.flags | REPLICANTS]) {
    charter(`sections of flags ${flags}`, { ...base, flags });
    charter(`sections of flags ${flags} and no listing`, { ...base, flags, listing: NOTHING });
    charter(`sections of flags ${flags} and nothing else`, { ...base, flags }, none);
  }
}
for (const maxRoyaltyBps of [0n, 1n, 255n, 256n, 10_000n]) {
  charter(`royalties of ${maxRoyaltyBps}`, { ...royalty, maxRoyaltyBps });
  charter(`royalties of ${maxRoyaltyBps} before a mood`, { ...both, maxRoyaltyBps });
}
for (const name of ['minPleasure', 'maxArousal', 'minDominance']) {
  for (const bound of [-100n, -1n, 0n, 1n, 100n]) {
    charter(`${name} of ${bound}`, { ...emotion, [name]: bound });
    charter(`only ${name} of ${bound}`, { flags: EMOTION, moodClasses: 2n, [name]: bound }, none);
  }
}
for (let bit = 1n; bit <= LAST_CLASS; bit++) charter(`a mood binds class ${bit}`, { ...both, moodClasses: 1n << bit });
charter('a mood binds all classes', { ...emotion, moodClasses: ALL_CLASSES });
charter('a mood binds what is not allowed', { ...emotion, classes: 0n });

function refused(name, terms, error, ...numbers) {
  malformedCharters.push({ name, terms, error, numbers });
}

const USUAL_CHARTER = packCharter(plain);
for (const length of [0, 1, 31, 32, 57, 58, 96, 192, 212, 231]) {
  refused(`${length} bytes`, front(USUAL_CHARTER, length), 'CharterLength', HEADER, length);
}
refused('no listing at all', front(USUAL_CHARTER, HEADER), 'ListingLength', LISTING_HEADER, 0);
refused('a listing of one byte', front(USUAL_CHARTER, HEADER + 1), 'ListingLength', LISTING_HEADER, 1);
refused('a listing without its counts', front(USUAL_CHARTER, HEADER + 24), 'ListingLength', LISTING_HEADER, 24);
for (const bad of malformedListings) {
  if (size(bad.terms) < LISTING_HEADER) continue;
  refused(`listing: ${bad.name}`, concat([pack(CHARTER, plain), bad.terms]), 'ListingLength', ...bad.numbers);
}
for (const flags of [8n, 9n, 15n, 256n, 257n, 0x8000n, maxUint16]) {
  refused(`flags ${flags}`, packCharter({ ...plain, flags }), 'UnknownBits', flags, ALL_CLASSES);
}
for (const classes of [1n, 1n << (LAST_CLASS + 1n), 1n << 31n, ALL_CLASSES + 1n, maxUint32]) {
  refused(`classes ${classes}`, packCharter({ ...plain, classes }), 'UnknownBits', 0n, classes);
}
for (const [start, end] of [
  [START + 1n, START],
  [1n, 0n],
  [maxUint40, 0n],
  [maxUint40, maxUint40 - 1n],
]) {
  refused(`a window from ${start} to ${end}`, packCharter({ ...plain, start, end }), 'InvertedWindow', start, end);
}
for (const bps of [10_001n, 10_240n, maxUint16]) {
  refused(`slippage of ${bps}`, packCharter({ ...plain, slippageBps: bps }), 'SlippageBps', bps);
  refused(`a share of ${bps}`, packCharter({ ...plain, navBps: bps }), 'NavBps', bps);
}

for (const bps of [10_001n, maxUint16]) {
  refused(`royalties of ${bps}`, packCharter({ ...plain, ...royalty, maxRoyaltyBps: bps }), 'RoyaltyBps', bps);
}
for (const name of ['minPleasure', 'maxArousal', 'minDominance']) {
  for (const bound of [-128n, -101n, 101n, 127n]) {
    refused(`${name} of ${bound}`, packCharter({ ...plain, ...both, [name]: bound }), 'MoodBound', bound);
  }
}
for (const classes of [0n, 1n, 1n << (LAST_CLASS + 1n), ALL_CLASSES + 1n, maxUint32]) {
  refused(`a mood binds ${classes}`, packCharter({ ...plain, ...both, moodClasses: classes }), 'MoodClasses', classes);
}
for (const sections of [royalty, emotion, both]) {
  const head = packHead({ ...plain, ...sections });
  const whole = concat([head, packListing(plain.listing)]);
  for (let length = HEADER; length < size(head); length++) {
    refused(`sections of flags ${sections.flags} cut at ${length}`, front(whole, length), 'CharterLength', size(head), length);
  }
  for (const more of [0, 1, 25]) {
    refused(`sections of flags ${sections.flags} and ${more} bytes`, front(whole, size(head) + more), 'ListingLength', LISTING_HEADER, more);
  }
  // What was signed without sections does not come to have them, nor the other way round.
  const claimed = concat([pack(CHARTER, { ...plain, flags: sections.flags }), packListing(NOTHING), '0x000000']);
  const bare = slice(claimed, size(head));
  if (sections === royalty) {
    refused('a royalty that is not there', claimed, 'ListingLength', lengthOf(bare), size(bare));
  }
  const denied = concat([pack(CHARTER, plain), slice(whole, HEADER)]);
  refused(`sections of flags ${sections.flags} that no flag names`, denied, 'ListingLength', lengthOf(slice(denied, HEADER)), size(denied) - HEADER);
}

// ----------------------------------------------------------------------------------------------------------- file

// The layout's lengths, counted twice.
if (size(pack(CHARTER, plain)) !== HEADER) throw new Error('a charter is not 232 bytes');
if (size(packListing(NOTHING)) !== LISTING_HEADER) throw new Error('a listing does not start with 26 bytes');
const lists = [...listings, ...charters.map((value) => ({ name: value.name, terms: slice(value.terms, size(packHead(value))) }))];
for (const { name, terms } of lists) {
  if (lengthOf(terms) !== size(terms)) throw new Error(`${name} is malformed`);
}

const { version } = require('viem/package.json');
const source = { generator: 'testdata/vectors/charter.mjs', packages: { viem: version } };
const rows = (vectors) =>
  `[\n${vectors
    .map((vector) =>
      JSON.stringify(vector, (_, value) => (['bigint', 'number'].includes(typeof value) ? value.toString() : value)),
    )
    .join(',\n')}\n]`;
const sections = { charters, malformedCharters, listings, malformedListings, unknownRoles };
const body = Object.entries(sections).map(([name, vectors]) => `"${name}": ${rows(vectors)}`);
const text = `{\n"source": ${JSON.stringify(source)},\n${body.join(',\n')}\n}\n`;

const unknown = process.argv.slice(2).filter((argument) => argument !== '--check');
if (unknown.length > 0) {
  console.error(`unknown argument ${unknown[0]}; the only one is --check`);
  process.exit(2);
}
const url = new URL('charter.json', import.meta.url);
if (!process.argv.includes('--check')) {
  writeFileSync(url, text);
  console.log(Object.entries(sections).map(([name, vectors]) => `${vectors.length} ${name}`).join(', '));
} else if (readFileSync(url, 'utf8') !== text) {
  console.error('stale: testdata/vectors/charter.json; run: node testdata/vectors/charter.mjs');
  process.exitCode = 1;
}
