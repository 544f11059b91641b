//! What was wished for, looked at as a whole: before anything is born, asked or sent.

use super::{embedded, runway};
use crate::{
    answer::{Failure, OrUse},
    cli::{OnboardAccount, OnboardArgs, OnboardMode, Wishes},
    input,
};
use alloy::primitives::{Address, B256, Bytes, U256};
use anyhow::{Context as _, anyhow};
use golem_chain::{Deposit, Privy};
use golem_custody::{
    AppSecret, AuthorizationPublicKey, CustodyMode, DelegationBounds, Password, WalletApp,
};
use golem_delegation::{permission, terms::GolemCharter};
use std::path::PathBuf;

/// Longest address of an identity's file.
const MOST_URI: usize = 2_048;
/// How long a grant lasts if nothing else is said: long enough that time is not what a new Golem's vitality suffers from.
const DAYS: u64 = 30;
/// 0.05 ether (SPEC D20).
const STIPEND: U256 = U256::from_limbs([50_000_000_000_000_000, 0, 0, 0]);

/// Wishes that can come true, as far as that is known without a chain.
pub(super) struct Plan {
    pub(super) mode: CustodyMode,
    pub(super) key: PlannedKey,
    pub(super) salt: B256,
    /// Code of the account that is to be made; none where the money stays where it is, or goes to a wallet.
    pub(super) proxy_code: Option<Bytes>,
    pub(super) charter: Option<GolemCharter>,
    pub(super) days: u64,
    /// What bounds a key in a file beside the charter; none in other modes, or where its owner wants none.
    pub(super) bounds: Option<PlannedBounds>,
    pub(super) concentration_bps: u16,
    pub(super) drawdown_bps: u16,
    pub(super) stipend: U256,
    pub(super) deposits: Vec<Deposit>,
    pub(super) identity: Option<String>,
    pub(super) runway: Option<permission::Answer>,
    pub(super) beyond_limits: bool,
}

/// What its owner said of a local key's bounds, and what is usual where he said nothing.
pub(super) struct PlannedBounds {
    daily: Option<u64>,
    calls: u32,
    targets: Vec<Address>,
}

impl PlannedBounds {
    /// Calls of a day, where nothing was said: an allowance and a swap for each hour.
    const CALLS_A_DAY: u64 = 48;

    fn of(mode: CustodyMode, wishes: &Wishes, days: u64) -> Result<Option<Self>, Failure> {
        let Wishes { daily, calls, targets, by_charter_alone, .. } = wishes;
        if mode != CustodyMode::LocalKey {
            return Ok(None);
        }
        if *by_charter_alone {
            // A manifest can say both.
            return if daily.is_none() && calls.is_none() && targets.is_empty() {
                Ok(None)
            } else {
                Err(off(
                    "by-charter-alone",
                    "there are bounds beside it: leave out the one or the other",
                ))
            };
        }
        let usual = u32::try_from(days * Self::CALLS_A_DAY).unwrap_or(u32::MAX);
        let calls = calls.unwrap_or(usual);
        Ok(Some(Self { daily: *daily, calls, targets: targets.clone() }))
    }

    /// Within `most`, which is all that the owner would ever grant.
    pub(super) fn within(&self, most: &GolemCharter) -> DelegationBounds {
        DelegationBounds {
            max_daily_micro_dollars: self.daily.unwrap_or(most.spend_cap),
            max_total_calls: self.calls,
            expires_at: most.window.end(),
            allowed_targets: if self.targets.is_empty() {
                DelegationBounds::targets_of(most)
            } else {
                self.targets.clone()
            },
        }
    }
}

/// What the Golem will act with.
pub(super) enum PlannedKey {
    /// One that was born where it runs.
    Elsewhere(Address),
    /// One in a file here, by this password.
    Here(Password),
    /// A wallet at a service.
    Provided(Box<PlannedWallet>),
}

pub(super) struct PlannedWallet {
    pub(super) service: Privy,
    pub(super) app: WalletApp,
    pub(super) keeper_keystore: PathBuf,
    pub(super) keeper_password: Password,
    pub(super) key: AuthorizationPublicKey,
    pub(super) most_per_call: Option<U256>,
}

/// Wrong use: which wish, what is wrong with it, and what to do.
fn off(field: &str, what: impl std::fmt::Display) -> Failure {
    Failure::Use(anyhow!("{field}: {what}"))
}

impl OnboardArgs {
    /// The manifest's, or those of the flags.
    fn wished(&self) -> Result<Wishes, Failure> {
        let Some(path) = &self.manifest else { return Ok(self.wishes.clone()) };
        let text = input::file(path)?;
        let mut wishes: Wishes = toml::from_str(&text)
            .with_context(|| format!("{} is no manifest; nothing was done", path.display()))
            .or_use()?;
        let folder = path.parent().map(PathBuf::from).unwrap_or_default();
        for file in wishes.files() {
            *file = folder.join(&*file);
        }
        Ok(wishes)
    }
}

impl Plan {
    pub(super) fn of(args: &OnboardArgs) -> Result<Self, Failure> {
        let wishes = args.wished()?;
        let mode = match wishes.mode {
            Some(OnboardMode::Vault) => CustodyMode::Delegation,
            Some(OnboardMode::Local) => CustodyMode::LocalKey,
            Some(OnboardMode::Embedded) => CustodyMode::Embedded,
            None => return Err(off("mode", "it is missing: say vault, local or embedded")),
        };
        fitting(mode, &wishes)?;
        let key = key(&wishes)?;
        let account = wishes.account.unwrap_or_default();
        let proxy_code = match (mode, account) {
            (CustodyMode::Embedded, _) | (_, OnboardAccount::Eoa) => None,
            (_, OnboardAccount::Vault) => Some(input::proxy_code(wishes.proxy_code.as_deref())?),
        };
        let days = wishes.days.unwrap_or(DAYS);
        if !(1..=366).contains(&days) {
            return Err(off("days", format!("{days} is not 1 to 366")));
        }
        let share = |field, bps: Option<u16>, usual| match bps.unwrap_or(usual) {
            bps @ ..=10_000 => Ok(bps),
            more => Err(off(field, format!("{more} is more than the whole: say 0 to 10000"))),
        };
        for Deposit { asset, amount } in &wishes.deposits {
            if amount.is_zero() {
                return Err(off("deposit", format!("it is nothing of {asset:?}: leave it out")));
            }
        }
        Ok(Self {
            mode,
            key,
            salt: wishes.salt.unwrap_or_default(),
            proxy_code,
            charter: wishes.charter.as_deref().map(input::charter).transpose()?,
            days,
            bounds: PlannedBounds::of(mode, &wishes, days)?,
            concentration_bps: share("concentration-bps", wishes.concentration_bps, 10_000)?,
            drawdown_bps: share("drawdown-bps", wishes.drawdown_bps, 2_000)?,
            stipend: wishes.stipend.unwrap_or(STIPEND),
            identity: wishes.identity.map(uri).transpose()?,
            runway: wishes
                .runway
                .as_deref()
                .map(input::permission_answer)
                .transpose()?
                .map(runway::whole),
            beyond_limits: wishes.runway_beyond_limits,
            deposits: wishes.deposits,
        })
    }

    /// The Golem's key, where it is known before anything is born.
    pub(super) const fn known_key(&self) -> Option<Address> {
        match &self.key {
            PlannedKey::Elsewhere(key) => Some(*key),
            PlannedKey::Here(_) | PlannedKey::Provided(_) => None,
        }
    }
}

/// What has no meaning in a mode is refused: whoever wished for it means something else.
fn fitting(mode: CustodyMode, wishes: &Wishes) -> Result<(), Failure> {
    let embedded = mode == CustodyMode::Embedded;
    for (field, given) in [
        ("daily", wishes.daily.is_some()),
        ("calls", wishes.calls.is_some()),
        ("target", !wishes.targets.is_empty()),
        ("by-charter-alone", wishes.by_charter_alone),
    ] {
        if given && mode != CustodyMode::LocalKey {
            return Err(off(field, "it is for local mode: leave it out"));
        }
    }
    for (field, given) in [
        ("session-public-key", wishes.session_public_key.is_some()),
        ("privy-url", wishes.privy_url.is_some()),
        ("privy-app-id", wishes.privy_app_id.is_some()),
        ("privy-app-secret-file", wishes.privy_app_secret_file.is_some()),
        ("keeper-keystore", wishes.keeper_keystore.is_some()),
        ("keeper-password-file", wishes.keeper_password_file.is_some()),
        ("most-per-call", wishes.most_per_call.is_some()),
    ] {
        if given && !embedded {
            return Err(off(field, "it is for embedded mode: leave it out"));
        }
    }
    for (field, given) in [
        ("session", wishes.session.is_some()),
        ("session-password-file", wishes.session_password_file.is_some()),
        ("account", wishes.account.is_some()),
        ("proxy-code", wishes.proxy_code.is_some()),
        ("runway", wishes.runway.is_some()),
        ("runway-beyond-limits", wishes.runway_beyond_limits),
    ] {
        if given && embedded {
            return Err(off(field, "it is not for embedded mode: leave it out"));
        }
    }
    if wishes.account == Some(OnboardAccount::Eoa) && !wishes.deposits.is_empty() {
        return Err(off(
            "deposit",
            "with account eoa the money is where it should be: leave it out",
        ));
    }
    Ok(())
}

fn key(wishes: &Wishes) -> Result<PlannedKey, Failure> {
    match (wishes.mode, wishes.session, &wishes.session_password_file) {
        (Some(OnboardMode::Embedded), ..) => Ok(PlannedKey::Provided(Box::new(wallet(wishes)?))),
        (Some(OnboardMode::Local), None, Some(file)) => {
            Ok(PlannedKey::Here(Password::from_file(file).or_use()?))
        }
        (Some(OnboardMode::Local), ..) => Err(off(
            "session-password-file",
            "in local mode the Golem's key is born here: give --session-password-file FILE, and no --session",
        )),
        (_, Some(session), None) if !session.is_zero() => Ok(PlannedKey::Elsewhere(session)),
        _ => Err(off(
            "session",
            "in vault mode the Golem's key is born where it runs: give its address by --session ADDRESS",
        )),
    }
}

fn wallet(wishes: &Wishes) -> Result<PlannedWallet, Failure> {
    fn given<'a, T: ?Sized>(
        field: &str,
        wish: Option<&'a T>,
        what: &str,
    ) -> Result<&'a T, Failure> {
        wish.ok_or_else(|| off(field, format!("in embedded mode {what}: give --{field}")))
    }
    let app_id = given("privy-app-id", wishes.privy_app_id.as_deref(), "an app at Privy asks")?;
    let url = wishes.privy_url.as_deref().unwrap_or(WalletApp::PRIVY);
    let app = WalletApp::new(url, app_id).context("privy-url, privy-app-id").or_use()?;
    let secret = given(
        "privy-app-secret-file",
        wishes.privy_app_secret_file.as_deref(),
        "the app has a secret",
    )?;
    let secret = Password::from_file(secret).context("privy-app-secret-file").or_use()?;
    let service = Privy::new(app.clone(), &AppSecret::new(secret))
        .context("privy-app-secret-file")
        .or_use()?;
    let key = given(
        "session-public-key",
        wishes.session_public_key.as_deref(),
        "the Golem's key is born where it runs",
    )?;
    let key = AuthorizationPublicKey::parse(key).ok_or_else(|| {
        off("session-public-key", "it is no P-256 key: base64 of its SPKI in DER is needed")
    })?;
    let keystore =
        given("keeper-keystore", wishes.keeper_keystore.as_deref(), "a key of yours rules")?;
    let password = given(
        "keeper-password-file",
        wishes.keeper_password_file.as_deref(),
        "that key is sealed",
    )?;
    let keeper_password = Password::from_file(password).context("keeper-password-file").or_use()?;
    if keystore.exists() {
        embedded::keeper(keystore, &keeper_password).context("keeper-keystore").or_use()?;
    }
    if wishes.most_per_call.is_some_and(|most| most.is_zero()) {
        return Err(off("most-per-call", "it is nothing: say how much"));
    }
    Ok(PlannedWallet {
        service,
        app,
        keeper_keystore: keystore.to_owned(),
        keeper_password,
        key,
        most_per_call: wishes.most_per_call,
    })
}

fn uri(uri: String) -> Result<String, Failure> {
    let plain = !uri.is_empty() && !uri.chars().any(|c| c.is_control() || c.is_whitespace());
    if plain && uri.len() <= MOST_URI {
        Ok(uri)
    } else {
        Err(off(
            "identity",
            format!("it is no address of a file: 1 to {MOST_URI} letters without spaces"),
        ))
    }
}
