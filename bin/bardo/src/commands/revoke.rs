use crate::{
    answer::{Answer, Failure},
    cli::RevokeArgs,
    input,
};
use anyhow::anyhow;
use bardo_bindings::{
    GolemRegistry,
    framework::{DELEGATION_MANAGER, DelegationManager},
    golem_registry,
};
use golem_chain::{Account, Node, OwnerCall, OwnerError};
use golem_custody::OwnerSigner;
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

/// Every charter of every Golem of this owner, at the registry.
async fn all(
    node: &Node,
    owner: &OwnerSigner,
    ceiling: alloy::primitives::U256,
) -> Result<Answer, Failure> {
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
