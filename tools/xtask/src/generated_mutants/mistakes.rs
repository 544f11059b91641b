//! The mistakes themselves: one file's text in, every small edit of it out.
//!
//! The source is read as tokens, so comments and texts are left alone.

use std::ops::Range;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    GuardDropped,
    GuardNegated,
    Boundary,
    Key,
    Arithmetic,
    Constant,
    CheckOmitted,
    StepOmitted,
    Logic,
}

impl Kind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::GuardDropped => "guard dropped",
            Self::GuardNegated => "guard negated",
            Self::Boundary => "boundary",
            Self::Key => "key",
            Self::Arithmetic => "arithmetic",
            Self::Constant => "constant",
            Self::CheckOmitted => "check omitted",
            Self::StepOmitted => "step omitted",
            Self::Logic => "logic",
        }
    }
}

/// One edit of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mutant {
    pub(super) file: String,
    /// First line of the edit, from one.
    pub(super) line: usize,
    pub(super) kind: Kind,
    pub(super) range: Range<usize>,
    pub(super) replacement: String,
    /// The lines it touches, before and after, on one line each.
    pub(super) before: String,
    pub(super) after: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Word,
    Number,
    Text,
    Sign,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Token<'a> {
    class: Class,
    text: &'a str,
    range: Range<usize>,
}

/// Longest first, so that `>=` is never read as `>` and `=`.
const SIGNS: &[&str] = &[
    ">>>=", ">>>", "<<=", ">>=", "**", "=>", "==", "!=", "<=", ">=", "&&", "||", "++", "--", "+=",
    "-=", "*=", "/=", "%=", "|=", "&=", "^=", "<<", ">>",
];

/// Words, numbers, texts and signs; comments and blanks are left out.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let first = rest.chars().next().unwrap_or(' ');
        let (class, length) = if first.is_whitespace() {
            (None, first.len_utf8())
        } else if rest.starts_with("//") {
            (None, rest.find('\n').unwrap_or(rest.len()))
        } else if rest.starts_with("/*") {
            (None, rest.find("*/").map_or(rest.len(), |end| end + 2))
        } else if first == '"' || first == '\'' {
            (Some(Class::Text), quoted(rest, first))
        } else if first.is_ascii_digit() {
            let more = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
            (Some(Class::Number), rest.find(|c| !more(c)).unwrap_or(rest.len()))
        } else if first.is_alphabetic() || first == '_' || first == '$' {
            let more = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
            (Some(Class::Word), rest.find(|c| !more(c)).unwrap_or(rest.len()))
        } else {
            let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
            (Some(Class::Sign), sign.map_or(first.len_utf8(), |sign| sign.len()))
        };
        if let (Some(class), Some(text)) = (class, rest.get(..length)) {
            found.push(Token { class, text, range: at..at + length });
        }
        at += length.max(1);
    }
    found
}

fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        if c == quote && !escaped {
            return at + c.len_utf8();
        }
        escaped = c == '\\' && !escaped;
    }
    rest.len()
}

/// Every mutant of one file, in the order of the text.
pub(super) fn generate(file: &str, text: &str) -> Vec<Mutant> {
    let tokens = tokens(text);
    let maker = Maker { file, text, tokens: &tokens };
    let mut made = Vec::new();
    for at in 0..tokens.len() {
        if maker.is_declaration(at) {
            continue;
        }
        maker.guard(at, &mut made);
        maker.check(at, &mut made);
        maker.sign(at, &mut made);
        maker.constant(at, &mut made);
        maker.key(at, &mut made);
    }
    made.sort_by(|a, b| {
        (a.range.start, a.range.end, &a.replacement).cmp(&(
            b.range.start,
            b.range.end,
            &b.replacement,
        ))
    });
    made
}

struct Maker<'a> {
    file: &'a str,
    text: &'a str,
    tokens: &'a [Token<'a>],
}

impl<'a> Maker<'a> {
    fn text_at(&self, at: usize) -> &'a str {
        self.tokens.get(at).map_or("", |token| token.text)
    }

    fn before(&self, at: usize) -> &'a str {
        at.checked_sub(1).map_or("", |at| self.text_at(at))
    }

    fn make(&self, kind: Kind, range: Range<usize>, replacement: &str) -> Mutant {
        let start = self.text.get(..range.start).and_then(|head| head.rfind('\n'));
        let start = start.map_or(0, |at| at + 1);
        let end = self.text.get(range.end..).and_then(|tail| tail.find('\n'));
        let end = end.map_or(self.text.len(), |at| range.end + at);
        let part = |from: usize, to: usize| self.text.get(from..to).unwrap_or_default();
        let after = [part(start, range.start), replacement, part(range.end, end)].concat();
        Mutant {
            file: self.file.to_owned(),
            line: part(0, range.start).matches('\n').count() + 1,
            kind,
            replacement: replacement.to_owned(),
            before: squeezed(part(start, end)),
            after: squeezed(&after),
            range,
        }
    }

    /// In a pragma, an import or the declaration of an error or event: nothing there runs.
    fn is_declaration(&self, at: usize) -> bool {
        let start = (0..at).rev().find(|&at| matches!(self.text_at(at), ";" | "}" | "{"));
        let first = self.text_at(start.map_or(0, |at| at + 1));
        matches!(first, "pragma" | "import" | "error" | "event" | "using" | "type")
            || self.is_inside_import(at)
    }

    /// `import { A, B } from` has braces of its own.
    fn is_inside_import(&self, at: usize) -> bool {
        let start = (0..at).rev().find(|&at| self.text_at(at) == ";").map_or(0, |at| at + 1);
        self.text_at(start) == "import"
    }

    /// The token that closes the bracket at `open`.
    fn closing(&self, open: usize) -> Option<usize> {
        let mut depth = 0_usize;
        for at in open..self.tokens.len() {
            match self.text_at(at) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => {
                    depth = depth.checked_sub(1)?;
                    if depth == 0 {
                        return Some(at);
                    }
                }
                _ => {}
            }
        }
        None
    }

    fn range(&self, from: usize, to: usize) -> Option<Range<usize>> {
        Some(self.tokens.get(from)?.range.start..self.tokens.get(to)?.range.end)
    }

    /// `if (condition) revert …;`, with or without braces.
    fn guard(&self, at: usize, made: &mut Vec<Mutant>) {
        let mut find = || -> Option<()> {
            if self.text_at(at) != "if" {
                return None;
            }
            let close = self.closing(at + 1)?;
            let end = if self.text_at(close + 1) == "revert" {
                (close..self.tokens.len()).find(|&at| self.text_at(at) == ";")?
            } else if self.text_at(close + 1) == "{" && self.text_at(close + 2) == "revert" {
                self.closing(close + 1)?
            } else {
                return None;
            };
            made.push(self.make(Kind::GuardDropped, self.range(at, end)?, "{}"));
            let condition = self.range(at + 2, close.checked_sub(1)?)?;
            let negated = format!("!({})", self.text.get(condition.clone())?);
            made.push(self.make(Kind::GuardNegated, condition, &negated));
            Some(())
        };
        find();
    }

    /// A statement that only checks, or a modifier that does.
    fn check(&self, at: usize, made: &mut Vec<Mutant>) {
        let name = self.text_at(at);
        if self.text_at(at + 1) != "(" {
            return;
        }
        let Some(close) = self.closing(at + 1) else { return };
        let bare = name.trim_start_matches('_');
        let kind = if bare.starts_with("require") || bare.starts_with("check") {
            Some(Kind::CheckOmitted)
        } else {
            // A step of its own: `_count(…);`.
            name.starts_with('_').then_some(Kind::StepOmitted)
        };
        if let Some(kind) = kind
            && self.text_at(close + 1) == ";"
        {
            let mut start = at;
            while self.before(start) == "." && start >= 2 {
                start -= 2;
            }
            let starts = matches!(self.before(start), ";" | "{" | "}" | ")" | "else");
            if let (true, Some(range)) = (starts, self.range(start, close + 1)) {
                made.push(self.make(kind, range, "{}"));
            }
        }
        if name.starts_with("only")
            && !matches!(self.before(at), "modifier" | "function")
            && let Some(range) = self.range(at, close)
        {
            made.push(self.make(Kind::CheckOmitted, range, ""));
        }
    }

    fn sign(&self, at: usize, made: &mut Vec<Mutant>) {
        let Some(token) = self.tokens.get(at).filter(|token| token.class == Class::Sign) else {
            return;
        };
        let (kind, replacement) = match token.text {
            "<" => (Kind::Boundary, "<="),
            "<=" => (Kind::Boundary, "<"),
            ">" => (Kind::Boundary, ">="),
            ">=" => (Kind::Boundary, ">"),
            "&&" => (Kind::Logic, "||"),
            "||" => (Kind::Logic, "&&"),
            "+" => (Kind::Arithmetic, "-"),
            "-" => (Kind::Arithmetic, "+"),
            "*" => (Kind::Arithmetic, "/"),
            "/" => (Kind::Arithmetic, "*"),
            "+=" => (Kind::Arithmetic, "-="),
            "-=" => (Kind::Arithmetic, "+="),
            _ => return,
        };
        // A sign in front of a number has nothing on its left.
        let left = at.checked_sub(1).and_then(|at| self.tokens.get(at));
        let binary = left.is_some_and(|left| {
            (left.class != Class::Sign && left.text != "return") || matches!(left.text, ")" | "]")
        });
        if binary {
            made.push(self.make(kind, token.range.clone(), replacement));
        }
    }

    fn constant(&self, at: usize, made: &mut Vec<Mutant>) {
        let Some(token) = self.tokens.get(at).filter(|token| token.class == Class::Number) else {
            return;
        };
        let plain = token.text.replace('_', "");
        let Ok(value) = plain.parse::<u64>() else { return };
        let more = value.checked_add(1).map(|value| value.to_string());
        let less = value.checked_sub(1).map(|value| value.to_string());
        for replacement in [more, less].into_iter().flatten() {
            made.push(self.make(Kind::Constant, token.range.clone(), &replacement));
        }
    }

    /// An index of state: `_state[a][b]`.
    fn key(&self, at: usize, made: &mut Vec<Mutant>) {
        if self.text_at(at) != "[" {
            return;
        }
        let Some(close) = self.closing(at).filter(|&close| close > at + 1) else { return };
        let Some(content) = self.range(at + 1, close - 1) else { return };
        let Some(key) = self.text.get(content.clone()) else { return };
        if !self.is_state(at) {
            return;
        }
        let nobody = if key.contains("golemId") { "bytes32(0)" } else { "address(0)" };
        made.push(self.make(Kind::Key, content.clone(), nobody));
        // Its neighbour's place.
        let next = (self.text_at(close + 1) == "[").then(|| self.closing(close + 1)).flatten();
        let next = next.and_then(|end| self.range(close + 2, end - 1));
        if let Some(other) = next {
            let swapped = self.text.get(other.clone()).map(|other| format!("{other}][{key}"));
            if let Some(swapped) = swapped {
                made.push(self.make(Kind::Key, content.start..other.end, &swapped));
            }
        }
    }

    /// Whether what is indexed is state: its name starts with `_`, or it is a mapping at hand.
    fn is_state(&self, open: usize) -> bool {
        let mut at = open;
        while self.before(at) == "]" {
            let mut depth = 0_usize;
            let Some(start) = (0..at).rev().find(|&at| {
                match self.text_at(at) {
                    "]" => depth += 1,
                    "[" => depth -= 1,
                    _ => {}
                }
                depth == 0
            }) else {
                return false;
            };
            at = start;
        }
        let name = self.before(at);
        name.starts_with('_') || matches!(name, "nav" | "windows" | "checkpoints")
    }
}

pub(super) fn apply(text: &str, mutant: &Mutant) -> String {
    let part = |range: Range<usize>| text.get(range).unwrap_or_default();
    let (start, end) = (mutant.range.start, mutant.range.end);
    [part(0..start), &mutant.replacement, part(end..text.len())].concat()
}

/// Runs of blanks as one, none at the ends.
fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(text: &str) -> Vec<(Kind, String)> {
        generate("a.sol", text).into_iter().map(|mutant| (mutant.kind, mutant.after)).collect()
    }

    fn of(kind: Kind, text: &str) -> Vec<String> {
        made(text).into_iter().filter(|(found, _)| *found == kind).map(|(_, after)| after).collect()
    }

    #[test]
    fn a_guard_is_dropped_and_negated_with_and_without_braces() {
        let short = "f() { if (a == b) revert No(a, b); g(); }";
        let long = "f() {\n  if (\n    a == b\n  ) {\n    revert No(a);\n  }\n}";

        assert_eq!(of(Kind::GuardDropped, short), ["f() { {} g(); }"]);
        assert_eq!(of(Kind::GuardNegated, short), ["f() { if (!(a == b)) revert No(a, b); g(); }"]);
        assert_eq!(of(Kind::GuardDropped, long), ["{}"]);
        assert_eq!(of(Kind::GuardNegated, long), ["!(a == b)"]);
    }

    #[test]
    fn an_if_that_only_branches_is_no_guard() {
        assert!(of(Kind::GuardDropped, "f() { if (a) return b; }").is_empty());
    }

    #[test]
    fn boundaries_move_and_shifts_and_arrows_stay() {
        assert_eq!(of(Kind::Boundary, "f() { x = a < b; }"), ["f() { x = a <= b; }"]);
        assert_eq!(of(Kind::Boundary, "f() { x = a >= b; }"), ["f() { x = a > b; }"]);
        assert!(of(Kind::Boundary, "f() { x = a << b; y >>= 1; }").is_empty());
        assert!(of(Kind::Boundary, "mapping(address => uint256) private x;").is_empty());
    }

    #[test]
    fn comments_texts_and_declarations_are_left_alone() {
        let text = "pragma solidity 0.8.30;\nimport {A, B} from \"./x < y.sol\";\n\
                    /// if (a) revert B(1);\n/* a + b */\ncontract C {\n  error E(uint256 a);\n\
                    // a && b\n  string s = \"1 + 1\";\n}";

        assert!(made(text).is_empty(), "{:?}", made(text));
    }

    #[test]
    fn keys_are_dropped_and_swapped_where_they_index_state() {
        let text = "f() { x = _windows[msg.sender][delegator][golemId]; }";

        assert_eq!(
            of(Kind::Key, text),
            [
                "f() { x = _windows[address(0)][delegator][golemId]; }",
                "f() { x = _windows[delegator][msg.sender][golemId]; }",
                "f() { x = _windows[msg.sender][address(0)][golemId]; }",
                "f() { x = _windows[msg.sender][golemId][delegator]; }",
                "f() { x = _windows[msg.sender][delegator][bytes32(0)]; }",
            ]
        );
        assert!(of(Kind::Key, "f() { x = actions[i]; }").is_empty());
    }

    #[test]
    fn checks_are_omitted_as_statements_and_as_modifiers() {
        assert_eq!(of(Kind::CheckOmitted, "f() { _requireX(a, g(b)); }"), ["f() { {} }"]);
        assert_eq!(of(Kind::CheckOmitted, "f() { Rule.check(a); h(); }"), ["f() { {} h(); }"]);
        assert_eq!(
            of(Kind::CheckOmitted, "f() { a; if (b) _checkKey(k); }"),
            ["f() { a; if (b) {} }"]
        );
        assert_eq!(
            of(Kind::CheckOmitted, "function f() public onlySingle(mode) {}"),
            ["function f() public {}"]
        );
        assert!(of(Kind::CheckOmitted, "modifier onlySingle(Mode mode) { _; }").is_empty());
        assert!(of(Kind::CheckOmitted, "function check(A a) internal { x; }").is_empty());
        assert!(of(Kind::CheckOmitted, "f() { x = required(a); }").is_empty());
        assert_eq!(of(Kind::StepOmitted, "f() { if (a) _count(b); }"), ["f() { if (a) {} }"]);
        assert!(of(Kind::StepOmitted, "f() { x = _count(b); return _sum(a); }").is_empty());
    }

    #[test]
    fn arithmetic_constants_and_logic_change() {
        assert_eq!(of(Kind::Arithmetic, "f() { x = a * b; }"), ["f() { x = a / b; }"]);
        assert_eq!(of(Kind::Arithmetic, "f() { x += b; }"), ["f() { x -= b; }"]);
        assert!(of(Kind::Arithmetic, "f() { x = -b; i++; return -c; }").is_empty());
        assert_eq!(of(Kind::Logic, "f() { x = a && b; }"), ["f() { x = a || b; }"]);
        assert_eq!(
            of(Kind::Constant, "uint256 private constant A = 10_000;"),
            ["uint256 private constant A = 10001;", "uint256 private constant A = 9999;"]
        );
        assert_eq!(of(Kind::Constant, "f() { x = 0; }"), ["f() { x = 1; }"]);
    }

    #[test]
    fn an_edit_changes_its_place_and_nothing_else() {
        let text = "a;\nf() { x = a && b; }\nc;";
        let mutant = generate("a.sol", text).remove(0);

        assert_eq!(mutant.line, 2);
        assert_eq!(apply(text, &mutant), "a;\nf() { x = a || b; }\nc;");
    }
}
