#!/usr/bin/env bash
# Runs every fuzz target for FUZZ_SECONDS (120) and records the result with the hashes of its sources.
#
#   tools/fuzz.sh SOURCE…
#
# Seeds may lie in testdata/fuzz/<target>; what a run finds by itself stays in fuzz/corpus, outside of git.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=${FUZZ_SECONDS:-120}
cargo_fuzz=0.13.2
toolchain=${FUZZ_TOOLCHAIN:-nightly}
unset CARGO_TARGET_DIR # cargo-fuzz builds with sanitizers, into fuzz/target

shopt -s nullglob
targets=(fuzz/fuzz_targets/*.rs)
if [[ ${#targets[@]} -eq 0 ]]; then
  echo 'fuzz: there is no target in fuzz/fuzz_targets' >&2
  exit 1
fi
rustup run "$toolchain" cargo --version >/dev/null 2>&1 || rustup toolchain install "$toolchain" --profile minimal
cargo fuzz --version >/dev/null 2>&1 || cargo install cargo-fuzz --locked --version "$cargo_fuzz"

mkdir -p target/log target/fuzz
ok=true
rows=''
for file in "${targets[@]}"; do
  target=$(basename "$file" .rs)
  log=target/log/fuzz-$target.log
  mkdir -p "fuzz/corpus/$target" "fuzz/artifacts/$target"
  seeds=()
  [[ -d testdata/fuzz/$target ]] && seeds=("testdata/fuzz/$target")
  marker=$(mktemp target/fuzz/started.XXXXXX)
  status=0
  cargo "+$toolchain" fuzz run "$target" "fuzz/corpus/$target" "${seeds[@]}" -- \
    -max_total_time="$seconds" -print_final_stats=1 >"$log" 2>&1 || status=$?
  execs=$(sed -n 's/^stat::number_of_executed_units: *\([0-9]*\).*/\1/p' "$log" | tail -n 1)
  crashes=$(find "fuzz/artifacts/$target" -type f -newer "$marker" | wc -l)
  rm -f "$marker"
  execs=${execs:-0}
  word=ok
  if [[ $status -ne 0 || $crashes -ne 0 || $execs -eq 0 ]]; then
    word=FAIL
    ok=false
    tail -n 40 "$log"
  fi
  printf '%-4s %-24s %12d runs %4d crashes\n' "$word" "$target" "$execs" "$crashes"
  rows+="${rows:+,}{\"target\":\"$target\",\"seconds\":$seconds,\"execs\":$execs,\"crashes\":$crashes}"
done

printf '{"ok":%s,"targets":[%s]}\n' "$ok" "$rows" >target/fuzz/result.json
[[ $ok == true ]] || exit 1
cargo run --quiet --locked -p xtask -- longrun record fuzz --sources "$@" --result target/fuzz/result.json
