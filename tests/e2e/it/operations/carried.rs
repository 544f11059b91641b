//! What a bundler says, or is, changes nothing of what was tried (X2, D20).

use super::{DEPOSIT, behind_proxy, done, policy, staged};
use alloy::{
    primitives::{Address, Bytes, U256, bytes},
    providers::ext::AnvilApi as _,
    sol_types::SolCall as _,
};
use anyhow::{Context as _, Result, bail, ensure};
use bardo_bindings::framework::{DELEGATION_MANAGER, ENTRY_POINT, EntryPoint, STATELESS_7702_IMPL};
use bardo_testkit::{Fault, dollars, judged, mandate, swap_grant, unsigned};
use golem_chain::{AccountKind, Foresight, Landing, Lane, LaneFault, Operations};
use golem_custody::{
    CustodyError, Execution, Password, Redemption, SessionAccount, SessionKey, SessionSigner as _,
};
use golem_delegation::{
    Caveat, PermissionContext, enforcers,
    terms::{AllowedTargets, MortalityTimeWindow},
};
use std::sync::Arc;

/// Less gas than the call takes: it has what it was tried with all the same.
#[tokio::test]
async fn a_bundler_that_names_too_little_gas_ends_no_operation() -> Result<()> {
    let (stage, bundler) = staged().await?;
    let (proxy, poor) = behind_proxy(&stage, &bundler, policy()).await?;
    let little = |gas: &mut serde_json::Value| gas["callGasLimit"] = "0x7530".into();
    proxy.fail("eth_estimateUserOperationGas", u64::MAX, Fault::lie(little));

    done(&poor.operations.redeem(judged(poor.sale(&stage, 10))).await?)?;

    ensure!(proxy.failed() > 0, "nothing was asked");
    assert_eq!(poor.sold(&stage).await?, dollars(10));
    Ok(())
}

/// Gas that is not used is paid for, wholly or in part: what a bundler asks for far beyond our own run is not signed.
#[tokio::test]
async fn a_bundler_that_asks_for_gas_without_measure_gets_no_signature() -> Result<()> {
    for (part, gas) in [
        ("preVerificationGas", 4_000_000_u64),
        ("callGasLimit", 6_000_000),
        ("verificationGasLimit", 6_000_000),
    ] {
        let (stage, bundler) = staged().await?;
        let (proxy, poor) = behind_proxy(&stage, &bundler, policy()).await?;
        let much = move |answer: &mut serde_json::Value| answer[part] = format!("0x{gas:x}").into();
        proxy.fail("eth_estimateUserOperationGas", u64::MAX, Fault::lie(much));

        let Err(fault) = poor.operations.redeem(judged(poor.sale(&stage, 10))).await else {
            bail!("{part} was believed");
        };

        let words = format!("{:#}", anyhow::Error::from(fault));
        ensure!(
            words.contains(&gas.to_string()) && words.contains("another bundler"),
            "{part}: {words}"
        );
        assert_eq!(poor.sold(&stage).await?, U256::ZERO, "{part}");
    }
    Ok(())
}

/// INV-11: who sends an account's first operation is a bundler, too, also while the account has no code yet; and what a key with code
/// sends itself is its own.
#[tokio::test]
async fn who_sends_is_known_by_the_way_and_not_by_code() -> Result<()> {
    let (stage, bundler) = staged().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let target = Address::repeat_byte(0x52);
    // Whoever sends it is asked for: ORIGIN, dropped.
    stage.node().provider().anvil_set_code(target, bytes!("325000")).await?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("key.json");
    let password = Password::typed("one key".to_owned().into()).context("a password")?;
    SessionKey::born().save(&file, &password)?;
    let key = || SessionKey::open(&file, &password);
    let session = key()?.address();
    let allowed = AllowedTargets(vec![target]);
    let now = stage.now().await?;
    let window = MortalityTimeWindow::new(now, now + 604_800)?;
    let terms = swap_grant(&stage, session, owner.account.address, 5, window);
    let mut grant = unsigned(owner.account.address, &terms);
    grant.caveats = vec![Caveat::new(enforcers::ALLOWED_TARGETS, allowed.encode())];
    let context = PermissionContext::new(vec![owner.signer.grant(&stage.domain(), grant)?])?;
    let call = Execution { target, value: U256::ZERO, data: Bytes::new() };
    let redemption = Redemption::single(DELEGATION_MANAGER, context, &call);
    let give = EntryPoint::depositToCall { account: session };
    let give = Execution { target: ENTRY_POINT, value: DEPOSIT, data: give.abi_encode().into() };
    owner.account.act(stage.node(), &owner.signer, &[give]).await?;
    stage.fund(session, DEPOSIT, U256::ZERO).await?;
    let foresight = || Arc::new(Foresight::new(stage.node().clone()));

    let account = SessionAccount::Key(session);
    let url = bundler.url();
    let operations =
        Operations::through(url, foresight(), account, key()?, mandate(), policy(), move || now)
            .await?;
    let first = operations.redeem(judged(redemption.clone())).await;
    let code = [&[0xef, 0x01, 0x00], STATELESS_7702_IMPL.as_slice()].concat();
    stage.node().provider().anvil_set_code(session, code.into()).await?;
    let lane = Lane::open(foresight(), key()?, mandate(), policy(), move || now).await?;
    let own = lane.redeem(judged(redemption)).await?;

    let undecided =
        |fault: &LaneFault| matches!(fault, LaneFault::Custody(CustodyError::DryRun { .. }));
    ensure!(matches!(&first, Err(fault) if undecided(fault)), "{first:?}");
    ensure!(matches!(own, Landing::Done(_)), "{own:?}");
    Ok(())
}
