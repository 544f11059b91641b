// Writes the vectors that every reader of an owner's policy must agree on: its hash, and what is no policy.
//
//   node testdata/vectors/policy.mjs           writes policy.json beside this file
//   node testdata/vectors/policy.mjs --check   writes nothing; exits 1 if the file is stale
//
// Hashes and encodings are viem's, from the EIP-712 type below; nothing is taken from PolicyCage.sol. There is no clock and
// no randomness. `answer` is what `policyOf` returns; `error` is empty, or the name of the contract's error without its
// prefix. Numbers are decimal strings, everything else is hex.

import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { encodeAbiParameters, hashStruct, keccak256, maxUint64, numberToHex, toHex } from 'viem';

const require = createRequire(import.meta.url);

const FIELDS = [
  { name: 'constitutionHash', type: 'bytes32' },
  { name: 'concentrationBps', type: 'uint16' },
  { name: 'drawdownBps', type: 'uint16' },
  { name: 'spendPerTransaction', type: 'uint64' },
  { name: 'spendPerSession', type: 'uint64' },
  { name: 'spendPerDay', type: 'uint64' },
  { name: 'assets', type: 'address[]' },
];
const TYPES = { Policy: [{ name: 'golemId', type: 'bytes32' }, { name: 'version', type: 'uint64' }, ...FIELDS] };
const ANSWER = [{ type: 'tuple', components: FIELDS }, { type: 'uint64' }, { type: 'bytes32' }];

const GOLEM = keccak256(toHex('golem'));
const OTHER = keccak256(toHex('another golem'));
const assets = (count) => Array.from({ length: count }, (_, i) => numberToHex(i, { size: 20 }));

const plain = {
  constitutionHash: keccak256(toHex('Lose nothing that is not yours.\n')),
  concentrationBps: 3_000n,
  drawdownBps: 2_000n,
  spendPerTransaction: 100_000_000n,
  spendPerSession: 1_000_000_000n,
  spendPerDay: 500_000_000n,
  assets: assets(3),
};

const vectors = [];

function add(name, change = {}, { error = '', golemId = GOLEM, version = 1n } = {}) {
  const policy = { ...plain, ...change };
  const hash = hashStruct({ types: TYPES, primaryType: 'Policy', data: { golemId, version, ...policy } });
  const answer = encodeAbiParameters(ANSWER, [
    { ...policy, concentrationBps: Number(policy.concentrationBps), drawdownBps: Number(policy.drawdownBps) },
    version,
    hash,
  ]);
  vectors.push({ name, golemId, version, ...policy, hash, answer, error });
}

add('plain');
add('second version', {}, { version: 2n });
add('last version', {}, { version: maxUint64 });
add('another Golem', {}, { golemId: OTHER });
add('another constitution', { constitutionHash: keccak256(toHex('Lose nothing.')) });
add('no assets', { assets: [] });
add('one asset, the coin', { assets: assets(1) });
add('one asset, the last address', { assets: [`0x${'ff'.repeat(20)}`] });
add('as many assets as there may be', { assets: assets(32) });
add('everything', { concentrationBps: 10_000n, drawdownBps: 10_000n });
add('nothing', { concentrationBps: 0n, drawdownBps: 0n, spendPerTransaction: 0n, spendPerSession: 0n, spendPerDay: 0n });
add('one limit for all', { spendPerTransaction: maxUint64, spendPerSession: maxUint64, spendPerDay: maxUint64 });
add('a session shorter than a day', { spendPerSession: 100_000_000n });
add('no constitution', { constitutionHash: `0x${'00'.repeat(32)}` }, { error: 'NoConstitution' });
add('more than the whole in one asset', { concentrationBps: 10_001n }, { error: 'ConcentrationBps' });
add('a fall of more than the whole', { drawdownBps: 65_535n }, { error: 'DrawdownBps' });
add('a transaction over its session', { spendPerSession: 99_999_999n }, { error: 'OverSession' });
add('a transaction over its day', { spendPerDay: 99_999_999n }, { error: 'OverDay' });
add('too many assets', { assets: assets(33) }, { error: 'TooManyAssets' });
add('an asset twice', { assets: [...assets(3), assets(3)[2]] }, { error: 'NotAscending' });
add('assets the other way', { assets: assets(3).reverse() }, { error: 'NotAscending' });

const lines = vectors.map((vector) =>
  JSON.stringify(vector, (_, value) => (typeof value === 'bigint' ? value.toString() : value)),
);
const source = {
  generator: 'testdata/vectors/policy.mjs',
  packages: { viem: require('viem/package.json').version },
};
const text = `{\n"source": ${JSON.stringify(source)},\n"vectors": [\n${lines.join(',\n')}\n]\n}\n`;

const unknown = process.argv.slice(2).filter((argument) => argument !== '--check');
if (unknown.length > 0) {
  console.error(`unknown argument ${unknown[0]}; the only one is --check`);
  process.exit(2);
}
const url = new URL('policy.json', import.meta.url);
if (!process.argv.includes('--check')) {
  writeFileSync(url, text);
  console.log(`${vectors.length} vectors`);
} else if (readFileSync(url, 'utf8') !== text) {
  console.error('stale: testdata/vectors/policy.json; run: node testdata/vectors/policy.mjs');
  process.exitCode = 1;
}
