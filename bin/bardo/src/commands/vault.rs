use crate::{
    answer::{Answer, Failure},
    cli::{DerivedArgs, VaultCommand, VaultCreateArgs, VaultStatusArgs, VaultWithdrawArgs},
    input,
};
use alloy::primitives::{Address, U256};
use anyhow::{anyhow, ensure};
use bardo_bindings::framework::ENTRY_POINT;
use golem_chain::{
    Account, AccountCode, Holdings, Moved, Node, OwnerError, SharedAccount, Withdrawal, Withdrawn,
    account_code, hybrid_account,
};
use golem_custody::OwnerSigner;
use serde_json::{Value, json};

/// `bardo vault`
pub(crate) async fn vault(command: &VaultCommand) -> Result<Answer, Failure> {
    match command {
        VaultCommand::Create(args) => create(args).await,
        VaultCommand::Status(args) => status(args).await,
        VaultCommand::Withdraw(args) => withdraw(args).await,
    }
}

/// The vault of `owner` that the arguments mean, created or not.
fn derived(owner: Address, args: &DerivedArgs) -> Result<Account, Failure> {
    let proxy_code = input::proxy_code(args.proxy_code.as_deref())?;
    Ok(hybrid_account(owner, args.salt, &proxy_code))
}

async fn create(args: &VaultCreateArgs) -> Result<Answer, Failure> {
    let signer = input::owner(&args.key)?;
    let account = derived(signer.address(), &args.vault)?;
    let node = args.send.connect().await?;
    let receipt = account.create(&node, &signer, args.send.ceiling(&node)?).await?;
    let Account { address, owner, .. } = account;
    // Whose it is now: an owner may have passed his vault on.
    let found = account_code(&node, address).await?;
    let ruled = found == AccountCode::Hybrid { owner };
    let json = json!({
        "account": address,
        "owner": match found { AccountCode::Hybrid { owner } => Some(owner), _ => None },
        "created": receipt.is_some(),
        "transaction": receipt.as_ref().map(|receipt| receipt.transaction_hash),
        "gasUsed": receipt.as_ref().map(|receipt| receipt.gas_used),
    });
    if !ruled {
        let text = format!("{address} stands, but the key of {owner} does not rule it");
        return Ok(Answer::no(json, text));
    }
    let text = match receipt {
        Some(receipt) => format!("{address} created, ruled by {owner} ({} gas)", receipt.gas_used),
        None => format!("{address} was there, ruled by {owner}; nothing was sent"),
    };
    Ok(Answer::yes(json, text))
}

async fn status(args: &VaultStatusArgs) -> Result<Answer, Failure> {
    let (address, meant) = match (args.account, args.owner) {
        (Some(account), _) => (account, None),
        (None, Some(owner)) => (derived(owner, &args.vault)?.address, Some(owner)),
        (None, None) => return Err(Failure::Use(anyhow!("say whose: --owner, or --account"))),
    };
    let node = args.node.connect().await?;
    let code = account_code(&node, address).await?;
    let held = Holdings::of(&node, address, &args.tokens).await?;
    let (kind, owner, words) = match code {
        AccountCode::None => (None, meant, "not created".to_owned()),
        AccountCode::Stateless7702 => {
            (Some("7702"), Some(address), "an EOA upgraded by EIP-7702".to_owned())
        }
        AccountCode::Hybrid { owner } => {
            (Some("hybrid"), Some(owner), "a Hybrid account".to_owned())
        }
        _ => match SharedAccount::at(&node, address).await {
            Ok(shared) => {
                let (needed, all) = (shared.threshold, shared.signers.len());
                (
                    Some("multisig"),
                    None,
                    format!("a MultiSig account of {all} keys, {needed} of which must agree"),
                )
            }
            Err(OwnerError::NotShared { .. }) => {
                (None, None, "code that is no account of the framework".to_owned())
            }
            Err(error) => return Err(error.into()),
        },
    };
    let shown = owner.map_or_else(|| "unknown".to_owned(), |owner| owner.to_string());
    let mut text = format!("account  {address}: {words}\nowner    {shown}\n");
    text.push_str(&format!("ether    {} wei\n", held.ether));
    for (token, amount) in &held.tokens {
        text.push_str(&format!("token    {token}: {amount}\n"));
    }
    let tokens: Vec<Value> = held
        .tokens
        .iter()
        .map(|(token, amount)| json!({ "token": token, "balance": amount.to_string() }))
        .collect();
    let json = json!({
        "account": address,
        "deployed": code != AccountCode::None,
        "kind": kind,
        "owner": owner,
        "ether": held.ether.to_string(),
        "tokens": tokens,
    });
    // An owner's own vault that somebody else rules is no yes to him.
    let passed_on = kind.is_some() && meant.is_some_and(|meant| owner != Some(meant));
    if passed_on {
        text.push_str("It was created for another owner than the one who rules it now.\n");
    }
    let known = kind.is_some() || code == AccountCode::None;
    Ok(if known && !passed_on { Answer::yes(json, text) } else { Answer::no(json, text) })
}

async fn withdraw(args: &VaultWithdrawArgs) -> Result<Answer, Failure> {
    let signer = input::owner(&args.key)?;
    let owner = signer.address();
    let to = args.to.unwrap_or(owner);
    // Derived before a node is asked: a missing file is the caller's to mend.
    let vault = match args.account {
        Some(_) => None,
        None => Some(derived(owner, &args.vault)?),
    };
    let from = args.account.or(vault.as_ref().map(|vault| vault.address)).unwrap_or(owner);
    sensible(args, from, to).map_err(Failure::Use)?;
    let keys = input::co_owners(&args.co_keys)?;
    let node = args.send.connect_in_need().await?;
    let ceiling = args.send.ceiling(&node)?;
    let withdrawal = Withdrawal {
        to,
        tokens: args.tokens.clone(),
        collections: args.collections.clone(),
        ether: args.all_ether,
    };
    let withdrawn = if keys.is_empty() {
        match alone(ceiling, &node, &signer, vault, from, &withdrawal).await {
            // One key may be enough for an account of several.
            Err(not_his @ (OwnerError::NotTheOwner { .. } | OwnerError::UnknownCode { .. })) => {
                match together(ceiling, &node, &[signer], from, &withdrawal).await {
                    Err(OwnerError::NotShared { .. }) => Err(not_his),
                    withdrawn => withdrawn,
                }
            }
            withdrawn => withdrawn,
        }
    } else {
        let keys: Vec<OwnerSigner> = std::iter::once(signer).chain(keys).collect();
        together(ceiling, &node, &keys, from, &withdrawal).await
    };
    let withdrawn = match withdrawn {
        Ok(withdrawn) => withdrawn,
        Err(error) => return refused_by_us(error),
    };
    Ok(match withdrawn {
        Withdrawn::Nothing => Answer::no(
            json!({ "withdrawn": false, "account": from, "reason": "nothing to take" }),
            format!("{from} has none of what was named; nothing was sent"),
        ),
        Withdrawn::OnlyGas { ether, gas } => Answer::no(
            json!({ "withdrawn": false, "account": from, "reason": "less than its gas may cost" }),
            format!(
                "{from} has {ether} wei, and taking them may cost {gas} of gas; nothing was sent"
            ),
        ),
        Withdrawn::Refused { reason, created } => Answer::no(
            json!({ "withdrawn": false, "account": from, "reason": reason, "created": created }),
            format!("refused: {reason}; nothing left {from}"),
        ),
        Withdrawn::Done { moved, still, transactions, gas_used } => {
            let out = still.is_empty() && moved.iter().all(|one| one.out);
            let rows: Vec<Value> = moved.iter().map(row).collect();
            let mut text = format!("from {from} to {to} ({gas_used} gas)\n");
            moved.iter().for_each(|one| text.push_str(&line(one)));
            for (collection, count) in &still {
                text.push_str(&format!(
                    "  {count} items of {collection} are still there: so many do not leave at once; ask for the same again\n"
                ));
            }
            let still: Vec<Value> = still
                .iter()
                .map(|(token, items)| json!({ "token": token, "items": items.to_string() }))
                .collect();
            if transactions.len() > 1 {
                text.push_str(
                    "The account had to be created first, by a transaction of its own.\n",
                );
            }
            let json = json!({
                "withdrawn": out, "account": from, "to": to, "moved": rows, "still": still,
                "transactions": transactions, "gasUsed": gas_used,
            });
            if out { Answer::yes(json, text) } else { Answer::no(json, text) }
        }
    })
}

async fn alone(
    ceiling: U256,
    node: &Node,
    signer: &OwnerSigner,
    vault: Option<Account>,
    from: Address,
    withdrawal: &Withdrawal,
) -> Result<Withdrawn, OwnerError> {
    let account = ruled(node, signer.address(), vault, from).await?;
    account.withdraw(node, signer, withdrawal, ceiling).await
}

/// The same for an account that several keys rule: they sign, and one of them sends.
async fn together(
    ceiling: U256,
    node: &Node,
    keys: &[OwnerSigner],
    from: Address,
    withdrawal: &Withdrawal,
) -> Result<Withdrawn, OwnerError> {
    let shared = SharedAccount::at(node, from).await?;
    shared.withdraw(node, keys, withdrawal, ceiling).await
}

/// What nobody can have meant.
fn sensible(args: &VaultWithdrawArgs, from: Address, to: Address) -> anyhow::Result<()> {
    ensure!(
        args.all_ether || !args.tokens.is_empty() || !args.collections.is_empty(),
        "say what to take out: --token ADDRESS, --positions ADDRESS, --all-ether"
    );
    ensure!(to != from, "{from} would send to itself: say where with --to ADDRESS");
    ensure!(!to.is_zero(), "nobody holds the key of address zero");
    let lost = args.tokens.contains(&to) || args.collections.contains(&to);
    ensure!(!lost, "{to} is one of the tokens: what is sent there is lost");
    Ok(())
}

/// The account to empty, if this key rules it.
async fn ruled(
    node: &Node,
    owner: Address,
    vault: Option<Account>,
    from: Address,
) -> Result<Account, OwnerError> {
    match vault {
        Some(vault) if node.code(from).await?.is_empty() => Ok(vault),
        _ => Account::ruled_by(node, owner, from).await,
    }
}

/// An account that this key must not or cannot move is a refusal; the rest are faults.
fn refused_by_us(error: OwnerError) -> Result<Answer, Failure> {
    match error {
        OwnerError::NotTheOwner { .. }
        | OwnerError::NotCreated { .. }
        | OwnerError::UnknownCode { .. }
        | OwnerError::NotShared { .. }
        | OwnerError::TooFewKeys { .. } => {
            let reason = error.to_string();
            Ok(Answer::no(json!({ "withdrawn": false, "reason": reason }), reason))
        }
        other => Err(other.into()),
    }
}

fn row(moved: &Moved) -> Value {
    let Moved { token, item, amount, left, out } = moved;
    let item = item.map(|id| id.to_string());
    let (amount, left) = (amount.to_string(), left.to_string());
    json!({ "token": token, "item": item, "amount": amount, "left": left, "out": out })
}

fn line(moved: &Moved) -> String {
    let Moved { token, item, amount, left, out } = moved;
    let what = match (token, item) {
        (None, _) => "wei".to_owned(),
        (Some(ENTRY_POINT), None) => "wei that lay with the entry point".to_owned(),
        (Some(token), None) => format!("of {token}"),
        (Some(token), Some(id)) => format!("item of {token}: {id}"),
    };
    let stays = match (left.is_zero(), out) {
        (true, _) => String::new(),
        (false, true) => format!("; {left} stay"),
        (false, false) => format!("; that did not leave: {left} stay"),
    };
    format!("  {amount} {what}{stays}\n")
}
