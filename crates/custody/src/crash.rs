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

/// Writes the list once: a place that is not in [`Failpoint::ALL`] has no name, and so cannot be written down in the code.
macro_rules! failpoints {
    ($($(#[$doc:meta])* $place:ident = $name:literal,)*) => {
        /// Places between two effects. Tests go through all of them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Failpoint {
            $($(#[$doc])* $place,)*
        }

        impl Failpoint {
            /// Every one.
            #[cfg(feature = "test-utils")]
            pub const ALL: &[Self] = &[$(Self::$place,)*];

            /// What `BARDO_CRASH_AT` calls it.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$place => $name,)*
                }
            }
        }
    };
}

failpoints! {
    /// A key is sealed, and has no name yet.
    KeySealed = "keyfile.sealed",
    /// It has its name, and that of its making still.
    KeyNamed = "keyfile.named",
    /// The next key is there, and nobody was asked.
    RotationBorn = "rotation.born",
    /// That the owner is asked is written down; he was not asked yet.
    RotationAsked = "rotation.asked",
    /// He has signed, which is not written down.
    RotationAnswered = "rotation.answered",
    /// It is.
    RotationGranted = "rotation.granted",
    /// Nothing is afloat, and the old key is in its place.
    RotationSwitching = "rotation.switching",
    /// The new one is, which is not written down.
    RotationSwitched = "rotation.switched",
    /// It is.
    RotationResting = "rotation.resting",
    /// A rotation is given up: its key is wiped, and it stands there still.
    RotationDiscarded = "rotation.discarded",
    /// It does not any more.
    RotationForgotten = "rotation.forgotten",
    /// Of onboarding, each step before it is written down and after.
    OnboardingAsks = "onboarding.asks",
    /// As its name says.
    OnboardingAsked = "onboarding.asked",
    /// As its name says.
    OnboardingSignsIn = "onboarding.signs-in",
    /// As its name says.
    OnboardingSignedIn = "onboarding.signed-in",
    /// As its name says.
    OnboardingChooses = "onboarding.chooses",
    /// As its name says.
    OnboardingChose = "onboarding.chose",
    /// As its name says.
    OnboardingSetsUp = "onboarding.sets-up",
    /// As its name says.
    OnboardingSetUp = "onboarding.set-up",
    /// As its name says.
    OnboardingWrites = "onboarding.writes",
    /// As its name says.
    OnboardingWrote = "onboarding.wrote",
    /// As its name says.
    OnboardingRegisters = "onboarding.registers",
    /// As its name says.
    OnboardingRegistered = "onboarding.registered",
    /// As its name says.
    OnboardingSummons = "onboarding.summons",
    /// As its name says.
    OnboardingSummoned = "onboarding.summoned",
    /// A mode is chosen, which the onboarding's step does not say yet.
    CustodyChosen = "custody.chosen",
    /// It is bound, and what was made for it is not written down.
    CustodyBound = "custody.bound",
    /// The first tick has fixed it, and is not written down.
    CustodyFixed = "custody.fixed",
    /// A sum is set aside for an intent, and nothing is signed.
    IntentReserved = "intent.reserved",
    /// It is signed, and nobody has that.
    IntentSealed = "intent.sealed",
    /// The books have it, and nobody else.
    IntentKept = "intent.kept",
    /// Its end is known, and not written down.
    IntentEnding = "intent.ending",
    /// It is.
    IntentEnded = "intent.ended",
}

impl Failpoint {
    /// The process is here.
    pub(crate) fn reached(self) {
        at(self.name());
    }
}
