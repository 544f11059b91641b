#!/usr/bin/env bash
# Runs one stage: quiet on success, its log's end on failure, a ticker on a terminal.
#
#   tools/stage.sh [--record COMMAND] NAME -- PROGRAM [ARGUMENT…]
#
# --record appends {"command":COMMAND,"ok":…} to target/commands.json, which the proof ledger reads.
# Lines of the program that start with "notice: " are shown even on success. With CI=true it also says what it
# runs and how many tests that were.
set -uo pipefail

record=''
if [[ ${1-} == --record ]]; then
  record=$2
  shift 2
fi
if [[ $# -lt 3 || $2 != -- ]]; then
  echo 'usage: tools/stage.sh [--record COMMAND] NAME -- PROGRAM [ARGUMENT…]' >&2
  exit 2
fi
name=$1
shift 2

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
mkdir -p "$root/target/log"
log=$root/target/log/$name.log
: >"$log"
now() { printf '%s' "${EPOCHREALTIME//[.,]/}"; }
seconds() { printf '%d' $((($(now) - start + 500000) / 1000000)); }
start=$(now)

if [[ ${CI-} == true ]]; then
  command="$*"
  printf 'run  %s: %s\n' "$name" "${command//"$root"/.}"
fi

# The ticker is the background job, not the program: a background program would not see Ctrl-C.
ticker=''
if [[ -t 2 ]]; then
  (
    marks='|/-\'
    width=$(tput cols 2>/dev/null || echo 80)
    tick=0
    while sleep 0.25; do
      last=$(tail -n 1 "$log" 2>/dev/null | tr -d '\r\033')
      printf -v line '%s    %-18s %4d s  %s' "${marks:tick++%4:1}" "$name" "$(seconds)" "$last"
      printf '\r\033[K%s' "${line:0:width-1}" >&2
    done
  ) &
  ticker=$!
fi
stop_ticker() {
  if [[ -n $ticker ]]; then
    kill "$ticker" 2>/dev/null
    wait "$ticker" 2>/dev/null
    ticker=''
    printf '\r\033[K' >&2
  fi
}
trap stop_ticker EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

"$@" >"$log" 2>&1 </dev/null
status=$?
stop_ticker
took=$(seconds)

if [[ -n $record ]]; then
  [[ $status -eq 0 ]] && ok=true || ok=false
  quoted=${record//\\/\\\\}
  quoted=${quoted//\"/\\\"}
  printf '{"command":"%s","ok":%s}\n' "$quoted" "$ok" >>"$root/target/commands.json"
fi

if [[ $status -eq 0 ]]; then
  printf 'ok   %-18s %4d s\n' "$name" "$took"
else
  printf 'FAIL %-18s %4d s\n' "$name" "$took"
  tail -n 80 "$log"
  printf 'the whole log: %s\n' "${log#"$root/"}"
fi
grep -h '^notice: ' "$log" | sed 's/^/     /'
if [[ ${CI-} == true ]]; then
  grep -hE '^ *Summary \[|^test result: .* ([1-9][0-9]* passed|[1-9][0-9]* failed)|^(forge|libtest|demo|issue [0-9]+)\b.*:|^# (pass|fail) ' \
    "$log" | sed 's/^ */     /'
fi
exit "$status"
