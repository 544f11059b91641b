//! What a Golem remembers.

use crate::kit::{NOW, folder, open};
use alloy_primitives::Address;
use bardo_store::{MemoryId, MemoryKind, NewMemory, Page, Store, StoreError, Untrusted};
use serde_json::json;

fn memory(kind: MemoryKind, text: &str) -> NewMemory {
    NewMemory {
        kind,
        author: Address::repeat_byte(7),
        source: "policy_violation".into(),
        at: NOW,
        text: Untrusted::new(text),
        data: json!({ "code": "POL-1" }),
        parents: vec![],
    }
}

async fn found(store: &Store, words: &str) -> Vec<u64> {
    let found = store.search(words, Page::first(50)).await.unwrap();
    found.iter().map(|memory| memory.id.0).collect()
}

#[tokio::test]
async fn a_memory_comes_back_as_it_was_with_what_it_came_of() {
    let folder = folder();
    let store = open(folder.path());
    let first = store.remember(memory(MemoryKind::Episode, "a swap was refused")).await.unwrap();
    let second = store.remember(memory(MemoryKind::Episode, "again")).await.unwrap();
    let child = NewMemory {
        parents: vec![second, first, first],
        ..memory(MemoryKind::Warning, "swaps over the cap are refused")
    };

    let id = store.remember(child.clone()).await.unwrap();
    drop(store);

    let store = open(folder.path());
    let warnings = store.memories(Some(MemoryKind::Warning), Page::first(9)).await.unwrap();
    assert_eq!(warnings.len(), 1);
    let kept = &warnings[0];
    assert_eq!((kept.id, &kept.parents), (id, &vec![first, second]));
    assert_eq!((kept.kind, kept.author, kept.at), (child.kind, child.author, child.at));
    assert_eq!((&kept.source, &kept.text, &kept.data), (&child.source, &child.text, &child.data));
}

#[tokio::test]
async fn nothing_comes_of_what_is_not_there_nor_of_itself() {
    let folder = folder();
    let store = open(folder.path());
    let first = store.remember(memory(MemoryKind::Insight, "one")).await.unwrap();

    // The next number is its own.
    for parent in [first.0 + 1, 99, 0, u64::MAX] {
        let orphan =
            NewMemory { parents: vec![MemoryId(parent)], ..memory(MemoryKind::Insight, "two") };
        let refused = store.remember(orphan).await;
        assert!(
            matches!(refused, Err(StoreError::UnknownParent(_) | StoreError::TooLarge { .. })),
            "{parent}: {refused:?}"
        );
    }
    assert_eq!(store.memories(None, Page::first(9)).await.unwrap().len(), 1);
}

#[tokio::test]
async fn every_kind_is_listed_apart_and_in_pages() {
    let folder = folder();
    let store = open(folder.path());
    for number in 0..4 {
        for kind in MemoryKind::ALL {
            store.remember(memory(kind, &format!("number {number}"))).await.unwrap();
        }
    }

    for kind in MemoryKind::ALL {
        let first = store.memories(Some(kind), Page::first(3)).await.unwrap();
        let before = first.last().map(|memory| memory.id);
        let rest = store.memories(Some(kind), Page { before, limit: 3 }).await.unwrap();
        assert_eq!((first.len(), rest.len()), (3, 1), "{kind:?}");
        let all: Vec<_> = first.iter().chain(&rest).collect();
        assert!(all.iter().all(|memory| memory.kind == kind));
        assert!(all.windows(2).all(|pair| pair[0].id > pair[1].id), "the newest first");
    }
    assert_eq!(store.memories(None, Page::first(u32::MAX)).await.unwrap().len(), 24);
}

#[tokio::test]
async fn a_search_finds_memories_with_all_of_its_words() {
    let folder = folder();
    let store = open(folder.path());
    for text in ["The pool's price moved", "the pool is empty", "Préis über alles"] {
        store.remember(memory(MemoryKind::Insight, text)).await.unwrap();
    }

    assert_eq!(found(&store, "pool").await, [2, 1]);
    assert_eq!(found(&store, "PRICE pool").await, [1]);
    assert_eq!(found(&store, "über").await, [3]);
    assert_eq!(found(&store, "absent").await, [] as [u64; 0]);
}

#[tokio::test]
async fn words_of_anybody_are_words_and_never_a_query() {
    let folder = folder();
    let store = open(folder.path());
    store
        .remember(memory(MemoryKind::Episode, "text NOT to be believed OR trusted"))
        .await
        .unwrap();

    for words in [
        "",
        " ",
        "\"",
        "\"\"\"",
        "*",
        "text*",
        "text:",
        "text : x",
        "(",
        ")",
        "a AND",
        "NOT",
        "OR OR",
        "NEAR(a b)",
        "-",
        "^text",
        "{a b}",
        "+",
        "'; DROP TABLE memories; --",
        "\0",
        "text\0text",
        "col:val",
        "a\"b",
        "\u{202e}",
        "🜁",
        &"\"".repeat(5_000),
        &"x ".repeat(5_000),
    ] {
        assert!(store.search(words, Page::first(5)).await.is_ok(), "{words:?}");
    }
    assert_eq!(found(&store, "NOT").await, [1]);
    assert_eq!(found(&store, "text AND").await, [] as [u64; 0], "and is a word");
    assert_eq!(found(&store, "tex*").await, [] as [u64; 0], "no star completes a word");
    assert_eq!(found(&store, "believed\" OR \"absent").await, [] as [u64; 0]);
}
