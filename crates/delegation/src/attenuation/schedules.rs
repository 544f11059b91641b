//! Amounts that come back: per period, and as a stream.

use super::{Loose, Verdict, Within, all, at_least, at_most, every, of, same};
use crate::terms::{
    Erc20PeriodTransfer, Erc20Streaming, MultiTokenPeriod, NativeTokenPeriodTransfer,
    NativeTokenStreaming, TokenPeriod,
};
use alloy_primitives::{Address, U256};

/// Longest list of periods that is compared with another one.
const MOST_ENTRIES: usize = 64;

/// So much in each period of this length, counted from the start on.
#[derive(Clone, Copy)]
struct Period {
    amount: U256,
    duration: U256,
    start: U256,
}

impl Period {
    /// The contract refuses every transfer under it.
    fn is_dead(&self) -> bool {
        self.amount.is_zero() || self.duration.is_zero() || self.start.is_zero()
    }

    /// Whether the most that fits into any one period of the parent is within its amount.
    fn within(&self, parent: &Self) -> Verdict {
        if self.is_dead() {
            return Ok(());
        }
        if parent.is_dead() {
            return Err(Loose::new("periodAmount", "nothing", self.amount));
        }
        // How many periods meet can be told of those that begin later alone.
        let begins = at_least("startDate", self.start, parent.start);
        let each = at_most("periodAmount", self.amount, parent.amount);
        if begins.is_err() || each.is_err() {
            return all([begins, each, self.comes_back_no_sooner(parent)]);
        }
        let Some(worst) = self.most_in_one(parent).checked_mul(self.amount) else {
            return Err(Loose::new("periodDuration", parent.duration, self.duration));
        };
        if worst > parent.amount {
            let shown =
                |amount: U256, rule: &Self| format!("{amount} in {} seconds", rule.duration);
            let child =
                format!("{} (up to {worst} in one period of the parent)", shown(self.amount, self));
            return Err(Loose::new("periodDuration", shown(parent.amount, parent), child));
        }
        Ok(())
    }

    /// Whether so many periods as meet in any case leave the parent's amount whole, even of the smaller amount of both.
    fn comes_back_no_sooner(&self, parent: &Self) -> Verdict {
        let least = parent.duration.div_ceil(self.duration);
        let amount = self.amount.min(parent.amount);
        if least.checked_mul(amount).is_some_and(|sum| sum <= parent.amount) {
            return Ok(());
        }
        at_least("periodDuration", self.duration, parent.duration)
    }

    /// How many of these periods one of the parent's touches at most. A period that is touched for a second can be
    /// spent whole in it.
    ///
    /// One more than begin strictly inside it. Over time, the beginnings inside of a parent's period take every place that
    /// differs from the first by a multiple of the greatest common divisor of both lengths.
    fn most_in_one(&self, parent: &Self) -> U256 {
        let one = U256::ONE;
        let step = gcd(self.duration, parent.duration);
        let offset = (self.start - parent.start) % step;
        let earliest = if offset.is_zero() { step } else { offset };
        match (parent.duration - one).checked_sub(earliest) {
            Some(room) => room / self.duration + one + one,
            None => one,
        }
    }
}

/// Both are more than zero.
fn gcd(one: U256, other: U256) -> U256 {
    if let (Ok(mut one), Ok(mut other)) = (u64::try_from(one), u64::try_from(other)) {
        while other != 0 {
            (one, other) = (other, one % other);
        }
        return U256::from(one);
    }
    one.gcd(other)
}

macro_rules! periods {
    ($($terms:ident)*) => {
        $(impl From<&$terms> for Period {
            fn from(terms: &$terms) -> Self {
                Self {
                    amount: terms.period_amount,
                    duration: terms.period_duration,
                    start: terms.start_date,
                }
            }
        })*
    };
}

periods! { NativeTokenPeriodTransfer Erc20PeriodTransfer TokenPeriod }

impl Within for NativeTokenPeriodTransfer {
    fn within(&self, parent: &Self) -> Verdict {
        Period::from(self).within(&parent.into())
    }
}

impl Within for Erc20PeriodTransfer {
    fn within(&self, parent: &Self) -> Verdict {
        all([
            same("tokenAddress", self.token_address, parent.token_address),
            Period::from(self).within(&parent.into()),
        ])
    }
}

impl Within for MultiTokenPeriod {
    /// Each entry has a count of its own, and whoever redeems says which one it is: so each of the child's needs one of the
    /// parent's for itself.
    fn within(&self, parent: &Self) -> Verdict {
        // Two entries of one token may each be within one of the parent's only; they are matched in order, which
        // the same list always passes.
        if self == parent {
            return Ok(());
        }
        // Every entry is held against every other: a list that is longer than any sane one is not.
        if self.0.len().max(parent.0.len()) > MOST_ENTRIES {
            let shown = |rule: &Self| format!("{} entries", rule.0.len());
            return Err(Loose::new("list", shown(parent), shown(self)));
        }
        let mut free: Vec<&TokenPeriod> = parent.0.iter().collect();
        let mut found = Vec::new();
        for entry in self.0.iter().filter(|entry| !Period::from(*entry).is_dead()) {
            let mut first = None;
            let theirs = free.iter().position(|theirs| {
                theirs.token == entry.token
                    && match Period::from(entry).within(&(*theirs).into()) {
                        Ok(()) => true,
                        Err(bound) => {
                            first.get_or_insert(bound);
                            false
                        }
                    }
            });
            match theirs {
                Some(at) => {
                    free.swap_remove(at);
                }
                None => found.push(Err(first.map_or_else(
                    || not_listed(entry.token, &parent.0),
                    |loose| of(entry.token, loose),
                ))),
            }
        }
        every(found)
    }
}

fn not_listed(token: Address, parent: &[TokenPeriod]) -> Loose {
    let tokens: Vec<_> = parent.iter().map(|entry| entry.token).collect();
    Loose::new("token", super::listed(&tokens), token)
}

/// So much at once, so much each second from then on, and no more than so much in all.
#[derive(Clone, Copy)]
struct Stream {
    initial: U256,
    most: U256,
    rate: U256,
    start: U256,
}

impl Stream {
    /// The contract refuses every transfer under it.
    fn is_dead(&self) -> bool {
        self.most < self.initial || self.start.is_zero()
    }

    /// What has been unlocked by then; nothing where the contract cannot count that far.
    fn unlocked(&self, now: U256) -> Option<U256> {
        let Some(elapsed) = now.checked_sub(self.start) else { return Some(U256::ZERO) };
        let streamed = self.rate.checked_mul(elapsed)?;
        Some(self.initial.checked_add(streamed)?.min(self.most))
    }

    /// The first second at which all of it is unlocked, if there is one.
    fn filled_at(&self) -> Option<U256> {
        let left = self.most - self.initial;
        if left.is_zero() {
            return Some(self.start);
        }
        if self.rate.is_zero() {
            return None;
        }
        self.start.checked_add(left.div_ceil(self.rate))
    }

    /// Whether at every second no more is unlocked than by the parent. Both unlock along straight lines between a
    /// few seconds, so the ends of those lines tell.
    fn within(&self, parent: &Self) -> Verdict {
        if self.is_dead() {
            return Ok(());
        }
        if parent.is_dead() {
            return Err(Loose::new("maxAmount", "nothing", self.most));
        }
        let last = U256::from(u64::MAX);
        if parent.unlocked(last).is_none() && parent.start <= last {
            // The parent's contract stops counting one day; the child's may go on.
            return same_stream(self, parent);
        }
        let corners = [
            Some(self.start),
            Some(parent.start),
            self.filled_at(),
            parent.filled_at(),
            Some(last),
        ];
        for corner in corners.into_iter().flatten().filter(|corner| *corner <= last) {
            for now in [corner.saturating_sub(U256::ONE), corner] {
                let (Some(ours), Some(theirs)) = (self.unlocked(now), parent.unlocked(now)) else {
                    // Where the child's cannot count, it allows nothing.
                    continue;
                };
                if ours > theirs {
                    return Err(self.blame(parent, now, ours, theirs));
                }
            }
        }
        Ok(())
    }

    /// The one bound that is looser, or what both come to.
    fn blame(&self, parent: &Self, now: U256, ours: U256, theirs: U256) -> Loose {
        let single = all([
            at_least("startTime", self.start, parent.start),
            at_most("initialAmount", self.initial, parent.initial),
            at_most("amountPerSecond", self.rate, parent.rate),
            at_most("maxAmount", self.most, parent.most),
        ]);
        single.err().unwrap_or_else(|| {
            let shown = |amount: U256| format!("{amount} unlocked at second {now}");
            Loose::new("stream", shown(theirs), shown(ours))
        })
    }
}

fn same_stream(child: &Stream, parent: &Stream) -> Verdict {
    all([
        same("startTime", child.start, parent.start),
        same("initialAmount", child.initial, parent.initial),
        same("amountPerSecond", child.rate, parent.rate),
        same("maxAmount", child.most, parent.most),
    ])
}

macro_rules! streams {
    ($($terms:ident)*) => {
        $(impl From<&$terms> for Stream {
            fn from(terms: &$terms) -> Self {
                Self {
                    initial: terms.initial_amount,
                    most: terms.max_amount,
                    rate: terms.amount_per_second,
                    start: terms.start_time,
                }
            }
        })*
    };
}

streams! { NativeTokenStreaming Erc20Streaming }

impl Within for NativeTokenStreaming {
    fn within(&self, parent: &Self) -> Verdict {
        Stream::from(self).within(&parent.into())
    }
}

impl Within for Erc20Streaming {
    fn within(&self, parent: &Self) -> Verdict {
        all([
            same("tokenAddress", self.token_address, parent.token_address),
            Stream::from(self).within(&parent.into()),
        ])
    }
}
