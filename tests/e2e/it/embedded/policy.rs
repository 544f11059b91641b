use super::{EXACT_INPUT_SINGLE, OWNER, PAYEE, STRANGER, Scene};
use alloy::{
    primitives::{Address, Bytes, U256},
    sol_types::SolCall,
};
use anyhow::Result;
use bardo_bindings::defi::{Erc20, Erc4626};
use bardo_testkit::{Stage, dollars, swap};
use golem_custody::{
    AllowedCall, Answered, AuthorizationKey, DenialCode, EmbeddedWallet, Permit, RiskBounds,
    TokenBound, WalletTransaction,
};

fn transfer(to: Address, amount: U256) -> Bytes {
    Erc20::transferCall { to, amount }.abi_encode().into()
}

fn approve(spender: Address, amount: U256) -> Bytes {
    Erc20::approveCall { spender, amount }.abi_encode().into()
}

fn deposit(assets: U256, receiver: Address) -> Bytes {
    Erc4626::depositCall { assets, receiver }.abi_encode().into()
}

#[tokio::test]
async fn a_golem_trades_and_pays_within_its_policy() -> Result<()> {
    let stage = Stage::open().await?;
    let scene = Scene::open(&stage).await?;
    let (book, zero) = (stage.book(), U256::ZERO);
    let wallet = scene.address();

    for spender in [book.vault, book.swap_router_02] {
        assert!(scene.act(&stage, book.usdc, zero, approve(spender, dollars(100))).await?.success);
    }
    assert!(scene.act(&stage, book.vault, zero, deposit(dollars(100), wallet)).await?.success);
    let trade = swap(&stage, wallet, dollars(100));
    assert!(scene.act(&stage, trade.target, zero, trade.data).await?.success);
    assert!(scene.act(&stage, book.usdc, zero, transfer(PAYEE, dollars(100))).await?.success);

    assert_eq!(stage.balance_of(book.usdc, wallet).await?, dollars(700));
    assert_eq!(stage.balance_of(book.usdc, PAYEE).await?, dollars(100));
    assert!(stage.balance_of(book.vault, wallet).await? > zero);
    assert!(stage.balance_of(book.weth, wallet).await? > zero);
    assert_eq!(scene.fake.log().await?.signatures, 5);
    Ok(())
}

/// A thief with the Golem's memory has its key, and makes his own bounds: whatever he wants is permitted here.
fn thiefs(scene: &Scene, stage: &Stage) -> Result<RiskBounds> {
    let book = stage.book();
    let all = |token| TokenBound { token, cap: U256::MAX };
    let mut bounds = scene.bounds.clone();
    bounds.chains = [1, stage.node().chain_id()].into();
    bounds.max_value = U256::MAX;
    bounds.tokens = vec![all(book.usdc), all(book.weth), all(book.eth_usd)];
    bounds.payees = vec![PAYEE, STRANGER];
    bounds.beneficiary = STRANGER;
    bounds.expires_at = u64::MAX;
    bounds.calls = vec![
        AllowedCall::new(book.vault, "function deposit(uint256 assets, address receiver)", vec![])?,
        AllowedCall::new(
            book.vault,
            "function withdraw(uint256 assets, address receiver, address owner)",
            vec![],
        )?,
        AllowedCall::from_abi(book.swap_router_02, EXACT_INPUT_SINGLE, vec![])?,
        AllowedCall::from_abi(book.swap_router, EXACT_INPUT_SINGLE, vec![])?,
    ];
    Ok(bounds)
}

/// Every transaction is judged twice, by our bounds and by the policy that was compiled from them, which the fake evaluates
/// with viem. The thief permits himself everything; the two verdicts must be the same, and where it is no, nothing was signed.
#[tokio::test]
async fn what_a_thief_permits_himself_the_policy_refuses_just_as_the_bounds_do() -> Result<()> {
    let stage = Stage::open().await?;
    let scene = Scene::open(&stage).await?;
    let theirs = thiefs(&scene, &stage)?;
    let (book, zero, one) = (stage.book(), U256::ZERO, U256::from(1));
    let (wallet, over) = (scene.address(), dollars(100) + one);
    let swapped = |to, amount| swap(&stage, to, amount).data;
    let withdraw =
        Erc4626::withdrawCall { assets: one, receiver: STRANGER, owner: wallet }.abi_encode();
    let cases: Vec<(&str, bool, Address, U256, Bytes)> = vec![
        ("deposit", true, book.vault, zero, deposit(dollars(100), wallet)),
        ("deposit too much", false, book.vault, zero, deposit(over, wallet)),
        ("deposit for another", false, book.vault, zero, deposit(one, STRANGER)),
        ("unlisted function", false, book.vault, zero, withdraw.into()),
        ("swap", true, book.swap_router_02, zero, swapped(wallet, dollars(100))),
        ("swap too much", false, book.swap_router_02, zero, swapped(wallet, over)),
        ("swap for another", false, book.swap_router_02, zero, swapped(STRANGER, one)),
        ("swap with coin", false, book.swap_router_02, one, swapped(wallet, one)),
        ("unlisted contract", false, book.swap_router, zero, swapped(wallet, one)),
        ("pay", true, book.usdc, zero, transfer(PAYEE, dollars(100))),
        ("pay too much", false, book.usdc, zero, transfer(PAYEE, over)),
        ("pay a stranger", false, book.usdc, zero, transfer(STRANGER, one)),
        ("pay with what is not for it", false, book.weth, zero, transfer(PAYEE, one)),
        ("shares to a stranger", false, book.vault, zero, transfer(STRANGER, one)),
        ("unlisted token", false, book.eth_usd, zero, transfer(STRANGER, one)),
        ("coin to a stranger", false, STRANGER, one, Bytes::new()),
    ];
    let mut signed = 0;
    for (name, inside, to, value, data) in cases {
        let tx = scene.transaction(&stage, to, value, data).await?;
        judged_alike(&scene, &theirs, tx, inside, name, &mut signed).await?;
    }
    // To the owner everything goes: with a thief whose beneficiary he is.
    let home = RiskBounds { beneficiary: OWNER, ..theirs.clone() };
    for (to, value, data) in [
        (OWNER, U256::from(1_000_000_000), Bytes::new()),
        (book.usdc, zero, transfer(OWNER, dollars(1_000))),
        (book.vault, zero, transfer(OWNER, one)),
    ] {
        let tx = scene.transaction(&stage, to, value, data).await?;
        judged_alike(&scene, &home, tx, true, "home", &mut signed).await?;
    }
    let tx = scene.transaction(&stage, OWNER, one, Bytes::new()).await?;
    let elsewhere = WalletTransaction { chain_id: 1, ..tx };
    judged_alike(&scene, &home, elsewhere, false, "another chain", &mut signed).await
}

async fn judged_alike(
    scene: &Scene,
    theirs: &RiskBounds,
    tx: WalletTransaction,
    inside: bool,
    name: &str,
    signed: &mut u64,
) -> Result<()> {
    let ours = scene.permit(&scene.bounds, tx.clone());
    let permitted = scene.permit(theirs, tx)?;
    let answer = scene.wallet.sign(permitted, scene.now, super::ROLL).await?;

    assert_eq!(ours.is_ok(), inside, "{name}: {ours:?}");
    match answer {
        Answered::Done(_) => {
            assert!(inside, "{name} was signed");
            *signed += 1;
        }
        Answered::Refused(denial) => {
            assert!(!inside, "{name}: {denial}");
            assert_eq!(denial.code, DenialCode::WalletPolicy, "{name}");
        }
    }
    assert_eq!(scene.fake.log().await?.signatures, *signed, "{name}");
    Ok(())
}

#[tokio::test]
async fn after_the_end_only_the_return_to_the_owner_is_signed() -> Result<()> {
    let stage = Stage::open().await?;
    let mut scene = Scene::open(&stage).await?;
    let late = scene.bounds.expires_at + 1;
    let forever = RiskBounds { expires_at: u64::MAX, ..scene.bounds.clone() };
    let usdc = stage.book().usdc;
    let pay = scene.transaction(&stage, usdc, U256::ZERO, transfer(PAYEE, dollars(1))).await?;
    let home = scene.transaction(&stage, usdc, U256::ZERO, transfer(OWNER, dollars(1))).await?;
    scene.fake.set_clock(late).await?;
    scene.now = late;

    let paid = scene.permit(&forever, pay)?;
    let paid = scene.wallet.sign(paid, late, super::ROLL).await?;
    let home = scene.sign(home).await?;

    assert!(
        matches!(&paid, Answered::Refused(d) if d.code == DenialCode::WalletPolicy),
        "{paid:?}"
    );
    assert!(matches!(home, Answered::Done(_)), "{home:?}");
    Ok(())
}

#[tokio::test]
async fn bounds_are_tightened_by_their_owner_and_the_key_is_shown_the_door() -> Result<()> {
    let stage = Stage::open().await?;
    let scene = Scene::open(&stage).await?;
    let usdc = stage.book().usdc;
    let pay = || transfer(PAYEE, dollars(1));
    let tx = scene.transaction(&stage, usdc, U256::ZERO, pay()).await?;
    let tight = RiskBounds { payees: vec![], ..scene.bounds.clone() };

    super::done(scene.keeper.rebind(&scene.made, &scene.policy, &tight, scene.now).await?)?;
    let refused = scene.sign(tx.clone()).await?;
    super::done(scene.keeper.dismiss(&scene.made.id, scene.now).await?)?;
    let home = scene.transaction(&stage, usdc, U256::ZERO, transfer(OWNER, dollars(1))).await?;
    let dismissed = scene.sign(home).await?;

    assert!(
        matches!(&refused, Answered::Refused(d) if d.code == DenialCode::WalletPolicy),
        "{refused:?}"
    );
    assert!(
        matches!(&dismissed, Answered::Refused(d) if d.code == DenialCode::WalletAuth),
        "{dismissed:?}"
    );
    let permit = tight.permit(tx, &Default::default(), U256::MAX, scene.now);
    assert!(matches!(permit, Permit::Refused(_)));
    Ok(())
}

/// The service keeps answers for a day: the same bounds must not bring back a policy that was widened since.
#[tokio::test]
async fn a_key_that_is_let_in_later_gets_the_bounds_of_its_own() -> Result<()> {
    let stage = Stage::open().await?;
    let mut scene = Scene::open(&stage).await?;
    let narrow = scene.bounds.clone();
    let wide = RiskBounds { payees: vec![STRANGER], ..narrow.clone() };
    super::done(scene.keeper.rebind(&scene.made, &scene.policy, &wide, scene.now).await?)?;
    let key = AuthorizationKey::born();
    super::done(scene.keeper.admit(&scene.made, &key.public(), &narrow, scene.now).await?)?;
    let (id, address) = (scene.made.id.clone(), scene.made.address);
    scene.wallet = EmbeddedWallet::new(scene.fake.client()?, id, address, key, super::BACKOFF);

    let data = transfer(STRANGER, dollars(1));
    let tx = scene.transaction(&stage, stage.book().usdc, U256::ZERO, data).await?;
    let permitted = scene.permit(&wide, tx)?;
    let answer = scene.wallet.sign(permitted, scene.now, super::ROLL).await?;

    assert!(
        matches!(&answer, Answered::Refused(d) if d.code == DenialCode::WalletPolicy),
        "{answer:?}"
    );
    Ok(())
}
