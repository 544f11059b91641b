//! One file per verb.

mod attenuates;
mod audit;
mod bequest;
mod blast_radius;
mod caveat;
pub(crate) mod chains;
mod deploy;
mod explain;
mod golem;
mod identity;
mod onboard;
pub(crate) mod permission;
mod redeem;
mod registry;
mod report;
mod revoke;
mod sign;
mod simulate;
mod status;
mod tree;
mod up;
mod vault;
mod verify;
mod wallet;

pub(crate) use attenuates::attenuates;
pub(crate) use audit::audit;
pub(crate) use bequest::bequest;
pub(crate) use blast_radius::blast_radius;
pub(crate) use caveat::{decode as caveat_decode, encode as caveat_encode, kinds as caveat_kinds};
pub(crate) use deploy::deploy;
pub(crate) use explain::explain;
pub(crate) use golem::golem;
pub(crate) use identity::identity;
pub(crate) use onboard::onboard;
pub(crate) use redeem::redeem;
pub(crate) use registry::registry;
pub(crate) use report::report;
pub(crate) use revoke::revoke;
pub(crate) use sign::sign;
pub(crate) use simulate::simulate;
pub(crate) use status::status;
pub(crate) use tree::tree;
pub(crate) use up::up;
pub(crate) use vault::vault;
pub(crate) use verify::verify;
pub(crate) use wallet::wallet;

use crate::{
    answer::{Answer, Failure, OrUse},
    cli::{Cli, Curve, SessionArgs},
    input,
};
use alloy::primitives::Address;
use clap::CommandFactory;
use clap_complete::{Shell, generate};
use golem_custody::{P256Key, Password, SessionKey, SessionSigner};
use serde_json::json;
use std::path::Path;

/// `bardo completions`
pub(crate) fn completions(shell: Shell) -> Result<Answer, Failure> {
    let mut script = Vec::new();
    generate(shell, &mut Cli::command(), "bardo", &mut script);
    let script = String::from_utf8(script)?;
    Ok(Answer::yes(json!({ "script": script }), script))
}

/// `bardo delegation hash`
pub(crate) fn hash(file: &Path) -> Result<Answer, Failure> {
    let hashes: Vec<String> =
        input::whole_delegations(file)?.iter().map(|d| d.hash().to_string()).collect();
    let text = hashes.join("\n");
    Ok(Answer::yes(json!(hashes), text))
}

/// `bardo session new`
pub(crate) fn session_new(args: &SessionArgs) -> Result<Answer, Failure> {
    let secret = &args.secret;
    let password = Password::from_file(&secret.password_file).or_use()?;
    let address = match args.form.curve {
        Curve::Secp256k1 => {
            let key = SessionKey::born();
            key.save(&secret.keystore, &password).or_use()?;
            key.address()
        }
        Curve::P256 => {
            let key = P256Key::born();
            // Whoever cannot be told where the key's account is has no use for the key.
            let account = input::p256_account(&key, &args.form)?;
            key.save(&secret.keystore, &password).or_use()?;
            account.address()
        }
    };
    Ok(shown(address, args))
}

/// `bardo session show`
pub(crate) fn session_show(args: &SessionArgs) -> Result<Answer, Failure> {
    let address = match args.form.curve {
        Curve::Secp256k1 => input::session(&args.secret)?.address(),
        Curve::P256 => input::p256_session(&args.secret, &args.form)?.1.address(),
    };
    Ok(shown(address, args))
}

fn shown(address: Address, args: &SessionArgs) -> Answer {
    let curve = match args.form.curve {
        Curve::Secp256k1 => "secp256k1",
        Curve::P256 => "p256",
    };
    let value = json!({ "address": address, "curve": curve, "keystore": args.secret.keystore });
    Answer::yes(value, address.to_string())
}
