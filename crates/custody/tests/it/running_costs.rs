//! SPEC T3, D25: running costs, by phase.

use crate::clearance::MANAGER;
use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::SolCall as _;
use bardo_bindings::defi::Erc20::{approveCall, transferCall};
use golem_custody::{
    DenialCode, Execution, Judgement, Payee, Proposed, Purpose, Redemption, RunningCosts,
};
use golem_delegation::{Delegation, PermissionContext, ROOT_AUTHORITY, grant::Phase};

const TOKEN: Address = Address::repeat_byte(0x55);
const MODELS: Address = Address::repeat_byte(0x71);
const MACHINE: Address = Address::repeat_byte(0x72);

fn costs(phase: Phase, spent: u64) -> RunningCosts {
    let payees = vec![
        Payee { address: MODELS, purpose: Purpose::Inference },
        Payee { address: MACHINE, purpose: Purpose::Compute },
    ];
    RunningCosts {
        token: TOKEN,
        cap: U256::from(10_000_000),
        spent: U256::from(spent),
        payees,
        phase,
    }
}

fn proposed(calls: &[Execution]) -> Proposed {
    let grant = Delegation {
        delegate: Address::repeat_byte(1),
        delegator: Address::repeat_byte(2),
        authority: ROOT_AUTHORITY,
        caveats: vec![],
        salt: U256::ZERO,
        signature: Bytes::new(),
    };
    let context = PermissionContext::new(vec![grant]).unwrap();
    Proposed::unnamed(match calls {
        [one] => Redemption::single(MANAGER, context, one),
        several => Redemption::batch(MANAGER, context, several),
    })
}

fn pays(to: Address, amount: u64) -> Execution {
    let data = transferCall { to, amount: U256::from(amount) }.abi_encode();
    Execution { target: TOKEN, value: U256::ZERO, data: data.into() }
}

fn code(calls: &[Execution], costs: &RunningCosts) -> Option<DenialCode> {
    match proposed(calls).pay(costs) {
        Judgement::Permitted(_) => None,
        Judgement::Refused(denials) => Some(denials[0].code),
    }
}

/// Cap 10: all, all, half, a tenth, nothing; less what is spent, and never less than nothing.
#[test]
fn each_phase_redeems_its_part_and_not_one_unit_more() {
    for (phase, spent, left) in [
        (Phase::Thriving, 0, 10_000_000),
        (Phase::Stable, 4_000_000, 6_000_000),
        (Phase::Conservation, 0, 5_000_000),
        (Phase::Conservation, 6_000_000, 0),
        (Phase::Declining, 0, 1_000_000),
        (Phase::Terminal, 0, 0),
    ] {
        let costs = costs(phase, spent);
        assert_eq!(costs.redeemable(), U256::from(left), "{phase:?} after {spent}");
        if left > 0 {
            assert_eq!(code(&[pays(MODELS, left)], &costs), None, "{phase:?}");
        }
        let more = code(&[pays(MODELS, left + 1)], &costs);
        let refused = if phase == Phase::Terminal {
            DenialCode::PolicyParty
        } else {
            DenialCode::PolicyAmount
        };
        assert_eq!(more, Some(refused), "{phase:?}");
    }
}

#[test]
fn a_declining_golem_pays_for_its_thoughts_alone() {
    let declining = costs(Phase::Declining, 0);
    assert_eq!(code(&[pays(MODELS, 1)], &declining), None);
    assert_eq!(code(&[pays(MACHINE, 1)], &declining), Some(DenialCode::PolicyParty));
    assert_eq!(code(&[pays(MACHINE, 1)], &costs(Phase::Conservation, 0)), None);
}

#[test]
fn a_running_cost_is_one_plain_payment_to_somebody_named() {
    let stable = costs(Phase::Stable, 0);
    let stranger = Address::repeat_byte(9);
    assert_eq!(code(&[pays(stranger, 1)], &stable), Some(DenialCode::PolicyParty));
    let two = [pays(MODELS, 1), pays(MODELS, 1)];
    assert_eq!(code(&two, &stable), Some(DenialCode::PolicyBatch));
    let elsewhere = Execution { target: stranger, ..pays(MODELS, 1) };
    assert_eq!(code(&[elsewhere], &stable), Some(DenialCode::PolicyTarget));
    let coins = Execution { value: U256::from(1), ..pays(MODELS, 1) };
    assert_eq!(code(&[coins], &stable), Some(DenialCode::PolicyTarget));
    let data = approveCall { spender: MODELS, amount: U256::from(1) }.abi_encode();
    let allows = Execution { data: data.into(), ..pays(MODELS, 1) };
    assert_eq!(code(&[allows], &stable), Some(DenialCode::PolicyAction));
    let mut tail = pays(MODELS, 1).data.to_vec();
    tail.push(0);
    let longer = Execution { data: tail.into(), ..pays(MODELS, 1) };
    assert_eq!(code(&[longer], &stable), Some(DenialCode::PolicyAction));
}
