//! ERC-7715: asking a wallet for a permission, and reading what its owner granted.
//!
//! ```text
//!  Request ──Form::write_requests──► wallet ──► answer's JSON ──read──► Answer
//!     │                                                                   │
//!     └──────────────────► Granted::check(answer, asked, …) ◄─────────────┘
//!                                 │ every field held against the signed caveats
//!                     ┌───────────┼────────────┐
//!                  edits()     health()     explain()
//! ```
//!
//! Read the answer, never the request: the owner may have edited it. And do not believe the answer either: only
//! the caveats in its context bind anybody, so [`Granted`] is made by comparing the two.
//!
//! ```
//! use golem_delegation::permission::{Asset, Form, Periodic, Permission, Request, Rules};
//! # use alloy_primitives::{Address, U256};
//! let session = Address::repeat_byte(1);
//! let request = Request {
//!     chain_id: 8453,
//!     from: None,
//!     to: session,
//!     permission: Permission::Periodic(Periodic {
//!         asset: Asset::Erc20(Address::repeat_byte(2)),
//!         amount: U256::from(10_000_000),
//!         duration: 86_400,
//!         start: None,
//!     }),
//!     adjustable: true,
//!     justification: Some("running costs".to_owned()),
//!     rules: Rules { expiry: Some(1_800_000_000), redeemers: vec![session], ..Rules::default() }.adjustable(true),
//! };
//! let call = Form::Today.write_requests(&[request])?;
//! assert_eq!(call["method"], "wallet_requestExecutionPermissions");
//! # Ok::<(), golem_delegation::permission::FormError>(())
//! ```

mod answer;
mod edit;
mod explain;
mod form;
mod granted;
mod health;
mod request;
mod wallet;

pub use answer::{Answer, Dependency};
pub use edit::{Edit, Figure, Time};
pub use explain::{Token, Tokens, explain_request};
pub use form::{
    Form, FormError, MAX_ADDRESSES, MAX_ENTRIES, MAX_JUSTIFICATION, MAX_TEXT, Message, Read, read,
    read_with,
};
pub use granted::{Expected, GrantError, Granted, Signed};
pub use health::{Cause, Condition, DAY, Health, Usage};
pub use request::{
    Allowance, Asset, MAX_PERIOD, Periodic, Permission, Request, RequestError, Rules, Stream,
};
pub use wallet::{Supported, granted_call, read_granted, revoke_call, supported_call};
