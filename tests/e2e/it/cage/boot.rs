use super::{CONSTITUTION, Scene};
use alloy::{
    primitives::{Address, B256, Bytes, keccak256},
    providers::ext::AnvilApi as _,
    sol_types::SolError as _,
};
use anyhow::{Result, bail, ensure};
use bardo_bindings::{PolicyCage, policy_cage};
use bardo_testkit::{Fault, Proxy};
use golem_chain::{ChainFault, Node, boot};
use golem_safety::{Boot, DenialCode, Policy};
use std::{sync::Arc, time::Duration};

fn refusal(boot: Boot) -> Result<DenialCode> {
    match boot {
        Boot::Caged(cage) => bail!("started under {cage:?}"),
        Boot::Refused(denial) => Ok(denial.code),
    }
}

#[tokio::test]
async fn a_golem_starts_under_what_its_owner_published_last() -> Result<()> {
    let scene = Scene::open(|_| ()).await?;
    assert_eq!(refusal(scene.boot(CONSTITUTION).await?)?, DenialCode::NoPolicy);

    let cage = scene.caged(&scene.policy()).await?;
    assert_eq!((cage.policy(), cage.published().version()), (&scene.policy(), 1));
    assert_eq!(cage.published().golem_id(), scene.law.golem_id);
    let other: &[u8] = b"Lose nothing that is yours.\n";
    assert_eq!(refusal(scene.boot(other).await?)?, DenialCode::PolicyConstitution);

    // The owner thinks better of it.
    let better = Policy { constitution_hash: keccak256(other), ..scene.policy() };
    scene.publish(&better).await?;
    assert_eq!(refusal(scene.boot(CONSTITUTION).await?)?, DenialCode::PolicyConstitution);
    let Boot::Caged(cage) = scene.boot(other).await? else { bail!("refused") };
    assert_eq!((cage.policy(), cage.published().version()), (&better, 2));

    // What is published for one Golem is nobody else's.
    let stranger = B256::repeat_byte(9);
    let boot = boot(scene.field.stage.node(), stranger, other).await?;
    assert_eq!(refusal(boot)?, DenialCode::NoPolicy);
    Ok(())
}

/// A program that reverts with these words.
fn reverting(words: &[u8]) -> Result<Bytes> {
    // PUSH1 length, PUSH1 where it begins, PUSH0, CODECOPY, PUSH1 length, PUSH0, REVERT
    let length = u8::try_from(words.len())?;
    let code = [0x60, length, 0x60, 10, 0x5f, 0x39, 0x60, length, 0x5f, 0xfd];
    Ok([&code, words].concat().into())
}

#[tokio::test]
async fn an_answer_that_is_no_policy_is_not_taken_for_none() -> Result<()> {
    let scene = Scene::open(|_| ()).await?;
    scene.publish(&scene.policy()).await?;
    let provider = scene.field.stage.node().provider();
    let none = |golem_id| PolicyCage::PolicyCage_NoPolicy { golemId: golem_id }.abi_encode();
    for (code, expected) in [
        (reverting(&[])?, DenialCode::PolicyMalformed),
        (reverting(&none(B256::repeat_byte(9)))?, DenialCode::PolicyMalformed),
        (reverting(&none(scene.law.golem_id))?, DenialCode::NoPolicy),
        // STOP: nothing is answered.
        (Bytes::from_static(&[0x00]), DenialCode::PolicyMalformed),
    ] {
        provider.anvil_set_code(policy_cage(), code).await?;
        assert_eq!(refusal(scene.boot(CONSTITUTION).await?)?, expected);
    }

    provider.anvil_set_code(policy_cage(), Bytes::new()).await?;
    let missing = boot(scene.field.stage.node(), scene.law.golem_id, CONSTITUTION).await;
    let at = |address: Address| address == policy_cage();
    ensure!(matches!(missing, Err(ChainFault::Missing { address, .. }) if at(address)));
    Ok(())
}

#[tokio::test]
async fn a_node_that_is_away_says_nothing_of_a_policy() -> Result<()> {
    let scene = Scene::open(|_| ()).await?;
    let proxy = Proxy::before(scene.field.stage.chain().url(), Duration::ZERO).await?;
    let node = Node::connect(proxy.url()).await?;
    for published in [false, true] {
        if published {
            scene.publish(&scene.policy()).await?;
        }
        let fails = Fault::Claim(Arc::new(
            || serde_json::json!({ "error": { "code": -32_603, "message": "internal error" } }),
        ));
        for (method, fault) in
            [("eth_call", fails.clone()), ("eth_call", Fault::DropBefore), ("eth_getCode", fails)]
        {
            proxy.fail(method, 1, fault);
            let answer = boot(&node, scene.law.golem_id, CONSTITUTION).await;
            ensure!(proxy.failed() == 1, "{method} was not asked");
            ensure!(matches!(answer, Err(ChainFault::Rpc { .. })), "{method}: {answer:?}");
        }
        let answer = boot(&node, scene.law.golem_id, CONSTITUTION).await?;
        ensure!(matches!(answer, Boot::Caged(_)) == published, "{answer:?}");
    }
    Ok(())
}
