//! MetaMask's own kit and a real bundler against the local chain: neither is told that it is one.

use alloy::{
    primitives::{B256, Bytes, U256, uint},
    sol,
};
use anyhow::{Context, Result, ensure};
use bardo_testkit::{Stage, root};
use golem_chain::local::Bundler;
use golem_delegation::{Delegation, PasskeyOwner, PasskeySignature, WebAuthn};
use serde::Deserialize;
use std::process::Command;

sol! {
    function isValidSignature(bytes32 hash, bytes signature) external view returns (bytes4);
}

/// What ERC-1271 answers for yes.
const YES: [u8; 4] = [0x16, 0x26, 0xba, 0x7e];

/// Order of P-256.
const ORDER: U256 = uint!(0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551_U256);

/// Runs one script of `kit/` and returns what it found.
fn kit(
    script: &str,
    arguments: &[&str],
    stage: &Stage,
    bundler: Option<&Bundler>,
) -> Result<serde_json::Value> {
    let mut command = Command::new("node");
    command
        .arg(root().join("tests/e2e/kit").join(script))
        .args(arguments)
        .current_dir(root())
        .env("RPC_URL", stage.chain().url().as_str());
    if let Some(bundler) = bundler {
        command.env("BUNDLER_URL", bundler.url().as_str());
    }
    let output = command.output().context("node is needed")?;
    ensure!(
        output.status.success(),
        "{script} {arguments:?} failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(serde_json::from_slice(&output.stdout)?)
}

#[tokio::test]
async fn the_kit_resolves_its_environment_unmodified() -> Result<()> {
    let stage = Stage::open().await?;

    let found = kit("environment.mjs", &[], &stage, None)?;

    eprintln!("{found}");
    Ok(())
}

async fn delegation(kind: &str) -> Result<()> {
    let stage = Stage::open().await?;
    let found = kit("delegation.mjs", &[kind], &stage, None)?;
    eprintln!("{found}");
    Ok(())
}

/// Addresses on which somebody listens at `port`, as the kernel writes them.
fn listens_on(port: u16) -> Result<Vec<String>> {
    const LISTEN: &str = "0A";
    let suffix = format!(":{port:04X}");
    let mut found = Vec::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        for row in std::fs::read_to_string(table)?.lines().skip(1) {
            let mut columns = row.split_whitespace().skip(1);
            let (local, _, state) = (columns.next(), columns.next(), columns.next());
            if state == Some(LISTEN)
                && let Some(address) = local.and_then(|local| local.strip_suffix(&suffix))
            {
                found.push(address.to_owned());
            }
        }
    }
    Ok(found)
}

#[tokio::test]
async fn chain_and_bundler_listen_on_loopback_alone() -> Result<()> {
    let stage = Stage::open().await?;
    let bundler = stage.bundler()?;

    for url in [stage.chain().url(), bundler.url()] {
        let port = url.port().context("no port")?;
        assert_eq!(listens_on(port)?, ["0100007F"], "{url}");
    }
    Ok(())
}

async fn user_operation(kind: &str) -> Result<()> {
    let stage = Stage::open().await?;
    let bundler = stage.bundler()?;
    let port = bundler.url().port().context("no port")?;
    ensure!(
        listens_on(port)? == ["0100007F"],
        "bundler left the loopback: {:?}",
        listens_on(port)?
    );
    let found = kit("user-operation.mjs", &[kind], &stage, Some(&bundler))?;
    eprintln!("{found}");
    Ok(())
}

#[tokio::test]
async fn a_delegation_of_a_7702_owner_goes_through() -> Result<()> {
    delegation("7702").await
}

#[tokio::test]
async fn a_delegation_of_a_hybrid_owner_goes_through() -> Result<()> {
    delegation("hybrid").await
}

#[tokio::test]
async fn a_delegation_of_a_multisig_owner_goes_through() -> Result<()> {
    delegation("multisig").await
}

#[tokio::test]
async fn a_user_operation_of_a_7702_owner_goes_through() -> Result<()> {
    user_operation("7702").await
}

#[tokio::test]
async fn a_user_operation_of_a_hybrid_owner_goes_through() -> Result<()> {
    user_operation("hybrid").await
}

#[tokio::test]
async fn a_user_operation_of_a_multisig_owner_goes_through() -> Result<()> {
    user_operation("multisig").await
}

/// What `passkey.mjs` leaves behind: an account on the chain, and what its owner signed.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PasskeyAccount {
    key_id: String,
    x: U256,
    y: U256,
    digest: B256,
    delegation: Delegation,
    bare: Bytes,
}

impl PasskeyAccount {
    fn signature(&self) -> Result<PasskeySignature> {
        Ok(PasskeySignature::decode(&self.delegation.signature)?)
    }

    /// The owner's signature with something else in it.
    fn changed(&self, change: impl FnOnce(&mut PasskeySignature)) -> Result<Bytes> {
        let mut signature = self.signature()?;
        change(&mut signature);
        Ok(signature.encode())
    }

    fn rephrased(&self, change: impl FnOnce(&mut WebAuthn)) -> Result<Bytes> {
        self.changed(|signature| {
            if let Some(assertion) = &mut signature.assertion {
                change(assertion);
            }
        })
    }

    fn flagged(&self, flags: u8, require: bool) -> Result<Bytes> {
        self.rephrased(|assertion| {
            let mut data = assertion.authenticator_data.to_vec();
            if let Some(byte) = data.get_mut(32) {
                *byte = flags;
            }
            assertion.authenticator_data = data.into();
            assertion.require_user_verification = require;
        })
    }

    /// What the account itself says.
    async fn accepts(&self, stage: &Stage, signature: &Bytes) -> bool {
        let call = isValidSignatureCall { hash: self.digest, signature: signature.clone() };
        let answer = stage.node().read(self.delegation.delegator, call).await;
        answer.is_ok_and(|magic| magic == YES)
    }

    /// What we say without asking it.
    fn verifies(&self, stage: &Stage, signature: &Bytes) -> bool {
        let owner = PasskeyOwner::new(&self.key_id, self.x, self.y);
        let signed = self.delegation.clone().signed(signature.clone());
        stage.domain().verify_passkey(&signed, &owner).is_ok()
    }
}

/// SPEC G1: the account of a passkey, made by the kit, and our word for each signature beside the account's.
#[tokio::test]
async fn a_hybrid_account_says_of_its_passkey_what_we_say() -> Result<()> {
    let stage = Stage::open().await?;
    let found = kit("passkey.mjs", &[], &stage, None)?;
    let owned: PasskeyAccount = serde_json::from_value(found)?;
    ensure!(stage.domain().digest(&owned.delegation) == owned.digest, "another digest");
    let sound = owned.delegation.signature.clone();
    let bare = PasskeySignature::decode(&owned.bare)?;

    for signature in [&sound, &owned.bare] {
        ensure!(
            owned.accepts(&stage, signature).await && owned.verifies(&stage, signature),
            "sound"
        );
    }
    let one = U256::from(1);
    let wrong = [
        ("high s", owned.changed(|it| it.s = ORDER - it.s)?),
        ("high s, bare", PasskeySignature { s: ORDER - bare.s, ..bare.clone() }.encode()),
        ("r of zero", owned.changed(|it| it.r = U256::ZERO)?),
        ("s of zero", owned.changed(|it| it.s = U256::ZERO)?),
        ("r beyond the order", owned.changed(|it| it.r += ORDER)?),
        ("another r", owned.changed(|it| it.r += one)?),
        ("another key", owned.changed(|it| it.key_id_hash = B256::ZERO)?),
        ("no user", owned.flagged(0x04, false)?),
        ("no verified user", owned.flagged(0x01, true)?),
        ("backed up", owned.flagged(0x15, true)?),
        ("other flags", owned.flagged(0x0d, true)?),
        ("another place of the type", owned.rephrased(|it| it.response_type_location += one)?),
        ("a place beyond the end", owned.rephrased(|it| it.response_type_location = U256::MAX)?),
        ("another origin", owned.rephrased(|it| it.after_challenge = b"\"}".into())?),
        ("short data", owned.rephrased(|it| it.authenticator_data.truncate(36))?),
        ("cut", sound.slice(..sound.len() - 64)),
        ("cut to a bare one", sound.slice(..96)),
        ("a plain key's length", sound.slice(..65)),
        ("nothing", Bytes::new()),
    ];
    for (name, signature) in wrong {
        ensure!(!owned.accepts(&stage, &signature).await, "{name}: the account accepts it");
        ensure!(!owned.verifies(&stage, &signature), "{name}: we accept it");
    }
    // Where we are stricter: what anybody may append is no part of a signature (ATK-05).
    let appended: Bytes = [&sound[..], &[0; 32]].concat().into();
    ensure!(
        owned.accepts(&stage, &appended).await && !owned.verifies(&stage, &appended),
        "appended"
    );
    // The word of a verified user is nobody's signature: the account takes it either way.
    let unasked = owned.rephrased(|it| it.require_user_verification = false)?;
    ensure!(owned.accepts(&stage, &unasked).await && owned.verifies(&stage, &unasked), "unasked");
    Ok(())
}
