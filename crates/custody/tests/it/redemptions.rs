//! In which form calls are redeemed (SPEC K6): all or none, and in one that every link of the grant takes.

use alloy_primitives::{Address, B256, Bytes, U256};
use golem_custody::{Execution, Redemption};
use golem_delegation::{
    Caveat, Delegation, PermissionContext, ROOT_AUTHORITY, enforcers,
    terms::{AllowedTargets, LimitedCalls},
};

const MANAGER: Address = Address::repeat_byte(9);

fn link(authority: B256, caveats: Vec<Caveat>) -> Delegation {
    Delegation {
        delegate: Address::repeat_byte(2),
        delegator: if authority == ROOT_AUTHORITY {
            Address::repeat_byte(1)
        } else {
            Address::repeat_byte(2)
        },
        authority,
        caveats,
        salt: U256::ZERO,
        signature: Bytes::from_static(&[1; 65]),
    }
}

fn calls() -> Vec<Execution> {
    let call = |byte| Execution {
        target: Address::repeat_byte(byte),
        value: U256::ZERO,
        data: Bytes::from(vec![byte; 4]),
    };
    vec![call(3), call(4)]
}

#[test]
fn several_calls_take_the_form_that_every_link_of_the_grant_takes() {
    let targets = AllowedTargets(vec![Address::repeat_byte(3), Address::repeat_byte(4)]);
    let one_call = Caveat::new(enforcers::ALLOWED_TARGETS, targets.encode());
    let counted = Caveat::new(enforcers::LIMITED_CALLS, LimitedCalls(U256::from(9)).encode());
    let bounded = link(ROOT_AUTHORITY, vec![counted.clone(), one_call]);
    let child = link(bounded.hash().0, vec![counted.clone()]);
    let calls = calls();

    for (links, one_by_one) in [
        (vec![link(ROOT_AUTHORITY, vec![counted])], false),
        (vec![bounded.clone()], true),
        (vec![child, bounded], true),
    ] {
        let context = PermissionContext::new(links).unwrap();
        let redemption = Redemption::of(MANAGER, context.clone(), &calls);

        let expected = if one_by_one {
            Redemption::single(MANAGER, context.clone(), &calls[0])
                .and_single(context.clone(), &calls[1])
        } else {
            Redemption::batch(MANAGER, context.clone(), &calls)
        };
        assert_eq!(redemption, expected);
        assert_eq!(redemption.calls().map(|(_, call)| call.clone()).collect::<Vec<_>>(), calls);
        assert_eq!(Redemption::decode(MANAGER, &redemption.calldata()), Some(redemption));
        let only = Redemption::of(MANAGER, context.clone(), &calls[..1]);
        assert_eq!(only, Redemption::single(MANAGER, context, &calls[0]));
    }
}
