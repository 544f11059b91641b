// Writes delegations of Hybrid accounts, signed through MetaMask's kit by an owner's plain key or by his passkey.
//
//   node testdata/vectors/hybrid-owners.mjs           writes hybrid-owners.json beside this file
//   node testdata/vectors/hybrid-owners.mjs --check   writes nothing; exits 1 if the file is stale
//
// The passkey is an authenticator of ours: it answers what viem asks of `navigator.credentials.get` as a browser
// would. Its keys are known to everybody and its signatures have no randomness (RFC 6979), so that the same packages
// always give the same bytes; node:crypto checks each of them.

import { createHash, createPublicKey, verify } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { P256 } from 'ox';
import { concat, createPublicClient, custom, encodePacked, hashTypedData, keccak256, numberToHex, slice, stringToHex } from 'viem';
import { toWebAuthnAccount } from 'viem/account-abstraction';
import { privateKeyToAccount } from 'viem/accounts';

// The kit reports its use to its vendor unless told not to, so this comes before it is loaded.
process.env.DO_NOT_TRACK = '1';
const kit = await import('@metamask/smart-accounts-kit');
const kitUtils = await import('@metamask/smart-accounts-kit/utils');

const FILE = new URL('./hybrid-owners.json', import.meta.url);
const ENVIRONMENT = kit.getSmartAccountsEnvironment(8453);
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

const hashOf = (name) => keccak256(stringToHex(`bardo hybrid owners: ${name}`));
const sha256 = (...parts) => createHash('sha256').update(Buffer.concat(parts)).digest();
const bytes = (hex) => Buffer.from(hex.slice(2), 'hex');

/** A chain that is asked for nothing but its number, and for code that is not there. */
const clientOf = (chainId) =>
  createPublicClient({
    transport: custom({
      request: async ({ method }) => {
        if (method === 'eth_chainId') return numberToHex(chainId);
        if (method === 'eth_getCode') return '0x';
        throw new Error(`nobody answers ${method}`);
      },
    }),
    chain: { id: chainId, name: 'offline', nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 }, rpcUrls: { default: { http: [] } } },
  });

/** ASN.1, as authenticators write signatures. */
function der(r, s) {
  const integer = (value) => {
    const hex = numberToHex(value, { size: 32 }).slice(2).replace(/^(00)+(?=[0-9a-f]{2})/, '');
    const body = Buffer.from(parseInt(hex.slice(0, 2), 16) > 127 ? `00${hex}` : hex, 'hex');
    return Buffer.concat([Buffer.from([2, body.length]), body]);
  };
  const body = Buffer.concat([integer(r), integer(s)]);
  return Buffer.concat([Buffer.from([0x30, body.length]), body]);
}

/** What it says of a request: flags, relying party, extensions, and the order and origin of its JSON. */
const MANNERS = [
  { name: 'user present and verified', flags: 0x05 },
  { name: 'user present alone', flags: 0x01 },
  { name: 'a key that is backed up', flags: 0x1d },
  { name: 'a key that may be backed up, and is not', flags: 0x09 },
  { name: 'extensions behind its counter', flags: 0x85, tail: '0xa16363726564a1' },
  { name: 'another relying party', flags: 0x05, rp: 'wallet.example' },
  { name: 'a counter', flags: 0x05, counter: 0xfffffffe },
  { name: 'the challenge before the type', flags: 0x05, client: (challenge) => `{"challenge":"${challenge}","type":"webauthn.get","origin":"https://bardo.example"}` },
  { name: 'fields nobody knows', flags: 0x05, client: (challenge) => `{"type":"webauthn.get","challenge":"${challenge}","origin":"https://bardo.example","crossOrigin":false,"other_keys_can_be_added_here":"do not compare"}` },
  { name: 'a long origin', flags: 0x05, client: (challenge) => `{"type":"webauthn.get","challenge":"${challenge}","origin":"https://${'bardo.'.repeat(40)}example"}` },
  { name: 'a high s, which the kit mends', flags: 0x05, high: true },
  { name: 'a low s', flags: 0x05, high: false },
];

function authenticator(manner, privateKey) {
  const { x, y } = P256.getPublicKey({ privateKey });
  const point = { x: numberToHex(x, { size: 32 }), y: numberToHex(y, { size: 32 }) };
  const coordinate = (value) => bytes(value).toString('base64url');
  const publicKey = createPublicKey({
    key: { kty: 'EC', crv: 'P-256', x: coordinate(point.x), y: coordinate(point.y) },
    format: 'jwk',
  });
  const client = manner.client
    ?? ((challenge) => `{"type":"webauthn.get","challenge":"${challenge}","origin":"https://bardo.example","crossOrigin":false}`);
  const get = async ({ publicKey: { challenge } }) => {
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(manner.counter ?? 0);
    const data = Buffer.concat([
      sha256(Buffer.from(manner.rp ?? 'bardo.example')),
      Buffer.from([manner.flags]),
      counter,
      bytes(manner.tail ?? '0x'),
    ]);
    const json = Buffer.from(client(Buffer.from(challenge).toString('base64url')));
    const signed = Buffer.concat([data, sha256(json)]);
    const payload = `0x${sha256(signed).toString('hex')}`;
    const { r, s } = P256.sign({ payload, privateKey, extraEntropy: false });
    const isHigh = s > ORDER / 2n;
    const given = manner.high !== undefined && manner.high !== isHigh ? ORDER - s : s;
    const signature = der(r, given);
    if (!verify('sha256', signed, publicKey, signature)) throw new Error(`${manner.name}: node:crypto says no`);
    return { response: { clientDataJSON: json, authenticatorData: data, signature } };
  };
  return { point, get };
}

async function passkeys() {
  const vectors = [];
  for (const [index, manner] of MANNERS.entries()) {
    const privateKey = hashOf(`passkey ${index}`);
    const { point, get } = authenticator(manner, privateKey);
    const keyId = Buffer.from(hashOf(`credential ${index}`).slice(2, 34)).toString('base64url');
    const chainId = [8453, 1][index % 2];
    const account = await kit.toMetaMaskSmartAccount({
      client: clientOf(chainId),
      implementation: kit.Implementation.Hybrid,
      deployParams: [numberToHex(0, { size: 20 }), [keyId], [BigInt(point.x)], [BigInt(point.y)]],
      deploySalt: numberToHex(index, { size: 32 }),
      environment: ENVIRONMENT,
      signer: {
        keyId,
        webAuthnAccount: toWebAuthnAccount({
          credential: { id: keyId, publicKey: concat([point.x, point.y]) },
          getFn: get,
          rpId: manner.rp ?? 'bardo.example',
        }),
      },
    });
    const vector = await signedBy(account, chainId, `passkey ${index}`);
    // The account also takes a P-256 signature without a browser around it.
    const raw = P256.sign({ payload: `0x${sha256(bytes(vector.digest)).toString('hex')}`, privateKey, extraEntropy: false });
    const keyIdHash = keccak256(encodePacked(['string'], [keyId]));
    if (slice(vector.delegation.signature, 0, 32) !== keyIdHash) throw new Error('the kit names another key');
    const low = raw.s > ORDER / 2n ? ORDER - raw.s : raw.s;
    vectors.push({
      name: manner.name,
      keyId,
      keyIdHash,
      ...point,
      ...vector,
      raw: concat([keyIdHash, numberToHex(raw.r, { size: 32 }), numberToHex(low, { size: 32 })]),
    });
  }
  return vectors;
}

async function signedBy(account, chainId, name) {
  const unsigned = {
    delegate: privateKeyToAccount(hashOf(`${name} session`)).address,
    delegator: account.address,
    authority: kit.ROOT_AUTHORITY,
    caveats: [{ enforcer: ENVIRONMENT.caveatEnforcers.LimitedCallsEnforcer, terms: numberToHex(3, { size: 32 }), args: '0x' }],
    salt: hashOf(`${name} salt`),
    signature: '0x',
  };
  const digest = hashTypedData({
    domain: { name: 'DelegationManager', version: '1', chainId, verifyingContract: ENVIRONMENT.DelegationManager },
    types: kitUtils.SIGNABLE_DELEGATION_TYPED_DATA,
    primaryType: 'Delegation',
    message: kitUtils.toDelegationStruct(unsigned),
  });
  const signature = await account.signDelegation({ delegation: unsigned, chainId });
  return { chainId, manager: ENVIRONMENT.DelegationManager, digest, delegation: { ...unsigned, signature } };
}

async function keys() {
  const vectors = [];
  for (let index = 0; index < 4; index += 1) {
    const owner = privateKeyToAccount(hashOf(`owner ${index}`));
    const chainId = [8453, 1][index % 2];
    const account = await kit.toMetaMaskSmartAccount({
      client: clientOf(chainId),
      implementation: kit.Implementation.Hybrid,
      deployParams: [owner.address, [], [], []],
      deploySalt: numberToHex(index, { size: 32 }),
      environment: ENVIRONMENT,
      signer: { account: owner },
    });
    vectors.push({ owner: owner.address, ...(await signedBy(account, chainId, `owner ${index}`)) });
  }
  return vectors;
}

const [flag, ...more] = process.argv.slice(2);
if (more.length > 0 || (flag !== undefined && flag !== '--check')) {
  console.error('the only argument is --check');
  process.exit(2);
}
const fresh = `${JSON.stringify({ keys: await keys(), passkeys: await passkeys() }, null, 2)}\n`;
if (flag === undefined) {
  writeFileSync(FILE, fresh);
} else if (readFileSync(FILE, 'utf8') !== fresh) {
  console.error('stale: testdata/vectors/hybrid-owners.json; run: node testdata/vectors/hybrid-owners.mjs');
  process.exitCode = 1;
}
