//! Numbers as decimal strings: a JSON number is no place for money.

use alloy_primitives::U256;
use serde::{Deserialize, Deserializer, Serializer, de::Error as _};
use std::{borrow::Cow, fmt::Display, str::FromStr};

pub(super) fn some<S: Serializer>(
    value: &Option<impl Display>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => text(value, serializer),
        None => serializer.serialize_none(),
    }
}

pub(super) fn each<S: Serializer>(
    values: &[Option<impl Display>],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(values.iter().map(|value| value.as_ref().map(ToString::to_string)))
}

pub(super) fn text<S: Serializer>(value: impl Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&value)
}

/// Digits alone: no sign, no spaces, no leading zero.
fn number<N: FromStr>(text: &str) -> Result<N, String> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let lead = text.len() > 1 && text.starts_with('0');
    let parsed = (plain && !lead && !text.is_empty()).then(|| text.parse().ok()).flatten();
    parsed.ok_or_else(|| format!("{text:?} is not a decimal number that fits"))
}

fn read<'de, N: FromStr, D: Deserializer<'de>>(deserializer: D) -> Result<N, D::Error> {
    number(&Cow::<'de, str>::deserialize(deserializer)?).map_err(D::Error::custom)
}

fn read_some<'de, N: FromStr, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<N>, D::Error> {
    let text = Option::<Cow<'de, str>>::deserialize(deserializer)?;
    text.map(|text| number(&text)).transpose().map_err(D::Error::custom)
}

pub(super) fn u256<'de, D: Deserializer<'de>>(deserializer: D) -> Result<U256, D::Error> {
    read(deserializer)
}

pub(super) fn u8<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u8, D::Error> {
    read(deserializer)
}

pub(super) fn some_u256<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<U256>, D::Error> {
    read_some(deserializer)
}

pub(super) fn some_u8<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u8>, D::Error> {
    read_some(deserializer)
}

pub(super) fn some_u16<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<u16>, D::Error> {
    read_some(deserializer)
}

pub(super) fn some_u32<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<u32>, D::Error> {
    read_some(deserializer)
}
