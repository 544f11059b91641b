use crate::MultiSigOwner;
use alloy::{
    eips::BlockId,
    network::TransactionBuilder,
    primitives::{Address, B256, Bytes, U256},
    providers::{Provider, ext::AnvilApi},
    rpc::types::{TransactionReceipt, TransactionRequest},
    sol_types::SolCall,
};
use anyhow::{Context, Result, ensure};
use bardo_bindings::{
    defi::{Erc20, PriceAggregator, PriceFeed},
    framework::DELEGATION_MANAGER,
};
use golem_chain::{
    Account, AccountKind, Foresight, Node, hybrid_account,
    local::{AddressBook, Bundler, FAUCET, LocalChain, LocalFiles},
};
use golem_custody::{Execution, OwnerSigner};
use golem_delegation::SigningDomain;
use std::{
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::OnceLock,
};
use tokio::sync::{Mutex, MutexGuard};

static CHAIN: OnceLock<LocalChain> = OnceLock::new();
/// Whose turn it is, and the snapshot the next one goes back to.
static TURN: Mutex<Option<U256>> = Mutex::const_new(None);

/// The local chain in its first state, for one test at a time.
///
/// The process has one chain. Opening a stage goes back to the snapshot that the last one began
/// with, whether that test passed, failed or panicked. The chain ends with the process.
#[derive(Debug)]
pub struct Stage {
    chain: &'static LocalChain,
    node: Node,
    _turn: MutexGuard<'static, Option<U256>>,
}

/// An owner with one key and an account of one of the two kinds it can rule alone.
#[expect(missing_debug_implementations, reason = "INV-2: it holds a key")]
pub struct Owner {
    /// His key.
    pub signer: OwnerSigner,
    /// Where his money is.
    pub account: Account,
}

/// The repository's root.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).map(Into::into).unwrap_or_default()
}

impl Stage {
    /// Waits for its turn; starts the chain where this is the first.
    pub async fn open() -> Result<Self> {
        let mut turn = TURN.lock().await;
        let chain = match CHAIN.get() {
            Some(chain) => chain,
            None => {
                let started = LocalChain::start(&LocalFiles::at(root()))?;
                CHAIN.get_or_init(|| started)
            }
        };
        let node = Node::connect(chain.url()).await?;
        if let Some(snapshot) = *turn {
            let reverted = node.provider().anvil_revert(snapshot).await?;
            ensure!(reverted, "snapshot {snapshot} is gone");
            // These are the node's, not the state's: a snapshot does not bring them back.
            node.provider().anvil_set_auto_mine(true).await?;
            let head = node.provider().get_block(BlockId::latest()).await?.context("no head")?;
            let fee = head.header.base_fee_per_gas.context("no base fee")?;
            node.provider().anvil_set_next_block_base_fee_per_gas(fee.into()).await?;
        }
        *turn = Some(node.provider().anvil_snapshot().await?);
        Ok(Self { chain, node, _turn: turn })
    }

    /// The connection.
    #[must_use]
    pub const fn node(&self) -> &Node {
        &self.node
    }

    /// Dry runs on the chain as it is now. A new one each time: what a test writes into a block behind its back is seen.
    #[must_use]
    pub fn foresight(&self) -> Foresight {
        Foresight::new(self.node.clone())
    }

    /// The chain.
    #[must_use]
    pub const fn chain(&self) -> &LocalChain {
        self.chain
    }

    /// What stands where.
    #[must_use]
    pub const fn book(&self) -> &AddressBook {
        self.chain.book()
    }

    /// Domain of grants on this chain.
    #[must_use]
    pub const fn domain(&self) -> SigningDomain {
        SigningDomain { chain_id: self.node.chain_id(), manager: DELEGATION_MANAGER }
    }

    /// A real bundler on this chain.
    pub fn bundler(&self) -> Result<Bundler> {
        Ok(Bundler::start(self.chain.files(), self.chain.url())?)
    }

    /// Sends as any address, without its key: what whoever holds the key could send.
    pub async fn send_as(
        &self,
        from: Address,
        to: Address,
        value: U256,
        data: Bytes,
    ) -> Result<TransactionReceipt> {
        let provider = self.node.provider();
        provider.anvil_impersonate_account(from).await?;
        // Gas is given, not estimated: an attempt that must fail has to reach the chain.
        let request = TransactionRequest::default()
            .with_from(from)
            .with_to(to)
            .with_value(value)
            .with_gas_limit(3_000_000)
            .with_input(data);
        let receipt = provider.send_transaction(request).await?.get_receipt().await?;
        provider.anvil_stop_impersonating_account(from).await?;
        Ok(receipt)
    }

    /// Sends as the faucet and demands success.
    pub async fn faucet<C: SolCall>(&self, to: Address, call: C) -> Result<TransactionReceipt> {
        let receipt = self.send_as(FAUCET, to, U256::ZERO, call.abi_encode().into()).await?;
        ensure!(receipt.status(), "{} failed", C::SIGNATURE);
        Ok(receipt)
    }

    /// Sets native balance, and mints dollars.
    pub async fn fund(&self, to: Address, wei: U256, usdc: U256) -> Result<()> {
        self.node.provider().anvil_set_balance(to, wei).await?;
        if !usdc.is_zero() {
            self.faucet(self.book().usdc, Erc20::mintCall { to, amount: usdc }).await?;
        }
        Ok(())
    }

    /// An owner whose account is deployed and holds 10 ether and 10,000 USDC.
    pub async fn owner(&self, kind: AccountKind) -> Result<Owner> {
        self.owner_with(kind, OwnerSigner::born()).await
    }

    /// The same with a key that never changes, for what must not vary between runs.
    pub async fn fixed_owner(&self, kind: AccountKind) -> Result<Owner> {
        self.owner_with(kind, fixed_signer(0x0b)?).await
    }

    async fn owner_with(&self, kind: AccountKind, signer: OwnerSigner) -> Result<Owner> {
        let account = match kind {
            AccountKind::Stateless7702 => Account::stateless_7702(signer.address()),
            AccountKind::Hybrid => {
                hybrid_account(signer.address(), B256::ZERO, &self.book().proxy_code)
            }
        };
        self.fund(signer.address(), ten_ether(), U256::ZERO).await?;
        self.fund(account.address, ten_ether(), dollars(10_000)).await?;
        let owner = Owner { signer, account };
        let allow =
            Erc20::approveCall { spender: self.book().swap_router_02, amount: dollars(10_000) };
        owner.act(self, self.book().usdc, allow).await?;
        Ok(owner)
    }

    /// Three keys, any two of which rule a MultiSig account with 10 ether and 10,000 USDC.
    pub async fn multisig_owner(&self) -> Result<MultiSigOwner> {
        let owner = MultiSigOwner::new(self).await?;
        self.fund(owner.address(), ten_ether(), dollars(10_000)).await?;
        Ok(owner)
    }

    /// Moves the clock forward to `timestamp` and makes a block there.
    pub async fn warp(&self, timestamp: u64) -> Result<()> {
        let provider = self.node.provider();
        provider.anvil_set_next_block_timestamp(timestamp).await?;
        provider.anvil_mine(Some(1), None).await?;
        Ok(())
    }

    /// Time of the newest block.
    pub async fn now(&self) -> Result<u64> {
        Ok(self.node.head().await?.timestamp)
    }

    /// Sets the answer of a two-hop feed, in its own decimals.
    pub async fn set_price(&self, feed: Address, answer: i64) -> Result<()> {
        let aggregator = self.node.read(feed, PriceFeed::aggregatorCall {}).await?;
        let answer = answer.try_into().context("price")?;
        self.faucet(aggregator, PriceAggregator::setCall { answer }).await.map(drop)
    }

    /// A contract that accepts every call in a simulation and fails every one in a block: simulations
    /// pay nothing or have all the gas there is, and transactions a little more than they need.
    pub async fn two_faced(&self) -> Result<Address> {
        let at = Address::repeat_byte(0x2f);
        // GASPRICE ISZERO PUSH1 17 JUMPI PUSH3 1000000 GAS GT PUSH1 17 JUMPI PUSH0 PUSH0 REVERT JUMPDEST STOP
        let code = Bytes::from_static(&[
            0x3a, 0x15, 0x60, 0x11, 0x57, 0x62, 0x0f, 0x42, 0x40, 0x5a, 0x11, 0x60, 0x11, 0x57,
            0x5f, 0x5f, 0xfd, 0x5b, 0x00,
        ]);
        self.node.provider().anvil_set_code(at, code).await?;
        Ok(at)
    }

    /// Token balance.
    pub async fn balance_of(&self, token: Address, account: Address) -> Result<U256> {
        Ok(self.node.read(token, Erc20::balanceOfCall { account }).await?)
    }
}

impl Owner {
    /// Makes the account call `target`.
    pub async fn act<C: SolCall>(&self, stage: &Stage, target: Address, call: C) -> Result<()> {
        let call = Execution { target, value: U256::ZERO, data: call.abi_encode().into() };
        self.account.act(stage.node(), &self.signer, &[call]).await?;
        Ok(())
    }
}

/// A key made of one byte, for tests whose numbers must not vary.
pub fn fixed_signer(byte: u8) -> Result<OwnerSigner> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("key");
    let mut file =
        std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    file.write_all(B256::repeat_byte(byte).to_string().as_bytes())?;
    Ok(OwnerSigner::from_key_file(&path)?)
}

/// Dollars in USDC's base units.
#[must_use]
pub fn dollars(amount: u64) -> U256 {
    U256::from(amount) * U256::from(1_000_000)
}

fn ten_ether() -> U256 {
    U256::from(10_000_000_000_000_000_000u128)
}
