//! Running costs, paid out of the owner's own account under a permission of his wallet (ERC-7715, SPEC D6, D25, T3).
//!
//! Such a grant has no charter: it lets its holder move so much of one token a day, to anybody. What it is for is judged here, and binds
//! an honest Golem; a thief of its key has all of it, and every screen says so.

use crate::{Denial, DenialCode, Judged, Judgement, Proposed};
use alloy_primitives::{Address, U256};
use alloy_sol_types::SolCall as _;
use bardo_bindings::defi::Erc20::transferCall;
use golem_delegation::grant::Phase;
use serde::{Deserialize, Serialize};

/// All of it, in basis points.
const WHOLE: u64 = 10_000;

/// What a running cost is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Purpose {
    /// Models.
    Inference,
    /// The machine.
    Compute,
    /// Feeds and the like.
    Data,
}

/// Somebody who is paid directly, so that nothing lies with the Golem's key in between (SPEC D25).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Payee {
    /// Who.
    pub address: Address,
    /// For what.
    pub purpose: Purpose,
}

/// What may be paid now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningCosts {
    /// In which token.
    pub token: Address,
    /// What the wallet grants for a period, in base units.
    pub cap: U256,
    /// What of the period is gone, in base units.
    pub spent: U256,
    /// Whom the owner named.
    pub payees: Vec<Payee>,
    /// How far the Golem's life is.
    pub phase: Phase,
}

/// The part of the cap that a phase may use, in basis points.
///
/// ```
/// use golem_custody::runway_share;
/// use golem_delegation::grant::Phase;
/// assert_eq!(Phase::ALL.map(runway_share), [10_000, 10_000, 5_000, 1_000, 0]);
/// ```
#[must_use]
pub const fn runway_share(phase: Phase) -> u64 {
    match phase {
        Phase::Thriving | Phase::Stable => WHOLE,
        Phase::Conservation => WHOLE / 2,
        Phase::Declining => WHOLE / 10,
        // What is not known pays for nothing (INV-4).
        _ => 0,
    }
}

impl RunningCosts {
    /// What can still be redeemed in this period and phase: the phase's part of the cap less what is spent, and never less than nothing.
    #[must_use]
    pub fn redeemable(&self) -> U256 {
        let share = U256::from(runway_share(self.phase));
        let part = self.cap.saturating_mul(share) / U256::from(WHOLE);
        part.saturating_sub(self.spent)
    }

    /// Whether it may be paid for in this phase: a declining Golem thinks, and pays for nothing else.
    #[must_use]
    pub fn pays(&self, purpose: Purpose) -> bool {
        match self.phase {
            Phase::Thriving | Phase::Stable | Phase::Conservation => true,
            Phase::Declining => purpose == Purpose::Inference,
            _ => false,
        }
    }

    fn against(&self, proposed: &Proposed) -> Result<u64, Denial> {
        let no = |code, reason: String| Err(Denial::new(code, reason));
        let mut calls = proposed.redemption().calls();
        let (Some((_, call)), None) = (calls.next(), calls.next()) else {
            return no(DenialCode::PolicyBatch, "a running cost is one payment".to_owned());
        };
        if call.target != self.token || !call.value.is_zero() {
            let reason = format!("running costs are paid in {}, and nothing else is", self.token);
            return no(DenialCode::PolicyTarget, reason);
        }
        // One form of it: what is judged is what the token reads (ATK-15).
        let Some(pay) = transferCall::abi_decode_validate(&call.data)
            .ok()
            .filter(|pay| pay.abi_encode() == call.data.as_ref())
        else {
            return no(DenialCode::PolicyAction, "a running cost is a plain transfer".to_owned());
        };
        let Some(payee) = self.payees.iter().find(|payee| payee.address == pay.to) else {
            return no(DenialCode::PolicyParty, format!("nobody named {} as a payee", pay.to));
        };
        if !self.pays(payee.purpose) {
            let reason =
                format!("in phase {:?} nothing is paid for {:?}", self.phase, payee.purpose);
            return no(DenialCode::PolicyParty, reason);
        }
        let left = self.redeemable();
        match u64::try_from(pay.amount) {
            Ok(amount) if pay.amount <= left => Ok(amount),
            _ => {
                let reason =
                    format!("{} are asked for, {left} are left of this period", pay.amount);
                no(DenialCode::PolicyAmount, reason)
            }
        }
    }
}

impl Proposed {
    /// Judges a running cost: one plain transfer, to somebody whom the owner named, within what the phase leaves of the period.
    ///
    /// Base units are counted as micro-dollars: the token of a runway is a dollar's of six decimals.
    pub fn pay(self, costs: &RunningCosts) -> Judgement {
        match costs.against(&self) {
            Ok(most) => Judgement::Permitted(Judged::running_cost(self, most)),
            Err(denial) => Judgement::Refused(vec![denial]),
        }
    }
}
