use super::{AllowedCall, BoundsError, Pin, RiskBounds, TokenBound};
use alloy_primitives::{Address, U256};
use golem_delegation::terms::{GolemCharter, Role};
use std::collections::BTreeSet;

/// SwapRouter02's, whose recipient is a member of a struct.
const EXACT_INPUT_SINGLE: &str = r#"{
  "type": "function", "name": "exactInputSingle", "stateMutability": "payable",
  "outputs": [{ "name": "amountOut", "type": "uint256" }],
  "inputs": [{ "name": "params", "type": "tuple", "components": [
    { "name": "tokenIn", "type": "address" }, { "name": "tokenOut", "type": "address" },
    { "name": "fee", "type": "uint24" }, { "name": "recipient", "type": "address" },
    { "name": "amountIn", "type": "uint256" }, { "name": "amountOutMinimum", "type": "uint256" },
    { "name": "sqrtPriceLimitX96", "type": "uint160" }
  ]}]
}"#;
const APPROVE: &str = "function approve(address spender, uint256 amount) returns (bool)";
const DEPOSIT: &str = "function deposit(uint256 assets, address receiver) returns (uint256 shares)";
const REDEEM: &str =
    "function redeem(uint256 shares, address receiver, address owner) returns (uint256 assets)";

impl RiskBounds {
    /// All that a charter lets a wallet come to hold beside the coin: listed tokens, and shares of listed vaults.
    #[must_use]
    pub fn holdings_of(charter: &GolemCharter) -> BTreeSet<Address> {
        let GolemCharter { listing, .. } = charter;
        let vaults = listing.targets.iter().filter(|listed| listed.role == Role::Vault);
        let tokens = listing.tokens.iter().map(|listed| listed.token);
        tokens.chain(vaults.map(|vault| vault.target)).filter(|one| !one.is_zero()).collect()
    }

    /// What of a charter the service's rules can say: with the settlement asset, up to `most` of its base units at a time, the Golem
    /// buys listed tokens and enters listed vaults; out of these it comes back into the wallet.
    ///
    /// The rules know no prices: what else the charter allows, such as a sale, is left out and not let through unjudged.
    pub fn of_charter(
        charter: &GolemCharter,
        wallet: Address,
        chain_id: u64,
        most: U256,
    ) -> Result<Self, BoundsError> {
        let (cash, listing) = (charter.settlement_asset, &charter.listing);
        let held = listing.tokens.iter().map(|listed| listed.token);
        let held: Vec<Address> = held.filter(|token| !token.is_zero()).collect();
        let with = |role: Role| {
            let of = listing.targets.iter().filter(move |listed| listed.role == role);
            of.map(|listed| listed.target)
        };
        let wares: Vec<Address> = held.iter().copied().filter(|token| *token != cash).collect();
        let mut calls = Vec::new();
        if held.contains(&cash) && !most.is_zero() {
            for router in with(Role::SwapRouter02).filter(|_| !wares.is_empty()) {
                calls.push(AllowedCall::from_abi(
                    router,
                    EXACT_INPUT_SINGLE,
                    vec![
                        Pin::is("params.tokenIn", cash),
                        Pin::one_of("params.tokenOut", wares.clone()),
                        Pin::is("params.recipient", wallet),
                        Pin::at_most("params.amountIn", most),
                    ],
                )?);
            }
            for vault in with(Role::Vault) {
                let into = vec![Pin::at_most("assets", most), Pin::is("receiver", wallet)];
                let back = vec![Pin::is("receiver", wallet), Pin::is("owner", wallet)];
                calls.push(AllowedCall::new(vault, DEPOSIT, into)?);
                calls.push(AllowedCall::new(vault, REDEEM, back)?);
            }
            let mut spenders: Vec<Address> = calls.iter().map(|call| call.contract).collect();
            spenders.dedup();
            if !spenders.is_empty() {
                let pins = vec![Pin::one_of("spender", spenders), Pin::at_most("amount", most)];
                calls.push(AllowedCall::new(cash, APPROVE, pins)?);
            }
        }
        let bounds = Self {
            wallet,
            chains: [chain_id].into(),
            calls,
            max_value: U256::ZERO,
            tokens: held.into_iter().map(|token| TokenBound { token, cap: U256::ZERO }).collect(),
            payees: Vec::new(),
            beneficiary: charter.beneficiary,
            expires_at: charter.window.end(),
        };
        bounds.check()?;
        Ok(bounds)
    }
}
