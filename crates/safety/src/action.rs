//! What a call does: the twin of `Actions.sol`, `Listing.role` and `HiddenCalls.sol`.

mod arguments;

use alloy_primitives::{
    Address, B256, FixedBytes, Selector, U256,
    aliases::{I24, U24},
};
use alloy_sol_types::SolCall as _;
use arguments::Arguments;
use golem_delegation::terms::{Class, Listing, Role};

/// The functions that are known, of which only selectors are used: arguments are read word by word, as the contract does.
mod known {
    alloy_sol_types::sol! {
        interface Tokens {
            function transfer(address, uint256);
            function transferFrom(address, address, uint256);
            function approve(address, uint256);
            function increaseAllowance(address, uint256);
            function permit(address, address, uint256, uint256, uint8, bytes32, bytes32);
        }
        interface Weth {
            function deposit();
            function withdraw(uint256);
        }
        interface Vault {
            function deposit(uint256, address);
            function mint(uint256, address);
            function withdraw(uint256, address, address);
            function redeem(uint256, address, address);
        }
        interface Router {
            function exactInputSingle((address, address, uint24, address, uint256, uint256, uint256, uint160));
            function exactOutputSingle((address, address, uint24, address, uint256, uint256, uint256, uint160));
            function exactInput((bytes, address, uint256, uint256, uint256));
            function exactOutput((bytes, address, uint256, uint256, uint256));
        }
        interface Router02 {
            function exactInputSingle((address, address, uint24, address, uint256, uint256, uint160));
            function exactOutputSingle((address, address, uint24, address, uint256, uint256, uint160));
            function exactInput((bytes, address, uint256, uint256));
            function exactOutput((bytes, address, uint256, uint256));
        }
        interface Positions {
            function mint((address, address, uint24, int24, int24, uint256, uint256, uint256, uint256, address, uint256));
            function increaseLiquidity((uint256, uint256, uint256, uint256, uint256, uint256));
            function decreaseLiquidity((uint256, uint128, uint256, uint256, uint256));
            function collect((uint256, address, uint128, uint128));
            function burn(uint256);
        }
        interface Multicall {
            function multicall(bytes[]);
        }
        interface DeadlineMulticall {
            function multicall(uint256, bytes[]);
        }
        interface HashMulticall {
            function multicall(bytes32, bytes[]);
        }
        interface Lifecycle {
            function spawnReplicant(bytes32, address, bytes32);
            function settle(bytes32, bytes32);
        }
        interface Registry {
            function updateVitality(bytes32, uint8, uint16);
            function setDreaming(bytes32, bool);
            function updatePad(bytes32, int8, int8, int8);
            function heartbeat(bytes32, bytes32);
            function close(bytes32);
        }
        interface Market {
            function sell(bytes32, address, address);
        }
    }
}
use known::{
    DeadlineMulticall, HashMulticall, Lifecycle, Market, Multicall, Positions, Registry, Router,
    Router02, Tokens, Vault, Weth,
};

/// Longest list inside a multicall.
pub const MAX_INNER: usize = 8;

const SELECTOR_LEN: usize = 4;
/// A path is an address, and then a fee and an address once or more.
const PATH_FIRST: usize = 20;
const PATH_STEP: usize = 23;
/// Recipients up to this are words of routers: themselves, or their caller (SPEC D29).
const LAST_SENTINEL: U256 = U256::from_limbs([2, 0, 0, 0]);

/// One effect of a call on the account that makes it; `Action` of `Actions.sol`. Unused fields are zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// What it does.
    pub class: Class,
    /// The contract that is called.
    pub target: Address,
    /// What leaves the account; zero is the chain's own coin.
    pub token_out: Address,
    /// At most so much of it.
    pub amount_out: U256,
    /// The second thing that leaves, of liquidity.
    pub token_out2: Address,
    /// At most so much of it.
    pub amount_out2: U256,
    /// What comes back.
    pub token_in: Address,
    /// At least so much of it.
    pub minimum_in: U256,
    /// Of a position's first token, at least this much.
    pub minimum0: U256,
    /// Of its second.
    pub minimum1: U256,
    /// Who gets what the call pays out.
    pub recipient: Address,
    /// Who may pull from the account afterwards.
    pub spender: Address,
    /// Whose tokens, shares or knowledge are used.
    pub source: Address,
    /// The liquidity position.
    pub position_id: U256,
    /// The pool's fee tier.
    pub fee: U24,
    /// Which Golem the call speaks of.
    pub golem_id: B256,
    /// Which knowledge is sold.
    pub entry_id: B256,
}

impl Action {
    /// An action of this class that does nothing else yet.
    #[must_use]
    pub const fn new(class: Class, target: Address) -> Self {
        Self {
            class,
            target,
            token_out: Address::ZERO,
            amount_out: U256::ZERO,
            token_out2: Address::ZERO,
            amount_out2: U256::ZERO,
            token_in: Address::ZERO,
            minimum_in: U256::ZERO,
            minimum0: U256::ZERO,
            minimum1: U256::ZERO,
            recipient: Address::ZERO,
            spender: Address::ZERO,
            source: Address::ZERO,
            position_id: U256::ZERO,
            fee: U24::ZERO,
            golem_id: B256::ZERO,
            entry_id: B256::ZERO,
        }
    }
}

/// Why a call was not read; what `Actions.sol` reverts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ActionRefusal {
    /// The owner named no such target, or gave it no role.
    #[error("{target} is no target that the owner listed")]
    UnknownTarget {
        /// Who was to be called.
        target: Address,
    },
    /// The target's role has no such function here.
    #[error("function {selector} of {target} is not known")]
    UnknownCall {
        /// Who was to be called.
        target: Address,
        /// With what.
        selector: Selector,
    },
    /// The call has too few bytes for a selector.
    #[error("a call of {target} with {length} bytes names no function")]
    NoSelector {
        /// Who was to be called.
        target: Address,
        /// How many bytes there are.
        length: usize,
    },
    /// Arguments are not in their canonical encoding.
    #[error("arguments of {selector} to {target} are not in their one canonical form")]
    NotCanonical {
        /// Who was to be called.
        target: Address,
        /// With what.
        selector: Selector,
    },
    /// Arguments are no values of their types. The contract's decoder reverts without a word.
    #[error("arguments of {selector} to {target} are not what their types say")]
    Malformed {
        /// Who was to be called.
        target: Address,
        /// With what.
        selector: Selector,
    },
    /// The call carries coins that it does not need.
    #[error("a call of {target} carries {value} wei that it does not need")]
    UnexpectedValue {
        /// Who was to be called.
        target: Address,
        /// In wei.
        value: U256,
    },
    /// A router's word for itself, its caller, or "all there is", or tokens of nobody.
    #[error("a call of {target} has {value} where only a router's own word would be so small")]
    Sentinel {
        /// Who was to be called.
        target: Address,
        /// The word.
        value: U256,
    },
    /// Gas money goes to the agent's key as a payment without calldata.
    #[error("gas money for {target} comes with {length} bytes of calldata")]
    NotAPayment {
        /// The agent's key.
        target: Address,
        /// How many bytes there are.
        length: usize,
    },
    /// With a price limit, an exact output may come short of the amount it names.
    #[error("an exact output at {target} has a price limit of {limit}, and could come short")]
    PriceLimit {
        /// The router.
        target: Address,
        /// The limit.
        limit: U256,
    },
    /// A swap's path is not token, fee, token, and so on.
    #[error("a path of {length} bytes is not token, fee, token")]
    Path {
        /// Its bytes.
        length: usize,
    },
    /// A multicall of nothing, or of more than [`MAX_INNER`] calls.
    #[error("a multicall of {target} has {length} calls, not 1 to {MAX_INNER}")]
    Multicall {
        /// Who was to be called.
        target: Address,
        /// How many calls there are.
        length: usize,
    },
    /// A right to pull that does not show in an allowance at once, or outlives the call.
    #[error("{selector} of {token} would be an allowance that nobody sees")]
    HiddenApproval {
        /// The token.
        token: Address,
        /// With what.
        selector: Selector,
    },
}

/// What the owner said the target is; none for one he did not name. Of two entries the first counts, and targets before tokens.
#[must_use]
pub fn role_of(listing: &Listing, target: Address) -> Option<Role> {
    let named = listing.targets.iter().find(|entry| entry.target == target);
    named.map(|entry| entry.role).or_else(|| {
        listing.tokens.iter().find(|entry| entry.token == target).and_then(|entry| entry.role)
    })
}

/// Effects of one call as its listed target will read it; more than one only for a multicall.
pub fn read_call(
    listing: &Listing,
    target: Address,
    value: U256,
    data: &[u8],
) -> Result<Vec<Action>, ActionRefusal> {
    decode_call(role_of(listing, target), target, value, data)
}

/// Effects of one call of a target with this role.
pub fn decode_call(
    role: Option<Role>,
    target: Address,
    value: U256,
    data: &[u8],
) -> Result<Vec<Action>, ActionRefusal> {
    let role = role.ok_or(ActionRefusal::UnknownTarget { target })?;
    if role == Role::AgentKey {
        return top_up(target, value, data).map(|action| vec![action]);
    }
    let arguments = Arguments::split(target, data)?;
    if role == Role::Weth && arguments.selector == Weth::depositCall::SELECTOR {
        return wrap(&arguments, value).map(|action| vec![action]);
    }
    if !value.is_zero() {
        return Err(ActionRefusal::UnexpectedValue { target, value });
    }
    if has_multicall(role, arguments.selector) {
        let inner =
            arguments.unwrapped(arguments.selector != Multicall::multicallCall::SELECTOR)?;
        // Multicalls do not nest: an inner one is unknown to `single`.
        return inner
            .into_iter()
            .map(|call| single(role, &Arguments::split(target, call)?))
            .collect();
    }
    single(role, &arguments).map(|action| vec![action])
}

/// Whether a call is a multicall, in a form that any target here has.
#[must_use]
pub const fn is_multicall(selector: Selector) -> bool {
    matches!(
        selector.0,
        Multicall::multicallCall::SELECTOR
            | DeadlineMulticall::multicallCall::SELECTOR
            | HashMulticall::multicallCall::SELECTOR
    )
}

fn has_multicall(role: Role, selector: Selector) -> bool {
    let plain = selector == Multicall::multicallCall::SELECTOR;
    match role {
        Role::SwapRouter02 => is_multicall(selector),
        Role::SwapRouter | Role::PositionManager => plain,
        _ => false,
    }
}

fn single(role: Role, call: &Arguments<'_>) -> Result<Action, ActionRefusal> {
    match role {
        Role::SwapRouter => swap_router(call),
        Role::SwapRouter02 => swap_router_02(call),
        Role::PositionManager => position_manager(call),
        Role::Lifecycle => lifecycle(call),
        Role::Registry => registry(call),
        Role::Market => market(call),
        Role::Vault => match vault(call)? {
            Some(action) => Ok(action),
            None => token(call),
        },
        Role::Weth if call.selector == Weth::withdrawCall::SELECTOR => unwrap(call),
        Role::Weth | Role::Token => token(call),
        // A role that is not known here is no role (INV-4).
        _ => Err(ActionRefusal::UnknownTarget { target: call.target }),
    }
}

// Swaps

fn swap_router(call: &Arguments<'_>) -> Result<Action, ActionRefusal> {
    match call.selector.0 {
        Router::exactInputSingleCall::SELECTOR => {
            let [out, back, fee, to, _deadline, amount, least, limit] = call.words()?;
            call.uint::<160>(limit)?;
            single_pool(call, [out, back, fee, to], amount, least)
        }
        Router::exactOutputSingleCall::SELECTOR => {
            let [out, back, fee, to, _deadline, amount, most, limit] = call.words()?;
            exact_output_single(call, [out, back, fee, to], most, amount, limit)
        }
        Router::exactInputCall::SELECTOR => {
            let (path, [to, _deadline, amount, least]) = call.path_and_words()?;
            let (first, last) = ends(path)?;
            swap(call, (first, amount), (last, least), to)
        }
        Router::exactOutputCall::SELECTOR => {
            let (path, [to, _deadline, amount, most]) = call.path_and_words()?;
            // The path of an exact output runs backwards: what is bought comes first.
            let (first, last) = ends(path)?;
            swap(call, (last, most), (first, amount), to)
        }
        _ => Err(call.unknown()),
    }
}

fn swap_router_02(call: &Arguments<'_>) -> Result<Action, ActionRefusal> {
    match call.selector.0 {
        Router02::exactInputSingleCall::SELECTOR => {
            let [out, back, fee, to, amount, least, limit] = call.words()?;
            call.uint::<160>(limit)?;
            single_pool(call, [out, back, fee, to], amount, least)
        }
        Router02::exactOutputSingleCall::SELECTOR => {
            let [out, back, fee, to, amount, most, limit] = call.words()?;
            exact_output_single(call, [out, back, fee, to], most, amount, limit)
        }
        Router02::exactInputCall::SELECTOR => {
            let (path, [to, amount, least]) = call.path_and_words()?;
            let (first, last) = ends(path)?;
            swap(call, (first, amount), (last, least), to)
        }
        Router02::exactOutputCall::SELECTOR => {
            let (path, [to, amount, most]) = call.path_and_words()?;
            let (first, last) = ends(path)?;
            swap(call, (last, most), (first, amount), to)
        }
        _ => Err(call.unknown()),
    }
}

/// Both routers insist on the whole output only where no limit is set; with one, they stop at the price, take what they took,
/// and give what there was.
fn exact_output_single(
    call: &Arguments<'_>,
    pool: [U256; 4],
    most: U256,
    amount: U256,
    limit: U256,
) -> Result<Action, ActionRefusal> {
    call.uint::<160>(limit)?;
    let [out, back, fee, to] = pool;
    // All types are looked at before the limit is.
    call.address(out)?;
    call.address(back)?;
    call.fee(fee)?;
    call.address(to)?;
    if !limit.is_zero() {
        return Err(ActionRefusal::PriceLimit { target: call.target, limit });
    }
    single_pool(call, pool, most, amount)
}

fn single_pool(
    call: &Arguments<'_>,
    [out, back, fee, to]: [U256; 4],
    amount: U256,
    least: U256,
) -> Result<Action, ActionRefusal> {
    let (out, back) = (call.address(out)?, call.address(back)?);
    let fee = call.fee(fee)?;
    call.address(to)?;
    let action = swap(call, (out, amount), (back, least), to)?;
    Ok(Action { fee, ..action })
}

/// Routers read recipients 0, 1 and 2 as themselves or their caller, and an amount of 0 as whatever they hold (SPEC D29).
fn swap(
    call: &Arguments<'_>,
    (token_out, amount_out): (Address, U256),
    (token_in, minimum_in): (Address, U256),
    recipient: U256,
) -> Result<Action, ActionRefusal> {
    let recipient = call.payee(recipient)?;
    if amount_out.is_zero() {
        return Err(ActionRefusal::Sentinel { target: call.target, value: U256::ZERO });
    }
    let action = Action::new(Class::Swap, call.target);
    Ok(Action { token_out, amount_out, token_in, minimum_in, recipient, ..action })
}

/// First and last token of a path.
fn ends(path: &[u8]) -> Result<(Address, Address), ActionRefusal> {
    let refusal = ActionRefusal::Path { length: path.len() };
    let hops = path.len().checked_sub(PATH_FIRST).ok_or(refusal)?;
    if hops == 0 || hops % PATH_STEP != 0 {
        return Err(refusal);
    }
    match (path.first_chunk(), path.last_chunk()) {
        (Some(first), Some(last)) => {
            Ok((Address(FixedBytes::<20>(*first)), Address(FixedBytes::<20>(*last))))
        }
        _ => Err(refusal),
    }
}

// Liquidity

fn position_manager(call: &Arguments<'_>) -> Result<Action, ActionRefusal> {
    match call.selector.0 {
        Positions::mintCall::SELECTOR => {
            let [
                token0,
                token1,
                fee,
                lower,
                upper,
                amount0,
                amount1,
                minimum0,
                minimum1,
                recipient,
                _deadline,
            ] = call.words()?;
            let (token_out, token_out2) = (call.address(token0)?, call.address(token1)?);
            let fee = call.fee(fee)?;
            call.int::<{ I24::BITS }>(lower)?;
            call.int::<{ I24::BITS }>(upper)?;
            let recipient = call.payee(recipient)?;
            Ok(Action {
                token_out,
                amount_out: amount0,
                token_out2,
                amount_out2: amount1,
                minimum0,
                minimum1,
                recipient,
                fee,
                ..Action::new(Class::AddLiquidity, call.target)
            })
        }
        Positions::increaseLiquidityCall::SELECTOR => {
            let [position_id, amount_out, amount_out2, minimum0, minimum1, _deadline] =
                call.words()?;
            let action = Action::new(Class::AddLiquidity, call.target);
            Ok(Action { position_id, amount_out, amount_out2, minimum0, minimum1, ..action })
        }
        Positions::decreaseLiquidityCall::SELECTOR => {
            let [position_id, liquidity, minimum0, minimum1, _deadline] = call.words()?;
            call.uint::<128>(liquidity)?;
            let action = Action::new(Class::RemoveLiquidity, call.target);
            Ok(Action { position_id, minimum0, minimum1, ..action })
        }
        Positions::collectCall::SELECTOR => {
            let [position_id, recipient, most0, most1] = call.words()?;
            call.uint::<128>(most0)?;
            call.uint::<128>(most1)?;
            let recipient = call.payee(recipient)?;
            Ok(Action { position_id, recipient, ..Action::new(Class::Collect, call.target) })
        }
        Positions::burnCall::SELECTOR => {
            let [position_id] = call.words()?;
            Ok(Action { position_id, ..Action::new(Class::BurnPosition, call.target) })
        }
        _ => Err(call.unknown()),
    }
}

// Vaults

/// Amounts are in the vault's own terms: the vault itself is the token of shares, and zero that of assets, whose token only the
/// vault knows. None for what is no call of a vault: its shares are tokens too.
fn vault(call: &Arguments<'_>) -> Result<Option<Action>, ActionRefusal> {
    let target = call.target;
    let action = match call.selector.0 {
        Vault::depositCall::SELECTOR => {
            let [amount_out, recipient] = call.words()?;
            let recipient = call.address(recipient)?;
            Action { amount_out, recipient, ..Action::new(Class::Deposit, target) }
        }
        Vault::mintCall::SELECTOR => {
            let [minimum_in, recipient] = call.words()?;
            let recipient = call.address(recipient)?;
            let action = Action::new(Class::Deposit, target);
            Action { token_in: target, minimum_in, recipient, ..action }
        }
        Vault::withdrawCall::SELECTOR => {
            let [minimum_in, recipient, source] = call.words()?;
            let (recipient, source) = (call.address(recipient)?, call.address(source)?);
            Action { minimum_in, recipient, source, ..Action::new(Class::Withdraw, target) }
        }
        Vault::redeemCall::SELECTOR => {
            let [amount_out, recipient, source] = call.words()?;
            let (recipient, source) = (call.address(recipient)?, call.address(source)?);
            let action = Action::new(Class::Withdraw, target);
            Action { token_out: target, amount_out, recipient, source, ..action }
        }
        _ => return Ok(None),
    };
    Ok(Some(action))
}

// Tokens

fn token(call: &Arguments<'_>) -> Result<Action, ActionRefusal> {
    let target = call.target;
    match call.selector.0 {
        Tokens::transferCall::SELECTOR => {
            let [recipient, amount_out] = call.words()?;
            let recipient = call.address(recipient)?;
            let action = Action::new(Class::Transfer, target);
            Ok(Action { token_out: target, amount_out, recipient, ..action })
        }
        Tokens::transferFromCall::SELECTOR => {
            let [source, recipient, amount_out] = call.words()?;
            let (source, recipient) = (call.address(source)?, call.address(recipient)?);
            // Without a source it would be taken for a `transfer`.
            if source.is_zero() {
                return Err(ActionRefusal::Sentinel { target, value: U256::ZERO });
            }
            let action = Action::new(Class::Transfer, target);
            Ok(Action { token_out: target, amount_out, recipient, source, ..action })
        }
        Tokens::approveCall::SELECTOR => {
            let [spender, amount_out] = call.words()?;
            let spender = call.address(spender)?;
            let class = if amount_out.is_zero() { Class::Disapprove } else { Class::Approve };
            Ok(Action { token_out: target, amount_out, spender, ..Action::new(class, target) })
        }
        Tokens::increaseAllowanceCall::SELECTOR | Tokens::permitCall::SELECTOR => {
            Err(ActionRefusal::HiddenApproval { token: target, selector: call.selector })
        }
        _ => Err(call.unknown()),
    }
}

fn wrap(call: &Arguments<'_>, value: U256) -> Result<Action, ActionRefusal> {
    let [] = call.words()?;
    let action = Action::new(Class::Wrap, call.target);
    Ok(Action { amount_out: value, token_in: call.target, minimum_in: value, ..action })
}

fn unwrap(call: &Arguments<'_>) -> Result<Action, ActionRefusal> {
    let [amount] = call.words()?;
    let action = Action::new(Class::Unwrap, call.target);
    Ok(Action { token_out: call.target, amount_out: amount, minimum_in: amount, ..action })
}

// The Golem itself

/// A plain payment; calldata would be a message to code that an EOA may have by EIP-7702.
const fn top_up(target: Address, value: U256, data: &[u8]) -> Result<Action, ActionRefusal> {
    if !data.is_empty() {
        return Err(ActionRefusal::NotAPayment { target, length: data.len() });
    }
    let action = Action::new(Class::GasTopUp, target);
    Ok(Action { amount_out: value, recipient: target, ..action })
}

fn lifecycle(call: &Arguments<'_>) -> Result<Action, ActionRefusal> {
    let (class, golem_id) = match call.selector.0 {
        Lifecycle::spawnReplicantCall::SELECTOR => {
            let [golem_id, replicant, _delegation] = call.words()?;
            call.address(replicant)?;
            (Class::SpawnReplicant, golem_id)
        }
        Lifecycle::settleCall::SELECTOR => {
            let [golem_id, _manifest] = call.words()?;
            (Class::Settle, golem_id)
        }
        _ => return Err(call.unknown()),
    };
    Ok(Action { golem_id: golem_id.into(), ..Action::new(class, call.target) })
}

/// What an agent says of itself. An owner's calls are unknown here: an account that is its Golem's owner would speak with his
/// voice (ATK-14).
fn registry(call: &Arguments<'_>) -> Result<Action, ActionRefusal> {
    let golem_id = match call.selector.0 {
        Registry::updateVitalityCall::SELECTOR => {
            let [golem_id, phase, score] = call.words()?;
            call.uint::<8>(phase)?;
            call.uint::<16>(score)?;
            golem_id
        }
        Registry::setDreamingCall::SELECTOR => {
            let [golem_id, dreaming] = call.words()?;
            call.uint::<1>(dreaming)?;
            golem_id
        }
        Registry::updatePadCall::SELECTOR => {
            let [golem_id, pleasure, arousal, dominance] = call.words()?;
            for component in [pleasure, arousal, dominance] {
                call.int::<8>(component)?;
            }
            golem_id
        }
        Registry::heartbeatCall::SELECTOR => {
            let [golem_id, _head] = call.words()?;
            golem_id
        }
        Registry::closeCall::SELECTOR => {
            let [golem_id] = call.words()?;
            golem_id
        }
        _ => return Err(call.unknown()),
    };
    Ok(Action { golem_id: golem_id.into(), ..Action::new(Class::Publish, call.target) })
}

/// A sale alone: to order, to publish and to give away is the owner's.
fn market(call: &Arguments<'_>) -> Result<Action, ActionRefusal> {
    if call.selector != Market::sellCall::SELECTOR {
        return Err(call.unknown());
    }
    let [entry_id, seller, buyer] = call.words()?;
    let source = call.address(seller)?;
    call.address(buyer)?;
    Ok(Action { entry_id: entry_id.into(), source, ..Action::new(Class::Sell, call.target) })
}

// Calls that carry others

/// Whether a function of the framework's accounts or of Uniswap's second router makes a call that its caller encodes; of
/// `HiddenCalls.sol`.
#[must_use]
pub const fn is_carrier(selector: Selector) -> bool {
    matches!(
        selector.0,
        // execute(Execution), execute(ModeCode,bytes): an account that calls itself.
        [0x5c, 0x1c, 0x6d, 0xcd] | [0xe9, 0xae, 0x5c, 0x53]
            // redeemDelegations(bytes[],ModeCode[],bytes[]), of the manager and of accounts.
            | [0xce, 0xf6, 0xd2, 0x09]
            // upgradeToAndCall(address,bytes), upgradeToAndCallAndRetainStorage(address,bytes).
            | [0x4f, 0x1e, 0xf2, 0x86] | [0xa2, 0x4c, 0x8f, 0x32]
            // callPositionManager(bytes) of SwapRouter02.
            | [0xb3, 0xa2, 0xaf, 0x13]
    )
}

/// The selector of a call that could carry another, or goes to whoever may speak as the account; none for what cannot.
#[must_use]
pub fn hidden_call(
    target: Address,
    data: &[u8],
    manager: Address,
    delegator: Address,
) -> Option<Selector> {
    if data.is_empty() {
        return None;
    }
    // What is shorter is filled up with zeros, as the contract reads it.
    let mut selector = Selector::ZERO;
    for (place, byte) in selector.iter_mut().zip(data) {
        *place = *byte;
    }
    (target == manager || target == delegator || is_carrier(selector)).then_some(selector)
}
