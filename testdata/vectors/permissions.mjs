// Writes the vectors of ERC-7715: requests that our own code must build, answers that it must read, by running
// MetaMask's packages.
//
//   node testdata/vectors/permissions.mjs           writes permissions.json beside this file
//   node testdata/vectors/permissions.mjs --check   writes nothing; exits 1 if the file is stale
//
// today    requests are what the kit hands to the wallet, taken from its transport; answers hold a delegation that
//          the kit signed and encoded, with caveats by MetaMask's permission types, as the wallet makes it. Its own decoder must read
//          back from them what the answer says, and the kit must take the answer.
// 2025     the same contexts in the form of gator-permissions-snap 0.7.0. The snap is a bundle that exports no
//          schema and is not installed here: these are renamed by hand after its sources, and checked by nothing else.
// draft    what viem's own wallet_grantPermissions sends, with the chain and the account that the seeds add.
//
// There is no clock and no randomness. Amounts are decimal strings, times are numbers.

import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createClient, custom, getAddress, keccak256, maxUint256, numberToHex, padHex, slice, toHex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { grantPermissions } from 'viem/experimental';

// The kit reports its use to its vendor unless told not to, so this comes before it is loaded.
process.env.DO_NOT_TRACK = '1';
const core = await import('@metamask/delegation-core');
const kit = await import('@metamask/smart-accounts-kit');
const kitActions = await import('@metamask/smart-accounts-kit/actions');
const kitUtils = await import('@metamask/smart-accounts-kit/utils');
const types = await import('@metamask/7715-permission-types');

const CHAIN_ID = 8453;
const ENVIRONMENT = kit.getSmartAccountsEnvironment(CHAIN_ID);
const MANAGER = ENVIRONMENT.DelegationManager;
const START = 1_800_000_000;
const DAY = 86_400;
const EXPIRY = START + 30 * DAY;
const USDC = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913';
const OWNER_KEY = numberToHex(1, { size: 32 });
const OWNER = privateKeyToAccount(OWNER_KEY).address;
const named = (name) => getAddress(slice(keccak256(toHex(name)), 12));
const SESSION = named('session');
const KEEPER = named('keeper');
const PAYEE = named('payee');

const contracts = Object.fromEntries(
  [
    ['erc20StreamingEnforcer', 'ERC20StreamingEnforcer'],
    ['erc20PeriodTransferEnforcer', 'ERC20PeriodTransferEnforcer'],
    ['nativeTokenStreamingEnforcer', 'NativeTokenStreamingEnforcer'],
    ['nativeTokenPeriodTransferEnforcer', 'NativeTokenPeriodTransferEnforcer'],
    ['approvalRevocationEnforcer', 'ApprovalRevocationEnforcer'],
    ['exactCalldataEnforcer', 'ExactCalldataEnforcer'],
    ['valueLteEnforcer', 'ValueLteEnforcer'],
    ['timestampEnforcer', 'TimestampEnforcer'],
    ['nonceEnforcer', 'NonceEnforcer'],
    ['allowedCalldataEnforcer', 'AllowedCalldataEnforcer'],
    ['allowedTargetsEnforcer', 'AllowedTargetsEnforcer'],
    ['redeemerEnforcer', 'RedeemerEnforcer'],
  ].map(([name, enforcer]) => [name, ENVIRONMENT.caveatEnforcers[enforcer]]),
);

function fail(what, ...values) {
  throw new Error(`${what}: ${values.map((value) => stringify(value)).join(' / ')}`);
}

function agree(what, first, second) {
  if (stringify(first).toLowerCase() !== stringify(second).toLowerCase()) fail(`${what}: they disagree`, first, second);
}

function stringify(value) {
  return JSON.stringify(value, (_, field) => (typeof field === 'bigint' ? field.toString() : field));
}

/** A client whose wallet answers with `result` and keeps what it was asked. */
function wallet(result) {
  const asked = [];
  const transport = custom({
    request: async ({ method, params }) => {
      asked.push({ method, params });
      return result;
    },
  });
  const client = createClient({ transport }).extend(kitActions.erc7715ProviderActions());
  return { asked, client };
}

// ---------------------------------------------------------------------------------------------- what is asked

const periodic = (more) => ({ periodAmount: 10_000_000n, periodDuration: DAY, ...more });
const stream = (more) => ({ amountPerSecond: 5n, ...more });
const allowance = (more) => ({ allowanceAmount: 10n ** 18n, ...more });
const token = { tokenAddress: USDC };
const started = { startTime: START };
const wordy = { justification: 'Running costs of your Golem' };
const approvals = (...set) =>
  Object.fromEntries(
    ['erc20Approve', 'erc721Approve', 'erc721SetApprovalForAll', 'permit2Approve', 'permit2Lockdown',
      'permit2InvalidateNonces'].map((name) => [name, set.includes(name)]),
  );

/** Name, type, data, and what else the request says. */
const CASES = [
  ['a runway: tokens a day', 'erc20-token-periodic', periodic({ ...token, ...started, ...wordy }), { redeemer: [SESSION] }],
  ['tokens a day, paid to one', 'erc20-token-periodic', periodic({ ...token, ...started }),
    { redeemer: [SESSION, KEEPER], payee: [PAYEE] }],
  ['tokens a day, no start', 'erc20-token-periodic', periodic(token), { redeemer: [SESSION] }],
  ['tokens a week, not to be edited', 'erc20-token-periodic',
    periodic({ ...token, ...started, periodDuration: 7 * DAY, periodAmount: 2n ** 200n }), { fixed: true }],
  ['tokens a second', 'erc20-token-stream', stream({ ...token, ...started, initialAmount: 7n, maxAmount: 10n ** 30n }),
    { redeemer: [SESSION] }],
  ['tokens a second, no more said', 'erc20-token-stream', stream(token), {}],
  ['tokens in all', 'erc20-token-allowance', allowance({ ...token, ...started, ...wordy }), { payee: [PAYEE] }],
  ['tokens in all, no expiry', 'erc20-token-allowance', allowance({ ...token, ...started }), { expiry: null }],
  ['coins a day', 'native-token-periodic', periodic({ ...started, periodAmount: 1n }), { redeemer: [SESSION] }],
  ['coins a day, paid to two', 'native-token-periodic', periodic(started), { payee: [PAYEE, KEEPER] }],
  ['coins a second', 'native-token-stream', stream({ ...started, ...wordy, maxAmount: maxUint256, initialAmount: 0n }),
    { redeemer: [SESSION] }],
  ['coins a second, bounded', 'native-token-stream', stream({ ...started, initialAmount: 9n, maxAmount: 10n }), {}],
  ['coins in all', 'native-token-allowance', allowance(started), { redeemer: [SESSION], payee: [PAYEE] }],
  ['coins in all, any account of the owner', 'native-token-allowance', allowance(started), { anyAccount: true }],
  ['all there is', 'native-token-allowance', allowance({ ...started, allowanceAmount: maxUint256 }), { fixed: true }],
  ['approvals of tokens', 'token-approval-revocation', approvals('erc20Approve'), {}],
  ['approvals of every kind', 'token-approval-revocation',
    { ...approvals('erc20Approve', 'erc721Approve', 'erc721SetApprovalForAll', 'permit2Approve', 'permit2Lockdown',
      'permit2InvalidateNonces'), ...wordy }, { expiry: null, fixed: true }],
];

function parameters(type, data, { expiry = EXPIRY, redeemer, payee, fixed = false, anyAccount = false }) {
  return {
    chainId: CHAIN_ID,
    ...(anyAccount ? {} : { from: OWNER }),
    to: SESSION,
    permission: { type, data, isAdjustmentAllowed: !fixed },
    expiry,
    redeemer: redeemer ?? null,
    payee: payee ?? null,
  };
}

/** What is asked, in the words of Rust's types. */
function meaning({ chainId, from, to, permission: { type, data, isAdjustmentAllowed }, expiry, redeemer, payee }) {
  return {
    chainId,
    from: from ?? null,
    to,
    type,
    data: Object.fromEntries(
      Object.entries(data).map(([name, value]) => [name, typeof value === 'bigint' ? value.toString() : value]),
    ),
    isAdjustmentAllowed,
    expiry: expiry ?? null,
    redeemers: redeemer ?? [],
    payees: payee ?? [],
  };
}

// ------------------------------------------------------------------------------------------- what is answered

const CAVEATS = {
  'erc20-token-periodic': types.createErc20TokenPeriodicCaveats,
  'erc20-token-stream': types.createErc20TokenStreamCaveats,
  'erc20-token-allowance': types.createErc20TokenAllowanceCaveats,
  'native-token-periodic': types.createNativeTokenPeriodicCaveats,
  'native-token-stream': types.createNativeTokenStreamCaveats,
  'native-token-allowance': types.createNativeTokenAllowanceCaveats,
  'token-approval-revocation': types.createTokenApprovalRevocationCaveats,
};

/** Fills in what the asker left open, as the wallet does. */
function populated(permission) {
  const data = { justification: 'No justification was provided for the permission', ...permission.data };
  if (permission.type !== 'token-approval-revocation') data.startTime ??= START;
  if (permission.type.endsWith('-stream')) {
    data.initialAmount ??= '0x0';
    data.maxAmount ??= numberToHex(maxUint256);
  }
  return { ...permission, data };
}

/** The caveats the wallet signs for rules, in its order. */
function ruleCaveats(type, rules) {
  return rules.map(({ type: rule, data }) => {
    if (rule === 'expiry') {
      const terms = core.createTimestampTerms({ afterThreshold: 0, beforeThreshold: data.timestamp });
      return { enforcer: contracts.timestampEnforcer, terms, args: '0x' };
    }
    if (rule === 'redeemer') {
      const terms = core.createRedeemerTerms({ redeemers: data.addresses });
      return { enforcer: contracts.redeemerEnforcer, terms, args: '0x' };
    }
    if (type.startsWith('native')) {
      const terms = core.createAllowedTargetsTerms({ targets: data.addresses });
      return { enforcer: contracts.allowedTargetsEnforcer, terms, args: '0x' };
    }
    const terms = core.createAllowedCalldataTerms({ startIndex: 4, value: padHex(data.addresses[0], { size: 32 }) });
    return { enforcer: contracts.allowedCalldataEnforcer, terms, args: '0x' };
  });
}

async function answer(name, request) {
  const permission = populated(request.permission);
  const caveats = [
    ...CAVEATS[permission.type]({ permission, contracts }),
    ...ruleCaveats(permission.type, request.rules),
    { enforcer: contracts.nonceEnforcer, terms: core.createNonceTerms({ nonce: '0x3' }), args: '0x' },
  ];
  agree(`${name}: what the caveats say`, decoded(permission.type, caveats), {
    data: plain(permission.data),
    rules: request.rules,
  });
  // The kit's own createDelegation wants one of its scopes, whose caveats stand in another order than the wallet's.
  const delegation = {
    delegate: request.to,
    delegator: OWNER,
    authority: core.ROOT_AUTHORITY,
    caveats,
    salt: keccak256(toHex(name)),
  };
  const signature = await kit.signDelegation({
    privateKey: OWNER_KEY,
    delegation,
    delegationManager: MANAGER,
    chainId: Number(request.chainId),
  });
  const response = {
    ...request,
    from: OWNER,
    permission,
    // The wallet repeats it here.
    isAdjustmentAllowed: permission.isAdjustmentAllowed,
    context: kitUtils.encodeDelegations([{ ...delegation, signature }]),
    dependencies: [],
    delegationManager: MANAGER,
  };
  return response;
}

/** Data without words, numbers in one form. */
function plain(data) {
  return Object.fromEntries(
    Object.entries(data)
      .filter(([name]) => name !== 'justification')
      .map(([name, value]) => [name, name.endsWith('mount') || name === 'amountPerSecond' ? BigInt(value) : value])
      .sort(),
  );
}

/** What MetaMask's own decoder reads from the caveats. */
function decoded(type, caveats) {
  const config = types.makePermissionDecoderConfigs(contracts).find(({ permissionType }) => permissionType === type);
  const requiredEnforcers = new Map(Object.entries(config.requiredEnforcers));
  return {
    data: plain(config.validateAndDecodeData(caveats, config.contractAddresses)),
    rules: config.rules
      .map((rule) => rule({ contractAddresses: config.contractAddresses, caveats, requiredEnforcers }))
      .filter((rule) => rule !== null),
  };
}

/** Edits that an owner makes in the wallet: what they change of the request, and what Rust must call them. */
const EDITS = [
  ['less', (r) => { r.permission.data.periodAmount = numberToHex(5_000_000n); }, ['amountLowered']],
  ['more', (r) => { r.permission.data.periodAmount = numberToHex(20_000_000n); }, ['amountRaised']],
  ['a longer period', (r) => { r.permission.data.periodDuration = 7 * DAY; }, ['periodLonger']],
  ['a shorter period', (r) => { r.permission.data.periodDuration = 3600; }, ['periodShorter']],
  ['an earlier end', (r) => { r.rules[0].data.timestamp = EXPIRY - DAY; }, ['expiryEarlier']],
  ['a later end', (r) => { r.rules[0].data.timestamp = EXPIRY + DAY; }, ['expiryLater']],
  ['a later start', (r) => { r.permission.data.startTime = START + DAY; }, ['startLater']],
  ['no end', (r) => { r.rules.shift(); }, ['expiryRemoved']],
  ['no redeemer', (r) => { r.rules.pop(); }, ['redeemersChanged']],
  ['a payee', (r) => { r.rules.push({ type: 'payee', data: { addresses: [PAYEE] } }); }, ['payeesChanged']],
  ['less, and for longer', (r) => {
    r.permission.data.periodAmount = numberToHex(1n);
    r.rules[0].data.timestamp = EXPIRY + 365 * DAY;
  }, ['amountLowered', 'expiryLater']],
];

// ------------------------------------------------------------------------------------------------ older forms

function in2025({ chainId, from, to, permission, rules, context, dependencies, delegationManager }) {
  return {
    chainId,
    ...(from ? { address: from } : {}),
    signer: { type: 'account', data: { address: to } },
    permission,
    rules: rules.map((rule) => ({ ...rule, isAdjustmentAllowed: permission.isAdjustmentAllowed })),
    ...(context
      ? {
          isAdjustmentAllowed: permission.isAdjustmentAllowed,
          dependencyInfo: dependencies,
          context,
          signerMeta: { delegationManager },
        }
      : {}),
  };
}

/** The seeds' vault manager: 1000 USDC and 0.1 ETH a day, by viem's own client. */
async function draft() {
  const permissions = [
    ['erc20-recurring-allowance', { token: USDC, allowance: numberToHex(1_000_000_000n), period: DAY }],
    ['native-token-recurring-allowance', { allowance: numberToHex(10n ** 17n), period: DAY }],
  ];
  const granted = permissions.slice(0, 1).map(([type, data]) => ({ type, data, policies: [], required: false }));
  const periodicPermission = {
    type: 'erc20-token-periodic',
    data: { tokenAddress: USDC, periodAmount: numberToHex(1_000_000_000n), periodDuration: DAY, startTime: START },
    isAdjustmentAllowed: true,
  };
  const rules = [{ type: 'expiry', data: { timestamp: EXPIRY } }];
  const { context } = await answer('draft', {
    chainId: numberToHex(CHAIN_ID), to: SESSION, permission: periodicPermission, rules,
  });
  const reply = {
    expiry: EXPIRY,
    grantedPermissions: granted,
    permissionsContext: context,
    signerData: { submitToAddress: MANAGER },
  };
  const { asked, client } = wallet(reply);
  const taken = await grantPermissions(client, {
    expiry: EXPIRY,
    signer: { type: 'key', data: { id: SESSION } },
    permissions: permissions.map(([custom_, data]) => ({ type: { custom: custom_ }, data, policies: [], required: false })),
  });
  agree('what viem makes of the answer', taken, reply);
  const [{ method, params: [viem] }] = asked;
  return { request: { method, params: [{ chainId: numberToHex(CHAIN_ID), address: OWNER, ...viem }] }, answer: reply };
}

// ---------------------------------------------------------------------------------------------------- vectors

async function vectors() {
  const today = [];
  for (const [name, type, data, more] of CASES) {
    const asked = parameters(type, data, more);
    const first = wallet([]);
    await first.client.requestExecutionPermissions([asked]);
    const [request] = first.asked;
    const given = await answer(name, structuredClone(request.params[0]));
    const second = wallet([given]);
    const [read] = await second.client.requestExecutionPermissions([asked]);
    agree(`${name}: the kit's chain id`, read.chainId, CHAIN_ID);
    today.push({ name, asked: meaning(asked), request, answer: given });
  }

  const [runway] = today;
  const edits = [];
  for (const [name, edit, expected] of EDITS) {
    const granted = structuredClone(runway.request.params[0]);
    edit(granted);
    edits.push({ name, answer: await answer(name, granted), edits: expected });
  }

  const supported = {
    'erc20-token-periodic': { ruleTypes: ['expiry', 'redeemer', 'payee'] },
    'token-approval-revocation': { chainIds: [numberToHex(CHAIN_ID), '0x1'], ruleTypes: ['expiry', 'redeemer'] },
  };
  const known = wallet({ ...supported, 'erc20-token-periodic': { chainIds: ['0x2105'], ruleTypes: ['expiry'] } });
  await known.client.getSupportedExecutionPermissions();
  const all = wallet(today.map((vector) => vector.answer));
  const listed = await all.client.getGrantedExecutionPermissions();
  if (listed.length !== today.length) fail('the kit lists', listed.length);

  const withExpiry = today.filter(({ asked }) => asked.expiry !== null && asked.type !== 'token-approval-revocation');
  return {
    source: source(),
    manager: MANAGER,
    owner: OWNER,
    session: SESSION,
    enforcers: Object.fromEntries(Object.entries(contracts)),
    today,
    edits,
    year2025: withExpiry.map(({ name, asked, request, answer: given }) => ({
      name,
      asked,
      request: { method: request.method, params: request.params.map(in2025) },
      answer: in2025(given),
    })),
    draft: await draft(),
    supportedCall: known.asked[0],
    supported,
    grantedCall: all.asked[0],
  };
}

/** Which versions made the file, so that a change of one shows up as a stale file. */
function source() {
  const require = createRequire(import.meta.url);
  const names = ['@metamask/7715-permission-types', '@metamask/delegation-core', '@metamask/smart-accounts-kit', 'viem'];
  const versions = names.map((name) => [name, require(`${name}/package.json`).version]);
  return { generator: 'testdata/vectors/permissions.mjs', packages: Object.fromEntries(versions) };
}

const check = process.argv.includes('--check');
const unknown = process.argv.slice(2).filter((argument) => argument !== '--check');
if (unknown.length > 0) {
  console.error(`unknown argument ${unknown[0]}; the only one is --check`);
  process.exit(2);
}

const url = new URL('permissions.json', import.meta.url);
const text = `${JSON.stringify(await vectors(), null, 2)}\n`;
if (!check) {
  writeFileSync(url, text);
} else {
  let current;
  try {
    current = readFileSync(url, 'utf8');
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
  if (current !== text) {
    console.error('stale: testdata/vectors/permissions.json; run: node testdata/vectors/permissions.mjs');
    process.exitCode = 1;
  }
}
