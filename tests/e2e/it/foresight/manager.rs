//! What the DelegationManager itself refuses.

use super::scenes::{Dice, Scene, Wanted, fair, sent};
use crate::raw::granted;
use alloy::{
    primitives::{Address, B256, Bytes, U256},
    sol,
    sol_types::{SolCall, SolValue as _},
};
use anyhow::Result;
use bardo_bindings::framework::{
    DELEGATION_MANAGER,
    DelegationManager::{disableDelegationCall, ownerCall, redeemDelegationsCall},
    MODE_SINGLE,
};
use bardo_testkit::{Owner, Stage};
use golem_chain::{Account, AccountKind, hybrid_account, revocation};
use golem_custody::{DenialCode, Execution, OwnerSigner, Redemption};
use golem_delegation::{Delegation, PermissionContext};

sol! {
    function pause() external;
    function unpause() external;
}

/// The manager's operator stops it, or lets it go on.
pub(crate) async fn operate<C: SolCall>(stage: &Stage, what: &C) -> Result<()> {
    let operator = stage.node().read(DELEGATION_MANAGER, ownerCall {}).await?;
    stage.fund(operator, U256::from(1u64 << 60), U256::ZERO).await?;
    sent(stage, operator, DELEGATION_MANAGER, what).await
}

/// Owners whose account is not there. The chain takes an EOA's signature and then finds nothing to call; for an account
/// that is not deployed nobody can have signed.
pub(super) fn of_nobody(stage: &Stage) -> Result<Vec<Scene>> {
    let by = Address::repeat_byte(0x35);
    let mut scenes = Vec::new();
    for (kind, chain) in [
        (AccountKind::Stateless7702, DenialCode::Reverted),
        (AccountKind::Hybrid, DenialCode::Signature),
    ] {
        let signer = OwnerSigner::born();
        let account = match kind {
            AccountKind::Stateless7702 => Account::stateless_7702(signer.address()),
            AccountKind::Hybrid => {
                hybrid_account(signer.address(), B256::ZERO, &stage.book().proxy_code)
            }
        };
        let calls = fair(account.address, 1, 400);
        let links = granted(stage, &Owner { signer, account }, by, vec![])?;
        scenes.push(Scene::new(Wanted::NoAccount(chain), links, by, calls)?.one_in(2));
    }
    Ok(scenes)
}

/// The form that the manager takes.
pub(super) fn encoded(links: &[Delegation]) -> Result<Bytes> {
    let link = |link| Ok(disableDelegationCall::abi_decode(&revocation(link))?.delegation);
    Ok(links.iter().map(link).collect::<Result<Vec<_>>>()?.abi_encode().into())
}

/// No context of ours holds a broken chain. An account that may call anything can hand one to the manager all the same: it
/// is not the one that it acts under.
pub(super) async fn of_chains(stage: &Stage) -> Result<Scene> {
    let owner = stage.owner(AccountKind::Hybrid).await?;
    let (account, by) = (owner.account.address, Address::repeat_byte(0x36));
    let context = PermissionContext::new(granted(stage, &owner, by, vec![])?)?;
    let (stranger, domain) = (OwnerSigner::born(), stage.domain());
    Ok(Scene::made(Wanted::Posed(DenialCode::BrokenChain), by, move |_, dice: &mut Dice| {
        let loose = Delegation {
            delegate: account,
            delegator: stranger.address(),
            // Of a grant that nobody shows.
            authority: dice.address().into_word(),
            caveats: vec![],
            salt: U256::ZERO,
            signature: Bytes::new(),
        };
        let loose = stranger.grant(&domain, loose)?;
        let data = match dice.below(3) {
            // Somebody else's to disable.
            0 => revocation(&loose),
            several => redeemDelegationsCall {
                permissionContexts: vec![encoded(&[loose])?],
                // One more than there are contexts, now and then.
                modes: (0..several).map(|_| MODE_SINGLE).collect(),
                executionCallDatas: vec![Bytes::new()],
            }
            .abi_encode()
            .into(),
        };
        let call = Execution { target: DELEGATION_MANAGER, value: U256::ZERO, data };
        Ok(Redemption::single(DELEGATION_MANAGER, context.clone(), &call))
    }))
}
