// node tests/e2e/kit/delegation.mjs <7702|hybrid|multisig>, with RPC_URL
//
// An owner of that kind grants a session key a native allowance for one recipient, made and signed by the kit;
// the session key redeems it by plain transactions. What is inside the grant arrives, what is outside is refused.

import './do-not-track.mjs';
import { ExecutionMode, ScopeType, createDelegation, createExecution } from '@metamask/smart-accounts-kit';
import { DelegationManager } from '@metamask/smart-accounts-kit/contracts';
import { decodeRevertReason, hashDelegation } from '@metamask/smart-accounts-kit/utils';
import { numberToHex, parseEther } from 'viem';
import { KINDS, confirmed, connect, deploy, environmentOf, keyOf, ownerOf, recipientOf } from './owners.mjs';
import { argument, check, report } from './report.mjs';

const ALLOWANCE = parseEther('0.3');
const FIRST = parseEther('0.2');
const REST = ALLOWANCE - FIRST;
const FUNDS = parseEther('10');

const REFUSALS = {
  allowance: 'NativeTokenTransferAmountEnforcer:allowance-exceeded',
  target: 'AllowedTargetsEnforcer:target-address-not-allowed',
  redeemer: 'InvalidDelegate()',
};

// Enough for a redemption that reverts, so that it is mined instead of failing at the gas estimate.
const GAS = 1_000_000n;

await report(async () => {
  const kind = argument(KINDS);
  const client = connect();
  const environment = await environmentOf(client);
  const { account, owner } = await ownerOf(kind, client, 'delegation');
  const session = keyOf('SESSION_KEY', `delegation ${kind} session`);
  const stranger = keyOf('STRANGER_KEY', `delegation ${kind} stranger`);
  const recipient = recipientOf(`delegation ${kind}`);
  for (const address of [account.address, session.address, stranger.address]) {
    await client.setBalance({ address, value: FUNDS });
  }
  await deploy({ kind, account, owner, payer: session, client, environment });

  // A salt of its own for every run on the same chain: the allowance of an earlier run is used up.
  const salt = numberToHex(await client.getBlockNumber({ cacheTime: 0 }), { size: 32 });
  const unsigned = createDelegation({
    environment,
    from: account.address,
    to: session.address,
    scope: { type: ScopeType.NativeTokenTransferAmount, maxAmount: ALLOWANCE },
    caveats: [{ type: 'allowedTargets', targets: [recipient] }],
    salt,
  });
  const delegation = { ...unsigned, signature: await account.signDelegation({ delegation: unsigned }) };

  const redemption = (target, value) => ({
    to: environment.DelegationManager,
    data: DelegationManager.encode.redeemDelegations({
      delegations: [[delegation]],
      modes: [ExecutionMode.SingleDefault],
      executions: [[createExecution({ target, value })]],
    }),
  });
  const balances = async () => ({
    account: await client.getBalance({ address: account.address }),
    recipient: await client.getBalance({ address: recipient }),
  });

  const redeemed = async (value) => {
    const before = await balances();
    const hash = await client.sendTransaction({ account: session, ...redemption(recipient, value) });
    const receipt = await confirmed(client, hash, 'success', `redemption of ${value}`);
    const after = await balances();
    const [paid, got] = [before.account - after.account, after.recipient - before.recipient];
    check(got === value, `recipient got ${got}, expected ${value}`);
    check(paid === value, `owner paid ${paid}, expected ${value}`);
    return { value, gasUsed: receipt.gasUsed };
  };

  const refused = async (what, sender, target, value, expected) => {
    const call = { account: sender, ...redemption(target, value) };
    let reason;
    try {
      await client.call(call);
    } catch (error) {
      reason = decodeRevertReason(error)?.message ?? String(error);
    }
    check(reason === expected, `${what}: expected the refusal ${expected}, got ${reason ?? 'no refusal'}`);

    const before = await balances();
    await confirmed(client, await client.sendTransaction({ ...call, gas: GAS }), 'reverted', what);
    const after = await balances();
    const moved = after.account !== before.account || after.recipient !== before.recipient;
    check(!moved, `${what}: money moved all the same`);
    return { what, reason };
  };

  const first = await redeemed(FIRST);
  const refusals = [
    await refused('past the allowance', session, recipient, REST + 1n, REFUSALS.allowance),
    await refused('another target', session, session.address, 1n, REFUSALS.target),
    await refused('another redeemer', stranger, recipient, 1n, REFUSALS.redeemer),
  ];
  const rest = await redeemed(REST);

  return {
    kind,
    account: account.address,
    session: session.address,
    recipient,
    delegationHash: hashDelegation(delegation),
    caveats: delegation.caveats.length,
    signatureBytes: (delegation.signature.length - 2) / 2,
    redemptions: [first, rest],
    refusals,
  };
});
