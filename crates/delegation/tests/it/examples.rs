//! Whoever depends on this crate finds an example of everything in it.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// A function or constant of a type, and whether it is at the top of its file.
#[derive(Debug)]
struct Item {
    name: String,
    top: bool,
    /// Its own documentation has an example.
    shown: bool,
}

fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|end| end == "rs") {
            into.push(path);
        }
    }
}

/// What a line makes public, if it does. Names that a macro makes are its example's to show.
fn public(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("pub ")?;
    let kinds = ["const fn ", "fn ", "struct ", "enum ", "trait ", "const ", "type "];
    let rest = kinds.iter().find_map(|kind| rest.strip_prefix(kind))?;
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    rest.get(..end).filter(|name| !name.is_empty())
}

/// What a file makes public, and all lines of its examples.
fn read(text: &str) -> (Vec<Item>, String) {
    let (mut items, mut examples) = (Vec::new(), String::new());
    let (mut shown, mut inside) = (false, false);
    for line in text.lines() {
        let trimmed = line.trim_start();
        let doc = trimmed.strip_prefix("///").or_else(|| trimmed.strip_prefix("//!"));
        if let Some(doc) = doc {
            if doc.trim_start().starts_with("```") {
                inside = !inside;
                shown |= trimmed.starts_with("///");
            } else if inside {
                examples.push_str(doc);
                examples.push('\n');
            }
            continue;
        }
        if let Some(name) = public(line) {
            let top = !line.starts_with(' ');
            items.push(Item { name: name.to_owned(), top, shown });
        }
        // Attributes stand between documentation and what it is of.
        if !trimmed.starts_with('#') && !trimmed.ends_with(")]") {
            shown = false;
        }
    }
    (items, examples)
}

/// Every public item has an example of its own, and everything public of a type is used in one beside it.
#[test]
fn everything_public_has_an_example_that_runs() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    let (mut seen, mut missing) = (0, Vec::new());
    for file in files {
        let (items, examples) = read(&fs::read_to_string(&file).unwrap());
        seen += items.len();
        let used = |name: &str| {
            examples.contains(&format!(".{name}")) || examples.contains(&format!("::{name}"))
        };
        let bare = items.into_iter().filter(|item| !item.shown && (item.top || !used(&item.name)));
        missing.extend(bare.map(|item| format!("{}: {}", file.display(), item.name)));
    }
    assert!(seen > 400, "only {seen} found");
    assert!(missing.is_empty(), "without an example: {missing:#?}");
}

#[test]
fn what_has_no_example_is_found() {
    let text = "/// A thing.\n/// ```\n/// let it = Thing::new();\n/// ```\n#[derive(Debug)]\npub struct Thing;\n\n\
                impl Thing {\n    pub fn new() {}\n    /// None.\n    pub fn other() {}\n}\npub const BARE: u8 = 1;\n";
    let (items, examples) = read(text);
    let shown: Vec<(&str, bool)> =
        items.iter().map(|item| (item.name.as_str(), item.shown)).collect();
    assert_eq!(shown, [("Thing", true), ("new", false), ("other", false), ("BARE", false)]);
    assert!(examples.contains("::new") && !examples.contains("::other"));
}
