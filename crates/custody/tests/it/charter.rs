//! A grant under a charter, for what follows from one.

use alloy_primitives::{Address, B256, Bytes, U256};
use golem_delegation::{
    Caveat, Delegation, Environment, Kind, ROOT_AUTHORITY,
    terms::{Classes, GolemCharter, Listing, MortalityTimeWindow},
};

/// An enforcer of every kind, somewhere.
pub(crate) fn environment() -> Environment {
    Kind::ALL.iter().zip(0x10_u8..).fold(Environment::default(), |all, (kind, byte)| {
        all.with(*kind, Address::repeat_byte(byte))
    })
}

/// The account that grants.
const ACCOUNT: Address = Address::repeat_byte(1);

/// What `owner` lets `key` do.
pub(crate) fn charter(owner: Address, key: Address) -> GolemCharter {
    GolemCharter {
        golem_id: B256::repeat_byte(3),
        owner,
        epoch: 1,
        generation: 0,
        registry: Address::repeat_byte(4),
        account: ACCOUNT,
        beneficiary: owner,
        agent_key: key,
        replicants: true,
        classes: Classes::ALL,
        window: MortalityTimeWindow::new(1_000, 2_000_000).unwrap(),
        spend_cap: 1_000_000_000,
        bucket_minutes: 120,
        slippage_bps: 100,
        vault: Address::ZERO,
        nav_bps: 0,
        nav_cap: 1,
        staleness: 86_400,
        gas_ceiling: 1,
        gas_daily_cap: 1,
        settlement_asset: Address::ZERO,
        max_royalty_bps: None,
        mood: None,
        listing: Listing::default(),
    }
}

/// What `owner` grants `key`, unsigned.
pub(crate) fn granted(owner: Address, key: Address) -> Delegation {
    let charter = charter(owner, key);
    let enforcer = environment().enforcer(Kind::GolemCharter).unwrap();
    Delegation {
        delegate: key,
        delegator: ACCOUNT,
        authority: ROOT_AUTHORITY,
        caveats: vec![Caveat::new(enforcer, charter.encode().unwrap())],
        salt: U256::ZERO,
        signature: Bytes::new(),
    }
}
