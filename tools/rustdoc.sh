#!/usr/bin/env bash
# rustdoc as the doc tests need it: on stable it takes any error at all for the one that a `compile_fail,E0382` example names.
# With this set it compares them; nothing else that is unstable is used, and nothing else is built with it.
RUSTC_BOOTSTRAP=1 exec rustdoc "$@"
