//! What must hold for any bytes at all. The fuzz target runs this, and so do the stable tests.

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use golem_custody::{
    Addressed, Afloat, Bid, Carried, Entry, IntentId, Open, OwnerSigner, Redemption, Route,
    SignedOperation, SignedTransaction, seal,
};
use golem_delegation::{Delegation, ROOT_AUTHORITY, SigningDomain};
use std::sync::OnceLock;

/// What lies in the books is what was put there, or nothing: whatever is read is written again as it was.
pub(crate) fn afloat(bytes: &[u8]) {
    let manager = Address::repeat_byte(0xaa);
    if let Some(redemption) = Redemption::decode(manager, bytes) {
        assert_eq!(redemption.calldata().as_ref(), bytes, "read from another form");
    }
    let bytes = Bytes::copy_from_slice(bytes);
    // Whoever writes into the books chooses the hash, too.
    let hash = keccak256(&bytes);
    if let Some(transaction) = SignedTransaction::read(hash, &bytes) {
        assert_eq!(transaction.bytes(), bytes, "read from another form");
        open::<SignedTransaction>(Route::Transaction, &transaction);
    }
    let named = serde_json::from_slice::<SignedOperation>(&bytes).ok();
    if let Some(operation) =
        named.and_then(|operation| SignedOperation::read(operation.hash, &bytes))
    {
        let again = SignedOperation::read(operation.hash, &operation.bytes());
        assert_eq!(again.as_ref(), Some(&operation));
        open::<SignedOperation>(Route::Operation, &operation);
    }
}

/// An intent with one signature: it is afloat again if it is an act of ours, and only then.
fn open<T: Carried>(route: Route, signed: &T) {
    let Some(place) = signed.place() else { return };
    let (hash, bytes) = (signed.hash(), signed.bytes());
    let bid = Bid { route, hash, place, since: 7, bytes };
    let entry = Entry {
        intent: IntentId(hash),
        golem: hash,
        owner: Address::ZERO,
        session: Address::ZERO,
        micro_dollars: 0,
        at: 0,
        what: serde_json::Value::Null,
    };
    let found = Afloat::<T>::left(&Open { entry, bids: vec![bid], forsaken: false });
    assert_eq!(found.is_some(), signed.act().is_some());
}

/// No bytes are a bequest that nobody sealed, whatever they say on their outside; and any bytes are left and opened as they were.
pub(crate) fn bequest(bytes: &[u8]) {
    static HEIR: OnceLock<(OwnerSigner, Delegation)> = OnceLock::new();
    let domain = SigningDomain { chain_id: 1, manager: Address::repeat_byte(0xaa) };
    let (owner, grant) = HEIR.get_or_init(|| {
        let owner = OwnerSigner::born();
        let (delegate, delegator) = (Address::repeat_byte(1), owner.address());
        let (authority, salt) = (ROOT_AUTHORITY, U256::ZERO);
        let signature = Bytes::new();
        let grant = Delegation { delegate, delegator, authority, caveats: vec![], salt, signature };
        let grant = owner.grant(&domain, grant).unwrap();
        (owner, grant)
    });
    let golem = Addressed::read(bytes).map_or(B256::ZERO, |to| to.golem);
    assert!(owner.open_bequest(golem, bytes).is_err(), "opened what nobody sealed");
    // With this owner's name on it, so that its seal is looked at.
    let mut named = bytes.to_vec();
    if let Some(outside) = named.get_mut(41..61) {
        outside.copy_from_slice(owner.address().as_slice());
        assert!(owner.open_bequest(golem, &named).is_err(), "opened what nobody sealed");
    }
    let sealed = seal(grant, &domain, owner.address(), golem, bytes).unwrap();
    assert_eq!(owner.open_bequest(golem, &sealed).unwrap().as_slice(), bytes);
}
