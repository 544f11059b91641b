use super::{
    CAP, CHAIN, ENDS, NOW, OWNER, PAYEE, STRANGER, USDC, VAULT, WETH, bounds, call, plan, policy,
    transfer, two_words,
};
use alloy_primitives::{Address, B256, Bytes, U256, address};
use alloy_sol_types::{SolCall as _, sol};
use golem_custody::{
    AllowedCall, BoundsError, DenialCode, Permit, Pin, RiskBounds, SigningPolicy, TokenBound,
    WalletTransaction,
};
use golem_delegation::terms::{
    GolemCharter, ListedTarget, ListedToken, Listing, MortalityTimeWindow, Role,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const WALLET: Address = Address::repeat_byte(9);
const DEPOSIT: [u8; 4] = [0x6e, 0x55, 0x3f, 0x65];
const APPROVE: [u8; 4] = [0x09, 0x5e, 0xa7, 0xb3];

fn word(number: u64) -> B256 {
    B256::from(U256::from(number))
}

fn deposit(assets: u64, receiver: Address) -> Bytes {
    two_words(DEPOSIT, word(assets), receiver.into_word())
}

fn approve(spender: Address, amount: u64) -> Bytes {
    two_words(APPROVE, spender.into_word(), word(amount))
}

fn judged(tx: WalletTransaction, now: u64) -> Result<(), String> {
    match bounds(WALLET).permit(tx, &policy(), plan(0).balance, now) {
        Permit::Granted(_) => Ok(()),
        Permit::Refused(denial) => {
            assert_eq!(denial.code, DenialCode::WalletBounds, "{denial}");
            Err(denial.reason)
        }
    }
}

/// Each limit: just inside, and just outside.
#[test]
fn what_is_listed_is_permitted_and_everything_else_is_not() {
    for (inside, outside, why) in [
        (
            call(VAULT, 0, deposit(CAP, WALLET)),
            call(VAULT, 0, deposit(CAP + 1, WALLET)),
            "argument",
        ),
        (call(VAULT, 0, deposit(1, WALLET)), call(VAULT, 0, deposit(1, STRANGER)), "argument"),
        (call(USDC, 0, approve(VAULT, CAP)), call(USDC, 0, approve(VAULT, CAP + 1)), "argument"),
        (call(USDC, 0, approve(VAULT, 0)), call(USDC, 0, approve(STRANGER, 0)), "argument"),
        (call(USDC, 0, transfer(PAYEE, CAP)), call(USDC, 0, transfer(PAYEE, CAP + 1)), "cap"),
        (call(USDC, 0, transfer(PAYEE, 1)), call(USDC, 0, transfer(STRANGER, 1)), "nobody"),
        (call(WETH, 0, transfer(OWNER, 1)), call(WETH, 0, transfer(PAYEE, 1)), "cap of 0"),
        (call(USDC, 0, transfer(OWNER, CAP + 1)), call(USDC, 1, transfer(OWNER, 1)), "function"),
        (call(OWNER, 9_999, Bytes::new()), call(OWNER, 0, deposit(1, OWNER)), "no contract"),
        (call(OWNER, 1, Bytes::new()), call(STRANGER, 1, Bytes::new()), "no contract"),
        (call(VAULT, 0, deposit(1, WALLET)), call(VAULT, 1, deposit(1, WALLET)), "sent along"),
        (call(VAULT, 500, zap(WALLET)), call(VAULT, 501, zap(WALLET)), "sent along"),
        (call(VAULT, 0, zap(WALLET)), call(VAULT, 0, zap(STRANGER)), "argument"),
        (call(VAULT, 0, deposit(1, WALLET)), call(VAULT, 0, Bytes::new()), "function"),
        (call(VAULT, 0, deposit(1, WALLET)), call(VAULT, 0, approve(VAULT, 0)), "function"),
    ] {
        assert_eq!(judged(inside.clone(), NOW), Ok(()), "{inside:?}");
        let refused = judged(outside.clone(), NOW).expect_err("outside");
        assert!(refused.contains(why), "{refused}: {outside:?}");
    }
}

fn zap(to: Address) -> Bytes {
    let selector = &alloy_primitives::keccak256("zap((address,uint256))")[..4];
    two_words(selector.try_into().unwrap(), to.into_word(), word(0))
}

/// Two readers must not see two things in the same bytes.
#[test]
fn calldata_in_another_form_than_the_one_is_refused() {
    let longer = |data: Bytes| Bytes::from([data.as_ref(), &[0; 32]].concat());
    for data in [longer(deposit(1, WALLET)), deposit(1, WALLET).slice(..67)] {
        judged(call(VAULT, 0, data), NOW).expect_err("another form");
    }
    judged(call(USDC, 0, longer(transfer(OWNER, 1))), NOW).expect_err("another form");
    let mut dirty = transfer(OWNER, 1).to_vec();
    dirty[4] = 1;
    judged(call(USDC, 0, dirty.into()), NOW).expect_err("dirty upper bytes");
}

#[test]
fn after_the_end_nothing_but_the_return_to_the_owner_is_permitted() {
    assert_eq!(judged(call(VAULT, 0, deposit(1, WALLET)), ENDS), Ok(()));
    for tx in [call(VAULT, 0, deposit(1, WALLET)), call(USDC, 0, transfer(PAYEE, 1))] {
        assert!(judged(tx, ENDS + 1).expect_err("over").contains("ended"));
    }
    for tx in [call(USDC, 0, transfer(OWNER, 1)), call(OWNER, 1, Bytes::new())] {
        assert_eq!(judged(tx, u64::MAX), Ok(()));
    }
}

/// What may be entered leaves shares in the wallet, and what may be held goes home: also after the end, and to nobody else.
#[test]
fn shares_of_a_vault_that_may_be_entered_go_to_the_owner_and_to_nobody_else() {
    let policy = SigningPolicy::compile(&bounds(WALLET)).unwrap();
    let closed = RiskBounds { calls: vec![], ..bounds(WALLET) };

    assert_eq!(bounds(WALLET).held(), [USDC, WETH, VAULT]);
    assert_eq!(judged(call(VAULT, 0, transfer(OWNER, u64::MAX)), u64::MAX), Ok(()));
    for (to, value) in [(STRANGER, 0), (PAYEE, 0), (OWNER, 1)] {
        judged(call(VAULT, value, transfer(to, 1)), NOW).expect_err("not home");
    }
    let home = conditions(policy.rules(), &format!("return {VAULT}"));
    assert_eq!(home.last().unwrap()["value"], OWNER.to_string());
    // Of a vault that may not be entered it holds nothing.
    assert_eq!(closed.held(), [USDC, WETH]);
    let permit =
        closed.permit(call(VAULT, 0, transfer(OWNER, 1)), &super::policy(), plan(0).balance, NOW);
    assert!(matches!(permit, Permit::Refused(_)), "{permit:?}");
}

#[test]
fn another_chain_is_refused_for_the_owner_too() {
    let elsewhere = WalletTransaction { chain_id: 1, ..call(OWNER, 1, Bytes::new()) };
    assert!(judged(elsewhere, NOW).expect_err("elsewhere").contains("chain 1"));
}

#[test]
fn what_could_cost_too_much_or_cannot_be_paid_is_refused() {
    let dear = |fee| WalletTransaction { max_fee_per_gas: fee, ..call(OWNER, 1, Bytes::new()) };
    let code =
        |tx, balance: u64| match bounds(WALLET).permit(tx, &policy(), U256::from(balance), NOW) {
            Permit::Granted(_) => None,
            Permit::Refused(denial) => Some(denial.code),
        };
    let ceiling = 5_000_000_000_000_000u128 / 60_000;
    assert_eq!(code(dear(ceiling), u64::MAX), None);
    assert_eq!(code(dear(ceiling + 1), u64::MAX), Some(DenialCode::FeeCeiling));
    assert_eq!(code(dear(10), 600_001), None, "600,000 for gas and 1 to send");
    assert_eq!(code(dear(10), 600_000), Some(DenialCode::NoGas));
}

fn refused(change: impl FnOnce(&mut RiskBounds)) -> BoundsError {
    let mut bounds = bounds(WALLET);
    change(&mut bounds);
    let error = SigningPolicy::compile(&bounds).expect_err("refused");
    let permit = bounds.permit(call(OWNER, 1, Bytes::new()), &policy(), U256::MAX, NOW);
    assert!(matches!(permit, Permit::Refused(_)), "what has no policy permits nothing");
    error
}

fn listed(contract: Address, signature: &str, pins: Vec<Pin>) -> impl FnOnce(&mut RiskBounds) {
    let call = AllowedCall::new(contract, signature, pins).unwrap();
    move |bounds| bounds.calls.push(call)
}

#[test]
fn bounds_that_say_less_than_they_allow_are_refused() {
    let permit2 = address!("000000000022D473030F116dDEE9F6B43aC78BA3");
    assert!(matches!(refused(|b| b.chains.clear()), BoundsError::Chains));
    assert!(matches!(refused(|b| b.chains = [0].into()), BoundsError::Chains));
    assert!(matches!(refused(|b| b.chains = [1 << 53].into()), BoundsError::Chains));
    assert!(matches!(refused(|b| b.beneficiary = WALLET), BoundsError::Beneficiary { .. }));
    assert!(matches!(refused(|b| b.beneficiary = Address::ZERO), BoundsError::Beneficiary { .. }));
    for name in ["transferFrom(address a, address b, uint256 c)", "multicall(bytes[] data)"] {
        let error = refused(listed(VAULT, &format!("function {name}"), vec![]));
        assert!(matches!(error, BoundsError::Never { .. }), "{name}");
    }
    let permit = "function permitTransferFrom(address owner)";
    assert!(matches!(refused(listed(permit2, permit, vec![])), BoundsError::Permit2));
    let mint = "function mint(address to, uint256 amount)";
    assert!(matches!(refused(listed(USDC, mint, vec![])), BoundsError::Token { .. }));

    let signature = "function approve(address spender, uint256 amount)";
    let some = || Pin::at_most("amount", U256::from(1));
    for (token, pins) in [
        (USDC, vec![some()]),
        (USDC, vec![Pin::is("spender", VAULT)]),
        (USDC, vec![Pin::is("spender", STRANGER), some()]),
        (USDC, vec![Pin::one_of("spender", vec![VAULT, permit2]), some()]),
        (USDC, vec![Pin::is("spender", USDC), some()]),
        (VAULT, vec![Pin::is("spender", VAULT), some()]),
    ] {
        let error = refused(listed(token, signature, pins));
        assert!(matches!(error, BoundsError::Approve), "{error:?}");
    }
}

#[test]
fn a_pin_must_name_one_argument_of_its_kind() {
    let entry = r#"{
      "type": "function", "name": "f", "stateMutability": "nonpayable", "outputs": [], "inputs": [
        { "name": "to", "type": "address" }, { "name": "n", "type": "uint256" },
        { "name": "s", "type": "tuple", "components": [{ "name": "who", "type": "address" }] },
        { "name": "x", "type": "address" }, { "name": "x", "type": "address" }
      ]
    }"#;
    for pin in [
        Pin::is("nobody", OWNER),
        Pin::is("n", OWNER),
        Pin::is("s", OWNER),
        Pin::is("s.n", OWNER),
        Pin::is("x", OWNER),
        Pin::one_of("to", vec![]),
        Pin::at_most("to", U256::ZERO),
        Pin::is("", OWNER),
    ] {
        let call = AllowedCall::from_abi(VAULT, entry, vec![pin.clone()]);
        assert!(matches!(call, Err(BoundsError::Pin { .. })), "{pin:?}");
    }
    AllowedCall::from_abi(VAULT, entry, vec![Pin::is("s.who", OWNER), Pin::is("to", OWNER)])
        .unwrap();
    let nonsense = AllowedCall::new(VAULT, "deposit", vec![]);
    assert!(matches!(nonsense, Err(BoundsError::Signature { .. })));
}

fn conditions<'a>(rules: &'a [Value], name: &str) -> &'a [Value] {
    let rule = rules.iter().find(|rule| rule["name"] == name).expect(name);
    rule["conditions"].as_array().unwrap()
}

#[test]
fn every_rule_allows_one_method_at_one_place_and_numbers_are_text() {
    let policy = SigningPolicy::compile(&bounds(WALLET)).unwrap();

    assert!(policy.name().len() <= 50, "{}", policy.name());
    for rule in policy.rules() {
        assert_eq!(rule["action"], "ALLOW");
        assert_eq!(rule["method"], "eth_signTransaction");
        let name = rule["name"].as_str().unwrap();
        assert!((1..=50).contains(&name.len()), "{name}");
        let conditions = rule["conditions"].as_array().unwrap();
        assert_eq!(conditions[0]["value"], json!([CHAIN.to_string()]), "{name}");
        assert_eq!(
            (&conditions[1]["field"], &conditions[1]["operator"]),
            (&json!("to"), &json!("eq"))
        );
        for condition in conditions {
            let texts = match &condition["value"] {
                Value::Array(several) => several.clone(),
                one => vec![one.clone()],
            };
            assert!(texts.iter().all(Value::is_string), "{condition}");
        }
        let ends = conditions.iter().any(|c| c["field"] == "current_unix_timestamp");
        assert_eq!(ends, !name.starts_with("return"), "{name}");
    }
    // approve, deposit, zap; pay USDC; return USDC, WETH, the vault's shares and the coin.
    assert_eq!(policy.rules().len(), 8);
    assert_eq!(policy, SigningPolicy::compile(&bounds(WALLET)).unwrap());
}

#[test]
fn a_rule_pins_what_the_bounds_pin() {
    let policy = SigningPolicy::compile(&bounds(WALLET)).unwrap();

    let deposit = conditions(policy.rules(), "call deposit");
    let fields: Vec<_> =
        deposit.iter().map(|c| (c["field"].as_str().unwrap(), &c["value"])).collect();
    assert_eq!(fields[1], ("to", &json!(VAULT.to_string())));
    assert_eq!(fields[2], ("value", &json!("0")), "what is not payable carries nothing");
    assert_eq!(fields[3], ("current_unix_timestamp", &json!(ENDS.to_string())));
    assert_eq!(fields[4], ("function_name", &json!("deposit")));
    assert_eq!(fields[5], ("deposit.assets", &json!(CAP.to_string())));
    assert_eq!(fields[6], ("deposit.receiver", &json!(WALLET.to_string())));
    assert_eq!(deposit[4]["abi"][0]["inputs"][1]["name"], "receiver");
    assert_eq!(conditions(policy.rules(), "call zap")[2]["value"], "500");
    let home = conditions(policy.rules(), &format!("return {USDC}"));
    let last = home.last().unwrap();
    assert_eq!(
        (&last["field"], &last["value"]),
        (&json!("transfer.to"), &json!(OWNER.to_string()))
    );
}

#[test]
fn amounts_beyond_json_numbers_stay_exact() {
    let mut bounds = bounds(WALLET);
    bounds.tokens = vec![TokenBound { token: WETH, cap: U256::MAX }];
    bounds.calls.clear();

    let policy = SigningPolicy::compile(&bounds).unwrap();

    let pay = conditions(policy.rules(), &format!("pay {WETH}"));
    assert_eq!(pay.last().unwrap()["value"], U256::MAX.to_string());
}

sol! {
    struct Swap {
        address tokenIn;
        address tokenOut;
        uint24 fee;
        address recipient;
        uint256 amountIn;
        uint256 amountOutMinimum;
        uint160 sqrtPriceLimitX96;
    }
    function exactInputSingle(Swap params) returns (uint256 amountOut);
    function redeem(uint256 shares, address receiver, address owner) returns (uint256 assets);
}

/// K5: of a charter the policy says what it can say without prices, and nothing beside it.
#[test]
fn a_charters_bounds_spend_its_cash_where_it_is_listed_and_never_elsewhere() {
    let router = Address::repeat_byte(0x44);
    let token = |token| ListedToken {
        token,
        role: Some(Role::Token),
        feed: Address::repeat_byte(0xfe),
        token_decimals: 6,
        feed_decimals: 8,
        max_age: 60,
    };
    let target = |target, role| ListedTarget { target, role };
    let charter = GolemCharter {
        settlement_asset: USDC,
        window: MortalityTimeWindow::new(NOW, ENDS).unwrap(),
        listing: Listing {
            tokens: vec![token(USDC), token(WETH)],
            targets: vec![
                target(router, Role::SwapRouter02),
                target(VAULT, Role::Vault),
                target(Address::repeat_byte(0x45), Role::PositionManager),
            ],
            ..Listing::default()
        },
        ..crate::charter::charter(OWNER, Address::repeat_byte(2))
    };
    let bounds = RiskBounds::of_charter(&charter, WALLET, CHAIN, U256::from(CAP)).unwrap();
    SigningPolicy::compile(&bounds).unwrap();
    let swap = |from: Address, to: Address, recipient: Address, amount: u64| {
        let params = Swap {
            tokenIn: from,
            tokenOut: to,
            fee: alloy_primitives::Uint::from(3_000u32),
            recipient,
            amountIn: U256::from(amount),
            amountOutMinimum: U256::ZERO,
            sqrtPriceLimitX96: alloy_primitives::Uint::ZERO,
        };
        call(router, 0, exactInputSingleCall { params }.abi_encode().into())
    };
    let leave = |receiver, owner| {
        let shares = U256::from(7);
        call(VAULT, 0, redeemCall { shares, receiver, owner }.abi_encode().into())
    };
    for (tx, permitted) in [
        (swap(USDC, WETH, WALLET, CAP), true),
        (swap(USDC, WETH, WALLET, CAP + 1), false),
        (swap(USDC, WETH, STRANGER, 1), false),
        (swap(USDC, STRANGER, WALLET, 1), false),
        (swap(WETH, USDC, WALLET, 1), false),
        (call(VAULT, 0, deposit(CAP, WALLET)), true),
        (call(VAULT, 0, deposit(CAP + 1, WALLET)), false),
        (call(VAULT, 0, deposit(1, STRANGER)), false),
        (leave(WALLET, WALLET), true),
        (leave(STRANGER, WALLET), false),
        (call(USDC, 0, approve(router, CAP)), true),
        (call(USDC, 0, approve(VAULT, CAP)), true),
        (call(USDC, 0, approve(router, CAP + 1)), false),
        (call(USDC, 0, approve(STRANGER, 1)), false),
        (call(WETH, 0, approve(router, 1)), false),
        (call(USDC, 0, transfer(PAYEE, 1)), false),
        (call(USDC, 0, transfer(OWNER, 1)), true),
        (call(WETH, 0, transfer(OWNER, 1)), true),
        (call(VAULT, 0, transfer(OWNER, 1)), true),
        (call(VAULT, 0, transfer(STRANGER, 1)), false),
        (call(router, 0, transfer(OWNER, 1)), false),
    ] {
        let permit = bounds.permit(tx.clone(), &policy(), plan(0).balance, NOW);
        assert_eq!(matches!(permit, Permit::Granted(_)), permitted, "{tx:?}: {permit:?}");
    }
    let held: BTreeSet<Address> = bounds.held().into_iter().collect();
    assert_eq!(held, [USDC, WETH, VAULT].into());
    assert_eq!(RiskBounds::holdings_of(&charter), held);
    // A charter whose cash is no listed token lets nothing be spent.
    let other = GolemCharter { settlement_asset: STRANGER, ..charter };
    let bounds = RiskBounds::of_charter(&other, WALLET, CHAIN, U256::from(CAP)).unwrap();
    assert!(bounds.calls.is_empty());
}
