//! The page as a machine reads it, by code that knows nothing of the code that wrote it.

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

/// A figure of the page: of which fact, in which form, and what is seen.
#[derive(Debug)]
pub(crate) struct Figure {
    pub(crate) of: String,
    pub(crate) form: String,
    pub(crate) shown: String,
}

/// Every element that says which fact it shows.
pub(crate) fn figures(html: &str) -> Result<Vec<Figure>> {
    let mut all = Vec::new();
    for part in html.split("data-of=\"").skip(1) {
        let (of, rest) = part.split_once('"').context("an attribute without an end")?;
        let (tag, rest) = rest.split_once('>').context("a tag without an end")?;
        let form = tag.split_once("data-form=\"").context("no form")?.1;
        let form = form.split_once('"').context("a form without an end")?.0;
        let (shown, _) = rest.split_once('<').context("an element without an end")?;
        all.push(Figure { of: of.into(), form: form.into(), shown: unescaped(shown) });
    }
    Ok(all)
}

fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&amp;", "&")
}

/// The facts that the page carries for programs.
pub(crate) fn embedded(html: &str) -> Result<Value> {
    let (_, rest) = html.split_once("id=\"story\">").context("no facts")?;
    let (json, _) = rest.split_once("</script>").context("facts without an end")?;
    Ok(serde_json::from_str(json)?)
}

/// Whether a figure shows its fact as it is.
pub(crate) fn holds(figure: &Figure, story: &Value) -> Result<()> {
    let fact = story.pointer(&figure.of).with_context(|| format!("no {}", figure.of))?;
    // Letters of an address are written large by its checksum.
    let is_hex = matches!(figure.form.as_str(), "hex" | "short");
    let seen = if is_hex { figure.shown.to_lowercase() } else { figure.shown.clone() };
    let expected = shown(&figure.form, fact)?;
    ensure!(seen == expected, "{}: {seen:?} is not {expected:?}", figure.of);
    Ok(())
}

/// What a fact looks like in a form.
pub(crate) fn shown(form: &str, fact: &Value) -> Result<String> {
    let text = match fact {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    Ok(match form {
        "text" | "hex" => text,
        "short" => format!("{}…{}", &text[..8], &text[text.len() - 6..]),
        "number" => grouped(&text),
        "dollars" => {
            let micro: u128 = text.parse()?;
            // Against the owner: a part of a cent is a cent.
            let cents = micro.div_ceil(10_000);
            format!("${}.{:02}", grouped(&(cents / 100).to_string()), cents % 100)
        }
        "ether" => {
            let wei: u128 = text.parse()?;
            let part = format!("{:06}", wei % 10u128.pow(18) / 10u128.pow(12));
            let mut part = part.trim_end_matches('0').to_owned();
            while part.len() < 2 {
                part.push('0');
            }
            format!("{}.{part} ETH", grouped(&(wei / 10u128.pow(18)).to_string()))
        }
        "time" | "date" | "clock" => {
            let (date, clock) = calendar(text.parse()?);
            match form {
                "time" => format!("{date} {clock}"),
                "date" => date,
                _ => clock,
            }
        }
        other => bail!("a form that nobody knows: {other}"),
    })
}

pub(crate) fn grouped(digits: &str) -> String {
    let mut shown = String::new();
    for (left, digit) in (0..digits.len()).rev().zip(digits.chars()) {
        shown.push(digit);
        if left > 0 && left % 3 == 0 {
            shown.push(',');
        }
    }
    shown
}

/// Year by year and month by month, as slowly as it is sure.
fn calendar(at: u64) -> (String, String) {
    let (mut days, mut year) = (at / 86_400, 1970);
    let leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    loop {
        let length = if leap(year) { 366 } else { 365 };
        if days < length {
            break;
        }
        (days, year) = (days - length, year + 1);
    }
    let mut month = 1;
    for length in [31, if leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        (days, month) = (days - length, month + 1);
    }
    let clock = at % 86_400;
    let clock = format!("{:02}:{:02}", clock / 3_600, clock % 3_600 / 60);
    (format!("{year}-{month:02}-{:02}", days + 1), clock)
}

/// Whatever has a digit and is seen, and is no figure.
pub(crate) fn stray_digits(html: &str) -> Vec<String> {
    let (_, body) = html.split_once("<body>").unwrap_or_default();
    let (body, _) = body.split_once("<script").unwrap_or((body, ""));
    let mut stray = Vec::new();
    for part in body.split('<').skip(1) {
        let (tag, text) = part.split_once('>').unwrap_or((part, ""));
        let heading = tag.starts_with("h1") || tag.starts_with("h2");
        if tag.contains("data-of=") || (!heading && text.trim().is_empty()) {
            continue;
        }
        if unescaped(text).chars().any(|letter| letter.is_ascii_digit()) {
            stray.push(text.to_owned());
        }
    }
    stray
}

/// The first screen says what happened and what it cost, each way on the page leads somewhere, and nothing points out of it.
pub(crate) fn at_a_glance(html: &str) -> Result<()> {
    let (_, first) = html.split_once("<h1>").context("no headline")?;
    let (headline, _) = first.split_once("</h1>").context("a headline without an end")?;
    let facts: Vec<String> = figures(headline)?.into_iter().map(|figure| figure.of).collect();
    assert_eq!(facts, ["/sums/days", "/sums/trades", "/sums/refused", "/sums/cost"]);
    let ways: Vec<&str> = html
        .split("<a href=\"")
        .skip(1)
        .filter_map(|rest| rest.split_once('"').map(|(to, _)| to))
        .collect();
    ensure!(ways.len() > 4, "{ways:?}");
    for to in ways {
        let id = to.strip_prefix('#').with_context(|| format!("{to} is not on the page"))?;
        ensure!(html.matches(&format!(" id=\"{id}\"")).count() == 1, "{to} leads nowhere");
    }
    Ok(())
}
