use super::{Counts, Dice, HARNESS, NOW, RulesHarness, stage};
use alloy::{
    primitives::U256,
    sol,
    sol_types::{SolCall as _, SolError as _},
};
use anyhow::Result;
use golem_delegation::{SpendRefusal, SpendTerms, SpendWindow};

sol! {
    error SpendWindow_OverCap(uint256 spent, uint256 amount, uint256 cap);
    error SpendWindow_StaleEpoch(uint256 epoch, uint256 highest);
    error SpendWindow_TimeWentBack(uint256 bucket, uint256 newest);
    error SpendWindow_TimeOutOfRange(uint256 bucket, uint256 last);
    error SpendWindow_ZeroCap();
    error SpendWindow_BucketLength(uint256 bucketMinutes, uint256 longest);
}

fn revert_of(refusal: SpendRefusal) -> Vec<u8> {
    match refusal {
        SpendRefusal::OverCap { spent, amount, cap } => {
            SpendWindow_OverCap { spent: U256::from(spent), amount, cap: U256::from(cap) }
                .abi_encode()
        }
        SpendRefusal::StaleEpoch { epoch, highest } => {
            SpendWindow_StaleEpoch { epoch: U256::from(epoch), highest: U256::from(highest) }
                .abi_encode()
        }
        SpendRefusal::TimeWentBack { bucket, newest } => {
            SpendWindow_TimeWentBack { bucket: U256::from(bucket), newest: U256::from(newest) }
                .abi_encode()
        }
        SpendRefusal::TimeOutOfRange { bucket, last } => {
            SpendWindow_TimeOutOfRange { bucket: U256::from(bucket), last: U256::from(last) }
                .abi_encode()
        }
        SpendRefusal::ZeroCap => SpendWindow_ZeroCap {}.abi_encode(),
        SpendRefusal::BucketLength { bucket_minutes, longest } => SpendWindow_BucketLength {
            bucketMinutes: U256::from(bucket_minutes),
            longest: U256::from(longest),
        }
        .abi_encode(),
        other => panic!("{other} is none of the contract's"),
    }
}

/// ATK-19, ATK-31: a window lives through feeds, rotations and other grids, bit for bit as on chain.
#[test]
fn windows_count_alike() -> Result<()> {
    let mut course = stage()?;
    let mut dice = Dice(0x5bed);
    let mut counts = Counts::default();
    let (mut word, mut now, mut epoch) = (U256::ZERO, NOW, 1u16);
    for _ in 0..12_000 {
        if dice.one_in(60) {
            (word, now, epoch) = (U256::ZERO, NOW, 1);
        }
        let at = match dice.below(12) {
            0 => now.saturating_sub(dice.next() % 20_000),
            1 => now + dice.next() % 200_000,
            2 if dice.one_in(8) => u64::MAX >> dice.below(40),
            _ => now + dice.next() % 4_000,
        };
        let of_grant = if dice.one_in(10) { dice.of(&[0, 1, epoch + 1]) } else { epoch };
        let cap = dice.of(&[20_000u64, 20_000, 19_999, 1_000_000, 25_000_000_000, u64::MAX, 1, 0]);
        let minutes = dice.of(&[120u16, 120, 120, 1, 60, 840, 0x3fff, 0x4000, 0]);
        let amount = match dice.below(6) {
            0 => U256::ZERO,
            1 => U256::from(cap),
            2 => dice.word(),
            _ => U256::from(dice.next() % (cap / 4).max(2)),
        };

        let ours = SpendTerms::new(cap, minutes, of_grant)
            .and_then(|terms| SpendWindow::from_word(word).spend(amount, &terms, at));
        let theirs = course.answer(
            HARNESS,
            RulesHarness::spendCall {
                word,
                amount,
                cap,
                bucketMinutes: minutes,
                epoch: of_grant,
                nowAt: U256::from(at),
            }
            .abi_encode(),
        );

        match (ours, theirs) {
            (Ok(window), Ok(answer)) => {
                let next = RulesHarness::spendCall::abi_decode_returns_validate(&answer)?;
                assert_eq!(window.to_word(), next);
                (word, epoch, now) = (next, of_grant, at.min(NOW + 40_000_000));
                counts.add("(spent)");
            }
            (Err(refusal), Err(revert)) => {
                assert_eq!(revert, revert_of(refusal), "{refusal}");
                let name = format!("{refusal:?}");
                counts.add(name.split(' ').next().unwrap());
            }
            (ours, theirs) => panic!("we say {ours:?}, the contract {theirs:?} of {word}"),
        }
    }
    counts.show();
    counts.require(1_000, &["(spent)", "OverCap"]);
    counts
        .require(20, &["StaleEpoch", "TimeWentBack", "TimeOutOfRange", "ZeroCap", "BucketLength"]);
    Ok(())
}
