use alloy::{
    primitives::{Address, B256, U256, aliases::U24},
    sol_types::SolCall,
};
use bardo_bindings::{defi::SwapRouter02::exactInputSingleCall, mortality_time_window_enforcer};
use golem_delegation::{
    Caveat, enforcers,
    terms::{
        AllowedCalldata, AllowedMethods, AllowedTargets, LimitedCalls, MortalityTimeWindow,
        Redeemer, ValueLte,
    },
};

/// A grant to swap one token for another on SwapRouter02, as tight as stock caveats can make it.
///
/// Not bounded by it: price and amount of each swap. What limits the amount is the allowance the
/// account gives the router; what limits the price is the pool alone, which a thief can push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwapGrant {
    /// Who redeems, and nobody he might pass it on to.
    pub session: Address,
    /// The owner's account, which receives what is bought.
    pub account: Address,
    /// SwapRouter02.
    pub router: Address,
    /// What is sold.
    pub token_in: Address,
    /// What is bought.
    pub token_out: Address,
    /// The pool's fee tier, in hundredths of a basis point. Without it the key's holder could open
    /// a pool of his own in an unused tier, at any price, and have the account swap there.
    pub fee: U24,
    /// How often.
    pub calls: u64,
    /// From when until when.
    pub window: MortalityTimeWindow,
}

impl SwapGrant {
    /// One caveat per bound.
    #[must_use]
    pub fn caveats(&self) -> Vec<Caveat> {
        // Calldata is `selector ‖ tokenIn ‖ tokenOut ‖ fee ‖ recipient ‖ …`, a word each.
        let swap = [
            self.token_in.into_word(),
            self.token_out.into_word(),
            B256::from(U256::from(self.fee)),
            self.account.into_word(),
        ];
        let pinned = AllowedCalldata { start: U256::from(4), value: swap.concat().into() };
        vec![
            Caveat::new(mortality_time_window_enforcer(), self.window.encode()),
            Caveat::new(enforcers::REDEEMER, Redeemer(vec![self.session]).encode()),
            Caveat::new(enforcers::ALLOWED_TARGETS, AllowedTargets(vec![self.router]).encode()),
            Caveat::new(
                enforcers::ALLOWED_METHODS,
                AllowedMethods(vec![exactInputSingleCall::SELECTOR.into()]).encode(),
            ),
            Caveat::new(enforcers::ALLOWED_CALLDATA, pinned.encode()),
            Caveat::new(enforcers::VALUE_LTE, ValueLte(U256::ZERO).encode()),
            Caveat::new(enforcers::LIMITED_CALLS, LimitedCalls(U256::from(self.calls)).encode()),
        ]
    }
}
