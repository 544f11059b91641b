// Writes the vectors that our own encoders must reproduce byte for byte, by running MetaMask's packages.
//
//   node testdata/vectors/generate.mjs           writes delegations.json beside this file
//   node testdata/vectors/generate.mjs --check   writes nothing; exits 1 and names a file that is stale
//
// Every value is made twice or more, by the kit, by delegation-core and by viem from the type strings;
// a disagreement between them stops the generator, so what is written is what all of them say.
// There is no clock and no randomness: the same packages always give the same bytes.

import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
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
  slice,
  stringToHex,
} from 'viem';
import { privateKeyToAccount } from 'viem/accounts';

// The kit reports its use to its vendor unless told not to, so this comes before it is loaded.
process.env.DO_NOT_TRACK = '1';
const core = await import('@metamask/delegation-core');
const kit = await import('@metamask/smart-accounts-kit');
const kitUtils = await import('@metamask/smart-accounts-kit/utils');

const CHAIN_IDS = [8453, 1];
const ENVIRONMENT = kit.getSmartAccountsEnvironment(8453);
const MANAGER = ENVIRONMENT.DelegationManager;
const ANY_DELEGATE = getAddress(core.ANY_BENEFICIARY);
const TEST_KEY_COUNT = 12;
const TERMS_SIZES = [0, 1, 31, 32, 33, 1000];
const ARGS_SIZES = [1, 0, 4, 31, 32, 33, 100];

const CAVEAT_TYPE = 'Caveat(address enforcer,bytes terms)';
const DELEGATION_TYPE = [
  'Delegation(address delegate,address delegator,bytes32 authority,Caveat[] caveats,uint256 salt)',
  CAVEAT_TYPE,
].join('');
const DOMAIN_TYPE = 'EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)';
const DOMAIN_FIELDS = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
];

/** Stops the generator when two of the packages disagree about `what`. */
function agree(what, values) {
  const [first, ...rest] = values.map((value) => stringify(value).toLowerCase());
  if (rest.some((value) => value !== first)) {
    throw new Error(`${what}: the packages disagree: ${values.map(stringify).join(' / ')}`);
  }
  return values[0];
}

function stringify(value) {
  return JSON.stringify(value, (_, field) => (typeof field === 'bigint' ? field.toString() : field));
}

/** A stream of bytes that depends on its name only. */
function stream(name) {
  const seed = stringToHex(`bardo vectors: ${name}`);
  let block = 0;
  const bytes = (length) => {
    let out = '0x';
    while (out.length < 2 + 2 * length) {
      out = concat([out, keccak256(concat([seed, numberToHex(block, { size: 8 })]))]);
      block += 1;
    }
    return length === 0 ? '0x' : slice(out, 0, length);
  };
  const below = (bound) => Number(BigInt(bytes(8)) % BigInt(bound));
  return { bytes, below, address: () => getAddress(bytes(20)), pick: (list) => list[below(list.length)] };
}

/** Keys 1, 2, 3, …: known to everybody, and therefore good for nothing but tests. */
const TEST_KEYS = Array.from({ length: TEST_KEY_COUNT }, (_, index) => {
  const privateKey = numberToHex(index + 1, { size: 32 });
  return { privateKey, address: privateKeyToAccount(privateKey).address };
});
const party = (index) => TEST_KEYS[index % TEST_KEYS.length].address;

// ---------------------------------------------------------------------------------------------- delegations

const domain = (chainId) => ({ name: 'DelegationManager', version: '1', chainId, verifyingContract: MANAGER });

function typeHashes() {
  return {
    delegation: agree('Delegation type hash', [core.DELEGATION_TYPEHASH, keccak256(stringToHex(DELEGATION_TYPE))]),
    caveat: agree('Caveat type hash', [core.CAVEAT_TYPEHASH, keccak256(stringToHex(CAVEAT_TYPE))]),
    domain: keccak256(stringToHex(DOMAIN_TYPE)),
  };
}

function domainSeparator(chainId, { domain: domainTypeHash }) {
  const text = (value) => keccak256(stringToHex(value));
  const fields = domain(chainId);
  return agree(`domain separator of chain ${chainId}`, [
    hashDomain({ domain: fields, types: { EIP712Domain: DOMAIN_FIELDS } }),
    keccak256(
      encodeAbiParameters(
        [{ type: 'bytes32' }, { type: 'bytes32' }, { type: 'bytes32' }, { type: 'uint256' }, { type: 'address' }],
        [domainTypeHash, text(fields.name), text(fields.version), BigInt(chainId), MANAGER],
      ),
    ),
  ]);
}

function delegationHash(delegation) {
  const struct = kitUtils.toDelegationStruct(delegation);
  return agree('delegation hash', [
    kitUtils.hashDelegation(delegation),
    core.hashDelegation(struct),
    hashStruct({ data: struct, primaryType: 'Delegation', types: kitUtils.SIGNABLE_DELEGATION_TYPED_DATA }),
  ]);
}

/** Digest and signature for one chain, signed by the delegator. */
async function digest(delegation, hash, chainId, separator) {
  const key = TEST_KEYS.find(({ address }) => address === delegation.delegator);
  const typedData = {
    domain: domain(chainId),
    types: kitUtils.SIGNABLE_DELEGATION_TYPED_DATA,
    primaryType: 'Delegation',
    message: kitUtils.toDelegationStruct(delegation),
  };
  const value = agree('digest', [hashTypedData(typedData), keccak256(concat(['0x1901', separator, hash]))]);
  const signature = agree('signature', [
    await kit.signDelegation({
      privateKey: key.privateKey,
      delegation,
      delegationManager: MANAGER,
      chainId,
      allowInsecureUnrestrictedDelegation: true,
    }),
    await privateKeyToAccount(key.privateKey).signTypedData(typedData),
  ]);
  agree('signer', [key.address, await recoverAddress({ hash: value, signature })]);
  return { chainId, manager: MANAGER, digest: value, signature, signer: key.address };
}

const enforcers = Object.values(ENVIRONMENT.caveatEnforcers);

function caveats(random, count, { termsSizes = TERMS_SIZES.slice(0, -1), argsSizes = ARGS_SIZES } = {}) {
  return Array.from({ length: count }, () => ({
    enforcer: random.pick(enforcers),
    terms: random.bytes(random.pick(termsSizes)),
    args: random.bytes(random.pick(argsSizes)),
  }));
}

const SALTS = [
  ['0', '0x0'],
  ['0, in the empty form the kit takes for it', '0x'],
  ['1', '0x1'],
  ['1, in 32 bytes', numberToHex(1, { size: 32 })],
  ['2^53 - 1', numberToHex(2n ** 53n - 1n)],
  ['2^53 + 1', numberToHex(2n ** 53n + 1n)],
  ['2^64', numberToHex(2n ** 64n)],
  ['2^128', numberToHex(2n ** 128n)],
  ['2^255', numberToHex(2n ** 255n)],
  ['2^256 - 1', numberToHex(maxUint256)],
];

/** All cases as [name, delegation without signature, what to do with the signature]. */
function* cases() {
  const root = (delegator, delegate, list, salt) => ({
    delegate,
    delegator,
    authority: core.ROOT_AUTHORITY,
    caveats: list,
    salt,
    signature: '0x',
  });
  const random = stream('delegations');

  for (let count = 0; count <= 20; count += 1) {
    const salt = [numberToHex(0), numberToHex(1), numberToHex(maxUint256), random.bytes(32)][count % 4];
    const delegate = count % 5 === 4 ? ANY_DELEGATE : random.address();
    yield [`${count} caveats`, root(party(count), delegate, caveats(random, count), salt)];
  }
  for (const size of TERMS_SIZES) {
    const list = caveats(random, 1, { termsSizes: [size], argsSizes: [0] });
    const delegation = root(party(size), random.address(), list, random.bytes(32));
    yield [`terms of ${size} bytes, empty args`, delegation];
    const withArgs = list.map((caveat) => ({ ...caveat, args: random.bytes(size + 7) }));
    yield [`the same with args of ${size + 7} bytes: the hash does not change`, { ...delegation, caveats: withArgs }];
  }
  yield ['terms of every size together', root(party(3), random.address(), TERMS_SIZES.flatMap(
    (size) => caveats(random, 1, { termsSizes: [size] }),
  ), random.bytes(32))];
  for (const [name, salt] of SALTS) {
    yield [`salt ${name}`, root(party(4), random.address(), caveats(random, 1), salt)];
  }
  for (const count of [0, 1, 3]) {
    yield [`any delegate, ${count} caveats`, root(party(5), ANY_DELEGATE, caveats(random, count), random.bytes(32))];
  }
  for (const [name, authority] of [
    ['zero', numberToHex(0, { size: 32 })],
    ['one less than root', numberToHex(maxUint256 - 1n, { size: 32 })],
    ['some hash', random.bytes(32)],
  ]) {
    const delegation = root(party(6), random.address(), caveats(random, 2), random.bytes(32));
    yield [`authority ${name}`, { ...delegation, authority }];
  }
  yield ['the same caveat twice', root(party(7), random.address(), Array(2).fill(caveats(random, 1)[0]), '0x7')];
  yield ['delegator and delegate are the same', root(party(8), party(8), caveats(random, 1), '0x8')];
  yield ['not signed', root(party(9), random.address(), caveats(random, 2), '0x9'), () => '0x'];
  yield ['signature of one byte', root(party(9), random.address(), caveats(random, 2), '0xa'), () => '0x01'];
  yield ['two signatures in one, as of a MultiSig account', root(party(9), random.address(), caveats(random, 2), '0xb'),
    ([first, second]) => concat([first, second])];
}

/** A chain of delegations, leaf first, each one's delegator being the delegate of the next. */
function chain(length, parent) {
  const random = stream(`chain of ${length}`);
  const links = parent === undefined ? [] : [parent];
  while (links.length < length) {
    const [above] = links;
    links.unshift({
      delegate: party(links.length + 1),
      delegator: party(links.length),
      authority: above === undefined ? core.ROOT_AUTHORITY : delegationHash(above),
      caveats: caveats(random, 1 + (links.length % 3), { termsSizes: [20, 32, 52] }),
      salt: random.bytes(32),
      signature: '0x',
    });
  }
  return links;
}

function encodeContext(delegations) {
  const structs = delegations.map(kitUtils.toDelegationStruct);
  const context = agree('permission context', [
    kitUtils.encodeDelegations(delegations),
    core.encodeDelegations(structs),
    encodeAbiParameters([kitUtils.DELEGATION_ARRAY_ABI_TYPE], [structs]),
  ]);
  agree('decoded permission context', [kitUtils.decodeDelegations(context).map(kitUtils.toDelegationStruct), structs]);
  return context;
}

async function delegationVectors() {
  const hashes = typeHashes();
  const separators = new Map(CHAIN_IDS.map((chainId) => [chainId, domainSeparator(chainId, hashes)]));
  const delegations = [];
  const contexts = [];

  const add = async (name, delegation, sign = ([first]) => first) => {
    const hash = delegationHash(delegation);
    const digests = [];
    for (const chainId of CHAIN_IDS) {
      digests.push(await digest(delegation, hash, chainId, separators.get(chainId)));
    }
    const signature = sign(digests.map((entry) => entry.signature));
    return delegations.push({ name, delegation: { ...delegation, signature }, hash, digests }) - 1;
  };
  const addContext = (name, indices) => {
    const context = encodeContext(indices.map((index) => delegations[index].delegation));
    contexts.push({ name, delegations: indices, context });
  };

  for (const [name, delegation, sign] of cases()) {
    await add(name, delegation, sign);
  }
  const single = (name) => addContext(`one: ${name}`, [delegations.findIndex((entry) => entry.name === name)]);
  ['0 caveats', '1 caveats', '20 caveats', 'terms of every size together', 'salt 0', 'salt 2^256 - 1',
    'any delegate, 1 caveats', 'not signed', 'signature of one byte', 'two signatures in one, as of a MultiSig account',
  ].forEach(single);

  // Links go into the list root first, so that the index of a parent is always smaller.
  for (const length of [1, 2, 3, 10]) {
    const links = chain(length);
    const indices = [];
    for (const [depth, link] of [...links].reverse().entries()) {
      indices.unshift(await add(`link ${depth + 1} of a chain of ${length}`, link));
    }
    addContext(`chain of ${length}`, indices);
    if (length === 3) {
      addContext('chain of 3, without its leaf', indices.slice(1));
      const [sibling] = chain(2, links.at(-1));
      addContext('second child of the same root', [await add('second child of a root', sibling), indices.at(-1)]);
    }
  }
  addContext('none', []);

  return {
    source: source(),
    testKeys: TEST_KEYS,
    typeStrings: { delegation: DELEGATION_TYPE, caveat: CAVEAT_TYPE, domain: DOMAIN_TYPE },
    typeHashes: hashes,
    rootAuthority: core.ROOT_AUTHORITY,
    anyDelegate: ANY_DELEGATE,
    domains: CHAIN_IDS.map((chainId) => ({
      chainId,
      manager: MANAGER,
      name: domain(chainId).name,
      version: domain(chainId).version,
      separator: separators.get(chainId),
    })),
    delegations,
    contexts,
  };
}

// ---------------------------------------------------------------------------------------------------- files

/** Which versions made a file, so that a change of one shows up as a stale file. */
function source() {
  const require = createRequire(import.meta.url);
  const names = ['@metamask/delegation-core', '@metamask/smart-accounts-kit', 'viem'];
  const versions = names.map((name) => [name, require(`${name}/package.json`).version]);
  return { generator: 'testdata/vectors/generate.mjs', packages: Object.fromEntries(versions) };
}

const FILES = { 'delegations.json': delegationVectors };

const check = process.argv.includes('--check');
const unknown = process.argv.slice(2).filter((argument) => argument !== '--check');
if (unknown.length > 0) {
  console.error(`unknown argument ${unknown[0]}; the only one is --check`);
  process.exit(2);
}

for (const [name, make] of Object.entries(FILES)) {
  const url = new URL(name, import.meta.url);
  const text = `${JSON.stringify(await make(), null, 2)}\n`;
  if (!check) {
    writeFileSync(url, text);
    continue;
  }
  let current;
  try {
    current = readFileSync(url, 'utf8');
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
  if (current !== text) {
    console.error(`stale: testdata/vectors/${name}; run: node testdata/vectors/generate.mjs`);
    process.exitCode = 1;
  }
}
