use super::{Vectors, answer, only_a_start_was_chosen, with_leaf};
use alloy_primitives::{Address, Bytes, U256};
use golem_delegation::{
    ANY_DELEGATE, Caveat, ContextError, Kind, PermissionContext, ROOT_AUTHORITY, Rule, enforcers,
    permission::{
        Answer, Asset, Condition, Edit, Figure, GrantError, Granted, Periodic, Permission, Request,
        Signed, Usage,
    },
    terms::{
        AllowedCalldata, AllowedTargets, Erc20PeriodTransfer, LimitedCalls, Redeemer, Timestamp,
        ValueLte,
    },
};

#[test]
fn every_answer_of_the_wallet_binds_as_it_says_and_nothing_was_edited() {
    let file = Vectors::load();
    for vector in &file.today {
        let granted = file.check(&answer(&vector.answer)).unwrap();

        let asked = vector.asked.request();
        let edits = granted.edits(&asked);
        assert!(only_a_start_was_chosen(&edits, &asked), "{}: {edits:?}", vector.name);
        assert_eq!(granted.signed(), Signed::ByOwnersKey);
        assert_eq!(granted.nonce(), Some(U256::from(3)));
        assert_eq!(granted.further(), []);
        assert_eq!(granted.owner(), file.owner);
        assert_eq!(granted.manager(), file.manager);
        assert!(granted.permission().asset().is_none() || granted.permission().start().is_some());
    }
}

/// The owner may have edited it.
#[test]
fn every_edit_of_the_owner_is_reported() {
    let (file, asked, _) = Vectors::runway();
    assert!(file.edits.len() >= 10);
    for vector in &file.edits {
        let granted = file.check(&answer(&vector.answer)).unwrap();

        let edits: Vec<&str> = granted.edits(&asked).iter().map(Edit::name).collect();

        assert_eq!(edits, vector.edits, "{}", vector.name);
    }
}

#[test]
fn edits_carry_both_numbers() {
    let (file, asked, _) = Vectors::runway();
    let less = file.check(&answer(&file.edits[0].answer)).unwrap();

    let (ours, theirs) = (U256::from(10_000_000), U256::from(5_000_000));
    let edit = Edit::Amount { of: Figure::Amount, asked: ours, granted: theirs };
    assert_eq!(less.edits(&asked), [edit]);
}

#[test]
fn another_chain_account_type_or_token_is_an_edit() {
    let (_, asked, _) = Vectors::runway();
    let file = Vectors::load();
    let edits = |change: &dyn Fn(&mut Request)| -> Vec<&str> {
        let mut granted = asked.clone();
        change(&mut granted);
        Edit::between(&asked, &granted).iter().map(Edit::name).collect()
    };
    let other = Address::repeat_byte(9);

    assert_eq!(edits(&|r| r.chain_id = 1), ["chainChanged"]);
    assert_eq!(edits(&|r| r.from = Some(other)), ["accountChanged"]);
    assert_eq!(edits(&|r| r.to = other), ["delegateChanged"]);
    assert_eq!(edits(&|r| r.justification = None), ["justificationChanged"]);
    assert_eq!(edits(&|r| r.adjustable = false), ["adjustableChanged"]);
    let allowance = file.today[6].asked.request().permission;
    assert_eq!(edits(&|r| r.permission = allowance), ["typeChanged"]);
    let token = |r: &mut Request| {
        let Permission::Periodic(periodic) = &mut r.permission else { panic!() };
        periodic.asset = Asset::Erc20(other);
    };
    assert_eq!(edits(&token), ["assetChanged"]);
    let start = |r: &mut Request| {
        let Permission::Periodic(periodic) = &mut r.permission else { panic!() };
        periodic.start = Some(1);
    };
    assert_eq!(edits(&start), ["startEarlier"]);

    let (stream, mut other) = (file.today[4].asked.request(), file.today[4].asked.request());
    let Permission::Stream(changed) = &mut other.permission else { panic!() };
    (changed.per_second, changed.initial, changed.max) = (U256::from(6), None, None);
    let names: Vec<_> = Edit::between(&stream, &other).iter().map(Edit::name).collect();
    assert_eq!(names, ["rateRaised", "initialLowered", "maxRaised"]);
    let names: Vec<_> = Edit::between(&other, &stream).iter().map(Edit::name).collect();
    assert_eq!(names, ["rateLowered", "initialRaised", "maxLowered"]);
    let mut endless = asked.clone();
    endless.rules.expiry = None;
    assert_eq!(Edit::between(&endless, &asked)[0].name(), "expiryAdded");
    let mut approvals = file.today[15].asked.request();
    let before = approvals.clone();
    approvals.permission = file.today[16].asked.request().permission;
    assert_eq!(Edit::between(&before, &approvals)[0].name(), "approvalsChanged");
}

fn refusal(answer: &Answer) -> GrantError {
    Vectors::load().check(answer).unwrap_err()
}

fn mismatch(answer: &Answer) -> &'static str {
    match refusal(answer) {
        GrantError::Mismatch { what, .. } => what,
        other => panic!("{other:?}"),
    }
}

/// The answer's words alone bind nobody: each of them changed, under the same signed caveats.
#[test]
fn an_answer_that_says_other_than_its_caveats_is_refused() {
    let (_, _, honest) = Vectors::runway();
    let lie = |change: &dyn Fn(&mut Request)| {
        let mut answer = honest.clone();
        change(&mut answer.granted);
        mismatch(&answer)
    };
    let periodic = |change: &dyn Fn(&mut Periodic)| {
        lie(&|r| {
            let Permission::Periodic(periodic) = &mut r.permission else { panic!() };
            change(periodic);
        })
    };
    let other = Address::repeat_byte(9);

    assert_eq!(periodic(&|p| p.amount += U256::ONE), "the amount of a period");
    assert_eq!(periodic(&|p| p.amount -= U256::ONE), "the amount of a period");
    assert_eq!(periodic(&|p| p.duration += 1), "the period in seconds");
    assert_eq!(periodic(&|p| p.start = Some(1)), "the start");
    assert_eq!(periodic(&|p| p.asset = Asset::Erc20(other)), "the token");
    assert_eq!(periodic(&|p| p.asset = Asset::Native), "the type");
    assert_eq!(lie(&|r| r.rules.expiry = r.rules.expiry.map(|at| at + 1)), "the expiry");
    assert_eq!(lie(&|r| r.rules.expiry = None), "the expiry");
    assert_eq!(lie(&|r| r.rules.redeemers.push(other)), "who may redeem");
    assert_eq!(lie(&|r| r.rules.redeemers.clear()), "who may redeem");
    assert_eq!(lie(&|r| r.rules.payees.push(other)), "who may be paid");
    assert_eq!(lie(&|r| r.from = Some(other)), "the owner's account");
    let file = Vectors::load();
    assert_eq!(lie(&|r| r.permission = file.today[6].asked.request().permission), "the type");
}

#[test]
fn every_other_type_is_held_against_its_caveats_too() {
    let file = Vectors::load();
    for (index, change, what) in [
        (
            4,
            (|p| stream(p).per_second += U256::ONE) as fn(&mut Permission),
            "the amount per second",
        ),
        (4, |p| stream(p).initial = Some(U256::ZERO), "the amount at the start"),
        (4, |p| stream(p).max = Some(U256::MAX), "the most in all"),
        (4, |p| stream(p).initial = None, "the amount at the start"),
        (4, |p| stream(p).max = None, "the most in all"),
        (6, |p| allowance(p).amount += U256::ONE, "the allowance"),
        (
            8,
            |p| {
                let Permission::Periodic(p) = p else { panic!() };
                p.amount += U256::ONE
            },
            "the amount of a period",
        ),
        (10, |p| stream(p).max = Some(U256::ONE), "the most in all"),
        (12, |p| allowance(p).start = Some(1), "the start"),
        (
            15,
            |p| {
                let Permission::ApprovalRevocation(p) = p else { panic!() };
                p.permit2_approve = true
            },
            "the kinds of approval",
        ),
    ] {
        let mut lie = answer(&file.today[index].answer);
        change(&mut lie.granted.permission);
        assert_eq!(mismatch(&lie), what);
    }
}

fn stream(permission: &mut Permission) -> &mut golem_delegation::permission::Stream {
    let Permission::Stream(stream) = permission else { panic!() };
    stream
}

fn allowance(permission: &mut Permission) -> &mut golem_delegation::permission::Allowance {
    let Permission::Allowance(allowance) = permission else { panic!() };
    allowance
}

fn replace(answer: &Answer, enforcer: Address, terms: impl Into<Bytes>) -> Answer {
    with_leaf(answer, |leaf| {
        let caveat = leaf.caveats.iter_mut().find(|caveat| caveat.enforcer == enforcer).unwrap();
        caveat.terms = terms.into();
    })
}

fn without(answer: &Answer, enforcer: Address) -> Answer {
    with_leaf(answer, |leaf| {
        let before = leaf.caveats.len();
        leaf.caveats.retain(|caveat| caveat.enforcer != enforcer);
        assert_eq!(leaf.caveats.len(), before - 1);
    })
}

fn add(answer: &Answer, enforcer: Address, terms: impl Into<Bytes>) -> Answer {
    with_leaf(answer, |leaf| leaf.caveats.push(Caveat::new(enforcer, terms)))
}

/// The signed caveats changed, under the same words.
#[test]
fn a_context_that_binds_other_than_the_answer_says_is_refused() {
    let (file, _, honest) = Vectors::runway();
    let paid = answer(&file.today[1].answer);
    let coins = answer(&file.today[9].answer);
    let later = Timestamp { after: 0, before: 9_999_999_999 };
    let other = Address::repeat_byte(9);

    assert_eq!(mismatch(&replace(&honest, enforcers::TIMESTAMP, later.encode())), "the expiry");
    assert_eq!(mismatch(&without(&honest, enforcers::TIMESTAMP)), "the expiry");
    let redeemers = Redeemer(vec![file.session, other]).encode();
    assert_eq!(mismatch(&replace(&honest, enforcers::REDEEMER, redeemers)), "who may redeem");
    assert_eq!(mismatch(&without(&honest, enforcers::REDEEMER)), "who may redeem");
    assert_eq!(mismatch(&without(&paid, enforcers::ALLOWED_CALLDATA)), "who may be paid");
    let payee = AllowedCalldata { start: U256::from(4), value: other.into_word().into() };
    assert_eq!(
        mismatch(&replace(&paid, enforcers::ALLOWED_CALLDATA, payee.encode())),
        "who may be paid"
    );
    // The right word in another place, and a dirty one in the right place, name nobody.
    let word = paid.granted.rules.payees[0].into_word();
    let beside = AllowedCalldata { start: U256::from(36), value: word.into() };
    let mut dirty = word;
    dirty[0] = 1;
    let dirty = AllowedCalldata { start: U256::from(4), value: dirty.into() };
    for terms in [beside, dirty] {
        let answer = replace(&paid, enforcers::ALLOWED_CALLDATA, terms.encode());
        assert_eq!(mismatch(&answer), "who may be paid");
    }
    assert_eq!(mismatch(&without(&coins, enforcers::ALLOWED_TARGETS)), "who may be paid");
    let targets = AllowedTargets(vec![other]).encode();
    assert_eq!(mismatch(&replace(&coins, enforcers::ALLOWED_TARGETS, targets)), "who may be paid");
    let delegator = with_leaf(&honest, |leaf| leaf.delegator = other);
    assert_eq!(mismatch(&delegator), "the owner's account");
}

/// ATK-17 and its reverse: what the limit's own caveat does not look at.
#[test]
fn a_limit_that_is_open_to_the_side_is_refused() {
    let (file, _, tokens) = Vectors::runway();
    let coins = answer(&file.today[8].answer);

    let open = without(&tokens, enforcers::VALUE_LTE);
    assert_eq!(refusal(&open), GrantError::Open { kind: Kind::ValueLte });
    let open = replace(&tokens, enforcers::VALUE_LTE, ValueLte(U256::ONE).encode());
    assert_eq!(refusal(&open), GrantError::Open { kind: Kind::ValueLte });
    let open = without(&coins, enforcers::EXACT_CALLDATA);
    assert_eq!(refusal(&open), GrantError::Open { kind: Kind::ExactCalldata });
    let open = replace(&coins, enforcers::EXACT_CALLDATA, vec![1, 2, 3, 4]);
    assert_eq!(refusal(&open), GrantError::Open { kind: Kind::ExactCalldata });
    assert_eq!(refusal(&without(&tokens, enforcers::ERC20_PERIOD_TRANSFER)), GrantError::NoLimit);
}

/// What no redemption can pass is not called a permission.
#[test]
fn a_limit_that_another_caveat_leaves_nothing_of_is_refused() {
    let (file, _, tokens) = Vectors::runway();
    let coins = answer(&file.today[8].answer);
    let with = |answer: &Answer, enforcer: Address, terms: Vec<u8>| {
        with_leaf(answer, |leaf| leaf.caveats.push(Caveat::new(enforcer, terms)))
    };

    let dead = with(&tokens, enforcers::EXACT_CALLDATA, Vec::new());
    assert_eq!(refusal(&dead), GrantError::Dead { kind: Kind::ExactCalldata });
    let dead = with(&coins, enforcers::VALUE_LTE, ValueLte(U256::ZERO).encode());
    assert_eq!(refusal(&dead), GrantError::Dead { kind: Kind::ValueLte });
}

/// ATK-11: nobody else's, nobody's in particular, and not elsewhere.
#[test]
fn a_grant_that_is_not_ours_is_refused() {
    let (file, _, honest) = Vectors::runway();
    let other = Address::repeat_byte(9);
    let any = with_leaf(&honest, |leaf| leaf.delegate = ANY_DELEGATE);
    assert_eq!(refusal(&any), GrantError::AnyDelegate);
    let theirs = with_leaf(&honest, |leaf| leaf.delegate = other);
    assert!(
        matches!(refusal(&theirs), GrantError::NotOurs { field: "the delegate", actual, .. } if actual == other)
    );
    let mut said = honest.clone();
    said.granted.to = other;
    assert!(matches!(refusal(&said), GrantError::NotOurs { field: "the answer's account", .. }));
    for manager in [None, Some(other)] {
        let elsewhere = Answer { manager, ..honest.clone() };
        assert_eq!(
            refusal(&elsewhere),
            GrantError::Manager { answered: manager, ours: file.manager }
        );
    }
    let mut closed = replace(&honest, enforcers::REDEEMER, Redeemer(vec![other]).encode());
    closed.granted.rules.redeemers = vec![other];
    let session = file.session;
    assert_eq!(refusal(&closed), GrantError::NotRedeemer { session, redeemers: 1 });
    let bare = with_leaf(&honest, |leaf| leaf.signature = Bytes::new());
    assert_eq!(refusal(&bare), GrantError::Unsigned);
}

/// ATK-02: signed for another chain, the signature is nobody's we know.
#[test]
fn a_signature_of_another_chain_is_not_the_owners() {
    let (file, _, mut honest) = Vectors::runway();
    honest.granted.chain_id = 1;

    let granted = file.check(&honest).unwrap();

    assert_eq!(granted.signed(), Signed::LeftToChain);
}

#[test]
fn caveats_that_the_answer_does_not_account_for_are_listed() {
    let (file, _, honest) = Vectors::runway();
    let stranger = Address::repeat_byte(0xee);
    let strange = add(&honest, stranger, vec![1]);
    let calls = add(&honest, enforcers::LIMITED_CALLS, LimitedCalls(U256::ONE).encode());
    let targets = add(&honest, enforcers::ALLOWED_TARGETS, AllowedTargets(vec![stranger]).encode());

    let granted = file.check(&strange).unwrap();
    assert_eq!(granted.unknown().count(), 1);
    assert!(matches!(granted.further(), [Rule::Opaque(opaque)] if opaque.enforcer == stranger));
    let granted = file.check(&calls).unwrap();
    assert_eq!(granted.unknown().count(), 0);
    assert!(matches!(granted.further(), [Rule::LimitedCalls(_)]));
    // What ends it without the answer's word ends it all the same.
    let usage = Usage { spent: U256::ZERO, now: 1_800_100_000, disabled: false };
    let gone = |granted: &Granted| matches!(granted.health(usage).condition, Condition::Revoked(_));
    assert!(!gone(&granted));
    let none = add(&honest, enforcers::LIMITED_CALLS, LimitedCalls(U256::ZERO).encode());
    assert!(gone(&file.check(&none).unwrap()));
    assert!(matches!(file.check(&targets).unwrap().further(), [Rule::AllowedTargets(_)]));
    let payee = AllowedCalldata { start: U256::from(4), value: stranger.into_word().into() };
    let coins = add(&answer(&file.today[8].answer), enforcers::ALLOWED_CALLDATA, payee.encode());
    assert_eq!(file.check(&coins).unwrap().further(), [Rule::AllowedCalldata(payee)]);
    // An end that is no end alone is not taken for the rule's.
    let window = Timestamp { after: 5, before: 1_802_592_000 };
    let mut odd = replace(&honest, enforcers::TIMESTAMP, window.encode());
    assert_eq!(mismatch(&odd), "the expiry");
    odd.granted.rules.expiry = None;
    assert!(matches!(file.check(&odd).unwrap().further(), [Rule::Timestamp(_)]));
}

/// ATK-23.
#[test]
fn two_caveats_of_a_kind_are_refused() {
    let (_, _, honest) = Vectors::runway();
    let later = Timestamp { after: 0, before: 9_999_999_999 };
    let twice = add(&honest, enforcers::TIMESTAMP, later.encode());
    assert_eq!(refusal(&twice), GrantError::Twice { kind: Kind::Timestamp });
    let file = Vectors::load();
    let coins = answer(&file.today[8].answer);
    let limit = PermissionContext::decode(&coins.context).unwrap().leaf().caveats[0].clone();
    let both = add(&honest, limit.enforcer, limit.terms);
    assert_eq!(mismatch(&both), "the type");
}

#[test]
fn terms_that_a_contract_refuses_are_refused() {
    let (_, _, honest) = Vectors::runway();
    let short = replace(&honest, enforcers::TIMESTAMP, vec![0; 31]);
    assert!(matches!(refusal(&short), GrantError::Terms { index: 2, .. }));
    let file = Vectors::load();
    let period = PermissionContext::decode(&honest.context).unwrap().leaf().caveats[0].clone();
    let mut period = Erc20PeriodTransfer::decode(&period.terms).unwrap();
    period.period_duration = U256::from(u64::MAX) + U256::ONE;
    let long = replace(&honest, enforcers::ERC20_PERIOD_TRANSFER, period.encode().unwrap());
    assert!(matches!(file.check(&long), Err(GrantError::Number { what: "the period", .. })));
}

#[test]
fn a_wallet_gives_one_delegation() {
    let (file, _, honest) = Vectors::runway();
    let root = PermissionContext::decode(&honest.context).unwrap().leaf().clone();
    let mut child = root.clone();
    (child.delegator, child.authority) = (root.delegate, root.hash().0);
    let chain = PermissionContext::new(vec![child, root]).unwrap().encode();
    let long = Answer { context: chain, ..honest.clone() };
    assert_eq!(refusal(&long), GrantError::Links { links: 2 });
    for bytes in [vec![], vec![0; 32], honest.context[1..].to_vec()] {
        let context = bytes.into();
        assert!(matches!(refusal(&Answer { context, ..honest.clone() }), GrantError::Context(_)));
    }
    assert_eq!(
        ROOT_AUTHORITY,
        PermissionContext::decode(&honest.context).unwrap().root().authority
    );
    let empty = Answer { context: golem_context(&[]), ..honest };
    assert_eq!(file.check(&empty).unwrap_err(), GrantError::Context(ContextError::Empty));
}

/// `abi.encode` of an empty list.
fn golem_context(_none: &[()]) -> Bytes {
    let mut bytes = vec![0; 64];
    bytes[31] = 32;
    bytes.into()
}
