#!/usr/bin/env bash
# Every Solidity test, with a report for the proof ledger; the named gas figures must be the committed ones.
#
#   tools/forge-tests.sh           compares contracts/snapshots
#   tools/forge-tests.sh --write   rewrites it
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

xtask() { cargo run --quiet --locked -p xtask -- "$@"; }
report=contracts/out/forge-tests.json
mkdir -p contracts/out
rm -f "$report"

status=0
(cd contracts && ../node_modules/@foundry-rs/forge-linux-amd64/bin/forge test --json >out/forge-tests.json) || status=$?
xtask forge-report "$report" || exit 1
[[ $status -eq 0 ]] || exit "$status"
if [[ ${1-} == --write ]]; then
  xtask snapshots
else
  xtask snapshots --check
fi
