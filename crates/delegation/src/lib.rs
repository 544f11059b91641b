#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod abi;
mod attenuation;
mod attestation;
pub mod blast_radius;
pub mod bundles;
mod context;
mod delegation;
pub mod enforcers;
mod explain;
pub mod grant;
mod params;
pub mod permission;
mod rule;
mod signing;
mod spend_window;
pub mod terms;
mod tree;
mod utc;

pub use attenuation::{EXECUTIONS_IN_A_PERIOD, Looser, MOST_OF_ONE_KIND, attenuates};
pub use attestation::GolemAttestation;
pub use context::{ContextError, MAX_CONTEXT_BYTES, MAX_LINKS, PermissionContext};
pub use delegation::{ANY_DELEGATE, Caveat, Delegation, DelegationHash, ROOT_AUTHORITY};
pub use explain::{Clause, Explanation, Gap};
pub use rule::{Environment, Kind, Opaque, Rule, UnknownKind};
pub use signing::{
    MAX_PASSKEY_BYTES, PasskeyError, PasskeyOwner, PasskeySignature, SIGNATURE_LEN, SignatureError,
    SigningDomain, WebAuthn,
};
pub use spend_window::{SpendRefusal, SpendTerms, SpendWindow};
pub use terms::TermsError;
pub use tree::{
    DelegationTree, MAX_NODES, Node, Signed, SignedError, Signer, Standing, State, TreeError,
};
pub use utc::Utc;
