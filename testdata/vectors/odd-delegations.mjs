// Writes delegations of odd sizes, hashed, signed and put into contexts by MetaMask's packages.
//
//   node testdata/vectors/odd-delegations.mjs           writes odd-delegations.json beside this file
//   node testdata/vectors/odd-delegations.mjs --check   writes nothing; exits 1 if the file is stale
//
// Terms and args are too long to keep. The file has their lengths, and every reader makes the bytes again: those of
// caveat n of a delegation are keccak256(`<delegation's name>/<n>/terms` ‖ block as u32), block after block, cut to
// length; the same for args. Of a context it keeps length and hash. The kit, delegation-core and viem must agree.

import { readFileSync, writeFileSync } from 'node:fs';
import {
  concat,
  encodeAbiParameters,
  getAddress,
  hashDomain,
  hashStruct,
  hashTypedData,
  keccak256,
  maxUint256,
  numberToHex,
  recoverAddress,
  size,
  stringToHex,
} from 'viem';
import { privateKeyToAccount } from 'viem/accounts';

// The kit reports its use to its vendor unless told not to, so this comes before it is loaded.
process.env.DO_NOT_TRACK = '1';
const core = await import('@metamask/delegation-core');
const kit = await import('@metamask/smart-accounts-kit');
const kitUtils = await import('@metamask/smart-accounts-kit/utils');

const FILE = new URL('./odd-delegations.json', import.meta.url);
const ALONE = 120;
const CHAINS = 40;
const LONGEST_CHAIN = 5;
const MOST_CAVEATS = 40;
const SIZES = [0, 1, 3, 5, 19, 20, 31, 32, 33, 63, 65, 97, 127, 255, 257, 511, 777, 1023, 2049, 4095, 4999, 5000];
const MODEST = SIZES.filter((length) => length < 600);

const ENVIRONMENT = kit.getSmartAccountsEnvironment(8453);
const ENFORCERS = [...Object.values(ENVIRONMENT.caveatEnforcers), numberToHex(0, { size: 20 }), `0x${'ff'.repeat(20)}`]
  .map((address) => getAddress(address));
const ANY_DELEGATE = getAddress(core.ANY_BENEFICIARY);
const ZERO = getAddress(numberToHex(0, { size: 20 }));

const hashOf = (name) => keccak256(stringToHex(`bardo odd delegations: ${name}`));
const addressOf = (name) => getAddress(`0x${hashOf(name).slice(26)}`);
const draw = (name, bound) => Number(BigInt(hashOf(name)) % BigInt(bound));
const pick = (name, list) => list[draw(name, list.length)];

/** Keys 1 to 6: known to everybody. */
const KEYS = Array.from({ length: 6 }, (_, index) => numberToHex(index + 1, { size: 32 }));
const PARTIES = KEYS.map((key) => privateKeyToAccount(key).address);

const DOMAIN_FIELDS = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
];
const MANAGERS = [ENVIRONMENT.DelegationManager, addressOf('another manager'), numberToHex(1, { size: 20 })].map(
  (address) => getAddress(address),
);
const DOMAINS = [1, 8453, 42161, 42220, 84532, 11155111, 31337, Number.MAX_SAFE_INTEGER].flatMap((chainId) =>
  MANAGERS.map((manager) => {
    const fields = { name: 'DelegationManager', version: '1', chainId, verifyingContract: manager };
    return { chainId, manager, fields, separator: hashDomain({ domain: fields, types: { EIP712Domain: DOMAIN_FIELDS } }) };
  }),
);

/** Stops when two of the packages disagree about `what`. */
function agree(what, values) {
  const [first, ...rest] = values.map((value) => value.toLowerCase());
  if (rest.some((value) => value !== first)) throw new Error(`${what}: the packages disagree`);
  return first;
}

/** The bytes that every reader makes again. */
function bytesOf(name, length) {
  const blocks = [];
  for (let block = 0; block * 32 < length; block += 1) {
    blocks.push(keccak256(concat([stringToHex(name), numberToHex(block, { size: 4 })])).slice(2));
  }
  return `0x${blocks.join('').slice(0, 2 * length)}`;
}

function caveats(name, count, sizes) {
  return Array.from({ length: count }, (_, index) => [
    draw(`${name} enforcer ${index}`, ENFORCERS.length),
    pick(`${name} terms ${index}`, sizes),
    pick(`${name} args ${index}`, sizes),
  ]);
}

const SALTS = [0n, 1n, maxUint256, 2n ** 64n, 2n ** 255n];
const saltOf = (index, name) => numberToHex(SALTS[index % 8] ?? BigInt(hashOf(`${name} salt`)));

/** One delegation as the file keeps it, without what the packages say of it. */
function* alone() {
  for (let index = 0; index < ALONE; index += 1) {
    const name = `odd ${index}`;
    const delegate = [ANY_DELEGATE, ZERO, PARTIES[0]][index % 7] ?? addressOf(`${name} delegate`);
    const authority = index % 3 === 2 ? hashOf(`${name} authority`) : core.ROOT_AUTHORITY;
    const list = caveats(name, index % (MOST_CAVEATS + 1), SIZES);
    yield { name, delegate, delegator: PARTIES[index % PARTIES.length], authority, caveats: list, salt: saltOf(index, name) };
  }
}

const whole = ({ name, caveats: list, ...rest }) => ({
  ...rest,
  caveats: list.map(([enforcer, terms, args], index) => ({
    enforcer: ENFORCERS[enforcer],
    terms: bytesOf(`${name}/${index}/terms`, terms),
    args: bytesOf(`${name}/${index}/args`, args),
  })),
  signature: '0x',
});

async function judged(kept, index) {
  const delegation = whole(kept);
  const struct = kitUtils.toDelegationStruct(delegation);
  const types = kitUtils.SIGNABLE_DELEGATION_TYPED_DATA;
  const hash = agree(`hash of ${kept.name}`, [
    kitUtils.hashDelegation(delegation),
    core.hashDelegation(struct),
    hashStruct({ data: struct, primaryType: 'Delegation', types }),
  ]);
  const privateKey = KEYS[PARTIES.indexOf(kept.delegator)];
  const digests = [];
  for (const domain of [index % DOMAINS.length, (index * 7 + 5) % DOMAINS.length]) {
    const { fields, chainId, manager, separator } = DOMAINS[domain];
    const typedData = { domain: fields, types, primaryType: 'Delegation', message: struct };
    const digest = agree('digest', [hashTypedData(typedData), keccak256(concat(['0x1901', separator, hash]))]);
    const signature = agree('signature', [
      await kit.signDelegation({
        privateKey,
        delegation,
        delegationManager: manager,
        chainId,
        allowInsecureUnrestrictedDelegation: true,
      }),
      await privateKeyToAccount(privateKey).signTypedData(typedData),
    ]);
    agree('signer', [kept.delegator, await recoverAddress({ hash: digest, signature })]);
    digests.push({ domain, digest, signature });
  }
  return { kept: { ...kept, hash, digests }, signed: { ...delegation, signature: digests[0].signature } };
}

function contextOf(links) {
  const structs = links.map(kitUtils.toDelegationStruct);
  return agree('context', [
    kitUtils.encodeDelegations(links),
    core.encodeDelegations(structs),
    encodeAbiParameters([kitUtils.DELEGATION_ARRAY_ABI_TYPE], [structs]),
  ]);
}

async function made() {
  const delegations = [];
  const signed = [];
  const contexts = [];
  const add = async (kept) => {
    const one = await judged(kept, delegations.length);
    signed.push(one.signed);
    return delegations.push(one.kept) - 1;
  };
  for (const kept of alone()) await add(kept);
  for (let chain = 0; chain < CHAINS; chain += 1) {
    const indices = [];
    for (let depth = 0; depth <= chain % LONGEST_CHAIN; depth += 1) {
      const name = `chain ${chain} link ${depth}`;
      const [above] = indices;
      indices.unshift(await add({
        name,
        delegate: PARTIES[(chain + depth + 1) % PARTIES.length],
        delegator: PARTIES[(chain + depth) % PARTIES.length],
        authority: above === undefined ? core.ROOT_AUTHORITY : delegations[above].hash,
        caveats: caveats(name, draw(`${name} caveats`, 9), MODEST),
        salt: saltOf(chain + depth, name),
      }));
    }
    const context = contextOf(indices.map((index) => signed[index]));
    contexts.push({ delegations: indices, bytes: size(context), keccak: keccak256(context) });
  }
  return { delegations, contexts };
}

/** One entry a line: small, and a change shows where it is. */
function text({ delegations, contexts }) {
  const lines = (list) => list.map((entry) => `    ${JSON.stringify(entry)}`).join(',\n');
  const domains = DOMAINS.map(({ chainId, manager, separator }) => ({ chainId, manager, separator }));
  return `{
  "enforcers": [
${lines(ENFORCERS)}
  ],
  "domains": [
${lines(domains)}
  ],
  "delegations": [
${lines(delegations)}
  ],
  "contexts": [
${lines(contexts)}
  ]
}
`;
}

const [flag, ...more] = process.argv.slice(2);
if (more.length > 0 || (flag !== undefined && flag !== '--check')) {
  console.error('the only argument is --check');
  process.exit(2);
}
const fresh = text(await made());
if (flag === undefined) {
  writeFileSync(FILE, fresh);
} else if (readFileSync(FILE, 'utf8') !== fresh) {
  console.error('stale: testdata/vectors/odd-delegations.json; run: node testdata/vectors/odd-delegations.mjs');
  process.exitCode = 1;
}
