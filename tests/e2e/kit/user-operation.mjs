// node tests/e2e/kit/user-operation.mjs <7702|hybrid|multisig>, with RPC_URL and BUNDLER_URL
//
// An owner of that kind, built by the kit, sends two UserOperations through the bundler. The first one also puts
// the account on the chain: a vault by its factory, a 7702 owner by the authorization the operation carries.

import './do-not-track.mjs';
import { createInfuraBundlerClient } from '@metamask/smart-accounts-kit';
import { http, isAddressEqual, parseEther } from 'viem';
import { entryPoint07Abi } from 'viem/account-abstraction';
import { base } from 'viem/chains';
import { KINDS, authorize, connect, environmentOf, ownerOf, recipientOf } from './owners.mjs';
import { argument, check, report, variable } from './report.mjs';

const AMOUNT = parseEther('0.1');
const FUNDS = parseEther('10');
const RECEIPT_MS = 30_000;
const POLLING_MS = 100;

// The gas is estimated with the kit's stub signature. A MultiSig account stops checking at the first signature that
// is not an owner's, so the estimate lacks what the others cost, and the bundler drops the operation
// (AA26 over verificationGasLimit) without a word to the sender.
const GAS_PER_SIGNATURE = 15_000n;
const SIGNATURES = { 7702: 1n, hybrid: 1n, multisig: 2n };

await report(async () => {
  const kind = argument(KINDS);
  const client = connect();
  const environment = await environmentOf(client);
  const { account, owner } = await ownerOf(kind, client, 'user operation');
  const recipient = recipientOf(`user operation ${kind}`);
  await client.setBalance({ address: account.address, value: FUNDS });

  // The kit's client is viem's own with one method more; it speaks to any bundler that knows that method.
  const bundler = createInfuraBundlerClient({
    client,
    chain: base,
    transport: http(variable('BUNDLER_URL')),
    pollingInterval: POLLING_MS,
  });
  const entryPoints = await bundler.getSupportedEntryPoints();
  check(
    entryPoints.some((address) => isAddressEqual(address, environment.EntryPoint)),
    `the bundler supports ${entryPoints.join(', ')}, not ${environment.EntryPoint}`,
  );

  // What the account has, its deposit at the EntryPoint included: that is where the change of prepaid gas goes.
  const wealth = async () => {
    const deposit = await client.readContract({
      address: environment.EntryPoint,
      abi: entryPoint07Abi,
      functionName: 'balanceOf',
      args: [account.address],
    });
    return deposit + (await client.getBalance({ address: account.address }));
  };

  const operate = async () => {
    const deployed = await account.isDeployed();
    const { fast } = await bundler.getUserOperationGasPrice();
    const before = { account: await wealth(), recipient: await client.getBalance({ address: recipient }) };

    const { factory } = await account.getFactoryArgs();
    const authorization = kind === '7702' && !deployed ? await authorize(client, owner, environment) : undefined;
    const operation = {
      account,
      authorization,
      calls: [{ to: recipient, value: AMOUNT }],
      maxFeePerGas: BigInt(fast.maxFeePerGas),
      maxPriorityFeePerGas: BigInt(fast.maxPriorityFeePerGas),
    };
    const gas = await bundler.estimateUserOperationGas(operation);
    const hash = await bundler.sendUserOperation({
      ...operation,
      callGasLimit: gas.callGasLimit,
      preVerificationGas: gas.preVerificationGas,
      verificationGasLimit: gas.verificationGasLimit + GAS_PER_SIGNATURE * (SIGNATURES[kind] - 1n),
    });
    const receipt = await bundler.waitForUserOperationReceipt({ hash, timeout: RECEIPT_MS });

    check(receipt.success, `the operation ${hash} failed: ${receipt.reason ?? 'no reason'}`);
    const after = { account: await wealth(), recipient: await client.getBalance({ address: recipient }) };
    const [paid, got] = [before.account - after.account, after.recipient - before.recipient];
    const cost = AMOUNT + receipt.actualGasCost;
    check(got === AMOUNT, `recipient got ${got}, expected ${AMOUNT}`);
    check(paid === cost, `the account paid ${paid}, expected amount and gas, ${cost}`);
    check(await account.isDeployed(), `the ${kind} account ${account.address} is not on the chain after its operation`);
    return {
      hash,
      transaction: receipt.receipt.transactionHash,
      deployedBefore: deployed,
      factory: factory ?? null,
      authorization: authorization?.address ?? null,
      gasUsed: receipt.actualGasUsed,
      gasCost: receipt.actualGasCost,
    };
  };

  return { kind, account: account.address, recipient, operations: [await operate(), await operate()] };
});
