use crate::{
    Account, AccountKind, ChainFault, Node, OwnerError, SharedAccount,
    account::UPGRADED,
    explain_revert,
    snapshot::{Snapshot, revert_data, said},
};
use alloy::{
    primitives::{Address, B256, Bytes, U256, uint},
    rpc::types::TransactionReceipt,
    sol,
    sol_types::SolCall,
};
use bardo_bindings::{
    defi::{Erc20, NonfungiblePositionManager},
    framework::{ENTRY_POINT, EntryPoint, HYBRID_IMPL, HybridDeleGator, STATELESS_7702_IMPL},
};
use futures_util::future::try_join_all;
use golem_custody::{Execution, OwnerSigner};

sol! {
    /// Of collections: to somebody who says that he can have it.
    function safeTransferFrom(address from, address to, uint256 tokenId) external;
}

/// Items of a collection that leave at once: a transaction has so much gas and no more.
const MOST_ITEMS: u64 = 100;

/// Where an ERC-1967 proxy keeps whom it obeys.
const IMPLEMENTATION_SLOT: U256 =
    uint!(0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc_U256);

/// How often over an EOA that empties itself keeps back what gas costs now: the price moves until the block, and what is
/// kept too much stays where it was.
const GAS_MARGIN: U256 = U256::from_limbs([2, 0, 0, 0]);

/// What stands at an account's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AccountCode {
    /// Nothing: an EOA, or an account that was not created yet.
    None,
    /// An EOA that is upgraded to the framework's code.
    Stateless7702,
    /// A proxy of the framework's Hybrid account.
    Hybrid {
        /// Whose key rules it; zero where only passkeys do.
        owner: Address,
    },
    /// Something else.
    Other,
}

/// What an account has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holdings {
    /// Native coins, in wei.
    pub ether: U256,
    /// Each token that was asked for, in its base units.
    pub tokens: Vec<(Address, U256)>,
}

/// What to take out of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Withdrawal {
    /// To whom.
    pub to: Address,
    /// All of each of these tokens.
    pub tokens: Vec<Address>,
    /// All items of each of these collections, such as liquidity positions; of a large one the first hundred.
    pub collections: Vec<Address>,
    /// All native coins, and those that lie with the entry point. An EOA keeps what its own gas may cost.
    pub ether: bool,
}

/// One thing that was taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The token, or the entry point for what lay there; none for native coins.
    pub token: Option<Address>,
    /// Which item, where the token is a collection.
    pub item: Option<U256>,
    /// How much was sent.
    pub amount: U256,
    /// How much the account has since.
    pub left: U256,
    /// Whether it left the account: nothing of it is there, or, where an EOA keeps gas money, so much less than before.
    pub out: bool,
}

/// What became of a withdrawal.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Withdrawn {
    /// It is in a block. Whether all is out is for `out` and `still` to say: a token may do what it likes.
    Done {
        /// What was sent.
        moved: Vec<Moved>,
        /// Collections of which the account still has items, with how many: so many do not leave at once.
        still: Vec<(Address, U256)>,
        /// The transactions: one, and one before it where the account had to be created.
        transactions: Vec<B256>,
        /// What they used.
        gas_used: u64,
    },
    /// There was nothing to take.
    Nothing,
    /// All that there was is kept back for the gas of taking it, in wei.
    OnlyGas {
        /// What there is.
        ether: U256,
        /// What gas may cost.
        gas: U256,
    },
    /// The chain would refuse it, and nothing left the account.
    Refused {
        /// Why, in plain words.
        reason: String,
        /// The account's creation, where that was sent before.
        created: Option<B256>,
    },
}

/// Looks at what stands at `address`.
pub async fn account_code(node: &Node, address: Address) -> Result<AccountCode, ChainFault> {
    let on = Snapshot::newest(node).await?;
    let code = on.code(address).await?;
    if code.is_empty() {
        return Ok(AccountCode::None);
    }
    if let Some(implementation) = code.strip_prefix(&UPGRADED) {
        let ours = implementation == STATELESS_7702_IMPL.as_slice();
        return Ok(if ours { AccountCode::Stateless7702 } else { AccountCode::Other });
    }
    let obeys = on.slot(address, IMPLEMENTATION_SLOT).await?;
    if obeys != U256::from_be_bytes(HYBRID_IMPL.into_word().0) {
        return Ok(AccountCode::Other);
    }
    let owner = on.read(address, HybridDeleGator::ownerCall {}).await?;
    Ok(AccountCode::Hybrid { owner })
}

impl Holdings {
    /// What `account` has of native coins and of each of `tokens`.
    pub async fn of(node: &Node, account: Address, tokens: &[Address]) -> Result<Self, ChainFault> {
        Self::on(&Snapshot::newest(node).await?, account, tokens).await
    }

    async fn on(
        on: &Snapshot<'_>,
        account: Address,
        tokens: &[Address],
    ) -> Result<Self, ChainFault> {
        let mut held = Vec::new();
        for token in tokens {
            on.require("token", *token).await?;
            held.push((*token, on.read(*token, Erc20::balanceOfCall { account }).await?));
        }
        Ok(Self { ether: on.balance(account).await?, tokens: held })
    }
}

impl Account {
    /// Gets all of what is asked for out of the account, in one transaction of the owner's key: all of it or nothing.
    ///
    /// An account that has no code yet is created by a transaction before it.
    pub async fn withdraw(
        &self,
        node: &Node,
        owner: &OwnerSigner,
        withdrawal: &Withdrawal,
        ceiling: U256,
    ) -> Result<Withdrawn, OwnerError> {
        let to = withdrawal.to;
        let (before, mut sends) = withdrawal.of(node, self.address).await?;
        if sends.is_empty() {
            return Ok(Withdrawn::Nothing);
        }

        let created = self.create(node, owner, ceiling).await?;
        let refuse = |error: OwnerError| -> Result<Withdrawn, OwnerError> {
            let OwnerError::WouldFail { source, .. } = &error else { return Err(error) };
            let Some(data) = revert_data(source) else { return Err(error) };
            let context = self.own_context(node.chain_id(), owner)?;
            let reason = explain_revert(&data, &context).reason;
            let created = created.as_ref().map(|receipt| receipt.transaction_hash);
            Ok(Withdrawn::Refused { reason, created })
        };
        if self.kind == AccountKind::Stateless7702
            && let Some(coins) = sends.iter_mut().find(|send| send.is_coins())
        {
            // Its own gas is paid from the same purse, and first.
            coins.amount = U256::from(1);
            let gas = match self.gas_money(node, owner, &executions(self.address, to, &sends)).await
            {
                Ok(gas) => gas.saturating_mul(GAS_MARGIN),
                Err(error) => return refuse(error),
            };
            let free = before.ether.saturating_sub(gas);
            for coins in sends.iter_mut().filter(|send| send.is_coins()) {
                coins.amount = free;
            }
            sends.retain(|send| !send.amount.is_zero());
            if sends.is_empty() {
                return Ok(Withdrawn::OnlyGas { ether: before.ether, gas });
            }
        }
        let acted = match self
            .act_within(node, owner, &executions(self.address, to, &sends), ceiling)
            .await
        {
            Ok(receipts) => receipts,
            Err(error) => return refuse(error),
        };

        let receipts: Vec<_> = created.into_iter().chain(acted).collect();
        let pays_gas = self.kind == AccountKind::Stateless7702;
        withdrawal.out(node, self.address, pays_gas, &sends, &receipts).await
    }
}

impl SharedAccount {
    /// The same for an account that several keys rule: they agree to it, and the first of them sends it.
    pub async fn withdraw(
        &self,
        node: &Node,
        keys: &[OwnerSigner],
        withdrawal: &Withdrawal,
        ceiling: U256,
    ) -> Result<Withdrawn, OwnerError> {
        let (_, sends) = withdrawal.of(node, self.address).await?;
        if sends.is_empty() {
            return Ok(Withdrawn::Nothing);
        }
        let calls = executions(self.address, withdrawal.to, &sends);
        match self.act(node, keys, &calls, ceiling).await {
            Ok(receipt) => withdrawal.out(node, self.address, false, &sends, &[receipt]).await,
            Err(error) => {
                let OwnerError::WouldFail { source, .. } = &error else { return Err(error) };
                let Some(data) = revert_data(source) else { return Err(error) };
                let (_, context) = self.agreement(node, keys, &calls).await?;
                let reason = explain_revert(&data, &context).reason;
                Ok(Withdrawn::Refused { reason, created: None })
            }
        }
    }
}

/// So much of a token, or one item of a collection; of native coins where there is none.
#[derive(Clone, Copy, Debug)]
struct Send {
    token: Option<Address>,
    item: Option<U256>,
    amount: U256,
}

impl Send {
    const fn is_coins(&self) -> bool {
        self.token.is_none()
    }
}

impl Withdrawal {
    /// What the account has, and what of it is to be sent.
    async fn of(&self, node: &Node, account: Address) -> Result<(Holdings, Vec<Send>), ChainFault> {
        let on = Snapshot::newest(node).await?;
        let mut tokens = self.tokens.clone();
        if self.ether && !on.code(ENTRY_POINT).await?.is_empty() {
            tokens.push(ENTRY_POINT);
        }
        // All of a token can leave once.
        tokens.sort_unstable();
        tokens.dedup();
        let before = Holdings::on(&on, account, &tokens).await?;
        let tokens = before.tokens.iter().map(|(token, amount)| (Some(*token), *amount));
        let ether = self.ether.then_some((None, before.ether));
        let mut sends: Vec<Send> = tokens
            .chain(ether)
            .filter(|(_, amount)| !amount.is_zero())
            .map(|(token, amount)| Send { token, item: None, amount })
            .collect();
        for collection in &self.collections {
            let amount = U256::from(1);
            let items = items(&on, *collection, account).await?;
            let items = items.into_iter().map(Some);
            sends.extend(items.map(|item| Send { token: Some(*collection), item, amount }));
        }
        Ok((before, sends))
    }

    /// What is there since the last of the transactions. Of an account that pays its gas, coins are out when they are so many fewer than
    /// before that block.
    async fn out(
        &self,
        node: &Node,
        account: Address,
        pays_gas: bool,
        sends: &[Send],
        receipts: &[TransactionReceipt],
    ) -> Result<Withdrawn, OwnerError> {
        let on = match receipts.last() {
            Some(last) => Snapshot::after(node, last).await?,
            None => Snapshot::newest(node).await?,
        };
        let mut moved = Vec::new();
        for Send { token, item, amount } in sends.iter().copied() {
            let left = match (token, item) {
                (None, _) => on.balance(account).await?,
                (Some(token), None) => {
                    on.require("token", token).await?;
                    on.read(token, Erc20::balanceOfCall { account }).await?
                }
                // One that is nobody's any more has left, too.
                (Some(token), Some(id)) => {
                    let whose = NonfungiblePositionManager::ownerOfCall { tokenId: id };
                    let owner = said(on.read(token, whose).await)?;
                    U256::from(owner == Some(account))
                }
            };
            let out = if token.is_none() && pays_gas {
                let before = Snapshot::at(node, on.block().number.saturating_sub(1)).await?;
                let had = before.balance(account).await?;
                left <= had.saturating_sub(amount)
            } else {
                left.is_zero()
            };
            moved.push(Moved { token, item, amount, left, out });
        }
        let mut still = Vec::new();
        for collection in &self.collections {
            let held = NonfungiblePositionManager::balanceOfCall { owner: account };
            let count = on.read(*collection, held).await?;
            if !count.is_zero() && !still.contains(&(*collection, count)) {
                still.push((*collection, count));
            }
        }
        Ok(Withdrawn::Done {
            moved,
            still,
            transactions: receipts.iter().map(|receipt| receipt.transaction_hash).collect(),
            gas_used: receipts.iter().map(|receipt| receipt.gas_used).sum(),
        })
    }
}

/// The first items that an account has of a collection.
async fn items(
    on: &Snapshot<'_>,
    collection: Address,
    owner: Address,
) -> Result<Vec<U256>, ChainFault> {
    on.require("collection", collection).await?;
    let count = on.read(collection, NonfungiblePositionManager::balanceOfCall { owner }).await?;
    let count = count.min(U256::from(MOST_ITEMS)).saturating_to::<u64>();
    let ids = (0..count).map(|index| {
        let index = U256::from(index);
        let of = NonfungiblePositionManager::tokenOfOwnerByIndexCall { owner, index };
        on.read(collection, of)
    });
    try_join_all(ids).await
}

/// One call for each thing that is sent.
fn executions(account: Address, to: Address, sends: &[Send]) -> Vec<Execution> {
    let call = |target, data: Vec<u8>| Execution { target, value: U256::ZERO, data: data.into() };
    sends
        .iter()
        .map(|Send { token, item, amount }| match (*token, *item) {
            (None, _) => Execution { target: to, value: *amount, data: Bytes::new() },
            (Some(token), Some(id)) => {
                let send = safeTransferFromCall { from: account, to, tokenId: id };
                call(token, send.abi_encode())
            }
            (Some(ENTRY_POINT), None) => {
                let out =
                    EntryPoint::withdrawToCall { withdrawAddress: to, withdrawAmount: *amount };
                call(ENTRY_POINT, out.abi_encode())
            }
            (Some(token), None) => {
                call(token, Erc20::transferCall { to, amount: *amount }.abi_encode())
            }
        })
        .collect()
}
