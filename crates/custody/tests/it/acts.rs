//! What a session key can ask the chain for, and nothing else (INV-1, INV-4).

use crate::clearance::redemption;
use alloy_primitives::{Address, B256, U256};
use bardo_bindings::golem_registry;
use golem_custody::{Act, Asset, Leftover, Mood, RegistryUpdate, Says};
use golem_delegation::grant::Phase;
use proptest::prelude::*;

const GOLEM: B256 = B256::repeat_byte(0x60);

fn every_word() -> Vec<Says> {
    let mood = Mood { pleasure: -100, arousal: 100, dominance: 7 };
    let mut all: Vec<Says> =
        Phase::ALL.iter().map(|phase| Says::Vitality { phase: *phase, score: 9_999 }).collect();
    all.extend([Says::Dreaming(true), Says::Dreaming(false), Says::Feels(mood), Says::Died]);
    all.push(Says::Lives { audit_head: B256::repeat_byte(1) });
    all
}

#[test]
fn what_a_golem_says_is_read_as_it_was_written() {
    for says in every_word() {
        let update = RegistryUpdate { golem: GOLEM, says };
        let act = Act::from(update);
        assert_eq!(Act::decode(act.target(), &act.calldata()), Some(act), "{says:?}");
    }
    let act = Act::from(redemption());
    assert_eq!(Act::decode(act.target(), &act.calldata()), Some(act));
}

#[test]
fn a_word_is_said_to_the_registry_and_a_redemption_is_not() {
    let word = Act::from(RegistryUpdate { golem: GOLEM, says: Says::Died });
    assert_eq!(word.target(), golem_registry());
    assert_eq!(Act::decode(Address::repeat_byte(9), &word.calldata()), None);
    let other = Act::from(redemption());
    assert_eq!(Act::decode(golem_registry(), &other.calldata()), None);
}

/// What goes home is read from a transaction as it was written, and from no call of an account's that has no coins with it.
#[test]
fn what_goes_home_is_read_as_it_was_written() {
    let (to, amount) = (Address::repeat_byte(7), U256::from(5));
    for asset in [Asset::Native, Asset::Erc20(Address::repeat_byte(8))] {
        let act = Act::from(Leftover { to, asset, amount });
        let read = Act::of_transaction(act.target(), act.coins(), &act.calldata());
        assert_eq!(read, Some(act.clone()), "{asset:?}");
        assert_eq!(Act::decode(act.target(), &act.calldata()), None, "{asset:?}");
    }
    let coins = Act::from(Leftover { to, asset: Asset::Native, amount });
    assert_eq!((coins.target(), coins.coins()), (to, amount));
    // Coins go along with nothing else.
    let words = Act::from(RegistryUpdate { golem: GOLEM, says: Says::Died });
    assert_eq!(Act::of_transaction(words.target(), amount, &words.calldata()), None);
    let token = Act::from(Leftover { to, asset: Asset::Erc20(to), amount });
    assert_eq!(Act::of_transaction(token.target(), amount, &token.calldata()), None);
    let mut longer = token.calldata().to_vec();
    longer.push(0);
    assert_eq!(Act::of_transaction(token.target(), U256::ZERO, &longer), None);
}

/// What an owner alone may write, and a phase that is none, are no words of a Golem's.
#[test]
fn what_is_not_a_golems_to_say_is_no_act() {
    use alloy_sol_types::SolCall as _;
    use bardo_bindings::GolemRegistry::{feedCall, revokeAllCall, revokeCall, updateVitalityCall};
    for data in [
        feedCall { golemId: GOLEM, phase: 1 }.abi_encode(),
        revokeCall { golemId: GOLEM }.abi_encode(),
        revokeAllCall {}.abi_encode(),
        updateVitalityCall { golemId: GOLEM, phase: 5, score: 1 }.abi_encode(),
    ] {
        assert_eq!(Act::decode(golem_registry(), &data), None);
    }
}

proptest! {
    #[test]
    fn nothing_is_read_that_would_be_written_otherwise(
        which in 0usize..16, at in any::<prop::sample::Index>(), to in any::<u8>(), tail in 0usize..40,
    ) {
        let all = every_word();
        let says = all[which % all.len()];
        let mut data = RegistryUpdate { golem: GOLEM, says }.calldata().to_vec();
        let place = at.index(data.len());
        data[place] = to;
        data.extend(std::iter::repeat_n(0, tail));
        if let Some(read) = Act::decode(golem_registry(), &data) {
            prop_assert_eq!(read.calldata().to_vec(), data);
        }
    }
}

/// A key speaks for its own Golem: nothing is set aside or signed for another's.
#[tokio::test]
async fn nobody_speaks_for_another() {
    use crate::clearance::{FakeChain, allowed, mandate};
    use golem_custody::{
        ClearingPolicy, DenialCode, IntentId, Judged, Rehearsal, Reservation, rehearse,
    };
    for (golem, fine) in [(B256::ZERO, true), (GOLEM, false)] {
        let chain = FakeChain::new(allowed, u64::MAX);
        let word = Judged::said(IntentId(GOLEM), RegistryUpdate { golem, says: Says::Died });
        let policy = ClearingPolicy { lifetime: u64::MAX, ..ClearingPolicy::default() };
        let Rehearsal::Passed(rehearsed) =
            rehearse(&chain, word, Address::repeat_byte(1), &policy).await.unwrap()
        else {
            panic!("refused")
        };

        match rehearsed.reserve(&mandate(), 7).await.unwrap() {
            Reservation::Made(_) => assert!(fine, "{golem}"),
            Reservation::Refused(denial) => {
                assert!(!fine);
                assert_eq!(denial.code, DenialCode::PolicyParty);
            }
        }
    }
}
