// A FAKE of Privy's wallet API, for tests: it speaks the protocol, and none of what it does is Bardo's code. Request
// signatures are checked by node:crypto over the RFC 8785 form of npm's `canonicalize`, transactions are signed by viem.
//
// What it takes from Privy's published schema and SDKs: paths, headers, bodies, signature payload, policy language, error
// codes, idempotency. What it assumes is said where it does. Its keys are in memory, and nothing here is safe to use.
//
// It listens on loopback only, prints its port, and ends with its parent. `/fake` is not Privy's: it sets clock and faults,
// and tells what happened.
import { createHash, createPublicKey, randomBytes, verify } from 'node:crypto';
import { createServer } from 'node:http';
import canonicalize from 'canonicalize';
import { decodeFunctionData, isAddress } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';

const APP_ID = process.env.FAKE_PRIVY_APP_ID;
const APP_SECRET = process.env.FAKE_PRIVY_APP_SECRET;
if (!APP_ID || !APP_SECRET) throw new Error('FAKE_PRIVY_APP_ID and FAKE_PRIVY_APP_SECRET are needed');

const DAY = 86_400;
const METHODS = new Set([
  'eth_signTransaction',
  'eth_sendTransaction',
  'eth_signTypedData_v4',
  'personal_sign',
  'exportPrivateKey',
  '*',
]);
const OPERATORS = new Set(['eq', 'in', 'lt', 'lte', 'gt', 'gte']);
const FIELDS = {
  ethereum_transaction: new Set(['to', 'value', 'chain_id']),
  ethereum_typed_data_domain: new Set(['chainId', 'verifyingContract']),
  system: new Set(['current_unix_timestamp']),
};

const wallets = new Map();
const policies = new Map();
const quorums = new Map();
const idempotent = new Map();
const told = { requests: [], signatures: 0 };
let faults = [];
let clock;

const now = () => clock ?? Math.floor(Date.now() / 1000);
const newId = () => createHash('sha256').update(randomBytes(32)).digest('hex').slice(0, 24);

/** An answer that is no yes. */
class Refusal extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}
const invalid = (message) => new Refusal(400, 'invalid_data', message);

function publicKey(text) {
  try {
    const key = createPublicKey({ key: Buffer.from(text, 'base64'), format: 'der', type: 'spki' });
    if (key.asymmetricKeyDetails.namedCurve === 'prime256v1') return key;
  } catch {
    // Not a key at all.
  }
  throw invalid('not a P-256 public key');
}

function newQuorum(keys) {
  const id = newId();
  quorums.set(id, keys.map(publicKey));
  return id;
}

const ownerOf = (body) => {
  if (body.owner?.public_key) return newQuorum([body.owner.public_key]);
  if (body.owner_id === undefined) return null;
  if (!quorums.has(body.owner_id)) throw invalid('no such owner');
  return body.owner_id;
};

/** Which of the quorums signed this request. Every one of Privy's own headers is part of what is signed. */
function signedBy(request, candidates) {
  const header = request.headers['privy-authorization-signature'];
  if (!header) {
    throw new Refusal(401, 'missing_or_empty_authorization_header', 'no authorization signature');
  }
  const headers = Object.fromEntries(
    Object.entries(request.headers).filter(
      ([name]) => name.startsWith('privy-') && name !== 'privy-authorization-signature',
    ),
  );
  const payload = canonicalize({
    version: 1,
    method: request.method,
    url: `${base()}${request.url}`,
    body: request.body,
    headers,
  });
  for (const signature of header.split(',')) {
    const bytes = Buffer.from(signature, 'base64');
    for (const id of candidates) {
      const holds = quorums
        .get(id)
        .some((key) => verify('sha256', Buffer.from(payload), { key, dsaEncoding: 'der' }, bytes));
      if (holds) return id;
    }
  }
  throw new Refusal(401, 'zero_correct_authorization_signatures', 'no valid signature');
}

// --- policies -----------------------------------------------------------------------------------------------------------

function checkRules(rules) {
  if (!Array.isArray(rules)) throw invalid('rules');
  for (const rule of rules) {
    const named = typeof rule.name === 'string' && rule.name.length >= 1 && rule.name.length <= 50;
    if (!named || !METHODS.has(rule.method)) throw invalid('a rule without name or known method');
    if (rule.action !== 'ALLOW' && rule.action !== 'DENY') throw invalid('an unknown action');
    if (!Array.isArray(rule.conditions)) throw invalid('a rule without conditions');
    rule.conditions.forEach(checkCondition);
  }
  return rules;
}

function checkCondition({ field_source: source, field, operator, value, abi }) {
  if (!OPERATORS.has(operator)) throw invalid(`operator ${operator}`);
  const texts = operator === 'in' ? value : [value];
  if (!Array.isArray(texts) || !texts.every((text) => typeof text === 'string')) {
    throw invalid('a condition compares with text');
  }
  if (source === 'ethereum_calldata') {
    if (!Array.isArray(abi) || typeof field !== 'string') throw invalid('calldata needs an abi');
  } else if (!FIELDS[source]?.has(field)) {
    throw invalid(`${source}.${field}`);
  }
}

/** What a condition looks at; undefined where there is no such thing. */
function subject({ field_source: source, field, abi }, { transaction, typedData }) {
  if (source === 'system') return BigInt(now());
  if (source === 'ethereum_typed_data_domain') return typedData?.domain?.[field];
  if (transaction === undefined) return undefined;
  if (source === 'ethereum_transaction') {
    return field === 'to' ? transaction.to : BigInt(transaction[field] ?? 0);
  }
  if (source !== 'ethereum_calldata') return undefined;
  let called;
  try {
    called = decodeFunctionData({ abi, data: transaction.data ?? '0x' });
  } catch {
    return undefined;
  }
  if (field === 'function_name') return called.functionName;
  const [name, first, ...members] = field.split('.');
  if (name !== called.functionName) return undefined;
  const { inputs } = abi.find((entry) => entry.type === 'function' && entry.name === name);
  const index = inputs.findIndex((input) => input.name === first);
  // Assumed: members of structs are named behind further dots.
  return members.reduce((value, member) => value?.[member], called.args?.[index]);
}

function compare(operator, found, wanted) {
  if (found === undefined || found === null) return false;
  if (operator === 'in') return wanted.some((one) => compare('eq', found, one));
  if (typeof found === 'string' && (isAddress(found) || operator === 'eq')) {
    return operator === 'eq' && found.toLowerCase() === wanted.toLowerCase();
  }
  let left;
  let right;
  try {
    [left, right] = [BigInt(found), BigInt(wanted)];
  } catch {
    return false;
  }
  return { eq: left === right, lt: left < right, lte: left <= right, gt: left > right, gte: left >= right }[
    operator
  ];
}

/** DENY before ALLOW, and what no rule allows is denied. */
function allows(policy, method, context) {
  const met = policy.rules
    .filter((rule) => rule.method === method || rule.method === '*')
    .filter((rule) =>
      rule.conditions.every((one) => compare(one.operator, subject(one, context), one.value)),
    );
  return met.some((rule) => rule.action === 'ALLOW') && !met.some((rule) => rule.action === 'DENY');
}

// --- resources ----------------------------------------------------------------------------------------------------------

const shown = ({ account, ...wallet }) => ({ ...wallet, address: account.address, chain_type: 'ethereum' });

function signersOf(body) {
  return body.additional_signers.map(({ signer_id, override_policy_ids = [] }) => {
    if (!quorums.has(signer_id)) throw invalid('no such signer');
    if (override_policy_ids.length > 1 || !override_policy_ids.every((id) => policies.has(id))) {
      throw invalid('no such policy');
    }
    return { signer_id, override_policy_ids };
  });
}

function createWallet({ body }) {
  if (body.chain_type !== 'ethereum') throw invalid('chain_type');
  const external = body.external_id ?? null;
  if (external !== null && [...wallets.values()].some((wallet) => wallet.external_id === external)) {
    throw invalid('external_id is taken');
  }
  const wallet = {
    id: newId(),
    account: privateKeyToAccount(generatePrivateKey()),
    external_id: external,
    owner_id: ownerOf(body),
    policy_ids: body.policy_ids ?? [],
    additional_signers: signersOf({ additional_signers: body.additional_signers ?? [] }),
    created_at: now() * 1000,
  };
  wallets.set(wallet.id, wallet);
  return shown(wallet);
}

function found(map, id) {
  const resource = map.get(id);
  if (resource === undefined) throw new Refusal(404, 'not_found', 'no such resource');
  return resource;
}

function updateWallet(request, id) {
  const wallet = found(wallets, id);
  if (wallet.owner_id !== null) signedBy(request, [wallet.owner_id]);
  if (request.body.additional_signers) wallet.additional_signers = signersOf(request.body);
  if (request.body.policy_ids) wallet.policy_ids = request.body.policy_ids;
  return shown(wallet);
}

function createPolicy({ body }) {
  const named = typeof body.name === 'string' && body.name.length >= 1 && body.name.length <= 50;
  if (body.version !== '1.0' || body.chain_type !== 'ethereum' || !named) throw invalid('policy');
  const policy = {
    id: newId(),
    version: body.version,
    chain_type: body.chain_type,
    name: body.name,
    rules: checkRules(body.rules).map((rule) => ({ ...rule, id: newId() })),
    owner_id: ownerOf(body),
    created_at: now() * 1000,
  };
  policies.set(policy.id, policy);
  return policy;
}

function updatePolicy(request, id) {
  const policy = found(policies, id);
  if (policy.owner_id !== null) signedBy(request, [policy.owner_id]);
  if (request.body.rules) {
    policy.rules = checkRules(request.body.rules).map((rule) => ({ ...rule, id: newId() }));
  }
  if (request.body.name) policy.name = request.body.name;
  return policy;
}

async function rpc(request, id) {
  const wallet = found(wallets, id);
  const { method, params } = request.body;
  let rules = wallet.policy_ids;
  if (wallet.owner_id !== null) {
    const others = wallet.additional_signers.map((signer) => signer.signer_id);
    const who = signedBy(request, [wallet.owner_id, ...others]);
    const signer = wallet.additional_signers.find(({ signer_id }) => signer_id === who);
    if (signer?.override_policy_ids.length) rules = signer.override_policy_ids;
  }
  const context = { transaction: params?.transaction, typedData: params?.typed_data };
  if (!rules.every((policy) => allows(found(policies, policy), method, context))) {
    throw new Refusal(400, 'policy_violation', 'RPC request denied due to policy violation');
  }
  if (method === 'eth_signTransaction') {
    const { transaction } = params;
    const signed_transaction = await wallet.account.signTransaction({
      type: 'eip1559',
      chainId: Number(transaction.chain_id),
      nonce: Number(transaction.nonce),
      to: transaction.to,
      value: BigInt(transaction.value ?? 0),
      data: transaction.data,
      gas: BigInt(transaction.gas_limit),
      maxFeePerGas: BigInt(transaction.max_fee_per_gas),
      maxPriorityFeePerGas: BigInt(transaction.max_priority_fee_per_gas),
    });
    told.signatures += 1;
    return { method, data: { signed_transaction, encoding: 'rlp' } };
  }
  if (method === 'eth_sendTransaction') {
    throw new Refusal(400, 'transaction_broadcast_failure', 'the fake has no chain');
  }
  throw invalid(`method ${method}`);
}

function createQuorum({ body }) {
  if (!Array.isArray(body.public_keys) || (body.authorization_threshold ?? 1) !== 1) {
    throw invalid('the fake has quorums of which one signs');
  }
  return { id: newQuorum(body.public_keys), authorization_threshold: 1 };
}

const ROUTES = [
  ['POST', /^\/v1\/wallets$/, createWallet],
  ['GET', /^\/v1\/wallets\/(\w+)$/, (_, id) => shown(found(wallets, id))],
  ['PATCH', /^\/v1\/wallets\/(\w+)$/, updateWallet],
  ['POST', /^\/v1\/wallets\/(\w+)\/rpc$/, rpc],
  ['POST', /^\/v1\/key_quorums$/, createQuorum],
  ['POST', /^\/v1\/policies$/, createPolicy],
  ['GET', /^\/v1\/policies\/(\w+)$/, (_, id) => found(policies, id)],
  ['PATCH', /^\/v1\/policies\/(\w+)$/, updatePolicy],
];

// --- the wire -----------------------------------------------------------------------------------------------------------

async function answer(request) {
  const basic = `Basic ${Buffer.from(`${APP_ID}:${APP_SECRET}`).toString('base64')}`;
  if (request.headers.authorization !== basic || request.headers['privy-app-id'] !== APP_ID) {
    throw new Refusal(401, 'invalid_credentials', 'invalid app id or app secret');
  }
  const expiry = request.headers['privy-request-expiry'];
  // Assumed: the status and code of a request that is too late.
  if (expiry !== undefined && !(Number(expiry) >= now() * 1000)) {
    throw new Refusal(400, 'request_expired', 'the request is too late');
  }
  for (const [method, path, act] of ROUTES) {
    const match = request.method === method && path.exec(request.url);
    if (match) return act(request, match[1]);
  }
  throw new Refusal(404, 'not_found', 'no such path');
}

async function result(request) {
  try {
    return { status: 200, body: await answer(request) };
  } catch (error) {
    if (!(error instanceof Refusal)) return { status: 500, body: { error: String(error) } };
    return { status: error.status, body: { error: error.message, code: error.code } };
  }
}

/** The same key with the same body is the same answer for a day; with another body it is wrong use. */
async function onlyOnce(request) {
  const key = request.headers['privy-idempotency-key'];
  if (key === undefined) return result(request);
  const body = canonicalize(request.body ?? null);
  const known = idempotent.get(key);
  if (known !== undefined && now() - known.at < DAY) {
    if (known.body !== body || known.url !== request.url) {
      return { status: 400, body: { error: 'idempotency key was used', code: 'invalid_data' } };
    }
    return known.result;
  }
  const made = result(request);
  // Assumed: refusals are kept as well; faults, and what nobody showed to be his, are not.
  idempotent.set(key, { at: now(), url: request.url, body, result: made });
  const { status } = await made;
  if (status >= 500 || status === 401) idempotent.delete(key);
  return made;
}

function control(request, response) {
  if (request.method === 'POST') {
    const { clock: set, fault, forget } = request.body;
    if (set !== undefined) clock = set;
    if (fault !== undefined) faults.push({ times: 1, path: '', ...fault });
    if (forget) faults = [];
  }
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(told));
}

function nextFault(url) {
  const fault = faults.find(({ times, path }) => times > 0 && url.includes(path));
  if (fault !== undefined) fault.times -= 1;
  return fault;
}

async function serve(request, response) {
  if (request.url === '/fake') return control(request, response);
  told.requests.push({
    method: request.method,
    url: request.url,
    idempotency: request.headers['privy-idempotency-key'] ?? null,
  });
  const fault = nextFault(request.url);
  const headers = { 'content-type': 'application/json' };
  if (fault?.kind === 'drop') return request.socket.destroy();
  if (fault?.kind === 'stall') return undefined;
  if (fault?.kind === 'away') return response.writeHead(503, headers).end('{"error":"away"}');
  if (fault?.kind === 'busy') {
    return response.writeHead(429, { ...headers, 'retry-after': String(fault.seconds) }).end('{}');
  }
  const { status, body } = await onlyOnce(request);
  if (fault?.kind === 'dropAfter') return request.socket.destroy();
  const text = Buffer.from(JSON.stringify(fault?.kind === 'lie' ? fault.body : body));
  response.writeHead(status, { ...headers, 'content-length': text.length });
  if (fault?.kind !== 'half') return response.end(text);
  return response.write(text.subarray(0, text.length / 2), () => request.socket.destroy());
}

const server = createServer((incoming, response) => {
  const chunks = [];
  incoming.on('data', (chunk) => chunks.push(chunk));
  incoming.on('end', () => {
    const text = Buffer.concat(chunks).toString();
    let body;
    try {
      body = text === '' ? undefined : JSON.parse(text);
    } catch {
      return response.writeHead(400).end('{"error":"not JSON","code":"invalid_data"}');
    }
    const { method, url, headers, socket } = incoming;
    return serve({ method, url, headers, socket, body }, response);
  });
});
const base = () => `http://127.0.0.1:${server.address().port}`;
server.listen(0, '127.0.0.1', () => process.stdout.write(`fake-privy listening ${server.address().port}\n`));
