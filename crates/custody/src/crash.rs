//! Where tests end this process at once, as a lost machine would.

/// Ends this process by SIGKILL if `BARDO_CRASH_AT` names this step. Nothing at all in a build without `test-utils`.
#[cfg(feature = "test-utils")]
pub fn at(step: &str) {
    if std::env::var_os("BARDO_CRASH_AT").is_some_and(|named| named == step) {
        let _ =
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    }
}

/// Nothing.
#[cfg(not(feature = "test-utils"))]
pub(crate) const fn at(_step: &str) {}
