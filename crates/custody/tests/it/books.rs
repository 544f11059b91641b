use alloy_primitives::{Address, B256, b256};
use golem_custody::{AuditHead, IntentId, Question};

/// The digest is viem's `hashTypedData` of the same message.
#[test]
fn a_head_is_signed_as_wallets_hash_it() {
    let head =
        AuditHead { golem: B256::repeat_byte(0x60), length: 7, hash: B256::repeat_byte(0xaa) };

    let expected = b256!("0x0f3085403e3eb2b5e4d269c9ea3999bb858023b01b4290f23471744cbd99f35c");
    assert_eq!(head.digest(), expected);
}

/// The digests are viem's `hashTypedData` of the same messages.
#[test]
fn an_answer_is_signed_as_wallets_hash_it() {
    let question = Question {
        intent: IntentId(B256::repeat_byte(0x11)),
        golem: B256::repeat_byte(0x60),
        owner: Address::repeat_byte(1),
        digest: B256::repeat_byte(0xd1),
        micro_dollars: 5_000_000,
        words: "not signed".into(),
        expires_at: 1_800_000_060,
    };

    let yes = b256!("0xe1849f815b00a5437857967169cbd189b975ffb71c6d860ff029ee23e77e8aa7");
    let no = b256!("0x9996172cc0fbda519cecef2cae6c3885d495c98e3412af5cf802b0d24f126a78");
    assert_eq!((question.answer_digest(true), question.answer_digest(false)), (yes, no));
}
