//! What there is to be read: what happened, every refusal, gas, and the end.

use super::{
    chart::Frame,
    figure::{clock, date, dollars, ether, hex, number, short, text, time},
    page::{icon, mark},
    story::{Entry, Story},
    words,
};
use std::fmt::Write as _;

pub(super) fn timeline(page: &mut String, story: &Story) {
    page.push_str("<section id=\"its-days\">\n<h2>What happened</h2>\n<p class=\"about\">From its audit log, and from the chain where the log says nothing.</p>\n");
    if story.timeline.is_empty() {
        page.push_str("<p>Nothing yet.</p>\n</section>\n");
        return;
    }
    page.push_str("<ol class=\"days\">\n");
    let day_of = |entry: &Entry| entry.at / 86_400;
    let mut entries = story.timeline.iter().enumerate().peekable();
    while let Some((first, entry)) = entries.next() {
        let mut day = vec![(first, entry)];
        while let Some(next) = entries.next_if(|(_, next)| day_of(next) == day_of(entry)) {
            day.push(next);
        }
        let long = if day.len() > 6 { " class=\"long\"" } else { "" };
        let of = format!("/timeline/{first}/at");
        let _ = write!(page, "<li{long}><h3>{}</h3><ol>", date(&of, entry.at));
        for (index, entry) in day {
            happened(page, index, entry);
        }
        page.push_str("</ol></li>\n");
    }
    page.push_str("</ol>\n");
    if story.left_out.entries != 0 {
        let left = number("/leftOut/entries", story.left_out.entries);
        let _ = writeln!(
            page,
            "<p class=\"about\">{left} more are left out here; the audit log has all of them.</p>"
        );
    }
    page.push_str("</section>\n");
}

fn happened(page: &mut String, index: usize, entry: &Entry) {
    let of = |field: &str| format!("/timeline/{index}/{field}");
    let class = mark(entry.mark);
    let _ = write!(
        page,
        "<li class=\"m {class}\">{}<span class=\"small\">{}</span> <b style=\"color:var(--ink)\">{}</b>",
        icon(entry.mark),
        clock(&of("at"), entry.at),
        text(&of("title"), &entry.title)
    );
    if entry.times > 1 {
        let times = number(&of("times"), entry.times);
        let _ = write!(page, "<span class=\"times\">{times} in a row</span>");
    }
    if let Some(detail) = &entry.detail {
        let _ = write!(page, "<div class=\"small\">{}</div>", text(&of("detail"), detail));
    }
    page.push_str("</li>");
}

pub(super) fn replicants(page: &mut String, story: &Story) {
    if story.replicants.is_empty() {
        return;
    }
    page.push_str(
        "<section id=\"its-children\">\n<h2>Replicants</h2>\n<p class=\"about\">Children in processes and with keys of their own. Each had a share, as the chain counted \
         it; what they spent counts in the Golem’s own cap, too.</p>\n",
    );
    page.push_str("<div class=\"wide\"><table class=\"stack\"><thead><tr><th scope=\"col\">Key</th><th scope=\"col\">From</th><th scope=\"col\">Until</th><th scope=\"col\" class=\"n\">Share</th><th scope=\"col\" class=\"n\">Spent</th><th scope=\"col\" class=\"n\">Trades</th><th scope=\"col\" class=\"n\">Gas</th><th scope=\"col\">How it ended</th></tr></thead><tbody>\n");
    for (index, child) in story.replicants.iter().enumerate() {
        let of = |field: &str| format!("/replicants/{index}/{field}");
        let end = match (&child.cause, child.ended) {
            (Some(cause), Some(ended)) => {
                format!("{}, {}", time(&of("ended"), ended), text(&of("cause"), cause))
            }
            _ => "it lives".to_owned(),
        };
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td data-label=\"from\">{}</td><td data-label=\"until\">{}</td><td class=\"n\" data-label=\"share\">{}</td><td class=\"n\" data-label=\"spent\">{}</td><td class=\"n\" data-label=\"trades\">{}</td><td class=\"n\" data-label=\"gas\">{}</td><td data-label=\"end\">{end}</td></tr>",
            short(&of("key"), child.key),
            time(&of("at"), child.at),
            time(&of("until"), child.until),
            dollars(&of("budget"), child.budget),
            dollars(&of("spent"), child.spent),
            number(&of("trades"), child.trades),
            number(&of("gas"), child.gas),
        );
    }
    page.push_str("</tbody></table></div>\n</section>\n");
}

pub(super) fn refusals(page: &mut String, story: &Story) {
    page.push_str(
        "<section id=\"its-refusals\">\n<h2>Every refusal</h2>\n<p class=\"about\">What it wanted and was not allowed. Nothing of this was signed, or it was refused on chain \
         and took no effect.</p>\n",
    );
    if story.refusals.is_empty() {
        page.push_str("<p>Nobody ever said no.</p>\n</section>\n");
        return;
    }
    page.push_str("<div class=\"wide\"><table class=\"stack\"><thead><tr><th scope=\"col\">In plain words</th><th scope=\"col\">By</th><th scope=\"col\">First</th><th scope=\"col\">Last</th><th scope=\"col\" class=\"n\">Times</th></tr></thead><tbody>\n");
    for (index, refusal) in story.refusals.iter().enumerate() {
        let of = |field: &str| format!("/refusals/{index}/{field}");
        let by = refusal
            .enforcer
            .as_ref()
            .map_or_else(|| "its own policy".to_owned(), |by| text(&of("enforcer"), by));
        let _ = writeln!(
            page,
            "<tr><td>{}<div class=\"small address\">{}</div></td><td data-label=\"by\">{by}</td><td data-label=\"first\">{}</td><td data-label=\"last\">{}</td><td class=\"n\" data-label=\"times\">{}</td></tr>",
            text(&of("reason"), &refusal.reason),
            text(&of("code"), &refusal.code),
            time(&of("first"), refusal.first),
            time(&of("last"), refusal.last),
            number(&of("times"), refusal.times),
        );
    }
    page.push_str("</tbody></table></div>\n</section>\n");
}

pub(super) fn gas(page: &mut String, story: &Story) {
    page.push_str("<section id=\"its-gas\">\n<h2>Gas per action</h2>\n<p class=\"about\">Every transaction that left an event of it on chain, by its receipt; in units of gas, and what was paid for them.</p>\n");
    if story.gas.is_empty() {
        page.push_str("<p>There is none.</p>\n</section>\n");
        return;
    }
    let most = story.gas.iter().map(|row| row.total).max().unwrap_or(1);
    let frame = Frame { from: 0, to: most.max(1), most: 1 };
    page.push_str("<div class=\"wide\"><table class=\"stack\"><thead><tr><th scope=\"col\">Action</th><th scope=\"col\">By</th><th scope=\"col\" class=\"n\">Times</th><th scope=\"col\" class=\"n\">Least</th><th scope=\"col\" class=\"n\">Most</th><th scope=\"col\" class=\"n\">In all</th><th scope=\"col\" class=\"n\">Paid</th></tr></thead><tbody>\n");
    for (index, row) in story.gas.iter().enumerate() {
        let of = |field: &str| format!("/gas/{index}/{field}");
        let _ = writeln!(
            page,
            "<tr><td>{}<span class=\"bar\" style=\"width:{}\"></span></td><td data-label=\"by\">{}</td><td class=\"n\" data-label=\"times\">{}</td><td class=\"n\" data-label=\"least\">{}</td><td class=\"n\" data-label=\"most\">{}</td><td class=\"n\" data-label=\"in all\">{}</td><td class=\"n\" data-label=\"paid\">{}</td></tr>",
            words::capital(row.action),
            frame.left(row.total),
            row.by,
            number(&of("times"), row.times),
            number(&of("least"), row.least),
            number(&of("most"), row.most),
            number(&of("total"), row.total),
            ether(&of("fees"), row.fees),
        );
    }
    page.push_str("</tbody></table></div>\n</section>\n");
}

pub(super) fn settlement(page: &mut String, story: &Story) {
    let Some(settled) = &story.settlement else { return };
    let _ = writeln!(
        page,
        "<section id=\"its-end\">\n<h2>Settlement</h2>\n<p class=\"about\">How it ended what it held: {}.</p>",
        settled.step
    );
    if settled.rows.is_empty() {
        page.push_str(
            "<p>There was nothing to bring home: the money never left its owner’s account.</p>\n",
        );
    } else {
        page.push_str("<div class=\"wide\"><table class=\"stack\"><thead><tr><th scope=\"col\">What</th><th scope=\"col\" class=\"n\">Amount</th><th scope=\"col\">How it ended</th></tr></thead><tbody>\n");
        for (index, row) in settled.rows.iter().enumerate() {
            let of = |field: &str| format!("/settlement/rows/{index}/{field}");
            let end = match &row.why {
                _ if row.settled => "home with its owner".to_owned(),
                Some(why) => format!("left to its owner: {}", text(&of("why"), why)),
                None => "left to its owner".to_owned(),
            };
            let _ = writeln!(
                page,
                "<tr><td>{}</td><td class=\"n\">{}</td><td>{end}</td></tr>",
                text(&of("what"), &row.what),
                text(&of("amount"), &row.amount)
            );
        }
        page.push_str("</tbody></table></div>\n");
    }
    if let Some(hash) = settled.hash {
        let _ = writeln!(
            page,
            "<p class=\"about\">Its hash in the log is {}.</p>",
            hex("/settlement/hash", hash)
        );
    }
    page.push_str("</section>\n");
}
