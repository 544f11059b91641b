//! Row 5: MetaMask stops its DelegationManager.

use super::{Golem, World};
use crate::{
    books::verified,
    foresight::manager::{operate, pauseCall, unpauseCall},
};
use alloy::{
    primitives::{Address, B256, Bytes, U256},
    providers::{Provider as _, ext::AnvilApi as _},
    sol_types::SolCall as _,
};
use anyhow::{Result, ensure};
use bardo_bindings::{
    defi::Erc20,
    framework::{
        DELEGATION_MANAGER, DelegationManager, ENTRY_POINT, EntryPoint, MULTISIG_IMPL,
        MultiSigDeleGator, SIMPLE_FACTORY,
    },
};
use bardo_testkit::{STIPEND, Stage, dollars};
use golem_chain::{
    AccountKind, OWNER_FEE_CEILING, OwnerError, SharedAccount, Withdrawal, Withdrawn, proxy_account,
};
use golem_custody::{
    DenialCode, Execution, OwnOperation, OwnerSigner, SignedOwnOperation, VaultKind,
};
use golem_delegation::{Caveat, Delegation, ROOT_AUTHORITY, enforcers, terms::AllowedTargets};

const HOME: Address = Address::repeat_byte(0xb0);

/// Everything out of the account while the manager is paused, by one transaction of the owner's key and no other process.
async fn taken_out(world: &World, token: Address) -> Result<()> {
    let out = Withdrawal { to: HOME, tokens: vec![token], collections: vec![], ether: false };
    let (account, signer, node) = (&world.owner.account, &world.owner.signer, world.stage.node());
    let before = world.sent_by_owner().await?;
    match account.withdraw(node, signer, &out, OWNER_FEE_CEILING).await? {
        Withdrawn::Done { transactions, moved, .. } => {
            assert_eq!(transactions.len(), 1, "{transactions:?}");
            ensure!(moved.iter().all(|one| one.left.is_zero()), "{moved:?}");
        }
        other => anyhow::bail!("{other:?}"),
    }
    assert_eq!(world.sent_by_owner().await?, before + 1);
    Ok(())
}

/// K10, "DelegationManager paused": nothing is signed and nothing reserved, the reason is said, the owner has his money, and after
/// it the same Golem goes on under the same grant.
#[tokio::test]
async fn while_the_manager_is_paused_nothing_is_signed_and_the_owner_has_his_money() -> Result<()> {
    for kind in [AccountKind::Stateless7702, AccountKind::Hybrid] {
        let world = World::open(kind).await?;
        let (stage, usdc) = (&world.stage, world.stage.book().usdc);
        let golem = Golem::hosted(&world).await?;
        golem.sells(&world, 100).await?;
        let before = verified(golem.path())?;

        operate(stage, &pauseCall {}).await?;
        golem.is_refused(&world, 100, DenialCode::Paused).await?;
        ensure!(!world.forced(&golem.grant, 100).await?, "{kind:?}: the chain lets it through");
        assert_eq!(verified(golem.path())?, before, "{kind:?}: nothing was set aside");

        // The account is its owner's, whoever stops the manager.
        let held = world.usdc().await?;
        if kind == AccountKind::Hybrid {
            // A vault without a coin: nobody is paid for the operation but by its sender.
            stage.node().provider().anvil_set_balance(world.account(), U256::ZERO).await?;
        }
        taken_out(&world, usdc).await?;
        assert_eq!(stage.balance_of(usdc, HOME).await?, held, "{kind:?}");
        assert_eq!(world.usdc().await?, U256::ZERO, "{kind:?}");

        operate(stage, &unpauseCall {}).await?;
        let back = Erc20::mintCall { to: world.account(), amount: dollars(1_000) };
        stage.faucet(usdc, back).await?;
        golem.sells(&world, 100).await?;
        assert_eq!(world.usdc().await?, dollars(900), "{kind:?}");
        // What was refused was not spent.
        golem.is_refused(&world, 801, DenialCode::Spend).await?;
        golem.sells(&world, 799).await?;
    }
    Ok(())
}

/// D6, K10: the owner ends a grant while the manager is paused, and it stays ended when the manager goes on.
#[tokio::test]
async fn while_the_manager_is_paused_the_owner_ends_a_grant_by_one_transaction() -> Result<()> {
    for kind in [AccountKind::Stateless7702, AccountKind::Hybrid] {
        let world = World::open(kind).await?;
        let golem = Golem::hosted(&world).await?;
        golem.sells(&world, 100).await?;
        operate(&world.stage, &pauseCall {}).await?;
        let (account, signer) = (&world.owner.account, &world.owner.signer);
        let before = world.sent_by_owner().await?;

        account.revoke(world.stage.node(), signer, &golem.grant, OWNER_FEE_CEILING).await?;

        assert_eq!(world.sent_by_owner().await?, before + 1, "{kind:?}");
        operate(&world.stage, &unpauseCall {}).await?;
        world.is_dead(&golem.grant, DenialCode::DelegationDisabled).await?;
    }
    Ok(())
}

/// What would fail inside the account is not sent: the entry point would take the transaction and the gas for it.
#[tokio::test]
async fn while_the_manager_is_paused_what_would_fail_is_not_sent() -> Result<()> {
    let world = World::open(AccountKind::Hybrid).await?;
    let (stage, usdc) = (&world.stage, world.stage.book().usdc);
    operate(stage, &pauseCall {}).await?;
    let (before, held) = (world.sent_by_owner().await?, world.usdc().await?);
    let much = Erc20::transferCall { to: HOME, amount: held + U256::ONE };
    let call = Execution { target: usdc, value: U256::ZERO, data: much.abi_encode().into() };

    let acted = world.owner.account.act(stage.node(), &world.owner.signer, &[call]).await;

    ensure!(matches!(acted, Err(OwnerError::WouldFail { .. })), "{acted:?}");
    assert_eq!(world.sent_by_owner().await?, before);
    assert_eq!(world.usdc().await?, held);
    Ok(())
}

/// The entry point's transaction succeeds whatever the account did. The owner is told what it did.
#[tokio::test]
async fn while_the_manager_is_paused_a_failure_inside_is_no_success() -> Result<()> {
    let world = World::open(AccountKind::Hybrid).await?;
    let stage = &world.stage;
    operate(stage, &pauseCall {}).await?;
    let before = world.sent_by_owner().await?;
    let target = stage.two_faced().await?;
    let call = Execution { target, value: U256::ZERO, data: Bytes::new() };

    let acted = world.owner.account.act(stage.node(), &world.owner.signer, &[call]).await;

    ensure!(matches!(acted, Err(OwnerError::Failed { .. })), "{acted:?}");
    assert_eq!(world.sent_by_owner().await?, before + 1);
    Ok(())
}

/// The owner's operation is his vault's alone, and good once: handed in again, or for another account, the entry point takes neither.
#[tokio::test]
async fn an_owners_operation_is_good_once_and_for_his_vault_alone() -> Result<()> {
    let world = World::open(AccountKind::Hybrid).await?;
    let stage = &world.stage;
    operate(stage, &pauseCall {}).await?;
    let send = Erc20::transferCall { to: HOME, amount: dollars(1) };
    let data = send.abi_encode().into();
    let call = Execution { target: stage.book().usdc, value: U256::ZERO, data };
    let (vault, chain_id) = (world.account(), stage.node().chain_id());
    let kind = VaultKind::Hybrid;
    let own = OwnOperation { chain_id, vault, kind, nonce: U256::ZERO, call_gas: 200_000 };
    let signed = world.owner.signer.operation(&own, std::slice::from_ref(&call))?;
    let stranger = OwnerSigner::born();
    let forged = stranger.operation(&own, &[call])?;
    stage.fund(stranger.address(), U256::from(1u64 << 60), U256::ZERO).await?;
    let hand_in = async |operation: &SignedOwnOperation| -> Result<bool> {
        let ops = vec![operation.packed.clone()];
        let call = EntryPoint::handleOpsCall { ops, beneficiary: HOME };
        let data = call.abi_encode().into();
        let from = stranger.address();
        Ok(stage.send_as(from, ENTRY_POINT, U256::ZERO, data).await?.status())
    };

    ensure!(!hand_in(&forged).await?, "somebody else's signature");
    assert_eq!(stage.balance_of(stage.book().usdc, HOME).await?, U256::ZERO);
    ensure!(hand_in(&signed).await?, "whoever hands it in, it is the owner's");
    ensure!(!hand_in(&signed).await?, "twice");
    assert_eq!(stage.balance_of(stage.book().usdc, HOME).await?, dollars(1));
    Ok(())
}

/// Owners of one account, the last by address first: it is he who sends, and his signature is not needed.
struct Together {
    stage: Stage,
    keys: Vec<OwnerSigner>,
    shared: SharedAccount,
}

impl Together {
    /// Two of three, of whom nobody but the sender has gas money; the manager is paused.
    async fn paused() -> Result<Self> {
        let stage = Stage::open().await?;
        let shared =
            SharedAccount::at(stage.node(), stage.multisig_owner().await?.address()).await?;
        let keys = [0x11, 0x12, 0x13].map(bardo_testkit::fixed_signer);
        Self::among(stage, shared, keys.into_iter().collect::<Result<_>>()?).await
    }

    /// As many as an account can have, all of whom must agree.
    async fn of_thirty() -> Result<Self> {
        let stage = Stage::open().await?;
        let keys: Vec<_> = (0..30).map(|_| OwnerSigner::born()).collect();
        let owners = keys.iter().map(OwnerSigner::address).collect();
        let init = MultiSigDeleGator::initializeCall { owners, threshold: U256::from(30) };
        let code = &stage.book().proxy_code;
        let (address, create) = proxy_account(MULTISIG_IMPL, init.abi_encode(), B256::ZERO, code);
        let from = golem_chain::local::FAUCET;
        ensure!(stage.send_as(from, SIMPLE_FACTORY, U256::ZERO, create).await?.status());
        stage.fund(address, STIPEND, dollars(10_000)).await?;
        let shared = SharedAccount::at(stage.node(), address).await?;
        Self::among(stage, shared, keys).await
    }

    async fn among(
        stage: Stage,
        shared: SharedAccount,
        mut keys: Vec<OwnerSigner>,
    ) -> Result<Self> {
        keys.sort_by_key(|key| std::cmp::Reverse(key.address()));
        for sender in keys.iter().take(1) {
            stage.fund(sender.address(), STIPEND, U256::ZERO).await?;
        }
        // Nobody is paid for the operation but by its sender.
        stage.node().provider().anvil_set_balance(shared.address, U256::ZERO).await?;
        operate(&stage, &pauseCall {}).await?;
        Ok(Self { stage, keys, shared })
    }

    async fn sent(&self) -> Result<u64> {
        let mut sum = 0;
        for key in &self.keys {
            sum += self.stage.node().provider().get_transaction_count(key.address()).await?;
        }
        Ok(sum)
    }

    /// All dollars out, by these keys.
    async fn out(&self, keys: &[OwnerSigner]) -> Result<Withdrawn, OwnerError> {
        let tokens = vec![self.stage.book().usdc];
        let all = Withdrawal { to: HOME, tokens, collections: vec![], ether: false };
        self.shared.withdraw(self.stage.node(), keys, &all, OWNER_FEE_CEILING).await
    }

    async fn is_home(&self) -> Result<()> {
        let usdc = self.stage.book().usdc;
        assert_eq!(self.stage.balance_of(usdc, HOME).await?, dollars(10_000));
        assert_eq!(self.stage.balance_of(usdc, self.shared.address).await?, U256::ZERO);
        Ok(())
    }
}

/// D6, K10: an account of several keys is theirs, whoever stops the manager: they end a grant and have their money, by one transaction
/// each, and one of them alone has neither.
#[tokio::test]
async fn while_the_manager_is_paused_owners_together_end_a_grant_and_have_their_money() -> Result<()>
{
    let owners = Together::paused().await?;
    let node = owners.stage.node();
    let terms = AllowedTargets(vec![owners.stage.book().usdc]).encode();
    let grant = Delegation {
        delegate: Address::repeat_byte(0xa9),
        delegator: owners.shared.address,
        authority: ROOT_AUTHORITY,
        caveats: vec![Caveat::new(enforcers::ALLOWED_TARGETS, terms)],
        salt: U256::ZERO,
        signature: Bytes::new(),
    };
    let grant = owners.shared.grant(&owners.stage.domain(), &owners.keys, grant)?;

    let (one, _) = owners.keys.split_at(1);
    let alone = owners.out(one).await;
    ensure!(matches!(alone, Err(OwnerError::TooFewKeys { .. })), "{alone:?}");
    assert_eq!(owners.sent().await?, 0);

    let out = owners.out(&owners.keys).await?;
    ensure!(matches!(out, Withdrawn::Done { .. }), "{out:?}");
    owners.is_home().await?;
    assert_eq!(owners.sent().await?, 1);

    owners.shared.revoke(node, &owners.keys, &grant, OWNER_FEE_CEILING).await?;
    assert_eq!(owners.sent().await?, 2);
    operate(&owners.stage, &unpauseCall {}).await?;
    let disabled = DelegationManager::disabledDelegationsCall { delegationHash: grant.hash().0 };
    ensure!(node.read(DELEGATION_MANAGER, disabled).await?, "it is ended");
    Ok(())
}

/// Thirty signatures are the most that an account asks for: the gas for checking them is there.
#[tokio::test]
async fn while_the_manager_is_paused_thirty_owners_have_their_money() -> Result<()> {
    let owners = Together::of_thirty().await?;

    let out = owners.out(&owners.keys).await?;

    ensure!(matches!(out, Withdrawn::Done { .. }), "{out:?}");
    owners.is_home().await
}

/// What an account of several would refuse is not sent, and what it refuses all the same is no success.
#[tokio::test]
async fn while_the_manager_is_paused_a_failure_of_owners_together_is_none_or_told() -> Result<()> {
    let owners = Together::paused().await?;
    let act = async |target, data: Vec<u8>| {
        let call = Execution { target, value: U256::ZERO, data: data.into() };
        let (node, keys) = (owners.stage.node(), &owners.keys);
        owners.shared.act(node, keys, &[call], OWNER_FEE_CEILING).await
    };
    let much = Erc20::transferCall { to: HOME, amount: dollars(10_001) };

    let refused = act(owners.stage.book().usdc, much.abi_encode()).await;
    ensure!(matches!(refused, Err(OwnerError::WouldFail { .. })), "{refused:?}");
    assert_eq!(owners.sent().await?, 0);
    let failed = act(owners.stage.two_faced().await?, Vec::new()).await;
    ensure!(matches!(failed, Err(OwnerError::Failed { .. })), "{failed:?}");
    assert_eq!(owners.sent().await?, 1);
    Ok(())
}
