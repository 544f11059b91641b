//! Which files belong to the repository, and their hashes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};
use walkdir::WalkDir;

/// Folders that .gitignore leaves out; used only where there is no git to ask.
const BUILT: &[&str] = &[
    "target",
    "node_modules",
    ".devchain",
    "contracts/out",
    "contracts/cache",
    "fuzz/target",
    "fuzz/artifacts",
    "fuzz/corpus",
    "fuzz/coverage",
];

/// Files under `paths` (files or folders, relative to the root) that git tracks or would track, sorted.
///
/// A checkout without git, such as an unpacked archive, is walked instead.
pub(crate) fn files(root: &Path, paths: &[String]) -> Result<Vec<String>> {
    for path in paths {
        if path.starts_with('/') || path.split('/').any(|part| part == "..") {
            bail!("{path}: name sources relative to the repository");
        }
    }
    let git = root.join(".git").exists() && Command::new("git").arg("--version").output().is_ok();
    let mut names = if git { tracked(root, paths)? } else { walked(root, paths)? };
    names.retain(|name| fs::symlink_metadata(root.join(name)).is_ok_and(|meta| meta.is_file()));
    names.sort();
    names.dedup();
    Ok(names)
}

fn tracked(root: &Path, paths: &[String]) -> Result<Vec<String>> {
    let output = Command::new("git")
        // A checkout that belongs to another user is only read here.
        .args(["-c", "safe.directory=*"])
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"])
        .args(paths)
        .current_dir(root)
        .output()
        .context("start git ls-files")?;
    if !output.status.success() {
        bail!("git ls-files: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let text = String::from_utf8(output.stdout).context("read file names as UTF-8")?;
    Ok(text.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

fn walked(root: &Path, paths: &[String]) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for path in paths.iter().filter(|path| root.join(path).exists()) {
        let entries = WalkDir::new(root.join(path)).into_iter().filter_entry(|entry| {
            !BUILT.iter().any(|built| {
                entry.path().strip_prefix(root).is_ok_and(|name| name == Path::new(built))
            })
        });
        for entry in entries {
            let entry = entry.with_context(|| format!("walk {path}"))?;
            if entry.file_type().is_file() {
                let name =
                    entry.path().strip_prefix(root).context("name a file of the repository")?;
                names.push(name.to_str().context("read a file name as UTF-8")?.to_owned());
            }
        }
    }
    Ok(names)
}

/// SHA-256 of each file.
pub(crate) fn hashes(root: &Path, paths: &[String]) -> Result<BTreeMap<String, String>> {
    files(root, paths)?
        .into_iter()
        .map(|name| {
            let bytes = fs::read(root.join(&name)).with_context(|| format!("read {name}"))?;
            Ok((name, sha256(&bytes)))
        })
        .collect()
}

/// One hash over names and contents, in the order of the names.
pub(crate) fn digest(hashes: &BTreeMap<String, String>) -> String {
    let mut all = String::new();
    for (name, hash) in hashes {
        let _ = writeln!(all, "{hash}  {name}");
    }
    sha256(all.as_bytes())
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

/// A folder of a test's own under the build folder, empty at the start.
#[cfg(test)]
pub(crate) fn scratch(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("xtask-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_moves_with_a_name_and_with_a_content() {
        let one = BTreeMap::from([("a".to_owned(), sha256(b"1"))]);
        let renamed = BTreeMap::from([("b".to_owned(), sha256(b"1"))]);
        let edited = BTreeMap::from([("a".to_owned(), sha256(b"2"))]);

        assert_ne!(digest(&one), digest(&renamed));
        assert_ne!(digest(&one), digest(&edited));
    }

    #[test]
    fn sha256_is_the_standard_one() {
        assert_eq!(
            sha256(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn an_archive_without_git_is_walked_without_what_was_built() {
        let root = scratch("walk");
        for name in ["src/a.rs", "src/deep/b.rs", "target/c.o", "contracts/out/d.json"] {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), name).unwrap();
        }

        let found = files(&root, &[".".to_owned()]).unwrap();

        assert_eq!(found, ["src/a.rs", "src/deep/b.rs"]);
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn sources_outside_the_repository_are_refused() {
        let root = scratch("outside");

        assert!(files(&root, &["../elsewhere".to_owned()]).is_err());
        assert!(files(&root, &["/etc".to_owned()]).is_err());
        fs::remove_dir_all(root).unwrap();
    }
}
