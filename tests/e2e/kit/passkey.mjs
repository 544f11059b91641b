// node tests/e2e/kit/passkey.mjs, with RPC_URL
//
// A Hybrid account owned by a passkey alone grants a session key a native allowance, made and signed by the kit; the
// session key redeems it. The passkey is an authenticator of ours: node:crypto has the key and signs. Answers with what
// a verifier needs: the account, its key, the signed delegation, and a bare P-256 signature over the same digest.

import './do-not-track.mjs';
import { ExecutionMode, Implementation, ScopeType, createDelegation, createExecution, toMetaMaskSmartAccount } from '@metamask/smart-accounts-kit';
import { DelegationManager } from '@metamask/smart-accounts-kit/contracts';
import { SIGNABLE_DELEGATION_TYPED_DATA, toDelegationStruct } from '@metamask/smart-accounts-kit/utils';
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { bytesToHex, concat, encodePacked, hashTypedData, hexToBytes, keccak256, numberToHex, parseEther, slice } from 'viem';
import { toWebAuthnAccount } from 'viem/account-abstraction';
import { confirmed, connect, environmentOf, keyOf, recipientOf } from './owners.mjs';
import { check, report } from './report.mjs';

const RELYING_PARTY = 'bardo.example';
const FUNDS = parseEther('10');
const ALLOWANCE = parseEther('0.1');
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

const sha256 = (bytes) => createHash('sha256').update(bytes).digest();

/** Answers as a browser does that asked its user and was allowed. */
const answer = (privateKey) => async ({ publicKey: { challenge } }) => {
  const clientDataJSON = Buffer.from(
    `{"type":"webauthn.get","challenge":"${Buffer.from(challenge).toString('base64url')}","origin":"https://${RELYING_PARTY}","crossOrigin":false}`,
  );
  const authenticatorData = Buffer.concat([sha256(RELYING_PARTY), Buffer.from([0x05, 0, 0, 0, 1])]);
  const signature = sign('sha256', Buffer.concat([authenticatorData, sha256(clientDataJSON)]), privateKey);
  return { response: { clientDataJSON, authenticatorData, signature } };
};

/** keyIdHash ‖ r ‖ s, with the s that the account takes. */
function bare(keyIdHash, digest, key) {
  const raw = bytesToHex(sign('sha256', hexToBytes(digest), { key, dsaEncoding: 'ieee-p1363' }));
  const s = BigInt(slice(raw, 32));
  return concat([keyIdHash, slice(raw, 0, 32), numberToHex(s > ORDER / 2n ? ORDER - s : s, { size: 32 })]);
}

await report(async () => {
  const client = connect();
  const environment = await environmentOf(client);
  const chainId = await client.getChainId();
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const jwk = publicKey.export({ format: 'jwk' });
  const [x, y] = [jwk.x, jwk.y].map((coordinate) => bytesToHex(Buffer.from(coordinate, 'base64url')));
  const keyId = 'bardo-kit-passkey';
  const account = await toMetaMaskSmartAccount({
    client,
    implementation: Implementation.Hybrid,
    deployParams: [numberToHex(0, { size: 20 }), [keyId], [BigInt(x)], [BigInt(y)]],
    deploySalt: numberToHex(0, { size: 32 }),
    signer: {
      keyId,
      webAuthnAccount: toWebAuthnAccount({
        credential: { id: keyId, publicKey: concat([x, y]) },
        getFn: answer(privateKey),
        rpId: RELYING_PARTY,
      }),
    },
  });
  const session = keyOf('SESSION_KEY', 'passkey session');
  const recipient = recipientOf('passkey');
  for (const address of [account.address, session.address]) await client.setBalance({ address, value: FUNDS });
  const { factory, factoryData } = await account.getFactoryArgs();
  const deployed = await client.sendTransaction({ account: session, to: factory, data: factoryData });
  await confirmed(client, deployed, 'success', 'deployment of the account');

  const unsigned = createDelegation({
    environment,
    from: account.address,
    to: session.address,
    scope: { type: ScopeType.NativeTokenTransferAmount, maxAmount: ALLOWANCE },
    salt: numberToHex(1, { size: 32 }),
  });
  const delegation = { ...unsigned, signature: await account.signDelegation({ delegation: unsigned }) };
  const digest = hashTypedData({
    domain: { name: 'DelegationManager', version: '1', chainId, verifyingContract: environment.DelegationManager },
    types: SIGNABLE_DELEGATION_TYPED_DATA,
    primaryType: 'Delegation',
    message: toDelegationStruct(unsigned),
  });

  const before = await client.getBalance({ address: recipient });
  const redeemed = await client.sendTransaction({
    account: session,
    to: environment.DelegationManager,
    data: DelegationManager.encode.redeemDelegations({
      delegations: [[delegation]],
      modes: [ExecutionMode.SingleDefault],
      executions: [[createExecution({ target: recipient, value: ALLOWANCE })]],
    }),
  });
  const { gasUsed } = await confirmed(client, redeemed, 'success', 'redemption');
  const after = await client.getBalance({ address: recipient });
  check(after - before === ALLOWANCE, `recipient got ${after - before}, expected ${ALLOWANCE}`);

  const keyIdHash = keccak256(encodePacked(['string'], [keyId]));
  return { account: account.address, keyId, x, y, digest, delegation, bare: bare(keyIdHash, digest, privateKey), gasUsed };
});
