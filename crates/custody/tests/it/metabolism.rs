//! SPEC K9: what a Golem lives on, and which models it asks; the seeds' numbers, in whole ones.

use alloy_primitives::B256;
use golem_custody::{
    AGREEMENT, DailyCosts, Disagreement, Fare, InferenceTier, Lifespan, Metabolism, Parameter,
    Recommendation, Sustainability, agree, inference_tier,
};

const DOLLAR: u64 = 1_000_000;

const fn earning(daily_revenue: u64, balance: u64) -> Metabolism {
    let costs =
        DailyCosts { inference: 5 * DOLLAR, gas: 2 * DOLLAR, compute: 2 * DOLLAR, data: DOLLAR };
    Metabolism { balance, daily_revenue, daily_costs: costs }
}

#[test]
fn a_golem_fares_by_what_it_earns_beside_what_it_costs() {
    for (revenue, share, fare) in [
        (0, 0, Fare::Dying),
        (5 * DOLLAR - 1, 4_999, Fare::Dying),
        (5 * DOLLAR, 5_000, Fare::Declining),
        (10 * DOLLAR - 1, 9_999, Fare::Declining),
        (10 * DOLLAR, 10_000, Fare::SelfSustaining),
        (20 * DOLLAR, 20_000, Fare::SelfSustaining),
        (20 * DOLLAR + 1_000, 20_001, Fare::Thriving),
    ] {
        let golem = earning(revenue, 0);
        assert_eq!(golem.sustainability(), Sustainability::Share(share), "{revenue}");
        assert_eq!(golem.fare(), fare, "{revenue}");
    }
    let free = Metabolism { daily_costs: DailyCosts::default(), ..earning(0, 0) };
    assert_eq!((free.sustainability(), free.fare()), (Sustainability::Free, Fare::Thriving));
}

#[test]
fn a_life_counts_what_is_there_and_is_never_less_than_none() {
    assert_eq!(earning(4 * DOLLAR, 12 * DOLLAR).lifespan(), Lifespan::Hours(48));
    assert_eq!(earning(4 * DOLLAR, 0).lifespan(), Lifespan::Hours(0));
    assert_eq!(earning(0, u64::MAX).lifespan(), Lifespan::Hours(44_272_185_776_902));
    assert_eq!(earning(10 * DOLLAR, 0).lifespan(), Lifespan::Endless);
    assert_eq!(earning(u64::MAX, 0).lifespan(), Lifespan::Endless);
}

#[test]
fn the_table_of_tiers_holds_at_each_of_its_edges() {
    use InferenceTier::{T0, T1, T2};
    let (well, badly) = (Sustainability::Share(10_000), Sustainability::Share(9_999));
    for (vitality, criticality, sustainability, tier) in [
        (2_999, 9_000, well, T0),
        (2_999, 9_001, well, T1),
        (2_999, 10_000, Sustainability::Free, T1),
        (3_000, 7_000, well, T0),
        (3_000, 7_001, well, T1),
        (4_999, 10_000, well, T1),
        (5_000, 7_000, badly, T0),
        (5_000, 10_000, badly, T1),
        (5_000, 4_000, well, T0),
        (5_000, 4_001, well, T1),
        (5_000, 8_000, well, T1),
        (5_000, 8_001, well, T2),
        (10_000, 8_001, Sustainability::Free, T2),
    ] {
        let chosen = inference_tier(vitality, criticality, sustainability);
        assert_eq!(chosen, tier, "{vitality} {criticality} {sustainability:?}");
    }
}

fn recommends(model: &str, action: &str, with: &[(&str, Parameter)]) -> Recommendation {
    let with = with.iter().map(|(name, answer)| ((*name).to_owned(), answer.clone())).collect();
    let (model, action) = (model.to_owned(), action.to_owned());
    Recommendation { model, action, with, confidence: 9_000, reasoning: B256::ZERO }
}

fn choice(of: &str) -> Parameter {
    Parameter::Choice(of.to_owned())
}

#[test]
fn two_models_agree_on_what_they_would_do_and_nearly_on_how_much() {
    let buy = |model, amount| {
        recommends(
            model,
            "swap",
            &[("buys", choice("WETH")), ("amount", Parameter::Amount(amount))],
        )
    };

    assert_eq!(agree(&buy("a", 100), &buy("b", 100), 10_000), Ok(()));
    assert_eq!(agree(&buy("a", 100), &buy("b", 60), AGREEMENT), Ok(()));
    assert_eq!(agree(&buy("a", 0), &buy("b", 0), 10_000), Ok(()));
    assert_eq!(agree(&buy("a", u128::MAX), &buy("b", u128::MAX), 10_000), Ok(()));
    assert_eq!(agree(&buy("a", 100), &buy("a", 100), 0), Err(Disagreement::SameModel));
    let sell = recommends("b", "withdraw", &[("buys", choice("WETH"))]);
    assert_eq!(agree(&buy("a", 100), &sell, 0), Err(Disagreement::OtherAction));
    let none = recommends("c", "wait", &[]);
    assert_eq!(agree(&recommends("a", "wait", &[]), &none, 10_000), Ok(()));
}

#[test]
fn agreement_is_a_cosine_and_counts_at_its_bound() {
    // Of two choices that both make, one is the same: a cosine of one half.
    let one = recommends("a", "swap", &[("sells", choice("USDC")), ("buys", choice("WETH"))]);
    let other = recommends("b", "swap", &[("sells", choice("USDC")), ("buys", choice("WBTC"))]);
    assert_eq!(agree(&one, &other, 5_000), Ok(()));
    assert_eq!(agree(&one, &other, 5_001), Err(Disagreement::TooFar));
    assert_eq!(agree(&one, &other, AGREEMENT), Err(Disagreement::TooFar));
    // What only one of them says is a direction of its own: 1 / sqrt(2).
    let less = recommends("b", "swap", &[("sells", choice("USDC"))]);
    assert_eq!(agree(&one, &less, 7_071), Ok(()));
    assert_eq!(agree(&one, &less, 7_072), Err(Disagreement::TooFar));
    assert_eq!(agree(&less, &one, 7_071), Ok(()), "whoever is asked first");
    let amount = recommends("b", "swap", &[("sells", Parameter::Amount(1))]);
    assert_eq!(
        agree(&less.clone(), &Recommendation { model: "c".into(), ..amount }, 1),
        Err(Disagreement::TooFar)
    );
}
