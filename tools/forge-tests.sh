#!/usr/bin/env bash
# Every Solidity test, with a report for the proof ledger.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

report=contracts/out/forge-tests.json
mkdir -p contracts/out
rm -f "$report"

status=0
(cd contracts && ../node_modules/@foundry-rs/forge-linux-amd64/bin/forge test --json >out/forge-tests.json) || status=$?
cargo run --quiet --locked -p xtask -- forge-report "$report" || exit 1
exit "$status"
