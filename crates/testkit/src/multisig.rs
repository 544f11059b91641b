use crate::{Stage, stage::fixed_signer};
use alloy::{
    primitives::{Address, B256, Bytes},
    sol_types::SolCall,
};
use anyhow::{Result, ensure};
use bardo_bindings::framework::{MULTISIG_IMPL, MultiSigDeleGator, SIMPLE_FACTORY};
use golem_chain::{local::FAUCET, proxy_account};
use golem_custody::OwnerSigner;
use golem_delegation::{Delegation, SigningDomain};

/// Three keys and the MultiSig account that any two of them rule.
#[expect(missing_debug_implementations, reason = "INV-2: it holds keys")]
pub struct MultiSigOwner {
    /// By ascending address: the account takes signatures in this order only.
    signers: Vec<OwnerSigner>,
    address: Address,
}

/// How many of the three must sign.
const THRESHOLD: usize = 2;

impl MultiSigOwner {
    /// Deploys the account.
    pub(crate) async fn new(stage: &Stage) -> Result<Self> {
        let mut signers = vec![fixed_signer(0x11)?, fixed_signer(0x12)?, fixed_signer(0x13)?];
        signers.sort_by_key(OwnerSigner::address);
        let init = MultiSigDeleGator::initializeCall {
            owners: signers.iter().map(OwnerSigner::address).collect(),
            threshold: alloy::primitives::U256::from(THRESHOLD),
        };
        let code = &stage.book().proxy_code;
        let (address, create) = proxy_account(MULTISIG_IMPL, init.abi_encode(), B256::ZERO, code);
        let value = alloy::primitives::U256::ZERO;
        let receipt = stage.send_as(FAUCET, SIMPLE_FACTORY, value, create).await?;
        ensure!(receipt.status(), "multisig account was not created");
        Ok(Self { signers, address })
    }

    /// The account.
    #[must_use]
    pub const fn address(&self) -> Address {
        self.address
    }

    /// All three keys.
    #[must_use]
    pub fn keys(&self) -> &[OwnerSigner] {
        &self.signers
    }

    /// Signs with as many keys as are needed.
    pub fn grant(&self, domain: &SigningDomain, delegation: Delegation) -> Result<Delegation> {
        self.grant_by(THRESHOLD, domain, delegation)
    }

    /// Signs with the first `count` keys.
    pub fn grant_by(
        &self,
        count: usize,
        domain: &SigningDomain,
        delegation: Delegation,
    ) -> Result<Delegation> {
        let mut together = Vec::new();
        for signer in self.signers.iter().take(count) {
            together.extend_from_slice(&signer.grant(domain, delegation.clone())?.signature);
        }
        Ok(delegation.signed(Bytes::from(together)))
    }
}
