//! Limits that stand beside a charter or in its sections, each with what it lets through and what not.

use super::{Narrator, Play, dollars, people};
use alloy::{
    primitives::{Address, B256, U256, aliases::U96},
    sol_types::SolValue,
};
use anyhow::{Context, Result, ensure};
use bardo_bindings::{
    GolemRegistry, KnowledgeMarket,
    defi::Erc20,
    framework::{DELEGATION_MANAGER, MODE_SINGLE},
    golem_registry, knowledge_market, threshold_enforcer,
};
use golem_chain::{
    bundle_enforcers,
    local::{CharterParties, FAUCET},
};
use golem_custody::Execution;
use golem_delegation::{
    Caveat,
    bundles::{Bundle, Law, Spend},
    terms::{
        CharterMood, Class, Classes, CoSignature, GolemCharter, ListedTarget, MoodBounds,
        MortalityTimeWindow, Role, Threshold,
    },
};
use std::num::NonZeroU32;

const SALT: B256 = B256::repeat_byte(0x61);
const WEEK: u64 = 604_800;
const DOLLAR: u64 = 1_000_000;

impl Play<'_> {
    /// The whole scene.
    pub(super) async fn named_limits(&self, narrator: &mut Narrator) -> Result<()> {
        let book = self.chain.book();
        let (human, account) = (self.owner.address(), self.account.address);
        narrator.scene(
            "Limits as owners speak of them: each lets something through, and something not",
        );
        people::fund(&self.node, human, people::ether(1)).await?;
        people::mint(&self.node, book.usdc, account, dollars(5_000)).await?;
        let session = self.agent.born()?;
        people::fund(&self.node, session, people::ether(1) / U256::from(50)).await?;
        let allow = Erc20::approveCall { spender: book.swap_router_02, amount: U256::MAX };
        let allow = Self::call(book.usdc, &allow);
        self.account.act(&self.node, &self.owner, &[allow]).await?;
        let golem_id = alloy::primitives::keccak256((human, SALT).abi_encode());
        let now = self.node.head().await?.timestamp;
        let parties =
            CharterParties { golem_id, owner: human, account, agent_key: session, epoch: 1 };
        let law = book.charter(&parties, MortalityTimeWindow::new(now, now + 2 * WEEK)?);
        let register = GolemRegistry::registerCall { salt: SALT, agentKey: session };
        ensure!(self.cast.owner_calls(golem_registry(), &register)?.success, "not registered");

        self.bundles(narrator, &law)?;
        self.emotion(narrator, &law)?;
        self.royalty(narrator, &law).await?;
        self.council(narrator, &law)
    }

    fn sign_law(&self, file: &str, law: GolemCharter, bundles: &[Bundle]) -> Result<()> {
        let (delegate, salt) = (law.agent_key, U256::from(law.epoch));
        let caveats = Law::new(law).under(bundles)?.caveats(&bundle_enforcers())?;
        self.sign(file, &self.unsigned(delegate, caveats, salt))?;
        Ok(())
    }

    fn allowed(
        &self,
        narrator: &mut Narrator,
        what: &str,
        file: &str,
        call: &Execution,
    ) -> Result<()> {
        let reply = self.agent.redeem(file, call)?;
        narrator.step(what, reply.yes(), || reply.words());
        Ok(())
    }

    fn bundles(&self, narrator: &mut Narrator, law: &GolemCharter) -> Result<()> {
        let week = NonZeroU32::try_from(u32::try_from(WEEK)?)?;
        for (epoch, bundle, good, bad, what, code) in [
            (1, Bundle::CronOnly(week), 10, 10, "a second time in its week", "CAV-CADENCE"),
            (
                2,
                Bundle::MaxSpend(Spend::Total(50 * DOLLAR)),
                49,
                2,
                "$2 more in all its life",
                "CAV-BUDGET",
            ),
            (
                3,
                Bundle::max_position(1_000),
                100,
                490,
                "ether for more than a tenth of everything",
                "CAV-SHARE",
            ),
        ] {
            let file = format!("limit-{epoch}.json");
            let name = bundle.name();
            self.sign_law(&file, GolemCharter { epoch, ..law.clone() }, &[bundle])?;
            self.allowed(narrator, &format!("{name}: a swap of ${good}"), &file, &self.fair(good))?;
            self.refused(narrator, &format!("{name}: {what}"), &file, &self.fair(bad), code)?;
        }
        Ok(())
    }

    fn emotion(&self, narrator: &mut Narrator, law: &GolemCharter) -> Result<()> {
        let bounds = MoodBounds { min_pleasure: -50, max_arousal: 60, min_dominance: -60 };
        let mood = Some(CharterMood { bounds, classes: Classes::of(&[Class::Swap]) });
        self.sign_law("mood.json", GolemCharter { epoch: 4, mood, ..law.clone() }, &[])?;
        for (arousal, calm) in [(90, false), (10, true)] {
            let say = GolemRegistry::updatePadCall {
                golemId: law.golem_id,
                pleasure: 0,
                arousal,
                dominance: 0,
            };
            ensure!(self.cast.agent_calls(golem_registry(), &say)?.success, "not said");
            let swap = self.fair(10);
            if calm {
                self.allowed(narrator, "emotion: calm again, it swaps", "mood.json", &swap)?;
            } else {
                let what = "emotion: a swap in panic";
                self.refused(narrator, what, "mood.json", &swap, "CAV-EMOTION")?;
            }
        }
        Ok(())
    }

    /// Two insights for $50: one is the owner's own, one he was given by who wrote it.
    async fn royalty(&self, narrator: &mut Narrator, law: &GolemCharter) -> Result<()> {
        let (market, usdc) = (knowledge_market(), self.chain.book().usdc);
        let account = self.account.address;
        let publish = |byte: u8| KnowledgeMarket::publishCall {
            contentHash: B256::repeat_byte(byte),
            parent: B256::ZERO,
            royaltyBps: 1_000,
            token: usdc,
            price: U96::from(50 * DOLLAR),
        };
        let entry = |author: Address, byte: u8| KnowledgeMarket::entryIdOfCall {
            author,
            contentHash: B256::repeat_byte(byte),
        };
        let own = self.node.read(market, entry(account, 1)).await?;
        let given = self.node.read(market, entry(FAUCET, 2)).await?;
        let words = Self::call(market, &publish(1));
        self.account.act(&self.node, &self.owner, &[words]).await?;
        people::give_call(&self.node, market, &publish(2)).await?;
        let gift = KnowledgeMarket::bequeathCall { entryId: given, heir: account };
        people::give_call(&self.node, market, &gift).await?;
        people::mint(&self.node, usdc, FAUCET, dollars(100)).await?;
        let allow = Erc20::approveCall { spender: market, amount: dollars(100) };
        people::give_call(&self.node, usdc, &allow).await?;
        // The author has access to his own, so somebody else must buy it.
        let order =
            KnowledgeMarket::orderCall { entryId: own, seller: account, notAfter: U256::MAX };
        people::give_call(&self.node, market, &order).await?;

        let mut law = GolemCharter { epoch: 5, max_royalty_bps: Some(2_000), ..law.clone() };
        law.listing.targets.push(ListedTarget { target: market, role: Role::Market });
        self.sign_law("sales.json", law, &[])?;
        let sell = |entry: B256| {
            let sell = KnowledgeMarket::sellCall { entryId: entry, seller: account, buyer: FAUCET };
            Self::call(market, &sell)
        };
        let what = "royalty: an insight of the owner's own is sold for $50";
        self.allowed(narrator, what, "sales.json", &sell(own))?;
        let what = "royalty: another's insight, without the $5 for who wrote it";
        self.refused(narrator, what, "sales.json", &sell(given), "CAV-ROYALTY")
    }

    /// Two of three wallets that are not ours agree to one swap.
    fn council(&self, narrator: &mut Narrator, law: &GolemCharter) -> Result<()> {
        let mut members = [self.cast.wallet()?, self.cast.wallet()?, self.cast.wallet()?];
        members.sort_by_key(|(address, _)| *address);
        let seats = members.iter().map(|(address, _)| *address).collect();
        let law = GolemCharter { epoch: 6, ..law.clone() };
        let (delegate, salt) = (law.agent_key, U256::from(law.epoch));
        let mut caveats = Law::new(law).caveats(&bundle_enforcers())?;
        caveats.push(Caveat::new(threshold_enforcer(), Threshold::new(2, seats)?.encode()));
        let mut grant = self.sign("council.json", &self.unsigned(delegate, caveats, salt))?;
        let call = self.fair(10);
        let what = "council: one key alone, where two of three must agree";
        self.refused(narrator, what, "council.json", &call, "CAV-THRESHOLD")?;

        let execution = (call.target, call.value, call.data.as_ref()).abi_encode_packed();
        let agreed = CoSignature {
            manager: DELEGATION_MANAGER,
            delegation_hash: grant.hash().0,
            mode: MODE_SINGLE,
            execution: execution.into(),
            nonce: U256::from(1),
            deadline: u64::from(u32::MAX),
        };
        let digest = agreed.digest(self.node.chain_id(), threshold_enforcer());
        let signatures = members
            .iter()
            .take(2)
            .map(|(_, key)| self.cast.sign(key, digest))
            .collect::<Result<Vec<_>>>()?;
        grant.caveats.last_mut().context("the council's caveat")?.args =
            agreed.args(&signatures)?;
        self.folder.write("council.json", &serde_json::to_string(&grant)?)?;
        let what = "council: two of three agree to the very swap";
        self.allowed(narrator, what, "council.json", &call)?;
        let what = "council: the same signatures a second time";
        self.refused(narrator, what, "council.json", &call, "CAV-THRESHOLD")
    }
}
