#!/usr/bin/env bash
# Runs every fuzz target for FUZZ_SECONDS (120), FUZZ_AT_ONCE (as many as there are cores) side by side, and records the result with the hashes of its sources.
#
#   tools/fuzz.sh SOURCE…
#
# Seeds may lie in testdata/fuzz/<target>; what a run finds by itself stays in fuzz/corpus, outside of git.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=${FUZZ_SECONDS:-120}
at_once=${FUZZ_AT_ONCE:-$(nproc)}
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
rm -f target/fuzz/*.row

# One target, from start to its row; says in a line how it went.
fuzz_one() {
  local target=$1 log=target/log/fuzz-$1.log seeds=() marker status=0 execs crashes word=ok
  mkdir -p "fuzz/corpus/$target" "fuzz/artifacts/$target"
  [[ -d testdata/fuzz/$target ]] && seeds=("testdata/fuzz/$target")
  marker=$(mktemp target/fuzz/started.XXXXXX)
  cargo "+$toolchain" fuzz run "$target" "fuzz/corpus/$target" "${seeds[@]}" -- \
    -max_total_time="$seconds" -print_final_stats=1 >"$log" 2>&1 || status=$?
  execs=$(sed -n 's/^stat::number_of_executed_units: *\([0-9]*\).*/\1/p' "$log" | tail -n 1)
  crashes=$(find "fuzz/artifacts/$target" -type f -newer "$marker" | wc -l)
  rm -f "$marker"
  execs=${execs:-0}
  if [[ $status -ne 0 || $crashes -ne 0 || $execs -eq 0 ]]; then
    word=FAIL
    tail -n 40 "$log"
  fi
  printf '%-4s %-24s %12d runs %4d crashes\n' "$word" "$target" "$execs" "$crashes"
  printf '%s {"target":"%s","seconds":%d,"execs":%d,"crashes":%d}\n' \
    "$word" "$target" "$seconds" "$execs" "$crashes" >"target/fuzz/$target.row"
}

# Built once, so that those that run side by side do not wait for each other's builds.
cargo "+$toolchain" fuzz build >target/log/fuzz-build.log 2>&1 || { tail -n 40 target/log/fuzz-build.log; exit 1; }
for file in "${targets[@]}"; do
  while [[ $(jobs -rp | wc -l) -ge $at_once ]]; do wait -n || true; done
  fuzz_one "$(basename "$file" .rs)" &
done
wait

ok=true
rows=''
for file in "${targets[@]}"; do
  row=target/fuzz/$(basename "$file" .rs).row
  [[ -f $row && $(cut -d' ' -f1 "$row") == ok ]] || ok=false
  [[ -f $row ]] && rows+="${rows:+,}$(cut -d' ' -f2- "$row")"
done

printf '{"ok":%s,"targets":[%s]}\n' "$ok" "$rows" >target/fuzz/result.json
[[ $ok == true ]] || exit 1
cargo run --quiet --locked -p xtask -- longrun record fuzz --sources "$@" --result target/fuzz/result.json
