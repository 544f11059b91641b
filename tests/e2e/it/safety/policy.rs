use super::{Counts, Dice, HARNESS, Policy, RulesHarness, stage};
use alloy::{
    primitives::{Address, B256, U256, keccak256},
    sol,
    sol_types::{SolCall as _, SolError as _, SolValue as _},
};
use anyhow::Result;
use golem_safety::{PolicyRefusal, Published};

sol! {
    error PolicyCage_NoConstitution(bytes32 golemId);
    error PolicyCage_ConcentrationBps(uint256 bps, uint256 max);
    error PolicyCage_DrawdownBps(uint256 bps, uint256 max);
    error PolicyCage_OverSession(uint256 perTransaction, uint256 perSession);
    error PolicyCage_OverDay(uint256 perTransaction, uint256 perDay);
    error PolicyCage_TooManyAssets(uint256 count, uint256 max);
    error PolicyCage_NotAscending(uint256 index, address asset, address before);
}

fn drawn(dice: &mut Dice) -> golem_safety::Policy {
    let bps = |dice: &mut Dice| dice.of(&[0u16, 1, 3_000, 3_000, 9_999, 10_000, 10_001, u16::MAX]);
    let spend = |dice: &mut Dice| dice.of(&[0u64, 1, 100, 100, 101, 1_000, u64::MAX]);
    let mut assets: Vec<_> = (0..dice.of(&[0usize, 1, 2, 3, 31, 32, 33]))
        .map(|_| Address::from_word(dice.word().into()))
        .collect();
    if !dice.one_in(3) {
        assets.sort_unstable();
    }
    if dice.one_in(6) {
        assets.extend(assets.last().copied());
    }
    golem_safety::Policy {
        constitution_hash: if dice.one_in(12) { B256::ZERO } else { dice.word().into() },
        concentration_bps: bps(dice),
        drawdown_bps: bps(dice),
        spend_per_transaction: dice.of(&[0, 1, 50, 100]),
        spend_per_session: spend(dice),
        spend_per_day: spend(dice),
        assets,
    }
}

fn on_chain(policy: &golem_safety::Policy) -> Policy {
    Policy {
        constitutionHash: policy.constitution_hash,
        concentrationBps: policy.concentration_bps,
        drawdownBps: policy.drawdown_bps,
        spendPerTransaction: policy.spend_per_transaction,
        spendPerSession: policy.spend_per_session,
        spendPerDay: policy.spend_per_day,
        assets: policy.assets.clone(),
    }
}

fn revert_of(refusal: &PolicyRefusal, golem: B256) -> Vec<u8> {
    let max = U256::from(10_000);
    match *refusal {
        PolicyRefusal::NoConstitution => PolicyCage_NoConstitution { golemId: golem }.abi_encode(),
        PolicyRefusal::Concentration { bps } => {
            PolicyCage_ConcentrationBps { bps: U256::from(bps), max }.abi_encode()
        }
        PolicyRefusal::Drawdown { bps } => {
            PolicyCage_DrawdownBps { bps: U256::from(bps), max }.abi_encode()
        }
        PolicyRefusal::OverSession { once, session } => PolicyCage_OverSession {
            perTransaction: U256::from(once),
            perSession: U256::from(session),
        }
        .abi_encode(),
        PolicyRefusal::OverDay { once, day } => {
            PolicyCage_OverDay { perTransaction: U256::from(once), perDay: U256::from(day) }
                .abi_encode()
        }
        PolicyRefusal::TooManyAssets { count } => {
            PolicyCage_TooManyAssets { count: U256::from(count), max: U256::from(32) }.abi_encode()
        }
        PolicyRefusal::NotAscending { index, asset, before } => {
            PolicyCage_NotAscending { index: U256::from(index), asset, before }.abi_encode()
        }
        ref other => panic!("{other} is none of the contract's"),
    }
}

/// SPEC C14, P1: what a runtime accepts at boot is what an owner can publish, under the contract's own hash.
#[test]
fn policies_are_accepted_and_hashed_alike() -> Result<()> {
    let mut course = stage()?;
    let mut dice = Dice(0xca6e);
    let mut counts = Counts::default();
    for _ in 0..2_000 {
        let policy = drawn(&mut dice);
        let salt: B256 = dice.word().into();
        // Everything here is called by nobody.
        let golem = keccak256((Address::ZERO, salt).abi_encode());
        let call = RulesHarness::publishCall { salt, policy: on_chain(&policy) };

        match (policy.check(), course.answer(HARNESS, call.abi_encode())) {
            (Ok(()), Ok(_)) => {
                let asked = RulesHarness::policyOfCall { golemId: golem }.abi_encode();
                let answer = course.answer(HARNESS, asked).unwrap();
                let published = Published::decode(golem, &answer)?;
                assert_eq!((published.policy(), published.version()), (&policy, 1));
                // What is read for one Golem is nobody else's.
                assert!(Published::decode(B256::repeat_byte(1), &answer).is_err());
                counts.add("(published)");
            }
            (Err(refusal), Err(revert)) => {
                assert_eq!(revert, revert_of(&refusal, golem), "{refusal}");
                let name = format!("{refusal:?}");
                counts.add(name.split(' ').next().unwrap());
            }
            (ours, theirs) => panic!("we say {ours:?}, the contract {theirs:?} of {policy:?}"),
        }

        let version = dice.next();
        let asked = RulesHarness::hashOfCall { golemId: golem, version, policy: on_chain(&policy) };
        let hash = course.read(HARNESS, &asked)?;
        assert_eq!(policy.hash(golem, version), hash);
    }
    counts.show();
    counts.require(
        20,
        &[
            "(published)",
            "NoConstitution",
            "Concentration",
            "Drawdown",
            "OverSession",
            "OverDay",
            "TooManyAssets",
            "NotAscending",
        ],
    );
    Ok(())
}
