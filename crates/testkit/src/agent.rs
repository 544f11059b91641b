use crate::{Owner, Stage};
use alloy::{
    primitives::{
        Address, B256, Bytes, U256,
        aliases::{U24, U160},
    },
    rpc::types::TransactionReceipt,
    sol_types::SolCall,
};
use anyhow::{Result, bail, ensure};
use bardo_bindings::{
    GolemRegistry,
    defi::SwapRouter02::{ExactInputSingleParams, exactInputSingleCall},
    framework::DELEGATION_MANAGER,
    golem_charter_enforcer, golem_registry,
};
use golem_chain::{Foresight, SwapGrant, bundle_enforcers, local::CharterParties};
use golem_custody::{
    ClearingPolicy, Denial, Execution, Judged, Mandate, MemoryBooks, Proposed, Receipt, Redemption,
    Rehearsal, Reservation, SessionKey, SessionSigner, SignedTransaction, Submit, rehearse,
};
use golem_delegation::{
    Caveat, Delegation, PermissionContext, ROOT_AUTHORITY,
    bundles::{Bundle, Law},
    terms::{GolemCharter, MortalityTimeWindow},
};
use std::sync::Arc;

/// Salt of the one Golem an owner has in tests.
const GOLEM_SALT: B256 = B256::repeat_byte(0x60);

/// Gas money of a session key in tests: 0.05 ether.
pub const STIPEND: U256 = U256::from_limbs([50_000_000_000_000_000, 0, 0, 0]);

/// The 0.05 % pool.
const FEE: U24 = U24::from_limbs([500]);

/// An agent that holds a key and the grant of one account.
#[expect(missing_debug_implementations, reason = "INV-2: it holds a key")]
pub struct Agent {
    /// Its key.
    pub key: SessionKey,
    /// What it stands on.
    pub grant: Delegation,
    /// Whom it acts for.
    pub account: Address,
}

/// A redemption as if its owner had asked for it: what the chain bounds is what is shown.
#[expect(clippy::disallowed_methods, reason = "tests of what comes after a judgement")]
pub fn judged(redemption: Redemption) -> Judged {
    Proposed::unnamed(redemption).by_hand()
}

/// A mandate over books that are forgotten with their process.
#[must_use]
pub fn mandate() -> Mandate {
    Mandate::by_hand(B256::ZERO, Address::ZERO, Arc::new(MemoryBooks::default()))
}

/// What became of an attempt.
#[derive(Debug)]
#[must_use]
pub enum Attempt {
    /// It was cleared, signed, sent and mined.
    Done(Receipt),
    /// It was refused before anything was signed.
    Refused(Denial),
}

impl Attempt {
    /// The refusal; fails the test where there was none.
    pub fn refusal(self) -> Result<Denial> {
        match self {
            Self::Refused(denial) => Ok(denial),
            Self::Done(receipt) => bail!("was not refused: {receipt:?}"),
        }
    }

    /// The receipt; fails the test where it was refused or failed.
    pub fn receipt(self) -> Result<Receipt> {
        match self {
            Self::Done(receipt) if receipt.success => Ok(receipt),
            other => bail!("did not succeed: {other:?}"),
        }
    }
}

/// A root delegation that nobody has signed yet.
#[must_use]
pub fn unsigned(delegator: Address, grant: &SwapGrant) -> Delegation {
    Delegation {
        delegate: grant.session,
        delegator,
        authority: ROOT_AUTHORITY,
        caveats: grant.caveats(),
        salt: U256::ZERO,
        signature: Bytes::new(),
    }
}

/// The charter of the one Golem of `owner`, as `change`d; the Golem is registered where it was not.
pub async fn charter(
    stage: &Stage,
    owner: &Owner,
    agent_key: Address,
    change: impl FnOnce(&mut GolemCharter),
) -> Result<GolemCharter> {
    charter_of(stage, owner, GOLEM_SALT, agent_key, change).await
}

/// The same for one of several Golems.
pub async fn charter_of(
    stage: &Stage,
    owner: &Owner,
    salt: B256,
    agent_key: Address,
    change: impl FnOnce(&mut GolemCharter),
) -> Result<GolemCharter> {
    let signer = owner.signer.address();
    let golem_id = stage
        .node()
        .read(golem_registry(), GolemRegistry::golemIdOfCall { owner: signer, salt })
        .await?;
    let known = GolemRegistry::ownerOfCall { golemId: golem_id };
    if stage.node().read(golem_registry(), known).await?.is_zero() {
        let register = GolemRegistry::registerCall { salt, agentKey: agent_key };
        let receipt = stage
            .send_as(signer, golem_registry(), U256::ZERO, register.abi_encode().into())
            .await?;
        ensure!(receipt.status(), "registration failed");
    }
    let now = stage.now().await?;
    let parties = CharterParties {
        golem_id,
        owner: signer,
        account: owner.account.address,
        agent_key,
        epoch: 1,
    };
    let mut charter = stage.book().charter(&parties, MortalityTimeWindow::new(now, now + 604_800)?);
    change(&mut charter);
    Ok(charter)
}

/// A root delegation with that charter alone, which nobody has signed yet.
pub fn chartered(charter: &GolemCharter) -> Result<Delegation> {
    Ok(Delegation {
        delegate: charter.agent_key,
        delegator: charter.account,
        authority: ROOT_AUTHORITY,
        caveats: vec![Caveat::new(golem_charter_enforcer(), charter.encode()?)],
        salt: U256::ZERO,
        signature: Bytes::new(),
    })
}

/// A grant of `owner` for a Golem that is registered: the local chain's charter, with Replicants, as
/// `bundles` leave it.
pub async fn bundled(
    stage: &Stage,
    owner: &Owner,
    agent_key: Address,
    bundles: &[Bundle],
) -> Result<Delegation> {
    let whole = charter(stage, owner, agent_key, |law| law.replicants = true).await?;
    let law = Law::new(whole).under(bundles)?;
    let grant = Delegation {
        delegate: agent_key,
        delegator: owner.account.address,
        authority: ROOT_AUTHORITY,
        caveats: law.caveats(&bundle_enforcers())?,
        salt: U256::ZERO,
        signature: Bytes::new(),
    };
    Ok(owner.signer.grant(&stage.domain(), grant)?)
}

/// Sells `amount` of USDC as [`swap`] does, for no less than 99 % of what the feeds say it is worth.
#[must_use]
pub fn fair_swap(stage: &Stage, recipient: Address, amount: U256) -> Execution {
    let worth = amount * U256::from(1_000_000_000_000u64) / stage.book().eth_price;
    swap_for(stage, recipient, amount, worth * U256::from(99) / U256::from(100))
}

/// A grant to sell USDC for WETH: `calls` times within `window`.
#[must_use]
pub const fn swap_grant(
    stage: &Stage,
    session: Address,
    account: Address,
    calls: u64,
    window: MortalityTimeWindow,
) -> SwapGrant {
    let book = stage.book();
    SwapGrant {
        session,
        account,
        router: book.swap_router_02,
        token_in: book.usdc,
        token_out: book.weth,
        fee: FEE,
        calls,
        window,
    }
}

/// Sells `amount` of USDC on the 0.05 % pool, to `recipient`.
#[must_use]
pub fn swap(stage: &Stage, recipient: Address, amount: U256) -> Execution {
    swap_for(stage, recipient, amount, U256::ZERO)
}

fn swap_for(stage: &Stage, recipient: Address, amount: U256, minimum: U256) -> Execution {
    let book = stage.book();
    let call = exactInputSingleCall {
        params: ExactInputSingleParams {
            tokenIn: book.usdc,
            tokenOut: book.weth,
            fee: FEE,
            recipient,
            amountIn: amount,
            amountOutMinimum: minimum,
            sqrtPriceLimitX96: U160::ZERO,
        },
    };
    Execution { target: book.swap_router_02, value: U256::ZERO, data: call.abi_encode().into() }
}

impl Agent {
    /// A newborn with gas money and a signed grant of `owner`, from now for a week.
    pub async fn hired(stage: &Stage, owner: &Owner, calls: u64) -> Result<Self> {
        let now = stage.now().await?;
        Self::hired_for(stage, owner, calls, MortalityTimeWindow::new(now, now + 604_800)?).await
    }

    /// The same within `window`.
    pub async fn hired_for(
        stage: &Stage,
        owner: &Owner,
        calls: u64,
        window: MortalityTimeWindow,
    ) -> Result<Self> {
        let key = SessionKey::born();
        stage.fund(key.address(), STIPEND, U256::ZERO).await?;
        let account = owner.account.address;
        let terms = swap_grant(stage, key.address(), account, calls, window);
        let grant = owner.signer.grant(&stage.domain(), unsigned(account, &terms))?;
        Ok(Self { key, grant, account })
    }

    /// A Golem of `owner` that is registered and lives under the local chain's charter, as `change`d,
    /// from now for a week.
    pub async fn chartered(
        stage: &Stage,
        owner: &Owner,
        change: impl FnOnce(&mut GolemCharter),
    ) -> Result<Self> {
        let key = SessionKey::born();
        stage.fund(key.address(), STIPEND, U256::ZERO).await?;
        let charter = charter(stage, owner, key.address(), change).await?;
        let grant = owner.signer.grant(&stage.domain(), chartered(&charter)?)?;
        Ok(Self { key, grant, account: owner.account.address })
    }

    /// A Golem of `owner` under [`bundled`] limits.
    pub async fn under(stage: &Stage, owner: &Owner, bundles: &[Bundle]) -> Result<Self> {
        let key = SessionKey::born();
        stage.fund(key.address(), STIPEND, U256::ZERO).await?;
        let grant = bundled(stage, owner, key.address(), bundles).await?;
        Ok(Self { key, grant, account: owner.account.address })
    }

    /// The redemption of its grant for one call.
    pub fn redemption(&self, call: &Execution) -> Result<Redemption> {
        let context = PermissionContext::new(vec![self.grant.clone()])?;
        Ok(Redemption::single(DELEGATION_MANAGER, context, call))
    }

    /// Cleared and signed, as every Golem's must be; or why not.
    pub async fn signed(
        &self,
        stage: &Stage,
        redemption: Redemption,
    ) -> Result<Result<SignedTransaction, Denial>> {
        let (policy, mandate) = (ClearingPolicy::default(), mandate());
        let (foresight, now) = (Foresight::new(stage.node().clone()), stage.now().await?);
        let (judged, by) = (judged(redemption), self.key.address());
        let rehearsed = match rehearse(&foresight, judged, by, &policy).await? {
            Rehearsal::Passed(rehearsed) => rehearsed,
            Rehearsal::Refused(denial) => return Ok(Err(denial)),
        };
        let cleared = match rehearsed.reserve(&mandate, now).await? {
            Reservation::Made(cleared) => cleared,
            Reservation::Refused(denial) => return Ok(Err(denial)),
        };
        let afloat = self.key.sign(cleared, now).await?.keep(&mandate, now).await?;
        Ok(Ok(afloat.last().clone()))
    }

    /// Tries, the way every Golem must: judged first, signed only if cleared.
    pub async fn attempt(&self, stage: &Stage, call: &Execution) -> Result<Attempt> {
        let signed = match self.signed(stage, self.redemption(call)?).await? {
            Ok(signed) => signed,
            Err(denial) => return Ok(Attempt::Refused(denial)),
        };
        match stage.node().submit(&signed).await {
            Ok(receipt) => Ok(Attempt::Done(receipt)),
            Err(error) => bail!("submission failed: {error}"),
        }
    }

    /// Tries the way a thief with the key would: no judge, straight to the chain.
    pub async fn force(&self, stage: &Stage, call: &Execution) -> Result<TransactionReceipt> {
        let data = self.redemption(call)?.calldata();
        stage.send_as(self.key.address(), DELEGATION_MANAGER, U256::ZERO, data).await
    }
}
