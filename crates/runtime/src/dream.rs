//! What sleep makes of what a Golem was warned of: of each rule that refused it more than once since it slept last, one insight.

use crate::{Golem, Life, TickError};
use bardo_store::{Memory, MemoryKind, NewMemory, Page, Untrusted};
use golem_custody::Keyring as _;
use serde_json::json;
use std::collections::BTreeMap;

/// Where an insight of a dream says that it came from.
const SOURCE: &str = "dream";

impl Golem {
    /// Brings together what it was warned of since its last dream, and says how many insights came of it. Dreamt again after a crash, it
    /// is the same dream.
    pub(crate) async fn consolidate(&self, next: &mut Life, now: u64) -> Result<u64, TickError> {
        // A page of the newest: what is older than five hundred warnings is known by now.
        let warnings =
            self.store.memories(Some(MemoryKind::Warning), Page::first(Page::MOST)).await?;
        let since = next.dreamt;
        let fresh: Vec<&Memory> =
            warnings.iter().filter(|one| since.is_none_or(|last| one.id.0 > last)).collect();
        let Some(newest) = fresh.iter().map(|one| one.id.0).max() else { return Ok(0) };
        let mut by_rule: BTreeMap<String, Vec<&Memory>> = BTreeMap::new();
        for one in fresh {
            let code = one.data.get("code").and_then(|code| code.as_str()).unwrap_or("unknown");
            by_rule.entry(code.to_owned()).or_default().push(one);
        }
        let known = self.store.memories(Some(MemoryKind::Insight), Page::first(Page::MOST)).await?;
        let mut insights = 0u64;
        for (code, all) in by_rule.into_iter().filter(|(_, all)| all.len() > 1) {
            insights = insights.saturating_add(1);
            let data = json!({ "code": code, "times": all.len(), "newest": newest });
            if known.iter().any(|one| one.source == SOURCE && one.data == data) {
                continue;
            }
            let author = self.keys.current().await.unwrap_or_default();
            let text = format!("{code} refused it {} times since it slept last", all.len());
            self.store
                .remember(NewMemory {
                    kind: MemoryKind::Insight,
                    author,
                    source: SOURCE.to_owned(),
                    at: now,
                    text: Untrusted::new(text),
                    data,
                    parents: all.iter().map(|one| one.id).collect(),
                })
                .await?;
        }
        next.dreamt = Some(newest);
        Ok(insights)
    }
}
