//! Budgets, allowances and gas.

use super::{SIZES, built, spend_the_cap};
use crate::thief::{
    calls,
    prey::{Prey, Tx},
    wish::{BUILDER, SESSION, STRANGER, THIEF},
};
use alloy::{
    primitives::{
        Address, B256, Bytes, I256, U256, address,
        aliases::{U24, U48},
    },
    providers::{Provider, ext::AnvilApi},
    sol,
    sol_types::SolValue,
};
use anyhow::Result;
use bardo_testkit::dollars;
use serde_json::json;

sol! {
    /// Uniswap's Permit2, as far as an owner calls it himself.
    interface Permit2 {
        function approve(address token, address spender, uint160 amount, uint48 expiration) external;
    }

    /// And as far as a payee does: `contracts/test/thief/SignatureTransfer.sol`.
    interface SignatureTransfer {
        struct TokenPermissions {
            address token;
            uint256 amount;
        }

        struct PermitTransferFrom {
            TokenPermissions permitted;
            uint256 nonce;
            uint256 deadline;
        }

        struct SignatureTransferDetails {
            address to;
            uint256 requestedAmount;
        }

        function permitTransferFrom(PermitTransferFrom permit, SignatureTransferDetails details, address owner, bytes signature) external;
    }
}

/// Where Permit2 is on every chain. The local one has none until a trick puts a part of it there.
const PERMIT2: Address = address!("000000000022D473030F116dDEE9F6B43aC78BA3");

const DAY: u64 = 86_400;

pub(super) async fn atk_19_both_sides_of_midnight(prey: &mut Prey<'_>) -> Result<()> {
    let midnight = (prey.now().await? / DAY + 1) * DAY;
    prey.wait_until(midnight - 60).await?;
    spend_the_cap(prey).await?;
    prey.wait_until(midnight + 1).await?;
    spend_the_cap(prey).await?;
    Ok(())
}

pub(super) async fn atk_19_all_at_once(prey: &mut Prey<'_>) -> Result<()> {
    for size in SIZES {
        let sale = prey.wish.fair_sale(dollars(size), 9_910).on_02(prey.wish.book.swap_router_02);
        while prey.redeem(std::slice::from_ref(&sale)).await? {}
    }
    Ok(())
}

/// Pulls what was approved, of both tokens.
async fn pull_everything(prey: &mut Prey<'_>) -> Result<()> {
    let (book, account) = (prey.wish.book.clone(), prey.wish.account);
    for token in [book.usdc, book.weth, book.vault] {
        let balance = prey.stage.balance_of(token, account).await?;
        let mut amounts = vec![balance];
        if token == book.usdc {
            amounts.extend(SIZES.map(dollars));
        }
        for amount in amounts {
            prey.hope(&calls::pull(token, account, THIEF, amount)).await?;
        }
    }
    Ok(())
}

pub(super) async fn atk_20_approve(prey: &mut Prey<'_>) -> Result<()> {
    let book = prey.wish.book.clone();
    for token in [book.usdc, book.weth, book.vault] {
        for amount in [U256::MAX, dollars(1_000), dollars(990)] {
            if prey.redeem(&[calls::approve(token, THIEF, amount)]).await? {
                break;
            }
        }
    }
    pull_everything(prey).await
}

pub(super) async fn atk_20_increase_allowance(prey: &mut Prey<'_>) -> Result<()> {
    for size in SIZES {
        let raise =
            calls::Token::increaseAllowanceCall { spender: THIEF, increment: dollars(size) };
        prey.redeem(&[calls::call(prey.wish.book.usdc, raise)]).await?;
    }
    pull_everything(prey).await
}

/// A permit of the whole balance, signed by the session key in the account's name.
async fn permit(prey: &Prey<'_>) -> Result<calls::Token::permitCall> {
    let (usdc, owner) = (prey.wish.book.usdc, prey.wish.account);
    let value = dollars(10_000);
    let types = json!({ "Permit": [
        { "name": "owner", "type": "address" },
        { "name": "spender", "type": "address" },
        { "name": "value", "type": "uint256" },
        { "name": "nonce", "type": "uint256" },
        { "name": "deadline", "type": "uint256" },
    ] });
    let message = json!({
        "owner": owner,
        "spender": THIEF,
        "value": value.to_string(),
        "nonce": "0",
        "deadline": U256::MAX.to_string(),
    });
    let domain = ("USD Coin", Some("2"), usdc);
    let signature = prey.sign(SESSION, domain, "Permit", types, message).await?;
    Ok(calls::Token::permitCall { owner, spender: THIEF, value, deadline: U256::MAX, signature })
}

pub(super) async fn atk_20_permit_by_the_session_key(prey: &mut Prey<'_>) -> Result<()> {
    let (usdc, from) = (prey.wish.book.usdc, prey.wish.account);
    let permit = calls::call(usdc, permit(prey).await?);
    let value = dollars(10_000);
    let types = json!({ "TransferWithAuthorization": [
        { "name": "from", "type": "address" },
        { "name": "to", "type": "address" },
        { "name": "value", "type": "uint256" },
        { "name": "validAfter", "type": "uint256" },
        { "name": "validBefore", "type": "uint256" },
        { "name": "nonce", "type": "bytes32" },
    ] });
    let message = json!({
        "from": from,
        "to": THIEF,
        "value": value.to_string(),
        "validAfter": "0",
        "validBefore": U256::MAX.to_string(),
        "nonce": B256::ZERO,
    });
    let domain = ("USD Coin", Some("2"), usdc);
    let signature = prey.sign(SESSION, domain, "TransferWithAuthorization", types, message).await?;
    let authorized = calls::Token::transferWithAuthorizationCall {
        from,
        to: THIEF,
        value,
        validAfter: U256::ZERO,
        validBefore: U256::MAX,
        nonce: B256::ZERO,
        signature,
    };
    let authorized = calls::call(usdc, authorized);
    for call in [permit, authorized] {
        prey.send(Tx::thief(&call)).await?;
        // Brought in by the account itself.
        prey.redeem(&[call]).await?;
    }
    pull_everything(prey).await
}

pub(super) async fn atk_20_permit2(prey: &mut Prey<'_>) -> Result<()> {
    let usdc = prey.wish.book.usdc;
    let lend = Permit2::approveCall {
        token: usdc,
        spender: THIEF,
        amount: alloy::primitives::U160::MAX,
        expiration: U48::MAX,
    };
    prey.redeem(&[calls::approve(usdc, PERMIT2, U256::MAX)]).await?;
    // Without it an approval of Permit2 alone moves nothing.
    if prey.redeem(&[calls::call(PERMIT2, lend)]).await? {
        let pull = calls::pull(usdc, prey.wish.account, THIEF, dollars(10_000));
        prey.send(Tx::of(PERMIT2, &pull)).await?;
    }
    Ok(())
}

pub(super) async fn atk_21_session_key_for_the_account(prey: &mut Prey<'_>) -> Result<()> {
    let usdc = prey.wish.book.usdc;
    let mut permit = permit(prey).await?;
    prey.send(Tx::thief(&calls::call(usdc, permit.clone()))).await?;
    // The grant's own signature is the owner's; it is over something else.
    permit.signature = prey.grant.signature.clone();
    prey.send(Tx::thief(&calls::call(usdc, permit))).await?;
    pull_everything(prey).await
}

/// The owner's EOA pays a stranger by Permit2; what it signs does not say whose money is meant, and his
/// account takes the same signature for its own.
pub(super) async fn atk_21_permit2_replay(prey: &mut Prey<'_>) -> Result<()> {
    let (usdc, owner, account) = (prey.wish.book.usdc, prey.wish.owner, prey.wish.account);
    let provider = prey.stage.node().provider();
    provider.anvil_set_code(PERMIT2, built("SignatureTransfer")?).await?;
    prey.redeem(&[calls::approve(usdc, PERMIT2, U256::MAX)]).await?;
    // An EOA that is its own account paid what it signed for; several owners sign for their account.
    if owner == account {
        return Ok(());
    }
    let amount = dollars(10_000);
    let types = json!({
        "TokenPermissions": [
            { "name": "token", "type": "address" },
            { "name": "amount", "type": "uint256" },
        ],
        "PermitTransferFrom": [
            { "name": "permitted", "type": "TokenPermissions" },
            { "name": "spender", "type": "address" },
            { "name": "nonce", "type": "uint256" },
            { "name": "deadline", "type": "uint256" },
        ],
    });
    let message = json!({
        "permitted": { "token": usdc, "amount": amount.to_string() },
        "spender": STRANGER,
        "nonce": "0",
        "deadline": U256::MAX.to_string(),
    });
    let domain = ("Permit2", None, PERMIT2);
    let signature = prey.sign(owner, domain, "PermitTransferFrom", types, message).await?;
    let replay = SignatureTransfer::permitTransferFromCall {
        permit: SignatureTransfer::PermitTransferFrom {
            permitted: SignatureTransfer::TokenPermissions { token: usdc, amount },
            nonce: U256::ZERO,
            deadline: U256::MAX,
        },
        details: SignatureTransfer::SignatureTransferDetails {
            to: STRANGER,
            requestedAmount: amount,
        },
        owner: account,
        signature,
    };
    prey.send(Tx::of(STRANGER, &calls::call(PERMIT2, replay))).await?;
    Ok(())
}

/// Amounts of ether for the key, biggest first: all, the day's cap, the stipend, most of it.
fn gas_wishes(prey: &Prey<'_>) -> [U256; 4] {
    let stipend = prey.wish.gas_daily;
    let most = stipend * U256::from(9) / U256::from(10);
    [U256::from(9_000_000_000_000_000_000u64), prey.wish.cap_in_ether(), stipend, most]
}

/// Asks for ether once, with and without data.
async fn ask_for_gas(prey: &mut Prey<'_>, wei: U256) -> Result<bool> {
    let plain = calls::raw(SESSION, wei, Bytes::new());
    if prey.redeem(&[plain]).await? {
        return Ok(true);
    }
    let with_data = prey.wish.gas_money(wei);
    prey.redeem(&[with_data]).await
}

pub(super) async fn atk_22_gas_money_again_and_again(prey: &mut Prey<'_>) -> Result<()> {
    let provider = prey.stage.node().provider().clone();
    for wei in gas_wishes(prey) {
        for _ in 0..5 {
            // An empty key looks needy.
            let purse = provider.get_balance(SESSION).await?;
            let rest = U256::from(1_000_000_000_000_000u64);
            let away = calls::raw(THIEF, purse.saturating_sub(rest), Bytes::new());
            prey.must(Tx::of(SESSION, &away)).await?;
            if !ask_for_gas(prey, wei).await? {
                break;
            }
        }
    }
    Ok(())
}

pub(super) async fn atk_22_gas_price(prey: &mut Prey<'_>) -> Result<()> {
    let provider = prey.stage.node().provider().clone();
    let usual = provider
        .get_block_by_number(alloy::eips::BlockNumberOrTag::Latest)
        .await?
        .map(|block| block.header.beneficiary)
        .unwrap_or_default();
    for wei in gas_wishes(prey) {
        for _ in 0..5 {
            // Two thirds of all the key has, as a fee for his own builder.
            let purse = provider.get_balance(SESSION).await?;
            let price: u128 = (purse / U256::from(31_500)).try_into()?;
            provider.anvil_set_coinbase(BUILDER).await?;
            prey.burn(SESSION, price).await?;
            provider.anvil_set_coinbase(usual).await?;
            if !ask_for_gas(prey, wei).await? {
                break;
            }
        }
    }
    Ok(())
}

pub(super) async fn atk_23_two_grants_add_up(prey: &mut Prey<'_>) -> Result<()> {
    let mut second = prey.granted_again().await?;
    spend_the_cap(prey).await?;
    spend_the_cap(&mut second).await?;
    prey.absorb(second);
    Ok(())
}

pub(super) async fn atk_31_granted_again(prey: &mut Prey<'_>) -> Result<()> {
    spend_the_cap(prey).await?;
    prey.revoked().await?;
    let mut second = prey.granted_again().await?;
    spend_the_cap(&mut second).await?;
    prey.absorb(second);
    Ok(())
}

pub(super) async fn atk_31_old_grant_lives_on(prey: &mut Prey<'_>) -> Result<()> {
    let mut second = prey.granted_again().await?;
    spend_the_cap(&mut second).await?;
    prey.absorb(second);
    prey.ended("the old grant acts beside the new one");
    spend_the_cap(prey).await?;
    Ok(())
}

/// A day later the window is free again, for one of the two.
pub(super) async fn atk_31_replay_after_a_day(prey: &mut Prey<'_>) -> Result<()> {
    spend_the_cap(prey).await?;
    let mut second = prey.granted_again().await?;
    spend_the_cap(&mut second).await?;
    let later = prey.now().await? + DAY + 2 * 3_600;
    prey.wait_until(later).await?;
    spend_the_cap(&mut second).await?;
    prey.absorb(second);
    prey.ended("the old grant acts beside the new one");
    spend_the_cap(prey).await?;
    Ok(())
}

/// Everybody whom the owner trusts may pull, and is asked to by the thief.
pub(super) async fn atk_20_listed_spenders(prey: &mut Prey<'_>) -> Result<()> {
    let (book, account) = (prey.wish.book.clone(), prey.wish.account);
    let spenders = [book.swap_router, book.swap_router_02, book.position_manager, book.vault];
    for spender in spenders {
        for token in [book.usdc, book.weth, book.vault] {
            prey.redeem(&[calls::approve(token, spender, U256::MAX)]).await?;
        }
    }
    let (all, one) = (dollars(10_000), "1".parse::<I256>()?);
    let owed = I256::from_raw(all);
    let sale = prey.wish.sale(all);
    // What the routers and the manager hand to a pool and get back from it: path or pool, and payer.
    let swap = (sale.path().path, account).abi_encode();
    let pool = (book.weth, book.usdc, U24::from(500));
    let mint = (pool, account).abi_encode();
    for router in [book.swap_router, book.swap_router_02] {
        let data = swap.clone().into();
        let lie = calls::Callbacks::uniswapV3SwapCallbackCall {
            amount0Delta: -one,
            amount1Delta: owed,
            data,
        };
        let pull = calls::Periphery::pullCall { token: book.usdc, value: all };
        let sweep = calls::Periphery::sweepTokenCall {
            token: book.usdc,
            amountMinimum: U256::ZERO,
            recipient: THIEF,
        };
        prey.hope(&calls::call(router, lie)).await?;
        let both = [calls::call(router, pull), calls::call(router, sweep)];
        prey.hope(&calls::multicall(router, &both)).await?;
    }
    let lie = calls::Callbacks::uniswapV3MintCallbackCall {
        amount0Owed: U256::ZERO,
        amount1Owed: all,
        data: mint.into(),
    };
    prey.hope(&calls::call(book.position_manager, lie)).await?;
    prey.hope(&calls::vault_withdraw(book.vault, dollars(999), THIEF, account)).await?;
    pull_everything(prey).await
}
