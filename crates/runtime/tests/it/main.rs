//! Tests of the runtime's own parts; whole lives are in `tests/e2e`.
