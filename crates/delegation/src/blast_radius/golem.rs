//! What the charters of one Golem let through. They ask one registry for one phase, so that each dimension is bound by
//! the tightest of them.

use super::{
    Causes,
    law::{CharterLaw, Law, WHOLE},
    reckoning::{COIN, Holding, Parts},
    worth::{Known, least, share, sum},
};
use crate::terms::GolemCharter;
use alloy_primitives::U256;

const WEI_PER_GWEI: U256 = U256::from_limbs([1_000_000_000, 0, 0, 0]);

/// One Golem, ready to be asked for any moment.
#[derive(Debug)]
pub(super) struct Golem<'a> {
    law: &'a Law,
    charters: Vec<&'a CharterLaw>,
    /// What lies in vaults, or can lie there.
    vaults: Known,
    /// Of each charter: what converts without a cap, and what has to be turned around within it first.
    settlements: Vec<(Known, Known)>,
    /// Coins that can become gas money, in wei; none where anything can become one.
    gas_source: Known,
}

impl<'a> Golem<'a> {
    pub(super) fn new(law: &'a Law, charters: Vec<&'a CharterLaw>, holdings: &[Holding]) -> Self {
        let settlements = charters.iter().map(|charter| convertible(charter, holdings)).collect();
        let nothing = Some(U256::ZERO);
        let mut golem = Self { law, charters, vaults: nothing, settlements, gas_source: nothing };
        golem.vaults = golem.in_vaults(holdings);
        golem.gas_source = golem.gas_source(holdings);
        golem
    }

    fn all(&self, can: fn(&GolemCharter) -> bool) -> bool {
        self.charters.iter().all(|law| can(&law.charter))
    }

    /// Of a limit in dollars of each charter, what binds.
    fn binding<N: Ord>(&self, limit: impl Fn(&CharterLaw) -> N) -> Option<N> {
        let limits = self.charters.iter().map(|law| limit(law));
        if self.law.alike { limits.min() } else { limits.max() }
    }

    /// A vault asks for no price when it pays out, so what it pays need not be listed. A pool gives back whichever
    /// of its two it likes, and that can be shares.
    fn in_vaults(&self, holdings: &[Holding]) -> Known {
        let pools = self.all(GolemCharter::withdraws_from_pools);
        let tokens = holdings.iter().filter(|holding| holding.token != COIN);
        sum(tokens.map(|holding| {
            let pools = if pools { holding.facts.in_positions } else { Some(U256::ZERO) };
            holding.dollars(sum([holding.facts.in_vaults, pools]))
        }))
    }

    fn gas_source(&self, holdings: &[Holding]) -> Known {
        let turns = |charter: &GolemCharter| {
            charter.trades() || charter.withdraws() || charter.takes_back()
        };
        let unwraps = self.all(GolemCharter::unwraps);
        if unwraps && self.all(turns) {
            return None;
        }
        sum(holdings.iter().map(|holding| {
            let wrapped = unwraps
                && self.charters.iter().any(|law| law.charter.is_wrapped_coin(holding.token));
            if holding.token == COIN || wrapped { holding.reach } else { Some(U256::ZERO) }
        }))
    }

    /// What trades can have cost by `moment`, in micro-dollars; everything, where what goes home goes to him.
    pub(super) fn by(&self, moment: u64) -> Causes {
        if self.charters.iter().all(|law| law.open) {
            return Causes { outflow: None, ..Causes::none() };
        }
        let mut causes = Causes::none();
        let bps = self.binding(|law| law.loss_bps).unwrap_or(WHOLE);
        if bps == 0 {
            return causes;
        }
        let volume = self.volume(moment);
        causes.slippage = Some(share(volume, bps));
        if self.all(GolemCharter::withdraws) {
            let levels = self.charters.iter().map(|law| law.charter.vault_levels()).min();
            let levels = U256::from(levels.unwrap_or(1));
            let again = if self.all(GolemCharter::buys_shares) {
                let left = volume.saturating_sub(share(volume, bps));
                share(left, bps).saturating_mul(levels)
            } else {
                U256::ZERO
            };
            let held = self.vaults.map(|held| share(held, bps).saturating_mul(levels));
            causes.vaults = sum([Some(again), held]);
        }
        if self.all(GolemCharter::swaps) {
            causes.settlement = self.settlement(volume).map(|value| share(value, bps));
        }
        causes
    }

    /// What can be sent through swaps, pools and vaults while caps bind.
    fn volume(&self, moment: u64) -> U256 {
        if !self.all(GolemCharter::trades) {
            return U256::ZERO;
        }
        let volume = self.binding(|law| U256::from(law.volume.most_by(moment)));
        let one = self.binding(|law| U256::from(law.charter.nav_cap));
        let calls = self.law.calls.zip(one).map(|(calls, one)| calls.saturating_mul(one));
        let bounds = [volume, self.law.budget, calls];
        bounds.into_iter().flatten().fold(U256::MAX, U256::min)
    }

    fn settlement(&self, volume: U256) -> Known {
        let each = self.settlements.iter().map(|(freely, turned)| {
            let turned = least(*turned, Some(volume));
            sum([*freely, turned])
        });
        each.fold(self.law.budget, least)
    }

    pub(super) fn gas_wei(&self, moment: u64) -> U256 {
        let mut most = U256::MAX;
        for law in &self.charters {
            let Some(gas) = &law.gas else { return U256::ZERO };
            most = most.min(U256::from(gas.most_by(moment)).saturating_mul(WEI_PER_GWEI));
            if let Some(calls) = self.law.calls {
                let ceiling = U256::from(law.charter.gas_ceiling).saturating_mul(WEI_PER_GWEI);
                most = most.min(calls.saturating_mul(ceiling));
            }
        }
        self.gas_source.map_or(most, |source| most.min(source))
    }
}

/// What a dying Golem can convert: at once, and after it was turned into something else within the cap.
fn convertible(law: &CharterLaw, holdings: &[Holding]) -> (Known, Known) {
    let mut freely = Vec::new();
    let mut turned = Vec::new();
    for holding in holdings {
        let is_asset = law.settlement == Some(holding.token);
        let wraps_to_asset = holding.token == COIN
            && law.settlement.is_some_and(|asset| law.charter.is_wrapped_coin(asset));
        let Parts { free, vaults, pools } = holding.parts(law);
        if is_asset || wraps_to_asset {
            // What lies in vaults and pools can come back as something else.
            turned.push(holding.dollars(least(holding.reach, free)));
            freely.push(holding.dollars(least(holding.reach, sum([vaults, pools]))));
        } else {
            freely.push(holding.dollars(holding.reach));
        }
    }
    (sum(freely), sum(turned))
}
