//! Curves, drawn by hand in whole numbers. The drawing stretches with its page; whatever is to be read stands over it as text.

use std::fmt::Write as _;

/// Units across a drawing.
const WIDTH: u64 = 10_000;
/// Units from its top to its bottom.
const HEIGHT: u64 = 4_000;

/// What a drawing shows: from one second to another, from nothing to the most.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) most: u128,
}

impl Frame {
    fn across(&self, at: u64) -> u64 {
        let whole = self.to.saturating_sub(self.from).max(1);
        let gone = at.saturating_sub(self.from).min(whole);
        share(gone.into(), whole.into(), WIDTH)
    }

    fn down(&self, value: u128) -> u64 {
        HEIGHT.saturating_sub(share(value.min(self.most), self.most.max(1), HEIGHT))
    }

    /// How far to the right, as a style has it.
    pub(super) fn left(&self, at: u64) -> String {
        per_cent(self.across(at), WIDTH)
    }

    /// How far down, as a style has it.
    pub(super) fn top(&self, value: u128) -> String {
        per_cent(self.down(value), HEIGHT)
    }

    /// How much of the width lies between two seconds.
    pub(super) fn width(&self, from: u64, to: u64) -> String {
        per_cent(self.across(to).saturating_sub(self.across(from)), WIDTH)
    }

    /// How much of the height lies between two values.
    pub(super) fn height(&self, low: u128, high: u128) -> String {
        per_cent(self.down(low).saturating_sub(self.down(high)), HEIGHT)
    }

    /// A curve through points. One of steps keeps a value until the next.
    pub(super) fn line(&self, points: &[(u64, u128)], steps: bool) -> String {
        let mut path = String::new();
        let mut level = None;
        for (at, value) in points {
            let (x, y) = (self.across(*at), self.down(*value));
            let _ = match level {
                None => write!(path, "M{x} {y}"),
                Some(before) if steps && before != y => write!(path, "H{x}V{y}"),
                Some(_) => write!(path, "L{x} {y}"),
            };
            level = Some(y);
        }
        path
    }

    /// The same, and all that lies below.
    pub(super) fn area(&self, points: &[(u64, u128)], steps: bool) -> String {
        let (Some((first, _)), Some((last, _))) = (points.first(), points.last()) else {
            return String::new();
        };
        let (from, to) = (self.across(*first), self.across(*last));
        format!("{}L{to} {HEIGHT}L{from} {HEIGHT}Z", self.line(points, steps))
    }
}

fn share(part: u128, whole: u128, of: u64) -> u64 {
    let share = part.saturating_mul(of.into()).checked_div(whole).unwrap_or(0);
    u64::try_from(share).unwrap_or(of)
}

fn per_cent(part: u64, whole: u64) -> String {
    let hundredths = share(part.into(), whole.into(), 10_000);
    format!("{}.{:02}%", hundredths / 100, hundredths % 100)
}

/// A drawing of `(class, path)`, which says what it is to whoever does not see it.
pub(super) fn drawing(title: &str, paths: &[(&str, String)]) -> String {
    let mut svg = format!(
        "<svg class=\"plot\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{title}\"><title>{title}</title>"
    );
    for (class, path) in paths.iter().filter(|(_, path)| !path.is_empty()) {
        let _ = write!(svg, "<path class=\"{class}\" d=\"{path}\"/>");
    }
    svg.push_str("</svg>");
    svg
}

#[cfg(test)]
mod tests {
    use super::{Frame, drawing};

    #[test]
    fn a_curve_stays_in_its_frame_whatever_it_is_given() {
        let frame = Frame { from: 100, to: 200, most: 50 };
        let points = [(0, 0), (100, 25), (150, 50), (u64::MAX, u128::MAX)];
        assert_eq!(frame.line(&points, false), "M0 4000L0 2000L5000 0L10000 0");
        assert_eq!(frame.line(&points, true), "M0 4000H0V2000H5000V0L10000 0");
        assert!(frame.area(&points, false).ends_with("L10000 4000L0 4000Z"));
        let nothing = Frame { from: 5, to: 5, most: 0 };
        assert_eq!(nothing.line(&[(5, 7)], false), "M0 4000");
        assert_eq!((nothing.left(9).as_str(), nothing.top(9).as_str()), ("100.00%", "100.00%"));
        assert_eq!(frame.area(&[], true), "");
    }

    #[test]
    fn a_drawing_says_what_it_is() {
        let svg = drawing("how it felt", &[("line", "M0 0".to_owned()), ("none", String::new())]);
        assert!(svg.contains("<title>how it felt</title>") && svg.contains("role=\"img\""));
        assert!(!svg.contains("none\" d"));
    }
}
