//! Pages of lives that nobody had.

use super::{
    log::Log,
    render,
    story::{
        Day, Entry, Gas, LeftOut, MOST_ENTRIES, MOST_POINTS, Mark, Moment, Observed, Offspring,
        Refusals, Seal, Settled, SettledRow, Story, Sums, Tick, thinned,
    },
};
use alloy::primitives::{Address, B256, U256};
use bardo_store::Record;
use golem_custody::{AuditHead, Mood};
use golem_delegation::grant::Phase;
use golem_runtime::{Clocks, Life};
use serde_json::{Value, json};

/// Whatever ends a text, an attribute, an element, a script or a style, and whatever would load something.
const HOSTILE: &str = "</script></style></title>\"'><script>fetch('http://evil')</script><img src=x onerror=alert()> &lt; \u{202e} {{}} <!--";

/// A life in which everything that is text was written by somebody who means no good.
fn story(text: &str) -> Story {
    let tick = Tick {
        number: 1,
        at: 100,
        block: 2,
        phase: Phase::Stable,
        vitality: 5_000,
        clocks: Clocks { economic: 5_000, epistemic: 10_000, stochastic: 10_000 },
        mood: Mood::default(),
        dreaming: true,
        worth: Some(7),
    };
    let entry = |mark| Entry {
        at: 100,
        mark,
        title: text.into(),
        detail: Some(text.into()),
        times: 2,
        record: Some(1),
        transaction: None,
    };
    Story {
        golem: B256::repeat_byte(7),
        chain_id: 1,
        owner: Some(Address::repeat_byte(1)),
        account: Some(Address::repeat_byte(2)),
        keys: vec![Address::repeat_byte(3)],
        asked: Moment { block: 9, at: 300 },
        sums: Sums {
            born: Some(100),
            last: Some(300),
            died_of: Some(text.into()),
            ..Sums::default()
        },
        days: vec![Day { day: 0, at: 100 }],
        ticks: vec![tick],
        moments: vec![Observed {
            block: 2,
            at: 100,
            spent: Some(1),
            cap: 2,
            at_risk: Some(U256::MAX),
        }],
        timeline: vec![entry(Mark::Refusal), entry(Mark::Alarm), entry(Mark::Death)],
        refusals: vec![Refusals {
            code: text.into(),
            times: 1,
            first: 100,
            last: 100,
            reason: text.into(),
            enforcer: Some(text.into()),
        }],
        gas: vec![Gas {
            action: "trade",
            by: "the Golem",
            times: 1,
            least: 1,
            most: 1,
            total: 1,
            fees: U256::from(1),
        }],
        replicants: vec![Offspring {
            id: B256::repeat_byte(8),
            key: Address::repeat_byte(8),
            at: 100,
            until: 200,
            budget: 2,
            spent: 1,
            trades: 1,
            gas: 1,
            ended: Some(150),
            cause: Some(text.into()),
        }],
        settlement: Some(Settled {
            step: "nothing is left, and no key",
            hash: Some(B256::ZERO),
            rows: vec![SettledRow {
                what: text.into(),
                amount: text.into(),
                settled: false,
                why: Some(text.into()),
                transaction: None,
            }],
        }),
        audit: Seal {
            whole: false,
            records: 1,
            head: B256::ZERO,
            anchors: 0,
            anchored: None,
            block: None,
            sealed: None,
            by: None,
            newer: 1,
            damage: Some(text.into()),
        },
        left_out: LeftOut { ticks: 1, entries: 1, transactions: 1, moments: 1, forgotten: 1 },
    }
}

#[test]
fn words_of_others_are_words_wherever_they_stand() {
    let plain = render(&story("words"));
    let page = render(&story(HOSTILE));

    // The same elements, whatever the words are.
    for sign in ['<', '>'] {
        assert_eq!(page.matches(sign).count(), plain.matches(sign).count(), "{sign}");
    }
    assert_eq!(page.matches('"').count(), {
        let (_, facts) = page.split_once("id=\"story\">").unwrap();
        let (_, plain_facts) = plain.split_once("id=\"story\">").unwrap();
        plain.matches('"').count() - plain_facts.matches('"').count() + facts.matches('"').count()
    });
    assert!(!page.contains("<img") && !page.contains("<script>") && !page.contains("<!--"));
    assert_eq!(page.matches("</script>").count(), 1);
    // And nothing of them is lost: programs read what was written.
    let (_, facts) = page.split_once("id=\"story\">").unwrap();
    let (facts, _) = facts.split_once("</script>").unwrap();
    let facts: Value = serde_json::from_str(facts).unwrap();
    assert_eq!(facts["refusals"][0]["reason"], HOSTILE);
    assert!(page.contains("default-src 'none'"), "nothing is ever loaded");
    assert!(!plain.contains("http://") && !plain.contains("https://") && !plain.contains("url("));
}

fn record(head: &mut AuditHead, kind: &str, body: &Value, at: u64) -> Record {
    let record = Record::after(head, at, kind, body.to_string());
    *head = record.head();
    record
}

/// Bounded by what a page is for, not by how long somebody lived, or by what he writes.
#[test]
fn a_long_life_has_a_page_of_the_same_size() {
    let mut head = AuditHead { golem: B256::repeat_byte(7), length: 0, hash: B256::ZERO };
    let mut records = Vec::new();
    for number in 0..3_000u64 {
        let life = Life { ticks: number, ..Life::born(0) };
        let step = json!({ "name": "life", "version": number, "to": life });
        records.push(record(&mut head, "step", &step, number));
        let code = format!("CODE-{number}");
        let refused = json!({ "intent": B256::ZERO, "code": code, "reason": "no ".repeat(200), "enforcer": null });
        records.push(record(&mut head, "event.intentRefused", &refused, number));
    }
    let mut left_out = LeftOut::default();

    let log = Log::of(&records, &mut left_out);

    assert_eq!(log.refused, 3_000, "all are counted");
    assert_eq!((log.ticks.len(), left_out.ticks), (MOST_POINTS, 3_000 - MOST_POINTS as u64));
    assert_eq!(log.ticks.last().map(|tick| tick.number), Some(2_999), "the last one is there");
    assert!(log.refusals.len() <= 100, "{}", log.refusals.len());
    assert!(log.refusals.iter().all(|one| one.reason.chars().count() <= 300));
    let (kept, left) = thinned((0..100_000).collect(), MOST_ENTRIES);
    assert_eq!((kept.len(), left), (MOST_ENTRIES, 100_000 - MOST_ENTRIES as u64));
    assert_eq!((kept.first(), kept.last()), (Some(&0), Some(&99_999)));
}

#[test]
fn records_that_mean_nothing_are_passed_over() {
    let mut head = AuditHead { golem: B256::ZERO, length: 0, hash: B256::ZERO };
    let mut records = Vec::new();
    for (kind, body) in [
        ("step", json!({ "name": "life", "to": { "born": "yesterday" } })),
        ("step", json!({ "name": "onboarding", "to": [] })),
        ("step", json!(7)),
        ("event.tick", json!({ "number": -1 })),
        ("<b>", json!(null)),
    ] {
        records.push(record(&mut head, kind, &body, 5));
    }

    let log = Log::of(&records, &mut LeftOut::default());

    assert_eq!((log.ticks.len(), log.refused, log.told.len()), (0, 0, 0));
    assert_eq!(log.last, Some(5));
}
