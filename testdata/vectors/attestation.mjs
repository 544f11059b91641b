// Writes the vectors that every reader of a Golem's attestation must agree on: what is signed, and why one is refused.
//
//   node testdata/vectors/attestation.mjs           writes attestation.json beside this file
//   node testdata/vectors/attestation.mjs --check   writes nothing; exits 1 if the file is stale
//
// Hashes and signatures are viem's, from the EIP-712 type below; nothing is taken from GolemAttestations.sol. There is no
// clock and no randomness: keys are hashes of names, and signatures are deterministic (RFC 6979).
//
//   held     attestations by plain keys, a second at which they hold, their hashes and both signatures
//   refused  the same with the error, and the numbers the contract's error carries
//
// In every row the registries agree with the attestation. Numbers are decimal strings, everything else is hex.

import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import {
  concat,
  encodeAbiParameters,
  hashStruct,
  hashTypedData,
  hexToBigInt,
  keccak256,
  maxUint256,
  maxUint64,
  numberToHex,
  size,
  slice,
  toHex,
} from 'viem';
import { privateKeyToAccount } from 'viem/accounts';

const require = createRequire(import.meta.url);

const TYPES = {
  GolemAttestation: [
    { name: 'golemId', type: 'bytes32' },
    { name: 'owner', type: 'address' },
    { name: 'agentKey', type: 'address' },
    { name: 'account', type: 'address' },
    { name: 'registry', type: 'address' },
    { name: 'identityRegistry', type: 'address' },
    { name: 'agentId', type: 'uint256' },
    { name: 'issuedAt', type: 'uint64' },
    { name: 'expiresAt', type: 'uint64' },
  ],
};
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const MAX_S = ORDER / 2n;
const START = 1_800_000_000n;
const NOBODY = `0x${'00'.repeat(20)}`;

// Where the contract and the registries stand is made up; ERC-8004's are the public ones.
const CONTRACT = slice(keccak256(toHex('GolemAttestations')), 12);
const REGISTRY = slice(keccak256(toHex('GolemRegistry')), 12);
const IDENTITIES = '0x8004a169fb4a3325136eb29fa0ceb6d2e539a432';
const TEST_IDENTITIES = '0x8004a818bfb912233c491871b3d84c89a494bd9e';

const key = (name) => privateKeyToAccount(keccak256(toHex(name)));
const owner = key('owner');
const agent = key('agent');
const stranger = key('stranger');
const addressOf = ({ address }) => address.toLowerCase();
const golemIdOf = (who, salt) =>
  keccak256(encodeAbiParameters([{ type: 'address' }, { type: 'bytes32' }], [addressOf(who), salt]));

const plain = {
  golemId: golemIdOf(owner, toHex('golem', { size: 32 })),
  owner: addressOf(owner),
  agentKey: addressOf(agent),
  account: NOBODY,
  registry: REGISTRY,
  identityRegistry: IDENTITIES,
  agentId: 22n,
  issuedAt: START,
  expiresAt: START + 86_400n,
};
const base = { chainId: 8453n, verifyingContract: CONTRACT };

const domainOf = ({ chainId, verifyingContract }) => ({
  name: 'GolemAttestations',
  version: '1',
  chainId: Number(chainId),
  verifyingContract,
});

const typed = (place, message) => ({
  domain: domainOf(place),
  types: TYPES,
  primaryType: 'GolemAttestation',
  message,
});

async function row(name, message, now, { place = base, signers = [owner, agent] } = {}) {
  const [ownerSignature, agentSignature] = await Promise.all(
    signers.map((signer) => signer.signTypedData(typed(place, message))),
  );
  return {
    name,
    ...base,
    ...place,
    nowAt: now,
    attestation: message,
    structHash: hashStruct({ types: TYPES, primaryType: 'GolemAttestation', data: message }),
    digest: hashTypedData(typed(place, message)),
    ownerSignature,
    agentSignature,
  };
}

// ----------------------------------------------------------------------------------------------------------- held

const held = [];
const holds = async (name, change, now = START, options = {}) =>
  held.push(await row(name, { ...plain, ...change }, now, options));

await holds('an identity of the owner, in its first second', {});
await holds('its last second', {}, START + 86_400n);
await holds('one second only', { expiresAt: START });
await holds('no identity', { identityRegistry: NOBODY, agentId: 0n });
await holds('the first identity there is', { agentId: 0n });
await holds('the last identity there could be', { agentId: maxUint256 });
await holds('the owner is the account', { account: addressOf(owner) });
await holds('from the beginning to the end of time', { issuedAt: 0n, expiresAt: maxUint64 });
for (const [name, chainId, identityRegistry] of [
  ['Ethereum', 1n, IDENTITIES],
  ['Celo', 42220n, IDENTITIES],
  ['Arbitrum', 42161n, IDENTITIES],
  ['Base Sepolia', 84532n, TEST_IDENTITIES],
  ['Sepolia', 11155111n, TEST_IDENTITIES],
]) {
  await holds(`on ${name}`, { identityRegistry }, START, { place: { ...base, chainId } });
}
await holds('of another contract', {}, START, { place: { ...base, verifyingContract: slice(keccak256(toHex('another')), 12) } });
for (let i = 0; i < 16; i += 1) {
  const salt = keccak256(toHex(`salt ${i}`));
  await holds(`another Golem, ${i}`, {
    golemId: golemIdOf(owner, salt),
    agentId: hexToBigInt(salt),
    registry: slice(salt, 0, 20),
    expiresAt: START + BigInt(i) ** 5n,
  });
}

// -------------------------------------------------------------------------------------------------------- refused

const refused = [];
const refuses = async (name, error, numbers, { change = {}, now = START, spoil = {}, ...options } = {}) =>
  refused.push({
    ...(await row(name, { ...plain, ...change }, now, options)),
    ...spoil,
    error,
    numbers: numbers.map(BigInt),
  });

await refuses('a second before it begins', 'NotYetIssued', [START, START - 1n], { now: START - 1n });
await refuses('a second after it ended', 'Expired', [START + 86_400n, START + 86_401n], { now: START + 86_401n });
await refuses('it ends before it begins', 'InvertedWindow', [START, START - 1n], { change: { expiresAt: START - 1n } });
await refuses('an id without a registry', 'NoIdentityRegistry', [1n], {
  change: { identityRegistry: NOBODY, agentId: 1n },
});
await refuses('a stranger for the owner', 'OtherSigner', [stranger.address, owner.address], {
  signers: [stranger, agent],
});
await refuses('a stranger for the key', 'OtherSigner', [stranger.address, agent.address], {
  signers: [owner, stranger],
});
await refuses('the key for the owner', 'OtherSigner', [agent.address, owner.address], { signers: [agent, owner] });

const good = await row('', plain, START);
for (const who of ['owner', 'agent']) {
  const field = `${who}Signature`;
  const signature = good[field];
  const [r, s, v] = [slice(signature, 0, 32), hexToBigInt(slice(signature, 32, 64)), slice(signature, 64)];
  const spoilt = (name, error, numbers, bytes) => refuses(`${name} of the ${who}`, error, numbers, { spoil: { [field]: bytes } });
  await spoilt('no signature', 'Length', [65n, 0n], '0x');
  await spoilt('a compact signature', 'Length', [65n, 64n], slice(signature, 0, 64));
  await spoilt('a signature with a byte too many', 'Length', [65n, 66n], concat([signature, '0x00']));
  await spoilt('a signature wrapped by ERC-6492', 'Length', [65n, size(wrapped(signature))], wrapped(signature));
  await spoilt(
    'the other half of the curve',
    'HighS',
    [ORDER - s, MAX_S],
    concat([r, numberToHex(ORDER - s, { size: 32 }), v === '0x1b' ? '0x1c' : '0x1b']),
  );
  for (const wrong of [0, 1, 26, 29]) {
    const last = numberToHex(wrong, { size: 1 });
    await spoilt(`a v of ${wrong}`, 'RecoveryId', [BigInt(wrong)], concat([slice(signature, 0, 64), last]));
  }
  await spoilt('zeroes', 'NoSigner', [hexToBigInt(good.digest)], concat([toHex(0, { size: 64 }), '0x1b']));
}

/** A signature of an account yet to be deployed: (factory, what to call it with, signature), and the magic word. */
function wrapped(signature) {
  const inner = encodeAbiParameters(
    [{ type: 'address' }, { type: 'bytes' }, { type: 'bytes' }],
    [CONTRACT, '0xdeadbeef', signature],
  );
  return concat([inner, `0x${'6492'.repeat(16)}`]);
}

// ----------------------------------------------------------------------------------------------------------- file

const { version } = require('viem/package.json');
const source = { generator: 'testdata/vectors/attestation.mjs', packages: { viem: version } };
const decimal = (_, value) => (typeof value === 'bigint' ? value.toString() : value);
const rows = (vectors) => `[\n${vectors.map((vector) => JSON.stringify(vector, decimal)).join(',\n')}\n]`;
const sections = { held, refused };
const body = Object.entries(sections).map(([name, vectors]) => `"${name}": ${rows(vectors)}`);
const text = `{\n"source": ${JSON.stringify(source)},\n${body.join(',\n')}\n}\n`;

const unknown = process.argv.slice(2).filter((argument) => argument !== '--check');
if (unknown.length > 0) {
  console.error(`unknown argument ${unknown[0]}; the only one is --check`);
  process.exit(2);
}
const url = new URL('attestation.json', import.meta.url);
if (!process.argv.includes('--check')) {
  writeFileSync(url, text);
  console.log(Object.entries(sections).map(([name, vectors]) => `${vectors.length} ${name}`).join(', '));
} else if (readFileSync(url, 'utf8') !== text) {
  console.error('stale: testdata/vectors/attestation.json; run: node testdata/vectors/attestation.mjs');
  process.exitCode = 1;
}
