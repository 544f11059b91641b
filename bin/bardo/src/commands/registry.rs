use crate::{
    answer::{Answer, Failure},
    cli::{KeyArgs, RegistryCommand, SendArgs, StatusArgs},
    input,
};
use golem_chain::{Entry, Registry, Writing, Written};
use serde_json::{Value, json};

/// `bardo registry`
pub(crate) async fn registry(command: &RegistryCommand) -> Result<Answer, Failure> {
    let (on, writing) = match command {
        RegistryCommand::Status(args) => return status(args).await,
        RegistryCommand::Register(args) => {
            let writing = Writing::Register { salt: args.salt, agent_key: args.agent_key };
            return write(&args.send, &args.key, &writing).await;
        }
        RegistryCommand::Attach(args) => {
            (&args.on, Writing::Attach { golem: args.on.golem, agent_key: args.agent_key })
        }
        RegistryCommand::Advance(args) => {
            (&args.on, Writing::Advance { golem: args.on.golem, phase: args.phase })
        }
        RegistryCommand::Feed(args) => {
            (&args.on, Writing::Feed { golem: args.on.golem, phase: args.phase })
        }
        RegistryCommand::Dream(args) => {
            (&args.on, Writing::Dream { golem: args.on.golem, dreaming: args.asleep })
        }
        RegistryCommand::Pad(args) => {
            (&args.on, Writing::Feel { golem: args.on.golem, mood: args.mood() })
        }
        RegistryCommand::Vitality(args) => {
            let (phase, score) = (args.phase, args.score);
            (&args.on, Writing::Report { golem: args.on.golem, phase, score })
        }
    };
    write(&on.send, &on.key, &writing).await
}

/// One transaction, and what the registry says since.
async fn write(send: &SendArgs, key: &KeyArgs, writing: &Writing) -> Result<Answer, Failure> {
    let signer = input::owner(key)?;
    let node = send.connect().await?;
    let registry = Registry::open(&node).await?;
    Ok(match registry.write(&signer, writing, send.ceiling(&node)?).await? {
        Written::Refused { reason } => {
            let text = format!("refused: {reason}; nothing was sent");
            Answer::no(json!({ "written": false, "reason": reason }), text)
        }
        Written::Done { transaction, gas_used, entry } => {
            let written = writing.shows(&entry);
            let json = json!({
                "written": written, "golemId": entry.golem, "transaction": transaction,
                "gasUsed": gas_used, "entry": entry_json(&entry),
            });
            let text = entry_text(&entry);
            if written {
                Answer::yes(json, format!("done: {transaction} ({gas_used} gas)\n{text}"))
            } else {
                let words = "is in a block, but the registry does not show what it wrote";
                Answer::no(json, format!("{transaction} {words}\n{text}"))
            }
        }
    })
}

/// `bardo registry status`
async fn status(args: &StatusArgs) -> Result<Answer, Failure> {
    let node = args.node.connect().await?;
    let Some(entry) = Registry::open(&node).await?.entry(args.golem).await? else {
        let reason = format!("{} was never registered on chain {}", args.golem, node.chain_id());
        let json = json!({ "registered": false, "golemId": args.golem, "reason": reason });
        return Ok(Answer::no(json, reason));
    };
    let mut json = entry_json(&entry);
    let mut text = entry_text(&entry);
    if let (Some(bound), Value::Object(fields)) = (args.staleness, &mut json) {
        let counted = format!("{:?}", entry.phase_within(bound));
        text.push_str(&format!(
            "\nWith a bound of {bound} seconds a charter counts it as {counted}."
        ));
        fields.insert("staleness".into(), json!(bound));
        fields.insert("countedPhase".into(), json!(counted));
    }
    Ok(if entry.state.registered { Answer::yes(json, text) } else { Answer::no(json, text) })
}

fn entry_json(entry: &Entry) -> Value {
    let state = &entry.state;
    json!({
        "registered": state.registered,
        "closed": state.closed,
        "golemId": entry.golem,
        "owner": entry.owner,
        "agentKey": entry.agent_key,
        "phase": format!("{:?}", state.phase),
        "score": state.score,
        "dreaming": state.dreaming,
        "pad": state.mood,
        "minEpoch": state.min_epoch,
        "attachedEpoch": entry.attached_epoch,
        "generation": entry.generation,
        "updatedAt": state.updated_at,
        "ageSeconds": entry.age(),
        "block": entry.block.number,
        "blockTime": entry.block.timestamp,
    })
}

fn entry_text(entry: &Entry) -> String {
    let state = &entry.state;
    let mood = &state.mood;
    let key = entry.agent_key.map_or_else(|| "none".to_owned(), |key| key.to_string());
    let mut lines = vec![
        format!("golem       {}", entry.golem),
        format!("owner       {}", entry.owner),
        format!("agent key   {key}"),
        format!("phase       {:?}", state.phase),
        format!("score       {} of 10000", state.score),
        format!("dreaming    {}", if state.dreaming { "yes" } else { "no" }),
        format!("pad         {} {} {}", mood.pleasure, mood.arousal, mood.dominance),
        format!(
            "epoch       grants from {} on count; a key was attached by {}",
            state.min_epoch, entry.attached_epoch
        ),
        format!("generation  {}", entry.generation),
        format!(
            "updated     at {}, {} seconds before block {}",
            state.updated_at,
            entry.age(),
            entry.block.number
        ),
    ];
    if !state.registered {
        lines.push("Its owner took it off the register: it counts as dead and unknown.".into());
    } else if state.closed {
        lines.push("It died: nothing about it changes any more.".into());
    } else {
        lines.push(
            "A charter counts an entry that is older than its staleness bound as Conservation at best.".into(),
        );
    }
    lines.join("\n")
}
