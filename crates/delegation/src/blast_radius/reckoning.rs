//! What a law and what is there come to.

use super::{
    Asset, BlastRadiusError, Causes, MAX_ASSETS, Missing, Observed, Price, TokenFacts,
    golem::Golem,
    law::{CharterLaw, Law},
    worth::{self, Known, least, sum},
};
use crate::terms::{Class, GolemCharter, Role};
use alloy_primitives::{Address, U256};
use std::collections::BTreeSet;

/// The chain's own coin.
pub(super) const COIN: Address = Address::ZERO;
const COIN_DECIMALS: u8 = 18;

/// One asset as the law meets it.
#[derive(Debug)]
pub(super) struct Holding {
    pub(super) token: Address,
    price: Option<Price>,
    decimals: Option<u8>,
    pub(super) facts: TokenFacts,
    /// What of it the law lets him touch, in base units.
    pub(super) reach: Known,
}

/// What of one asset a charter opens, by where it lies, in base units.
pub(super) struct Parts {
    pub(super) free: Known,
    pub(super) vaults: Known,
    pub(super) pools: Known,
}

/// Everything, ready to be asked for any moment.
#[derive(Debug)]
pub(super) struct Reckoning<'a> {
    law: &'a Law,
    holdings: Vec<Holding>,
    /// What he can touch at all, in micro-dollars.
    wealth: Known,
    golems: Vec<Golem<'a>>,
    coin_price: Option<Price>,
    pub(super) in_hand: Known,
    pub(super) missing: BTreeSet<Missing>,
    /// Vaults of which nobody said what they are made of.
    untold: BTreeSet<Address>,
    /// Tokens that a charter counts with other decimals than they have.
    pub(super) misread: BTreeSet<Address>,
    /// Tokens whose decimals are the charter's word alone.
    pub(super) believed: BTreeSet<Address>,
}

impl<'a> Reckoning<'a> {
    pub(super) fn new(law: &'a Law, observed: &Observed) -> Result<Self, BlastRadiusError> {
        let mut tokens: BTreeSet<Address> = observed.tokens.keys().copied().collect();
        tokens.insert(COIN);
        tokens.extend(law.outflow.tokens());
        let mut untold = BTreeSet::new();
        for CharterLaw { charter, open, .. } in &law.charters {
            tokens.extend(charter.listing.held());
            // To withdraw needs no price, and shares are sent away as they are: so what a vault is made of need not be listed.
            if !open && !charter.withdraws() {
                continue;
            }
            for vault in charter.vaults() {
                // Nobody's vault is made of nothing, or of itself.
                let sane = |asset: &&Address| !asset.is_zero() && **asset != vault;
                let asset = observed.vaults.get(&vault).filter(sane);
                untold.extend(asset.is_none().then_some(vault));
                tokens.insert(asset.copied().unwrap_or(vault));
            }
        }
        if tokens.len() > MAX_ASSETS {
            return Err(BlastRadiusError::TooManyAssets {
                limit: MAX_ASSETS,
                actual: tokens.len(),
            });
        }
        let mut reckoning = Self {
            law,
            holdings: Vec::new(),
            wealth: Some(U256::ZERO),
            golems: Vec::new(),
            coin_price: None,
            in_hand: Some(U256::ZERO),
            missing: BTreeSet::new(),
            untold,
            misread: BTreeSet::new(),
            believed: BTreeSet::new(),
        };
        reckoning.coin_price = coin_price(law, observed);
        for token in tokens {
            let facts = observed.tokens.get(&token).cloned();
            let facts = if reckoning.untold.contains(&token) {
                reckoning.missing.insert(Missing { token, what: "asset" });
                untold_vault(facts)
            } else {
                facts.unwrap_or_default()
            };
            reckoning.hold(token, facts);
        }
        reckoning.ask_for_the_runway();
        reckoning.in_hand = reckoning.total_in_hand();
        reckoning.wealth = reckoning.total_wealth();
        reckoning.golems =
            law.golems().map(|charters| Golem::new(law, charters, &reckoning.holdings)).collect();
        Ok(reckoning)
    }

    /// A runway counts whatever is there, and so it needs a price also where nothing is.
    fn ask_for_the_runway(&mut self) {
        if !self.law.is_runway() {
            return;
        }
        let last = self.law.until.unwrap_or(u64::MAX);
        let mut missing = BTreeSet::new();
        for holding in &self.holdings {
            let _ = holding.worth(self.leaves(holding, last), &mut missing);
        }
        self.missing.extend(missing);
    }

    fn hold(&mut self, token: Address, facts: TokenFacts) {
        let coin = (token == COIN).then_some(COIN_DECIMALS);
        let listed = self.law.charters.iter().flat_map(|law| &law.charter.listing.tokens);
        let listed = listed.filter(|listed| listed.token == token);
        let feeds: BTreeSet<u8> = listed.clone().map(|listed| listed.feed_decimals).collect();
        let listed: BTreeSet<u8> = listed.map(|listed| listed.token_decimals).collect();
        // A charter that counts a token wrongly lets any amount of it pass for little.
        if facts.decimals.or(coin).is_some_and(|true_one| listed.iter().any(|one| *one != true_one))
        {
            self.misread.insert(token);
        }
        if facts.decimals.or(coin).is_none() && !listed.is_empty() {
            self.believed.insert(token);
            self.missing.insert(Missing { token, what: "decimals" });
        }
        // Fewer decimals make a unit dearer.
        let decimals = coin.or_else(|| listed.into_iter().chain(facts.decimals).min());
        // Wrapped coins are exchanged for plain ones as they are, also where the charter names no feed for them.
        let wrapped = feeds.is_empty()
            && self.law.charters.iter().any(|law| law.charter.is_wrapped_coin(token));
        let decimals = decimals.or(wrapped.then_some(COIN_DECIMALS));
        let price = if token == COIN { self.coin_price } else { believed(facts.price) };
        let price = price.or(self.coin_price.filter(|_| wrapped));
        // A price of another feed than the listed one is none.
        let price = price.filter(|price| feeds.iter().all(|decimals| *decimals == price.decimals));
        let mut holding = Holding { token, price, decimals, facts, reach: None };
        holding.reach = self.reach(&holding);
        self.holdings.push(holding);
    }

    /// The least that any charter lets him touch; without a charter, all of it.
    fn reach(&mut self, holding: &Holding) -> Known {
        if self.law.charters.is_empty() {
            let TokenFacts { balance, in_vaults, in_positions, .. } = holding.facts;
            if balance.is_none() && self.let_out(holding, u64::MAX).is_none() {
                self.missing.insert(Missing { token: holding.token, what: "balance" });
            }
            if !self.law.is_boundless() {
                return balance;
            }
            // Any call can be made, so that nothing is out of reach; where nothing bounds the whole, what is known counts.
            for (fact, what) in [(in_vaults, "inVaults"), (in_positions, "inPositions")] {
                if fact.is_none() && holding.token != COIN {
                    self.missing.insert(Missing { token: holding.token, what });
                }
            }
            let beside = [in_vaults, in_positions].map(Option::unwrap_or_default);
            return sum([balance, Some(beside[0]), Some(beside[1])]);
        }
        let mut reach = None;
        for law in &self.law.charters {
            let Parts { free, vaults, pools } = holding.parts(law);
            reach = least(reach, sum([free, vaults, pools]));
            if free.is_none() {
                self.missing.insert(Missing { token: holding.token, what: "balance" });
            }
            if vaults.is_none() && !self.untold.contains(&holding.token) {
                self.missing.insert(Missing { token: holding.token, what: "inVaults" });
            }
            if pools.is_none() {
                self.missing.insert(Missing { token: holding.token, what: "inPositions" });
            }
        }
        reach
    }

    /// What stock caveats let out of a token by `moment`; none where nothing bounds it.
    fn let_out(&self, holding: &Holding, moment: u64) -> Known {
        // Where any call can be made, it can make others: a cap on the coins of the outer one bounds nothing.
        if self.law.charters.is_empty() && !self.law.outflow.is_closed() {
            return None;
        }
        let Law { now, from, calls, .. } = *self.law;
        let moment = self.law.until.map_or(moment, |until| until.min(moment));
        self.law.outflow.most(holding.token, calls, now, from, moment)
    }

    /// What can leave of a token: what is let out, and not more than is within reach. A runway is as long as it is,
    /// whatever there is today.
    fn leaves(&self, holding: &Holding, moment: u64) -> Known {
        match self.let_out(holding, moment) {
            Some(out) if self.law.is_runway() => {
                let endless = moment == u64::MAX && self.law.until.is_none();
                let ends = out.is_zero() || self.law.outflow.ends(holding.token, self.law.calls);
                Some(out).filter(|_| !endless || ends)
            }
            out => least(holding.reach, out),
        }
    }

    /// Whether what is there today is taken for all that there will be.
    pub(super) fn counts_balances(&self) -> bool {
        let by_balance = |holding: &Holding| self.let_out(holding, u64::MAX).is_none();
        !self.law.is_runway() || self.holdings.iter().any(by_balance)
    }

    /// Whether something comes back with every period, for as long as the grant is not revoked.
    pub(super) fn is_endless(&self) -> bool {
        let endless = |holding: &Holding| {
            let out = self.let_out(holding, u64::MAX);
            out.is_some_and(|out| !out.is_zero())
                && !self.law.outflow.ends(holding.token, self.law.calls)
        };
        self.law.until.is_none() && self.law.is_runway() && self.holdings.iter().any(endless)
    }

    /// What can leave altogether, where that is known.
    fn outflow(&self, moment: u64) -> Known {
        sum(self.holdings.iter().map(|holding| holding.dollars(self.leaves(holding, moment))))
    }

    fn total_in_hand(&mut self) -> Known {
        let mut missing = BTreeSet::new();
        let parts: Vec<Known> = self
            .holdings
            .iter()
            .map(|holding| {
                if holding.facts.key_balance.is_none() {
                    missing.insert(Missing { token: holding.token, what: "keyBalance" });
                }
                holding.worth(holding.facts.key_balance, &mut missing)
            })
            .collect();
        self.missing.extend(missing);
        sum(parts)
    }

    fn total_wealth(&mut self) -> Known {
        let mut missing = BTreeSet::new();
        let parts: Vec<Known> = self
            .holdings
            .iter()
            .map(|holding| holding.worth(holding.reach, &mut missing))
            .collect();
        self.missing.extend(missing);
        sum(parts)
    }

    /// What he can have cost the owner by `moment`, in micro-dollars and by cause.
    pub(super) fn by(&self, moment: u64) -> Causes {
        let mut causes = Causes { in_hand: self.in_hand, ..Causes::none() };
        if self.law.ended.is_some() || moment < self.law.from {
            return causes;
        }
        let moment = self.law.until.map_or(moment, |until| until.min(moment));
        if self.law.is_open() {
            causes.outflow = self.outflow(moment);
            return causes;
        }
        // Stock caveats bind beside a charter.
        let let_out = if self.law.outflow.is_closed() { self.outflow(moment) } else { None };
        let wealth = least(self.wealth, let_out);
        let each = self.golems.iter().map(|golem| {
            let mut causes = Causes { gas: self.gas(golem, moment), ..golem.by(moment) };
            if !self.misread.is_empty() {
                (causes.slippage, causes.vaults, causes.settlement) = (None, None, None);
            }
            Causes { in_hand: self.in_hand, ..causes.at_most(wealth) }
        });
        let (told, untold): (Vec<Causes>, Vec<Causes>) =
            each.partition(|causes| causes.total().is_some());
        let most = |causes: &[Causes]| causes.iter().max_by_key(|causes| causes.known()).copied();
        // Each Golem's charters bind him, whatever those of another one say: so the least counts, where their dollars are
        // the same.
        let binding = if self.law.alike {
            told.iter().min_by_key(|causes| causes.known()).copied().or_else(|| most(&untold))
        } else {
            most(&untold).or_else(|| most(&told))
        };
        binding.unwrap_or(causes)
    }

    /// Gas money, at the coin's price.
    fn gas(&self, golem: &Golem<'_>, moment: u64) -> Known {
        let wei = golem.gas_wei(moment);
        match self.coin_price {
            _ if wei.is_zero() => Some(U256::ZERO),
            Some(price) => Some(worth::value(wei, price, COIN_DECIMALS)),
            None => None,
        }
    }

    /// Whether the coin's price is missing for what is asked.
    pub(super) fn needs_coin_price(&self) -> bool {
        self.coin_price.is_none() && self.law.charters.iter().any(|law| law.gas.is_some())
    }

    /// The most that each asset can lose by `last` if he goes for it, and by each of the days.
    pub(super) fn assets(&self, days: &[(u64, Causes)], last: (u64, Causes)) -> Vec<Asset> {
        let account = |(moment, causes): (u64, Causes)| {
            (moment, Causes { in_hand: Some(U256::ZERO), ..causes }.total())
        };
        let days: Vec<(u64, Known)> = days.iter().copied().map(account).collect();
        let last = account(last);
        let asset =
            |holding: &Holding, (moment, lost)| holding.asset(self.leaves(holding, moment), lost);
        let assets = self.holdings.iter().map(|holding| {
            let days = days.iter().map(|day| asset(holding, *day).micro_dollars);
            Asset { days: days.collect(), ..asset(holding, last) }
        });
        assets.collect()
    }
}

impl Holding {
    /// What one charter opens of it.
    pub(super) fn parts(&self, law: &CharterLaw) -> Parts {
        let reachable = reachable(&law.charter, law.open, self.token);
        let free = match reachable.free {
            Free::None => Some(U256::ZERO),
            Free::All => self.facts.balance,
            // An allowance that is not known may be any.
            Free::Allowed => least(self.facts.balance, self.facts.allowance),
        };
        let vaults = if reachable.vaults { self.facts.in_vaults } else { Some(U256::ZERO) };
        let pools = if reachable.pools { self.facts.in_positions } else { Some(U256::ZERO) };
        Parts { free, vaults, pools }
    }

    /// What an amount of it is worth, where that is known.
    pub(super) fn dollars(&self, amount: Known) -> Known {
        self.worth(amount, &mut BTreeSet::new())
    }

    fn worth(&self, amount: Known, missing: &mut BTreeSet<Missing>) -> Known {
        let amount = amount?;
        if amount.is_zero() {
            return Some(U256::ZERO);
        }
        if self.price.is_none() {
            missing.insert(Missing { token: self.token, what: "price" });
        }
        if self.decimals.is_none() {
            missing.insert(Missing { token: self.token, what: "decimals" });
        }
        Some(worth::value(amount, self.price?, self.decimals?))
    }

    /// With so many units within reach, and so much that can be lost altogether.
    fn asset(&self, reach: Known, account: Known) -> Asset {
        let mut quiet = BTreeSet::new();
        let whole = self.worth(reach, &mut quiet);
        let lost = least(whole, account);
        // In units: all of it where prices do not say less.
        let units = match (lost, self.price, self.decimals) {
            _ if account == Some(U256::ZERO) => Some(U256::ZERO),
            (Some(lost), Some(price), Some(decimals)) => {
                least(reach, Some(worth::amount(lost, price, decimals)))
            }
            _ => reach,
        };
        let key = self.worth(self.facts.key_balance, &mut quiet);
        let lost = if units == Some(U256::ZERO) { units } else { lost };
        Asset {
            token: self.token,
            amount: sum([units, self.facts.key_balance]),
            micro_dollars: sum([lost, key]),
            days: Vec::new(),
        }
    }
}

impl GolemCharter {
    fn is_listed(&self, token: Address) -> bool {
        self.listing.tokens.iter().any(|listed| listed.token == token)
    }

    pub(super) fn is_wrapped_coin(&self, token: Address) -> bool {
        let weth = Some(Role::Weth);
        self.listing.tokens.iter().any(|listed| listed.token == token && listed.role == weth)
            || self
                .listing
                .targets
                .iter()
                .any(|known| known.target == token && known.role == Role::Weth)
    }
}

/// What of the account's own balance can be moved.
enum Free {
    None,
    /// What spenders may pull already.
    Allowed,
    All,
}

struct Reachable {
    free: Free,
    vaults: bool,
    pools: bool,
}

/// Which parts of a token's holdings a charter opens.
fn reachable(charter: &GolemCharter, open: bool, token: Address) -> Reachable {
    let moves = charter.swaps() || charter.trades();
    let pools = charter.lists(Role::PositionManager);
    let vaults = charter.lists(Role::Vault);
    if token == COIN {
        let free = charter.tops_up() || (charter.wraps() && (moves || open));
        return Reachable {
            free: if free { Free::All } else { Free::None },
            vaults: false,
            pools: false,
        };
    }
    let listed = charter.is_listed(token);
    let callable = charter.is_callable(token);
    if open && callable {
        return Reachable { free: Free::All, vaults, pools };
    }
    // Wrapped coins become gas money, those in vaults and pools too; nobody needs an allowance for that.
    let unwraps = charter.is_wrapped_coin(token) && charter.unwraps() && charter.tops_up();
    if listed && moves {
        let all = unwraps || (callable && charter.allows(Class::Approve));
        return Reachable { free: if all { Free::All } else { Free::Allowed }, vaults, pools };
    }
    let free = if unwraps { Free::All } else { Free::None };
    // Shares are tokens, which an open charter sends away as they are.
    let vaults = charter.withdraws() || (open && vaults);
    // A pool gives back whichever of its two it likes.
    let turned = charter.takes_back() && (open || (charter.unwraps() && charter.tops_up()));
    let pools = turned || (unwraps && pools) || charter.withdraws_from_pools();
    Reachable { free, vaults, pools }
}

/// What lies in a vault that nobody knows cannot be told, whatever else is known of its shares.
fn untold_vault(facts: Option<TokenFacts>) -> TokenFacts {
    let nothing = Some(U256::ZERO);
    let none = TokenFacts {
        balance: nothing,
        in_positions: nothing,
        key_balance: nothing,
        ..TokenFacts::default()
    };
    TokenFacts { in_vaults: None, ..facts.unwrap_or(none) }
}

/// Nothing is worth nothing by a feed that can be relied on.
fn believed(price: Option<Price>) -> Option<Price> {
    price.filter(|price| !price.answer.is_zero())
}

/// The coin's own, or wrapped: one is exchanged for the other as it is.
fn coin_price(law: &Law, observed: &Observed) -> Option<Price> {
    let price =
        |token: &Address| observed.tokens.get(token).and_then(|facts| believed(facts.price));
    price(&COIN).or_else(|| {
        let listed = law.charters.iter().flat_map(|law| &law.charter.listing.tokens);
        let wrapped = listed.filter(|listed| listed.role == Some(Role::Weth));
        wrapped.map(|listed| listed.token).find_map(|token| price(&token))
    })
}
