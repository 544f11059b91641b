#!/usr/bin/env bash
# Every Rust test but the doc tests, with a report for the proof ledger.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if cargo nextest --version >/dev/null 2>&1; then
  exec cargo nextest run --locked --workspace --profile ci
fi
echo 'notice: cargo-nextest is missing; the tests run with libtest'
exec cargo run --quiet --locked -p xtask -- libtest-junit
