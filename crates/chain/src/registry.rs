use crate::{ChainFault, Node, OwnerCall, OwnerError, node::rpc, snapshot::Snapshot};
use alloy::{
    primitives::{Address, B256, U256, keccak256},
    providers::Provider,
    rpc::types::{Filter, Log, TransactionReceipt},
    sol_types::{Error as AbiError, SolCall, SolEvent, SolInterface, SolValue},
};
use bardo_bindings::{
    GolemRegistry::{self, GolemRegistryErrors as Refusal},
    golem_registry,
};
use golem_custody::{BlockRef, Mood, OwnerSigner};
use golem_delegation::grant::Phase;
use serde::Serialize;

/// The registry of Golems, through one node.
#[derive(Clone, Debug)]
pub struct Registry {
    node: Node,
}

/// Blocks that are asked for at once where a node does not answer for all of them.
const MANY: usize = 10_000;
/// Those of them after the first.
const MANY_MORE: u64 = 9_999;

/// A sign of life: the head that a Golem's audit log had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Heartbeat {
    /// Hash of the log's newest record.
    pub audit_head: B256,
    /// The block that has it.
    pub block: u64,
}

/// What the registry says of one Golem, on the state of one block.
///
/// Phase, score, dreams and mood are the word of whoever holds the agent's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Which one.
    pub golem: B256,
    /// Its owner's EOA.
    pub owner: Address,
    /// The key that speaks for it.
    pub agent_key: Option<Address>,
    /// Highest epoch of a grant that attached a key.
    pub attached_epoch: u16,
    /// How often its owner has revoked everything.
    pub generation: u32,
    /// What rules read of it.
    pub state: GolemState,
    /// The block this was read on.
    pub block: BlockRef,
}

/// The registry's packed word about one Golem, read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GolemState {
    /// On the register. One that was taken off it counts as dead and unknown.
    pub registered: bool,
    /// Dreaming.
    pub dreaming: bool,
    /// Dead.
    pub closed: bool,
    /// The phase as it was last written, however long ago.
    pub phase: Phase,
    /// Survival score, 0 to 10,000.
    pub score: u16,
    /// How it feels.
    pub mood: Mood,
    /// When anything about it was last written.
    pub updated_at: u64,
    /// Lowest epoch of a grant that still counts.
    pub min_epoch: u16,
}

/// What can be written about a Golem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Writing {
    /// The owner puts it on the register, with or without a key.
    Register {
        /// What its id is made from, with the owner.
        salt: B256,
        /// Its first key.
        agent_key: Option<Address>,
    },
    /// The owner lets another key speak for it.
    Attach {
        /// Which Golem.
        golem: B256,
        /// The key.
        agent_key: Address,
    },
    /// The owner moves the phase forward.
    Advance {
        /// Which Golem.
        golem: B256,
        /// The phase.
        phase: Phase,
    },
    /// The owner moves the phase back to Stable or Thriving.
    Feed {
        /// Which Golem.
        golem: B256,
        /// The phase.
        phase: Phase,
    },
    /// The agent falls asleep or wakes up.
    Dream {
        /// Which Golem.
        golem: B256,
        /// Asleep.
        dreaming: bool,
    },
    /// The agent says how it feels.
    Feel {
        /// Which Golem.
        golem: B256,
        /// How.
        mood: Mood,
    },
    /// The agent reports phase and survival score.
    Report {
        /// Which Golem.
        golem: B256,
        /// The phase, never an earlier one.
        phase: Phase,
        /// The score, up to 10,000.
        score: u16,
    },
}

/// What became of a writing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Written {
    /// It is in a block.
    Done {
        /// The transaction.
        transaction: B256,
        /// What it used.
        gas_used: u64,
        /// What the registry says since.
        entry: Entry,
    },
    /// The registry would refuse it; nothing was sent.
    Refused {
        /// Why, in plain words.
        reason: String,
    },
}

impl Registry {
    /// The registry on this node's chain; fails where there is none.
    pub async fn open(node: &Node) -> Result<Self, ChainFault> {
        node.require("GolemRegistry", golem_registry()).await?;
        Ok(Self { node: node.clone() })
    }

    /// Id of an owner's Golem.
    #[must_use]
    pub fn golem_id(owner: Address, salt: B256) -> B256 {
        keccak256((owner, salt).abi_encode())
    }

    /// What is known of a Golem; nothing where it was never registered.
    pub async fn entry(&self, golem: B256) -> Result<Option<Entry>, ChainFault> {
        self.entry_on(&Snapshot::newest(&self.node).await?, golem).await
    }

    /// The same as of the block that holds a transaction.
    pub async fn entry_after(
        &self,
        golem: B256,
        receipt: &TransactionReceipt,
    ) -> Result<Option<Entry>, ChainFault> {
        self.entry_on(&Snapshot::after(&self.node, receipt).await?, golem).await
    }

    /// The same on a block of the caller's.
    pub(crate) async fn entry_on(
        &self,
        snapshot: &Snapshot<'_>,
        golem: B256,
    ) -> Result<Option<Entry>, ChainFault> {
        let at = golem_registry();
        let owner = snapshot.read(at, GolemRegistry::ownerOfCall { golemId: golem }).await?;
        if owner.is_zero() {
            return Ok(None);
        }
        let agent = snapshot.read(at, GolemRegistry::agentOfCall { golemId: golem }).await?;
        let known = snapshot.read(at, GolemRegistry::stateCall { golemId: golem, owner }).await?;
        let state = GolemState::read(known.golemWord).ok_or_else(|| ChainFault::Answer {
            contract: at,
            what: GolemRegistry::stateCall::SIGNATURE,
            source: AbiError::custom("the word is of no Golem").into(),
        })?;
        Ok(Some(Entry {
            golem,
            owner,
            agent_key: Some(agent.agentKey).filter(|key| !key.is_zero()),
            attached_epoch: agent.epoch,
            generation: known.generation,
            state,
            block: snapshot.block(),
        }))
    }

    /// Every sign of life of a Golem since `from`, the oldest first. A node that leaves one out is not noticed.
    pub async fn heartbeats(&self, golem: B256, from: u64) -> Result<Vec<Heartbeat>, ChainFault> {
        const WHAT: &str = "heartbeats";
        let of = |from: u64| {
            Filter::new()
                .address(golem_registry())
                .event_signature(GolemRegistry::HeartbeatRecorded::SIGNATURE_HASH)
                .topic1(golem)
                .from_block(from)
        };
        let provider = self.node.provider();
        let whole = provider.get_logs(&of(from)).await;
        let logs = if matches!(&whole, Err(limited) if limited.as_error_resp().is_some()) {
            // Some answer for so many blocks at once, and no more.
            let mut all = Vec::new();
            let head = self.node.header().await?.number;
            for first in (from..=head).step_by(MANY) {
                let last = first.saturating_add(MANY_MORE).min(head);
                let part = provider.get_logs(&of(first).to_block(last)).await;
                all.extend(part.map_err(rpc(WHAT))?);
            }
            all
        } else {
            whole.map_err(rpc(WHAT))?
        };
        let heartbeat = |log: &Log| {
            let event = GolemRegistry::HeartbeatRecorded::decode_log(&log.inner).ok()?;
            Some(Heartbeat { audit_head: event.auditHead, block: log.block_number? })
        };
        let unreadable = || ChainFault::Answer {
            contract: golem_registry(),
            what: GolemRegistry::HeartbeatRecorded::SIGNATURE,
            source: AbiError::custom("an event of another form, or of no block").into(),
        };
        logs.iter().map(|log| heartbeat(log).ok_or_else(unreadable)).collect()
    }

    /// Writes by the key that may, the owner's or the agent's, for at most `ceiling` wei.
    pub async fn write(
        &self,
        signer: &OwnerSigner,
        writing: &Writing,
        ceiling: U256,
    ) -> Result<Written, OwnerError> {
        let golem = writing.golem(signer.address());
        let receipt = match writing.call(signer.address()).send(&self.node, signer, ceiling).await {
            Ok(receipt) => receipt,
            Err(error) => return error.registrys_no().map(refused).ok_or(error),
        };
        let entry = self.entry_after(golem, &receipt).await?.ok_or_else(|| ChainFault::Answer {
            contract: golem_registry(),
            what: GolemRegistry::ownerOfCall::SIGNATURE,
            source: AbiError::custom("a Golem that was written about is not known").into(),
        })?;
        let (transaction, gas_used) = (receipt.transaction_hash, receipt.gas_used);
        Ok(Written::Done { transaction, gas_used, entry })
    }
}

const fn refused(reason: String) -> Written {
    Written::Refused { reason }
}

impl Writing {
    /// Which Golem it is about, written by `signer`.
    #[must_use]
    pub fn golem(&self, signer: Address) -> B256 {
        match self {
            Self::Register { salt, .. } => Registry::golem_id(signer, *salt),
            Self::Attach { golem, .. }
            | Self::Advance { golem, .. }
            | Self::Feed { golem, .. }
            | Self::Dream { golem, .. }
            | Self::Feel { golem, .. }
            | Self::Report { golem, .. } => *golem,
        }
    }

    /// As a call of the registry.
    #[must_use]
    pub fn call(&self, from: Address) -> OwnerCall {
        fn to<C: SolCall>(from: Address, call: &C) -> OwnerCall {
            OwnerCall::new(from, golem_registry(), call)
        }
        match *self {
            Self::Register { salt, agent_key } => {
                let agent_key = agent_key.unwrap_or_default();
                to(from, &GolemRegistry::registerCall { salt, agentKey: agent_key })
            }
            Self::Attach { golem, agent_key } => {
                to(from, &GolemRegistry::attachCall { golemId: golem, agentKey: agent_key })
            }
            Self::Advance { golem, phase } => {
                to(from, &GolemRegistry::advanceCall { golemId: golem, phase: phase.number() })
            }
            Self::Feed { golem, phase } => {
                to(from, &GolemRegistry::feedCall { golemId: golem, phase: phase.number() })
            }
            Self::Dream { golem, dreaming } => {
                to(from, &GolemRegistry::setDreamingCall { golemId: golem, dreaming })
            }
            Self::Feel { golem, mood: Mood { pleasure, arousal, dominance } } => to(
                from,
                &GolemRegistry::updatePadCall { golemId: golem, pleasure, arousal, dominance },
            ),
            Self::Report { golem, phase, score } => {
                let phase = phase.number();
                to(from, &GolemRegistry::updateVitalityCall { golemId: golem, phase, score })
            }
        }
    }

    /// Whether an entry shows it. A node that lags behind the one that took the transaction does not yet.
    #[must_use]
    pub fn shows(&self, entry: &Entry) -> bool {
        let state = &entry.state;
        match *self {
            Self::Register { agent_key, .. } => agent_key.is_none() || entry.agent_key == agent_key,
            Self::Attach { agent_key, .. } => entry.agent_key == Some(agent_key),
            Self::Advance { phase, .. } => state.phase >= phase,
            Self::Feed { phase, .. } => state.phase == phase,
            Self::Dream { dreaming, .. } => state.dreaming == dreaming,
            Self::Feel { mood, .. } => state.mood == mood,
            Self::Report { phase, score, .. } => state.phase >= phase && state.score == score,
        }
    }
}

impl Entry {
    /// Seconds from the last writing to the block this was read on.
    #[must_use]
    pub const fn age(&self) -> u64 {
        self.block.timestamp.saturating_sub(self.state.updated_at)
    }

    /// The phase a rule judges by: one that was written more than `staleness` seconds ago is Conservation at best.
    #[must_use]
    pub fn phase_within(&self, staleness: u64) -> Phase {
        if self.age() > staleness {
            self.state.phase.max(Phase::Conservation)
        } else {
            self.state.phase
        }
    }
}

impl GolemState {
    /// Reads a word. What no Golem can be in is none: the registry writes no such word.
    #[must_use]
    pub fn read(word: U256) -> Option<Self> {
        /// Low bits first, as `GolemWord.sol` has them; what is above is zero.
        struct Bits(u128);
        impl Bits {
            const fn take(&mut self, width: u32) -> u128 {
                let field = self.0 & ((1 << width) - 1);
                self.0 >>= width;
                field
            }
            const fn flag(&mut self) -> bool {
                self.take(1) == 1
            }
            fn signed(&mut self) -> Option<i8> {
                Some(u8::try_from(self.take(8)).ok()?.cast_signed())
            }
        }
        let mut bits = Bits(u128::try_from(word).ok()?);
        let state = Self {
            registered: bits.flag(),
            dreaming: bits.flag(),
            closed: bits.flag(),
            phase: Phase::of_number(u8::try_from(bits.take(3)).ok()?)?,
            score: u16::try_from(bits.take(14)).ok()?,
            mood: Mood {
                pleasure: bits.signed()?,
                arousal: bits.signed()?,
                dominance: bits.signed()?,
            },
            updated_at: u64::try_from(bits.take(40)).ok()?,
            min_epoch: u16::try_from(bits.take(16)).ok()?,
        };
        (bits.0 == 0).then_some(state)
    }
}

/// What the registry said against something, in words; none where these are no words of its own.
pub(crate) fn refused_because(words: &[u8]) -> Option<String> {
    let name = |number: u8| {
        Phase::of_number(number).map_or("no phase".to_owned(), |one| format!("{one:?}"))
    };
    Some(match Refusal::abi_decode(words).ok()? {
        Refusal::GolemRegistry_NotRegistered(e) => format!("{} is not on the register", e.golemId),
        Refusal::GolemRegistry_AlreadyRegistered(e) => {
            format!("{} is registered, and once only", e.golemId)
        }
        Refusal::GolemRegistry_Closed(e) => {
            format!("{} died: nothing about it changes any more", e.golemId)
        }
        Refusal::GolemRegistry_NotOwner(e) => {
            format!("{} is not the owner of {}; his key is needed", e.caller, e.golemId)
        }
        Refusal::GolemRegistry_NotAgent(e) => {
            format!("{} is not the key attached to {}; that one is needed", e.caller, e.golemId)
        }
        Refusal::GolemRegistry_NotAKey(e) => format!("nobody holds the key of {}", e.agentKey),
        Refusal::GolemRegistry_PhaseBackward(e) => format!(
            "phases go forward: {} lies behind {}; its owner can feed it",
            name(e.phase),
            name(e.current)
        ),
        Refusal::GolemRegistry_CannotFeed(e) => format!(
            "feeding leads back to Thriving or Stable, and never from Terminal: not from {} to {}",
            name(e.current),
            name(e.phase)
        ),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `GolemWord.sol`: registered 1, dreaming 1, closed 1, phase 3, score 14, PAD 8 each, last update 40, epoch 16.
    fn word(phase: u64) -> U256 {
        U256::from(0b011u64)
            | U256::from(phase) << 3
            | U256::from(9_999u64) << 6
            | U256::from(0x9cu64) << 20
            | U256::from(0x64u64) << 28
            | U256::from(0xffu64) << 36
            | U256::from(1_800_000_084u64) << 44
            | U256::from(2_049u64) << 84
    }

    fn entry(word: U256, now: u64) -> Entry {
        Entry {
            golem: B256::ZERO,
            owner: Address::repeat_byte(1),
            agent_key: Some(Address::repeat_byte(2)),
            attached_epoch: 0,
            generation: 0,
            state: GolemState::read(word).unwrap(),
            block: BlockRef { number: 1, hash: B256::ZERO, timestamp: now },
        }
    }

    #[test]
    fn a_word_is_read_field_by_field() {
        let expected = GolemState {
            registered: true,
            dreaming: true,
            closed: false,
            phase: Phase::Declining,
            score: 9_999,
            mood: Mood { pleasure: -100, arousal: 100, dominance: -1 },
            updated_at: 1_800_000_084,
            min_epoch: 2_049,
        };

        assert_eq!(GolemState::read(word(3)), Some(expected));
    }

    #[test]
    fn a_word_with_an_unknown_phase_or_more_bits_is_of_no_golem() {
        for bit in 100..256 {
            assert_eq!(GolemState::read(word(3) | U256::from(1) << bit), None, "bit {bit}");
        }
        for phase in 5u64..8 {
            assert_eq!(GolemState::read(word(phase)), None, "phase {phase}");
        }
    }

    /// As `GolemWords.effectivePhase`.
    #[test]
    fn an_entry_counts_as_conservation_from_the_second_after_its_bound() {
        for (phase, age, counts) in
            [(0, 60, Phase::Thriving), (0, 61, Phase::Conservation), (3, 61, Phase::Declining)]
        {
            let entry = entry(word(phase), 1_800_000_084 + age);
            assert_eq!((entry.age(), entry.phase_within(60)), (age, counts));
        }
    }

    #[test]
    fn what_an_entry_does_not_show_was_not_written() {
        let (entry, golem) = (entry(word(3), 1_800_000_100), B256::ZERO);
        let other = Address::repeat_byte(9);
        let mood = entry.state.mood;
        let (phase, score) = (Phase::Declining, 9_999);
        for (writing, shown) in [
            (Writing::Register { salt: golem, agent_key: None }, true),
            (Writing::Register { salt: golem, agent_key: Some(other) }, false),
            (Writing::Attach { golem, agent_key: Address::repeat_byte(2) }, true),
            (Writing::Attach { golem, agent_key: other }, false),
            (Writing::Advance { golem, phase }, true),
            (Writing::Advance { golem, phase: Phase::Terminal }, false),
            (Writing::Feed { golem, phase }, true),
            (Writing::Feed { golem, phase: Phase::Stable }, false),
            (Writing::Dream { golem, dreaming: true }, true),
            (Writing::Dream { golem, dreaming: false }, false),
            (Writing::Feel { golem, mood }, true),
            (Writing::Feel { golem, mood: Mood { arousal: 0, ..mood } }, false),
            (Writing::Report { golem, phase, score }, true),
            (Writing::Report { golem, phase, score: 1 }, false),
            (Writing::Report { golem, phase: Phase::Terminal, score }, false),
        ] {
            assert_eq!(writing.shows(&entry), shown, "{writing:?}");
        }
    }
}
