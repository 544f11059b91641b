use crate::{
    answer::{Failure, OrUse},
    cli::{KeyArgs, KeystoreArgs, SessionForm},
};
use alloy::{
    hex,
    primitives::{Address, B256, Bytes, U256, keccak256},
};
use anyhow::{Context, anyhow, bail, ensure};
use bardo_bindings::{Chains, framework::PROXY_CODE_HASH};
use golem_chain::{Node, local::LocalFiles, p256_session_account};
use golem_custody::{
    ClearingPolicy, Execution, OwnerSigner, P256Key, P256SessionKey, Password, SessionAccount,
    SessionKey,
};
use golem_delegation::{
    Delegation, Kind, PermissionContext, Rule,
    blast_radius::Observed,
    permission::{self, Form, Request},
    terms::GolemCharter,
};
use serde::de::DeserializeSeed as _;
use serde_json::Value;
use std::{
    env,
    fs::File,
    io::{BufRead, IsTerminal, Read, stdin},
    path::{Path, PathBuf},
    slice,
    time::{SystemTime, UNIX_EPOCH},
};
use url::Url;
use zeroize::Zeroizing;

/// More than any sane list of delegations; less than what would hurt.
const MAX_INPUT: u64 = 4 * 1024 * 1024;

/// Longest password that is read; a longer one is cut and does not open anything.
const MAX_PASSWORD: usize = 4096;

/// Reads a whole file, or standard input where the path is `-`.
fn text(path: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    let source: Box<dyn Read> = if path == Path::new("-") {
        Box::new(stdin())
    } else {
        Box::new(File::open(path).with_context(|| format!("cannot open {}", path.display()))?)
    };
    let read = source
        .take(MAX_INPUT + 1)
        .read_to_string(&mut text)
        .with_context(|| format!("cannot read {} as text", path.display()))?;
    if u64::try_from(read).is_ok_and(|read| read > MAX_INPUT) {
        bail!("{} is larger than {MAX_INPUT} bytes", path.display());
    }
    Ok(text)
}

/// Words of the command line, or standard input where they are `-`.
pub(crate) fn inline(words: &str) -> anyhow::Result<String> {
    if words == "-" { text(Path::new("-")) } else { Ok(words.to_owned()) }
}

/// Whole bytes in hex with `0x`, and in no other form.
pub(crate) fn bytes(text: &str) -> anyhow::Result<Bytes> {
    let digits = text.strip_prefix("0x").context("hex begins with 0x")?;
    // The decoder takes a second prefix.
    ensure!(digits.bytes().all(|digit| digit.is_ascii_hexdigit()), "not hex");
    Ok(hex::decode(digits)?.into())
}

/// 20 bytes in hex with `0x`.
pub(crate) fn address(text: &str) -> anyhow::Result<Address> {
    let bytes = bytes(text)?;
    ensure!(bytes.len() == 20, "an address has 20 bytes, this has {}", bytes.len());
    Ok(Address::from_slice(&bytes))
}

/// 32 bytes in hex with `0x`.
pub(crate) fn word(text: &str) -> anyhow::Result<B256> {
    let bytes = bytes(text)?;
    ensure!(bytes.len() == 32, "32 bytes are needed, this has {}", bytes.len());
    Ok(B256::from_slice(&bytes))
}

/// Delegations as an object, a list, or an object a line.
pub(crate) fn delegations(path: &Path) -> Result<Vec<Delegation>, Failure> {
    parse_delegations(&text(path).or_use()?)
        .with_context(|| format!("{} is not a delegation as JSON", path.display()))
        .or_use()
}

/// The same with nothing left out: not even what an unsigned one could do without.
pub(crate) fn whole_delegations(path: &Path) -> Result<Vec<Delegation>, Failure> {
    let text = text(path).or_use()?;
    let found = parse_delegations(&text)
        .with_context(|| format!("{} is not a delegation as JSON", path.display()))
        .or_use()?;
    let values: Vec<Value> =
        serde_json::Deserializer::from_str(&text).into_iter().collect::<Result<_, _>>().or_use()?;
    let each = values
        .iter()
        .flat_map(|value| value.as_array().map_or(slice::from_ref(value), |list| list));
    for (number, one) in (1..).zip(each) {
        let caveats = one["caveats"].as_array().map(Vec::as_slice).unwrap_or_default();
        if one.get("signature").is_none() {
            return Err(Failure::Use(anyhow!(
                "delegation {number} has no signature; \"0x\" is none yet"
            )));
        }
        if caveats.iter().any(|caveat| caveat.get("args").is_none()) {
            return Err(Failure::Use(anyhow!(
                "a caveat of delegation {number} has no args; \"0x\" are none"
            )));
        }
    }
    Ok(found)
}

fn parse_delegations(text: &str) -> anyhow::Result<Vec<Delegation>> {
    if text.trim_start().starts_with('[') {
        let found: Vec<Delegation> = serde_json::from_str(text)?;
        ensure!(!found.is_empty(), "the list is empty");
        return Ok(found);
    }
    let found: Vec<Delegation> = serde_json::Deserializer::from_str(text)
        .into_iter::<Delegation>()
        .collect::<Result<_, _>>()?;
    ensure!(!found.is_empty(), "it is empty");
    Ok(found)
}

/// Exactly one delegation.
pub(crate) fn delegation(path: &Path) -> Result<Delegation, Failure> {
    let mut found = delegations(path)?;
    match (found.pop(), found.is_empty()) {
        (Some(only), true) => Ok(only),
        _ => Err(Failure::Use(anyhow!("{} must hold one delegation", path.display()))),
    }
}

/// Delegations as JSON in any of their forms, or those of a permission context in hex.
pub(crate) fn links(path: &Path) -> Result<Vec<Delegation>, Failure> {
    let text = text(path).or_use()?;
    let trimmed = text.trim();
    if trimmed.starts_with("0x") {
        let bytes: Bytes = hex::decode(trimmed).context("the context is not hex").or_use()?.into();
        return Ok(PermissionContext::decode(&bytes).or_use()?.links().to_vec());
    }
    parse_delegations(&text)
        .with_context(|| format!("{} is neither a context nor delegations", path.display()))
        .or_use()
}

/// A permission context in hex, or its delegations as JSON, leaf first.
pub(crate) fn context(path: &Path) -> Result<PermissionContext, Failure> {
    PermissionContext::new(links(path)?).or_use()
}

/// Requests or answers of ERC-7715, in any form.
pub(crate) fn permission(path: &Path, asked: &[Request]) -> Result<permission::Read, Failure> {
    permission::read_with(&text(path).or_use()?, asked)
        .with_context(|| format!("{} is no permission request or answer", path.display()))
        .or_use()
}

/// The one answer of a wallet that a file holds, and its form.
pub(crate) fn permission_answer(path: &Path) -> Result<(Form, permission::Answer), Failure> {
    let permission::Read { form, message } = permission(path, &[])?;
    let permission::Message::Answers(mut answers) = message else {
        return Err(Failure::Use(anyhow!("{} is no wallet's answer", path.display())));
    };
    match (answers.pop(), answers.is_empty()) {
        (Some(only), true) => Ok((form, only)),
        _ => Err(Failure::Use(anyhow!("{} must hold one answer", path.display()))),
    }
}

/// A whole file as text.
pub(crate) fn file(path: &Path) -> Result<String, Failure> {
    text(path).or_use()
}

/// A call as JSON has it.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    target: Address,
    #[serde(default)]
    value: String,
    #[serde(default)]
    data: Bytes,
}

/// Calls that are made together.
pub(crate) fn calls(path: &Path) -> Result<Vec<Execution>, Failure> {
    let no_calls = || format!("{} is no JSON list of calls", path.display());
    let calls = serde_json::from_str(&text(path).or_use()?).with_context(no_calls).or_use()?;
    executions(calls).with_context(|| format!("{} is not in order", path.display())).or_use()
}

fn executions(calls: Vec<Call>) -> anyhow::Result<Vec<Execution>> {
    ensure!(!calls.is_empty(), "it names no call");
    let read = |Call { target, value, data }: Call| {
        let digits = if value.is_empty() { "0" } else { value.as_str() };
        let decimal = digits.bytes().all(|digit| digit.is_ascii_digit());
        let value = decimal.then(|| digits.parse().ok()).flatten();
        let value = value.with_context(|| format!("{digits} is no sum in wei, as decimal text"))?;
        Ok(Execution { target, value, data })
    };
    calls.into_iter().map(read).collect()
}

/// Several grants, each a context in hex or its delegations, leaf first, with the calls that are made under it.
pub(crate) fn grants(path: &Path) -> Result<Vec<(PermissionContext, Vec<Execution>)>, Failure> {
    #[derive(serde::Deserialize)]
    #[serde(untagged)]
    enum Links {
        Hex(String),
        One(Box<Delegation>),
        List(Vec<Delegation>),
    }
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Grant {
        context: Links,
        calls: Vec<Call>,
    }
    let read = |Grant { context, calls }: Grant| {
        let context = match context {
            Links::Hex(hex) => PermissionContext::decode(&bytes(hex.trim())?)?,
            Links::One(only) => PermissionContext::new(vec![*only])?,
            Links::List(links) => PermissionContext::new(links)?,
        };
        Ok((context, executions(calls)?))
    };
    let all = || {
        let grants: Vec<Grant> = serde_json::from_str(&text(path)?)?;
        ensure!(!grants.is_empty(), "the list is empty");
        grants.into_iter().map(read).collect()
    };
    all().with_context(|| format!("{} is no list of grants with calls", path.display())).or_use()
}

/// A charter, as the parameters of its caveat.
pub(crate) fn charter(path: &Path) -> Result<GolemCharter, Failure> {
    let text = text(path).or_use()?;
    let mut reader = serde_json::Deserializer::from_str(&text);
    let no_charter = || format!("{} does not hold a charter as JSON", path.display());
    let rule = Kind::GolemCharter.deserialize(&mut reader).with_context(no_charter).or_use()?;
    reader.end().with_context(no_charter).or_use()?;
    match rule {
        Rule::GolemCharter(charter) => Ok(*charter),
        _ => Err(Failure::Use(anyhow!(no_charter()))),
    }
}

/// Facts of a chain, for a blast radius.
pub(crate) fn facts(path: &Path) -> Result<Observed, Failure> {
    serde_json::from_str(&text(path).or_use()?)
        .with_context(|| format!("{} does not hold facts as JSON", path.display()))
        .or_use()
}

/// Creation code of the framework's account proxy: from a file in hex, or from the local chain's. Either way it must be
/// that code: an account made of other code may obey anybody.
pub(crate) fn proxy_code(file: Option<&Path>) -> Result<Bytes, Failure> {
    let code = match file {
        Some(path) => bytes(text(path).or_use()?.trim())
            .with_context(|| format!("{} does not hold code in hex", path.display()))
            .or_use()?,
        None => {
            LocalFiles::find()
                .and_then(|files| files.address_book())
                .context("the account proxy's creation code is needed: --proxy-code FILE")
                .or_use()?
                .proxy_code
        }
    };
    if keccak256(&code) != PROXY_CODE_HASH {
        return Err(Failure::Use(anyhow!(
            "this is not the creation code of framework 1.3.0's ERC1967Proxy; nothing was sent"
        )));
    }
    Ok(code)
}

/// What a transaction may cost on a node's chain unless somebody says otherwise, where the chain's file says so.
pub(crate) fn chain_ceiling(node: &Node) -> Result<Option<U256>, Failure> {
    let chains = chains()?;
    Ok(chains.of(node.chain_id()).and_then(|chain| chain.fee_ceiling).map(U256::from))
}

/// The same node, handing what is signed to the private endpoint that is named, or that the chain's file names, where one is.
pub(crate) async fn privately(node: Node, named: Option<&Url>) -> Result<Node, Failure> {
    let listed = chains()?.of(node.chain_id()).and_then(|chain| chain.private_rpc.clone());
    let url = match (named, listed) {
        (Some(url), _) => url.clone(),
        (None, Some(listed)) => listed.parse().context("the chain's private RPC").or_use()?,
        (None, None) => return Ok(node),
    };
    let private = Node::connect(&url).await.context("the private RPC")?;
    let (found, wanted) = (private.chain_id(), node.chain_id());
    let off = || anyhow!("the private RPC serves chain {found}, and --rpc chain {wanted}");
    node.through(&private).map_err(|_other| Failure::Use(off()))
}

/// The chains that go by a name: those that came along, and those of the files in the folder that `BARDO_CHAINS` names.
pub(crate) fn chains() -> Result<Chains, Failure> {
    let mut chains = Chains::known()?;
    let Some(folder) = env::var_os("BARDO_CHAINS") else { return Ok(chains) };
    let folder = Path::new(&folder);
    let no_folder = || format!("BARDO_CHAINS names {}, which cannot be read", folder.display());
    for file in folder.read_dir().with_context(no_folder).or_use()? {
        let path = file.with_context(no_folder).or_use()?.path();
        if path.extension().is_some_and(|end| end == "toml") {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            chains.add(&name, &text(&path).or_use()?).or_use()?;
        }
    }
    Ok(chains)
}

/// The second that it is by this machine.
pub(crate) fn now() -> Result<u64, Failure> {
    #[expect(clippy::disallowed_methods, reason = "where a person's question meets the clock")]
    let now = SystemTime::now();
    Ok(now.duration_since(UNIX_EPOCH)?.as_secs())
}

/// How old what a node says is.
pub(crate) struct Age {
    /// By this machine's clock; less than nothing where the node is ahead; none of a chain on this machine, which has a
    /// clock of its own.
    pub(crate) seconds: Option<i64>,
}

impl Age {
    /// Of a block's second.
    pub(crate) fn of(node: &Node, timestamp: u64) -> Result<Self, Failure> {
        let seconds = i64::try_from(now()?)?.saturating_sub_unsigned(timestamp);
        Ok(Self { seconds: (!node.is_near()).then_some(seconds) })
    }

    /// What to say of a head that nothing would be signed on.
    pub(crate) fn warning(&self) -> Option<String> {
        let off = self.seconds?;
        if off.unsigned_abs() <= ClearingPolicy::default().lifetime {
            return None;
        }
        let seconds = off.unsigned_abs();
        Some(if off > 0 {
            format!(
                "The node's newest block is {seconds} seconds old: it may be behind, and what it says be over."
            )
        } else {
            format!(
                "The node's newest block is {seconds} seconds ahead of this machine's clock: one of them is wrong."
            )
        })
    }
}

/// The key a person signs with.
pub(crate) fn owner(key: &KeyArgs) -> Result<OwnerSigner, Failure> {
    match (&key.key_file, &key.keystore) {
        (Some(file), _) => OwnerSigner::from_key_file(file).or_use(),
        (None, Some(keystore)) => {
            let password = match &key.password_file {
                Some(file) => Password::from_file(file).or_use()?,
                None => asked(keystore).or_use()?,
            };
            OwnerSigner::from_keystore(keystore, &password).or_use()
        }
        (None, None) => {
            Err(Failure::Use(anyhow!("a key is needed: --key-file FILE, or --keystore FILE")))
        }
    }
}

/// Further keys of an account that several keys rule.
pub(crate) fn co_owners(files: &[PathBuf]) -> Result<Vec<OwnerSigner>, Failure> {
    files.iter().map(|file| OwnerSigner::from_key_file(file)).collect::<Result<_, _>>().or_use()
}

/// A password from whoever sits at the terminal, not shown; or the next line of standard input.
pub(crate) fn asked(keystore: &Path) -> anyhow::Result<Password> {
    let line = if stdin().is_terminal() {
        rpassword::prompt_password(format!("Password of {}: ", keystore.display()))
            .map(Zeroizing::new)
    } else {
        let mut line = Zeroizing::new(String::with_capacity(MAX_PASSWORD));
        let most = u64::try_from(MAX_PASSWORD)?;
        stdin().lock().take(most).read_line(&mut line).map(|_read| line)
    };
    Password::typed(line.context("cannot read the password")?).with_context(|| {
        format!(
            "no password for {}: give --password-file, or type it at a terminal",
            keystore.display()
        )
    })
}

/// The agent's key.
pub(crate) fn session(secret: &KeystoreArgs) -> Result<SessionKey, Failure> {
    SessionKey::open(&secret.keystore, &Password::from_file(&secret.password_file).or_use()?)
        .or_use()
}

/// The agent's key of P-256, and the account that it acts through.
pub(crate) fn p256_session(
    secret: &KeystoreArgs,
    form: &SessionForm,
) -> Result<(P256SessionKey, SessionAccount), Failure> {
    let password = Password::from_file(&secret.password_file).or_use()?;
    let key = P256Key::open(&secret.keystore, &password).or_use()?;
    let account = p256_account(&key, form)?;
    Ok((key.of_account(account.address()), account))
}

/// Where a key of P-256 acts from.
pub(crate) fn p256_account(key: &P256Key, form: &SessionForm) -> Result<SessionAccount, Failure> {
    let proxy_code = proxy_code(form.proxy_code.as_deref())?;
    Ok(p256_session_account(&key.owner(), B256::ZERO, &proxy_code))
}
