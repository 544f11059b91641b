//! What a death costs its key, and what a living Golem leaves alone for that (SPEC L5). The table is in `docs/vitality.md`.

use crate::{Golem, GolemEvent, Life, TickError};
use alloy_primitives::U256;
use golem_chain::Possession;
use golem_custody::{Holding, SessionSigner as _};
use golem_delegation::{grant::Phase, terms::Role};
use serde::{Deserialize, Serialize};

/// Gas of what every death says and sends: the last phase, the anchor of its log, allowances taken back, what the account has sent home,
/// what the key has sent home, the settlement and the end on the register.
const GAS_OF_WORDS: u64 = 1_500_000;
/// Gas of one thing that is closed: a token sold, shares redeemed, or a position taken apart.
const GAS_OF_EACH: u64 = 500_000;
/// Bytes of a call beside the grant that it is made under.
const BYTES: usize = 1_024;
/// Transactions of a death beside those for each thing: as [`GAS_OF_WORDS`] has them.
const WORDS: usize = 8;

/// Gas of a death of a Golem with so many things that may have to be closed: listed tokens and vaults, and positions that it has.
///
/// ```
/// use golem_runtime::death_gas;
/// assert_eq!([death_gas(0), death_gas(2)], [1_500_000, 2_500_000]);
/// ```
#[must_use]
pub const fn death_gas(things: u64) -> u64 {
    GAS_OF_WORDS.saturating_add(GAS_OF_EACH.saturating_mul(things))
}

/// What a death costs its key, in wei: its gas at the price that the node asks for now, which is twice the newest block's and a tip, and
/// twice what a rollup charges for its data. It is what a living Golem keeps back, and the least that a Feed by payment is to bring
/// (SPEC L5, A6); nothing serves such a Feed yet.
///
/// ```
/// use alloy_primitives::U256;
/// use golem_runtime::death_reserve;
/// assert_eq!(death_reserve(2, 3_000_000_000, U256::from(5)), U256::from(7_500_000_000_000_010_u64));
/// ```
#[must_use]
pub fn death_reserve(things: u64, max_fee_per_gas: u128, data_fee: U256) -> U256 {
    let gas = U256::from(death_gas(things)).saturating_mul(U256::from(max_fee_per_gas));
    gas.saturating_add(data_fee.saturating_mul(U256::from(2)))
}

/// What its death would cost its key, and what that key had, when it last looked. In wei.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeathReserve {
    /// What is kept back: [`death_reserve`].
    pub needed: U256,
    /// What the key has.
    pub balance: U256,
}

impl DeathReserve {
    /// Whether a living Golem does only what its death needs.
    #[must_use]
    pub fn is_short(&self) -> bool {
        self.balance < self.needed
    }
}

impl Golem {
    /// What its death would cost now; none while it has no key to pay by.
    pub(crate) async fn sense_reserve(
        &self,
        possessions: Option<&[Possession]>,
    ) -> Result<Option<DeathReserve>, TickError> {
        let (Some(_lane), Some(key)) = (&self.lane, self.keys.signer().await) else {
            return Ok(None);
        };
        let listing = &self.charter.listing;
        let vaults = listing.targets.iter().filter(|one| one.role == Role::Vault);
        let is_position = |one: &&Possession| matches!(one.of, Holding::Position { .. });
        let positions = possessions.unwrap_or_default().iter().filter(is_position).count();
        let things = listing.tokens.len().saturating_add(vaults.count()).saturating_add(positions);
        let bytes = self.context.encode().len().saturating_add(BYTES);
        let bytes = bytes.saturating_mul(things.saturating_add(WORDS));
        let (plan, data_fee) =
            tokio::try_join!(self.node.plan(key.address()), self.node.data_fee(bytes))?;
        let things = u64::try_from(things).unwrap_or(u64::MAX);
        let needed = death_reserve(things, plan.max_fee_per_gas, data_fee);
        Ok(Some(DeathReserve { needed, balance: plan.balance }))
    }

    /// Notes what its death would cost, and says when it begins and ceases to spare for it. Whether it spares.
    pub(crate) async fn spare(
        &self,
        next: &mut Life,
        reserve: Option<DeathReserve>,
        now: u64,
    ) -> Result<bool, TickError> {
        // Whoever looks on spends nothing, and what was is not over for that.
        let Some(reserve) = reserve.filter(|_| next.phase < Phase::Terminal) else {
            return Ok(next.is_sparing());
        };
        let before = next.is_sparing();
        next.reserve = Some(reserve);
        let DeathReserve { needed, balance } = reserve;
        if before != reserve.is_short() {
            let (name, event) = if before {
                ("reserve-restored", GolemEvent::DeathReserveRestored { needed, balance })
            } else {
                ("reserve-short", GolemEvent::DeathReserveShort { needed, balance })
            };
            self.tell_in_tick(name, event, now).await?;
        }
        Ok(reserve.is_short())
    }
}
