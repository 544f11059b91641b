//! Heads of an audit chain, as they come to a key: judged.

use alloy_primitives::{Address, B256, Signature, keccak256};
use golem_custody::{
    AuditHead, Birth, DenialCode, Heading, JudgedHead, SessionKey, SessionSigner as _,
};
use golem_delegation::Environment;
use golem_safety::{Boot, Cage, Policy, Published, SigningFacts};

/// The cage of a Golem of this id.
fn cage(golem: B256) -> Cage {
    let policy = Policy {
        constitution_hash: keccak256("law"),
        concentration_bps: 0,
        drawdown_bps: 0,
        spend_per_transaction: 0,
        spend_per_session: 0,
        spend_per_day: 0,
        assets: vec![],
    };
    let hash = policy.hash(golem, 1);
    match Cage::boot(golem, b"law", Some(Published::new(golem, policy, 1, hash))) {
        Boot::Caged(cage) => cage,
        Boot::Refused(denial) => panic!("{denial}"),
    }
}

fn heading(golem: B256, head: AuditHead, before: Option<AuditHead>) -> Heading {
    let facts = SigningFacts {
        chain_id: 8453,
        manager: Address::repeat_byte(0xdb),
        session_account: Address::repeat_byte(3),
        environment: Environment::default(),
        now: 7,
    };
    JudgedHead::judge(head, before, &cage(golem), &facts)
}

/// A head of its own Golem, judged.
pub(crate) fn judged(head: AuditHead) -> JudgedHead {
    match heading(head.golem, head, None) {
        Heading::Permitted(judged) => judged,
        Heading::Refused(denials) => panic!("{denials:?}"),
    }
}

/// P2, P4: what is no head of its own chain, or none that is behind the last, has no form that a key signs.
#[tokio::test]
async fn only_a_head_that_was_judged_is_sealed_and_in_the_form_that_is_verified() {
    let golem = B256::repeat_byte(1);
    let head = AuditHead { golem, length: 7, hash: B256::repeat_byte(2) };
    let shorter = AuditHead { length: 6, hash: B256::repeat_byte(3), ..head };

    let Heading::Refused(other) = heading(B256::repeat_byte(9), head, None) else { panic!() };
    let Heading::Refused(back) = heading(golem, shorter, Some(head)) else { panic!() };
    let Heading::Permitted(behind) = heading(golem, head, Some(shorter)) else { panic!() };

    for denials in [other, back] {
        assert_eq!(denials[0].code, DenialCode::PolicySignature);
    }
    let key = SessionKey::born();
    let seal = key.seal(behind).await.unwrap();
    let signature = Signature::try_from(seal.as_ref()).unwrap();
    assert_eq!(signature.recover_address_from_prehash(&head.digest()).unwrap(), key.address());
}

/// D12: a key says of itself alone that it was born, in a form that nothing else has.
#[tokio::test]
async fn a_key_says_of_itself_alone_that_it_was_born() {
    let (key, at) = (SessionKey::born(), 7);
    let born = Birth { key: key.address(), at };

    let proof = key.says_born(at).await.unwrap();

    assert!(born.is_proved_by(&proof));
    assert!(!Birth { at: 8, ..born }.is_proved_by(&proof));
    assert!(!Birth { key: Address::repeat_byte(1), ..born }.is_proved_by(&proof));
}
