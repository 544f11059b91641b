use alloy::{
    primitives::{Address, U256},
    sol_types::SolCall,
};
use bardo_bindings::{
    defi::SwapRouter02::exactInputSingleCall, enforcers, mortality_time_window_enforcer,
};
use golem_delegation::{
    Caveat,
    terms::{
        AllowedCalldata, AllowedMethods, AllowedTargets, LimitedCalls, MortalityTimeWindow,
        Redeemer, ValueLte,
    },
};

/// A grant to swap one token for another on SwapRouter02, as tight as stock caveats can make it.
///
/// Not bounded by it: price and amount of each swap. What limits the amount is the allowance the
/// account gives the router.
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
        let pair = [self.token_in.into_word(), self.token_out.into_word()].concat();
        let pin = |start: u64, value: Vec<u8>| AllowedCalldata {
            start: U256::from(start),
            value: value.into(),
        };
        vec![
            Caveat::new(mortality_time_window_enforcer(), self.window.encode()),
            Caveat::new(enforcers::REDEEMER, Redeemer(vec![self.session]).encode()),
            Caveat::new(enforcers::ALLOWED_TARGETS, AllowedTargets(vec![self.router]).encode()),
            Caveat::new(
                enforcers::ALLOWED_METHODS,
                AllowedMethods(vec![exactInputSingleCall::SELECTOR.into()]).encode(),
            ),
            Caveat::new(enforcers::ALLOWED_CALLDATA, pin(4, pair).encode()),
            Caveat::new(
                enforcers::ALLOWED_CALLDATA,
                pin(4 + 3 * 32, self.account.into_word().to_vec()).encode(),
            ),
            Caveat::new(enforcers::VALUE_LTE, ValueLte(U256::ZERO).encode()),
            Caveat::new(enforcers::LIMITED_CALLS, LimitedCalls(U256::from(self.calls)).encode()),
        ]
    }
}
