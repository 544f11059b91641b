//! What must hold for any bytes at all. The fuzz targets run these, and so do the stable tests.

use alloy_primitives::{Address, B256, U256};
use golem_delegation::terms::Role;
use golem_safety::{
    ActionRefusal, DenialCode, ForeignKind, MAX_INNER, MOST_SHOWN, MOST_TYPED_DATA, Published,
    decode_call, refuse_typed_data,
};

/// The first byte is the role, the second whether coins come along, the rest calldata.
pub(crate) fn action(bytes: &[u8]) {
    let [role, value, data @ ..] = bytes else { return };
    let role = Role::ALL.into_iter().find(|known| *known as u8 == role % 11);
    let (target, value) = (Address::repeat_byte(7), U256::from(value % 2));
    match decode_call(role, target, value, data) {
        Ok(actions) => {
            assert!((1..=MAX_INNER).contains(&actions.len()));
            assert!(actions.iter().all(|action| action.target == target));
            // Calldata that is read has one form: nothing can be put behind it.
            let longer = [data, &[0]].concat();
            assert!(decode_call(role, target, value, &longer).is_err(), "{data:02x?} and one byte");
        }
        Err(refusal) => {
            assert!(role.is_some() || refusal == ActionRefusal::UnknownTarget { target });
            assert!(refusal.to_string().len() < 200);
        }
    }
}

/// Whatever it is, it is refused, in a short sentence that only says letters.
pub(crate) fn typed_data(bytes: &[u8]) {
    let denial = refuse_typed_data(bytes);

    assert_eq!(denial.code, DenialCode::PolicySignature);
    assert!(denial.reason.chars().count() < 8 * MOST_SHOWN, "{}", denial.reason);
    assert!(!denial.reason.chars().any(char::is_control), "{:?}", denial.reason);
    if bytes.len() > MOST_TYPED_DATA {
        assert_eq!(ForeignKind::of(bytes), ForeignKind::NotTypedData);
    }
}

/// What is read as a policy is one, and is its Golem's alone. The first 32 bytes are the Golem.
pub(crate) fn policy(bytes: &[u8]) {
    let Some((golem, answer)) = bytes.split_first_chunk::<32>() else { return };
    let golem = B256::from(*golem);
    let Ok(published) = Published::decode(golem, answer) else { return };

    assert_eq!(published.policy().check(), Ok(()));
    assert_eq!(published.hash(), published.policy().hash(golem, published.version()));
    assert!(published.version() > 0 && published.golem_id() == golem);
    assert!(published.policy().assets.iter().all(|asset| published.policy().has(*asset)));
    assert!(Published::decode(!golem, answer).is_err());
    let longer = [answer, &[0; 32]].concat();
    assert!(Published::decode(golem, &longer).is_err(), "a second form");
}
