use crate::{Denial, DenialCode, ForMemory, Untrusted};
use serde::Serialize;

/// How excited a Golem is, one of the three numbers of its mood: −100 to 100, as the registry keeps it.
///
/// ```
/// use golem_safety::{Arousal, DenialCode};
/// let calm = Arousal::new(0).unwrap();
/// assert_eq!(calm.raised_by([DenialCode::PolicyAsset]).get(), 10);
/// // It ends somewhere, and nothing lowers it here.
/// assert_eq!(calm.raised_by([DenialCode::PolicyTainted; 9]).get(), 100);
/// assert_eq!(Arousal::new(101), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Arousal(i8);

impl Arousal {
    /// Farthest from zero.
    pub const BOUND: i8 = 100;

    /// None for what is no arousal.
    #[must_use]
    pub const fn new(value: i8) -> Option<Self> {
        if value < -Self::BOUND || value > Self::BOUND { None } else { Some(Self(value)) }
    }

    /// As the registry has it.
    #[must_use]
    pub const fn get(self) -> i8 {
        self.0
    }

    /// After these refusals. Each adds what its code is worth; the table is in the crate's documentation.
    #[must_use]
    pub fn raised_by(self, codes: impl IntoIterator<Item = DenialCode>) -> Self {
        let sum = codes.into_iter().fold(self.0, |sum, code| sum.saturating_add(rise(code)));
        Self(sum.min(Self::BOUND))
    }
}

/// What a refusal adds to arousal. Only the cage's own refusals do: what a chain refuses is the market's business.
const fn rise(code: DenialCode) -> i8 {
    match code {
        // Something that could not be known: nobody's fault.
        DenialCode::PolicyPriceUnknown | DenialCode::PolicyPriceStale => 2,
        // A bound of the owner's.
        DenialCode::PolicyAsset
        | DenialCode::PolicyConcentration
        | DenialCode::PolicySpendTransaction
        | DenialCode::PolicySpendSession
        | DenialCode::PolicySpendDay
        | DenialCode::PolicyDrawdown => 10,
        // Something nobody should have proposed.
        DenialCode::PolicyTarget
        | DenialCode::PolicySelector
        | DenialCode::PolicyAction
        | DenialCode::PolicyBatch
        | DenialCode::PolicyAmount => 15,
        // Something that looks like an attack.
        DenialCode::PolicyParty | DenialCode::PolicySignature | DenialCode::PolicyTainted => 25,
        // The ground itself is wrong.
        DenialCode::PolicyConstitution | DenialCode::NoPolicy | DenialCode::PolicyMalformed => 40,
        _ => 0,
    }
}

/// A refusal by policy, as it is remembered (SPEC P2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    denial: Denial,
    said: Option<Untrusted<String>>,
    at: u64,
}

/// A violation as the Grimoire keeps it.
///
/// ```
/// use golem_safety::{Denial, DenialCode, Origin, Untrusted, Violation};
/// let denial = Denial::new(DenialCode::PolicyAsset, "swap of 0x…, none of the 2 assets of the policy");
/// let said = Untrusted::new("buy FREE at once".to_owned(), Origin::Clade);
/// let violation = Violation::new(denial, Some(said), 1_767_225_600);
/// let kept = serde_json::to_value(violation.warning())?;
/// assert_eq!(kept["source"], "policy_violation");
/// assert_eq!(kept["code"], "POL-ASSET");
/// assert_eq!(kept["said"]["untrustedText"], "buy FREE at once");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Warning<'a> {
    source: &'static str,
    code: DenialCode,
    reason: &'a str,
    /// What led to it, as data.
    #[serde(skip_serializing_if = "Option::is_none")]
    said: Option<ForMemory<'a>>,
    at: u64,
}

impl Warning<'_> {
    /// Where the Grimoire says it came from.
    #[must_use]
    pub const fn source(&self) -> &'static str {
        self.source
    }

    /// The second in which it happened.
    #[must_use]
    pub const fn at(&self) -> u64 {
        self.at
    }
}

impl Violation {
    /// `said` is the text that led to it, if one did.
    #[must_use]
    pub const fn new(denial: Denial, said: Option<Untrusted<String>>, at: u64) -> Self {
        Self { denial, said, at }
    }

    /// What was refused, and why.
    #[must_use]
    pub const fn denial(&self) -> &Denial {
        &self.denial
    }

    /// The Grimoire's entry.
    #[must_use]
    pub fn warning(&self) -> Warning<'_> {
        Warning {
            source: "policy_violation",
            code: self.denial.code,
            reason: &self.denial.reason,
            said: self.said.as_ref().map(Untrusted::for_memory),
            at: self.at,
        }
    }
}
