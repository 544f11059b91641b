//! Figures of the page. Each says which fact it shows, so that a program can hold it against that fact.

use super::{chain::decimal, words};
use alloy::primitives::U256;
use golem_delegation::{Utc, blast_radius::Dollars};
use std::fmt::Display;

/// Text as text: nothing of it is markup, wherever it stands.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

/// One figure: `of` is its place in the facts, as a JSON pointer.
fn figure(tag: &str, of: &str, form: &str, shown: &str) -> String {
    let shown = escaped(shown);
    format!("<{tag} data-of=\"{of}\" data-form=\"{form}\">{shown}</{tag}>")
}

/// A whole number, in groups of three.
pub(super) fn number(of: &str, value: u64) -> String {
    figure("data", of, "number", &grouped(&value.to_string()))
}

/// Micro-dollars.
pub(super) fn dollars(of: &str, micro: u64) -> String {
    figure("data", of, "dollars", &Dollars(U256::from(micro)).to_string())
}

/// Micro-dollars of any size; what has no bound says so.
pub(super) fn at_risk(of: &str, micro: Option<U256>) -> String {
    match micro {
        Some(micro) => figure("data", of, "dollars", &Dollars(micro).to_string()),
        None => "without a bound".to_owned(),
    }
}

/// Wei.
pub(super) fn ether(of: &str, wei: U256) -> String {
    figure("data", of, "ether", &format!("{} ETH", decimal(wei, 18)))
}

/// A second.
pub(super) fn time(of: &str, at: u64) -> String {
    figure("time", of, "time", &words::when(at))
}

/// A second's day.
pub(super) fn date(of: &str, at: u64) -> String {
    let when = words::when(at);
    figure("time", of, "date", when.split(' ').next().unwrap_or_default())
}

/// A second of a day.
pub(super) fn clock(of: &str, at: u64) -> String {
    let when = words::when(at);
    figure("time", of, "clock", when.split(' ').nth(1).unwrap_or_default())
}

/// Words, which may be of others.
pub(super) fn text(of: &str, value: &str) -> String {
    figure("span", of, "text", value)
}

/// An address or a hash, whole.
pub(super) fn hex(of: &str, value: impl Display) -> String {
    let shown = escaped(&value.to_string());
    format!("<span class=\"address\" data-of=\"{of}\" data-form=\"hex\">{shown}</span>")
}

/// The beginning and the end of one; all of it is in its title.
pub(super) fn short(of: &str, value: impl Display) -> String {
    let whole = escaped(&value.to_string());
    let (Some(head), Some(tail)) = (whole.get(..8), whole.get(whole.len().saturating_sub(6)..))
    else {
        return hex(of, whole);
    };
    format!(
        "<span class=\"address\" data-of=\"{of}\" data-form=\"short\" title=\"{whole}\">{head}…{tail}</span>"
    )
}

/// Digits in groups of three.
pub(super) fn grouped(digits: &str) -> String {
    let mut shown = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at != 0 && digits.len().saturating_sub(at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// A second as machines write it.
pub(super) fn iso(at: u64) -> String {
    Utc(at).to_string()
}
