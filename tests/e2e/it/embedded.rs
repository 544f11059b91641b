//! The embedded mode against a fake of Privy that verifies with code that is not ours, and a real chain (SPEC K5, K8, K10).

#![expect(
    clippy::disallowed_methods,
    reason = "the service and its rules are what is tried, past the pipeline"
)]

mod away;
mod pipeline;
mod policy;
mod requests;
mod sweep;

use alloy::primitives::{Address, B256, Bytes, U256};
use anyhow::{Result, bail};
use bardo_testkit::{FakePrivy, Stage, dollars};
use golem_chain::Privy;
use golem_custody::{
    AllowedCall, Answered, AuthorizationKey, Backoff, ClearingPolicy, EmbeddedWallet, KeeperKey,
    Permit, PermittedTransaction, Pin, PolicyId, Receipt, RiskBounds, SignedTransaction, Submit,
    TokenBound, Wallet, WalletError, WalletKeeper, WalletTransaction,
};
use std::sync::Arc;

const OWNER: Address = Address::repeat_byte(0xa1);
const PAYEE: Address = Address::repeat_byte(0xb2);
const STRANGER: Address = Address::repeat_byte(0xc3);
pub(crate) const ROLL: u64 = 0;
pub(crate) const BACKOFF: Backoff = Backoff { first: 10, most: 100 };

/// SwapRouter02's, whose recipient is a member of a struct.
const EXACT_INPUT_SINGLE: &str = r#"{
  "type": "function", "name": "exactInputSingle", "stateMutability": "payable",
  "outputs": [{ "name": "amountOut", "type": "uint256" }],
  "inputs": [{ "name": "params", "type": "tuple", "components": [
    { "name": "tokenIn", "type": "address" }, { "name": "tokenOut", "type": "address" },
    { "name": "fee", "type": "uint24" }, { "name": "recipient", "type": "address" },
    { "name": "amountIn", "type": "uint256" }, { "name": "amountOutMinimum", "type": "uint256" },
    { "name": "sqrtPriceLimitX96", "type": "uint160" }
  ]}]
}"#;

/// A funded wallet at the fake, whose Golem may trade a little.
struct Scene {
    fake: Arc<FakePrivy>,
    keeper: WalletKeeper<Privy>,
    wallet: EmbeddedWallet<Privy>,
    made: Wallet,
    policy: PolicyId,
    bounds: RiskBounds,
    now: u64,
}

/// Up to 100 dollars into the vault, into the pool or to the payee; everything to the owner.
pub(crate) fn bounds(stage: &Stage, wallet: Address, now: u64) -> Result<RiskBounds> {
    let book = stage.book();
    let most = dollars(100);
    let spenders = vec![book.vault, book.swap_router_02];
    let approve = AllowedCall::new(
        book.usdc,
        "function approve(address spender, uint256 amount) returns (bool)",
        vec![Pin::one_of("spender", spenders), Pin::at_most("amount", most)],
    )?;
    let deposit = AllowedCall::new(
        book.vault,
        "function deposit(uint256 assets, address receiver) returns (uint256 shares)",
        vec![Pin::at_most("assets", most), Pin::is("receiver", wallet)],
    )?;
    let swap = AllowedCall::from_abi(
        book.swap_router_02,
        EXACT_INPUT_SINGLE,
        vec![
            Pin::is("params.tokenIn", book.usdc),
            Pin::is("params.tokenOut", book.weth),
            Pin::is("params.recipient", wallet),
            Pin::at_most("params.amountIn", most),
        ],
    )?;
    Ok(RiskBounds {
        wallet,
        chains: [stage.node().chain_id()].into(),
        calls: vec![approve, deposit, swap],
        max_value: U256::ZERO,
        tokens: vec![
            TokenBound { token: book.usdc, cap: most },
            TokenBound { token: book.weth, cap: U256::ZERO },
        ],
        payees: vec![PAYEE],
        beneficiary: OWNER,
        expires_at: now + 86_400,
    })
}

pub(crate) fn done<T: std::fmt::Debug>(answered: Answered<T>) -> Result<T> {
    match answered {
        Answered::Done(done) => Ok(done),
        Answered::Refused(denial) => bail!("refused: {denial}"),
    }
}

impl Scene {
    async fn open(stage: &Stage) -> Result<Self> {
        Self::with(stage, &[]).await
    }

    /// The same with further tokens in its bounds.
    async fn with(stage: &Stage, tokens: &[Address]) -> Result<Self> {
        let now = stage.now().await?;
        let fake = Arc::new(FakePrivy::start(now).await?);
        let keeper = WalletKeeper::new(fake.client()?, KeeperKey::born());
        Self::at(stage, fake, keeper, tokens, B256::repeat_byte(7), now).await
    }

    async fn at(
        stage: &Stage,
        fake: Arc<FakePrivy>,
        keeper: WalletKeeper<Privy>,
        tokens: &[Address],
        golem: B256,
        now: u64,
    ) -> Result<Self> {
        let made = done(keeper.create(golem).await?)?;
        let mut bounds = bounds(stage, made.address, now)?;
        bounds
            .tokens
            .extend(tokens.iter().map(|token| TokenBound { token: *token, cap: U256::ZERO }));
        let key = AuthorizationKey::born();
        let policy = done(keeper.admit(&made, &key.public(), &bounds, now).await?)?;
        let wallet =
            EmbeddedWallet::new(fake.client()?, made.id.clone(), made.address, key, BACKOFF);
        let ether = U256::from(1_000_000_000_000_000_000u64);
        stage.fund(made.address, ether, dollars(1_000)).await?;
        Ok(Self { fake, keeper, wallet, made, policy, bounds, now })
    }

    const fn address(&self) -> Address {
        self.wallet.address()
    }

    async fn transaction(
        &self,
        stage: &Stage,
        to: Address,
        value: U256,
        data: Bytes,
    ) -> Result<WalletTransaction> {
        let plan = stage.node().plan(self.address()).await?;
        Ok(WalletTransaction::new(&plan, to, value, data, 400_000))
    }

    fn permit(&self, bounds: &RiskBounds, tx: WalletTransaction) -> Result<PermittedTransaction> {
        let policy = ClearingPolicy::default();
        match bounds.permit(tx, &policy, U256::from(u64::MAX), self.now) {
            Permit::Granted(permitted) => Ok(permitted),
            Permit::Refused(denial) => bail!("{denial}"),
        }
    }

    /// Within the Golem's own bounds.
    async fn sign(&self, tx: WalletTransaction) -> Result<Answered<SignedTransaction>> {
        Ok(self.wallet.sign(self.permit(&self.bounds, tx)?, self.now, ROLL).await?)
    }

    /// The same at another second. What is asked for twice is permitted twice.
    #[expect(clippy::expect_used, reason = "what is tried is within the bounds")]
    async fn asks(
        &self,
        tx: &WalletTransaction,
        now: u64,
    ) -> Result<Answered<SignedTransaction>, WalletError> {
        let permitted = self.permit(&self.bounds, tx.clone()).expect("within its bounds");
        self.wallet.sign(permitted, now, ROLL).await
    }

    /// What a Golem does in its life: permitted, signed, sent.
    async fn act(&self, stage: &Stage, to: Address, value: U256, data: Bytes) -> Result<Receipt> {
        let tx = self.transaction(stage, to, value, data).await?;
        let signed = done(self.sign(tx).await?)?;
        match Submit::submit(stage.node(), &signed).await {
            Ok(receipt) => Ok(receipt),
            Err(fault) => bail!("{fault}"),
        }
    }
}
