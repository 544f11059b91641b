use crate::{
    answer::{Answer, Failure, OrUse},
    cli::RevokeArgs,
    input,
};
use alloy::{primitives::U256, sol_types::SolCall};
use anyhow::anyhow;
use bardo_bindings::{
    GolemRegistry,
    framework::{DELEGATION_MANAGER, DelegationManager},
    golem_registry,
};
use golem_chain::{Account, Node, OwnerCall, OwnerError, SharedAccount};
use golem_custody::{Execution, OwnerSigner};
use golem_delegation::Delegation;
use serde_json::json;

/// `bardo delegation revoke`: one transaction of the owner's EOA, and nothing else that runs.
pub(crate) async fn revoke(args: &RevokeArgs) -> Result<Answer, Failure> {
    let owner = input::owner(&args.key)?;
    let root = match &args.context {
        Some(file) => Some(input::context(file)?.root().clone()),
        None if args.all => None,
        None => return Err(Failure::Use(anyhow!("say which: --context FILE, or --all"))),
    };
    let node = args.send.connect().await?;
    let ceiling = args.send.ceiling();
    if !args.co_keys.is_empty() {
        let mut keys = vec![owner];
        for file in &args.co_keys {
            keys.push(OwnerSigner::from_key_file(file).or_use()?);
        }
        return together(args, &node, &keys, root).await;
    }
    let Some(grant) = root.filter(|_| !args.all) else { return all(&node, &owner, ceiling).await };

    let hash = grant.hash();
    node.require("DelegationManager", DELEGATION_MANAGER).await?;
    let disabled = DelegationManager::disabledDelegationsCall { delegationHash: hash.0 };
    if node.read(DELEGATION_MANAGER, disabled.clone()).await? {
        let json = json!({ "revoked": true, "delegation": hash, "transaction": null });
        return Ok(Answer::yes(json, format!("{hash} was revoked before; nothing was sent")));
    }
    let account = match Account::ruled_by(&node, owner.address(), grant.delegator).await {
        Ok(account) => account,
        Err(error @ OwnerError::NotTheOwner { .. }) => {
            let reason = error.to_string();
            return Ok(Answer::no(json!({ "revoked": false, "reason": reason }), reason));
        }
        Err(error) => return Err(error.into()),
    };
    let call = account.revocation(node.chain_id(), &owner, &grant)?;
    let receipt = call.send(&node, &owner, ceiling).await?;
    // Believe the manager, not the receipt.
    let revoked = node.read(DELEGATION_MANAGER, disabled).await?;
    let json = json!({
        "revoked": revoked,
        "delegation": hash,
        "transaction": receipt.transaction_hash,
        "gasUsed": receipt.gas_used,
    });
    let text = format!("{hash} is revoked, and all that stands on it ({} gas)", receipt.gas_used);
    Ok(if revoked {
        Answer::yes(json, text)
    } else {
        Answer::no(json, format!("{hash} is not revoked, though the transaction went through"))
    })
}

/// The same for an account that several keys rule: they sign, and one of them sends.
async fn together(
    args: &RevokeArgs,
    node: &Node,
    keys: &[OwnerSigner],
    root: Option<Delegation>,
) -> Result<Answer, Failure> {
    let ceiling = args.send.ceiling();
    let account = match (&root, args.account) {
        (Some(grant), _) => grant.delegator,
        (None, Some(account)) => account,
        (None, None) => return Err(Failure::Use(anyhow!("whose: --account ADDRESS"))),
    };
    let shared = match SharedAccount::at(node, account).await {
        Ok(shared) => shared,
        Err(error @ OwnerError::NotShared { .. }) => {
            let reason = error.to_string();
            return Ok(Answer::no(json!({ "revoked": false, "reason": reason }), reason));
        }
        Err(error) => return Err(error.into()),
    };
    let generation = GolemRegistry::generationOfCall { owner: account };
    let before = match &root {
        Some(_) => 0,
        None => {
            node.require("GolemRegistry", golem_registry()).await?;
            node.read(golem_registry(), generation.clone()).await?
        }
    };
    let sent = match &root {
        Some(grant) => shared.revoke(node, keys, grant, ceiling).await,
        None => {
            let data = GolemRegistry::revokeAllCall {}.abi_encode().into();
            let call = Execution { target: golem_registry(), value: U256::ZERO, data };
            shared.act(node, keys, &[call], ceiling).await
        }
    };
    let receipt = match sent {
        Ok(receipt) => receipt,
        Err(error @ OwnerError::TooFewKeys { .. }) => {
            let reason = error.to_string();
            return Ok(Answer::no(json!({ "revoked": false, "reason": reason }), reason));
        }
        Err(error) => return Err(error.into()),
    };
    // Believe the chain, not the receipt.
    let (what, revoked) = match root.map(|grant| grant.hash()) {
        Some(hash) => {
            let disabled = DelegationManager::disabledDelegationsCall { delegationHash: hash.0 };
            let revoked = node.read(DELEGATION_MANAGER, disabled).await?;
            (format!("{hash} and all that stands on it"), revoked)
        }
        None => {
            let revoked = node.read(golem_registry(), generation).await? > before;
            (format!("every charter of {account}"), revoked)
        }
    };
    let json = json!({
        "revoked": revoked,
        "account": account,
        "transaction": receipt.transaction_hash,
        "gasUsed": receipt.gas_used,
    });
    Ok(if revoked {
        Answer::yes(json, format!("revoked: {what} ({} gas)", receipt.gas_used))
    } else {
        Answer::no(json, format!("not revoked, though the transaction went through: {what}"))
    })
}

/// Every charter of every Golem of this owner, at the registry.
async fn all(node: &Node, owner: &OwnerSigner, ceiling: U256) -> Result<Answer, Failure> {
    node.require("GolemRegistry", golem_registry()).await?;
    let human = owner.address();
    let generation = GolemRegistry::generationOfCall { owner: human };
    let before = node.read(golem_registry(), generation.clone()).await?;
    let call = OwnerCall::new(human, golem_registry(), &GolemRegistry::revokeAllCall {});
    let receipt = call.send(node, owner, ceiling).await?;
    let after = node.read(golem_registry(), generation).await?;
    let json = json!({
        "revoked": after > before,
        "owner": human,
        "generation": after,
        "transaction": receipt.transaction_hash,
        "gasUsed": receipt.gas_used,
    });
    let text = format!(
        "every charter of {human} is revoked: generation {after} counts now ({} gas)\n\
         Grants without a charter are revoked one by one: --context FILE",
        receipt.gas_used
    );
    Ok(if after > before { Answer::yes(json, text) } else { Answer::no(json, "nothing changed") })
}
