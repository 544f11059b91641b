// MetaMask's side of the benchmark: the same delegation, from stdin, by the kit's own functions.
//
// Prints what it computed, for the other side to compare, and how often it did so in a second.

import '../kit/do-not-track.mjs';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { hashTypedData, verifyTypedData } from 'viem';

const kit = await import('@metamask/smart-accounts-kit');
const kitUtils = await import('@metamask/smart-accounts-kit/utils');

const subject = JSON.parse(readFileSync(0, 'utf8'));
const { delegation, context, chain, privateKey, signer, chainId, manager, rounds, milliseconds } = subject;

const typedData = () => ({
  domain: { name: 'DelegationManager', version: '1', chainId, verifyingContract: manager },
  types: kitUtils.SIGNABLE_DELEGATION_TYPED_DATA,
  primaryType: 'Delegation',
  message: kitUtils.toDelegationStruct(delegation),
});

const operations = {
  hash: () => kitUtils.hashDelegation(delegation),
  digest: () => hashTypedData(typedData()),
  decode: () => kitUtils.decodeDelegations(context),
  'decode of 3': () => kitUtils.decodeDelegations(chain),
  verify: () => verifyTypedData({ ...typedData(), address: signer, signature: delegation.signature }),
  sign: () => kit.signDelegation({ privateKey, delegation, delegationManager: manager, chainId }),
};

/** Median of several rounds, after one that only warms up. */
async function rate(work) {
  const round = async () => {
    const start = performance.now();
    let done = 0;
    while (performance.now() - start < milliseconds) {
      for (let count = 0; count < 16; count += 1) {
        const result = work();
        // A result that is there already is not waited for.
        if (result instanceof Promise) await result;
      }
      done += 16;
    }
    return (done * 1000) / (performance.now() - start);
  };
  await round();
  const rates = [];
  while (rates.length < rounds) {
    rates.push(await round());
  }
  return rates.sort((a, b) => a - b)[Math.floor(rounds / 2)];
}

const rates = {};
for (const [name, work] of Object.entries(operations)) {
  rates[name] = await rate(work);
}

const require = createRequire(import.meta.url);
const found = {
  version: require('@metamask/smart-accounts-kit/package.json').version,
  node: process.version,
  hash: operations.hash(),
  digest: operations.digest(),
  signature: await operations.sign(),
  links: operations.decode(),
  chain: operations['decode of 3'](),
  verified: await operations.verify(),
  rates,
};
process.stdout.write(`${JSON.stringify(found, (_, value) => (typeof value === 'bigint' ? value.toString() : value))}\n`);
