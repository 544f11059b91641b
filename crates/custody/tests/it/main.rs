//! The kernel over fakes of its ports: what is judged, what is signed, and what never is.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail loudly")]

mod books;
mod clearance;
mod keys;
