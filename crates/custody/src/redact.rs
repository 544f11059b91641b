//! Keeps what has the form of a key out of logs, panics and error messages (INV-2, ATK-35).

use std::{
    borrow::Cow,
    io::{self, Write},
};

/// Hex digits of a 32-byte key.
const KEY_DIGITS: usize = 64;
/// Base64 of 32 bytes: with its padding, and without.
const BASE64_KEY: [usize; 2] = [44, BASE64_DIGITS];
const BASE64_DIGITS: usize = 43;
/// How many letters of each case are in as many of a longer key, at least; seventeen on average.
const LEAST_OF_A_CASE: usize = 6;
/// So many small letters in a row are a word.
const WORD: usize = 4;
/// Twice how often one kind of letter follows another in them, at least, with no words among them; 54 on average.
const LEAST_MIX: usize = 28;
/// What stands in its place.
const REDACTED: &str = "[redacted]";
/// Most of one line that is kept until its end.
const MOST: usize = 64 * 1024;
/// Names before a `=` or a `:` whose 32 bytes are public: hashes and ids have the form of a key too.
const PUBLIC: [&str; 12] = [
    "block",
    "blockHash",
    "code",
    "delegation",
    "digest",
    "golem",
    "golemId",
    "hash",
    "head",
    "intent",
    "topic",
    "tx",
];

/// The same text, without anything that has the form of a secret: 32 bytes or more in hex or base64, and everything after the
/// first line of a private key in PEM. What follows one of a few names, such as `hash=`, is public and stays.
///
/// What is longer than 32 bytes in base64 could be a path or a name as well: it is a secret where some 43 letters in a row are mixed as
/// only chance mixes them.
///
/// ```
/// use golem_custody::redact;
/// let key = "4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318";
/// assert_eq!(redact(&format!("signing with 0x{key}!")), "signing with [redacted]!");
/// assert_eq!(redact(&format!("hash=0x{key}")), format!("hash=0x{key}"));
/// ```
#[must_use]
pub fn redact(text: &str) -> Cow<'_, str> {
    if let Some(at) = text.find("PRIVATE KEY") {
        let (before, _) = text.split_at(at);
        return Cow::Owned(format!("{}{REDACTED}", redact(before)));
    }
    let mut clean = String::new();
    let mut kept = 0;
    for (at, word) in words(text) {
        if is_key(word) && !is_public(text.get(..at).unwrap_or_default()) {
            clean.push_str(text.get(kept..at).unwrap_or_default());
            clean.push_str(REDACTED);
            kept = at.saturating_add(word.len());
        }
    }
    if kept == 0 && clean.is_empty() {
        return Cow::Borrowed(text);
    }
    clean.push_str(text.get(kept..).unwrap_or_default());
    Cow::Owned(clean)
}

/// Runs of characters that hex or base64 can consist of, with where they begin.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '_' | '-');
    let mut rest = 0;
    std::iter::from_fn(move || {
        let tail = text.get(rest..)?;
        let begin = rest.saturating_add(tail.find(is_part)?);
        let tail = text.get(begin..)?;
        let mut end = begin.saturating_add(tail.find(|c| !is_part(c)).unwrap_or(tail.len()));
        // Padding belongs to what it pads.
        while text.get(end..).is_some_and(|tail| tail.starts_with('=')) {
            end = end.saturating_add(1);
        }
        rest = end;
        text.get(begin..end).map(|word| (begin, word))
    })
}

fn is_key(word: &str) -> bool {
    let bare = word.trim_end_matches('=');
    let digits = bare.strip_prefix("0x").or_else(|| bare.strip_prefix("0X")).unwrap_or(bare);
    if digits.len() >= KEY_DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return true;
    }
    // A run of hex inside a longer word is a key all the same.
    let mut run = 0usize;
    for byte in word.bytes() {
        run = if byte.is_ascii_hexdigit() { run.saturating_add(1) } else { 0 };
        if run >= KEY_DIGITS {
            return true;
        }
    }
    // Words of a language have one case and no digits; keys in base64 have all.
    let mixed = bare.bytes().any(|byte| byte.is_ascii_uppercase())
        && bare.bytes().any(|byte| byte.is_ascii_lowercase())
        && bare.bytes().any(|byte| byte.is_ascii_digit());
    let is_base64 = BASE64_KEY.contains(&word.len()) || BASE64_KEY.contains(&bare.len());
    mixed && (is_base64 || bare.as_bytes().windows(BASE64_DIGITS).any(is_drawn))
}

/// What a letter of base64 is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Letter {
    Upper,
    Lower,
    Digit,
    Sign,
}

impl Letter {
    const fn of(byte: u8) -> Self {
        match byte {
            b'A'..=b'Z' => Self::Upper,
            b'a'..=b'z' => Self::Lower,
            b'0'..=b'9' => Self::Digit,
            _ => Self::Sign,
        }
    }
}

/// Whether chance drew these letters, and nobody wrote them as words: nearly each one is of another kind than the one before.
fn is_drawn(letters: &[u8]) -> bool {
    let (mut upper, mut lower, mut digits, mut runs, mut in_words) = (0, 0, 0, 0usize, 0usize);
    for run in letters.chunk_by(|one, next| Letter::of(*one) == Letter::of(*next)) {
        runs = runs.saturating_add(1);
        let count = match run.first().copied().map(Letter::of) {
            Some(Letter::Upper) => &mut upper,
            Some(Letter::Lower) => &mut lower,
            Some(Letter::Digit) => &mut digits,
            _ => continue,
        };
        *count = run.len().saturating_add(*count);
        if run.len() >= WORD && run.first().is_some_and(u8::is_ascii_lowercase) {
            in_words = in_words.saturating_add(run.len());
        }
    }
    let changes = runs.saturating_sub(1).saturating_mul(2);
    upper.min(lower) >= LEAST_OF_A_CASE
        && digits > 0
        && changes >= in_words.saturating_add(LEAST_MIX)
}

/// Whether what stands before a word names it as public.
fn is_public(before: &str) -> bool {
    let before = before.trim_end_matches(['"', ' ']);
    let Some(name) = before.strip_suffix(['=', ':']) else { return false };
    let name = name.trim_end_matches('"');
    PUBLIC.iter().any(|public| {
        name.strip_suffix(public)
            .is_some_and(|rest| !rest.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_'))
    })
}

/// A writer for a log: whole lines, each one redacted.
#[derive(Debug)]
pub struct RedactedWriter<W: Write> {
    to: W,
    line: Vec<u8>,
    /// Between the first and the last line of a private key in PEM.
    in_pem: bool,
}

impl<W: Write> RedactedWriter<W> {
    /// Writes to `to`.
    pub const fn new(to: W) -> Self {
        Self { to, line: Vec::new(), in_pem: false }
    }

    /// Hands on all of the line up to `end`.
    fn pass_on(&mut self, end: usize) -> io::Result<()> {
        let rest = self.line.split_off(end.min(self.line.len()));
        let line = std::mem::replace(&mut self.line, rest);
        let text = String::from_utf8_lossy(&line);
        let ended = self.in_pem;
        if text.contains("PRIVATE KEY") {
            self.in_pem = text.contains("-----BEGIN");
        }
        if ended {
            return Ok(());
        }
        self.to.write_all(redact(&text).as_bytes())?;
        // What was cut off with the key ended its line.
        if self.in_pem { self.to.write_all(b"\n") } else { Ok(()) }
    }

    /// Where a line without an end can be cut: before its last word, so that no secret lies on the seam; a word as long as all
    /// of it is none that is kept together.
    fn seam(&self) -> usize {
        let part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/_-=".contains(byte);
        match self.line.iter().rposition(|byte| !part(byte)) {
            Some(at) if at > 0 => at,
            _ => self.line.len(),
        }
    }
}

impl<W: Write> Write for RedactedWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                self.pass_on(self.line.len())?;
            } else if self.line.len() >= MOST {
                self.pass_on(self.seam())?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.pass_on(self.line.len())?;
        self.to.flush()
    }
}

impl<W: Write> Drop for RedactedWriter<W> {
    fn drop(&mut self) {
        // There is nobody left to tell.
        let _ = self.flush();
    }
}
