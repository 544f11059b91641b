//! The page: one file, nothing to load, nothing to run.

use super::{
    chart::{Frame, drawing},
    figure::{at_risk, dollars, escaped, ether, hex, iso, number, short, text, time},
    story::{Mark, Story, Tick},
    tables::{gas, refusals, replicants, settlement, timeline},
    words,
};
use golem_delegation::grant::Phase;
use golem_runtime::{THRESHOLDS, WHOLE};
use std::fmt::Write as _;

const STYLE: &str = include_str!("page.css");
const ICONS: &str = include_str!("icons.svg");
/// What the marks below a chart count.
const DAYS: &str = "<span class=\"across\">days of its life →</span>";
/// Nothing is loaded, whatever anybody wrote into a log.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// Draws a life. The same facts give the same page.
pub(crate) fn render(story: &Story) -> String {
    let mut page = String::new();
    let _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>The life of a Golem</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n{ICONS}<main>\n"
    );
    header(&mut page, story);
    tiles(&mut page, story);
    vitality(&mut page, story);
    page.push_str("<div class=\"two\">\n");
    spend(&mut page, story);
    risk(&mut page, story);
    page.push_str("</div>\n<div class=\"two\">\n");
    worth(&mut page, story);
    mood(&mut page, story);
    page.push_str("</div>\n");
    timeline(&mut page, story);
    replicants(&mut page, story);
    refusals(&mut page, story);
    gas(&mut page, story);
    settlement(&mut page, story);
    seal(&mut page, story);
    footer(&mut page, story);
    page.push_str("</main>\n");
    let facts = serde_json::to_string(story).unwrap_or_default();
    let _ =
        writeln!(page, "<script type=\"application/json\" id=\"story\">{}</script>", inert(&facts));
    page.push_str("</body>\n</html>\n");
    page
}

/// JSON that ends no element: these letters are escaped in its strings, and stand nowhere else in it.
fn inert(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

fn header(page: &mut String, story: &Story) {
    let sums = &story.sums;
    let state = match (&sums.died_of, sums.phase) {
        (Some(of), _) => {
            format!("<span class=\"pill of terminal\">Died of {}</span>", text("/sums/diedOf", of))
        }
        (None, Some(phase)) => {
            let class = class(phase);
            format!("<span class=\"pill of {class}\">{}</span>", words::phase(phase))
        }
        (None, None) => "<span class=\"pill\">Not born yet</span>".to_owned(),
    };
    let _ = writeln!(
        page,
        "<header>\n<p class=\"who\">{state}<span>Golem {}</span></p>",
        short("/golem", story.golem)
    );
    let lived = if sums.died_of.is_some() { "It lived" } else { "It has lived" };
    let headline = match sums.born {
        None => "This Golem has not had its first tick.".to_owned(),
        Some(_) => format!(
            "{lived} {} {}, traded {} {}, was told no {} {}, and cost {}.",
            number("/sums/days", sums.days),
            plural(sums.days, "day", "days"),
            number("/sums/trades", sums.trades),
            plural(sums.trades, "time", "times"),
            number("/sums/refused", sums.refused),
            plural(sums.refused, "time", "times"),
            dollars("/sums/cost", sums.cost),
        ),
    };
    let _ = writeln!(page, "<h1>{headline}</h1>");
    let mut lead = String::new();
    if let (Some(born), Some(last)) = (sums.born, sums.last) {
        let _ = write!(
            lead,
            "From {} to {}, on its owner’s money and never with his key.",
            time("/sums/born", born),
            time("/sums/last", last)
        );
    }
    if sums.strange != 0 {
        let _ = write!(
            lead,
            " Somebody else used its key {} {}.",
            number("/sums/strange", sums.strange),
            plural(sums.strange, "time", "times"),
        );
    }
    match sums.most_at_risk {
        Some(_) => {
            let most = at_risk("/sums/mostAtRisk", sums.most_at_risk);
            let _ = write!(lead, " At no moment could a thief have taken more than {most}.");
        }
        None if story.moments.is_empty() => {}
        None => {
            lead.push_str(" There were moments in which nothing bounded what a thief could take.")
        }
    }
    let _ = writeln!(page, "<p class=\"lead\">{lead}</p>");
    contents(page, story);
    page.push_str("</header>\n");
}

/// Ways to what is further down.
fn contents(page: &mut String, story: &Story) {
    page.push_str("<nav aria-label=\"On this page\">");
    for (id, name, is_there) in [
        ("its-life", "Vitality", true),
        ("its-money", "Money and risk", true),
        ("its-days", "What happened", true),
        ("its-children", "Replicants", !story.replicants.is_empty()),
        ("its-refusals", "Every refusal", true),
        ("its-gas", "Gas", true),
        ("its-end", "Settlement", story.settlement.is_some()),
        ("its-log", "Audit log", true),
    ] {
        if is_there {
            let _ = write!(page, "<a href=\"#{id}\">{name}</a>");
        }
    }
    page.push_str("</nav>\n");
}

const fn plural<'a>(count: u64, one: &'a str, many: &'a str) -> &'a str {
    if count == 1 { one } else { many }
}

fn tiles(page: &mut String, story: &Story) {
    let sums = &story.sums;
    let worth =
        sums.worth.map_or_else(|| "not known".to_owned(), |worth| dollars("/sums/worth", worth));
    let tiles = [
        (
            "Traded",
            dollars("/sums/traded", sums.traded),
            format!("in {} trades", number("/sums/trades", sums.trades)),
        ),
        (
            "Holdings",
            worth,
            format!("{} at their best", dollars("/sums/highWater", sums.high_water)),
        ),
        (
            "Cost of living",
            dollars("/sums/cost", sums.cost),
            format!("over {} ticks", number("/sums/ticks", sums.ticks)),
        ),
        (
            "Most ever at risk",
            at_risk("/sums/mostAtRisk", sums.most_at_risk),
            "to a thief of its key".to_owned(),
        ),
        (
            "Most ever spent in a day",
            dollars("/sums/mostSpent", sums.most_spent),
            format!("of {} allowed", dollars("/sums/cap", sums.cap)),
        ),
        ("Gas", ether("/sums/fees", sums.fees), format!("{} units", number("/sums/gas", sums.gas))),
    ];
    page.push_str("<div class=\"tiles\">\n");
    for (label, value, more) in tiles {
        let _ = writeln!(
            page,
            "<div class=\"tile\"><div class=\"label\">{label}</div><div class=\"value\">{value}</div><div class=\"more\">{more}</div></div>"
        );
    }
    page.push_str("</div>\n");
}

/// From its first tick to its last word.
fn frame(story: &Story, most: u128) -> Frame {
    let from = story.sums.born.unwrap_or(story.asked.at);
    Frame { from, to: story.sums.last.unwrap_or(story.asked.at).max(from.saturating_add(1)), most }
}

fn axis(page: &mut String, story: &Story, frame: &Frame) {
    page.push_str("<div class=\"axis\">");
    let step = story.days.len().div_ceil(4).max(1);
    for (index, day) in story.days.iter().enumerate() {
        let minor = if index.is_multiple_of(step) { "" } else { " class=\"minor\"" };
        let left = frame.left(day.at);
        let number = number(&format!("/days/{index}/day"), day.day).replacen(
            "<data ",
            &format!("<data{minor} style=\"left:{left}\" "),
            1,
        );
        page.push_str(&number);
    }
    page.push_str("</div>");
}

fn vitality(page: &mut String, story: &Story) {
    let whole = u128::from(WHOLE);
    let frame = frame(story, whole);
    page.push_str(
        "<section id=\"its-life\">\n<h2>Vitality</h2>\n<p class=\"about\">How much life it had: the least of three clocks. The ribbon below is the phase that the \
         registry holds; it only moves forward, unless its owner feeds it.</p>\n<div class=\"chart hero\">",
    );
    let mut high = whole;
    for (phase, low) in THRESHOLDS {
        let low = u128::from(low);
        let (top, height) = (frame.top(high), frame.height(low, high));
        let _ = write!(
            page,
            "<div class=\"band {}\" style=\"top:{top};height:{height}\"><span>{}</span></div>",
            class(phase),
            words::phase(phase)
        );
        high = low;
    }
    for (from, to) in spans(&story.ticks, |tick| tick.dreaming) {
        let to = to.unwrap_or(frame.to);
        let _ = write!(
            page,
            "<div class=\"night\" style=\"left:{};width:{}\" title=\"asleep\"></div>",
            frame.left(from),
            frame.width(from, to)
        );
    }
    let curve = |of: fn(&Tick) -> u16| -> Vec<(u64, u128)> {
        story.ticks.iter().map(|tick| (tick.at, u128::from(of(tick)))).collect()
    };
    let clocks = [
        ("thin stroke-economic", curve(|tick| tick.clocks.economic)),
        ("thin stroke-epistemic", curve(|tick| tick.clocks.epistemic)),
        ("thin stroke-stochastic", curve(|tick| tick.clocks.stochastic)),
        ("life", curve(|tick| tick.vitality)),
    ];
    let paths: Vec<(&str, String)> =
        clocks.iter().map(|(class, points)| (*class, frame.line(points, false))).collect();
    page.push_str(&drawing(
        "Vitality over its life, and the three clocks that it is the least of",
        &paths,
    ));
    pins(page, story, &frame);
    page.push_str("<div class=\"ribbon\">");
    ribbon(page, story, &frame);
    page.push_str("</div>");
    axis(page, story, &frame);
    let _ = write!(
        page,
        "</div>\n<p class=\"legend\"><span><i style=\"--of:var(--ink)\"></i>vitality</span>\
         <span><i style=\"--of:var(--economic)\"></i>money, time and standing</span>\
         <span><i style=\"--of:var(--epistemic)\"></i>how well it knows the world</span>\
         <span><i style=\"--of:var(--stochastic)\"></i>chance</span>\
         <span><i class=\"box\" style=\"--of:color-mix(in srgb, var(--dream) 45%, transparent)\"></i>asleep</span>{DAYS}</p>\n<p class=\"legend pins\">",
    );
    for (of, what) in [
        (Mark::Owner, "its owner acted"),
        (Mark::Alarm, "something was wrong"),
        (Mark::Child, "a child"),
        (Mark::Death, "it died"),
    ] {
        let _ = write!(page, "<span class=\"m {}\">{} {what}</span>", mark(of), icon(of));
    }
    page.push_str("</p>\n</section>\n");
}

/// From when to when something was so; the last one may not be over.
fn spans(ticks: &[Tick], is: impl Fn(&Tick) -> bool) -> Vec<(u64, Option<u64>)> {
    let mut all = Vec::new();
    let mut began = None;
    for tick in ticks {
        match (began, is(tick)) {
            (None, true) => began = Some(tick.at),
            (Some(from), false) => {
                all.push((from, Some(tick.at)));
                began = None;
            }
            _ => {}
        }
    }
    all.extend(began.map(|from| (from, None)));
    all
}

fn ribbon(page: &mut String, story: &Story, frame: &Frame) {
    let mut ticks = story.ticks.iter().peekable();
    while let Some(first) = ticks.next() {
        while ticks.next_if(|next| next.phase == first.phase).is_some() {}
        let to = ticks.peek().map_or(frame.to, |next| next.at);
        let _ = write!(
            page,
            "<i class=\"{}\" style=\"left:{};width:{}\" title=\"{}\"></i>",
            class(first.phase),
            frame.left(first.at),
            frame.width(first.at, to),
            words::phase(first.phase)
        );
    }
}

/// What its owner did, what others did, and how it ended: over the curve.
fn pins(page: &mut String, story: &Story, frame: &Frame) {
    let mut last: Option<(u64, Mark)> = None;
    let apart = frame.to.saturating_sub(frame.from) / 60;
    for entry in &story.timeline {
        let pinned = matches!(entry.mark, Mark::Owner | Mark::Alarm | Mark::Child | Mark::Death);
        let near = last
            .is_some_and(|(at, mark)| entry.at.saturating_sub(at) < apart && mark == entry.mark);
        if !pinned || near || entry.at < frame.from {
            continue;
        }
        last = Some((entry.at, entry.mark));
        let title = escaped(&entry.title);
        let _ = write!(
            page,
            "<div class=\"pin m {}\" style=\"left:{}\" title=\"{title}\">{}</div>",
            mark(entry.mark),
            frame.left(entry.at),
            icon(entry.mark)
        );
    }
}

fn spend(page: &mut String, story: &Story) {
    let sums = &story.sums;
    let most = u128::from(sums.cap.max(sums.most_spent)).max(1);
    let frame = frame(story, most.saturating_mul(23) / 20);
    page.push_str(
        "<section id=\"its-money\">\n<h2>Spend against its cap</h2>\n<p class=\"about\">What counted in its rolling day, as the chain counted it, and what its owner \
         allowed. Whoever has the key has the same cap.</p>\n<div class=\"chart\">",
    );
    let spent: Vec<(u64, u128)> =
        story.moments.iter().filter_map(|seen| Some((seen.at, u128::from(seen.spent?)))).collect();
    let mut cap: Vec<(u64, u128)> =
        story.moments.iter().map(|seen| (seen.at, u128::from(seen.cap))).collect();
    cap.extend(cap.last().map(|(_, value)| (frame.to, *value)));
    page.push_str(&drawing(
        "What was spent in a rolling day, and the cap",
        &[
            ("fill", frame.area(&spent, true)),
            ("line", frame.line(&spent, true)),
            ("cap", frame.line(&cap, true)),
        ],
    ));
    if sums.cap != 0 {
        let top = frame.top(sums.cap.into());
        let _ = write!(
            page,
            "<span class=\"note above\" style=\"top:{top}\">cap {}</span>",
            dollars("/sums/cap", sums.cap)
        );
        let top = frame.top(sums.most_spent.into());
        let side = if u128::from(sums.most_spent).saturating_mul(5) > most.saturating_mul(4) {
            "below"
        } else {
            "above"
        };
        let _ = write!(
            page,
            "<span class=\"note {side}\" style=\"top:{top}\">most {}</span>",
            dollars("/sums/mostSpent", sums.most_spent)
        );
    }
    axis(page, story, &frame);
    let _ = writeln!(
        page,
        "</div>\n<p class=\"legend\"><span><i style=\"--of:var(--accent)\"></i>spent in a rolling day, in dollars</span><span><i class=\"dashed\" style=\"--of:var(--risk)\"></i>the cap</span>{DAYS}</p>\n</section>"
    );
}

fn risk(page: &mut String, story: &Story) {
    let points: Vec<(u64, u128)> = story
        .moments
        .iter()
        .filter_map(|seen| Some((seen.at, u128::try_from(seen.at_risk?).unwrap_or(u128::MAX))))
        .collect();
    let most = points.iter().map(|(_, value)| *value).max().unwrap_or(0);
    let frame = frame(story, most.max(1).saturating_mul(23) / 20);
    page.push_str(
        "<section>\n<h2>Blast radius</h2>\n<p class=\"about\">The most that a thief of its key could have taken from that moment to the end of the \
         grant, by the grant in force and what the chain held then.</p>\n<div class=\"chart\">",
    );
    page.push_str(&drawing(
        "The most that a thief could take, over its life",
        &[("riskfill", frame.area(&points, true)), ("risk", frame.line(&points, true))],
    ));
    if let Some(risk) = story.sums.most_at_risk {
        let top = frame.top(most);
        let _ = write!(
            page,
            "<span class=\"note above\" style=\"top:{top}\">most {}</span>",
            at_risk("/sums/mostAtRisk", Some(risk))
        );
    }
    if let Some((index, seen)) = story.moments.iter().enumerate().next_back()
        && let Some(now) = seen.at_risk
    {
        let now_units = u128::try_from(now).unwrap_or(u128::MAX);
        if now_units.saturating_mul(5) < most.saturating_mul(4) {
            let top = frame.top(now_units);
            let of = format!("/moments/{index}/atRisk");
            let _ = write!(
                page,
                "<span class=\"note above\" style=\"top:{top}\">at the end {}</span>",
                at_risk(&of, Some(now))
            );
        }
    }
    axis(page, story, &frame);
    let _ = writeln!(
        page,
        "</div>\n<p class=\"legend\"><span><i style=\"--of:var(--risk)\"></i>at risk, in dollars</span>{DAYS}</p>\n</section>"
    );
}

fn worth(page: &mut String, story: &Story) {
    let most = u128::from(story.sums.high_water).max(1);
    let frame = frame(story, most.saturating_mul(23) / 20);
    let points: Vec<(u64, u128)> =
        story.ticks.iter().filter_map(|tick| Some((tick.at, u128::from(tick.worth?)))).collect();
    page.push_str(
        "<section>\n<h2>Holdings</h2>\n<p class=\"about\">What lay in its owner’s account for it, by his own price feeds.</p>\n<div class=\"chart\">",
    );
    page.push_str(&drawing(
        "What its holdings were worth, over its life",
        &[("fill", frame.area(&points, false)), ("line", frame.line(&points, false))],
    ));
    if story.sums.high_water != 0 {
        let top = frame.top(most);
        let _ = write!(
            page,
            "<span class=\"note above\" style=\"top:{top}\">best {}</span>",
            dollars("/sums/highWater", story.sums.high_water)
        );
    }
    axis(page, story, &frame);
    let _ = writeln!(
        page,
        "</div>\n<p class=\"legend\"><span><i style=\"--of:var(--accent)\"></i>worth, in dollars</span>{DAYS}</p>\n</section>"
    );
}

fn mood(page: &mut String, story: &Story) {
    // From the least feeling, which is drawn as nothing, to the most.
    let frame = frame(story, 200);
    let curve = |of: fn(&Tick) -> i8| -> Vec<(u64, u128)> {
        let up = |value: i8| u128::try_from(i16::from(value).saturating_add(100)).unwrap_or(0);
        story.ticks.iter().map(|tick| (tick.at, up(of(tick)))).collect()
    };
    page.push_str(
        "<section>\n<h2>Mood</h2>\n<p class=\"about\">Outcomes move it, time calms it. Its owner may forbid trades in some moods, and the chain then \
         refuses them.</p>\n<div class=\"chart\">",
    );
    let (from, to) = (frame.from, frame.to);
    page.push_str(&drawing(
        "Pleasure, arousal and dominance over its life",
        &[
            ("thin middle", frame.line(&[(from, 100), (to, 100)], false)),
            ("thin stroke-pleasure", frame.line(&curve(|tick| tick.mood.pleasure), false)),
            ("thin stroke-arousal", frame.line(&curve(|tick| tick.mood.arousal), false)),
            ("thin stroke-dominance", frame.line(&curve(|tick| tick.mood.dominance), false)),
        ],
    ));
    for (at, side, word) in
        [(200, "below", "strongest"), (100, "above", "none"), (0, "above", "its opposite")]
    {
        let top = frame.top(at);
        let _ = write!(page, "<span class=\"note {side}\" style=\"top:{top}\">{word}</span>");
    }
    axis(page, story, &frame);
    let _ = write!(
        page,
        "</div>\n<p class=\"legend\"><span><i style=\"--of:var(--thriving)\"></i>pleasure</span><span><i style=\"--of:var(--declining)\"></i>arousal</span>\
         <span><i style=\"--of:var(--dream)\"></i>dominance</span>{DAYS}</p>\n</section>\n",
    );
}

fn seal(page: &mut String, story: &Story) {
    let audit = &story.audit;
    let (class, name, title) = if audit.whole {
        ("seal", "seal", "Its audit log is whole")
    } else {
        ("seal bad", "broken", "Its audit log is damaged")
    };
    let mut words = format!(
        "{} records, each with the hash of the one before.",
        number("/audit/records", audit.records)
    );
    if let Some(damage) = &audit.damage {
        let _ = write!(words, " {}.", text("/audit/damage", damage));
    }
    match (audit.anchored, audit.block) {
        (Some(record), Some(block)) => {
            let _ = write!(
                words,
                " The chain holds {} of its heads, the furthest that of record {} in block {}; {} are newer.",
                number("/audit/anchors", audit.anchors),
                number("/audit/anchored", record),
                number("/audit/block", block),
                number("/audit/newer", audit.newer)
            );
        }
        _ => words.push_str(" The chain holds none of its heads yet: whoever can write the file could have written all of it anew."),
    }
    if let (Some(record), Some(by)) = (audit.sealed, audit.by) {
        let _ = write!(
            words,
            " Sealed up to record {} by {}.",
            number("/audit/sealed", record),
            hex("/audit/by", by)
        );
    }
    let _ = writeln!(
        page,
        "<section id=\"its-log\"><div class=\"{class}\"><svg class=\"icon\" aria-hidden=\"true\"><use href=\"#{name}\"/></svg><div><strong>{title}</strong><p>{words}</p><p>Head {}</p></div></div></section>",
        hex("/audit/head", audit.head)
    );
}

fn footer(page: &mut String, story: &Story) {
    let asked = &story.asked;
    let _ = write!(
        page,
        "<footer>\n<p>Golem {} on chain {}",
        hex("/golem", story.golem),
        text("/chainId", &story.chain_id.to_string())
    );
    if let Some(owner) = story.owner {
        let _ = write!(page, ", of {}", hex("/owner", owner));
    }
    if let Some(account) = story.account {
        let _ = write!(page, ", acting from {}", hex("/account", account));
    }
    let _ = writeln!(
        page,
        ".</p>\n<p>Asked at block {}, <span title=\"{}\">{}</span>. Every figure is from the audit log or the chain; for programs they stand in this file as JSON.</p>",
        number("/asked/block", asked.block),
        iso(asked.at),
        time("/asked/at", asked.at),
    );
    let left = &story.left_out;
    for (of, count, what) in [
        ("ticks", left.ticks, "ticks are not drawn: the curves have enough without them."),
        ("moments", left.moments, "moments of the chain were not asked for."),
        (
            "transactions",
            left.transactions,
            "transactions were not asked for: sums of gas are without them.",
        ),
        ("forgotten", left.forgotten, "moments are missing: this node keeps no states that old."),
    ] {
        if count != 0 {
            let _ = writeln!(page, "<p>{} {what}</p>", number(&format!("/leftOut/{of}"), count));
        }
    }
    page.push_str("</footer>\n");
}

const fn class(phase: Phase) -> &'static str {
    match phase {
        Phase::Thriving => "thriving",
        Phase::Stable => "stable",
        Phase::Conservation => "conservation",
        Phase::Declining => "declining",
        _ => "terminal",
    }
}

pub(super) const fn mark(mark: Mark) -> &'static str {
    match mark {
        Mark::Birth => "birth",
        Mark::Phase => "phase",
        Mark::Trade => "trade",
        Mark::Money => "money",
        Mark::Refusal => "refusal",
        Mark::Dream => "dream",
        Mark::Mood => "mood",
        Mark::Key => "key",
        Mark::Owner => "owner",
        Mark::Child => "child",
        Mark::Alarm => "alarm",
        Mark::Death => "death",
    }
}

pub(super) fn icon(of: Mark) -> String {
    let name = mark(of);
    format!("<svg class=\"icon\" role=\"img\" aria-label=\"{name}\"><use href=\"#{name}\"/></svg>")
}
