//! Slim, sorted artifacts of our contracts, as `sol!` reads them.
//!
//! Forge's own output carries compiler settings and syntax trees that differ between machines; what is
//! committed is the interface and the code alone, so that a diff of it is a diff of what gets deployed.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value};
use walkdir::WalkDir;

/// Folders of contracts/src whose contracts are deployed. Rules and interfaces are not deployed by themselves.
const DEPLOYED: &[&str] = &["enforcers", "identity", "lifecycle", "market", "policy", "registry"];
const MEND: &str = "make artifacts";

pub(crate) fn run(root: &Path, check: bool, out: &mut dyn Write) -> Result<bool> {
    let contracts = root.join("contracts");
    let wanted = wanted(&contracts)?;
    let folder = contracts.join("artifacts");
    let present = present(&folder)?;
    let fine = if check {
        crate::verdict(&stale(&wanted, &present), out)?
    } else {
        write(&folder, &wanted, &present)?;
        true
    };
    if fine {
        writeln!(
            out,
            "{} artifacts, sha256 of all bytecode {}",
            wanted.len(),
            fingerprint(&wanted)?
        )?;
    }
    Ok(fine)
}

/// File name and content of every artifact there should be.
fn wanted(contracts: &Path) -> Result<BTreeMap<String, String>> {
    let mut wanted = BTreeMap::new();
    for folder in
        DEPLOYED.iter().map(|name| contracts.join("src").join(name)).filter(|path| path.is_dir())
    {
        for entry in WalkDir::new(&folder) {
            let entry = entry.context("walk contracts/src")?;
            let file = entry.file_name().to_string_lossy().into_owned();
            if !file.ends_with(".sol") {
                continue;
            }
            let source =
                fs::read_to_string(entry.path()).with_context(|| format!("read {file}"))?;
            for name in concrete_contracts(&source) {
                let built = contracts.join("out").join(&file).join(format!("{name}.json"));
                let text = fs::read_to_string(&built).with_context(|| {
                    format!("read forge's output for {name}; build it with `make contracts`")
                })?;
                let slim = slim(&text).with_context(|| format!("slim the artifact of {name}"))?;
                ensure!(
                    wanted.insert(format!("{name}.json"), slim).is_none(),
                    "two deployed contracts are named {name}"
                );
            }
        }
    }
    Ok(wanted)
}

/// Names declared by `contract X` at the start of a line, which is how `forge fmt` leaves them; abstract
/// contracts, interfaces and libraries start otherwise.
fn concrete_contracts(source: &str) -> Vec<String> {
    source
        .lines()
        .filter_map(|line| line.strip_prefix("contract "))
        .filter_map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next())
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

fn slim(forge: &str) -> Result<String> {
    let forge: Value = serde_json::from_str(forge).context("parse forge's JSON")?;
    let mut abi = forge.get("abi").and_then(Value::as_array).context("find the abi")?.clone();
    abi.sort_by_cached_key(|item| {
        let field =
            |name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        (field("type"), field("name"), sorted(item).to_string())
    });
    let mut slim = Map::new();
    slim.insert("abi".to_owned(), Value::Array(abi.iter().map(sorted).collect()));
    for field in ["bytecode", "deployedBytecode"] {
        slim.insert(field.to_owned(), Value::String(code(&forge, field)?));
    }
    let mut text = serde_json::to_string_pretty(&Value::Object(slim)).context("write JSON")?;
    text.push('\n');
    Ok(text)
}

fn code(forge: &Value, field: &str) -> Result<String> {
    let code = forge.pointer(&format!("/{field}/object")).and_then(Value::as_str);
    let code = code.with_context(|| format!("find {field}"))?;
    let Some(hex) = code.strip_prefix("0x") else { bail!("{field} does not start with 0x") };
    ensure!(!hex.is_empty(), "{field} is empty although the contract is not abstract");
    ensure!(hex.bytes().all(|c| c.is_ascii_hexdigit()), "{field} is not linked or not hexadecimal");
    Ok(code.to_owned())
}

/// Object keys in order, whatever map another crate's features give serde_json.
pub(crate) fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        Value::Object(fields) => {
            let ordered: BTreeMap<_, _> = fields.iter().collect();
            Value::Object(
                ordered.into_iter().map(|(key, value)| (key.clone(), sorted(value))).collect(),
            )
        }
        other => other.clone(),
    }
}

/// File name and content of every artifact there is.
fn present(folder: &Path) -> Result<BTreeMap<String, String>> {
    let mut present = BTreeMap::new();
    if folder.is_dir() {
        for entry in fs::read_dir(folder).context("list contracts/artifacts")? {
            let entry = entry.context("list contracts/artifacts")?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with(".json") {
                let text =
                    fs::read_to_string(entry.path()).with_context(|| format!("read {name}"))?;
                present.insert(name, text);
            }
        }
    }
    Ok(present)
}

fn stale(wanted: &BTreeMap<String, String>, present: &BTreeMap<String, String>) -> Vec<String> {
    let mut problems = Vec::new();
    for (name, text) in wanted {
        match present.get(name) {
            None => problems
                .push(format!("contracts/artifacts/{name} is missing; run `{MEND}` and commit it")),
            Some(old) if old != text => {
                problems.push(format!(
                    "contracts/artifacts/{name} is stale; run `{MEND}` and commit it"
                ));
            }
            Some(_) => {}
        }
    }
    for name in present.keys().filter(|name| !wanted.contains_key(*name)) {
        problems.push(format!(
            "contracts/artifacts/{name} has no source any more; run `{MEND}` and commit that"
        ));
    }
    problems
}

/// Writes only what differs, so that cargo does not rebuild the bindings for nothing.
fn write(
    folder: &Path,
    wanted: &BTreeMap<String, String>,
    present: &BTreeMap<String, String>,
) -> Result<()> {
    fs::create_dir_all(folder).context("create contracts/artifacts")?;
    for (name, text) in wanted.iter().filter(|(name, text)| present.get(*name) != Some(*text)) {
        fs::write(folder.join(name), text)
            .with_context(|| format!("write contracts/artifacts/{name}"))?;
    }
    for name in present.keys().filter(|name| !wanted.contains_key(*name)) {
        fs::remove_file(folder.join(name))
            .with_context(|| format!("remove contracts/artifacts/{name}"))?;
    }
    Ok(())
}

/// One hash over the creation code of all contracts: equal in two clones, or something is not pinned.
fn fingerprint(wanted: &BTreeMap<String, String>) -> Result<String> {
    let mut all = String::new();
    for (name, text) in wanted {
        let artifact: Value = serde_json::from_str(text).context("parse a slim artifact")?;
        let code = artifact.get("bytecode").and_then(Value::as_str).context("find bytecode")?;
        all.push_str(&format!("{name} {code}\n"));
    }
    Ok(crate::sources::sha256(all.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::scratch;

    const FORGE: &str = r#"{
        "abi": [
            {"type": "function", "name": "b", "inputs": [], "outputs": [], "stateMutability": "view"},
            {"type": "error", "name": "Z", "inputs": []},
            {"name": "a", "type": "function", "inputs": [], "outputs": [], "stateMutability": "view"}
        ],
        "bytecode": {"object": "0x6001", "sourceMap": "", "linkReferences": {}},
        "deployedBytecode": {"object": "0x60", "immutableReferences": {}},
        "methodIdentifiers": {}, "id": 7
    }"#;

    fn repository(name: &str) -> std::path::PathBuf {
        let root = scratch(name);
        fs::create_dir_all(root.join("contracts/src/enforcers")).unwrap();
        fs::create_dir_all(root.join("contracts/out/A.sol")).unwrap();
        fs::write(
            root.join("contracts/src/enforcers/A.sol"),
            "abstract contract Base {}\ncontract A is Base {\n}\n",
        )
        .unwrap();
        fs::write(root.join("contracts/out/A.sol/A.json"), FORGE).unwrap();
        root
    }

    fn check(root: &Path) -> (bool, String) {
        let mut out = Vec::new();
        let fine = run(root, true, &mut out).unwrap();
        (fine, String::from_utf8(out).unwrap())
    }

    #[test]
    fn a_slim_artifact_is_sorted_and_ends_with_a_newline() {
        let text = slim(FORGE).unwrap();

        assert!(text.ends_with("}\n"));
        assert!(!text.contains("methodIdentifiers"));
        let value: Value = serde_json::from_str(&text).unwrap();
        let names: Vec<_> =
            value["abi"].as_array().unwrap().iter().map(|item| &item["name"]).collect();
        assert_eq!(names, ["Z", "a", "b"]);
        assert_eq!(value["bytecode"], "0x6001");
        assert_eq!(value["deployedBytecode"], "0x60");
        assert!(text.find("\"inputs\"").unwrap() < text.find("\"type\"").unwrap());
    }

    #[test]
    fn only_concrete_contracts_are_taken() {
        let source = "interface I {}\nlibrary L {}\nabstract contract B {}\ncontract A is B {\n// contract X\n}";

        assert_eq!(concrete_contracts(source), ["A"]);
    }

    #[test]
    fn unlinked_and_empty_bytecode_is_refused() {
        let unlinked = FORGE.replace("0x6001", "0x60__$53aea86b7d70b31448b230b20ae141a537$__");
        assert!(slim(&unlinked).is_err());

        assert!(slim(&FORGE.replace("0x6001", "0x")).is_err());
    }

    #[test]
    fn what_was_written_passes_the_check() {
        let root = repository("artifacts-fresh");
        run(&root, false, &mut Vec::new()).unwrap();

        let (fine, said) = check(&root);

        assert!(fine, "{said}");
        assert!(said.starts_with("1 artifacts, sha256 of all bytecode "));
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_missing_a_stale_and_an_orphaned_artifact_are_each_named() {
        let root = repository("artifacts-stale");

        let (fine, said) = check(&root);
        assert!(
            !fine && said.contains("artifacts/A.json is missing; run `make artifacts`"),
            "{said}"
        );

        run(&root, false, &mut Vec::new()).unwrap();
        fs::write(root.join("contracts/artifacts/A.json"), "{}").unwrap();
        let (fine, said) = check(&root);
        assert!(
            !fine && said.contains("artifacts/A.json is stale; run `make artifacts`"),
            "{said}"
        );

        fs::write(root.join("contracts/artifacts/Gone.json"), "{}").unwrap();
        let (fine, said) = check(&root);
        assert!(!fine && said.contains("artifacts/Gone.json has no source"), "{said}");

        run(&root, false, &mut Vec::new()).unwrap();
        assert!(!root.join("contracts/artifacts/Gone.json").exists());
        assert!(check(&root).0);
        fs::remove_dir_all(root).unwrap();
    }
}
