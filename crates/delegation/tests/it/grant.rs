//! Feed, rotation and re-grant by epoch, and what an agent hands on.

use crate::{
    bundles::{AT, ROUTER, USDC, whole},
    fixtures::environment,
};
use alloy_primitives::{Address, B256, Bytes, Selector, U256};
use golem_delegation::{
    ANY_DELEGATE, Caveat, Delegation, DelegationTree, Environment, Kind, MAX_LINKS,
    PermissionContext, ROOT_AUTHORITY, Rule, SpendRefusal, TermsError, attenuates,
    bundles::{Bundle, BundleError, Law, Spend},
    grant::{Council, Grant, GrantError, Parent, Phase, Replicant},
    terms::{
        AllowedMethods, AllowedTargets, Class, Classes, GolemCharter, Holdings, LimitedCalls,
        ListedTarget, MortalityTimeWindow, Redeemer, ReplicantBudget, Role, Threshold, Timestamp,
    },
};
use std::num::NonZeroU64;

const CHILD: Address = Address::repeat_byte(0x31);

/// The charter of the bundles' tests: epoch 3, second 1,000 to 10,000, children.
fn charter() -> GolemCharter {
    let mut charter = whole();
    let own = ListedTarget { target: charter.agent_key, role: Role::AgentKey };
    charter.listing.targets.push(own);
    charter
}

fn root(rules: &[Rule]) -> Delegation {
    let environment = environment();
    let charter = charter();
    Delegation {
        delegate: charter.agent_key,
        delegator: charter.account,
        authority: ROOT_AUTHORITY,
        caveats: rules.iter().map(|rule| environment.caveat(rule).unwrap().unwrap()).collect(),
        salt: U256::from(7),
        signature: Bytes::from(vec![9; 65]),
    }
}

fn lawful(change: impl FnOnce(&mut GolemCharter)) -> Delegation {
    let mut charter = charter();
    change(&mut charter);
    root(&[Rule::GolemCharter(Box::new(charter))])
}

fn read(delegation: &Delegation) -> Vec<Rule> {
    let environment = environment();
    delegation.caveats.iter().map(|caveat| environment.read(caveat).unwrap()).collect()
}

fn law_of(delegation: &Delegation) -> GolemCharter {
    let mut found = read(delegation).into_iter().filter_map(|rule| match rule {
        Rule::GolemCharter(charter) => Some(*charter),
        _ => None,
    });
    let only = found.next().unwrap();
    assert!(found.next().is_none());
    only
}

fn window(start: u64, end: u64) -> MortalityTimeWindow {
    MortalityTimeWindow::new(start, end).unwrap()
}

/// SPEC G8, D4.
#[test]
fn a_feed_is_the_same_key_with_the_next_epoch_a_higher_salt_and_more_time() {
    let environment = environment();
    let old = lawful(|_| {});

    let fed = Grant::read(&old, &environment).unwrap().feed(20_000).unwrap();

    let expected = GolemCharter { epoch: 4, window: window(1_000, 20_000), ..charter() };
    assert_eq!(law_of(&fed.delegation), expected);
    assert_eq!(fed.charter, expected);
    assert_eq!((fed.delegation.delegate, fed.delegation.delegator), (old.delegate, old.delegator));
    assert_eq!(fed.delegation.salt, U256::from(8));
    assert!(fed.delegation.signature.is_empty() && fed.delegation.is_root());
    assert_eq!(fed.supersedes.ends(&old, &environment), Ok(true));
    assert_eq!(fed.supersedes.ends(&fed.delegation, &environment), Ok(false), "not itself");
    assert!(fed.supersedes.to_string().contains("below 4"), "{}", fed.supersedes);
}

#[test]
fn a_renewal_ends_nothing_of_another_golem_account_or_kind() {
    let environment = environment();
    let old = lawful(|_| {});
    let fed = Grant::read(&old, &environment).unwrap().feed(20_000).unwrap();
    let other_golem = lawful(|law| law.golem_id = B256::repeat_byte(0x77));
    let elsewhere = Delegation { delegator: Address::repeat_byte(0x78), ..old.clone() };
    let bare = Delegation { caveats: vec![], ..old };
    let newer = lawful(|law| law.epoch = 5);

    for other in [other_golem, elsewhere, bare, newer] {
        assert_eq!(fed.supersedes.ends(&other, &environment), Ok(false));
    }
}

#[test]
fn a_feed_moves_what_ended_with_the_charter_and_nothing_else() {
    let environment = environment();
    let law = Law::new(charter()).under(&[
        Bundle::MaxDrawdown(1_500),
        Bundle::MaxSpend(Spend::Total(5_000_000)),
        Bundle::NoSubDelegation,
    ]);
    let law = law.unwrap().charter();
    let budget = ReplicantBudget {
        replicant_id: law.golem_id,
        budget: 5_000_000,
        not_after: 10_000,
        listing: law.listing.clone(),
    };
    let holdings = Holdings {
        golem_id: law.golem_id,
        account: law.account,
        staleness: 1,
        series: 2,
        thriving_bps: 1,
        stable_bps: 1,
        drawdown_bps: 1,
        registry: law.registry,
        cash: USDC,
        loss_bps: 1,
        listing: law.listing.clone(),
    };
    let stock = Timestamp { after: 5, before: 10_001 };
    let open = Timestamp { after: 5, before: 0 };
    let rules = [
        Rule::LimitedCalls(LimitedCalls(U256::from(3))),
        Rule::GolemCharter(Box::new(law.clone())),
        Rule::ReplicantBudget(budget.clone()),
        Rule::Holdings(holdings.clone()),
        Rule::Timestamp(stock),
        Rule::Timestamp(open),
        Rule::MortalityTimeWindow(window(1, 30_000)),
    ];
    let mut old = root(&rules);
    // An enforcer that nobody knows stays what it is; args were never the owner's.
    old.caveats.push(Caveat::new(Address::repeat_byte(0x99), vec![1, 2, 3]));
    old.caveats[0].args = Bytes::from(vec![1]);

    let fed = Grant::read(&old, &environment).unwrap().feed(20_000).unwrap().delegation;

    let mut after = read(&fed);
    let unknown = after.pop().unwrap();
    assert!(matches!(unknown, Rule::Opaque(_)));
    assert_eq!(fed.caveats.last(), old.caveats.last());
    assert!(fed.caveats[0].args.is_empty());
    let expected = [
        rules[0].clone(),
        Rule::GolemCharter(Box::new(GolemCharter {
            epoch: 4,
            window: window(1_000, 20_000),
            ..law
        })),
        Rule::ReplicantBudget(ReplicantBudget { not_after: 20_000, ..budget }),
        Rule::Holdings(holdings),
        Rule::Timestamp(Timestamp { after: 5, before: 20_001 }),
        Rule::Timestamp(open),
        Rule::MortalityTimeWindow(window(1, 30_000)),
    ];
    assert_eq!(after, expected);
}

#[test]
fn a_feed_that_would_not_extend_is_refused() {
    let environment = environment();
    let old = lawful(|_| {});
    let grant = Grant::read(&old, &environment).unwrap();
    for until in [0, 9_999, 10_000] {
        let refusal = GrantError::NotExtended { end: 10_000, until };
        assert_eq!(grant.feed(until), Err(refusal));
    }
    assert!(grant.feed(10_001).is_ok());
    // The terms keep 40 bits.
    assert_eq!(grant.feed(1 << 40), Err(TermsError::Moment { moment: 1 << 40 }.into()));

    let charter = Rule::GolemCharter(Box::new(charter()));
    for (rule, kind) in [
        (Rule::MortalityTimeWindow(window(0, 9_999)), Kind::MortalityTimeWindow),
        (Rule::Timestamp(Timestamp { after: 0, before: 10_000 }), Kind::Timestamp),
    ] {
        let old = root(&[charter.clone(), rule]);
        let refusal = GrantError::EndsEarlier { kind, end: 9_999 };
        assert_eq!(Grant::read(&old, &environment).unwrap().feed(20_000), Err(refusal));
    }
}

/// SPEC D11.
#[test]
fn a_rotation_names_the_new_key_wherever_the_old_one_stood() {
    let environment = environment();
    let law = charter();
    let redeemers = Rule::Redeemer(Redeemer(vec![law.agent_key, Address::repeat_byte(0x55)]));
    let listing = law.listing.clone();
    let held = Holdings {
        golem_id: law.golem_id,
        account: law.account,
        staleness: 1,
        series: 2,
        thriving_bps: 1,
        stable_bps: 1,
        drawdown_bps: 1,
        registry: law.registry,
        cash: USDC,
        loss_bps: 1,
        listing: listing.clone(),
    };
    let budget =
        ReplicantBudget { replicant_id: law.golem_id, budget: 5, not_after: 10_000, listing };
    let beside = [Rule::Holdings(held), Rule::ReplicantBudget(budget)];
    let old = root(
        &[Rule::GolemCharter(Box::new(law.clone())), redeemers]
            .into_iter()
            .chain(beside)
            .collect::<Vec<_>>(),
    );

    let rotated = Grant::read(&old, &environment).unwrap().rotate(CHILD).unwrap();

    assert_eq!(rotated.delegation.delegate, CHILD);
    let next = law_of(&rotated.delegation);
    assert_eq!((next.agent_key, next.epoch, next.window), (CHILD, 4, law.window));
    let own = ListedTarget { target: CHILD, role: Role::AgentKey };
    assert!(next.listing.targets.contains(&own));
    let expected = Rule::Redeemer(Redeemer(vec![CHILD, Address::repeat_byte(0x55)]));
    assert_eq!(read(&rotated.delegation)[1], expected);
    // Rules beside the charter have to know whom gas money goes to, and the mark stays the old one's.
    let (Rule::Holdings(held), Rule::ReplicantBudget(budget)) =
        (&read(&rotated.delegation)[2], &read(&rotated.delegation)[3])
    else {
        panic!("other rules");
    };
    assert!(held.listing.targets.contains(&own) && budget.listing.targets.contains(&own));
    assert_eq!(held.series, 2);
    let text = format!("{:?}", rotated.delegation);
    assert!(!text.contains(&law.agent_key.to_string().to_lowercase()), "the old key is gone");
    assert_eq!(rotated.supersedes.ends(&old, &environment), Ok(true));
}

#[test]
fn keys_that_could_not_redeem_are_refused() {
    let environment = environment();
    let old = lawful(|_| {});
    let grant = Grant::read(&old, &environment).unwrap();
    for key in [Address::ZERO, ANY_DELEGATE, charter().agent_key, charter().account] {
        let verdict = grant.rotate(key);
        assert!(matches!(verdict, Err(GrantError::Key { key: refused, .. }) if refused == key));
    }

    let mut alone = lawful(|law| law.replicants = false);
    alone.delegate = CHILD;
    let verdict = Grant::read(&alone, &environment).map(|_| ());
    assert!(matches!(verdict, Err(GrantError::Key { key: CHILD, .. })), "{verdict:?}");
    let mut open = lawful(|_| {});
    open.delegate = ANY_DELEGATE;
    let grant = Grant::read(&open, &environment).unwrap();
    assert!(matches!(grant.rotate(CHILD), Err(GrantError::Key { key: ANY_DELEGATE, .. })));
    assert!(grant.feed(20_000).is_ok(), "a council is fed like anybody");
}

#[test]
fn what_the_charters_contract_refuses_always_is_no_grant() {
    let environment = environment();
    let verdict = |change: fn(&mut GolemCharter)| {
        Grant::read(&lawful(change), &environment).map(|_| ()).unwrap_err()
    };

    let bent = |at: usize, bytes: &[u8]| {
        let mut grant = lawful(|_| {});
        let caveat = &mut grant.caveats[0];
        let mut terms = caveat.terms.to_vec();
        terms[at..at + bytes.len()].copy_from_slice(bytes);
        caveat.terms = terms.into();
        Grant::read(&grant, &environment).map(|_| ()).unwrap_err()
    };
    let length = |bucket_minutes| SpendRefusal::BucketLength { bucket_minutes, longest: 0x3fff };
    let (minutes, cap) = (58, 84);
    for (at, bytes, refusal) in [
        (cap, &[0; 8][..], SpendRefusal::ZeroCap),
        (minutes, &[0, 0], length(0)),
        (minutes, &[0x40, 0], length(0x4000)),
    ] {
        assert_eq!(bent(at, bytes), TermsError::from(refusal).into());
    }
    assert_eq!(verdict(|law| law.account = CHILD), GrantError::Other { what: "account" });
    assert!(Grant::read(&lawful(|law| law.bucket_minutes = 0x3fff), &environment).is_ok());
    let child = Delegation { authority: B256::ZERO, ..lawful(|_| {}) };
    assert_eq!(Grant::read(&child, &environment).map(|_| ()), Err(GrantError::NotRoot));
    let charter = Rule::GolemCharter(Box::new(charter()));
    for rules in [vec![], vec![charter.clone(), charter]] {
        let found = rules.len();
        let verdict = Grant::read(&root(&rules), &environment).map(|_| ());
        assert_eq!(verdict, Err(GrantError::Charters { found }));
    }
}

#[test]
fn the_last_epoch_and_the_last_salt_have_no_next() {
    let environment = environment();
    // The registry never admits the last number.
    for epoch in [u16::MAX, u16::MAX - 1] {
        let last = lawful(|law| law.epoch = epoch);
        let verdict = Grant::read(&last, &environment).unwrap().feed(20_000);
        assert_eq!(verdict, Err(GrantError::LastEpoch { epoch }));
    }

    let salted = Delegation { salt: U256::MAX, ..lawful(|_| {}) };
    let verdict = Grant::read(&salted, &environment).unwrap().feed(20_000);
    assert_eq!(verdict, Err(GrantError::LastSalt));
}

#[test]
fn a_regrant_keeps_to_its_golem_and_goes_forward() {
    let environment = environment();
    let old = lawful(|law| law.generation = 2);
    let grant = Grant::read(&old, &environment).unwrap();
    let next = grant.next_charter().unwrap();
    assert_eq!(next.epoch, 4);
    let regrant = |change: fn(&mut GolemCharter)| {
        let mut charter = next.clone();
        change(&mut charter);
        let rule = Rule::GolemCharter(Box::new(charter));
        grant.regrant(next.agent_key, vec![environment.caveat(&rule).unwrap().unwrap()])
    };

    let tighter = regrant(|law| law.spend_cap = 5).unwrap();
    assert_eq!(
        (law_of(&tighter.delegation).spend_cap, tighter.delegation.salt),
        (5, U256::from(8))
    );
    assert_eq!(regrant(|law| law.golem_id = B256::ZERO), Err(GrantError::Other { what: "Golem" }));
    assert_eq!(regrant(|law| law.owner = CHILD), Err(GrantError::Other { what: "owner" }));
    assert_eq!(regrant(|law| law.registry = CHILD), Err(GrantError::Other { what: "registry" }));
    assert_eq!(regrant(|law| law.epoch = 3), Err(GrantError::StaleEpoch { epoch: 3, highest: 3 }));
    assert_eq!(
        regrant(|law| law.generation = 1),
        Err(GrantError::StaleGeneration { generation: 1, known: 2 })
    );
}

fn replicant() -> Replicant {
    Replicant {
        key: CHILD,
        id: B256::repeat_byte(0x31),
        budget: 50_000_000,
        born: 2_000,
        lifespan: 3_600,
        targets: vec![ROUTER],
        methods: vec![Selector::repeat_byte(4)],
        calls: NonZeroU64::new(100),
    }
}

fn chain(links: &[Delegation]) -> PermissionContext {
    PermissionContext::new(links.to_vec()).unwrap()
}

/// SPEC G9: budget, lifespan, methods, call limit.
#[test]
fn a_replicant_has_its_budget_its_life_its_methods_and_no_children() {
    let environment = environment();
    let root = lawful(|_| {});
    let above = chain(std::slice::from_ref(&root));

    let child = Parent::read(&above, &environment).unwrap().replicant(&replicant(), U256::ZERO);
    let child = child.unwrap();

    assert_eq!((child.delegator, child.delegate), (root.delegate, CHILD));
    let law = law_of(&child);
    assert_eq!((law.agent_key, law.replicants), (CHILD, false));
    assert_eq!((law.window, law.epoch), (window(2_000, 5_600), 3));
    let rules = read(&child);
    let budget = ReplicantBudget {
        replicant_id: B256::repeat_byte(0x31),
        budget: 50_000_000,
        not_after: 5_600,
        listing: law.listing,
    };
    for rule in [
        Rule::ReplicantBudget(budget),
        Rule::Redeemer(Redeemer(vec![CHILD])),
        Rule::AllowedTargets(AllowedTargets(vec![ROUTER])),
        Rule::AllowedMethods(AllowedMethods(vec![Selector::repeat_byte(4)])),
        Rule::LimitedCalls(LimitedCalls(U256::from(100))),
    ] {
        assert!(rules.contains(&rule), "{rule:?}");
    }
    let below = chain(&[child.clone(), root.clone()]);
    // It hands nothing on: its own charter and its own list say no.
    let grandchild = Replicant { key: Address::repeat_byte(0x32), lifespan: 1, ..replicant() };
    let verdict = Parent::read(&below, &environment).unwrap().replicant(&grandchild, U256::ZERO);
    assert_eq!(verdict, Err(GrantError::NoReplicants { link: 0, agent_key: CHILD }));
    assert_eq!(DelegationTree::new(vec![child, root]).unwrap().len(), 2);
}

#[test]
fn a_parent_gives_only_what_it_has() {
    let environment = environment();
    let verdict = |root: Delegation, child: Replicant| {
        let above = chain(&[root]);
        Parent::read(&above, &environment)?.replicant(&child, U256::ZERO)
    };
    let (open, agent_key) = (lawful(|_| {}), charter().agent_key);

    let childless = lawful(|law| law.replicants = false);
    let refusal = GrantError::NoReplicants { link: 0, agent_key };
    assert_eq!(verdict(childless, replicant()), Err(refusal));
    let charter = Rule::GolemCharter(Box::new(charter()));
    let pinned = root(&[charter.clone(), Rule::Redeemer(Redeemer(vec![agent_key]))]);
    assert_eq!(verdict(pinned, replicant()), Err(GrantError::NotListed { link: 0, key: CHILD }));
    let exact = Replicant { born: 2_000, lifespan: 8_000, ..replicant() };
    assert!(verdict(open.clone(), exact.clone()).is_ok());
    let late = Replicant { lifespan: 8_001, ..exact };
    let refusal = GrantError::Outlives { link: 0, end: 10_000, until: 10_001 };
    assert_eq!(verdict(open.clone(), late), Err(refusal));
    let none = Replicant { budget: 0, ..replicant() };
    assert_eq!(verdict(open.clone(), none), Err(GrantError::Nothing { what: "budget" }));
    for key in [Address::ZERO, ANY_DELEGATE, agent_key] {
        let same = Replicant { key, ..replicant() };
        assert!(matches!(verdict(open.clone(), same), Err(GrantError::Key { .. })), "{key}");
    }
    let listing = open_listing();
    let poor = ReplicantBudget { replicant_id: B256::ZERO, budget: 10, not_after: 10_000, listing };
    let poor = root(&[charter, Rule::ReplicantBudget(poor)]);
    let refusal = GrantError::Budget { link: 0, most: 10, asked: 50_000_000 };
    assert_eq!(verdict(poor, replicant()), Err(refusal));
}

/// ATK-07: whatever is handed on is within every link above, by the checker's own word.
#[test]
fn what_is_handed_on_is_never_wider_than_what_stands_above() {
    let environment = environment();
    let [allowed, other] = [1, 2].map(Address::repeat_byte);
    let charter = Rule::GolemCharter(Box::new(charter()));
    let targets = Rule::AllowedTargets(AllowedTargets(vec![allowed]));
    let calls = Rule::LimitedCalls(LimitedCalls(U256::from(3)));
    let above = chain(&[root(&[charter, targets, calls])]);
    let parent = Parent::read(&above, &environment).unwrap();
    let rules = |link: &Delegation| environment.rules(&link.caveats).unwrap();
    let within = Replicant { targets: vec![allowed], calls: NonZeroU64::new(3), ..replicant() };

    let child = parent.replicant(&within, U256::ZERO).unwrap();
    assert_eq!(attenuates(&rules(above.leaf()), &rules(&child)), Ok(()));
    for wider in [
        Replicant { targets: vec![allowed, other], ..within.clone() },
        Replicant { calls: NonZeroU64::new(4), ..within },
    ] {
        let refusal = parent.replicant(&wider, U256::ZERO).unwrap_err();
        assert!(matches!(refusal, GrantError::Wider { link: 0, .. }), "{refusal}");
    }
}

fn open_listing() -> golem_delegation::terms::Listing {
    charter().listing
}

/// SPEC G9: Alpha lets Beta look, and nothing else.
#[test]
fn another_golem_gets_what_the_bundles_leave() {
    let environment = environment();
    let above = chain(&[lawful(|_| {})]);
    let parent = Parent::read(&above, &environment).unwrap();

    let reader = parent.to_golem(CHILD, 2_000, 100, &[Bundle::ReadOnly], U256::ZERO).unwrap();

    assert_eq!(law_of(&reader).classes, Classes::of(&[]));
    assert!(read(&reader).contains(&Rule::Redeemer(Redeemer(vec![CHILD]))));
    let mixed = [Bundle::ReadOnly, Bundle::FullTrading];
    let verdict = parent.to_golem(CHILD, 2_000, 100, &mixed, U256::ZERO);
    assert_eq!(verdict, Err(BundleError::ReadOnlyAndMore.into()));
}

#[test]
fn each_phase_has_a_link_with_less_in_it() {
    let environment = environment();
    let above = chain(&[lawful(|_| {})]);
    let parent = Parent::read(&above, &environment).unwrap();
    let classes = Phase::ALL.map(|phase| {
        let link = parent.for_phase(CHILD, phase, 2_000, U256::from(phase as u8)).unwrap();
        law_of(&link).classes
    });
    let [thriving, stable, conservation, declining, terminal] = classes;

    assert!(thriving.contains(Class::Swap) && thriving.contains(Class::SpawnReplicant));
    assert!(stable.contains(Class::Swap) && !stable.contains(Class::SpawnReplicant));
    for growing in [Class::Swap, Class::Deposit, Class::AddLiquidity] {
        assert!(!conservation.contains(growing) && !declining.contains(growing));
    }
    assert!(conservation.contains(Class::Withdraw) && !conservation.contains(Class::Transfer));
    assert!(declining.contains(Class::Transfer) && !declining.contains(Class::Settle));
    assert!(terminal.contains(Class::Settle) && !terminal.contains(Class::Deposit));
}

/// The same under a parent that bounds a fall, with a mark that was begun anew: no link of a phase forgets either.
#[test]
fn each_phase_stays_within_what_its_parent_lets_be_held() {
    let environment = environment();
    let law = Law::new(charter()).in_series(2).under(&[Bundle::MaxDrawdown(1_500)]).unwrap();
    let held = Holdings::decode(&law.caveats(&AT).unwrap()[1].terms).unwrap();
    let root = root(&[Rule::GolemCharter(Box::new(law.charter())), Rule::Holdings(held)]);
    let above = chain(std::slice::from_ref(&root));
    let parent = Parent::read(&above, &environment).unwrap();
    for phase in Phase::ALL {
        let link = parent.for_phase(CHILD, phase, 2_000, U256::from(phase as u8)).unwrap();
        assert_eq!(attenuates(&read(&root), &read(&link)), Ok(()), "{phase:?}");
        let held = read(&link).into_iter().find_map(|rule| match rule {
            Rule::Holdings(held) => Some((held.series, held.drawdown_bps)),
            _ => None,
        });
        let says = [Phase::Thriving, Phase::Stable, Phase::Terminal].contains(&phase);
        assert_eq!(held, says.then_some((2, 1_500)), "{phase:?}");
    }
}

/// SPEC C12: two of three, and any of them redeems.
#[test]
fn a_council_redeems_what_enough_of_it_agreed_to() {
    let environment = environment();
    let root = lawful(|_| {});
    let above = chain(std::slice::from_ref(&root));
    let parent = Parent::read(&above, &environment).unwrap();
    let seats = [0x43, 0x41, 0x42].map(Address::repeat_byte).to_vec();
    let council =
        Council { seats: seats.clone(), needed: 2, most: 10_000_000, targets: vec![ROUTER] };

    let link = parent.council(&council, 2_000, U256::ZERO).unwrap();

    assert_eq!(link.delegate, ANY_DELEGATE);
    let sorted = Threshold::new(2, seats).unwrap();
    let rules = read(&link);
    assert!(rules.contains(&Rule::Redeemer(Redeemer(sorted.signers().to_vec()))));
    assert!(rules.contains(&Rule::Threshold(sorted)));
    let law = law_of(&link);
    assert_eq!((law.nav_cap, law.replicants), (10_000_000, true));
    assert_eq!(chain(&[link, root]).links().len(), 2);
    // The parent may sit in it, be its address the lowest.
    let own =
        Council { seats: [&council.seats[..], &[charter().agent_key]].concat(), ..council.clone() };
    let sits = parent.council(&own, 2_000, U256::ZERO).unwrap();
    assert_eq!(law_of(&sits).agent_key, charter().agent_key);
    let too_few = Council { needed: 4, ..council.clone() };
    let refusal = TermsError::Needed { needed: 4, signers: 3 };
    assert_eq!(parent.council(&too_few, 2_000, U256::ZERO), Err(refusal.into()));
    let childless = chain(&[lawful(|law| law.replicants = false)]);
    let parent = Parent::read(&childless, &environment).unwrap();
    let verdict = parent.council(&council, 2_000, U256::ZERO);
    assert!(matches!(verdict, Err(GrantError::NoReplicants { .. })));
}

#[test]
fn a_chain_that_is_full_has_no_room_for_a_child() {
    let environment = environment();
    let root = lawful(|_| {});
    let mut links = vec![root];
    while links.len() < MAX_LINKS {
        let parent = &links[0];
        let delegate = Address::left_padding_from(&(0x9000 + links.len()).to_be_bytes());
        let authority = parent.hash().0;
        let delegator = parent.delegate;
        links.insert(
            0,
            Delegation { delegate, delegator, authority, caveats: vec![], ..links[0].clone() },
        );
    }
    let above = chain(&links);

    let verdict = Parent::read(&above, &environment).unwrap().replicant(&replicant(), U256::ZERO);

    assert!(matches!(verdict, Err(GrantError::Context(_))), "{verdict:?}");
}

#[test]
fn an_enforcer_that_nobody_can_find_is_named() {
    let charter = environment().enforcer(Kind::GolemCharter).unwrap();
    let few = Environment::default().with(Kind::GolemCharter, charter);
    let above = chain(&[lawful(|_| {})]);
    let parent = Parent::read(&above, &few).unwrap();

    let verdict = parent.replicant(&replicant(), U256::ZERO);

    assert_eq!(verdict, Err(GrantError::NoEnforcer { kind: Kind::Holdings }));
}

/// The mark of a drawdown goes forward or stays; below it everything would be refused.
#[test]
fn a_new_grant_does_not_fall_back_behind_its_mark() {
    let environment = environment();
    let law = charter();
    let held = |series| {
        let law = Law::new(law.clone()).in_series(series);
        law.under(&[Bundle::MaxDrawdown(1_500)]).unwrap()
    };
    let rules = |series, charter: GolemCharter| {
        let holdings = held(series).caveats(&AT).unwrap();
        let found = holdings.iter().find(|caveat| caveat.enforcer == AT.holdings).unwrap();
        let rule = Rule::Holdings(Holdings::decode(&found.terms).unwrap());
        vec![Rule::GolemCharter(Box::new(charter)), rule]
    };
    let old = root(&rules(2, law.clone()));
    let grant = Grant::read(&old, &environment).unwrap();
    let next = grant.next_charter().unwrap();
    let regrant = |series| {
        let caveats = root(&rules(series, next.clone())).caveats;
        grant.regrant(old.delegate, caveats).map(|_| ())
    };

    assert_eq!(regrant(1), Err(GrantError::StaleSeries { series: 1, highest: 2 }));
    assert_eq!((regrant(2), regrant(3)), (Ok(()), Ok(())));
}

/// A key that a caveat keeps naming where nobody can rewrite it: there is no rotation, rather than half of one.
#[test]
fn a_key_that_stays_named_is_not_rotated() {
    let environment = environment();
    let law = charter();
    let charter = Rule::GolemCharter(Box::new(law.clone()));
    let targets = Rule::AllowedTargets(AllowedTargets(vec![law.agent_key, USDC]));
    let plain = root(&[charter.clone(), targets]);
    let rotated = Grant::read(&plain, &environment).unwrap().rotate(CHILD).unwrap();
    assert_eq!(
        read(&rotated.delegation)[1],
        Rule::AllowedTargets(AllowedTargets(vec![CHILD, USDC]))
    );

    let mut unknown = root(&[charter]);
    let terms = [&[1, 2, 3], law.agent_key.as_slice()].concat();
    unknown.caveats.push(Caveat::new(Address::repeat_byte(0x99), terms));
    let verdict = Grant::read(&unknown, &environment).unwrap().rotate(CHILD);
    assert!(matches!(verdict, Err(GrantError::Key { key, .. }) if key == law.agent_key));
}
