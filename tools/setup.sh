#!/usr/bin/env bash
# Installs what the build uses and the machine lacks. Debian with Rust, Node 20 and make is enough to start.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

nextest=0.9.143

refuse() {
  echo "setup: $*" >&2
  exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

# A C compiler for the few crates that bring C, patch for the mutants, strace for the test that sees what the disk is asked, and a
# browser for the one that looks at a Golem's page.
if ! have cc || ! have patch || ! have strace || ! have chromium; then
  if [[ $(id -u) -eq 0 ]] && have apt-get; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends build-essential patch strace chromium
  else
    refuse 'there is no C compiler, no patch, no strace or no chromium; run: sudo apt-get install build-essential patch strace chromium'
  fi
fi

have cargo || refuse 'there is no cargo; install Rust with rustup'
# The first call under rust-toolchain.toml may have to fetch the toolchain.
cargo --version || { have rustup && rustup toolchain install; } || refuse 'the pinned Rust toolchain is not available'
cargo fetch --locked

have node || refuse 'there is no Node; version 20 or newer is needed'
major=$(node -p 'process.versions.node.split(".")[0]')
[[ $major -ge 20 ]] || refuse "Node $major is too old; version 20 or newer is needed"

lock=$(sha256sum package-lock.json | cut -d' ' -f1)
if [[ $(cat node_modules/.stamp 2>/dev/null) != "$lock" ]]; then
  npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
  echo "$lock" >node_modules/.stamp
fi

if ! cargo nextest --version >/dev/null 2>&1; then
  cargo install cargo-nextest --locked --version "$nextest" ||
    echo "notice: cargo-nextest $nextest could not be installed; tests run with cargo's own runner, without a time limit for each"
fi
