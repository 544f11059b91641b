//! Each code of the cage: a test that triggers it, and one just inside.

use crate::fixtures::{
    ACCOUNT, COIN, CONSTITUTION, ETH_FEED, FEE, GOLEM, Golem, HOME, KEY, LIFECYCLE, MAX_AGE, MEME,
    NOW, POSITION, POSITIONS, Positions, ROUTER, Router, STRANGER, Single, Token, USDC, USDC_FEED,
    VAULT, Vault, WETH, approve, buy, cage, call, codes, collect, deposit, dollars, ether, example,
    facts, intent, mint, pay, permitted, policy, refused, refused_for, sell, swap, swap_data,
    transfer, usdc,
};
use alloy_primitives::{
    Address, B256, Bytes, I256, U256,
    aliases::{U24, U80, U160},
    keccak256,
};
use alloy_sol_types::SolCall as _;
use golem_delegation::terms::{
    Class, GolemCharter, ListedTarget, Listing, MortalityTimeWindow, Role,
};
use golem_safety::{
    Boot, Cage, Call, CallsDigest, DenialCode, Facts, Intent, MOST_CALLDATA, MOST_CALLS,
    MOST_CONSTITUTION, MicroDollars, Parties, Policy, PolicyRefusal, Published, Uptime,
};

// Permits

#[test]
fn a_permit_stands_for_exactly_what_was_judged() {
    let calls = vec![approve(ROUTER, usdc(50)), buy(50)];

    let permit = permitted(cage(policy()).judge(&intent(calls.clone()), &facts()));

    assert_eq!(permit.most(), dollars(50));
    assert_eq!((permit.account(), permit.judged_at(), permit.policy_version()), (ACCOUNT, NOW, 3));
    assert!(permit.covers(CallsDigest::of(ACCOUNT, &calls)));
    let [first, second] = <[Call; 2]>::try_from(calls).unwrap();
    assert!(!permit.covers(CallsDigest::of(HOME, &[first.clone(), second.clone()])));
    assert!(!permit.covers(CallsDigest::of(ACCOUNT, &[second.clone(), first.clone()])));
    assert!(!permit.covers(CallsDigest::of(ACCOUNT, std::slice::from_ref(&first))));
    let dearer = Call { value: U256::from(1), ..second };
    assert!(!permit.covers(CallsDigest::of(ACCOUNT, &[first, dearer])));
}

#[test]
fn every_class_is_permitted_within_the_limits() {
    for class in Class::ALL {
        let _permit = permitted(cage(policy()).judge(&intent([example(class)]), &facts()));
    }
}

#[test]
fn every_reason_is_given_at_once() {
    let calls =
        [transfer(STRANGER, usdc(1)), swap(USDC, usdc(101), MEME), pay(STRANGER, U256::ZERO)];

    let denials = refused(cage(policy()).judge(&intent(calls), &facts()));

    assert_eq!(
        codes(&denials),
        [
            DenialCode::PolicyParty,
            DenialCode::PolicyAsset,
            DenialCode::PolicyTarget,
            DenialCode::PolicySpendTransaction,
        ]
    );
}

// POL-ASSET

#[test]
fn what_the_policy_does_not_name_comes_neither_in_nor_goes_out() {
    let cage = cage(policy());
    for call in [swap(USDC, usdc(1), MEME), swap(MEME, ether(1), WETH)] {
        let reason = refused_for(cage.judge(&intent([call]), &facts()), DenialCode::PolicyAsset);
        assert!(reason.contains(&MEME.to_string()) && reason.contains("3 assets"), "{reason}");
    }
    let wider = Policy { assets: vec![COIN, USDC, WETH, MEME], ..policy() };
    let _permit = permitted(
        crate::fixtures::cage(wider).judge(&intent([swap(USDC, usdc(1), MEME)]), &facts()),
    );
}

#[test]
fn assets_count_for_allowances_deposits_liquidity_wrapping_and_gas() {
    let narrow = cage(Policy { assets: vec![MEME], ..policy() });
    for (class, count) in [
        (Class::Approve, 1),
        (Class::Deposit, 1),
        (Class::AddLiquidity, 2),
        (Class::Wrap, 2),
        (Class::Unwrap, 2),
        (Class::GasTopUp, 1),
    ] {
        let denials = refused(narrow.judge(&intent([example(class)]), &facts()));
        assert_eq!(codes(&denials), vec![DenialCode::PolicyAsset; count], "{}", class.name());
    }
}

/// SPEC D18: taking an asset off the list traps nothing.
#[test]
fn what_closes_needs_no_asset_and_no_price() {
    let nothing = cage(Policy { assets: vec![], ..policy() });
    let mut blind = facts();
    blind.observed.rounds.clear();
    for class in [
        Class::RemoveLiquidity,
        Class::Collect,
        Class::BurnPosition,
        Class::Withdraw,
        Class::Disapprove,
        Class::Transfer,
    ] {
        let _permit = permitted(nothing.judge(&intent([example(class)]), &blind));
    }
}

/// SPEC D18: what is no more on the list can be sold for what the Golem settles in, with the allowance that this takes, and for
/// nothing else; what comes of it has to be on the list, unless the Golem dies.
#[test]
fn what_was_taken_off_the_list_can_be_sold_for_what_it_settles_in() {
    let sale = || swap(MEME, ether(1), USDC);
    let allow = |token: Address, spender: Address| {
        call(token, Token::approveCall { spender, amount: ether(1) }.abi_encode())
    };
    let cage_now = cage(policy());
    let judged = |calls: Vec<Call>| cage_now.judge(&intent(calls), &facts());
    let _permit = permitted(judged(vec![sale()]));
    let _permit = permitted(judged(vec![allow(MEME, ROUTER), sale()]));

    for calls in [
        vec![allow(MEME, ROUTER)],
        vec![allow(MEME, ROUTER), swap(MEME, ether(1), WETH)],
        vec![allow(MEME, ROUTER), swap(USDC, usdc(1), MEME)],
        vec![allow(MEME, ROUTER), sell(1)],
        vec![sale(), swap(USDC, usdc(1), MEME)],
    ] {
        let denials = refused(judged(calls));
        assert!(codes(&denials).iter().all(|code| *code == DenialCode::PolicyAsset), "{denials:?}");
    }
    // Its allowance is the routers' alone still.
    refused_for(judged(vec![allow(MEME, STRANGER), sale()]), DenialCode::PolicyParty);

    let without = cage(Policy { assets: vec![COIN, WETH], ..policy() });
    let reason = refused_for(without.judge(&intent([sale()]), &facts()), DenialCode::PolicyAsset);
    assert!(reason.contains(&USDC.to_string()), "{reason}");
    let dying = Facts { is_settling: true, ..facts() };
    let _permit = permitted(without.judge(&intent([allow(MEME, ROUTER), sale()]), &dying));
    for other in [swap(MEME, ether(1), WETH), swap(USDC, usdc(1), MEME)] {
        let denials = refused(without.judge(&intent([other]), &dying));
        assert!(codes(&denials).iter().all(|code| *code == DenialCode::PolicyAsset), "{denials:?}");
    }
}

// POL-TARGET, POL-SELECTOR, POL-ACTION: unknown means refused (INV-4)

#[test]
fn a_target_nobody_listed_is_refused() {
    let foreign = call(STRANGER, Token::transferCall { to: HOME, amount: usdc(1) }.abi_encode());

    let reason = refused_for(
        cage(policy()).judge(&intent([foreign.clone()]), &facts()),
        DenialCode::PolicyTarget,
    );
    assert!(reason.contains(&STRANGER.to_string()), "{reason}");

    let mut listed = intent([foreign]);
    listed.listing.targets.push(ListedTarget { target: STRANGER, role: Role::Token });
    let _permit = permitted(cage(policy()).judge(&listed, &facts()));
}

/// ATK-14.
#[test]
fn the_account_is_no_target_even_if_it_is_listed() {
    let mut own =
        intent([call(ACCOUNT, Token::transferCall { to: HOME, amount: usdc(1) }.abi_encode())]);
    own.listing.targets.push(ListedTarget { target: ACCOUNT, role: Role::Token });

    refused_for(cage(policy()).judge(&own, &facts()), DenialCode::PolicyTarget);
}

#[test]
fn a_function_nobody_knows_is_refused() {
    let cage = cage(policy());
    let unknown = call(USDC, vec![0xde, 0xad, 0xbe, 0xef]);
    let reason = refused_for(cage.judge(&intent([unknown]), &facts()), DenialCode::PolicySelector);
    assert!(reason.contains("0xdeadbeef"), "{reason}");
    // ATK-16.
    refused_for(
        cage.judge(&intent([call(USDC, vec![0xa9, 0x05])]), &facts()),
        DenialCode::PolicySelector,
    );
}

/// ATK-15, ATK-18, ATK-20, ATK-29.
#[test]
fn calls_that_could_be_read_in_two_ways_are_refused() {
    let cage = cage(policy());
    let mut longer = Token::transferCall { to: HOME, amount: usdc(1) }.abi_encode();
    longer.push(0);
    let hidden = Token::increaseAllowanceCall { spender: ROUTER, added: usdc(1) }.abi_encode();
    let to_router = Router::exactInputSingleCall {
        params: Single {
            tokenIn: USDC,
            tokenOut: WETH,
            fee: U24::from(FEE),
            recipient: Address::with_last_byte(2),
            amountIn: usdc(1),
            amountOutMinimum: U256::ZERO,
            sqrtPriceLimitX96: U160::ZERO,
        },
    };
    let nine = vec![Bytes::from(swap_data(USDC, usdc(1), WETH, U256::ZERO)); 9];
    for refused in [
        call(USDC, longer),
        call(USDC, hidden),
        call(ROUTER, to_router.abi_encode()),
        call(ROUTER, Router::multicallCall { data: nine }.abi_encode()),
        Call { value: U256::from(1), ..buy(1) },
    ] {
        refused_for(cage.judge(&intent([refused]), &facts()), DenialCode::PolicyAction);
    }
    let eight = vec![Bytes::from(swap_data(USDC, usdc(1), WETH, U256::ZERO)); 8];
    let inner = call(ROUTER, Router::multicallCall { data: eight }.abi_encode());
    assert_eq!(permitted(cage.judge(&intent([inner]), &facts())).most(), dollars(8));
}

/// ATK-18: what is inside of a multicall counts as if it stood there alone.
#[test]
fn a_forbidden_call_inside_a_multicall_is_found() {
    let data = vec![
        swap_data(USDC, usdc(1), WETH, U256::ZERO).into(),
        swap_data(USDC, usdc(1), MEME, U256::ZERO).into(),
    ];
    let inside = call(ROUTER, Router::multicallCall { data }.abi_encode());

    refused_for(cage(policy()).judge(&intent([inside]), &facts()), DenialCode::PolicyAsset);
}

// POL-PARTY

#[test]
fn nobody_but_the_owners_own_is_paid() {
    let cage = cage(policy());
    let judged = |call| cage.judge(&intent([call]), &facts());
    let mut foreign = swap_data(USDC, usdc(1), WETH, U256::ZERO);
    // The fourth word is the recipient.
    foreign[4 + 3 * 32 + 12..4 + 4 * 32].copy_from_slice(STRANGER.as_slice());
    let to_him = Vault::depositCall { assets: usdc(1), receiver: STRANGER }.abi_encode();
    let his = Vault::withdrawCall { assets: usdc(1), receiver: ACCOUNT, owner: STRANGER };
    let from_him = Token::transferFromCall { from: STRANGER, to: HOME, amount: usdc(1) };
    let sale = Golem::sellCall { entryId: B256::ZERO, seller: STRANGER, buyer: HOME };
    let mut minted = mint(1, 1);
    let mut words = minted.data.to_vec();
    words[4 + 9 * 32 + 12..4 + 10 * 32].copy_from_slice(STRANGER.as_slice());
    minted.data = words.into();
    for call in [
        call(ROUTER, foreign),
        call(VAULT, to_him),
        call(VAULT, his.abi_encode()),
        call(USDC, from_him.abi_encode()),
        call(crate::fixtures::MARKET, sale.abi_encode()),
        transfer(STRANGER, usdc(1)),
        // Even the account itself is no beneficiary.
        transfer(ACCOUNT, usdc(1)),
        collect(POSITION, STRANGER),
        minted,
    ] {
        refused_for(judged(call), DenialCode::PolicyParty);
    }
    let own = Token::transferFromCall { from: ACCOUNT, to: HOME, amount: usdc(1) };
    let _permit = permitted(judged(call(USDC, own.abi_encode())));
    let _permit = permitted(judged(transfer(HOME, usdc(1))));
    let _permit = permitted(judged(collect(POSITION, ACCOUNT)));
}

/// ATK-20, SPEC D28.
#[test]
fn only_who_pulls_from_his_caller_is_approved() {
    let cage = cage(policy());
    for spender in [STRANGER, USDC, KEY, LIFECYCLE] {
        refused_for(
            cage.judge(&intent([approve(spender, usdc(1))]), &facts()),
            DenialCode::PolicyParty,
        );
    }
    for spender in [ROUTER, POSITIONS, VAULT] {
        let _permit = permitted(cage.judge(&intent([approve(spender, U256::MAX)]), &facts()));
    }
    // To take an allowance back is always right.
    let _permit = permitted(cage.judge(&intent([approve(STRANGER, U256::ZERO)]), &facts()));
}

/// ATK-45.
#[test]
fn positions_are_the_accounts_own() {
    let cage = cage(policy());
    let reason =
        refused_for(cage.judge(&intent([collect(8, ACCOUNT)]), &facts()), DenialCode::PolicyParty);
    assert!(reason.contains("position 8"), "{reason}");

    let mut stolen = facts();
    if let Some(position) = stolen.observed.positions.get_mut(&(POSITIONS, U256::from(POSITION))) {
        position.owner = STRANGER;
    }
    for class in [Class::RemoveLiquidity, Class::Collect, Class::BurnPosition] {
        refused_for(cage.judge(&intent([example(class)]), &stolen), DenialCode::PolicyParty);
    }
    let params = (U256::from(POSITION), usdc(1), U256::ZERO, U256::ZERO, U256::ZERO, U256::ZERO);
    let add = call(POSITIONS, Positions::increaseLiquidityCall { params }.abi_encode());
    refused_for(cage.judge(&intent([add.clone()]), &stolen), DenialCode::PolicyParty);
    assert_eq!(permitted(cage.judge(&intent([add]), &facts())).most(), dollars(1));
}

#[test]
fn a_golem_speaks_for_itself_alone() {
    let other = Golem::settleCall { golemId: B256::ZERO, manifestHash: B256::ZERO };
    let other = call(LIFECYCLE, other.abi_encode());

    refused_for(cage(policy()).judge(&intent([other]), &facts()), DenialCode::PolicyParty);
}

// POL-BATCH

#[test]
fn an_intent_has_calls_and_not_too_many() {
    let cage = cage(policy());
    for count in [0, MOST_CALLS + 1, 1_000] {
        let many = intent(vec![approve(ROUTER, usdc(1)); count]);
        let reason = refused_for(cage.judge(&many, &facts()), DenialCode::PolicyBatch);
        assert!(reason.contains(&count.to_string()), "{reason}");
    }
    let most = intent(vec![approve(ROUTER, usdc(1)); MOST_CALLS]);
    let _permit = permitted(cage.judge(&most, &facts()));
}

#[test]
fn calldata_is_bounded_before_it_is_read() {
    let cage = cage(policy());
    let long = |bytes| intent([call(USDC, vec![0; bytes])]);
    refused_for(cage.judge(&long(MOST_CALLDATA + 1), &facts()), DenialCode::PolicyBatch);
    refused_for(cage.judge(&long(MOST_CALLDATA), &facts()), DenialCode::PolicySelector);
}

// POL-CONCENTRATION

#[test]
fn no_asset_grows_beyond_its_share_of_everything() {
    let cage = cage(policy());
    // $400 of wrapped ether and $100 more are half of $1000.
    let _permit = permitted(cage.judge(&intent([buy(100)]), &facts()));

    let mut more = facts();
    more.holdings = [(USDC, dollars(599)), (WETH, dollars(401))].into();
    let reason =
        refused_for(cage.judge(&intent([buy(100)]), &more), DenialCode::PolicyConcentration);
    assert!(
        reason.contains("$501") && reason.contains("50.00 %") && reason.contains("$1000"),
        "{reason}"
    );
}

#[test]
fn coins_and_wrapped_coins_are_one_asset() {
    let mut both = facts();
    both.holdings = [(USDC, dollars(599)), (WETH, dollars(400)), (COIN, dollars(1))].into();

    refused_for(cage(policy()).judge(&intent([buy(100)]), &both), DenialCode::PolicyConcentration);
}

#[test]
fn several_swaps_of_one_intent_add_up_and_nothing_is_netted() {
    let cage = cage(policy());
    let mut more = facts();
    more.holdings = [(USDC, dollars(599)), (WETH, dollars(401))].into();
    refused_for(cage.judge(&intent([buy(50), buy(50)]), &more), DenialCode::PolicyConcentration);
    let _permit = permitted(cage.judge(&intent([buy(50), buy(49)]), &more));

    // Bought, sold and bought again is bought twice.
    let mut rich = facts();
    rich.holdings = [(USDC, dollars(579)), (WETH, dollars(421))].into();
    refused_for(
        cage.judge(&intent([buy(40), sell(20), buy(40)]), &rich),
        DenialCode::PolicyConcentration,
    );
}

#[test]
fn what_comes_back_at_least_counts_where_it_is_more() {
    let mut more = facts();
    more.holdings = [(USDC, dollars(599)), (WETH, dollars(401))].into();
    let promised = call(ROUTER, swap_data(USDC, usdc(50), WETH, ether(100)));

    refused_for(cage(policy()).judge(&intent([promised]), &more), DenialCode::PolicyConcentration);
}

#[test]
fn what_a_golem_settles_in_has_no_share() {
    let mut cash = facts();
    cash.holdings = [(USDC, dollars(900)), (WETH, dollars(100))].into();

    let _permit = permitted(cage(policy()).judge(&intent([sell(100)]), &cash));
}

#[test]
fn holdings_that_nobody_knows_are_nothing_to_have_a_share_of() {
    let unknown = Facts { holdings: [].into(), high_water: MicroDollars::ZERO, ..facts() };

    refused_for(cage(policy()).judge(&intent([buy(1)]), &unknown), DenialCode::PolicyPriceUnknown);
}

/// L2: what nobody knows is said as such, once, and is no fall.
#[test]
fn holdings_that_nobody_knows_are_no_fall() {
    let unknown = Facts { holdings: [].into(), high_water: dollars(1_000), ..facts() };
    let calls = [approve(ROUTER, usdc(9)), buy(9)];

    let denials = refused(cage(policy()).judge(&intent(calls), &unknown));

    let codes: Vec<_> = denials.iter().map(|denial| denial.code).collect();
    assert_eq!(codes, [DenialCode::PolicyPriceUnknown], "{denials:?}");
    assert!(denials[0].reason.starts_with("nobody knows"), "{denials:?}");
    let closing = intent([example(Class::Withdraw)]);
    let _permit = permitted(cage(policy()).judge(&closing, &unknown));
}

// POL-SPEND-…

#[test]
fn one_transaction_spends_up_to_its_limit() {
    let cage = cage(policy());
    assert_eq!(
        permitted(cage.judge(&intent([deposit(60), approve(VAULT, usdc(9)), buy(40)]), &facts()))
            .most(),
        dollars(100)
    );

    let over = intent([call(
        VAULT,
        Vault::depositCall { assets: usdc(100) + U256::from(1), receiver: ACCOUNT }.abi_encode(),
    )]);
    let reason = refused_for(cage.judge(&over, &facts()), DenialCode::PolicySpendTransaction);
    assert!(reason.contains("$100.000001") && reason.contains("$100 of"), "{reason}");
    refused_for(
        cage.judge(&intent([deposit(60), deposit(41)]), &facts()),
        DenialCode::PolicySpendTransaction,
    );
}

#[test]
fn a_session_spends_up_to_its_limit() {
    let cage = cage(policy());
    let spent = |micro: u128| Facts { spent_in_session: MicroDollars::new(micro), ..facts() };
    let _permit = permitted(cage.judge(&intent([deposit(50)]), &spent(950_000_000)));
    let verdict = cage.judge(&intent([deposit(50)]), &spent(950_000_001));
    let reason = refused_for(verdict, DenialCode::PolicySpendSession);
    assert!(reason.contains("$950.000001") && reason.contains("$1000"), "{reason}");
    refused_for(
        cage.judge(&intent([deposit(50)]), &spent(u128::MAX)),
        DenialCode::PolicySpendSession,
    );
}

#[test]
fn a_day_spends_up_to_its_limit() {
    let cage = cage(policy());
    let spent = |micro: u128| Facts { spent_in_day: MicroDollars::new(micro), ..facts() };
    let _permit = permitted(cage.judge(&intent([deposit(50)]), &spent(450_000_000)));
    let verdict = cage.judge(&intent([deposit(50)]), &spent(450_000_001));
    let reason = refused_for(verdict, DenialCode::PolicySpendDay);
    assert!(reason.contains("$450.000001") && reason.contains("$500"), "{reason}");
}

#[test]
fn what_spends_nothing_is_not_stopped_by_a_limit_that_is_used_up() {
    let over = Facts { spent_in_session: dollars(5_000), spent_in_day: dollars(5_000), ..facts() };
    let _permit = permitted(cage(policy()).judge(&intent([transfer(HOME, usdc(600))]), &over));
}

/// SPEC D18: settlement is exempt from caps, in one direction.
#[test]
fn a_dying_golem_sells_beyond_its_limits_and_buys_nothing() {
    let cage = cage(policy());
    let dying = Facts { spent_in_day: dollars(500), is_settling: true, ..facts() };
    assert_eq!(permitted(cage.judge(&intent([sell(400)]), &dying)).most(), MicroDollars::ZERO);
    refused_for(cage.judge(&intent([buy(1)]), &dying), DenialCode::PolicySpendDay);
    // Gas money leaves for good, dying or not.
    refused_for(cage.judge(&intent([pay(KEY, ether(1))]), &dying), DenialCode::PolicySpendDay);
    let living = Facts { is_settling: false, ..dying };
    refused_for(cage.judge(&intent([sell(1)]), &living), DenialCode::PolicySpendDay);
}

#[test]
fn gas_money_is_spent_money() {
    let cage = cage(policy());
    assert_eq!(
        permitted(cage.judge(&intent([pay(KEY, ether(100))]), &facts())).most(),
        dollars(100)
    );
    refused_for(
        cage.judge(&intent([pay(KEY, ether(100) + U256::from(1))]), &facts()),
        DenialCode::PolicySpendTransaction,
    );
}

#[test]
fn gas_money_goes_to_the_agents_key_alone() {
    let mut other = intent([pay(STRANGER, ether(1))]);
    other.listing.targets.push(ListedTarget { target: STRANGER, role: Role::AgentKey });

    refused_for(cage(policy()).judge(&other, &facts()), DenialCode::PolicyParty);
}

// POL-DRAWDOWN

#[test]
fn below_the_floor_a_golem_only_closes() {
    let cage = cage(policy());
    // A fifth below $1250 is $1000, which is what there is.
    let at = Facts { high_water: dollars(1_250), ..facts() };
    let _permit = permitted(cage.judge(&intent([buy(50)]), &at));

    let below = Facts { high_water: MicroDollars::new(1_250_000_002), ..facts() };
    let reason = refused_for(cage.judge(&intent([buy(50)]), &below), DenialCode::PolicyDrawdown);
    assert!(reason.contains("80.00 %") && reason.contains("$1250.000002"), "{reason}");
    for class in
        [Class::AddLiquidity, Class::Deposit, Class::Approve, Class::SpawnReplicant, Class::Sell]
    {
        refused_for(cage.judge(&intent([example(class)]), &below), DenialCode::PolicyDrawdown);
    }
    for class in [
        Class::RemoveLiquidity,
        Class::Collect,
        Class::BurnPosition,
        Class::Withdraw,
        Class::Disapprove,
        Class::Transfer,
        Class::Wrap,
        Class::Unwrap,
        Class::GasTopUp,
        Class::Settle,
        Class::Publish,
    ] {
        let _permit = permitted(cage.judge(&intent([example(class)]), &below));
    }
    let _permit = permitted(cage.judge(&intent([sell(50)]), &below));
    // Cash for cash is no sale.
    refused_for(
        cage.judge(&intent([swap(USDC, usdc(1), USDC)]), &below),
        DenialCode::PolicyDrawdown,
    );
}

#[test]
fn half_a_micro_dollar_below_the_floor_is_below() {
    // 80 % of 1,250,000,001 is 1,000,000,000.8.
    let below = Facts { high_water: MicroDollars::new(1_250_000_001), ..facts() };
    refused_for(cage(policy()).judge(&intent([buy(50)]), &below), DenialCode::PolicyDrawdown);
}

// POL-PRICE-…, POL-AMOUNT

#[test]
fn a_price_that_is_too_old_is_no_price() {
    let cage = cage(policy());
    let aged = |age: u64| {
        let mut facts = facts();
        if let Some(round) = facts.observed.rounds.get_mut(&USDC_FEED) {
            round.updated_at = U256::from(NOW - age);
        }
        facts
    };
    let _permit = permitted(cage.judge(&intent([deposit(1)]), &aged(MAX_AGE.into())));
    let verdict = cage.judge(&intent([deposit(1)]), &aged(u64::from(MAX_AGE) + 1));
    let reason = refused_for(verdict, DenialCode::PolicyPriceStale);
    assert!(reason.contains("3600 seconds"), "{reason}");
}

#[test]
fn a_sequencer_that_is_away_makes_every_price_stale() {
    let feed = Address::repeat_byte(0xf8);
    let mut rollup = intent([deposit(1)]);
    rollup.listing.sequencer_feed = feed;
    rollup.listing.sequencer_grace = 600;
    let up_for = |seconds: u64, answer| {
        let mut facts = facts();
        let since = U256::from(NOW - seconds);
        facts.observed.uptimes.insert(feed, Uptime { answer, since });
        facts
    };
    let cage = cage(policy());
    let _permit = permitted(cage.judge(&rollup, &up_for(600, I256::ZERO)));
    refused_for(cage.judge(&rollup, &up_for(599, I256::ZERO)), DenialCode::PolicyPriceStale);
    refused_for(cage.judge(&rollup, &up_for(600, I256::ONE)), DenialCode::PolicyPriceStale);
    refused_for(cage.judge(&rollup, &facts()), DenialCode::PolicyPriceUnknown);
}

/// ATK-24, ATK-25.
#[test]
fn an_answer_that_is_no_price_is_refused() {
    let cage = cage(policy());
    let with = |change: fn(&mut golem_safety::Round)| {
        let mut facts = facts();
        if let Some(round) = facts.observed.rounds.get_mut(&USDC_FEED) {
            change(round);
        }
        facts
    };
    for facts in [
        with(|round| round.answer = I256::ZERO),
        with(|round| round.answer = I256::MINUS_ONE),
        with(|round| round.answer = I256::MAX),
        with(|round| round.decimals = 18),
    ] {
        refused_for(cage.judge(&intent([deposit(1)]), &facts), DenialCode::PolicyPriceUnknown);
    }
    let earlier = with(|round| round.answered_in_round = U80::from(8));
    refused_for(cage.judge(&intent([deposit(1)]), &earlier), DenialCode::PolicyPriceStale);
    let _permit =
        permitted(cage.judge(&intent([deposit(1)]), &with(|round| round.answer = I256::ONE)));
}

#[test]
fn what_was_not_read_is_not_guessed() {
    let cage = cage(policy());
    let mut no_feed = facts();
    no_feed.observed.rounds.remove(&ETH_FEED);
    refused_for(cage.judge(&intent([sell(1)]), &no_feed), DenialCode::PolicyPriceUnknown);
    let mut no_vault = facts();
    no_vault.observed.vaults.clear();
    refused_for(cage.judge(&intent([deposit(1)]), &no_vault), DenialCode::PolicyPriceUnknown);
    let mut no_pool = facts();
    no_pool.observed.pool_roots.clear();
    refused_for(cage.judge(&intent([mint(1, 1)]), &no_pool), DenialCode::PolicyPriceUnknown);
    let mut no_price = intent([buy(1)]);
    no_price.listing.tokens.retain(|token| token.token != WETH);
    refused_for(cage.judge(&no_price, &facts()), DenialCode::PolicyPriceUnknown);
}

#[test]
fn amounts_beyond_the_arithmetic_are_refused() {
    let cage = cage(Policy {
        spend_per_transaction: u64::MAX,
        spend_per_session: u64::MAX,
        spend_per_day: u64::MAX,
        ..policy()
    });
    let huge =
        call(VAULT, Vault::depositCall { assets: U256::MAX, receiver: ACCOUNT }.abi_encode());
    refused_for(cage.judge(&intent([huge]), &facts()), DenialCode::PolicyAmount);
    let most = U256::from(u64::MAX);
    let most = call(VAULT, Vault::depositCall { assets: most, receiver: ACCOUNT }.abi_encode());
    assert_eq!(permitted(cage.judge(&intent([most]), &facts())).most().get(), u128::from(u64::MAX));

    let sums = Facts {
        holdings: [(USDC, MicroDollars::new(u128::MAX)), (WETH, dollars(1))].into(),
        ..facts()
    };
    let denials = refused(cage.judge(&intent([transfer(HOME, usdc(1))]), &sums));
    assert_eq!(codes(&denials), [DenialCode::PolicyAmount]);
}

// POL-CONSTITUTION, POL-NO-POLICY, POL-MALFORMED

#[track_caller]
fn boot(constitution: &[u8], published: Option<Result<Published, PolicyRefusal>>) -> DenialCode {
    match Cage::boot(GOLEM, constitution, published) {
        Boot::Refused(denial) => denial.code,
        Boot::Caged(cage) => panic!("{cage:?}"),
    }
}

fn published(policy: Policy) -> Option<Result<Published, PolicyRefusal>> {
    let hash = policy.hash(GOLEM, 1);
    Some(Published::new(GOLEM, policy, 1, hash))
}

#[test]
fn a_runtime_starts_with_the_owners_constitution_and_no_other() {
    assert!(matches!(Cage::boot(GOLEM, CONSTITUTION, published(policy())), Boot::Caged(_)));
    let mut longer = CONSTITUTION.to_vec();
    longer.push(b'\n');
    for other in [&longer[..], &CONSTITUTION[1..], b""] {
        assert_eq!(boot(other, published(policy())), DenialCode::PolicyConstitution);
    }
    let most = vec![b'a'; MOST_CONSTITUTION];
    let of = |bytes: &[u8]| published(Policy { constitution_hash: keccak256(bytes), ..policy() });
    assert!(matches!(Cage::boot(GOLEM, &most, of(&most)), Boot::Caged(_)));
    let more = vec![b'a'; MOST_CONSTITUTION + 1];
    assert_eq!(boot(&more, of(&more)), DenialCode::PolicyConstitution);
}

#[test]
fn a_runtime_without_a_policy_does_not_start() {
    assert_eq!(boot(CONSTITUTION, None), DenialCode::NoPolicy);
}

#[test]
fn a_runtime_does_not_start_under_something_that_is_no_policy() {
    let broken = [
        Policy { constitution_hash: B256::ZERO, ..policy() },
        Policy { concentration_bps: 10_001, ..policy() },
        Policy { drawdown_bps: 10_001, ..policy() },
        Policy { spend_per_session: 99_999_999, ..policy() },
        Policy { spend_per_day: 99_999_999, ..policy() },
        Policy { assets: vec![USDC, USDC], ..policy() },
        Policy { assets: vec![WETH, USDC], ..policy() },
        Policy { assets: (1..=33).map(Address::with_last_byte).collect(), ..policy() },
    ];
    for policy in broken {
        assert_eq!(boot(CONSTITUTION, published(policy)), DenialCode::PolicyMalformed);
    }
    let inside = [
        Policy { concentration_bps: 10_000, drawdown_bps: 10_000, ..policy() },
        Policy { spend_per_session: 100_000_000, spend_per_day: 100_000_000, ..policy() },
        Policy { assets: (1..=32).map(Address::with_last_byte).collect(), ..policy() },
    ];
    for policy in inside {
        assert!(matches!(Cage::boot(GOLEM, CONSTITUTION, published(policy)), Boot::Caged(_)));
    }
    // Another version, another hash, another Golem.
    let hash = policy().hash(GOLEM, 1);
    for said in [
        Published::new(GOLEM, policy(), 0, policy().hash(GOLEM, 0)),
        Published::new(GOLEM, policy(), 2, hash),
        Published::new(B256::ZERO, policy(), 1, policy().hash(B256::ZERO, 1)),
        Published::decode(GOLEM, &[0; 31]),
    ] {
        assert_eq!(boot(CONSTITUTION, Some(said)), DenialCode::PolicyMalformed);
    }
}

#[test]
fn parties_are_those_of_the_charter() {
    let charter = GolemCharter {
        golem_id: GOLEM,
        owner: STRANGER,
        epoch: 1,
        generation: 0,
        registry: STRANGER,
        account: ACCOUNT,
        beneficiary: HOME,
        agent_key: KEY,
        replicants: false,
        classes: golem_delegation::terms::Classes::ALL,
        window: MortalityTimeWindow::new(1, 2).unwrap(),
        spend_cap: 1,
        bucket_minutes: 120,
        slippage_bps: 1,
        vault: VAULT,
        nav_bps: 0,
        nav_cap: 0,
        staleness: 1,
        gas_ceiling: 0,
        gas_daily_cap: 0,
        settlement_asset: USDC,
        max_royalty_bps: None,
        mood: None,
        listing: Listing::default(),
    };
    assert_eq!(Parties::of(&charter), crate::fixtures::parties());
    let nothing =
        Intent { parties: Parties::of(&charter), listing: charter.listing, calls: vec![] };
    refused_for(cage(policy()).judge(&nothing, &facts()), DenialCode::PolicyBatch);
}
