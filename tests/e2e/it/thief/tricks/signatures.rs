//! Chains of delegations and signatures.

use super::{fair_jobs, forbidden};
use crate::thief::{
    calls,
    prey::{Prey, Tx, one_tuple_each, redeem_calldata, single},
    wish::{SESSION, STRANGER, THIEF},
};
use alloy::{
    primitives::{Address, B256, Bytes, U256, address},
    providers::ext::AnvilApi,
    sol_types::SolValue,
};
use anyhow::Result;
use bardo_bindings::framework::{DELEGATION_MANAGER, DeleGator, MODE_SINGLE};
use bardo_testkit::dollars;
use golem_delegation::{ANY_DELEGATE, Delegation, PermissionContext, ROOT_AUTHORITY};

/// A manager that the account has never heard of.
const OTHER_MANAGER: Address = address!("0000000000000000000000000000000000009999");

/// Redeems the forbidden call under links that are not quite the grant.
async fn with_links(prey: &mut Prey<'_>, links: Vec<Delegation>) -> Result<bool> {
    let take = forbidden(&prey.wish);
    prey.redeem_chain(SESSION, links, &[take]).await
}

pub(super) async fn atk_01_replay_through_another_manager(prey: &mut Prey<'_>) -> Result<()> {
    let node = prey.stage.node();
    let code = node.code(DELEGATION_MANAGER).await?;
    node.provider().anvil_set_code(OTHER_MANAGER, code).await?;
    let take = forbidden(&prey.wish);
    let tuple = (vec![prey.context()?.encode()], vec![MODE_SINGLE], vec![single(&take)]);
    let data = redeem_calldata(tuple.0, tuple.1, tuple.2);

    prey.send(Tx { from: SESSION, to: OTHER_MANAGER, value: U256::ZERO, data }).await?;
    // As the other manager would, and as an EntryPoint of his own would.
    let account = prey.wish.account;
    let execution = single(&take);
    let direct = calls::Executor::executeFromExecutorCall {
        mode: MODE_SINGLE,
        executionCalldata: execution.clone(),
    };
    prey.send(Tx::of(SESSION, &calls::call(account, direct))).await?;
    let direct = DeleGator::executeCall { mode: MODE_SINGLE, executionCalldata: execution };
    prey.send(Tx::of(SESSION, &calls::call(account, direct))).await?;
    // A grant that was signed for that manager says nothing to this one.
    let chain_id = prey.stage.node().chain_id();
    let elsewhere = prey.signed_for(chain_id, OTHER_MANAGER)?;
    with_links(prey, vec![elsewhere]).await?;
    Ok(())
}

pub(super) async fn atk_02_replay_from_another_chain(prey: &mut Prey<'_>) -> Result<()> {
    for chain_id in [1, 84_532, 0] {
        let elsewhere = prey.signed_for(chain_id, DELEGATION_MANAGER)?;
        with_links(prey, vec![elsewhere]).await?;
    }
    Ok(())
}

pub(super) async fn atk_03_change_what_is_not_signed(prey: &mut Prey<'_>) -> Result<()> {
    let mut changed = Vec::new();
    for length in [32, 64, 200] {
        let mut grant = prey.grant.clone();
        for caveat in &mut grant.caveats {
            caveat.args = vec![0xff; length].into();
        }
        changed.push(grant);
    }
    let mut grant = prey.grant.clone();
    grant.salt += U256::from(1);
    changed.push(grant);
    let mut grant = prey.grant.clone();
    grant.caveats.reverse();
    // The order of one caveat cannot be changed.
    if grant.caveats != prey.grant.caveats {
        changed.push(grant);
    }
    let mut grant = prey.grant.clone();
    grant.caveats.clear();
    changed.push(grant);
    for index in 0..prey.grant.caveats.len() {
        let mut grant = prey.grant.clone();
        grant.caveats.remove(index);
        changed.push(grant);
    }
    let mut grant = prey.grant.clone();
    grant.authority = B256::ZERO;
    changed.push(grant);
    for grant in changed {
        // What is no chain at all is tried in its raw form.
        let context: Bytes = as_chain(&grant).into();
        let execution = single(&forbidden(&prey.wish));
        let data = redeem_calldata(vec![context], vec![MODE_SINGLE], vec![execution]);
        prey.redeem_with(SESSION, data).await?;
    }
    Ok(())
}

/// `abi.encode(Delegation[])` of one delegation, without the checks of a context.
fn as_chain(link: &Delegation) -> Vec<u8> {
    // Offset of the list, its length, offset of its only element.
    let head = [32, 1, 32].map(|word| U256::from(word).to_be_bytes::<32>()).concat();
    // An encoded struct begins with the offset of its own body.
    head.into_iter().chain(link.encode().into_iter().skip(32)).collect()
}

pub(super) async fn atk_04_wrap_the_signature(prey: &mut Prey<'_>) -> Result<()> {
    let take = forbidden(&prey.wish);
    let magic = [0x64u8, 0x92].repeat(16);
    for target in [take.target, prey.wish.account, prey.wish.book.usdc] {
        let prepare = (target, take.data.clone(), prey.grant.signature.clone());
        let wrapped = [prepare.abi_encode_params(), magic.clone()].concat();
        let grant = prey.grant.clone().signed(wrapped);
        with_links(prey, vec![grant]).await?;
    }
    Ok(())
}

pub(super) async fn atk_05_append_bytes(prey: &mut Prey<'_>) -> Result<()> {
    let take = forbidden(&prey.wish);
    let signature = prey.grant.signature.clone();
    // An unsigned grant without caveats, with the signature of the other one behind everything.
    let mut bare = prey.grant.clone();
    bare.caveats.clear();
    for appended in [Bytes::new(), vec![0; 65].into()] {
        let context = PermissionContext::new(vec![bare.clone().signed(appended)])?.encode();
        let data = redeem_calldata(vec![context], vec![MODE_SINGLE], vec![single(&take)]);
        prey.redeem_with(SESSION, [data.as_ref(), &signature].concat().into()).await?;
    }
    // Bytes behind a good signature.
    let longer = [signature.as_ref(), &[0]].concat();
    let grant = prey.grant.clone().signed(longer);
    with_links(prey, vec![grant]).await?;
    // A second call behind the first.
    for first in fair_jobs(&prey.wish) {
        let both = [single(&first), single(&take)].concat();
        if prey.redeem_raw(MODE_SINGLE, both.into()).await? {
            break;
        }
    }
    Ok(())
}

pub(super) async fn atk_06_supply_the_authority(prey: &mut Prey<'_>) -> Result<()> {
    let account = prey.wish.account;
    let own = |delegator: Address, authority: B256| Delegation {
        delegate: SESSION,
        delegator,
        authority,
        caveats: vec![],
        salt: U256::ZERO,
        signature: Bytes::new(),
    };
    // A root of the account by the key's own signature.
    let forged = prey.sign_link(own(account, ROOT_AUTHORITY), SESSION).await?;
    with_links(prey, vec![forged]).await?;
    with_links(prey, vec![own(account, ROOT_AUTHORITY)]).await?;
    // A root of his own above which the account's grant does not stand.
    let mine = prey.sign_link(own(SESSION, ROOT_AUTHORITY), SESSION).await?;
    with_links(prey, vec![mine]).await?;
    // No chain at all: the redeemer would act for himself.
    let take = forbidden(&prey.wish);
    for context in [Bytes::new(), Vec::<U256>::new().abi_encode().into()] {
        let data = redeem_calldata(vec![context], vec![MODE_SINGLE], vec![single(&take)]);
        prey.redeem_with(SESSION, data).await?;
    }
    Ok(())
}

pub(super) async fn atk_07_child_wider_than_its_parent(prey: &mut Prey<'_>) -> Result<()> {
    let child = prey.child(THIEF, 0).await?;
    let links = vec![child, prey.grant.clone()];
    let take = forbidden(&prey.wish);
    prey.redeem_chain(THIEF, links, &[take]).await?;
    Ok(())
}

pub(super) async fn atk_08_children_with_the_whole_budget(prey: &mut Prey<'_>) -> Result<()> {
    for delegate in [THIEF, SESSION] {
        for salt in 0..3 {
            let child = prey.child(delegate, salt).await?;
            let links = vec![child, prey.grant.clone()];
            for sale in fair_jobs(&prey.wish) {
                if prey.redeem_chain(delegate, links.clone(), &[sale]).await? {
                    break;
                }
            }
        }
    }
    Ok(())
}

pub(super) async fn atk_09_child_of_a_revoked_grant(prey: &mut Prey<'_>) -> Result<()> {
    let child = prey.child(SESSION, 0).await?;
    let context = PermissionContext::new(vec![child, prey.grant.clone()])?;
    prey.ended("a child of a revoked grant acts");
    let mut block = prey.revocation();
    for sale in fair_jobs(&prey.wish) {
        let data = one_tuple_each(&context, &[sale]);
        block.push(Tx { from: SESSION, to: DELEGATION_MANAGER, value: U256::ZERO, data });
    }
    prey.in_one_block(&block).await?;
    Ok(())
}

pub(super) async fn atk_10_deep_chain(prey: &mut Prey<'_>) -> Result<()> {
    let mut links = vec![prey.grant.clone()];
    for salt in 0..19 {
        let parent = links.first().cloned().unwrap_or_else(|| prey.grant.clone());
        links.insert(0, prey.link(&parent, SESSION, SESSION, salt).await?);
    }
    let context = PermissionContext::new(links)?.encode();
    let [sale, smaller] = fair_jobs(&prey.wish);
    for call in [forbidden(&prey.wish), sale, smaller] {
        let times = 3;
        let data = redeem_calldata(
            vec![context.clone(); times],
            vec![MODE_SINGLE; times],
            vec![single(&call); times],
        );
        prey.redeem_with(SESSION, data).await?;
    }
    Ok(())
}

pub(super) async fn atk_11_open_to_everybody(prey: &mut Prey<'_>) -> Result<()> {
    let open = prey.child(ANY_DELEGATE, 0).await?;
    for size in super::SIZES {
        let links = vec![open.clone(), prey.grant.clone()];
        let take = calls::transfer(prey.wish.book.usdc, STRANGER, dollars(size));
        while prey.redeem_chain(STRANGER, links.clone(), std::slice::from_ref(&take)).await? {}
    }
    // The grant itself in a stranger's hands, without the child.
    let bare = vec![prey.grant.clone()];
    let take = forbidden(&prey.wish);
    prey.redeem_chain(STRANGER, bare, &[take]).await?;
    Ok(())
}
