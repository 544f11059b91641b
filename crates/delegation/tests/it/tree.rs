//! Trees of delegations: the seeds' examples, and whatever else somebody might hand over.

use crate::{
    bundles::{AT, ROUTER, USDC, WETH, whole},
    fixtures::{chain, link, party},
    passkeys::owners,
};
use alloy_primitives::{Address, B256, Bytes, U256};
use golem_delegation::{
    ANY_DELEGATE, Caveat, Delegation, DelegationHash, DelegationTree, MAX_LINKS, MAX_NODES,
    ROOT_AUTHORITY, Signed, SignedError, Signer, SigningDomain, Standing, State, TreeError,
    bundles::{Bundle, Law, Spend},
    terms::{
        AllowedTargets, GolemCharter, Holdings, LimitedCalls, MortalityTimeWindow, Redeemer,
        Threshold,
    },
};
use proptest::prelude::*;
use std::{collections::BTreeMap, num::NonZeroU32};

const DOLLAR: u64 = 1_000_000;
const DAY: u64 = 86_400;
const WEEK: NonZeroU32 = NonZeroU32::new(604_800).unwrap();
const NOW: u64 = 1_800_000_000;
const OWNER: Address = Address::repeat_byte(8);
const ALPHA: Address = Address::repeat_byte(0xa1);
const BETA: Address = Address::repeat_byte(0xbe);
const LIMITED_CALLS: Address = Address::repeat_byte(0xc9);
const THRESHOLD: Address = Address::repeat_byte(0xcb);

fn grant(
    delegator: Address,
    delegate: Address,
    authority: B256,
    caveats: Vec<Caveat>,
) -> Delegation {
    let (salt, signature) = (U256::ZERO, Bytes::new());
    Delegation { delegate, delegator, authority, caveats, salt, signature }
}

fn charter(golem: u8, agent_key: Address, days: u64) -> GolemCharter {
    GolemCharter {
        golem_id: B256::repeat_byte(golem),
        agent_key,
        window: MortalityTimeWindow::new(NOW, NOW + days * DAY).unwrap(),
        ..whole()
    }
}

/// The seeds' trees, with the names they give to each link.
///
/// ```text
/// owner ── Alpha (vault manager) ─┬─ Replicant Alpha-1 (hypothesis tester)
///       │                         ├─ Sleepwalker (observer)
///       │                         └─ P1 … P5 (one link for each phase)
///       ├─ Beta (DCA executor)
///       └─ the council (two of Alpha, Beta, Gamma)
/// ```
fn seeds() -> Vec<(&'static str, Delegation)> {
    let law = Law::new(charter(0xa1, ALPHA, 365))
        .under(&[
            Bundle::MaxSpend(Spend::Day(1_000 * DOLLAR)),
            Bundle::ApprovedAssets(vec![USDC, WETH]),
            Bundle::MaxDrawdown(1_500),
            Bundle::TimeWindow(MortalityTimeWindow::new(NOW, NOW + 30 * DAY).unwrap()),
        ])
        .unwrap();
    let alpha = grant(OWNER, ALPHA, ROOT_AUTHORITY, law.caveats(&AT).unwrap());
    let held = alpha.caveats.iter().find(|caveat| caveat.enforcer == AT.holdings).unwrap();
    let held = Holdings::decode(&held.terms).unwrap();
    let child = |key: u8, bundles: &[Bundle], beside: Vec<Caveat>| {
        let agent_key = Address::repeat_byte(key);
        let law = Law::new(GolemCharter { agent_key, ..law.charter() })
            .of_child(agent_key.into_word())
            .beneath(held.clone())
            .under(bundles)
            .unwrap();
        let caveats = [law.caveats(&AT).unwrap(), beside].concat();
        grant(ALPHA, agent_key, alpha.hash().0, caveats)
    };
    let replicant = child(
        0x11,
        &[
            Bundle::MaxSpend(Spend::Total(50 * DOLLAR)),
            Bundle::MaxLifespan(DAY),
            Bundle::NoSubDelegation,
        ],
        vec![
            Caveat::new(AT.allowed_targets, AllowedTargets(vec![ROUTER]).encode()),
            Caveat::new(LIMITED_CALLS, LimitedCalls(U256::from(100)).encode()),
        ],
    );
    let sleepwalker =
        child(0x12, &[Bundle::ReadOnly, Bundle::NoTransfers, Bundle::OraclePublishOnly], vec![]);
    let phases = [
        vec![
            Bundle::FullTrading,
            Bundle::MaxPosition { thriving: 3_000, stable: 0 },
            Bundle::ReplicantSpawning,
        ],
        vec![
            Bundle::FullTrading,
            Bundle::MaxPosition { thriving: 0, stable: 2_000 },
            Bundle::NoReplicantSpawning,
        ],
        vec![Bundle::CloseOnly, Bundle::NoNewPositions, Bundle::WithdrawAllowed],
        vec![Bundle::UnwindOnly, Bundle::SweepToOwner],
        vec![Bundle::SettlementOnly, Bundle::DeathProtocol],
    ]
    .map(|bundles| child(0x13, &bundles, vec![]));
    let dca = Law::new(charter(0xbe, BETA, 60))
        .under(&[
            Bundle::MaxSpend(Spend::Week(100 * DOLLAR)),
            Bundle::OnlySwap { sells: USDC, buys: WETH },
            Bundle::CronOnly(WEEK),
        ])
        .unwrap();
    let beta = grant(OWNER, BETA, ROOT_AUTHORITY, dca.caveats(&AT).unwrap());
    let seats = vec![ALPHA, BETA, Address::repeat_byte(0xca)];
    let council =
        Law::new(charter(0xcc, ALPHA, 30)).under(&[Bundle::MaxValue(10_000 * DOLLAR)]).unwrap();
    let mut caveats = council.caveats(&AT).unwrap();
    caveats.extend([
        Caveat::new(AT.redeemer, Redeemer(seats.clone()).encode()),
        Caveat::new(THRESHOLD, Threshold::new(2, seats).unwrap().encode()),
    ]);
    let council = grant(OWNER, ANY_DELEGATE, ROOT_AUTHORITY, caveats);

    let [p1, p2, p3, p4, p5] = phases;
    vec![
        ("alpha", alpha),
        ("replicant", replicant),
        ("sleepwalker", sleepwalker),
        ("P1", p1),
        ("P2", p2),
        ("P3", p3),
        ("P4", p4),
        ("P5", p5),
        ("beta", beta),
        ("council", council),
    ]
}

fn of(named: &[(&str, Delegation)]) -> Vec<Delegation> {
    named.iter().map(|(_, delegation)| delegation.clone()).collect()
}

fn hash(named: &[(&str, Delegation)], name: &str) -> DelegationHash {
    named.iter().find(|(other, _)| *other == name).unwrap().1.hash()
}

fn all_active(tree: &DelegationTree) -> BTreeMap<DelegationHash, State> {
    tree.walk().map(|(hash, _)| (hash, State::Active)).collect()
}

#[test]
fn the_seeds_trees_stand_in_any_order() {
    let named = seeds();
    let mut given = of(&named);
    let tree = DelegationTree::new(given.clone()).unwrap();
    given.reverse();
    let backwards = DelegationTree::new(given).unwrap();

    assert_eq!(tree.len(), 10);
    assert_eq!(tree.roots(), ["alpha", "beta", "council"].map(|name| hash(&named, name)));
    let alpha = tree.node(hash(&named, "alpha")).unwrap();
    let below = ["replicant", "sleepwalker", "P1", "P2", "P3", "P4", "P5"];
    assert_eq!(alpha.children(), below.map(|name| hash(&named, name)));
    assert_eq!((alpha.depth(), alpha.parent()), (0, None));
    for name in below {
        let node = tree.node(hash(&named, name)).unwrap();
        assert_eq!((node.depth(), node.parent()), (1, Some(hash(&named, "alpha"))), "{name}");
    }
    assert_eq!(backwards.len(), 10);
    assert_eq!(backwards.roots().len(), 3);
    let walked: Vec<DelegationHash> = tree.walk().map(|(hash, _)| hash).collect();
    assert_eq!(walked, named.iter().map(|(_, one)| one.hash()).collect::<Vec<_>>());
}

#[test]
fn a_leafs_chain_is_what_the_manager_takes() {
    let named = seeds();
    let tree = DelegationTree::new(of(&named)).unwrap();
    let (_, alpha) = &named[0];
    let (_, replicant) = &named[1];

    let context = tree.chain(replicant.hash()).unwrap();

    assert_eq!(context.links(), [replicant.clone(), alpha.clone()]);
    assert_eq!(tree.chain(alpha.hash()).unwrap().links(), std::slice::from_ref(alpha));
    let stranger = DelegationHash(B256::ZERO);
    assert_eq!(tree.chain(stranger), Err(TreeError::Unknown { hash: stranger }));
}

/// SPEC G5, ATK-09.
#[test]
fn revoking_alpha_kills_its_children_and_nobody_elses() {
    let named = seeds();
    let tree = DelegationTree::new(of(&named)).unwrap();
    let mut facts = all_active(&tree);
    let alpha = hash(&named, "alpha");
    assert!(tree.standings(&facts).values().all(|standing| *standing == Standing::Active));

    facts.insert(alpha, State::RevokedByOwner);
    // What died of itself died of its parent as well, and that is where to look.
    facts.insert(hash(&named, "replicant"), State::Exhausted);
    facts.insert(hash(&named, "beta"), State::Expired);
    let standings = tree.standings(&facts);

    let dead = |cause, name| Standing::Dead { cause, by: hash(&named, name) };
    for (name, standing) in [
        ("alpha", dead(State::RevokedByOwner, "alpha")),
        ("replicant", dead(State::RevokedByOwner, "alpha")),
        ("P5", dead(State::RevokedByOwner, "alpha")),
        ("beta", dead(State::Expired, "beta")),
        ("council", Standing::Active),
    ] {
        assert_eq!(standings[&hash(&named, name)], standing, "{name}");
    }
}

#[test]
fn a_middle_link_that_died_takes_everything_below_and_nothing_above() {
    let links = chain(5);
    let tree = DelegationTree::new(links.clone()).unwrap();

    for cause in [State::RevokedByOwner, State::Expired, State::Exhausted] {
        for (killed, link) in links.iter().enumerate() {
            let mut facts = all_active(&tree);
            facts.insert(link.hash(), cause);
            let standings = tree.standings(&facts);
            for (at, one) in links.iter().enumerate() {
                let by = link.hash();
                let expected =
                    if at <= killed { Standing::Dead { cause, by } } else { Standing::Active };
                assert_eq!(standings[&one.hash()], expected, "{at} of {killed}");
            }
        }
    }
}

#[test]
fn what_nothing_is_known_of_does_not_pass_for_active() {
    let links = chain(3);
    let tree = DelegationTree::new(links.clone()).unwrap();
    let [leaf, middle, root] = [0, 1, 2].map(|at: usize| links[at].hash());

    let facts = [(root, State::Active), (leaf, State::Active)].into();
    let standings = tree.standings(&facts);
    assert_eq!(standings[&root], Standing::Active);
    assert_eq!(standings[&middle], Standing::Unknown);
    assert_eq!(standings[&leaf], Standing::Unknown);

    let facts = [(leaf, State::Expired)].into();
    assert_eq!(tree.standings(&facts)[&leaf], Standing::Dead { cause: State::Expired, by: leaf });
}

#[test]
fn who_hands_on_what_he_has_not_is_refused() {
    let root = link(0, ROOT_AUTHORITY);
    let mut thief = link(1, root.hash().0);
    thief.delegator = party(9);
    let refusal = TreeError::Delegator { hash: thief.hash(), expected: party(1), actual: party(9) };
    assert_eq!(DelegationTree::new(vec![thief.clone(), root.clone()]), Err(refusal));

    // SPEC D3, in the seed's own mistake: the child's delegator is not its parent's delegator.
    let mut brother = link(1, root.hash().0);
    brother.delegator = root.delegator;
    assert!(matches!(
        DelegationTree::new(vec![root.clone(), brother]),
        Err(TreeError::Delegator { .. })
    ));

    let open = Delegation { delegate: ANY_DELEGATE, ..root };
    let anybody = Delegation { authority: open.hash().0, ..thief };
    assert_eq!(DelegationTree::new(vec![open, anybody]).unwrap().len(), 2);
}

/// ATK-06: a parent that is not there gives nothing, be it named by a constant.
#[test]
fn a_link_without_its_parent_is_refused() {
    let links = chain(3);
    for (missing, hangs) in [(1, 0), (2, 1)] {
        let mut given = links.clone();
        given.remove(missing);
        let refusal =
            TreeError::Orphan { hash: links[hangs].hash(), authority: links[missing].hash().0 };
        assert_eq!(DelegationTree::new(given), Err(refusal));
    }
    for authority in [B256::ZERO, B256::repeat_byte(0xfe), B256::from(U256::MAX - U256::from(1))] {
        let lost = link(0, authority);
        let refusal = TreeError::Orphan { hash: lost.hash(), authority };
        assert_eq!(DelegationTree::new(vec![lost]), Err(refusal));
    }
    // To name itself a link would have to know its own hash before it is made.
    let mut own = link(0, ROOT_AUTHORITY);
    own.authority = own.hash().0;
    assert!(matches!(DelegationTree::new(vec![own]), Err(TreeError::Orphan { .. })));
    assert_eq!(DelegationTree::new(vec![]), Err(TreeError::Empty));
}

/// ATK-10.
#[test]
fn a_chain_of_a_hundred_is_refused_and_the_longest_that_is_allowed_is_not() {
    let links = chain(100);
    let first_below = links[100 - 1 - MAX_LINKS].hash();
    let refusal = TreeError::TooDeep { hash: first_below, limit: MAX_LINKS };

    assert_eq!(DelegationTree::new(links), Err(refusal));
    let longest = chain(MAX_LINKS);
    let tree = DelegationTree::new(longest.clone()).unwrap();
    assert_eq!(tree.chain(longest[0].hash()).unwrap().links(), longest);
    assert!(DelegationTree::new(chain(MAX_LINKS + 1)).is_err());
}

/// ATK-10: the second of a thousand ends it.
#[test]
fn a_thousand_duplicates_are_refused_at_the_second() {
    let root = link(0, ROOT_AUTHORITY);
    let hash = root.hash();
    let mut given = vec![root; 1_000];
    assert_eq!(DelegationTree::new(given.clone()), Err(TreeError::Duplicate { hash, index: 1 }));

    // Another signature and other args make no other delegation.
    given.truncate(2);
    given[1].signature = Bytes::from(vec![1]);
    given[1].caveats[0].args = Bytes::new();
    assert_eq!(DelegationTree::new(given), Err(TreeError::Duplicate { hash, index: 1 }));
}

#[test]
fn more_delegations_than_a_tree_has_are_not_looked_at() {
    let many = |count: usize| -> Vec<Delegation> {
        let root = link(0, ROOT_AUTHORITY);
        let child = link(1, root.hash().0);
        let salted = |salt: usize| Delegation { salt: U256::from(salt), ..child.clone() };
        std::iter::once(root).chain((1..count).map(salted)).collect()
    };

    assert_eq!(DelegationTree::new(many(MAX_NODES)).unwrap().len(), MAX_NODES);
    let refusal = TreeError::TooMany { limit: MAX_NODES, actual: MAX_NODES + 1 };
    assert_eq!(DelegationTree::new(many(MAX_NODES + 1)), Err(refusal));
}

#[test]
fn signatures_are_told_by_whose_key_should_have_made_them() {
    let file = owners();
    let passkey = file.passkeys[0].clone();
    let (domain, delegation) = (passkey.grant.domain(), passkey.grant.delegation.clone());
    let plain = &file.keys[0];
    assert_eq!(plain.grant.domain(), domain);
    let tree =
        DelegationTree::new(vec![delegation.clone(), plain.grant.delegation.clone()]).unwrap();
    let (by_passkey, by_key) = (delegation.hash(), plain.grant.delegation.hash());
    let told = |domain: SigningDomain, signers: &[(Address, Signer)]| {
        tree.signatures(&domain, &signers.iter().copied().collect())
    };
    let right = [
        (delegation.delegator, Signer::Passkey(passkey.owner())),
        (plain.grant.delegation.delegator, Signer::Key(plain.owner)),
    ];

    let signed = told(domain, &right);
    assert_eq!((&signed[&by_passkey], &signed[&by_key]), (&Signed::Yes, &Signed::Yes));
    // An account that nobody named is the chain's to ask.
    assert!(told(domain, &[]).values().all(|one| *one == Signed::LeftToChain));
    let asked = told(domain, &[(delegation.delegator, Signer::Chain)]);
    assert_eq!(asked[&by_passkey], Signed::LeftToChain);
    let elsewhere = told(SigningDomain { chain_id: 1, ..domain }, &right);
    assert!(matches!(elsewhere[&by_passkey], Signed::No(SignedError::Passkey(_))));
    assert!(matches!(elsewhere[&by_key], Signed::No(SignedError::Key(_))));
}

#[test]
fn a_plain_keys_own_signature_counts_without_being_named() {
    let file = crate::fixtures::Delegations::load();
    let vector = file.delegations.iter().find(|one| one.name == "2 caveats").unwrap();
    let digest = &vector.digests[0];
    let tree = DelegationTree::new(vec![vector.delegation.clone()]).unwrap();

    let signed = tree.signatures(&digest.domain(), &BTreeMap::new());

    assert_eq!(signed[&vector.hash], Signed::Yes);
}

#[test]
fn a_tree_is_drawn_with_a_line_for_each_link() {
    let named = seeds();
    let tree = DelegationTree::new(of(&named)).unwrap();
    let mut facts = all_active(&tree);
    facts.insert(hash(&named, "alpha"), State::RevokedByOwner);
    facts.remove(&hash(&named, "council"));

    let text = tree.render(&tree.standings(&facts));

    let short = |name: &str| {
        let hex = hash(&named, name).to_string();
        format!("{}…{}", &hex[..6], &hex[62..])
    };
    let alpha = short("alpha");
    let child = |name: &str, fork: &str, to: &str, caveats: &str| {
        format!(
            "{fork}{}  0xA1A1…a1A1 → {to}  {caveats}  dead: {alpha} is revoked by its owner",
            short(name)
        )
    };
    let worker = "0x1313…1313";
    let expected = [
        format!("{alpha}  0x0808…0808 → 0xA1A1…a1A1  2 caveats  dead: revoked by its owner"),
        child("replicant", "├── ", "0x1111…1111", "5 caveats"),
        child("sleepwalker", "├── ", "0x1212…1212", "2 caveats"),
        child("P1", "├── ", worker, "2 caveats"),
        child("P2", "├── ", worker, "2 caveats"),
        child("P3", "├── ", worker, "1 caveat"),
        child("P4", "├── ", worker, "1 caveat"),
        child("P5", "└── ", worker, "2 caveats"),
        format!("{}  0x0808…0808 → 0xbeBE…BEbE  5 caveats  active", short("beta")),
        format!("{}  0x0808…0808 → anyone  3 caveats  state unknown", short("council")),
    ];
    for (line, expected) in text.lines().zip(&expected) {
        assert_eq!(line.to_lowercase(), expected.to_lowercase());
    }
    assert_eq!(text.lines().count(), expected.len());
}

#[test]
fn deeper_links_hang_from_their_parents_line() {
    let mut links = chain(3);
    let sibling = Delegation { salt: U256::from(77), ..links[1].clone() };
    links.push(sibling);
    let tree = DelegationTree::new(links).unwrap();

    let text = tree.render(&BTreeMap::new());

    let forks: Vec<&str> = text.lines().map(|line| line.split("0x").next().unwrap()).collect();
    assert_eq!(forks, ["", "├── ", "│   └── ", "└── "]);
}

/// Delegations that each hang from an earlier one, or start anew; shuffled by index.
fn forest() -> impl Strategy<Value = (Vec<Delegation>, Vec<usize>)> {
    prop::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 1..60).prop_flat_map(
        |parents| {
            let mut links: Vec<(Delegation, usize)> = Vec::new();
            for (salt, (parent, root)) in parents.into_iter().enumerate() {
                let above = (!root && !links.is_empty()).then(|| parent.get(&links).clone());
                let above = above.filter(|(_, depth)| depth + 1 < MAX_LINKS);
                let (authority, delegator, depth) = above
                    .map_or((ROOT_AUTHORITY, party(0), 0), |(parent, depth)| {
                        (parent.hash().0, parent.delegate, depth + 1)
                    });
                let delegate = party(salt + 1);
                let one = Delegation {
                    salt: U256::from(salt),
                    ..grant(delegator, delegate, authority, vec![])
                };
                links.push((one, depth));
            }
            let order: Vec<usize> = (0..links.len()).collect();
            let links: Vec<Delegation> = links.into_iter().map(|(link, _)| link).collect();
            (Just(links), Just(order).prop_shuffle())
        },
    )
}

proptest! {
    #[test]
    fn any_forest_stands_in_any_order_and_every_chain_is_a_context((links, order) in forest()) {
        let shuffled = order.iter().map(|at| links[*at].clone()).collect();
        let tree = DelegationTree::new(shuffled).unwrap();

        prop_assert_eq!(tree.len(), links.len());
        prop_assert_eq!(tree.walk().count(), links.len());
        prop_assert_eq!(tree.render(&BTreeMap::new()).lines().count(), links.len());
        for link in &links {
            let context = tree.chain(link.hash()).unwrap();
            prop_assert_eq!(context.leaf(), link);
            prop_assert_eq!(context.links().len(), tree.node(link.hash()).unwrap().depth() + 1);
        }
    }

    #[test]
    fn a_dead_link_takes_exactly_what_hangs_from_it((links, order) in forest(), at in any::<prop::sample::Index>()) {
        let tree = DelegationTree::new(links.clone()).unwrap();
        let by = at.get(&links).hash();
        let mut facts = all_active(&tree);
        facts.insert(by, State::RevokedByOwner);
        let standings = tree.standings(&facts);

        for at in order {
            let context = tree.chain(links[at].hash()).unwrap();
            let below = context.links().iter().any(|link| link.hash() == by);
            let dead = Standing::Dead { cause: State::RevokedByOwner, by };
            prop_assert_eq!(standings[&links[at].hash()], if below { dead } else { Standing::Active });
        }
    }
}
