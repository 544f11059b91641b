use crate::{ClearingPolicy, Denial, DenialCode, TransactionPlan};
use alloy_dyn_abi::{DynSolValue, JsonAbiExt};
use alloy_json_abi::{Function, Param, StateMutability};
use alloy_primitives::{Address, Bytes, U256, address};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Uniswap's Permit2, at the same address on every chain.
const PERMIT2: Address = address!("000000000022D473030F116dDEE9F6B43aC78BA3");
/// Largest whole number that every reader of JSON takes for itself.
const MOST_IN_JSON: u64 = (1 << 53) - 1;
/// Functions that no listed call may be: they move or promise tokens to somebody who is named in words that are not judged,
/// or hide other calls. Transfers have their own rules.
const NEVER: [&str; 12] = [
    "transfer",
    "transferFrom",
    "safeTransferFrom",
    "increaseAllowance",
    "setApprovalForAll",
    "permit",
    "transferWithAuthorization",
    "receiveWithAuthorization",
    "multicall",
    "execute",
    "executeBatch",
    "aggregate3",
];

/// How a vault is entered (ERC-4626): whoever may call one of these comes to hold the contract's own shares.
const ENTRANCES: [&str; 2] = ["deposit(uint256,address)", "mint(uint256,address)"];

/// What an argument must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// The argument's name; members of structs behind dots.
    pub(super) path: String,
    pub(super) to: Pinned,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Pinned {
    OneOf(Vec<Address>),
    AtMost(U256),
}

impl Pin {
    /// The argument is this address.
    #[must_use]
    pub fn is(path: &str, address: Address) -> Self {
        Self::one_of(path, vec![address])
    }

    /// The argument is one of these addresses.
    #[must_use]
    pub fn one_of(path: &str, addresses: Vec<Address>) -> Self {
        Self { path: path.to_owned(), to: Pinned::OneOf(addresses) }
    }

    /// The argument is no larger number than this.
    #[must_use]
    pub fn at_most(path: &str, most: U256) -> Self {
        Self { path: path.to_owned(), to: Pinned::AtMost(most) }
    }

    fn holds(&self, function: &Function, arguments: &[DynSolValue]) -> bool {
        let mut path = self.path.split('.');
        let Some(first) = path.next() else { return false };
        let Some((mut param, mut value)) =
            function.inputs.iter().zip(arguments).find(|(param, _)| param.name == first)
        else {
            return false;
        };
        for part in path {
            let Some(members) = value.as_tuple() else { return false };
            match param.components.iter().zip(members).find(|(param, _)| param.name == part) {
                Some(found) => (param, value) = found,
                None => return false,
            }
        }
        match (&self.to, value) {
            (Pinned::OneOf(addresses), DynSolValue::Address(found)) => addresses.contains(found),
            (Pinned::AtMost(most), DynSolValue::Uint(found, _)) => found <= most,
            _ => false,
        }
    }

    /// Whether there is such an argument of such a kind.
    fn fits(&self, function: &Function) -> bool {
        let mut path = self.path.split('.');
        let named = |params: &[Param], name: &str| {
            let mut found = params.iter().filter(|param| param.name == name);
            // Of two arguments with the same name it would not be known which is meant.
            found.next().filter(|_| found.next().is_none()).cloned()
        };
        let Some(mut param) = path.next().and_then(|name| named(&function.inputs, name)) else {
            return false;
        };
        for part in path {
            match named(&param.components, part) {
                Some(found) => param = found,
                None => return false,
            }
        }
        match &self.to {
            Pinned::OneOf(addresses) => param.ty == "address" && !addresses.is_empty(),
            Pinned::AtMost(_) => param.ty.starts_with("uint") && !param.ty.contains('['),
        }
    }
}

/// A function of a contract that the Golem may call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedCall {
    pub(super) contract: Address,
    pub(super) function: Function,
    pub(super) pins: Vec<Pin>,
}

impl AllowedCall {
    /// `signature` is Solidity's, with names: `function deposit(uint256 assets, address receiver)`.
    pub fn new(contract: Address, signature: &str, pins: Vec<Pin>) -> Result<Self, BoundsError> {
        let function = Function::parse(signature)
            .map_err(|source| BoundsError::Signature { source: source.into() })?;
        Self::of(contract, function, pins)
    }

    /// The same from the entry of a contract's JSON ABI: it has names of structs' members, too.
    pub fn from_abi(contract: Address, entry: &str, pins: Vec<Pin>) -> Result<Self, BoundsError> {
        let function = serde_json::from_str(entry)
            .map_err(|source| BoundsError::Signature { source: source.into() })?;
        Self::of(contract, function, pins)
    }

    fn of(contract: Address, function: Function, pins: Vec<Pin>) -> Result<Self, BoundsError> {
        match pins.iter().find(|pin| !pin.fits(&function)) {
            Some(pin) => Err(BoundsError::Pin { path: pin.path.clone() }),
            None => Ok(Self { contract, function, pins }),
        }
    }

    fn enters_a_vault(&self) -> bool {
        ENTRANCES.contains(&self.function.signature().as_str())
    }

    fn takes_value(&self) -> bool {
        self.function.state_mutability == StateMutability::Payable
    }

    pub(super) fn most_value(&self, bounds: &RiskBounds) -> U256 {
        if self.takes_value() { bounds.max_value } else { U256::ZERO }
    }

    fn is_of(&self, tx: &WalletTransaction) -> bool {
        tx.to == self.contract && tx.data.starts_with(self.function.selector().as_slice())
    }

    fn holds(&self, tx: &WalletTransaction) -> bool {
        let Some(input) = tx.data.get(4..) else { return false };
        let Ok(arguments) = self.function.abi_decode_input(input) else { return false };
        // One form only: two readers must not see two things in the same bytes.
        let Ok(again) = self.function.abi_encode_input(&arguments) else { return false };
        again == tx.data && self.pins.iter().all(|pin| pin.holds(&self.function, &arguments))
    }
}

/// A token that the wallet may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBound {
    /// The token.
    pub token: Address,
    /// Most that one transfer to a payee may have, in base units.
    pub cap: U256,
}

/// What a Golem of the embedded mode may do. Everything else is denied, by the service and before it is asked.
///
/// To the beneficiary everything may go, always: that is how a dead Golem's wallet is swept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RiskBounds {
    /// The wallet's address.
    pub wallet: Address,
    /// Chains, by number.
    pub chains: BTreeSet<u64>,
    /// Functions that may be called.
    pub calls: Vec<AllowedCall>,
    /// Most wei that one call may carry.
    pub max_value: U256,
    /// Tokens that may be held.
    pub tokens: Vec<TokenBound>,
    /// Who may be paid, each time up to a token's cap.
    pub payees: Vec<Address>,
    /// The owner, to whom everything returns.
    pub beneficiary: Address,
    /// The last second in which anything but the return to the owner may be signed.
    pub expires_at: u64,
}

/// Why bounds cannot be used. They would allow what nobody may mean.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BoundsError {
    /// Of another wallet.
    #[error("the bounds are of wallet {found}, and {expected} is to sign")]
    OtherWallet {
        /// Who is to sign.
        expected: Address,
        /// Whose they are.
        found: Address,
    },
    /// Not a function's signature.
    #[error("a call's signature does not parse")]
    Signature {
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Pins something that is not there, or not of this kind.
    #[error("the function has no single argument {path} of that kind")]
    Pin {
        /// Its path.
        path: String,
    },
    /// A chain is missing, or cannot be named.
    #[error("bounds need at least one chain, each with a number from 1 to 2^53 - 1")]
    Chains,
    /// The owner is nobody, or the wallet itself.
    #[error("the beneficiary must be the owner: neither nobody nor the wallet {wallet}")]
    Beneficiary {
        /// The wallet.
        wallet: Address,
    },
    /// A function that is never listed.
    #[error("{function} is never listed as a call: it could move tokens unjudged")]
    Never {
        /// Its name.
        function: String,
    },
    /// Permit2.
    #[error("Permit2 is not for the wallet to call: its owner funds it")]
    Permit2,
    /// Approvals that do not name who may take how much of what is listed.
    #[error(
        "approve needs a listed token, its spender pinned to contracts that are listed, and its amount bounded"
    )]
    Approve,
    /// A token that is called in another way.
    #[error("of token {token} nothing but approve is listed as a call")]
    Token {
        /// Which.
        token: Address,
    },
}

impl RiskBounds {
    /// All that the wallet may come to hold beside the coin: its tokens, and the shares of vaults that it may enter.
    #[must_use]
    pub fn held(&self) -> Vec<Address> {
        let mut held: Vec<Address> = self.tokens.iter().map(|bound| bound.token).collect();
        for call in self.calls.iter().filter(|call| call.enters_a_vault()) {
            if !held.contains(&call.contract) {
                held.push(call.contract);
            }
        }
        held
    }

    /// Refuses bounds that would allow more than they say.
    pub fn check(&self) -> Result<(), BoundsError> {
        let known = |chain: &u64| (1..=MOST_IN_JSON).contains(chain);
        if self.chains.is_empty() || !self.chains.iter().all(known) {
            return Err(BoundsError::Chains);
        }
        if self.beneficiary == Address::ZERO || self.beneficiary == self.wallet {
            return Err(BoundsError::Beneficiary { wallet: self.wallet });
        }
        self.calls.iter().try_for_each(|call| self.check_call(call))
    }

    fn check_call(&self, call: &AllowedCall) -> Result<(), BoundsError> {
        if call.contract == PERMIT2 {
            return Err(BoundsError::Permit2);
        }
        let name = call.function.name.as_str();
        if NEVER.contains(&name) {
            return Err(BoundsError::Never { function: name.to_owned() });
        }
        let is_token = |address: Address| self.tokens.iter().any(|bound| bound.token == address);
        if name != "approve" {
            let token = call.contract;
            return if is_token(token) { Err(BoundsError::Token { token }) } else { Ok(()) };
        }
        let trusted = |spender: &Address| {
            *spender != PERMIT2
                && !is_token(*spender)
                && self.calls.iter().any(|other| other.contract == *spender)
        };
        let named = |index: usize| call.function.inputs.get(index).map(|input| &input.name);
        let spender = call.pins.iter().any(|pin| {
            Some(&pin.path) == named(0)
                && matches!(&pin.to, Pinned::OneOf(who) if who.iter().all(trusted))
        });
        let amount = call
            .pins
            .iter()
            .any(|pin| Some(&pin.path) == named(1) && matches!(pin.to, Pinned::AtMost(_)));
        let plain = call.function.signature() == "approve(address,uint256)";
        if plain && spender && amount && is_token(call.contract) {
            Ok(())
        } else {
            Err(BoundsError::Approve)
        }
    }

    /// Judges a transaction by the bounds that the service's policy was compiled from. The service judges it again.
    ///
    /// `policy` and `balance` bound what it may cost.
    pub fn permit(
        &self,
        tx: WalletTransaction,
        policy: &ClearingPolicy,
        balance: U256,
        now: u64,
    ) -> Permit {
        if let Err(wrong) = self.check() {
            return Permit::Refused(Denial::new(DenialCode::WalletBounds, wrong.to_string()));
        }
        if let Some(why) = self.against(&tx, now) {
            return Permit::Refused(Denial::new(DenialCode::WalletBounds, why));
        }
        let fees = U256::from(tx.gas_limit).saturating_mul(U256::from(tx.max_fee_per_gas));
        // What is sent along is not a cost, but has to be there.
        let affordable = balance.saturating_sub(tx.value);
        match policy.against(fees, affordable, self.wallet) {
            Some(denial) => Permit::Refused(denial),
            None => Permit::Granted(PermittedTransaction(tx)),
        }
    }

    fn against(&self, tx: &WalletTransaction, now: u64) -> Option<String> {
        let WalletTransaction { chain_id, to, value, .. } = tx;
        if !self.chains.contains(chain_id) {
            return Some(format!("chain {chain_id} is not one of the wallet's"));
        }
        if self.returns_to_owner(tx) {
            return None;
        }
        if now > self.expires_at {
            return Some(format!(
                "the bounds ended at {}, it is {now}: everything but the return to the owner is over",
                self.expires_at
            ));
        }
        if let Some((TokenBound { token, cap }, payee, amount)) = self.transfer(tx) {
            return if !self.payees.contains(&payee) {
                Some(format!("{payee} is nobody whom the wallet may pay"))
            } else if amount > cap {
                Some(format!("a transfer of {amount} of {token} is over its cap of {cap}"))
            } else {
                None
            };
        }
        let mut of_contract = self.calls.iter().filter(|call| call.contract == *to).peekable();
        if of_contract.peek().is_none() {
            return Some(format!("{to} is no contract that the wallet may call"));
        }
        let mut listed = of_contract.filter(|call| call.is_of(tx)).peekable();
        if listed.peek().is_none() {
            return Some(format!("the function is none that the wallet may call at {to}"));
        }
        let mut fitting = listed.filter(|call| call.holds(tx)).peekable();
        if fitting.peek().is_none() {
            return Some(format!("an argument of the call of {to} is not what it must be"));
        }
        let most = fitting.map(|call| call.most_value(self)).max().unwrap_or_default();
        (*value > most).then(|| format!("{value} wei are sent along, and {most} may be"))
    }

    /// The native coin, or what else may be held, to the beneficiary and nothing else.
    fn returns_to_owner(&self, tx: &WalletTransaction) -> bool {
        let home = |(to, _)| to == self.beneficiary;
        (tx.to == self.beneficiary && tx.data.is_empty())
            || (tx.value.is_zero()
                && transfer_of(&tx.data).is_some_and(home)
                && self.held().contains(&tx.to))
    }

    /// A transfer of a listed token: which, to whom, how much.
    fn transfer(&self, tx: &WalletTransaction) -> Option<(TokenBound, Address, U256)> {
        let bound = self.tokens.iter().find(|bound| bound.token == tx.to)?;
        let (to, amount) = transfer_of(&tx.data)?;
        tx.value.is_zero().then_some((*bound, to, amount))
    }
}

alloy_sol_types::sol! {
    function transfer(address to, uint256 amount) returns (bool);
}

/// Reads `transfer(to, amount)`, in its one form.
fn transfer_of(data: &[u8]) -> Option<(Address, U256)> {
    use alloy_sol_types::SolCall as _;
    let call = transferCall::abi_decode_validate(data).ok()?;
    (call.abi_encode() == data).then_some((call.to, call.amount))
}

/// Data of `transfer(to, amount)`.
pub(super) fn transfer_to(to: Address, amount: U256) -> Bytes {
    use alloy_sol_types::SolCall as _;
    transferCall { to, amount }.abi_encode().into()
}

/// All of a transaction but its signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WalletTransaction {
    /// Chain.
    pub chain_id: u64,
    /// Place in the wallet's queue.
    pub nonce: u64,
    /// Most that is paid per unit of gas, in wei.
    #[serde(with = "text")]
    pub max_fee_per_gas: u128,
    /// Of that, most that goes to the block's builder.
    #[serde(with = "text")]
    pub max_priority_fee_per_gas: u128,
    /// Most gas.
    pub gas_limit: u64,
    /// Who is called.
    pub to: Address,
    /// Wei sent along.
    pub value: U256,
    /// What is called.
    pub data: Bytes,
}

/// Wei are text: JSON's numbers are not integers.
mod text {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(super) fn serialize<S: Serializer>(wei: &u128, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(wei)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u128, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

impl WalletTransaction {
    /// On a plan.
    #[must_use]
    pub const fn new(
        plan: &TransactionPlan,
        to: Address,
        value: U256,
        data: Bytes,
        gas_limit: u64,
    ) -> Self {
        Self {
            chain_id: plan.chain_id,
            nonce: plan.nonce,
            max_fee_per_gas: plan.max_fee_per_gas,
            max_priority_fee_per_gas: plan.max_priority_fee_per_gas,
            gas_limit,
            to,
            value,
            data,
        }
    }

    /// The transaction that the wallet's signature is to stand under.
    pub(super) fn unsigned(&self) -> alloy_consensus::TxEip1559 {
        alloy_consensus::TxEip1559 {
            chain_id: self.chain_id,
            nonce: self.nonce,
            gas_limit: self.gas_limit,
            max_fee_per_gas: self.max_fee_per_gas,
            max_priority_fee_per_gas: self.max_priority_fee_per_gas,
            to: alloy_primitives::TxKind::Call(self.to),
            value: self.value,
            access_list: Default::default(),
            input: self.data.clone(),
        }
    }
}

/// A transaction within the bounds. Only [`RiskBounds::permit`] makes one, and whoever has it signed has it no more.
///
/// ```compile_fail,E0599
/// # use golem_custody::PermittedTransaction;
/// fn twice(permitted: PermittedTransaction) -> (PermittedTransaction, PermittedTransaction) {
///     (permitted.clone(), permitted)
/// }
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct PermittedTransaction(WalletTransaction);

impl PermittedTransaction {
    /// What was permitted.
    #[must_use]
    pub const fn transaction(&self) -> &WalletTransaction {
        &self.0
    }
}

/// A refusal is an outcome, not an error: callers must look at both.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum Permit {
    /// The service may be asked for a signature.
    Granted(PermittedTransaction),
    /// It was not asked.
    Refused(Denial),
}
