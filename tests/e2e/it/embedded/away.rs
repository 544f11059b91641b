use super::{OWNER, Scene};
use alloy::primitives::{Bytes, U256};
use anyhow::Result;
use bardo_testkit::{PrivyTrouble, Stage};
use golem_custody::{Answered, DenialCode, Presence, Submit, WalletError};

fn trouble() -> Vec<PrivyTrouble> {
    vec![
        PrivyTrouble::Away,
        PrivyTrouble::Drop,
        PrivyTrouble::DropAfter,
        PrivyTrouble::Half,
        PrivyTrouble::Stall,
        PrivyTrouble::Lie { body: serde_json::json!({ "data": { "signed_transaction": "0x02" } }) },
    ]
}

/// K10, "Privy outage": observe only, then back.
#[tokio::test]
async fn while_privy_is_away_the_golem_observes_and_signs_again_when_it_is_back() -> Result<()> {
    let stage = Stage::open().await?;
    let mut scene = Scene::open(&stage).await?;
    let began = scene.now;
    scene.fake.fail("/v1/", 2, &PrivyTrouble::Away).await?;
    let tx = scene.transaction(&stage, OWNER, U256::from(5), Bytes::new()).await?;

    let fault = scene.asks(&tx, began).await;
    assert!(matches!(fault, Err(WalletError::Status { status: 503, .. })), "{fault:?}");
    assert_eq!(scene.wallet.presence(), Presence::Away { since: began, next: began + 5 });

    // Observing goes on: the chain has nothing to do with it.
    assert!(stage.node().balance(scene.address()).await? > U256::ZERO);
    let before = scene.fake.log().await?.requests.len();
    let refused = scene.asks(&tx, began + 4).await?;
    let Answered::Refused(denial) = refused else { panic!("{refused:?}") };
    assert_eq!(denial.code, DenialCode::WalletAway);
    assert_eq!(scene.fake.log().await?.requests.len(), before, "nobody was asked");

    // Its time has come, and it is still away: it is looked for, not asked for a signature.
    let still = scene.asks(&tx, began + 5).await;
    assert!(still.is_err(), "{still:?}");
    assert_eq!(scene.wallet.presence(), Presence::Away { since: began, next: began + 15 });
    scene.now = began + 15;
    let signed = super::done(scene.asks(&tx, scene.now).await?)?;

    assert_eq!(scene.wallet.presence(), Presence::Here);
    assert_eq!(scene.fake.log().await?.signatures, 1);
    let receipt = Submit::submit(stage.node(), &signed).await.expect("mined");
    assert!(receipt.success);
    Ok(())
}

/// However the answer is lost, the same is asked for again, the wallet's key signs once, and one transaction is on chain.
#[tokio::test]
async fn however_an_answer_is_lost_one_transaction_comes_of_it() -> Result<()> {
    let stage = Stage::open().await?;
    let mut scene = Scene::open(&stage).await?;
    for (round, trouble) in (1..).zip(trouble()) {
        scene.fake.fail("/rpc", 1, &trouble).await?;
        let tx = scene.transaction(&stage, OWNER, U256::from(5), Bytes::new()).await?;

        let lost = scene.asks(&tx, scene.now).await;
        assert!(lost.is_err(), "{trouble:?}: {lost:?}");
        // Ten seconds and more are waited each time; requests end after sixty.
        scene.now += 20;
        scene.fake.set_clock(scene.now).await?;
        let signed = super::done(scene.asks(&tx, scene.now).await?)?;
        assert!(Submit::submit(stage.node(), &signed).await.expect("mined").success);

        let log = scene.fake.log().await?;
        assert_eq!(log.signatures, round, "{trouble:?}");
        let rpc: Vec<_> = log.requests.iter().filter(|r| r.url.ends_with("/rpc")).collect();
        let [.., first, second] = rpc.as_slice() else { panic!("{log:?}") };
        assert!(first.idempotency.is_some());
        assert_eq!(first.idempotency, second.idempotency, "{trouble:?}");
        assert_eq!(stage.node().plan(scene.address()).await?.nonce, round);
        assert_eq!(stage.node().balance(OWNER).await?, U256::from(5 * round));
    }
    Ok(())
}

#[tokio::test]
async fn too_many_requests_are_followed_by_as_long_a_rest_as_is_asked_for() -> Result<()> {
    let stage = Stage::open().await?;
    let scene = Scene::open(&stage).await?;
    scene.fake.fail("/rpc", 1, &PrivyTrouble::Busy { seconds: 42 }).await?;
    let tx = scene.transaction(&stage, OWNER, U256::from(5), Bytes::new()).await?;

    let busy = scene.asks(&tx, scene.now).await?;
    let early = scene.asks(&tx, scene.now + 41).await?;
    let rested = scene.asks(&tx, scene.now + 42).await?;

    for refused in [busy, early] {
        let Answered::Refused(denial) = refused else { panic!("{refused:?}") };
        assert_eq!(denial.code, DenialCode::WalletAway);
        assert!(denial.reason.contains(&(scene.now + 42).to_string()), "{denial}");
    }
    assert!(matches!(rested, Answered::Done(_)), "{rested:?}");
    Ok(())
}
