// Writes the vectors that the Solidity and the Rust threshold must both reproduce.
//
//   node testdata/vectors/threshold.mjs           writes threshold.json beside this file
//   node testdata/vectors/threshold.mjs --check   writes nothing; exits 1 if the file is stale
//
// Digests and signatures are viem's: typed data goes in as a wallet gets it, with the execution as bytes. Keys
// and everything that looks random are hashes of names.

import { readFileSync, writeFileSync } from 'node:fs';
import { concat, encodePacked, hashTypedData, keccak256, padHex, stringToHex, toHex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';

const FILE = new URL('./threshold.json', import.meta.url);
const MANAGER = '0xdb9B1e94B5b69Df7e401DDbedE43491141047dB3';
const SINGLE = padHex('0x', { size: 32 });
const BATCH = padHex('0x01', { size: 32, dir: 'right' });
const DEADLINE = 1800000000;

const CO_SIGNATURE = [
  { name: 'manager', type: 'address' },
  { name: 'delegationHash', type: 'bytes32' },
  { name: 'mode', type: 'bytes32' },
  { name: 'execution', type: 'bytes' },
  { name: 'nonce', type: 'uint256' },
  { name: 'deadline', type: 'uint40' },
];

const hashOf = (name) => keccak256(stringToHex(name));
const addressOf = (name) => `0x${hashOf(name).slice(26)}`;
const ascending = (a, b) => (BigInt(a.address ?? a) < BigInt(b.address ?? b) ? -1 : 1);
const members = Array.from({ length: 12 }, (_, i) => privateKeyToAccount(hashOf(`member ${i}`)));

const termsOf = (needed, signers) => concat([toHex(needed, { size: 1 }), ...signers]).toLowerCase();

async function agreed({ name, needed, of, by, chainId = 8453, mode = SINGLE, execution, nonce, deadline = DEADLINE }) {
  const signers = members.slice(0, of).sort(ascending);
  const enforcer = addressOf('enforcer');
  const delegationHash = hashOf(name);
  const typed = {
    domain: { name: 'ThresholdEnforcer', version: '1', chainId, verifyingContract: enforcer },
    types: { CoSignature: CO_SIGNATURE },
    primaryType: 'CoSignature',
    message: { manager: MANAGER, delegationHash, mode, execution, nonce, deadline },
  };
  const signatures = await Promise.all(by.map((index) => signers[index].signTypedData(typed)));
  return {
    name,
    enforcer,
    chainId: `${chainId}`,
    manager: MANAGER,
    delegationHash,
    mode,
    execution,
    nonce: `${nonce}`,
    deadline: `${deadline}`,
    needed: `${needed}`,
    signers: signers.map(({ address }) => address),
    terms: termsOf(
      needed,
      signers.map(({ address }) => address),
    ),
    args: concat([encodePacked(['uint256', 'uint40'], [nonce, deadline]), ...signatures]),
    digest: hashTypedData(typed),
  };
}

const CALL = concat([addressOf('target'), toHex(0, { size: 32 }), '0xa9059cbb']);
const cases = await Promise.all(
  [
    { name: 'two of three, first and second', needed: 2, of: 3, by: [0, 1], execution: CALL, nonce: 0n },
    { name: 'two of three, first and third', needed: 2, of: 3, by: [0, 2], execution: CALL, nonce: 1n },
    { name: 'two of three, second and third', needed: 2, of: 3, by: [1, 2], execution: CALL, nonce: 255n },
    { name: 'one of one', needed: 1, of: 1, by: [0], execution: CALL, nonce: 256n },
    { name: 'all of twelve', needed: 12, of: 12, by: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], execution: CALL, nonce: 7n },
    { name: 'one of twelve, the last', needed: 1, of: 12, by: [11], execution: CALL, nonce: 7n },
    { name: 'an execution of nothing', needed: 1, of: 2, by: [1], execution: '0x', nonce: 7n },
    { name: 'a batch', needed: 2, of: 3, by: [0, 1], mode: BATCH, execution: `0x${'ab'.repeat(320)}`, nonce: 7n },
    { name: 'another chain', needed: 2, of: 3, by: [0, 1], chainId: 1, execution: CALL, nonce: 7n },
    { name: 'the highest nonce and the last deadline', needed: 1, of: 3, by: [2], execution: CALL, nonce: 2n ** 256n - 1n, deadline: 2 ** 40 - 1 },
  ].map(agreed),
);

const [a, b, c] = members
  .slice(0, 3)
  .map(({ address }) => address)
  .sort(ascending);
const whole = termsOf(2, [a, b, c]);
const malformed = [
  ['nothing', '0x', 'TermsLength', [0]],
  ['nobody', '0x01', 'TermsLength', [1]],
  ['a byte short', whole.slice(0, -2), 'TermsLength', [60]],
  ['a byte too many', `${whole}00`, 'TermsLength', [62]],
  ['none needed', termsOf(0, [a, b, c]), 'Needed', [0, 3]],
  ['more needed than there are', termsOf(4, [a, b, c]), 'Needed', [4, 3]],
  ['out of order', termsOf(2, [b, a, c]), 'SignerOrder', [1]],
  ['out of order at the end', termsOf(2, [a, c, b]), 'SignerOrder', [2]],
  ['one twice', termsOf(2, [a, b, b]), 'SignerOrder', [2]],
  ['nobody among them', termsOf(1, [padHex('0x', { size: 20 }), a]), 'SignerOrder', [0]],
].map(([name, terms, error, numbers]) => ({ name, terms, error, numbers: numbers.map(String) }));

const list = (rows) => `[\n${rows.map((row) => `    ${JSON.stringify(row)}`).join(',\n')}\n  ]`;
const text = `{\n  "agreed": ${list(cases)},\n  "malformed": ${list(malformed)}\n}\n`;

if (process.argv.includes('--check')) {
  if (readFileSync(FILE, 'utf8') !== text) {
    console.error('threshold.json is stale: run node testdata/vectors/threshold.mjs');
    process.exit(1);
  }
} else {
  writeFileSync(FILE, text);
}
