//! Words that fit a terminal.

use alloy::primitives::U256;
use golem_delegation::blast_radius::Dollars;

/// Columns of a terminal that nobody has to widen.
pub(crate) const WIDTH: usize = 80;

/// Columns that [`dollars`] never exceed.
pub(crate) const DOLLARS: usize = 15;

/// Lines of at most [`WIDTH`] columns, the first after `lead` and the others as far in; words are not cut.
pub(crate) fn wrapped(text: &str, lead: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = lead.to_owned();
    let mut empty = true;
    for word in text.split(' ') {
        if !empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push(std::mem::replace(&mut line, " ".repeat(lead.chars().count())));
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    lines.push(line);
    lines
}

/// Every line of a text, wrapped under its own beginning: what stands before its first word, a number or a bullet.
pub(crate) fn paragraphs(text: &str) -> String {
    let lines = text.lines().flat_map(|line| {
        let spaces = line.len() - line.trim_start().len();
        let (indent, rest) = line.split_at(spaces);
        let (mark, words) = match rest.split_once(' ') {
            Some((mark, words)) if is_mark(mark) => (format!("{indent}{mark} "), words),
            _ => (indent.to_owned(), rest),
        };
        wrapped(words, &mark)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// `-`, `!` or `12.`
fn is_mark(word: &str) -> bool {
    let number = |digits: &str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    matches!(word, "-" | "!") || word.strip_suffix('.').is_some_and(number)
}

/// Dollars and cents; of more than a column holds, billions or trillions, rounded up.
pub(crate) fn dollars(micros: U256) -> String {
    let exact = Dollars(micros).to_string();
    if micros != U256::MAX && exact.len() <= DOLLARS {
        return exact;
    }
    // A hundredth of a billion dollars, in micro-dollars.
    let step = U256::from(10_000_000_000_000_u64);
    let hundredths = micros.div_ceil(step);
    let (hundredths, unit) = if hundredths < U256::from(100_000) {
        (hundredths, "bn")
    } else {
        (micros.div_ceil(step * U256::from(1_000)), "tn")
    };
    let hundred = U256::from(100);
    if hundredths >= U256::from(100_000) {
        return "over $1,000 tn".to_owned();
    }
    format!("${}.{:02} {unit}", hundredths / hundred, (hundredths % hundred).to::<u64>())
}

/// A length of time by its two largest units.
pub(crate) fn length(seconds: u64) -> String {
    let units = [(86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second")];
    let mut rest = seconds;
    let mut said = Vec::new();
    for (unit, name) in units {
        let count = rest / unit;
        rest %= unit;
        if count > 0 && said.len() < 2 {
            said.push(format!("{count} {name}{}", if count == 1 { "" } else { "s" }));
        } else if !said.is_empty() {
            break;
        }
    }
    if said.is_empty() { "no time".to_owned() } else { said.join(" and ") }
}

#[cfg(test)]
mod tests {
    use super::{dollars, length, paragraphs};
    use alloy::primitives::U256;

    #[test]
    fn lines_are_wrapped_under_their_own_mark() {
        let word = "word ".repeat(20);
        let text = format!("  1. {word}\n     - {word}\nplain");
        let lines = paragraphs(&text);
        assert!(lines.lines().all(|line| line.len() <= 80), "{lines}");
        let marks: Vec<&str> = lines.lines().filter_map(|line| line.get(..8)).collect();
        assert_eq!(marks, ["  1. wor", "     wor", "     - w", "       w"]);
        assert!(lines.ends_with("\nplain"));
    }

    #[test]
    fn dollars_fit_their_column_and_are_never_less_than_they_are() {
        for (micros, said) in [
            (U256::from(1), "$0.01"),
            (U256::from(999_999_999_990_000_u64), "$999,999,999.99"),
            (U256::from(999_999_999_990_001_u64), "$1.00 bn"),
            (U256::from(1_230_000_000_000_001_u64), "$1.24 bn"),
            (U256::from(1_000_000_000_000_000_000_u64), "$1.00 tn"),
            (U256::MAX, "over $1,000 tn"),
        ] {
            assert_eq!(dollars(micros), said);
            assert!(said.len() <= super::DOLLARS);
        }
    }

    #[test]
    fn times_are_said_by_their_two_largest_units() {
        let said = [0, 59, 60, 3_661, 86_400, 86_401, 200_000].map(length);
        assert_eq!(
            said,
            [
                "no time",
                "59 seconds",
                "1 minute",
                "1 hour and 1 minute",
                "1 day",
                "1 day",
                "2 days and 7 hours"
            ]
        );
    }
}
