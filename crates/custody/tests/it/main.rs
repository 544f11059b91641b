//! The kernel over fakes of its ports: what is judged, what is signed, and what never is.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests may fail loudly"
)]
#![expect(clippy::disallowed_methods, reason = "tests of what comes after a judgement")]

mod acts;
mod bequest;
mod books;
mod bounds;
mod charter;
mod clearance;
mod embedded;
mod fuzz_bodies;
mod fuzzing;
mod heads;
mod keys;
mod memory;
mod metabolism;
mod mode;
mod onboarding;
mod redaction;
mod redemptions;
mod rotation;
mod running_costs;
mod runway;
mod settlement;
