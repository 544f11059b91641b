// Writes what the terms of every known enforcer are for given parameters, in both directions.
//
//   node testdata/vectors/terms.mjs           writes stock-terms.json and golem-terms.json beside this file
//   node testdata/vectors/terms.mjs --check   writes nothing; exits 1 and names a file that is stale
//
// stock-terms.json: the 33 enforcers of framework 1.3.0. A row is made by the kit's caveat builder, by
// delegation-core's encoder and by viem from the contract's layout; a disagreement stops the generator. Where a row
// says `"by": "viem"`, the contract takes parameters that MetaMask's packages decline to write, and the layout alone
// speaks. The kit has no builder for logicalOrWrapper; there delegation-core and viem speak. A row that says
// `"refused": true` is one that the packages write and their own contract refuses.
//
// The packages write specificActionERC20TransferBatch for a contract that is gone: the one at the address (framework
// commit 72d9305, deployed in September 2025; its creation code gives the address) reads a value between target and
// calldata. So viem alone speaks, and what the packages write is refused.
//
// golem-terms.json: the enforcers of this repository, packed by viem from the layouts that the contracts document.
//
// Integers of more than 32 bits are decimal text, the others numbers; bytes are hex in lower case. There is no clock
// and no randomness: the same packages always give the same bytes.

import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import {
  concat,
  encodeAbiParameters,
  encodePacked,
  keccak256,
  maxUint16,
  maxUint32,
  maxUint40,
  maxUint48,
  maxUint64,
  maxUint128,
  maxUint256,
  numberToHex,
  slice,
  stringToHex,
  toFunctionSelector,
} from 'viem';

// The kit reports its use to its vendor unless told not to, so this comes before it is loaded.
process.env.DO_NOT_TRACK = '1';
const core = await import('@metamask/delegation-core');
const kit = await import('@metamask/smart-accounts-kit');
const kitUtils = await import('@metamask/smart-accounts-kit/utils');

const CHAIN_ID = 8453;
const ENVIRONMENT = kit.getSmartAccountsEnvironment(CHAIN_ID);
// The kit's environment does not list it.
const LOGICAL_OR_WRAPPER = '0xe1302607a3251af54c3a6e69318d6aa07f5eb46c';

const ROWS = 10;
const NOBODY = `0x${'00'.repeat(20)}`;
const EVERYBODY = `0x${'ff'.repeat(20)}`;

function stringify(value) {
  return JSON.stringify(value, (_, field) => (typeof field === 'bigint' ? field.toString() : field));
}

/** Stops the generator when two of the packages disagree about `what`. */
function agree(what, values) {
  const [first, ...rest] = values.map((value) => stringify(value).toLowerCase());
  if (rest.some((value) => value !== first)) {
    throw new Error(`${what}: the packages disagree: ${values.map(stringify).join(' / ')}`);
  }
  return values[0];
}

/** A stream of bytes that depends on its name only. */
function stream(name) {
  const seed = stringToHex(`bardo terms: ${name}`);
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
  const pick = (list) => list[below(list.length)];
  const address = () => pick([bytes(20), bytes(20), bytes(20), NOBODY, EVERYBODY]);
  /** From `least` to `most`, and often at an edge. */
  const uint = (most, least = 0n) => {
    const [top, bottom] = [BigInt(most), BigInt(least)];
    const drawn = bottom + (BigInt(bytes(32)) % (top - bottom + 1n));
    return pick([bottom, bottom + 1n < top ? bottom + 1n : top, top, top - 1n > bottom ? top - 1n : bottom, drawn, drawn]);
  };
  return {
    bytes,
    below,
    pick,
    address,
    uint,
    data: () => bytes(pick([0, 1, 4, 31, 32, 33, 68, 100])),
    addresses: (count) => Array.from({ length: count }, address),
  };
}

/** Integers as the JSON form has them, everything else in lower case. */
function json(value) {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'string') return value.startsWith('0x') ? value.toLowerCase() : value;
  if (Array.isArray(value)) return value.map(json);
  if (value !== null && typeof value === 'object') return mapValues(value, json);
  return value;
}

function mapValues(record, map) {
  return Object.fromEntries(Object.entries(record).map(([field, value]) => [field, map(value, field)]));
}

// ---------------------------------------------------------------------------------------------------------- stock

const selector = (signature) => toFunctionSelector(`function ${signature}`);
const addressList = (list) => (list.length === 0 ? '0x' : concat(list));
const EXECUTIONS = [
  {
    type: 'tuple[]',
    components: [
      { name: 'target', type: 'address' },
      { name: 'value', type: 'uint256' },
      { name: 'callData', type: 'bytes' },
    ],
  },
];
const GROUPS = [
  {
    type: 'tuple[]',
    components: [
      {
        name: 'caveats',
        type: 'tuple[]',
        components: [
          { name: 'enforcer', type: 'address' },
          { name: 'terms', type: 'bytes' },
          { name: 'args', type: 'bytes' },
        ],
      },
    ],
  },
];
const packed = (...fields) => (params) =>
  encodePacked(
    fields.map((field) => field.split(' ')[0]),
    fields.map((field) => params[field.split(' ')[1]]),
  );
const batch = ({ executions }) => encodeAbiParameters(EXECUTIONS, [executions]);

// The packages take these as numbers, so that what they write ends below 2^53.
const NUMBERS = ['startIndex', 'limit', 'periodDuration', 'startDate', 'startTime'];
const LATEST = 253402300799n; // the last second of the year 9999, which delegation-core allows
const SAFE = 2n ** 53n - 1n;

const random = stream('stock');
const many = (make, count = ROWS) => Array.from({ length: count }, (_, index) => make(index));
const positive = () => random.uint(maxUint256, 1n);
const any = () => random.uint(maxUint256);
const changes = (more) =>
  many((index) => ({ ...more(), changeType: index % 2 }), ROWS + 2);
const execution = () => ({ target: random.address(), value: any(), callData: random.data() });
const period = () => ({
  periodAmount: positive(),
  periodDuration: random.uint(SAFE, 1n),
  startDate: random.uint(SAFE, 1n),
});
const flow = (index) => {
  const maxAmount = positive();
  return {
    initialAmount: [0n, maxAmount, maxAmount - 1n, maxAmount / 2n][index % 4],
    maxAmount,
    amountPerSecond: positive(),
    startTime: random.uint(LATEST, 1n),
  };
};
const thresholds = [
  [1n, 0n],
  [0n, 1n],
  [1n, 2n],
  [1700000000n, 0n],
  [0n, 1800000000n],
  [1700000000n, 1800000000n],
  [1700000000n, 1700000001n],
  [2n ** 32n - 1n, 2n ** 32n],
  [0n, LATEST],
  [LATEST - 1n, LATEST],
  [LATEST, 0n],
].map(([afterThreshold, beforeThreshold]) => ({ afterThreshold, beforeThreshold }));
const wide = [
  { afterThreshold: 0n, beforeThreshold: 0n },
  { afterThreshold: maxUint128, beforeThreshold: maxUint128 },
  { afterThreshold: 9n, beforeThreshold: 3n },
];
const amounts = [1n, 2n, 255n, 256n, 10n ** 6n, 10n ** 18n, SAFE + 2n, 2n ** 64n, 2n ** 128n, 2n ** 255n, maxUint256];
const addressSets = [
  [NOBODY],
  [EVERYBODY],
  [NOBODY, EVERYBODY],
  ...[1, 2, 3, 4, 5, 8, 16, 20].map(random.addresses),
  Array(2).fill(random.bytes(20)),
];
const FLAGS = [
  'erc20Approve',
  'erc721Approve',
  'erc721SetApprovalForAll',
  'permit2Approve',
  'permit2Lockdown',
  'permit2InvalidateNonces',
];
const revocations = (mask) => Object.fromEntries(FLAGS.map((flag, bit) => [flag, ((mask >> bit) & 1) === 1]));

/**
 * By kind: the contract, delegation-core's encoder, the layout, parameters that the packages write, parameters that
 * only the layout does (`more`), and those that the packages write and the contract refuses (`refused`).
 */
const STOCK = {
  allowedCalldata: {
    contract: 'AllowedCalldataEnforcer',
    encode: core.createAllowedCalldataTerms,
    layout: packed('uint256 startIndex', 'bytes value'),
    rows: [
      [0n, selector('transfer(address,uint256)')],
      [4n, numberToHex(BigInt(random.bytes(20)), { size: 32 })],
      [36n, numberToHex(1000000n, { size: 32 })],
      [1n, '0x00'],
      [255n, '0xff'],
      [256n, random.bytes(31)],
      [65536n, random.bytes(33)],
      [2n ** 32n, random.bytes(64)],
      [SAFE, random.bytes(1)],
      [68n, random.bytes(1000)],
    ].map(([startIndex, value]) => ({ startIndex, value })),
    more: [{ startIndex: maxUint256, value: '0x01' }],
    refused: [{ startIndex: 0n, value: '0x' }],
  },
  allowedMethods: {
    contract: 'AllowedMethodsEnforcer',
    encode: core.createAllowedMethodsTerms,
    layout: ({ selectors }) => concat(selectors),
    rows: [
      [selector('transfer(address,uint256)')],
      [selector('approve(address,uint256)')],
      [selector('transfer(address,uint256)'), selector('approve(address,uint256)')],
      [selector('exactInputSingle((address,address,uint24,address,uint256,uint256,uint160))')],
      [selector('deposit(uint256,address)'), selector('withdraw(uint256,address,address)')],
      ['0x00000000'],
      ['0xffffffff'],
      ['0x00000000', '0xffffffff'],
      ...[3, 7, 20].map((count) => many(() => random.bytes(4), count)),
      Array(2).fill(random.bytes(4)),
    ].map((selectors) => ({ selectors })),
  },
  allowedTargets: {
    contract: 'AllowedTargetsEnforcer',
    encode: core.createAllowedTargetsTerms,
    layout: ({ targets }) => addressList(targets),
    rows: addressSets.map((targets) => ({ targets })),
  },
  approvalRevocation: {
    contract: 'ApprovalRevocationEnforcer',
    encode: core.createApprovalRevocationTerms,
    layout: (params) =>
      numberToHex(FLAGS.reduce((mask, flag, bit) => mask | (params[flag] ? 1 << bit : 0), 0), { size: 1 }),
    rows: [1, 2, 4, 8, 16, 32, 63, 3, 21, 42, 62].map(revocations),
  },
  argsEqualityCheck: {
    contract: 'ArgsEqualityCheckEnforcer',
    encode: core.createArgsEqualityCheckTerms,
    layout: ({ args }) => args,
    rows: [0, 1, 20, 31, 32, 33, 52, 64, 100, 1000].map((length) => ({ args: random.bytes(length) })),
  },
  blockNumber: {
    contract: 'BlockNumberEnforcer',
    encode: core.createBlockNumberTerms,
    layout: packed('uint128 afterThreshold', 'uint128 beforeThreshold'),
    rows: [...thresholds, { afterThreshold: maxUint128 - 1n, beforeThreshold: maxUint128 }],
    more: wide,
  },
  deployed: {
    contract: 'DeployedEnforcer',
    encode: core.createDeployedTerms,
    layout: packed('address contractAddress', 'bytes32 salt', 'bytes bytecode'),
    rows: [1, 2, 31, 32, 33, 64, 100, 500, 1000, 1].map((length, index) => ({
      contractAddress: random.address(),
      salt: [numberToHex(0, { size: 32 }), numberToHex(maxUint256), random.bytes(32)][index % 3],
      bytecode: random.bytes(length),
    })),
  },
  erc1155BalanceChange: {
    contract: 'ERC1155BalanceChangeEnforcer',
    encode: core.createERC1155BalanceChangeTerms,
    layout: packed('uint8 changeType', 'address tokenAddress', 'address recipient', 'uint256 tokenId', 'uint256 balance'),
    rows: changes(() => ({
      tokenAddress: random.address(),
      recipient: random.address(),
      tokenId: any(),
      balance: positive(),
    })),
    more: [{ tokenAddress: NOBODY, recipient: NOBODY, tokenId: 0n, balance: 0n, changeType: 255 }],
  },
  erc20BalanceChange: {
    contract: 'ERC20BalanceChangeEnforcer',
    encode: core.createERC20BalanceChangeTerms,
    layout: packed('uint8 changeType', 'address tokenAddress', 'address recipient', 'uint256 balance'),
    rows: changes(() => ({ tokenAddress: random.address(), recipient: random.address(), balance: positive() })),
    more: [{ tokenAddress: NOBODY, recipient: NOBODY, balance: 0n, changeType: 2 }],
  },
  erc20PeriodTransfer: {
    contract: 'ERC20PeriodTransferEnforcer',
    encode: core.createERC20TokenPeriodTransferTerms,
    layout: packed('address tokenAddress', 'uint256 periodAmount', 'uint256 periodDuration', 'uint256 startDate'),
    rows: many(() => ({ tokenAddress: random.address(), ...period() }), ROWS + 2),
    more: [{ tokenAddress: EVERYBODY, periodAmount: maxUint256, periodDuration: maxUint256, startDate: maxUint256 }],
  },
  erc20Streaming: {
    contract: 'ERC20StreamingEnforcer',
    encode: core.createERC20StreamingTerms,
    layout: packed(
      'address tokenAddress',
      'uint256 initialAmount',
      'uint256 maxAmount',
      'uint256 amountPerSecond',
      'uint256 startTime',
    ),
    rows: many((index) => ({ tokenAddress: random.address(), ...flow(index) }), ROWS + 2),
    more: [{ tokenAddress: NOBODY, initialAmount: 0n, maxAmount: 0n, amountPerSecond: 0n, startTime: maxUint256 }],
  },
  erc20TransferAmount: {
    contract: 'ERC20TransferAmountEnforcer',
    encode: core.createERC20TransferAmountTerms,
    layout: packed('address tokenAddress', 'uint256 maxAmount'),
    rows: amounts.map((maxAmount) => ({ tokenAddress: random.address(), maxAmount })),
    more: [{ tokenAddress: NOBODY, maxAmount: 0n }],
  },
  erc721BalanceChange: {
    contract: 'ERC721BalanceChangeEnforcer',
    encode: core.createERC721BalanceChangeTerms,
    layout: packed('uint8 changeType', 'address tokenAddress', 'address recipient', 'uint256 amount'),
    rows: changes(() => ({ tokenAddress: random.address(), recipient: random.address(), amount: positive() })),
    more: [{ tokenAddress: NOBODY, recipient: NOBODY, amount: 0n, changeType: 128 }],
  },
  erc721Transfer: {
    contract: 'ERC721TransferEnforcer',
    encode: core.createERC721TransferTerms,
    layout: packed('address tokenAddress', 'uint256 tokenId'),
    rows: [0n, ...amounts].map((tokenId) => ({ tokenAddress: random.address(), tokenId })),
  },
  exactCalldata: {
    contract: 'ExactCalldataEnforcer',
    encode: core.createExactCalldataTerms,
    layout: ({ calldata }) => calldata,
    rows: [0, 1, 4, 31, 32, 33, 36, 68, 100, 1000].map((length) => ({ calldata: random.bytes(length) })),
  },
  exactCalldataBatch: {
    contract: 'ExactCalldataBatchEnforcer',
    encode: core.createExactCalldataBatchTerms,
    layout: batch,
    rows: many((index) => ({ executions: many(execution, 1 + (index % 5)) })),
    more: [{ executions: [] }],
  },
  exactExecution: {
    contract: 'ExactExecutionEnforcer',
    encode: core.createExactExecutionTerms,
    layout: ({ execution: { target, value, callData } }) =>
      encodePacked(['address', 'uint256', 'bytes'], [target, value, callData]),
    rows: many(() => ({ execution: execution() }), ROWS + 2),
  },
  exactExecutionBatch: {
    contract: 'ExactExecutionBatchEnforcer',
    encode: core.createExactExecutionBatchTerms,
    layout: batch,
    rows: many((index) => ({ executions: many(execution, 1 + (index % 5)) })),
    more: [{ executions: [] }],
  },
  id: {
    contract: 'IdEnforcer',
    encode: core.createIdTerms,
    layout: packed('uint256 id'),
    rows: [0n, ...amounts].map((id) => ({ id })),
  },
  limitedCalls: {
    contract: 'LimitedCallsEnforcer',
    encode: core.createLimitedCallsTerms,
    layout: packed('uint256 limit'),
    rows: [1n, 2n, 3n, 10n, 100n, 255n, 256n, 65535n, 2n ** 32n, 2n ** 40n, SAFE].map((limit) => ({ limit })),
    more: [{ limit: 0n }, { limit: maxUint256 }],
  },
  logicalOrWrapper: {
    encode: core.createLogicalOrWrapperTerms,
    layout: ({ caveatGroups }) => encodeAbiParameters(GROUPS, [caveatGroups.map((caveats) => ({ caveats }))]),
    rows: many((index) => ({
      caveatGroups: many(
        () =>
          many(
            // delegation-core takes no empty bytes here.
            () => ({ enforcer: random.address(), terms: random.bytes(1 + random.below(70)), args: '0x00' }),
            1 + random.below(3),
          ),
        1 + (index % 4),
      ),
    })),
    more: [{ caveatGroups: [[]] }, { caveatGroups: [[], [{ enforcer: NOBODY, terms: '0x', args: '0x' }], []] }],
  },
  multiTokenPeriod: {
    contract: 'MultiTokenPeriodEnforcer',
    encode: core.createMultiTokenPeriodTerms,
    layout: ({ tokenConfigs }) =>
      concat(
        tokenConfigs.map(packed('address token', 'uint256 periodAmount', 'uint256 periodDuration', 'uint256 startDate')),
      ),
    rows: many((index) => ({ tokenConfigs: many(() => ({ token: random.address(), ...period() }), 1 + (index % 4)) })),
  },
  nativeBalanceChange: {
    contract: 'NativeBalanceChangeEnforcer',
    encode: core.createNativeBalanceChangeTerms,
    layout: packed('uint8 changeType', 'address recipient', 'uint256 balance'),
    rows: changes(() => ({ recipient: random.address(), balance: positive() })),
    more: [{ recipient: NOBODY, balance: 0n, changeType: 3 }],
  },
  nativeTokenPayment: {
    contract: 'NativeTokenPaymentEnforcer',
    encode: core.createNativeTokenPaymentTerms,
    layout: packed('address recipient', 'uint256 amount'),
    rows: amounts.map((amount) => ({ recipient: random.address(), amount })),
    more: [{ recipient: NOBODY, amount: 0n }],
  },
  nativeTokenPeriodTransfer: {
    contract: 'NativeTokenPeriodTransferEnforcer',
    encode: core.createNativeTokenPeriodTransferTerms,
    layout: packed('uint256 periodAmount', 'uint256 periodDuration', 'uint256 startDate'),
    rows: many(period, ROWS + 2),
    more: [{ periodAmount: maxUint256, periodDuration: maxUint256, startDate: maxUint256 }],
  },
  nativeTokenStreaming: {
    contract: 'NativeTokenStreamingEnforcer',
    encode: core.createNativeTokenStreamingTerms,
    layout: packed('uint256 initialAmount', 'uint256 maxAmount', 'uint256 amountPerSecond', 'uint256 startTime'),
    rows: many(flow, ROWS + 2),
    more: [{ initialAmount: 0n, maxAmount: 0n, amountPerSecond: 0n, startTime: 1n }],
  },
  nativeTokenTransferAmount: {
    contract: 'NativeTokenTransferAmountEnforcer',
    encode: core.createNativeTokenTransferAmountTerms,
    layout: packed('uint256 maxAmount'),
    rows: [0n, ...amounts].map((maxAmount) => ({ maxAmount })),
  },
  nonce: {
    contract: 'NonceEnforcer',
    encode: core.createNonceTerms,
    layout: packed('uint256 nonce'),
    // The packages want its bytes.
    config: ({ nonce }) => ({ nonce: numberToHex(nonce, { size: 32 }) }),
    rows: [0n, ...amounts].map((nonce) => ({ nonce })),
  },
  ownershipTransfer: {
    contract: 'OwnershipTransferEnforcer',
    encode: core.createOwnershipTransferTerms,
    layout: packed('address contractAddress'),
    rows: [NOBODY, EVERYBODY, ...many(() => random.bytes(20))].map((contractAddress) => ({ contractAddress })),
  },
  redeemer: {
    contract: 'RedeemerEnforcer',
    encode: core.createRedeemerTerms,
    layout: ({ redeemers }) => addressList(redeemers),
    rows: addressSets.map((redeemers) => ({ redeemers })),
  },
  specificActionERC20TransferBatch: {
    contract: 'SpecificActionERC20TransferBatchEnforcer',
    encode: core.createSpecificActionERC20TransferBatchTerms,
    layout: packed('address tokenAddress', 'address recipient', 'uint256 amount', 'address target', 'bytes calldata'),
    rows: [],
    moreLayout: packed(
      'address tokenAddress',
      'address recipient',
      'uint256 amount',
      'address target',
      'uint256 value',
      'bytes calldata',
    ),
    more: many(
      () => ({
        tokenAddress: random.address(),
        recipient: random.address(),
        amount: any(),
        target: random.address(),
        value: any(),
        calldata: random.data(),
      }),
      ROWS + 2,
    ),
    refused: [0, 4, 31].map((length) => ({
      tokenAddress: random.address(),
      recipient: random.address(),
      amount: positive(),
      target: random.address(),
      calldata: random.bytes(length),
    })),
  },
  timestamp: {
    contract: 'TimestampEnforcer',
    encode: core.createTimestampTerms,
    config: (params) => mapValues(params, Number),
    layout: packed('uint128 afterThreshold', 'uint128 beforeThreshold'),
    rows: [...thresholds],
    more: wide,
  },
  valueLte: {
    contract: 'ValueLteEnforcer',
    encode: core.createValueLteTerms,
    layout: packed('uint256 maxValue'),
    rows: [0n, ...amounts].map((maxValue) => ({ maxValue })),
  },
};

/** Parameters as the packages take them. */
function packageForm(value, field) {
  if (NUMBERS.includes(field)) return Number(value);
  if (Array.isArray(value)) return value.map((entry) => packageForm(entry));
  if (value !== null && typeof value === 'object') return mapValues(value, packageForm);
  return value;
}

function stockVectors() {
  const vectors = [];
  for (const [kind, made] of Object.entries(STOCK)) {
    const { contract, encode, layout, config, rows, more = [], moreLayout = layout, refused = [] } = made;
    if (rows.length + more.length < ROWS) throw new Error(`${kind}: ${rows.length + more.length} rows are too few`);
    const enforcer = contract === undefined ? LOGICAL_OR_WRAPPER : ENVIRONMENT.caveatEnforcers[contract].toLowerCase();
    const add = (params, terms, flags) => vectors.push({ kind, params: json(params), enforcer, terms, ...flags });
    for (const params of [...rows, ...refused]) {
      const form = config === undefined ? packageForm(params) : config(params);
      const writers = [layout(params), encode(form)];
      if (contract !== undefined) {
        const [caveat] = kitUtils.createCaveatBuilder(ENVIRONMENT).addCaveat(kind, form).build();
        writers.push(caveat.terms);
        agree(`${kind} enforcer`, [enforcer, caveat.enforcer]);
        // Its readers end where exact numbers do, and it reads back what it wrote.
        agree(`${kind} decoded`, [
          sorted(kitUtils.decodeCaveat({ caveat, environment: ENVIRONMENT })),
          sorted({ type: kind, ...form }),
        ]);
      }
      const terms = agree(`${kind} terms`, writers).toLowerCase();
      add(params, terms, refused.includes(params) ? { refused: true } : {});
    }
    for (const params of more) {
      add(params, moreLayout(params).toLowerCase(), { by: 'viem' });
    }
  }
  return { source: source(), chainId: CHAIN_ID, vectors };
}

/** With fields in the order of their names, so that two orders compare. */
function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).sort().map(([field, inner]) => [field, sorted(inner)]));
}

// ---------------------------------------------------------------------------------------------------------- golem

const CLASSES = [
  'swap',
  'addLiquidity',
  'removeLiquidity',
  'collect',
  'burnPosition',
  'deposit',
  'withdraw',
  'approve',
  'disapprove',
  'transfer',
  'wrap',
  'unwrap',
  'gasTopUp',
  'spawnReplicant',
  'settle',
  'publish',
  'sell',
];
const ROLES = [
  'token',
  'weth',
  'swapRouter',
  'swapRouter02',
  'positionManager',
  'vault',
  'lifecycle',
  'agentKey',
  'registry',
  'market',
];
const classBits = (classes) => classes.reduce((bits, name) => bits | (1 << (CLASSES.indexOf(name) + 1)), 0);
const roleNumber = (role) => (role === null ? 0 : ROLES.indexOf(role) + 1);

/** Integers that viem takes as numbers. */
const pack = (fields) =>
  encodePacked(
    fields.map(([type]) => type),
    fields.map(([type, value]) => (/^u?int(8|16|32|40|48)$/.test(type) ? Number(value) : value)),
  );

const packListing = ({ sequencerFeed, sequencerGrace, tokens, targets }) =>
  concat([
    pack([
      ['address', sequencerFeed],
      ['uint32', sequencerGrace],
      ['uint8', tokens.length],
      ['uint8', targets.length],
    ]),
    ...tokens.map(({ token, role, feed, tokenDecimals, feedDecimals, maxAge }) =>
      pack([
        ['address', token],
        ['uint8', roleNumber(role)],
        ['address', feed],
        ['uint8', tokenDecimals],
        ['uint8', feedDecimals],
        ['uint32', maxAge],
      ]),
    ),
    ...targets.map(({ target, role }) =>
      pack([
        ['address', target],
        ['uint8', roleNumber(role)],
      ]),
    ),
  ]);
const packBounds = ({ minPleasure, maxArousal, minDominance }) =>
  pack([
    ['int8', minPleasure],
    ['int8', maxArousal],
    ['int8', minDominance],
  ]);
const withListing = (fields, listing) => concat([pack(fields), packListing(listing)]);

const golem = stream('golem');
const small = (most, least = 0n) => Number(golem.uint(most, least));
const bps = () => small(10000);
const golemId = () => golem.pick([golem.bytes(32), `0x${'00'.repeat(32)}`, `0x${'ff'.repeat(32)}`]);
const mood = () => golem.pick([-100, 100, 0, -1, 1, 50, -50]);
const bounds = () => ({ minPleasure: mood(), maxArousal: mood(), minDominance: mood() });
const classes = (least = 0) => {
  const bits = golem.below(2 ** 17);
  const some = golem.pick([CLASSES, CLASSES.filter((_, index) => (bits >> index) & 1), CLASSES.slice(0, least)]);
  return some.length < least ? CLASSES.slice(-least) : some;
};
/** `most` entries of each where it is said, to reach the end of what a byte counts. */
const listing = (index, most = 0) => ({
  sequencerFeed: golem.address(),
  sequencerGrace: small(maxUint32),
  tokens: many(
    () => ({
      token: golem.address(),
      role: golem.pick([null, ...ROLES]),
      feed: golem.address(),
      tokenDecimals: small(255),
      feedDecimals: small(255),
      maxAge: small(maxUint32),
    }),
    most || index % 4,
  ),
  targets: many((at) => ({ target: golem.address(), role: ROLES[at % ROLES.length] }), most || index % 12),
});
const span = (most) => {
  const end = golem.uint(most);
  return { start: golem.pick([0n, end, end / 2n]), end };
};

/** What the spend window has room for. */
const MAX_BUCKET_MINUTES = 0x3fffn;

/** By kind: parameters, and the terms that say so. */
const GOLEM = {
  cadence: [
    () => ({ golemId: golemId(), period: small(maxUint32, 1), count: small(255, 1) }),
    (p) => pack([['bytes32', p.golemId], ['uint32', p.period], ['uint8', p.count]]),
  ],
  dailySpendLimit: [
    (index) => ({
      golemId: golemId(),
      epoch: small(maxUint16),
      cap: golem.uint(maxUint64, 1n),
      bucketMinutes: small(MAX_BUCKET_MINUTES, 1),
      listing: listing(index),
    }),
    (p) =>
      withListing(
        [['bytes32', p.golemId], ['uint16', p.epoch], ['uint64', p.cap], ['uint16', p.bucketMinutes]],
        p.listing,
      ),
  ],
  dreamMode: [
    () => ({ golemId: golemId(), registry: golem.address() }),
    (p) => pack([['bytes32', p.golemId], ['address', p.registry]]),
  ],
  emotionalState: [
    (index) => ({
      golemId: golemId(),
      registry: golem.address(),
      staleness: small(maxUint32),
      bounds: bounds(),
      selectors: many(() => golem.bytes(4), index === 9 ? 255 : 1 + (index % 5)),
    }),
    (p) =>
      concat([
        pack([['bytes32', p.golemId], ['address', p.registry], ['uint32', p.staleness]]),
        packBounds(p.bounds),
        ...p.selectors,
      ]),
  ],
  golemCharter: [
    (index) => ({
      golemId: golemId(),
      owner: golem.address(),
      epoch: small(maxUint16),
      generation: small(maxUint32),
      registry: golem.address(),
      account: golem.address(),
      beneficiary: golem.address(),
      agentKey: golem.address(),
      replicants: index % 2 === 1,
      classes: classes(),
      window: span(maxUint40),
      spendCap: golem.uint(maxUint64, 1n),
      bucketMinutes: small(MAX_BUCKET_MINUTES, 1),
      slippageBps: bps(),
      vault: golem.address(),
      navBps: bps(),
      navCap: golem.uint(maxUint64),
      staleness: small(maxUint32),
      gasCeiling: golem.uint(maxUint48),
      gasDailyCap: golem.uint(maxUint48),
      settlementAsset: golem.address(),
      maxRoyaltyBps: index % 3 === 0 ? null : bps(),
      mood: index % 4 < 2 ? null : { bounds: bounds(), classes: classes(1) },
      listing: listing(index, index === 9 ? 255 : 0),
    }),
    (p) =>
      concat([
        pack([
          ['bytes32', p.golemId],
          ['address', p.owner],
          ['uint16', p.epoch],
          ['uint32', p.generation],
          ['uint16', p.bucketMinutes],
          ['uint16', p.slippageBps],
          ['uint16', p.navBps],
          ['address', p.account],
          ['uint64', p.spendCap],
          ['uint32', p.staleness],
          ['address', p.beneficiary],
          ['uint40', p.window.start],
          ['uint40', p.window.end],
          ['uint16', (p.replicants ? 1 : 0) | (p.maxRoyaltyBps === null ? 0 : 2) | (p.mood === null ? 0 : 4)],
          ['address', p.agentKey],
          ['uint64', p.navCap],
          ['uint32', classBits(p.classes)],
          ['address', p.vault],
          ['uint48', p.gasCeiling],
          ['uint48', p.gasDailyCap],
          ['address', p.registry],
          ['address', p.settlementAsset],
        ]),
        p.maxRoyaltyBps === null ? '0x' : pack([['uint16', p.maxRoyaltyBps]]),
        p.mood === null ? '0x' : concat([packBounds(p.mood.bounds), pack([['uint32', classBits(p.mood.classes)]])]),
        packListing(p.listing),
      ]),
  ],
  golemPhase: [
    (index) => ({
      golemId: golemId(),
      registry: golem.address(),
      staleness: small(maxUint32),
      listing: listing(index),
    }),
    (p) => withListing([['bytes32', p.golemId], ['address', p.registry], ['uint32', p.staleness]], p.listing),
  ],
  holdings: [
    (index) => ({
      golemId: golemId(),
      account: golem.address(),
      staleness: small(maxUint32),
      series: small(maxUint16),
      thrivingBps: bps(),
      stableBps: bps(),
      drawdownBps: bps(),
      registry: golem.address(),
      cash: golem.address(),
      lossBps: bps(),
      listing: listing(index),
    }),
    (p) =>
      withListing(
        [
          ['bytes32', p.golemId],
          ['address', p.account],
          ['uint32', p.staleness],
          ['uint16', p.series],
          ['uint16', p.thrivingBps],
          ['uint16', p.stableBps],
          ['uint16', p.drawdownBps],
          ['address', p.registry],
          ['address', p.cash],
          ['uint16', p.lossBps],
        ],
        p.listing,
      ),
  ],
  knowledgeRoyalty: [
    () => ({ market: golem.address(), maxRoyaltyBps: bps() }),
    (p) => pack([['address', p.market], ['uint16', p.maxRoyaltyBps]]),
  ],
  maxSlippage: [
    (index) => ({ bps: bps(), listing: listing(index) }),
    (p) => withListing([['uint16', p.bps]], p.listing),
  ],
  mortalityTimeWindow: [() => span(maxUint64), (p) => pack([['uint64', p.start], ['uint64', p.end]])],
  replicantBudget: [
    (index) => ({
      replicantId: golemId(),
      budget: golem.uint(maxUint64),
      notAfter: golem.uint(maxUint40),
      listing: listing(index),
    }),
    (p) => withListing([['bytes32', p.replicantId], ['uint64', p.budget], ['uint40', p.notAfter]], p.listing),
  ],
  threshold: [
    (index) => {
      const signers = many(() => golem.bytes(20), index === 9 ? 300 : 1 + index).sort();
      return { needed: small(Math.min(255, signers.length), 1), signers };
    },
    (p) => concat([pack([['uint8', p.needed]]), ...p.signers]),
  ],
  vaultNAV: [
    (index) => ({
      golemId: golemId(),
      vault: golem.address(),
      bps: bps(),
      cap: golem.uint(maxUint64),
      listing: listing(index),
    }),
    (p) =>
      withListing([['bytes32', p.golemId], ['address', p.vault], ['uint16', p.bps], ['uint64', p.cap]], p.listing),
  ],
};

function golemVectors() {
  const vectors = Object.entries(GOLEM).flatMap(([kind, [draw, layout]]) =>
    many((index) => {
      const params = draw(index);
      return { kind, params: json(params), terms: layout(params).toLowerCase() };
    }, ROWS + 2),
  );
  return { source: source(['viem']), vectors };
}

// ---------------------------------------------------------------------------------------------------------- files

/** Which versions made a file, so that a change of one shows up as a stale file. */
function source(names = ['@metamask/delegation-core', '@metamask/smart-accounts-kit', 'viem']) {
  const require = createRequire(import.meta.url);
  const versions = names.map((name) => [name, require(`${name}/package.json`).version]);
  return { generator: 'testdata/vectors/terms.mjs', packages: Object.fromEntries(versions) };
}

/** One row a line: the files are long. */
function text({ vectors, ...head }) {
  const rows = vectors.map((vector) => `    ${JSON.stringify(vector)}`).join(',\n');
  return `${JSON.stringify({ ...head, vectors: [] }, null, 2).replace(/\[\]\n\}$/, `[\n${rows}\n  ]\n}`)}\n`;
}

const FILES = { 'stock-terms.json': stockVectors, 'golem-terms.json': golemVectors };

const check = process.argv.includes('--check');
const unknown = process.argv.slice(2).filter((argument) => argument !== '--check');
if (unknown.length > 0) {
  console.error(`unknown argument ${unknown[0]}; the only one is --check`);
  process.exit(2);
}

for (const [name, make] of Object.entries(FILES)) {
  const url = new URL(name, import.meta.url);
  const made = text(make());
  if (!check) {
    writeFileSync(url, made);
    continue;
  }
  let current;
  try {
    current = readFileSync(url, 'utf8');
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
  if (current !== made) {
    console.error(`stale: testdata/vectors/${name}; run: node testdata/vectors/terms.mjs`);
    process.exitCode = 1;
  }
}
