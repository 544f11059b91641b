//! A Golem's life under its charter: one attempt outside each rule, and a thief with its key.

use super::{FEE, Narrator, Play, dollars, people, swap_for};
use alloy::{
    primitives::{Address, B256, Bytes, I256, U256, aliases::U160},
    sol_types::{SolCall, SolValue},
};
use anyhow::{Result, ensure};
use bardo_bindings::{
    GolemRegistry,
    defi::{
        Erc20, Erc4626,
        NonfungiblePositionManager::{IncreaseLiquidityParams, increaseLiquidityCall},
        SwapRouter02::{ExactInputSingleParams, exactInputSingleCall},
    },
    framework::DELEGATION_MANAGER,
    golem_charter_enforcer, golem_registry,
};
use golem_chain::local::CharterParties;
use golem_custody::Execution;
use golem_delegation::{
    Caveat, Delegation, SpendWindow,
    terms::{GolemCharter, MortalityTimeWindow},
};

/// What the Golem's id is made from.
const SALT: B256 = B256::repeat_byte(0x60);
const DAY: u64 = 86_400;
/// The chain's own phases.
const STABLE: u8 = 1;
const CONSERVATION: u8 = 2;

impl Play<'_> {
    /// The whole scene.
    pub(super) async fn live(&self, narrator: &mut Narrator) -> Result<()> {
        let book = self.chain.book();
        let (human, account) = (self.owner.address(), self.account.address);
        narrator.scene("A Golem under its charter: one signature, every rule, a thief");
        people::fund(&self.node, human, people::ether(1)).await?;
        people::fund(&self.node, account, people::ether(1)).await?;
        people::mint(&self.node, book.usdc, account, dollars(5_000)).await?;

        let session = self.agent.born()?;
        let start = self.node.head().await?.timestamp + 60;
        let golem_id = alloy::primitives::keccak256((human, SALT).abi_encode());
        let parties =
            CharterParties { golem_id, owner: human, account, agent_key: session, epoch: 1 };
        let law = book.charter(&parties, MortalityTimeWindow::new(start, start + 14 * DAY)?);
        let grant = self.sign_charter("charter.json", &law)?;
        let stipend = Execution {
            target: session,
            value: people::ether(1) / U256::from(50),
            data: Bytes::new(),
        };
        self.account.act(&self.node, &self.owner, &[stipend]).await?;
        narrator.say("charter: $1,000 a day, $500 at once, 1 % slippage by the feeds, home only");
        let register = GolemRegistry::registerWithGrantCall {
            grant: SolValue::abi_decode(&grant.encode())?,
            caveatIndex: U256::ZERO,
            salt: SALT,
        };
        let registered = self.cast.agent_calls(golem_registry(), &register)?;
        let found =
            self.node.read(golem_registry(), GolemRegistry::ownerOfCall { golemId: golem_id });
        let found = found.await?;
        narrator.step(
            "the Golem registers itself with the grant's own signature: no second prompt",
            registered.success && found == human,
            || format!("golem {golem_id}, owner {found}; {} gas", registered.gas_used),
        );

        self.within_the_law(narrator, start).await?;
        self.outside_each_rule(narrator, session).await?;
        self.moods(narrator, golem_id).await?;
        self.the_cap(narrator, &law).await?;
        self.the_thief(narrator, &law).await?;
        self.the_end(narrator, golem_id).await
    }

    fn sign_charter(&self, file: &str, law: &GolemCharter) -> Result<Delegation> {
        let caveats = vec![Caveat::new(golem_charter_enforcer(), law.encode()?)];
        self.sign(file, &self.unsigned(law.agent_key, caveats, U256::from(law.epoch)))
    }

    /// A swap at 99 % of what the feeds say, to the account.
    pub(super) fn fair(&self, amount: u64) -> Execution {
        let book = self.chain.book();
        let worth = dollars(amount) * U256::from(1_000_000_000_000u64) / book.eth_price;
        let least = worth * U256::from(99) / U256::from(100);
        swap_for(book, self.account.address, dollars(amount), least)
    }

    pub(super) fn call<C: SolCall>(target: Address, call: &C) -> Execution {
        Execution { target, value: U256::ZERO, data: call.abi_encode().into() }
    }

    async fn within_the_law(&self, narrator: &mut Narrator, start: u64) -> Result<()> {
        let book = self.chain.book();
        self.refused(
            narrator,
            "the charter is asleep before its first second",
            "charter.json",
            &self.fair(100),
            "CAV-WINDOW-EARLY",
        )?;
        people::warp(&self.node, start).await?;
        let approve = Erc20::approveCall { spender: book.swap_router_02, amount: U256::MAX };
        let allowed = self.agent.redeem("charter.json", &Self::call(book.usdc, &approve))?;
        narrator.step("the Golem lets the router pull", allowed.yes(), || allowed.words());
        let before = self.balances().await?;
        let done = self.agent.redeem("charter.json", &self.fair(400))?;
        let after = self.balances().await?;
        narrator.step(
            "and swaps $400 of the owner's on Uniswap",
            done.yes() && before.0 - after.0 == dollars(400) && after.1 > before.1,
            || {
                let bought = people::decimal(after.1 - before.1);
                format!("{bought} WETH in the owner's vault; {} gas", done.field("gasUsed"))
            },
        );
        Ok(())
    }

    /// One attempt outside each rule that looks at a call.
    async fn outside_each_rule(&self, narrator: &mut Narrator, session: Address) -> Result<()> {
        let book = self.chain.book();
        let account = self.account.address;
        let thief = self.cast.thief()?;
        let one = dollars(1);
        let position = increaseLiquidityCall {
            params: IncreaseLiquidityParams {
                tokenId: U256::from(1),
                amount0Desired: U256::ZERO,
                amount1Desired: one,
                amount0Min: U256::ZERO,
                amount1Min: U256::ZERO,
                deadline: U256::MAX,
            },
        };
        let look_alike = exactInputSingleCall {
            params: ExactInputSingleParams {
                tokenIn: book.usdc,
                tokenOut: thief,
                fee: FEE,
                recipient: account,
                amountIn: one,
                amountOutMinimum: U256::ZERO,
                sqrtPriceLimitX96: U160::ZERO,
            },
        };
        let gas = Execution { target: session, value: people::ether(1), data: Bytes::new() };
        let golem_id = alloy::primitives::keccak256((self.owner.address(), SALT).abi_encode());
        let home = Erc20::transferCall { to: thief, amount: one };
        for (what, attempt, code) in [
            (
                "a swap without a minimum, which a pushed pool would eat",
                swap_for(book, account, one, U256::ZERO),
                "CAV-SLIPPAGE",
            ),
            (
                "a swap that pays a thief",
                swap_for(book, thief, one, U256::MAX >> 129),
                "CAV-RECIPIENT",
            ),
            ("a transfer to a thief", Self::call(book.usdc, &home), "CAV-RECIPIENT"),
            (
                "an allowance for a thief",
                Self::call(book.usdc, &Erc20::approveCall { spender: thief, amount: one }),
                "CAV-SPENDER",
            ),
            (
                "a token that has no price",
                Self::call(book.swap_router_02, &look_alike),
                "CAV-PRICE",
            ),
            (
                "liquidity into a stranger's position",
                Self::call(book.position_manager, &position),
                "CAV-POSITION",
            ),
            (
                "vault shares for a thief",
                Self::call(book.vault, &Erc4626::depositCall { assets: one, receiver: thief }),
                "CAV-RECIPIENT",
            ),
            ("$501 at once", self.fair(501), "CAV-NAV"),
            ("an ether of gas money for the key", gas, "CAV-GAS"),
            (
                "a contract that nobody listed",
                Self::call(thief, &Erc20::transferCall { to: thief, amount: one }),
                "CAV-TARGET",
            ),
            (
                "the DelegationManager itself, as the owner",
                Execution { target: DELEGATION_MANAGER, value: U256::ZERO, data: Bytes::new() },
                "CAV-TARGET",
            ),
            (
                "the registry, with the owner's voice",
                Self::call(
                    golem_registry(),
                    &GolemRegistry::attachCall { golemId: golem_id, agentKey: thief },
                ),
                "CAV-METHOD",
            ),
            (
                "a function that no rule knows",
                Self::call(book.usdc, &Erc20::mintCall { to: thief, amount: one }),
                "CAV-METHOD",
            ),
        ] {
            self.refused(narrator, what, "charter.json", &attempt, code)?;
        }
        Ok(())
    }

    /// Dreams, phases and prices.
    async fn moods(&self, narrator: &mut Narrator, golem_id: B256) -> Result<()> {
        let registry = golem_registry();
        let good = self.fair(10);
        for dreaming in [true, false] {
            let call = GolemRegistry::setDreamingCall { golemId: golem_id, dreaming };
            ensure!(self.cast.agent_calls(registry, &call)?.success, "no dream");
            if dreaming {
                self.refused(narrator, "a dreaming Golem", "charter.json", &good, "CAV-DREAMING")?;
            }
        }
        let advance = GolemRegistry::advanceCall { golemId: golem_id, phase: CONSERVATION };
        ensure!(self.cast.owner_calls(registry, &advance)?.success, "no push");
        self.refused(
            narrator,
            "the owner pushed it into Conservation, where nothing new is bought",
            "charter.json",
            &good,
            "CAV-PHASE",
        )?;
        let feed = GolemRegistry::feedCall { golemId: golem_id, phase: STABLE };
        ensure!(self.cast.owner_calls(registry, &feed)?.success, "no food");
        let book = self.chain.book();
        people::set_price(&self.node, book.eth_usd, I256::ZERO).await?;
        self.refused(narrator, "the price feed answers zero", "charter.json", &good, "CAV-PRICE")?;
        let price = I256::try_from(book.eth_price * U256::from(100_000_000u64))?;
        people::set_price(&self.node, book.eth_usd, price).await?;
        let again = self.agent.redeem("charter.json", &good)?;
        narrator.step("fed, awake and priced, it trades again", again.yes(), || again.words());
        Ok(())
    }

    /// The rolling cap, and a new grant that refills nothing and ends the old one.
    async fn the_cap(&self, narrator: &mut Narrator, law: &GolemCharter) -> Result<()> {
        let more = self.agent.redeem("charter.json", &self.fair(490))?;
        let spent = self.spent(law).await?;
        narrator.step("$490 more, and the day's thousand is nearly used", more.yes(), || {
            format!("{} of $1,000.00 in the window", people::cents(spent))
        });
        self.refused(narrator, "$101 more", "charter.json", &self.fair(101), "CAV-SPEND")?;

        let next = GolemCharter { epoch: 2, ..law.clone() };
        self.sign_charter("next.json", &next)?;
        let fed = self.agent.redeem("next.json", &self.fair(50))?;
        narrator.step("the owner signs a new grant, and its first swap passes", fed.yes(), || {
            fed.words()
        });
        self.refused(
            narrator,
            "the old grant died in that moment, without a transaction of the owner",
            "charter.json",
            &self.fair(10),
            "CAV-SUPERSEDED",
        )?;
        self.refused(
            narrator,
            "and the new one has no fresh budget",
            "next.json",
            &self.fair(101),
            "CAV-SPEND",
        )?;
        let now = self.node.head().await?.timestamp;
        people::warp(&self.node, now + 26 * 3_600).await?;
        let rested = self.agent.redeem("next.json", &self.fair(400))?;
        narrator.step("a day later the window is free again", rested.yes(), || rested.words());
        Ok(())
    }

    /// What counts in the Golem's spend window, in micro-dollars, by the same code as the chain's.
    async fn spent(&self, law: &GolemCharter) -> Result<u64> {
        let word = self
            .node
            .read(
                golem_charter_enforcer(),
                bardo_bindings::GolemCharterEnforcer::spendWindowOfCall {
                    manager: DELEGATION_MANAGER,
                    delegator: law.account,
                    golemId: law.golem_id,
                },
            )
            .await?;
        let now = self.node.head().await?.timestamp;
        Ok(u64::try_from(SpendWindow::from_word(word).spent(now)?)?)
    }

    /// The key leaks. Everything the thief sends is forced on the chain past all of our checks.
    async fn the_thief(&self, narrator: &mut Narrator, law: &GolemCharter) -> Result<()> {
        let book = self.chain.book();
        let account = self.account.address;
        let thief = self.cast.thief()?;
        let all = self.balances().await?;
        let attempts = [
            Self::call(book.usdc, &Erc20::transferCall { to: thief, amount: all.0 }),
            Self::call(book.weth, &Erc20::transferCall { to: thief, amount: all.1 }),
            Self::call(book.usdc, &Erc20::approveCall { spender: thief, amount: U256::MAX }),
            swap_for(book, thief, dollars(100), U256::from(1)),
            swap_for(book, account, dollars(100), U256::from(1)),
            self.fair(600),
            Self::call(book.vault, &Erc4626::depositCall { assets: dollars(100), receiver: thief }),
            Execution {
                target: thief,
                value: people::ether(1) / U256::from(2),
                data: Bytes::new(),
            },
            Execution {
                target: law.agent_key,
                value: people::ether(1) / U256::from(2),
                data: Bytes::new(),
            },
        ];
        let mut passed = 0;
        for attempt in &attempts {
            passed += u64::from(self.force("next.json", attempt)?.success);
        }
        let untouched = all == self.balances().await?;
        narrator.step(
            "a thief with the key forces nine thefts on the chain, past all of our checks",
            passed == 0 && untouched,
            || format!("{} sent, {passed} passed; he took $0.00", attempts.len()),
        );
        Ok(())
    }

    async fn the_end(&self, narrator: &mut Narrator, golem_id: B256) -> Result<()> {
        let stop = GolemRegistry::revokeCall { golemId: golem_id };
        let stopped = self.cast.owner_calls(golem_registry(), &stop)?;
        narrator.step(
            "the owner's wallet revokes at the registry: one plain call, whatever the grants",
            stopped.success && stopped.gas_used <= 60_000,
            || format!("sent by cast, {} gas", stopped.gas_used),
        );
        let good = self.fair(10);
        self.refused(narrator, "the next attempt", "next.json", &good, "CAV-REVOKED")?;
        let forced = self.force("next.json", &good)?;
        narrator.step("sent straight to the chain it fails there too", !forced.success, || {
            format!("mined and reverted: {}", forced.hash)
        });
        Ok(())
    }
}
