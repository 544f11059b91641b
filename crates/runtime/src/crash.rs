//! Where tests end this process at once, as a lost machine would.

/// Ends this process by SIGKILL if `BARDO_CRASH_AT` names this step. Nothing at all in a build without `test-utils`.
#[cfg(feature = "test-utils")]
pub(crate) fn at(step: &str) {
    golem_custody::crash::at(step);
}

/// Nothing.
#[cfg(not(feature = "test-utils"))]
pub(crate) const fn at(_step: &str) {}
