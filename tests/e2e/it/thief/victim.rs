//! Whose money it is.

use alloy::primitives::{Address, B256, U256, b256};
use anyhow::Result;
use bardo_bindings::defi::Erc20;
use bardo_testkit::{MultiSigOwner, Owner, Stage, dollars};
use golem_chain::{AccountKind, hybrid_account};
use golem_custody::OwnerSigner;
use golem_delegation::{Delegation, SigningDomain};
use std::io::Write;

/// Kinds of owners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// An EOA that is its own account.
    Stateless7702,
    /// An EOA and the account it rules.
    Hybrid,
    /// Three keys, any two of which rule an account.
    MultiSig,
}

/// One of them.
pub(super) enum Victim {
    /// One key.
    One(Box<Owner>),
    /// Three.
    Several(MultiSigOwner),
}

/// Sixth account of the development mnemonic. Everybody knows its key, and the node signs with it what
/// an owner's wallet would.
const KEY: B256 = b256!("8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba");

async fn hybrid(stage: &Stage) -> Result<Owner> {
    let mut file = tempfile::NamedTempFile::new()?;
    file.write_all(KEY.to_string().as_bytes())?;
    let signer = OwnerSigner::from_key_file(file.path())?;
    let book = stage.book();
    let account = hybrid_account(signer.address(), B256::ZERO, &book.proxy_code);
    let ether = U256::from(10_000_000_000_000_000_000u64);
    stage.fund(signer.address(), ether, U256::ZERO).await?;
    stage.fund(account.address, ether, dollars(10_000)).await?;
    let owner = Owner { signer, account };
    let allow = Erc20::approveCall { spender: book.swap_router_02, amount: dollars(10_000) };
    owner.act(stage, book.usdc, allow).await?;
    Ok(owner)
}

impl Victim {
    /// With 10 ether, 10,000 USDC, and keys that never change.
    pub(super) async fn new(stage: &Stage, kind: Kind) -> Result<Self> {
        Ok(match kind {
            Kind::Stateless7702 => {
                Self::One(Box::new(stage.fixed_owner(AccountKind::Stateless7702).await?))
            }
            Kind::Hybrid => Self::One(Box::new(hybrid(stage).await?)),
            Kind::MultiSig => Self::Several(stage.multisig_owner().await?),
        })
    }

    /// Where the money is.
    pub(super) fn account(&self) -> Address {
        match self {
            Self::One(owner) => owner.account.address,
            Self::Several(owners) => owners.address(),
        }
    }

    /// Who speaks to the register: several owners do by their account.
    pub(super) fn owner(&self) -> Address {
        match self {
            Self::One(owner) => owner.signer.address(),
            Self::Several(owners) => owners.address(),
        }
    }

    /// Signs a grant.
    pub(super) fn grant(&self, domain: &SigningDomain, grant: Delegation) -> Result<Delegation> {
        match self {
            Self::One(owner) => Ok(owner.signer.grant(domain, grant)?),
            Self::Several(owners) => owners.grant(domain, grant),
        }
    }
}
