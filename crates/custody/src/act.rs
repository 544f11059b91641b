//! What a session key can ask the chain for. The set is closed: whatever is not one of these cannot be proposed, and so not be signed.

use crate::{Asset, Execution, Redemption};
use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_sol_types::{SolCall, SolInterface as _};
use bardo_bindings::{
    GolemRegistry::{
        self, GolemRegistryCalls, closeCall, heartbeatCall, setDreamingCall, updatePadCall,
        updateVitalityCall,
    },
    defi::Erc20,
    golem_registry,
};
use golem_delegation::grant::Phase;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// How a Golem says it feels, each from -100 to 100.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mood {
    /// Pleasure.
    pub pleasure: i8,
    /// Arousal.
    pub arousal: i8,
    /// Dominance.
    pub dominance: i8,
}

/// What a Golem can say of itself on the register. Nothing of it moves money.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Says {
    /// How far its life is.
    Vitality {
        /// Its phase, never an earlier one.
        phase: Phase,
        /// Its score, up to 10,000.
        score: u16,
    },
    /// Whether it sleeps.
    Dreaming(bool),
    /// How it feels.
    Feels(Mood),
    /// That it lives, and the newest record of its log: from then on nobody rewrites that (SPEC P4).
    Lives {
        /// The record's hash.
        audit_head: B256,
    },
    /// That it is dead. There is nothing after this.
    Died,
}

/// One entry of a Golem's own about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegistryUpdate {
    /// Who speaks, and of whom.
    pub golem: B256,
    /// What.
    pub says: Says,
}

impl RegistryUpdate {
    /// As a call of the registry.
    #[must_use]
    pub fn calldata(&self) -> Bytes {
        let Self { golem, says } = *self;
        let data = match says {
            Says::Vitality { phase, score } => {
                let phase = phase.number();
                updateVitalityCall { golemId: golem, phase, score }.abi_encode()
            }
            Says::Dreaming(dreaming) => setDreamingCall { golemId: golem, dreaming }.abi_encode(),
            Says::Feels(Mood { pleasure, arousal, dominance }) => {
                updatePadCall { golemId: golem, pleasure, arousal, dominance }.abi_encode()
            }
            Says::Lives { audit_head } => {
                heartbeatCall { golemId: golem, auditHead: audit_head }.abi_encode()
            }
            Says::Died => closeCall { golemId: golem }.abi_encode(),
        };
        data.into()
    }

    /// From calldata, as [`calldata`](Self::calldata) writes it; none if it is anything else.
    #[must_use]
    pub fn decode(calldata: &[u8]) -> Option<Self> {
        use GolemRegistry::GolemRegistryCalls as Calls;
        let (golem, says) = match GolemRegistryCalls::abi_decode_validate(calldata).ok()? {
            Calls::updateVitality(updateVitalityCall { golemId, phase, score }) => {
                (golemId, Says::Vitality { phase: Phase::of_number(phase)?, score })
            }
            Calls::setDreaming(setDreamingCall { golemId, dreaming }) => {
                (golemId, Says::Dreaming(dreaming))
            }
            Calls::updatePad(updatePadCall { golemId, pleasure, arousal, dominance }) => {
                (golemId, Says::Feels(Mood { pleasure, arousal, dominance }))
            }
            Calls::heartbeat(heartbeatCall { golemId, auditHead }) => {
                (golemId, Says::Lives { audit_head: auditHead })
            }
            Calls::close(closeCall { golemId }) => (golemId, Says::Died),
            _ => return None,
        };
        let update = Self { golem, says };
        (update.calldata().as_ref() == calldata).then_some(update)
    }

    /// In words for the books.
    pub(crate) fn told(&self) -> Value {
        let says = match self.says {
            Says::Vitality { phase, score } => {
                json!({ "vitality": { "phase": phase.number(), "score": score } })
            }
            Says::Dreaming(dreaming) => json!({ "dreaming": dreaming }),
            Says::Feels(mood) => json!({ "feels": mood }),
            Says::Lives { audit_head } => json!({ "lives": { "auditHead": audit_head } }),
            Says::Died => json!("died"),
        };
        json!({ "golem": self.golem, "says": says })
    }
}

/// What a session key has of its own and sends to its owner: gas money, and runway that was not used (SPEC C19, D25). The books take it
/// for nobody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// The owner.
    pub to: Address,
    /// Of what.
    pub asset: Asset,
    /// How much, in base units.
    pub amount: U256,
}

impl Leftover {
    const fn target(&self) -> Address {
        match self.asset {
            Asset::Native => self.to,
            Asset::Erc20(token) => token,
        }
    }

    fn calldata(&self) -> Bytes {
        match self.asset {
            Asset::Native => Bytes::new(),
            Asset::Erc20(_) => {
                Erc20::transferCall { to: self.to, amount: self.amount }.abi_encode().into()
            }
        }
    }

    const fn coins(&self) -> U256 {
        match self.asset {
            Asset::Native => self.amount,
            Asset::Erc20(_) => U256::ZERO,
        }
    }

    fn decode(target: Address, coins: U256, calldata: &[u8]) -> Option<Self> {
        if calldata.is_empty() {
            return Some(Self { to: target, asset: Asset::Native, amount: coins });
        }
        let call = Erc20::transferCall::abi_decode_validate(calldata).ok()?;
        let read = Self { to: call.to, asset: Asset::Erc20(target), amount: call.amount };
        (coins.is_zero() && read.calldata().as_ref() == calldata).then_some(read)
    }

    /// In words for the books.
    pub(crate) fn told(&self) -> Value {
        let token = match self.asset {
            Asset::Native => None,
            Asset::Erc20(token) => Some(token),
        };
        json!({ "to": self.to, "token": token, "amount": self.amount })
    }
}

/// What a wallet at a service does with what is its own (SPEC K5): one call. No session key signs it, and the wallet signs nothing
/// else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalletCall {
    /// The wallet.
    pub wallet: Address,
    /// What it does.
    pub call: Execution,
}

impl WalletCall {
    /// In words for the books.
    pub(crate) fn told(&self) -> Value {
        let Execution { target, value, data } = &self.call;
        json!({ "account": self.wallet, "target": target, "value": value, "data": data })
    }
}

/// What a session key asks the chain for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Something that the owner's account does, under his grant.
    Redemption(Redemption),
    /// Something that the Golem says of itself.
    Update(RegistryUpdate),
    /// What the key itself has, for its owner.
    Home(Leftover),
    /// What a wallet at a service does itself.
    Wallet(WalletCall),
}

impl Act {
    /// Whom it calls.
    #[must_use]
    pub fn target(&self) -> Address {
        match self {
            Self::Redemption(redemption) => redemption.manager(),
            Self::Update(_) => golem_registry(),
            Self::Home(leftover) => leftover.target(),
            Self::Wallet(WalletCall { call, .. }) => call.target,
        }
    }

    /// With what.
    #[must_use]
    pub fn calldata(&self) -> Bytes {
        match self {
            Self::Redemption(redemption) => redemption.calldata(),
            Self::Update(update) => update.calldata(),
            Self::Home(leftover) => leftover.calldata(),
            Self::Wallet(WalletCall { call, .. }) => call.data.clone(),
        }
    }

    /// And with how many coins of the key's own, in wei.
    #[must_use]
    pub const fn coins(&self) -> U256 {
        match self {
            Self::Redemption(_) | Self::Update(_) => U256::ZERO,
            Self::Home(leftover) => leftover.coins(),
            Self::Wallet(WalletCall { call, .. }) => call.value,
        }
    }

    /// From a transaction that was written here; none if it is any other.
    #[must_use]
    pub fn of_transaction(target: Address, coins: U256, calldata: &[u8]) -> Option<Self> {
        let home = || Leftover::decode(target, coins, calldata).map(Self::Home);
        let without = || Self::decode(target, calldata);
        if coins.is_zero() { without().or_else(home) } else { home() }
    }

    /// From a call without coins that was written here; none if it is any other, or sends what is the key's own.
    #[must_use]
    pub fn decode(target: Address, calldata: &[u8]) -> Option<Self> {
        if target == golem_registry() {
            return RegistryUpdate::decode(calldata).map(Self::Update);
        }
        Redemption::decode(target, calldata).map(Self::Redemption)
    }

    /// What it is, for an error's sentence.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Redemption(redemption) => {
                format!("delegation {}", redemption.context().leaf().hash())
            }
            Self::Update(update) => format!("what Golem {} says of itself", update.golem),
            Self::Home(leftover) => format!("what goes home to {}", leftover.to),
            Self::Wallet(WalletCall { wallet, call }) => {
                format!("a call of {} by wallet {wallet}", call.target)
            }
        }
    }
}

impl From<Redemption> for Act {
    fn from(redemption: Redemption) -> Self {
        Self::Redemption(redemption)
    }
}

impl From<Leftover> for Act {
    fn from(leftover: Leftover) -> Self {
        Self::Home(leftover)
    }
}

impl From<WalletCall> for Act {
    fn from(call: WalletCall) -> Self {
        Self::Wallet(call)
    }
}

impl From<RegistryUpdate> for Act {
    fn from(update: RegistryUpdate) -> Self {
        Self::Update(update)
    }
}
