use super::NOW;
use alloy::{
    primitives::{Address, B256, Bytes, U256, keccak256},
    sol_types::{SolCall as _, SolValue as _},
};
use anyhow::Result;
use bardo_bindings::framework::{DELEGATION_MANAGER, DeleGator, ENTRY_POINT, MODE_SINGLE};
use golem_custody::{Execution, Redemption};
use golem_delegation::{
    Delegation, Environment, PermissionContext, ROOT_AUTHORITY,
    terms::{ListedTarget, Listing, Role},
};
use golem_safety::{
    AccountForm, Boot, Cage, Call, Facts, Intent, Parties, Policy, Published, SessionOperation,
    Signable, SigningFacts, SigningVerdict, Verdict,
};

const GOLEM: B256 = B256::repeat_byte(7);
const ACCOUNT: Address = Address::repeat_byte(1);
const HOME: Address = Address::repeat_byte(2);
const SESSION: Address = Address::repeat_byte(3);
const TOKEN: Address = Address::repeat_byte(4);

fn cage() -> Cage {
    let policy = Policy {
        constitution_hash: keccak256("law"),
        concentration_bps: 0,
        drawdown_bps: 0,
        spend_per_transaction: 0,
        spend_per_session: 0,
        spend_per_day: 0,
        assets: vec![],
    };
    let hash = policy.hash(GOLEM, 1);
    match Cage::boot(GOLEM, b"law", Some(Published::new(GOLEM, policy, 1, hash))) {
        Boot::Caged(cage) => cage,
        Boot::Refused(denial) => panic!("{denial}"),
    }
}

fn sweep(amount: u64) -> Execution {
    let call = bardo_bindings::defi::Erc20::transferCall { to: HOME, amount: U256::from(amount) };
    Execution { target: TOKEN, value: U256::ZERO, data: call.abi_encode().into() }
}

/// The operation that custody makes of a redemption, one call or several, is what the cage reads back.
#[test]
fn custodys_redemptions_are_read_as_the_calls_that_were_permitted() -> Result<()> {
    let root = Delegation {
        delegate: SESSION,
        delegator: ACCOUNT,
        authority: ROOT_AUTHORITY,
        caveats: vec![],
        salt: U256::ZERO,
        signature: Bytes::new(),
    };
    let context = PermissionContext::new(vec![root])?;
    let batch = [sweep(1), sweep(2)];
    let cases = [
        (vec![sweep(1)], Redemption::single(DELEGATION_MANAGER, context.clone(), &sweep(1))),
        (batch.to_vec(), Redemption::batch(DELEGATION_MANAGER, context.clone(), &batch)),
        (
            vec![sweep(1), sweep(1), sweep(2)],
            Redemption::single(DELEGATION_MANAGER, context.clone(), &sweep(1))
                .and_batch(context, &batch),
        ),
    ];
    let facts = SigningFacts {
        chain_id: 8453,
        manager: DELEGATION_MANAGER,
        entry_point: ENTRY_POINT,
        registry: Address::ZERO,
        attestations: Address::ZERO,
        owner: HOME,
        agent_key: SESSION,
        session_account: SESSION,
        environment: Environment::stock(),
        now: NOW,
    };
    let cage = cage();
    for (calls, redemption) in &cases {
        let calls = calls.iter().map(|Execution { target, value, data }| Call {
            target: *target,
            value: *value,
            data: data.clone(),
        });
        let intent = Intent {
            parties: Parties {
                account: ACCOUNT,
                beneficiary: HOME,
                agent_key: SESSION,
                settlement_asset: TOKEN,
            },
            listing: Listing {
                targets: vec![ListedTarget { target: TOKEN, role: Role::Token }],
                ..Listing::default()
            },
            calls: calls.collect(),
        };
        let permit = match cage.judge(&intent, &Facts::default()) {
            Verdict::Permitted(permit) => permit,
            Verdict::Refused(denials) => panic!("{denials:?}"),
        };
        for (_, other) in &cases {
            // As `rehearse_operation` does it.
            let inner = (other.manager(), U256::ZERO, other.calldata()).abi_encode_packed();
            let call =
                DeleGator::executeCall { mode: MODE_SINGLE, executionCalldata: inner.into() };
            let operation = SessionOperation {
                form: AccountForm::Key,
                sender: SESSION,
                nonce: U256::ZERO,
                init_code: Bytes::new(),
                call_data: call.abi_encode().into(),
                account_gas_limits: B256::ZERO,
                pre_verification_gas: U256::ZERO,
                gas_fees: B256::ZERO,
                paymaster_and_data: Bytes::new(),
                entry_point: ENTRY_POINT,
            };
            let message = Signable::UserOperation { operation: &operation, permit: &permit };
            let verdict = cage.judge_signing(&message, &facts);
            let is_same = std::ptr::eq(other, redemption);
            assert_eq!(matches!(verdict, SigningVerdict::Permitted(_)), is_same, "{verdict:?}");
        }
    }
    Ok(())
}
