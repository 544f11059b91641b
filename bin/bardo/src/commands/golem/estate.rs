//! What an owner's commands go by: his Golem's books, his key, and the chain that both are of.

use super::{archive, now, refused};
use crate::{
    answer::{Answer, Failure},
    cli::{KeyArgs, SendArgs},
    commands::onboard::folder::GolemFile,
    input,
};
use alloy::primitives::B256;
use anyhow::anyhow;
use bardo_bindings::framework::DELEGATION_MANAGER;
use golem_chain::{Node, Registry};
use golem_custody::{OwnerSigner, Rotation};
use golem_delegation::{Delegation, SigningDomain, terms::GolemCharter};
use golem_runtime::{FolderInbox, Glance};
use std::path::Path;

/// A Golem, by its owner.
pub(super) struct Estate {
    pub(super) file: GolemFile,
    pub(super) glance: Glance,
    pub(super) grant: Delegation,
    pub(super) charter: GolemCharter,
    pub(super) signer: OwnerSigner,
    pub(super) node: Node,
    pub(super) now: u64,
    pub(super) inbox: FolderInbox,
}

impl Estate {
    /// Of the folder; or why this key, or this chain, is not the one. `what` is what was asked for.
    pub(super) async fn of(
        what: &str,
        data: &Path,
        send: &SendArgs,
        key: &KeyArgs,
    ) -> Result<Result<Self, Answer>, Failure> {
        Self::by(what, data, send.connect(), key).await
    }

    /// The same for what ends it: that does not wait for a private endpoint.
    pub(super) async fn in_need(
        what: &str,
        data: &Path,
        send: &SendArgs,
        key: &KeyArgs,
    ) -> Result<Result<Self, Answer>, Failure> {
        Self::by(what, data, send.connect_in_need(), key).await
    }

    async fn by(
        what: &str,
        data: &Path,
        connecting: impl Future<Output = Result<Node, Failure>>,
        key: &KeyArgs,
    ) -> Result<Result<Self, Answer>, Failure> {
        let Some(file) = GolemFile::of(data)? else {
            return Err(Failure::Use(anyhow!(
                "{} has no golem.toml: `bardo onboard` first",
                data.display()
            )));
        };
        let archive = archive(data)?;
        let signer = input::owner(key)?;
        let node = connecting.await?;
        let no = |reason: String| {
            Ok(Err(refused(what, &format!("{reason}; nothing was signed or sent"))))
        };
        if node.chain_id() != file.chain_id {
            return no(format!(
                "the Golem is on chain {}, and the node on {}",
                file.chain_id,
                node.chain_id()
            ));
        }
        let now = now(Some(&node)).await?;
        let glance = Glance::of(&archive, now)?;
        let Some(owner) = glance.owner() else {
            return no("its onboarding was never begun".to_owned());
        };
        if owner != signer.address() {
            return no(format!("{} is {owner}'s and not {}'s", glance.golem, signer.address()));
        }
        let Some((grant, charter)) = glance.grant.clone() else {
            return no(
                "it has no grant: its money is in a wallet that a service signs for".to_owned()
            );
        };
        // The books are the Golem's word. What an owner extends or hands on is what he signed, for this Golem, and nothing else.
        let domain = SigningDomain { chain_id: file.chain_id, manager: DELEGATION_MANAGER };
        if domain.verify(&grant, owner).is_err() {
            return no("the grant in its books is not signed by you".to_owned());
        }
        if charter.golem_id != glance.golem || file.golem != glance.golem {
            return no("the grant in its books is of another Golem".to_owned());
        }
        let inbox = FolderInbox::of(data);
        Ok(Ok(Self { file, glance, grant, charter, signer, node, now, inbox }))
    }

    /// Why another grant for the key that it has would come too early.
    pub(super) fn asks_in_vain(&self) -> Result<Option<&'static str>, Failure> {
        // Of two grants of one number neither ends the other (SPEC D4).
        if let Some(Rotation::Asked { .. } | Rotation::Granted { .. }) = self.glance.rotation {
            return Ok(Some(
                "its next key waits for your grant, which would have the same number: \
                 `bardo golem grant` first, and this when that is in use; nothing was signed or sent",
            ));
        }
        Ok((self.inbox.waiting()? > 0)
            .then_some("what you sent before waits in its inbox; nothing was signed or sent"))
    }

    /// Why there is nothing left to keep it going for: its death is accepted, or the registry has closed it (SPEC D13).
    pub(super) async fn is_over(&self) -> Result<Option<&'static str>, Failure> {
        if let Some(over) = self.is_dead().await? {
            return Ok(Some(over));
        }
        let dies = "its death is accepted, and cannot be stopped";
        Ok(self.glance.dying.as_ref().map(|_dying| dies))
    }

    /// The same of one that has nothing left to settle either.
    pub(super) async fn is_dead(&self) -> Result<Option<&'static str>, Failure> {
        if self.glance.is_dead() {
            return Ok(Some("it is dead"));
        }
        let entry = Registry::open(&self.node).await?.entry(self.glance.golem).await?;
        let closed = entry.is_some_and(|entry| entry.state.closed);
        Ok(closed.then_some("it is dead: the registry has closed it"))
    }

    /// What its id is made from, with its owner: what he says, or its file, or nothing; whichever it is, it is held against the id.
    pub(super) fn salt(&self, said: Option<B256>) -> Result<B256, Failure> {
        let salt = said.or(self.file.salt).unwrap_or_default();
        if Registry::golem_id(self.signer.address(), salt) == self.glance.golem {
            return Ok(salt);
        }
        Err(Failure::Use(anyhow!(
            "salt: {} is not made from {salt}: give --salt as at its onboarding; nothing was signed or sent",
            self.glance.golem
        )))
    }

    /// What its grants are signed for.
    pub(super) const fn domain(&self) -> SigningDomain {
        SigningDomain { chain_id: self.file.chain_id, manager: DELEGATION_MANAGER }
    }
}
