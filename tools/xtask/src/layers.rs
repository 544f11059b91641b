//! Direction of the crate graph.
//!
//! A crate may depend on crates of a lower rank only. The rules are few enough to be read here, and each
//! has a test that breaks it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;

use anyhow::Result;

use crate::metadata::Metadata;

/// Library crates from the bottom up. A new crate gets its place here, by hand.
const ORDER: &[&str] = &[
    "bardo-bindings",
    "golem-delegation",
    "golem-safety",
    "golem-tools",
    "golem-custody",
    "golem-chain",
    "bardo-store",
    "bardo-auth",
    "golem-runtime",
    "bardo-control",
    "bardo-testkit",
];
/// Binaries stand above all libraries and never on each other.
const BINARIES: &[&str] = &["bardo", "bardo-mcp"];
/// All tests, no product: may use anything, and nothing may use them.
const TESTS: &[&str] = &["bardo-e2e"];
/// Works on the repository, so it is built without any of it.
const TOOLS: &[&str] = &["xtask"];
/// Adapters know the kernel's ports, not each other.
const ADAPTERS: &[&str] = &["golem-chain", "bardo-store", "bardo-auth"];
const TESTKIT: &str = "bardo-testkit";
const CUSTODY: &str = "golem-custody";
/// Whole-stack tests, in which keys are stolen.
const THIEF: &str = "bardo-e2e";
/// INV-12: what the model talks to links no custody code.
const WITHOUT_CUSTODY: &[&str] = &["golem-tools", "bardo-mcp"];
/// Could be published, so it stands alone.
const ALONE: &str = "golem-delegation";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Normal,
    Build,
    Dev,
}

/// One direct dependency of a workspace crate.
#[derive(Debug, Clone)]
struct Edge {
    to: String,
    kind: Kind,
    features: Vec<String>,
}

/// Direct dependencies of each workspace crate, foreign crates included.
type Graph = BTreeMap<String, Vec<Edge>>;

pub(crate) fn run(root: &Path, out: &mut dyn Write) -> Result<bool> {
    let graph = read(&Metadata::read(root)?);
    let fine = crate::verdict(&violations(&graph), out)?;
    if fine {
        writeln!(out, "{} workspace crates, every edge points down", graph.len())?;
    }
    Ok(fine)
}

fn read(metadata: &Metadata) -> Graph {
    metadata
        .members()
        .map(|package| {
            let edges = package.dependencies.iter().map(|dependency| Edge {
                to: dependency.name.clone(),
                kind: match dependency.kind.as_deref() {
                    Some("dev") => Kind::Dev,
                    Some("build") => Kind::Build,
                    _ => Kind::Normal,
                },
                features: dependency.features.clone(),
            });
            (package.name.clone(), edges.collect())
        })
        .collect()
}

/// Place in the order; `None` for a crate outside of it.
fn rank(name: &str) -> Option<usize> {
    if BINARIES.contains(&name) {
        return Some(ORDER.len());
    }
    ORDER.iter().position(|known| *known == name)
}

fn violations(graph: &Graph) -> Vec<String> {
    let mut found = Vec::new();
    for (from, edges) in graph {
        let outside = TESTS.contains(&from.as_str()) || TOOLS.contains(&from.as_str());
        if rank(from).is_none() && !outside {
            found.push(format!(
                "{from} has no place in the order of crates; give it one in tools/xtask/src/layers.rs"
            ));
        }
        for edge in edges {
            found.extend(edge_violations(graph, from, edge));
        }
    }
    for from in WITHOUT_CUSTODY {
        if let Some(path) = path_to(graph, from, CUSTODY) {
            found.push(format!("{} reaches custody code (INV-12)", path.join(" -> ")));
        }
    }
    found
}

fn edge_violations(graph: &Graph, from: &str, edge: &Edge) -> Vec<String> {
    let to = edge.to.as_str();
    let mut found = Vec::new();
    let name = format!("{from} -> {to}");

    if from != CUSTODY && to.starts_with("alloy-signer") {
        found.push(format!("{name}: only {CUSTODY} may depend on a signer"));
    }
    let signer = edge.features.iter().find(|feature| feature.starts_with("signer"));
    // A thief of the tests has a signer of his own: what he does must not pass through our custody.
    let thief = from == THIEF && edge.kind == Kind::Dev;
    if let (true, "alloy", Some(feature)) = (from != CUSTODY && !thief, to, signer) {
        found.push(format!("{name} with feature {feature}: only {CUSTODY} may depend on a signer"));
    }
    if !graph.contains_key(to) {
        return found;
    }

    if from == ALONE {
        found.push(format!("{name}: {ALONE} stands alone, so that it could be published"));
    }
    if TESTS.contains(&to) || TOOLS.contains(&to) {
        found.push(format!("{name}: nothing may depend on {to}"));
    }
    if TOOLS.contains(&from) {
        found.push(format!("{name}: {from} is built without the crates it checks"));
    }
    if edge.kind == Kind::Dev || TESTS.contains(&from) {
        return found;
    }

    if to == TESTKIT {
        found.push(format!("{name}: {TESTKIT} may only be a dev-dependency"));
    }
    if ADAPTERS.contains(&from) && ADAPTERS.contains(&to) {
        found.push(format!("{name}: adapters never depend on each other"));
    } else if let (Some(above), Some(below)) = (rank(from), rank(to))
        && below >= above
    {
        found.push(format!("{name}: {to} is not below {from} in the order of crates"));
    }
    found
}

/// A path over normal and build dependencies, for the message.
fn path_to(graph: &Graph, from: &str, goal: &str) -> Option<Vec<String>> {
    let mut seen = BTreeSet::new();
    let mut open = vec![vec![from.to_owned()]];
    while let Some(path) = open.pop() {
        let last = path.last()?;
        if last == goal {
            return Some(path);
        }
        if !seen.insert(last.clone()) {
            continue;
        }
        for edge in graph.get(last).into_iter().flatten().filter(|edge| edge.kind != Kind::Dev) {
            open.push([path.as_slice(), std::slice::from_ref(&edge.to)].concat());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(to: &str, kind: Kind) -> Edge {
        Edge { to: to.to_owned(), kind, features: Vec::new() }
    }

    /// The graph as it should be, with the given edges added.
    fn with(extra: &[(&str, Edge)]) -> Graph {
        let mut graph = Graph::new();
        for name in ORDER.iter().chain(BINARIES).chain(TESTS).chain(TOOLS) {
            graph.insert((*name).to_owned(), Vec::new());
        }
        let good = [
            ("golem-custody", edge("golem-delegation", Kind::Normal)),
            ("golem-custody", edge("alloy-signer-local", Kind::Normal)),
            ("golem-chain", edge("golem-custody", Kind::Normal)),
            ("golem-chain", edge("bardo-testkit", Kind::Dev)),
            ("bardo-testkit", edge("golem-chain", Kind::Normal)),
            ("bardo", edge("golem-chain", Kind::Normal)),
            ("bardo-e2e", edge("bardo-testkit", Kind::Normal)),
            ("xtask", edge("serde", Kind::Normal)),
        ];
        for (from, edge) in good.iter().chain(extra) {
            graph.entry((*from).to_owned()).or_default().push(edge.clone());
        }
        graph
    }

    #[track_caller]
    fn refused(extra: &[(&str, Edge)], wanted: &str) {
        let found = violations(&with(extra));

        assert!(found.iter().any(|line| line.contains(wanted)), "{wanted} not in {found:?}");
    }

    #[test]
    fn a_graph_that_points_down_passes() {
        assert_eq!(violations(&with(&[])), Vec::<String>::new());
    }

    #[test]
    fn an_edge_upwards_is_refused() {
        refused(
            &[("golem-custody", edge("golem-chain", Kind::Normal))],
            "golem-custody -> golem-chain: golem-chain is not below golem-custody",
        );
    }

    #[test]
    fn a_build_dependency_counts_as_an_edge() {
        refused(
            &[("golem-safety", edge("golem-runtime", Kind::Build))],
            "golem-safety -> golem-runtime: golem-runtime is not below",
        );
    }

    #[test]
    fn a_dev_dependency_may_point_up() {
        let graph = with(&[("golem-safety", edge("golem-runtime", Kind::Dev))]);

        assert_eq!(violations(&graph), Vec::<String>::new());
    }

    #[test]
    fn adapters_on_each_other_are_refused() {
        refused(
            &[("bardo-store", edge("golem-chain", Kind::Normal))],
            "bardo-store -> golem-chain: adapters never",
        );
    }

    #[test]
    fn binaries_on_each_other_are_refused() {
        refused(
            &[("bardo", edge("bardo-mcp", Kind::Normal))],
            "bardo -> bardo-mcp: bardo-mcp is not below",
        );
    }

    #[test]
    fn the_testkit_in_a_product_is_refused() {
        refused(
            &[("bardo", edge("bardo-testkit", Kind::Normal))],
            "bardo -> bardo-testkit: bardo-testkit may only be a dev-dependency",
        );
    }

    #[test]
    fn tools_that_reach_custody_through_another_crate_are_refused() {
        refused(
            &[
                ("golem-tools", edge("golem-safety", Kind::Normal)),
                ("golem-safety", edge("golem-custody", Kind::Normal)),
            ],
            "golem-tools -> golem-safety -> golem-custody reaches custody code",
        );
    }

    #[test]
    fn an_mcp_binary_with_custody_code_is_refused() {
        refused(
            &[("bardo-mcp", edge("golem-chain", Kind::Normal))],
            "bardo-mcp -> golem-chain -> golem-custody reaches custody code",
        );
    }

    #[test]
    fn a_signer_outside_custody_is_refused_even_in_tests() {
        refused(
            &[("golem-chain", edge("alloy-signer-local", Kind::Dev))],
            "golem-chain -> alloy-signer-local: only golem-custody",
        );
    }

    #[test]
    fn a_signer_through_a_feature_of_alloy_is_refused() {
        let features = vec!["std".to_owned(), "signer-local".to_owned()];
        let edge = Edge { to: "alloy".to_owned(), kind: Kind::Normal, features };

        refused(&[("golem-chain", edge.clone())], "golem-chain -> alloy with feature signer-local");
        refused(&[("bardo-e2e", edge)], "bardo-e2e -> alloy with feature signer-local");
    }

    #[test]
    fn delegation_with_a_workspace_dependency_is_refused() {
        refused(
            &[("golem-delegation", edge("bardo-bindings", Kind::Dev))],
            "golem-delegation -> bardo-bindings: golem-delegation stands alone",
        );
    }

    #[test]
    fn a_crate_without_a_place_is_refused() {
        let mut graph = with(&[]);
        graph.insert("bardo-utils".to_owned(), Vec::new());

        assert!(violations(&graph)[0].starts_with("bardo-utils has no place"));
    }

    #[test]
    fn nothing_depends_on_tests_or_tools() {
        refused(&[("bardo", edge("bardo-e2e", Kind::Dev))], "nothing may depend on bardo-e2e");
        refused(&[("xtask", edge("bardo-bindings", Kind::Normal))], "xtask is built without");
    }
}
