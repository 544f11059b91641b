use super::{estate::Estate, refused};
use crate::{
    answer::{Answer, Failure},
    cli::KillArgs,
};
use golem_custody::Rotation;
use serde_json::json;

/// `bardo golem rotate`: the owner wants another key (SPEC D11).
pub(super) async fn rotate(args: &KillArgs) -> Result<Answer, Failure> {
    let estate = match Estate::of("asked", &args.data, &args.send, &args.key).await? {
        Ok(estate) => estate,
        Err(no) => return Ok(no),
    };
    let key = estate.grant.delegate;
    if let Some(Rotation::Asked { .. } | Rotation::Granted { .. }) = estate.glance.rotation {
        let reason = "its next key is there already and waits for your grant: `bardo golem grant`; nothing was asked";
        return Ok(refused("asked", reason));
    }
    if estate.glance.dying.is_some() {
        return Ok(refused("asked", "it dies, and needs no other key; nothing was asked"));
    }
    estate.inbox.ask_rotation(key)?;
    let json = json!({ "asked": true, "golem": estate.glance.golem, "key": key });
    let text = format!(
        "asked for another key in the place of {key}: once it is born, `bardo golem status` says so and `bardo golem grant` signs for it.\n\
         Until then the old one works on"
    );
    Ok(Answer::yes(json, text))
}
