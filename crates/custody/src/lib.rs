#![doc = include_str!("../README.md")]

mod books;
mod clearance;
mod denial;
mod keyfile;
mod operation;
mod owner;
mod ports;
mod redemption;
mod session;
mod transaction;

pub use books::{
    Answer, Approvals, Approving, Audit, AuditHead, Bid, Books, Caps, Ending, Entry, IntentId,
    Open, Question, Reserving, Route, Step, Steps,
};
pub use clearance::{Clearance, Cleared, ClearingPolicy, CustodyError, clear, given};
pub use denial::{Denial, DenialCode};
pub use keyfile::{KeyFileError, Password};
pub use operation::{
    ClearedOperation, Operate, OperationClearance, OperationDraft, OperationPlan, SessionAccount,
    SignedOperation, clear_operation,
};
pub use owner::OwnerSigner;
pub use ports::{
    Asset, BlockRef, BoxError, Change, DryRun, Held, Outcome, Preview, Receipt, SessionSigner,
    Submit,
};
pub use redemption::{Execution, Redemption, encode_batch};
pub use session::SessionKey;
pub use transaction::{Offer, SignedTransaction, TransactionPlan};
