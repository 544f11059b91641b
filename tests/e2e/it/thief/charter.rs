//! The wish in one caveat.

use super::{
    Expectation, Grant, Wish, calls,
    calls::Swap,
    prey::{redeem_calldata, single},
    wish::FEE,
};
use alloy::primitives::{Address, Bytes, U256};
use anyhow::Result;
use bardo_bindings::{
    GolemCharterEnforcer::GolemCharterEnforcerErrors,
    GolemRegistry,
    framework::{MODE_BATCH, MODE_SINGLE},
    golem_charter_enforcer, golem_registry,
};
use bardo_testkit::dollars;
use golem_chain::local::CharterParties;
use golem_custody::{Execution, encode_batch};
use golem_delegation::{
    Caveat, Delegation, PermissionContext,
    terms::{MortalityTimeWindow, Role},
};

/// Seconds without prices after a sequencer came back.
const GRACE: u32 = 3_600;
/// For gas money.
const GWEI: U256 = U256::from_limbs([1_000_000_000, 0, 0, 0]);

/// `GolemCharterEnforcer` alone.
#[derive(Debug)]
pub(super) struct Charter {
    /// Whether children may redeem: the thief has more to play with.
    pub(super) replicants: bool,
    /// Whether neither vault nor liquidity is listed, so that swaps are all there is.
    pub(super) swaps_only: bool,
}

impl Charter {
    /// The wish, word for word.
    fn terms(&self, wish: &Wish) -> Result<Vec<u8>> {
        let parties = CharterParties {
            golem_id: wish.golem,
            owner: wish.owner,
            account: wish.account,
            agent_key: wish.session,
            epoch: wish.series + 1 + wish.epoch,
        };
        let window = MortalityTimeWindow::new(wish.start, wish.end)?;
        let mut charter = wish.book.charter(&parties, window);
        charter.beneficiary = wish.beneficiary;
        charter.replicants = self.replicants;
        charter.spend_cap = wish.cap.try_into()?;
        charter.slippage_bps = wish.slippage_bps;
        // The wish has no bound for one call but the day's.
        charter.nav_cap = charter.spend_cap;
        charter.gas_ceiling = (wish.gas_ceiling / GWEI).try_into()?;
        charter.gas_daily_cap = (wish.gas_daily / GWEI).try_into()?;
        if self.swaps_only {
            let pooled = |role: Role| matches!(role, Role::Vault | Role::PositionManager);
            charter.listing.tokens.retain(|listed| !listed.role.is_some_and(pooled));
            charter.listing.targets.retain(|listed| !pooled(listed.role));
        }
        charter.listing.sequencer_feed = wish.book.sequencer_uptime;
        charter.listing.sequencer_grace = GRACE;
        for token in &mut charter.listing.tokens {
            token.max_age = wish.staleness.try_into()?;
        }
        Ok(charter.encode()?)
    }
}

impl Grant for Charter {
    fn name(&self) -> &'static str {
        "the charter"
    }

    fn caveats(&self, wish: &Wish) -> Result<Vec<Caveat>> {
        Ok(vec![Caveat::new(golem_charter_enforcer(), self.terms(wish)?)])
    }

    fn honest(&self, wish: &Wish) -> Vec<Vec<Execution>> {
        let (book, account) = (&wish.book, wish.account);
        let (hundred, part) = (dollars(100), wish.fair(dollars(100)));
        let sale = wish.fair_sale(hundred, 9_910);
        let back = Swap {
            token_in: book.weth,
            token_out: book.usdc,
            amount: part,
            minimum: dollars(99),
            ..sale
        };
        let manager = book.position_manager;
        let take = [
            calls::decrease(manager, wish.position, 1_000_000),
            calls::collect(manager, wish.position, account),
        ];
        vec![
            vec![
                calls::approve(book.usdc, book.swap_router_02, hundred),
                sale.on_02(book.swap_router_02),
            ],
            vec![calls::approve(book.weth, book.swap_router, part), back.on_01(book.swap_router)],
            vec![
                calls::approve(book.usdc, manager, hundred),
                calls::approve(book.weth, manager, part),
                calls::mint(manager, [(book.weth, part), (book.usdc, hundred)], FEE, account),
            ],
            vec![calls::multicall(manager, &take)],
            vec![
                calls::approve(book.usdc, book.vault, hundred),
                calls::vault_deposit(book.vault, hundred, account),
            ],
            vec![calls::vault_withdraw(book.vault, dollars(50), account, account)],
            vec![calls::wrap(book.weth, part)],
            vec![calls::unwrap(book.weth, part)],
            vec![calls::transfer(book.usdc, wish.beneficiary, hundred)],
            vec![calls::raw(wish.session, U256::from(1_000_000_000_000_000u64), Bytes::new())],
        ]
    }

    fn expects(&self) -> Expectation {
        Expectation::Holds
    }

    fn redeem(&self, context: &PermissionContext, calls: &[Execution]) -> Bytes {
        let (mode, execution) = match calls {
            [one] => (MODE_SINGLE, single(one)),
            several => (MODE_BATCH, encode_batch(several)),
        };
        redeem_calldata(vec![context.encode()], vec![mode], vec![execution])
    }

    fn revocation(&self, wish: &Wish, _grant: &Delegation) -> Vec<(Address, Execution)> {
        let revoke = GolemRegistry::revokeCall { golemId: wish.golem };
        vec![(wish.owner, calls::call(golem_registry(), revoke))]
    }

    fn errors(&self) -> &'static [&'static str] {
        GolemCharterEnforcerErrors::SIGNATURES
    }
}
