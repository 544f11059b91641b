//! A wallet at Privy: made, and let to the Golem's key within rules.

use super::plan::PlannedWallet;
use alloy::primitives::{B256, U256};
use golem_custody::{
    Answered, BoxError, Denial, KeeperKey, KeyFileError, Means, Password, RiskBounds, WalletKeeper,
};
use golem_delegation::terms::GolemCharter;
use std::{error::Error, fmt, path::Path};

/// The service said no, or was not asked.
#[derive(Debug)]
pub(super) struct Declined(Denial);

impl fmt::Display for Declined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for Declined {}

/// The owner's key over wallet and policy.
pub(super) fn keeper(path: &Path, password: &Password) -> Result<KeeperKey, KeyFileError> {
    KeeperKey::open(path, password)
}

impl PlannedWallet {
    /// Makes the wallet of `golem`, its rules, and lets the Golem's key ask within them. All of it can be asked for again: it is the
    /// same wallet, and the last rules count.
    pub(super) async fn made(
        self,
        golem: B256,
        charter: &GolemCharter,
        chain_id: u64,
        most: U256,
        now: u64,
    ) -> Result<Means, BoxError> {
        let Self { service, keeper_keystore, keeper_password, key, .. } = self;
        if !keeper_keystore.exists() {
            // In its file before anybody hears of it: whoever loses it loses the wallet.
            KeeperKey::born().save(&keeper_keystore, &keeper_password)?;
        }
        let keeper = WalletKeeper::new(service, keeper(&keeper_keystore, &keeper_password)?);
        let wallet = done(keeper.create(golem).await?)?;
        let bounds = RiskBounds::of_charter(charter, wallet.address, chain_id, most)?;
        let policy = done(keeper.admit(&wallet, &key, &bounds, now).await?)?;
        let (address, policy) = (wallet.address, Some(policy.into()));
        Ok(Means::Provided { wallet: wallet.id.into(), address, policy, key: Some(key) })
    }
}

fn done<T>(answered: Answered<T>) -> Result<T, Declined> {
    match answered {
        Answered::Done(done) => Ok(done),
        Answered::Refused(denial) => Err(Declined(denial)),
    }
}
