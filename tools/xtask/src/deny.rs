//! Licences, banned crates and sources, by the rules of deny.toml.
//!
//! cargo-deny judges the same file and more, but takes minutes to compile on a fresh machine. This reads
//! the part of it that needs no network, so that the rule holds on every machine; `make deny` runs the real
//! cargo-deny as well where it is installed. Advisories need its database and stay with cargo-deny.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::metadata::{Metadata, cargo};

#[derive(Debug, Deserialize)]
struct Rules {
    graph: Graph,
    licenses: Licenses,
    bans: Bans,
    sources: Sources,
}

#[derive(Debug, Deserialize)]
struct Graph {
    targets: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Licenses {
    allow: BTreeSet<String>,
}

#[derive(Debug, Deserialize)]
struct Bans {
    deny: Vec<Ban>,
}

#[derive(Debug, Deserialize)]
struct Ban {
    #[serde(rename = "crate")]
    name: String,
    reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Sources {
    allow_registry: Vec<String>,
}

/// A foreign crate that is really built for one of the targets.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Built {
    name: String,
    version: String,
    license: String,
}

pub(crate) fn run(root: &Path, out: &mut dyn Write) -> Result<bool> {
    let text = fs::read_to_string(root.join("deny.toml")).context("read deny.toml")?;
    let rules: Rules = toml::from_str(&text).context("parse deny.toml")?;
    let metadata = Metadata::read(root)?;
    let mut built = BTreeSet::new();
    for target in &rules.graph.targets {
        // `cargo tree` resolves features as a build does; `cargo metadata` also lists what no feature turns on.
        let format = "{p}\t{l}";
        let args =
            ["tree", "--offline", "--locked", "--workspace", "--all-features", "--prefix", "none"];
        let more = ["--edges", "normal,build,dev", "--target", target, "--format", format];
        built.extend(parse_tree(&cargo(root, &[&args[..], &more[..]].concat())?));
    }
    let sources = metadata.packages.iter().filter_map(|package| {
        Some((format!("{} {}", package.name, package.version), package.source.clone()?))
    });

    let mut problems = judge(&rules, &built);
    problems.extend(sources.filter_map(|(name, source)| judge_source(&rules, &name, &source)));
    let fine = crate::verdict(&problems, out)?;
    if fine {
        writeln!(out, "{} crates: licences, bans and sources as deny.toml allows", built.len())?;
    }
    Ok(fine)
}

/// Lines such as `serde v1.0.0 (*)<tab>MIT OR Apache-2.0`; our own crates carry a path and are left out.
fn parse_tree(text: &str) -> BTreeSet<Built> {
    text.lines()
        .filter_map(|line| line.split_once('\t'))
        .filter(|(package, _)| !package.contains("(/"))
        .filter_map(|(package, license)| {
            let (name, rest) = package.split_once(" v")?;
            let version = rest.split(' ').next()?;
            let license = license.trim_end_matches(" (*)");
            Some(Built {
                name: name.to_owned(),
                version: version.to_owned(),
                license: license.to_owned(),
            })
        })
        .collect()
}

fn judge(rules: &Rules, built: &BTreeSet<Built>) -> Vec<String> {
    let mut problems = Vec::new();
    for Built { name, version, license } in built {
        if let Some(ban) = rules.bans.deny.iter().find(|ban| ban.name == *name) {
            problems.push(format!("{name} {version} is banned: {}", ban.reason));
        }
        match allowed(license, &rules.licenses.allow) {
            Some(true) => {}
            Some(false) => {
                problems.push(format!("{name} {version}: licence {license} is not in deny.toml"))
            }
            None => problems.push(format!("{name} {version}: cannot read its licence `{license}`")),
        }
    }
    problems
}

fn judge_source(rules: &Rules, name: &str, source: &str) -> Option<String> {
    let registry = source.strip_prefix("registry+").or_else(|| source.strip_prefix("sparse+"));
    match registry {
        Some(url) if rules.sources.allow_registry.iter().any(|allowed| allowed == url) => None,
        _ => Some(format!("{name} comes from {source}, which is not an allowed registry")),
    }
}

/// Whether an SPDX expression can be met with the allowed licences; `None` when it does not parse.
///
/// `MIT/Apache-2.0` is how old crates write `OR`.
fn allowed(expression: &str, allow: &BTreeSet<String>) -> Option<bool> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut words = spaced.split_whitespace().peekable();
    let met = any(&mut words, allow)?;
    words.next().is_none().then_some(met)
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn any(words: &mut Words<'_>, allow: &BTreeSet<String>) -> Option<bool> {
    let mut met = all(words, allow)?;
    while words.next_if_eq(&"OR").is_some() {
        met |= all(words, allow)?;
    }
    Some(met)
}

fn all(words: &mut Words<'_>, allow: &BTreeSet<String>) -> Option<bool> {
    let mut met = one(words, allow)?;
    while words.next_if_eq(&"AND").is_some() {
        met &= one(words, allow)?;
    }
    Some(met)
}

fn one(words: &mut Words<'_>, allow: &BTreeSet<String>) -> Option<bool> {
    match words.next()? {
        "(" => {
            let met = any(words, allow)?;
            (words.next() == Some(")")).then_some(met)
        }
        "OR" | "AND" | "WITH" | ")" => None,
        license if words.next_if_eq(&"WITH").is_some() => {
            let exception = words.next()?;
            Some(allow.contains(&format!("{license} WITH {exception}")))
        }
        license => Some(allow.contains(license)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = r#"
        [graph]
        targets = ["x86_64-unknown-linux-gnu"]
        [licenses]
        allow = ["MIT", "ISC"]
        [bans]
        deny = [{ crate = "openssl-sys", reason = "we use rustls" }]
        [sources]
        allow-registry = ["https://registry.invalid/index"]
    "#;

    fn rules() -> Rules {
        toml::from_str(RULES).unwrap()
    }

    fn meets(expression: &str) -> Option<bool> {
        allowed(expression, &rules().licenses.allow)
    }

    #[test]
    fn licence_expressions_are_judged_as_spdx_means_them() {
        assert_eq!(meets("MIT"), Some(true));
        assert_eq!(meets("GPL-3.0 OR MIT"), Some(true));
        assert_eq!(meets("MIT/Apache-2.0"), Some(true));
        assert_eq!(meets("MIT AND GPL-3.0"), Some(false));
        assert_eq!(meets("ISC AND (GPL-3.0 OR MIT)"), Some(true));
        assert_eq!(meets("GPL-3.0 OR MIT AND Zlib"), Some(false));
        assert_eq!(meets("MIT WITH Some-exception"), Some(false));
    }

    #[test]
    fn a_licence_that_does_not_parse_is_refused() {
        for broken in ["", "MIT OR", "(MIT", "MIT ISC", "AND"] {
            assert_eq!(meets(broken), None, "{broken}");
        }
        let built = BTreeSet::from([Built {
            name: "x".into(),
            version: "1".into(),
            license: String::new(),
        }]);
        assert_eq!(judge(&rules(), &built), ["x 1: cannot read its licence ``"]);
    }

    #[test]
    fn a_banned_crate_and_a_foreign_licence_are_named() {
        let tree = "a v1.0.0\tMIT\nopenssl-sys v0.9.1 (*)\tMIT\nb v2.0.0 (proc-macro)\tGPL-3.0\nours v0.1.0 (/x/y)\t";

        let problems = judge(&rules(), &parse_tree(tree));

        assert_eq!(
            problems,
            [
                "b 2.0.0: licence GPL-3.0 is not in deny.toml",
                "openssl-sys 0.9.1 is banned: we use rustls"
            ]
        );
    }

    #[test]
    fn only_the_listed_registry_is_a_source() {
        let good = "registry+https://registry.invalid/index";
        assert_eq!(judge_source(&rules(), "a 1", good), None);

        for bad in ["git+https://example.invalid/a", "registry+https://other.invalid/index"] {
            assert!(
                judge_source(&rules(), "a 1", bad).unwrap().contains("not an allowed registry")
            );
        }
    }
}
