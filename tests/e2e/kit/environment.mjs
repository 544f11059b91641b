// node tests/e2e/kit/environment.mjs, with RPC_URL
//
// Shows that the kit, unmodified, finds the Delegation Framework at the addresses it knows for Base.

import './do-not-track.mjs';
import {
  DelegationManager,
  EIP7702StatelessDeleGator,
  HybridDeleGator,
  MultiSigDeleGator,
} from '@metamask/delegation-abis';
import { hashDomain, isAddressEqual } from 'viem';
import { base } from 'viem/chains';
import { connect, environmentOf } from './owners.mjs';
import { check, report } from './report.mjs';

// The bytecode npm has of this one is older than what stands at the address, so the local chain leaves it out.
const LEFT_OUT = ['SpecificActionERC20TransferBatchEnforcer'];

const IMPLEMENTATION_ABIS = {
  EIP7702StatelessDeleGatorImpl: EIP7702StatelessDeleGator,
  HybridDeleGatorImpl: HybridDeleGator,
  MultiSigDeleGatorImpl: MultiSigDeleGator,
};

/** Every contract of the environment as [name, address]. */
function contracts({ implementations, caveatEnforcers, ...single }) {
  return [...Object.entries(single), ...Object.entries(implementations), ...Object.entries(caveatEnforcers)];
}

async function manager(client, environment) {
  const read = (functionName) =>
    client.readContract({ address: environment.DelegationManager, abi: DelegationManager, functionName });
  const [name, version, domainVersion, domainHash] = await Promise.all(
    ['NAME', 'VERSION', 'DOMAIN_VERSION', 'getDomainHash'].map(read),
  );
  const expected = hashDomain({
    domain: { name, version: domainVersion, chainId: base.id, verifyingContract: environment.DelegationManager },
    types: {
      EIP712Domain: [
        { name: 'name', type: 'string' },
        { name: 'version', type: 'string' },
        { name: 'chainId', type: 'uint256' },
        { name: 'verifyingContract', type: 'address' },
      ],
    },
  });
  check(name === 'DelegationManager', `DelegationManager calls itself ${name}`);
  check(version === '1.3.0', `DelegationManager has version ${version}, expected 1.3.0`);
  check(domainHash === expected, `DelegationManager's domain hash is ${domainHash}, expected ${expected}`);
  return { address: environment.DelegationManager, name, version, domainVersion, domainHash };
}

async function implementation(client, environment, name, address) {
  const read = (functionName) => client.readContract({ address, abi: IMPLEMENTATION_ABIS[name], functionName });
  const [domainName, version, entryPoint, delegationManager] = await Promise.all(
    ['NAME', 'VERSION', 'entryPoint', 'delegationManager'].map(read),
  );
  check(isAddressEqual(entryPoint, environment.EntryPoint), `${name}: entryPoint() is ${entryPoint}`);
  check(
    isAddressEqual(delegationManager, environment.DelegationManager),
    `${name}: delegationManager() is ${delegationManager}`,
  );
  return { address, name: domainName, version, entryPoint, delegationManager };
}

await report(async () => {
  const client = connect();
  const environment = await environmentOf(client);

  const all = contracts(environment);
  const codes = await Promise.all(all.map(([, address]) => client.getCode({ address })));
  const missing = all.filter((_, index) => codes[index] === undefined).map(([name]) => name);
  const unexpected = missing.filter((name) => !LEFT_OUT.includes(name));
  check(unexpected.length === 0, `no code at the address of ${unexpected.join(', ')}`);

  const names = Object.keys(environment.implementations);
  check(
    names.every((name) => name in IMPLEMENTATION_ABIS),
    `the kit knows an implementation this script does not: ${names.join(', ')}`,
  );
  const implementations = {};
  for (const [name, address] of Object.entries(environment.implementations)) {
    implementations[name] = await implementation(client, environment, name, address);
  }
  return {
    chainId: base.id,
    contracts: all.length,
    withCode: all.length - missing.length,
    withoutCode: missing,
    delegationManager: await manager(client, environment),
    implementations,
  };
});
