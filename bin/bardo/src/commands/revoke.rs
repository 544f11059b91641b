use crate::{
    answer::{Answer, Failure},
    cli::RevokeArgs,
    input,
};
use alloy::{
    primitives::{Address, B256, Bytes, U256},
    providers::Provider,
    rpc::types::{Filter, TransactionReceipt},
    sol_types::{SolCall, SolEvent},
};
use anyhow::anyhow;
use bardo_bindings::{
    GolemRegistry,
    framework::{DELEGATION_MANAGER, DelegationManager},
    golem_registry,
};
use golem_chain::{
    Account, ChainFault, GolemState, Node, OwnerError, Registry, SharedAccount, environment,
    is_signed_for,
};
use golem_custody::{DenialCode, Execution, OwnerSigner};
use golem_delegation::{Delegation, Rule};
use serde_json::json;

/// What shall end.
enum What {
    /// One grant, at the manager, and all that stands on it.
    Grant(Box<Delegation>),
    /// Every charter of one Golem, at the registry.
    Golem(B256),
    /// Every charter of every Golem of an owner, at the registry.
    All,
}

impl What {
    fn of(args: &RevokeArgs) -> Result<Self, Failure> {
        match (&args.context, args.golem) {
            (Some(file), _) => Ok(Self::Grant(input::context(file)?.root().clone().into())),
            (None, Some(golem)) => Ok(Self::Golem(golem)),
            (None, None) if args.all => Ok(Self::All),
            (None, None) => {
                Err(Failure::Use(anyhow!("say what: --context FILE, --golem GOLEM_ID, or --all")))
            }
        }
    }

    /// Who is told: the manager, or the registry.
    fn whom(&self) -> Address {
        match self {
            Self::Grant(_) => DELEGATION_MANAGER,
            Self::Golem(_) | Self::All => golem_registry(),
        }
    }

    /// What is said.
    fn call(&self) -> Bytes {
        match self {
            Self::Grant(grant) => golem_chain::revocation(grant),
            Self::Golem(golem) => GolemRegistry::revokeCall { golemId: *golem }.abi_encode().into(),
            Self::All => GolemRegistry::revokeAllCall {}.abi_encode().into(),
        }
    }

    /// Whether the manager calls a grant disabled in the newest block.
    async fn disabled(node: &Node, grant: &Delegation) -> Result<bool, Failure> {
        node.require("DelegationManager", DELEGATION_MANAGER).await?;
        let asked = DelegationManager::disabledDelegationsCall { delegationHash: grant.hash().0 };
        Ok(node.read(DELEGATION_MANAGER, asked).await?)
    }

    /// The number that is higher afterwards, in a block that is deep enough.
    async fn settled(&self, node: &Node, owner: Address) -> Result<u64, Failure> {
        Ok(match self {
            Self::Grant(grant) => {
                let delegation = grant.hash().0;
                let asked =
                    DelegationManager::disabledDelegationsCall { delegationHash: delegation };
                node.read_settled(DELEGATION_MANAGER, asked).await?.into()
            }
            Self::Golem(golem) => {
                let word = GolemRegistry::wordCall { golemId: *golem };
                let word = node.read_settled(golem_registry(), word).await?;
                GolemState::read(word).map_or(0, |state| state.min_epoch.into())
            }
            Self::All => {
                let generation = GolemRegistry::generationOfCall { owner };
                node.read_settled(golem_registry(), generation).await?.into()
            }
        })
    }

    /// The same number on the block that holds a transaction.
    async fn mark_after(
        &self,
        node: &Node,
        owner: Address,
        receipt: &TransactionReceipt,
    ) -> Result<u64, Failure> {
        Ok(match self {
            Self::Grant(grant) => {
                let delegation = grant.hash().0;
                let asked =
                    DelegationManager::disabledDelegationsCall { delegationHash: delegation };
                node.read_after(receipt, DELEGATION_MANAGER, asked).await?.into()
            }
            Self::Golem(golem) => {
                let entry = Registry::open(node).await?.entry_after(*golem, receipt).await?;
                entry.map_or(0, |entry| entry.state.min_epoch.into())
            }
            Self::All => {
                let generation = GolemRegistry::generationOfCall { owner };
                node.read_after(receipt, golem_registry(), generation).await?.into()
            }
        })
    }

    /// A number that the chain keeps, and that is higher afterwards.
    async fn mark(&self, node: &Node, owner: Address) -> Result<u64, Failure> {
        Ok(match self {
            Self::Grant(grant) => Self::disabled(node, grant).await?.into(),
            Self::Golem(golem) => {
                let entry = Registry::open(node).await?.entry(*golem).await?;
                entry.map_or(0, |entry| entry.state.min_epoch.into())
            }
            Self::All => {
                node.require("GolemRegistry", golem_registry()).await?;
                let generation = GolemRegistry::generationOfCall { owner };
                node.read(golem_registry(), generation).await?.into()
            }
        })
    }

    fn words(&self, owner: Address) -> String {
        match self {
            Self::Grant(grant) => format!("{} and all that stands on it", grant.hash()),
            Self::Golem(golem) => format!("every charter of Golem {golem}"),
            Self::All => format!("every charter of {owner}"),
        }
    }

    /// How many Golems of an owner the registry ever logged; none where the node does not say. A mistaken key owns none.
    async fn golems(node: &Node, owner: Address) -> Option<usize> {
        let filter = Filter::new()
            .address(golem_registry())
            .event_signature(GolemRegistry::GolemRegistered::SIGNATURE_HASH)
            .topic2(owner.into_word())
            .from_block(0);
        node.provider().get_logs(&filter).await.ok().map(|logs| logs.len())
    }

    /// What goes on all the same.
    fn beside(&self) -> Option<String> {
        match self {
            // Earlier epochs of the same Golem end with the first redemption of a later one, and not before.
            Self::Grant(grant) => {
                let environment = environment();
                let charter =
                    grant.caveats.iter().find_map(|caveat| match environment.read(caveat) {
                        Ok(Rule::GolemCharter(charter)) => Some(charter.golem_id),
                        _ => None,
                    })?;
                Some(format!("Other charters of this Golem go on: --golem {charter} ends them all"))
            }
            Self::Golem(_) | Self::All => {
                Some("Grants without a charter are revoked one by one: --context FILE".into())
            }
        }
    }
}

/// `bardo delegation revoke`: one transaction of the owner's, and nothing else that runs.
pub(crate) async fn revoke(args: &RevokeArgs) -> Result<Answer, Failure> {
    let mut keys = vec![input::owner(&args.key)?];
    keys.extend(input::co_owners(&args.co_keys)?);
    let what = What::of(args)?;
    let node = args.send.connect_in_need().await?;
    let owner = match owner_of(&what, args, &node, &keys).await? {
        Ok(owner) => owner,
        Err(reason) => return Ok(refused(&reason)),
    };
    if let What::Grant(grant) = &what {
        let hash = grant.hash();
        if What::disabled(&node, grant).await? {
            if what.settled(&node, owner).await? == 0 {
                return Err(shallow(&format!("{hash}, and nothing was sent")));
            }
            let json = json!({ "revoked": true, "delegation": hash, "transaction": null });
            let text = format!(
                "{hash} was revoked before, on chain {}; nothing was sent",
                node.chain_id()
            );
            return Ok(Answer::yes(json, text).with("chainId", node.chain_id()));
        }
        // To end here what is good elsewhere would end nothing.
        let human = keys.first().map(OwnerSigner::address).unwrap_or_default();
        if !args.anyway && !is_signed_for(&node, DELEGATION_MANAGER, grant, human).await? {
            let reason = format!(
                "{hash} is not signed for chain {} and its DelegationManager by who rules the account now: give --rpc of the chain \
                 that it is for, or --anyway to end it here; nothing was sent",
                node.chain_id()
            );
            return Ok(refused(&reason));
        }
    }
    let voice = match Voice::of(&node, &keys, owner).await {
        Ok(voice) => voice,
        Err(error) => return not_his(error),
    };
    let before = what.mark(&node, owner).await?;
    let ceiling = args.send.ceiling(&node)?;
    let receipt = match voice.says(&what, &node, ceiling).await {
        Ok(receipt) => receipt,
        // One that was sent before may have been first.
        Err(OwnerError::Failed { hash } | OwnerError::Chain(ChainFault::PlaceTaken { hash }))
            if what.mark(&node, owner).await? > before =>
        {
            let words = what.words(owner);
            if what.settled(&node, owner).await? <= before {
                return Err(shallow(&words));
            }
            let json = json!({ "revoked": true, "owner": owner, "transaction": null });
            let text = format!("revoked: {words}, by a transaction that was quicker than {hash}");
            return Ok(Answer::yes(json, text).with("chainId", node.chain_id()));
        }
        Err(error) => return not_his(error),
    };
    // Believe the chain, not the receipt.
    let after = what.mark_after(&node, owner, &receipt).await?;
    let words = what.words(owner);
    let json = json!({
        "revoked": after > before,
        "owner": owner,
        "transaction": receipt.transaction_hash,
        "gasUsed": receipt.gas_used,
    });
    let (name, value) = match &what {
        What::Grant(grant) => ("delegation", json!(grant.hash())),
        What::Golem(_) => ("minEpoch", json!(after)),
        What::All => ("generation", json!(after)),
    };
    let golems = match &what {
        What::All => What::golems(&node, owner).await,
        What::Grant(_) | What::Golem(_) => None,
    };
    let answer = if after > before {
        let mut text =
            format!("revoked: {words}, on chain {} ({} gas)", node.chain_id(), receipt.gas_used);
        if let Some(beside) = what.beside() {
            text.push_str(&format!("\n{beside}"));
        }
        if golems == Some(0) {
            text.push_str(&format!(
                "\nNo Golem of {owner} is on the register: is this the right key?"
            ));
        }
        Answer::yes(json, text)
    } else {
        Answer::no(json, format!("not revoked, though the transaction went through: {words}"))
    };
    Ok(answer.with(name, value).with("golems", golems).with("chainId", node.chain_id()))
}

fn shallow(what: &str) -> Failure {
    Failure::Fault(anyhow!(
        "it is revoked in the newest block, which is not deep enough yet: ask again in a while ({what})"
    ))
}

fn refused(reason: &str) -> Answer {
    Answer::no(json!({ "revoked": false, "reason": reason }), reason)
}

/// An account that these keys do not speak for is a refusal, and so is the manager's no; the rest are faults.
fn not_his(error: OwnerError) -> Result<Answer, Failure> {
    if let Some(denial) = error.denial() {
        let reason = format!("{}; nothing was sent{}", denial.reason, advice(denial.code));
        return Ok(refused(&reason).with("code", json!(denial.code)));
    }
    // Of a Golem that is off the register: its charters went with it.
    if let Some(reason) = error.registrys_no() {
        return Ok(refused(&format!(
            "{reason}; no charter of it is good any more where it is closed; nothing was sent"
        )));
    }
    match error {
        OwnerError::NotTheOwner { .. }
        | OwnerError::NotCreated { .. }
        | OwnerError::NotShared { .. }
        | OwnerError::TooFewKeys { .. } => Ok(refused(&error.to_string())),
        other => Err(other.into()),
    }
}

/// What an owner can do about the manager's no.
const fn advice(code: DenialCode) -> &'static str {
    match code {
        DenialCode::Paused => {
            ": ask again, and the way past it is taken; charters end at the registry, which asks no manager: --golem GOLEM_ID, or --all"
        }
        DenialCode::DelegationDisabled => {
            ": ask again, it may be revoked by now; where it is not, the account's delegation to this very key is, by which it is told"
        }
        DenialCode::Signature => {
            ": does this key rule the account, and are there as many as it needs?"
        }
        _ => "",
    }
}

/// Whose it is; or why there is nobody to ask.
async fn owner_of(
    what: &What,
    args: &RevokeArgs,
    node: &Node,
    keys: &[OwnerSigner],
) -> Result<Result<Address, String>, Failure> {
    let human = keys.first().map(OwnerSigner::address).unwrap_or_default();
    match what {
        What::Grant(grant) => Ok(Ok(grant.delegator)),
        What::All => match args.account {
            Some(account) => Ok(Ok(account)),
            None if keys.len() == 1 => Ok(Ok(human)),
            None => Err(Failure::Use(anyhow!("whose: --account ADDRESS"))),
        },
        What::Golem(golem) => {
            let Some(entry) = Registry::open(node).await?.entry(*golem).await? else {
                return Ok(Err(format!(
                    "{golem} was never registered on chain {}; nothing was sent",
                    node.chain_id()
                )));
            };
            Ok(Ok(entry.owner))
        }
    }
}

/// How the keys make an account speak: whatever ends is what that account granted, and no other.
enum Voice<'k> {
    /// The one key rules it: it is the key's own address, or a vault of it.
    Alone(Account, &'k OwnerSigner),
    /// Several keys rule it: they sign, and one of them sends.
    Together(SharedAccount, &'k [OwnerSigner]),
}

impl<'k> Voice<'k> {
    /// That of `account`. One that these keys do not speak for is an error, and so is a node that does not say whose it is.
    async fn of(
        node: &Node,
        keys: &'k [OwnerSigner],
        account: Address,
    ) -> Result<Self, OwnerError> {
        let [key] = keys else {
            return Ok(Self::Together(SharedAccount::at(node, account).await?, keys));
        };
        match Account::ruled_by(node, key.address(), account).await {
            Ok(own) => Ok(Self::Alone(own, key)),
            // One key may be enough for an account of several.
            Err(not_his @ OwnerError::NotTheOwner { .. }) => {
                match SharedAccount::at(node, account).await {
                    Ok(shared) => Ok(Self::Together(shared, keys)),
                    Err(OwnerError::NotShared { .. }) => Err(not_his),
                    Err(fault) => Err(fault),
                }
            }
            Err(error) => Err(error),
        }
    }

    /// Has the account say it, by one transaction of a key.
    async fn says(
        &self,
        what: &What,
        node: &Node,
        ceiling: U256,
    ) -> Result<TransactionReceipt, OwnerError> {
        match self {
            Self::Alone(account, key) => {
                account.tell(node, key, what.whom(), what.call(), ceiling).await
            }
            Self::Together(shared, keys) => {
                let (target, data) = (what.whom(), what.call());
                let call = Execution { target, value: U256::ZERO, data };
                shared.act(node, keys, &[call], ceiling).await
            }
        }
    }
}
