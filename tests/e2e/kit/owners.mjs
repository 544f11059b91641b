// The three kinds of owner account MetaMask's kit can make, on the chain at RPC_URL.

import { Implementation, getSmartAccountsEnvironment, toMetaMaskSmartAccount } from '@metamask/smart-accounts-kit';
import { createTestClient, http, keccak256, numberToHex, publicActions, stringToHex, walletActions } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { base } from 'viem/chains';
import { check, variable } from './report.mjs';

export const KINDS = ['7702', 'hybrid', 'multisig'];

const POLLING_MS = 50;
const CONFIRMATION_MS = 20_000;

/** A client of the local chain that reads, sends and can set balances. */
export function connect() {
  return createTestClient({
    mode: 'anvil',
    chain: base,
    transport: http(variable('RPC_URL')),
    pollingInterval: POLLING_MS,
  })
    .extend(publicActions)
    .extend(walletActions);
}

/** The kit's own addresses for the chain, unmodified, after checking that this is the chain. */
export async function environmentOf(client) {
  const chainId = await client.getChainId();
  check(chainId === base.id, `the chain at RPC_URL has id ${chainId}, expected ${base.id}`);
  return getSmartAccountsEnvironment(base.id);
}

/** The key of a role: from the environment variable `name`, or one that depends on `role` only. */
export function keyOf(name, role) {
  return privateKeyToAccount(variable(name, keccak256(stringToHex(`bardo kit test key: ${role}`))));
}

/** An account that does not exist on the chain yet and can receive. */
export function recipientOf(role) {
  return privateKeyToAccount(keccak256(stringToHex(`bardo kit test recipient: ${role}`))).address;
}

/** Waits for a transaction and fails the script unless it ended as `expected`. */
export async function confirmed(client, hash, expected, what) {
  const receipt = await client.waitForTransactionReceipt({ hash, timeout: CONFIRMATION_MS });
  check(receipt.status === expected, `${what}: transaction ended as ${receipt.status}, expected ${expected}`);
  return receipt;
}

/**
 * An owner of `kind` as the kit makes it, not yet on the chain: for `7702` the account of OWNER_KEY itself, for
 * `hybrid` a vault owned by OWNER_KEY, for `multisig` two of OWNER_KEY, SECOND_OWNER_KEY and THIRD_OWNER_KEY.
 */
export async function ownerOf(kind, client, role) {
  const owner = keyOf('OWNER_KEY', `${role} ${kind} owner`);
  const deploySalt = variable('DEPLOY_SALT', numberToHex(0, { size: 32 }));

  if (kind === '7702') {
    const account = await toMetaMaskSmartAccount({
      client,
      implementation: Implementation.Stateless7702,
      address: owner.address,
      signer: { account: owner },
    });
    // A 7702 account has no factory. The kit says so by an error, which viem would not survive while it prepares
    // the operation that carries the authorization; EntryPoint v0.7 wants the field left out.
    const getFactoryArgs = async () => ({ factory: undefined, factoryData: undefined });
    return { account: { ...account, getFactoryArgs }, owner };
  }
  if (kind === 'hybrid') {
    const account = await toMetaMaskSmartAccount({
      client,
      implementation: Implementation.Hybrid,
      deployParams: [owner.address, [], [], []],
      deploySalt,
      signer: { account: owner },
    });
    return { account, owner };
  }
  const second = keyOf('SECOND_OWNER_KEY', `${role} ${kind} second owner`);
  const third = keyOf('THIRD_OWNER_KEY', `${role} ${kind} third owner`);
  const account = await toMetaMaskSmartAccount({
    client,
    implementation: Implementation.MultiSig,
    deployParams: [[owner.address, second.address, third.address], 2n],
    deploySalt,
    signer: [{ account: owner }, { account: second }],
  });
  return { account, owner };
}

/** The owner's consent to run the kit's 7702 implementation, to be carried by somebody else's transaction. */
export function authorize(client, owner, environment) {
  return client.signAuthorization({
    account: owner,
    contractAddress: environment.implementations.EIP7702StatelessDeleGatorImpl,
  });
}

/** Puts the account on the chain by a transaction that `payer` sends: the factory's call, or the authorization. */
export async function deploy({ kind, account, owner, payer, client, environment }) {
  if (await account.isDeployed()) return;
  if (kind === '7702') {
    const authorizationList = [await authorize(client, owner, environment)];
    const hash = await client.sendTransaction({ account: payer, to: payer.address, authorizationList });
    await confirmed(client, hash, 'success', '7702 authorization');
  } else {
    const { factory, factoryData } = await account.getFactoryArgs();
    const hash = await client.sendTransaction({ account: payer, to: factory, data: factoryData });
    await confirmed(client, hash, 'success', `deployment of the ${kind} account`);
  }
  check(await account.isDeployed(), `the ${kind} account ${account.address} is not on the chain after its deployment`);
}
