use serde_json::Value;

/// Longest canonical text of a record's body, in bytes.
pub const MAX_BODY: usize = 64 * 1024;

/// Nesting that a body may have. What is read from a file is bounded by the parser; this bounds what a program makes.
const MAX_DEPTH: usize = 32;

/// Why a value has no canonical form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CanonicalError {
    /// Money and limits are integers (INV-3); so is everything else that is hashed.
    #[error("{0} is no integer of 64 bits: fractions have no single form")]
    Fraction(String),
    /// Too deep.
    #[error("nested deeper than {MAX_DEPTH} levels")]
    Depth,
    /// Too long.
    #[error("longer than {MAX_BODY} bytes")]
    Length,
}

/// The one text of a JSON value: no spaces, keys in the order of their bytes, integers only.
///
/// `serde_json` alone does not promise an order of keys: any crate of the build can switch it to the order of writing.
///
/// ```
/// # use bardo_store::canonical;
/// # use serde_json::json;
/// assert_eq!(canonical(&json!({ "b": [1, null], "a": "ü" })).unwrap(), r#"{"a":"ü","b":[1,null]}"#);
/// assert!(canonical(&json!(0.5)).is_err());
/// ```
pub fn canonical(value: &Value) -> Result<String, CanonicalError> {
    let mut text = String::new();
    write(value, MAX_DEPTH, &mut text)?;
    if text.len() > MAX_BODY { Err(CanonicalError::Length) } else { Ok(text) }
}

/// The same without a bound on its length, for a line that holds a body.
pub(crate) fn write(value: &Value, depth: usize, out: &mut String) -> Result<(), CanonicalError> {
    let depth = depth.checked_sub(1).ok_or(CanonicalError::Depth)?;
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => out.push_str(&number.to_string()),
            (None, Some(number)) => out.push_str(&number.to_string()),
            (None, None) => return Err(CanonicalError::Fraction(number.to_string())),
        },
        Value::String(text) => quoted(text, out),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index != 0 {
                    out.push(',');
                }
                write(item, depth, out)?;
            }
            out.push(']');
        }
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| name.as_bytes());
            out.push('{');
            for (index, (name, field)) in fields.into_iter().enumerate() {
                if index != 0 {
                    out.push(',');
                }
                quoted(name, out);
                out.push(':');
                write(field, depth, out)?;
            }
            out.push('}');
        }
    }
    Ok(())
}

/// As RFC 8785 has strings: the short escapes, `\u00xx` for the other control characters, everything else as it is.
fn quoted(text: &str, out: &mut String) {
    out.push('"');
    let mut rest = text;
    while let Some((plain, escaped, after)) = next_escape(rest) {
        out.push_str(plain);
        match escaped {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control => out.push_str(&format!("\\u{:04x}", u32::from(control))),
        }
        rest = after;
    }
    out.push_str(rest);
    out.push('"');
}

/// What comes before the first character that has to be escaped, that character, and what comes after it.
fn next_escape(text: &str) -> Option<(&str, char, &str)> {
    // All of them are of one byte, and no byte of a longer one is below 0x80.
    let here = text.bytes().position(|byte| byte < b' ' || matches!(byte, b'"' | b'\\'))?;
    let (plain, rest) = text.split_at_checked(here)?;
    let mut rest = rest.chars();
    Some((plain, rest.next()?, rest.as_str()))
}

/// Levels that a line has around a body.
pub(crate) const LINE_DEPTH: usize = MAX_DEPTH + 1;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_value_reads_back_from_its_canonical_text() {
        let value = json!({
            "z": [true, false, null, -1, u64::MAX, i64::MIN],
            "a": "\u{0}\u{1f}\"\\/\n\r\t\u{8}\u{c}é🜁\u{7f}",
        });

        let text = canonical(&value).unwrap();

        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        assert_eq!(canonical(&serde_json::from_str(&text).unwrap()).unwrap(), text);
    }

    #[test]
    fn a_body_may_be_as_deep_as_the_bound_and_no_deeper() {
        let nested = |levels: usize| (1..levels).fold(json!(1), |inner, _| json!([inner]));

        assert!(canonical(&nested(MAX_DEPTH)).is_ok());
        assert_eq!(canonical(&nested(MAX_DEPTH + 1)), Err(CanonicalError::Depth));
    }

    #[test]
    fn a_body_may_be_as_long_as_the_bound_and_no_longer() {
        assert!(canonical(&json!("x".repeat(MAX_BODY - 2))).is_ok());
        assert_eq!(canonical(&json!("x".repeat(MAX_BODY - 1))), Err(CanonicalError::Length));
    }

    #[test]
    fn a_fraction_is_refused_wherever_it_is() {
        for value in [json!(0.5), json!([1, { "a": 1e30 }])] {
            assert!(matches!(canonical(&value), Err(CanonicalError::Fraction(_))), "{value}");
        }
    }
}
