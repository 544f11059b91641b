// Writes bequests that our code must open: sealed by code that is not ours.
//
//   node testdata/vectors/bequest.mjs           writes bequest.json beside this file
//   node testdata/vectors/bequest.mjs --check   writes nothing; exits 1 if the file is stale
//
// ECDH and HKDF are node's own (OpenSSL), XChaCha20-Poly1305 is of @noble/ciphers, which comes with viem, and so is what a
// signature of a grant says about its key. Keys, nonces and texts are hashes of names.

import { createECDH, hkdfSync } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { xchacha20poly1305 } from '@noble/ciphers/chacha';
import { hexToBytes, keccak256, stringToHex, toHex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';

const FILE = new URL('./bequest.json', import.meta.url);
const hashOf = (name) => keccak256(stringToHex(name));
const bytesOf = (hex) => Buffer.from(hexToBytes(hex));

function party(secret) {
  const ecdh = createECDH('secp256k1');
  ecdh.setPrivateKey(bytesOf(secret));
  return { ecdh, point: ecdh.getPublicKey(null, 'compressed') };
}

function bequest({ name, text }) {
  const secret = hashOf(`owner of ${name}`);
  const owner = privateKeyToAccount(secret).address;
  const golem = hashOf(`golem of ${name}`);
  const [heir, once] = [party(secret), party(hashOf(`ephemeral of ${name}`))];
  const nonce = bytesOf(hashOf(`nonce of ${name}`)).subarray(0, 24);
  const plain = Buffer.from(text, 'utf8');
  const length = Buffer.alloc(8);
  length.writeBigUInt64BE(BigInt(plain.length));
  const header = Buffer.concat([
    Buffer.from('BARDOBEQ', 'latin1'),
    Buffer.from([1]),
    bytesOf(golem),
    bytesOf(owner),
    length,
    once.point,
    nonce,
  ]);
  const info = Buffer.concat([Buffer.from('bardo bequest, version 1\n', 'latin1'), once.point, heir.point]);
  const key = new Uint8Array(hkdfSync('sha256', once.ecdh.computeSecret(heir.point), Buffer.alloc(0), info, 32));
  const sealed = xchacha20poly1305(key, new Uint8Array(nonce), new Uint8Array(header)).encrypt(new Uint8Array(plain));
  return { name, secret, owner, golem, plain: toHex(plain), sealed: toHex(Buffer.concat([header, sealed])) };
}

const vectors = [
  { name: 'nothing', text: '' },
  { name: 'a letter', text: 'a' },
  { name: 'a block and a letter', text: 'x'.repeat(65) },
  { name: 'words', text: 'what it learned, in words: ünïcödé, and a line\n' },
  { name: 'many blocks', text: 'line of a log\n'.repeat(200) },
].map(bequest);

const text = `{\n  "bequests": [\n${vectors.map((row) => `    ${JSON.stringify(row)}`).join(',\n')}\n  ]\n}\n`;

if (process.argv.includes('--check')) {
  if (readFileSync(FILE, 'utf8') !== text) {
    console.error('bequest.json is stale: run node testdata/vectors/bequest.mjs');
    process.exit(1);
  }
} else {
  writeFileSync(FILE, text);
}
