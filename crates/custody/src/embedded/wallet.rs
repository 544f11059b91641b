use super::{
    Answered, AuthorizationKey, AuthorizationPublicKey, Backoff, BoundsError, KeeperKey,
    KeyQuorumId, PermittedTransaction, PolicyId, Presence, RiskBounds, SigningPolicy, Wallet,
    WalletError, WalletId, WalletPresence, WalletRequest, WalletService,
    service::{Heard, heard},
};
use crate::{Denial, DenialCode, SignedTransaction};
use alloy_consensus::TxEnvelope;
use alloy_eips::eip2718::Decodable2718 as _;
use alloy_primitives::{Address, B256, Bytes};
use serde::Deserialize;
use std::sync::{Mutex, PoisonError};

/// A Golem's wallet at the service: it observes, and asks for signatures within its bounds.
#[expect(missing_debug_implementations, reason = "INV-2: it holds a key")]
pub struct EmbeddedWallet<S> {
    service: S,
    id: WalletId,
    address: Address,
    key: Asking,
    presence: Mutex<WalletPresence>,
}

/// Who asks for signatures.
enum Asking {
    Golem(AuthorizationKey),
    Owner(KeeperKey),
}

impl<S: WalletService> EmbeddedWallet<S> {
    /// The wallet that was made for `key`.
    pub const fn new(
        service: S,
        id: WalletId,
        address: Address,
        key: AuthorizationKey,
        backoff: Backoff,
    ) -> Self {
        let presence = Mutex::new(WalletPresence::new(backoff));
        Self { service, id, address, key: Asking::Golem(key), presence }
    }

    /// The same wallet in its owner's hands, for when its Golem is gone: no policy stands between him and what is his.
    pub const fn of_owner(
        service: S,
        id: WalletId,
        address: Address,
        key: KeeperKey,
        backoff: Backoff,
    ) -> Self {
        let presence = Mutex::new(WalletPresence::new(backoff));
        Self { service, id, address, key: Asking::Owner(key), presence }
    }

    /// Its name at the service.
    pub const fn id(&self) -> &WalletId {
        &self.id
    }

    /// Its address on chain.
    pub const fn address(&self) -> Address {
        self.address
    }

    /// Whether the service answers, as far as is known. While it does not, the Golem observes only.
    pub fn presence(&self) -> Presence {
        self.with_presence(|presence| presence.now())
    }

    /// Looks whether the service is there, if its time has come.
    ///
    /// `roll` is a random number, for the wait after the next failure.
    pub async fn look(&self, now: u64, roll: u64) -> Result<Answered<Wallet>, WalletError> {
        if !self.with_presence(|presence| presence.may_look(now)) {
            return Ok(Answered::Refused(self.away()));
        }
        let request = self.service.app().read_wallet(&self.id);
        let found: Answered<Wallet> = self.ask("for the wallet", &request, now, roll).await?;
        match found {
            Answered::Done(wallet) if wallet.address != self.address => {
                let (id, expected, found) = (self.id.clone(), self.address, wallet.address);
                Err(WalletError::OtherWallet { id, expected, found })
            }
            other => Ok(other),
        }
    }

    /// Asks for the wallet's signature. The same transaction may be asked for as often as answers are lost: the request says
    /// that it is the same, and of two signatures under one place of the queue at most one takes effect.
    ///
    /// While the service is away nothing is asked for: once its time has come it is looked for, and only if it is found
    /// goes the request out.
    ///
    /// Nobody has rehearsed it and no books have it: what a Golem wants goes by [`WalletSigner`](crate::WalletSigner), and this is for
    /// what follows from a sweep's own books.
    pub async fn sign(
        &self,
        permitted: PermittedTransaction,
        now: u64,
        roll: u64,
    ) -> Result<Answered<SignedTransaction>, WalletError> {
        if self.with_presence(|presence| presence.refuses_writes()).is_some() {
            match self.look(now, roll).await? {
                Answered::Done(_) => {}
                Answered::Refused(denial) => return Ok(Answered::Refused(denial)),
            }
        }
        let app = self.service.app();
        #[expect(clippy::disallowed_methods, reason = "the one place where a wallet is asked")]
        let request = match &self.key {
            Asking::Golem(key) => key.sign_transaction(app, &self.id, &permitted, now),
            Asking::Owner(key) => key.sign_transaction(app, &self.id, &permitted, now),
        };
        let answer: Answered<Rpc> = self.ask("for a signature", &request, now, roll).await?;
        match answer {
            Answered::Done(rpc) => Ok(Answered::Done(self.checked(&permitted, rpc)?)),
            Answered::Refused(denial) => Ok(Answered::Refused(denial)),
        }
    }

    /// The service is not believed: what came back must be what was asked for, signed by the wallet.
    fn checked(
        &self,
        permitted: &PermittedTransaction,
        rpc: Rpc,
    ) -> Result<SignedTransaction, WalletError> {
        let raw = rpc.data.signed_transaction;
        let Ok(TxEnvelope::Eip1559(signed)) = TxEnvelope::decode_2718_exact(&raw) else {
            return Err(WalletError::OtherTransaction);
        };
        let same = *signed.tx() == permitted.transaction().unsigned();
        if !same || signed.recover_signer().ok() != Some(self.address) {
            return Err(WalletError::OtherTransaction);
        }
        Ok(SignedTransaction { hash: *signed.hash(), raw, from: self.address })
    }

    async fn ask<T: for<'a> Deserialize<'a>>(
        &self,
        what: &'static str,
        request: &WalletRequest,
        now: u64,
        roll: u64,
    ) -> Result<Answered<T>, WalletError> {
        let failed = |asked| self.with_presence(|presence| presence.failed(now, roll, asked));
        let reply = match self.service.ask(request).await {
            Ok(reply) => reply,
            Err(source) => {
                failed(None);
                return Err(WalletError::Lost { what, source });
            }
        };
        match heard(what, &reply) {
            Ok(Heard::Done(done)) => {
                self.with_presence(WalletPresence::answered);
                Ok(Answered::Done(done))
            }
            Ok(Heard::Busy(asked)) => {
                failed(asked);
                Ok(Answered::Refused(self.away()))
            }
            // A no is an answer.
            Ok(Heard::Refused(denial)) => {
                self.with_presence(WalletPresence::answered);
                Ok(Answered::Refused(denial))
            }
            Err(fault) => {
                failed(None);
                Err(fault)
            }
        }
    }

    fn away(&self) -> Denial {
        self.with_presence(|presence| presence.refuses_writes()).unwrap_or_else(|| {
            // Somebody else found it again in between.
            Denial::new(DenialCode::WalletAway, "the wallet service was away; nothing was signed")
        })
    }

    fn with_presence<R>(&self, act: impl FnOnce(&mut WalletPresence) -> R) -> R {
        act(&mut self.presence.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The owner's side: makes the wallet, and lets one key ask for its signatures within bounds.
#[expect(missing_debug_implementations, reason = "INV-2: it holds a key")]
pub struct WalletKeeper<S> {
    service: S,
    key: KeeperKey,
}

impl<S: WalletService> WalletKeeper<S> {
    /// Rules with `key`.
    pub const fn new(service: S, key: KeeperKey) -> Self {
        Self { service, key }
    }

    /// The wallet in these hands: what it signs, its owner asks for.
    pub fn holding(
        self,
        wallet: WalletId,
        address: Address,
        backoff: Backoff,
    ) -> EmbeddedWallet<S> {
        EmbeddedWallet::of_owner(self.service, wallet, address, self.key, backoff)
    }

    /// Makes the wallet of a Golem. Nobody but the owner has a say over it yet.
    pub async fn create(&self, golem: B256) -> Result<Answered<Wallet>, WalletError> {
        let request = self.service.app().create_wallet(&self.key.public(), golem);
        self.ask("for a wallet", &request).await
    }

    /// Lets `agent` ask for signatures of the wallet within `bounds`: the policy is there before the key is let in.
    pub async fn admit(
        &self,
        wallet: &Wallet,
        agent: &AuthorizationPublicKey,
        bounds: &RiskBounds,
        now: u64,
    ) -> Result<Answered<PolicyId>, WalletError> {
        let policy = match compiled(wallet.address, bounds) {
            Ok(policy) => policy,
            Err(denial) => return Ok(Answered::Refused(denial)),
        };
        let app = self.service.app();
        let made = app.create_policy(&policy, &self.key.public());
        let policy: Named<PolicyId> = match self.ask("for a policy", &made).await? {
            Answered::Done(policy) => policy,
            Answered::Refused(denial) => return Ok(Answered::Refused(denial)),
        };
        let quorum: Named<KeyQuorumId> =
            match self.ask("for a key quorum", &app.create_quorum(agent)).await? {
                Answered::Done(quorum) => quorum,
                Answered::Refused(denial) => return Ok(Answered::Refused(denial)),
            };
        let admitted = self.key.admit(app, &wallet.id, &quorum.id, &policy.id, now);
        match self.ask::<Wallet>("to let a key in", &admitted).await? {
            Answered::Done(_) => Ok(Answered::Done(policy.id)),
            Answered::Refused(denial) => Ok(Answered::Refused(denial)),
        }
    }

    /// Puts other bounds in the place of those that a policy was compiled from.
    pub async fn rebind(
        &self,
        wallet: &Wallet,
        policy: &PolicyId,
        bounds: &RiskBounds,
        now: u64,
    ) -> Result<Answered<()>, WalletError> {
        let compiled = match compiled(wallet.address, bounds) {
            Ok(policy) => policy,
            Err(denial) => return Ok(Answered::Refused(denial)),
        };
        let request = self.key.replace_policy(self.service.app(), policy, &compiled, now);
        Ok(match self.ask::<Named<PolicyId>>("for other rules", &request).await? {
            Answered::Done(_) => Answered::Done(()),
            Answered::Refused(denial) => Answered::Refused(denial),
        })
    }

    /// Lets nobody but the owner ask any more.
    pub async fn dismiss(&self, wallet: &WalletId, now: u64) -> Result<Answered<()>, WalletError> {
        let request = self.key.dismiss(self.service.app(), wallet, now);
        Ok(match self.ask::<Wallet>("to let nobody in", &request).await? {
            Answered::Done(_) => Answered::Done(()),
            Answered::Refused(denial) => Answered::Refused(denial),
        })
    }

    async fn ask<T: for<'a> Deserialize<'a>>(
        &self,
        what: &'static str,
        request: &WalletRequest,
    ) -> Result<Answered<T>, WalletError> {
        let reply = self.service.ask(request).await;
        reply.map_err(|source| WalletError::Lost { what, source })?.answer(what)
    }
}

fn compiled(wallet: Address, bounds: &RiskBounds) -> Result<SigningPolicy, Denial> {
    let refused = |why: String| Denial::new(DenialCode::WalletBounds, why);
    if bounds.wallet != wallet {
        return Err(refused(format!(
            "the bounds are for {}, the wallet is {wallet}",
            bounds.wallet
        )));
    }
    SigningPolicy::compile(bounds).map_err(|wrong: BoundsError| refused(wrong.to_string()))
}

#[derive(Deserialize)]
struct Named<I> {
    id: I,
}

#[derive(Deserialize)]
struct Rpc {
    data: RpcData,
}

#[derive(Deserialize)]
struct RpcData {
    signed_transaction: Bytes,
}
