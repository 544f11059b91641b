//! Each of our enforcers as the one caveat of a grant, and every error that it can end a redemption with.

use super::{
    errors::EACH,
    scenes::{Calls, DOLLAR, Dice, Scene, Wanted, call, fair, sent, under_another_name},
};
use crate::{
    field::Field,
    raw::{RawKey, granted},
};
use alloy::{
    primitives::{
        Address, B256, Bytes, I256, Selector, U256,
        aliases::{I24, U24, U160},
        hex,
    },
    providers::ext::AnvilApi as _,
    sol,
    sol_types::{SolCall as _, SolValue as _},
};
use anyhow::{Context as _, Result, ensure};
use bardo_bindings::{
    GolemRegistry, cadence_enforcer, daily_spend_limit_enforcer,
    defi::{
        Erc4626,
        NonfungiblePositionManager::{
            DecreaseLiquidityParams, MintParams, decreaseLiquidityCall, mintCall,
        },
        SwapRouter02::exactInputSingleCall,
    },
    dream_mode_enforcer, emotional_state_enforcer,
    framework::{
        DELEGATION_MANAGER, DelegationManager::redeemDelegationsCall, MODE_BATCH, MODE_BATCH_TRY,
        MODE_SINGLE, MODE_SINGLE_TRY,
    },
    golem_charter_enforcer, golem_phase_enforcer, golem_registry, holdings_enforcer,
    knowledge_market, knowledge_royalty_enforcer, max_slippage_enforcer,
    mortality_time_window_enforcer, replicant_budget_enforcer, threshold_enforcer,
    vault_nav_enforcer,
};
use bardo_testkit::{Owner, Stage, charter_of, dollars, fair_swap, swap};
use golem_chain::AccountKind;
use golem_custody::{Execution, Redemption, encode_batch};
use golem_delegation::{
    Caveat, PermissionContext,
    terms::{
        CharterMood, Class, Classes, CoSignature, DailySpendLimit, DreamMode, EmotionalState,
        GolemCharter, GolemPhase, Holdings, ListedTarget, ListedToken, MaxSlippage, MoodBounds,
        ReplicantBudget, Role, Threshold, VaultNav,
    },
};
use std::collections::BTreeMap;

sol! {
    function increaseAllowance(address spender, uint256 added) external returns (bool);
    function multicall(bytes[] calls) external;
    struct Output { address tokenIn; address tokenOut; uint24 fee; address recipient; uint256 amountOut; uint256 amountInMaximum; uint160 sqrtPriceLimitX96; }
    function exactOutputSingle(Output params) external;
    struct Input { bytes path; address recipient; uint256 amountIn; uint256 amountOutMinimum; }
    function exactInput(Input params) external;
}

/// A second after October 2033, when buckets of a minute can no longer be counted.
pub(super) const END_OF_TIME: u64 = 2_013_400_000;

/// Who redeems, and is the agent.
const BY: Address = Address::repeat_byte(0x41);
/// Golems of one owner.
const LIVELY: B256 = B256::repeat_byte(0x63);
const DREAMER: B256 = B256::repeat_byte(0x64);
const UPSET: B256 = B256::repeat_byte(0x65);

/// Those that read actions, and have a listing at the end of their terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reader {
    Phase,
    Slippage,
    Spend,
    Nav,
    Budget,
    Holdings,
    Charter,
}

impl Reader {
    const ALL: [Self; 7] = [
        Self::Phase,
        Self::Slippage,
        Self::Spend,
        Self::Nav,
        Self::Budget,
        Self::Holdings,
        Self::Charter,
    ];

    fn enforcer(self) -> Address {
        match self {
            Self::Phase => golem_phase_enforcer(),
            Self::Slippage => max_slippage_enforcer(),
            Self::Spend => daily_spend_limit_enforcer(),
            Self::Nav => vault_nav_enforcer(),
            Self::Budget => replicant_budget_enforcer(),
            Self::Holdings => holdings_enforcer(),
            Self::Charter => golem_charter_enforcer(),
        }
    }

    /// The name it says malformed terms by, and how many bytes it wants before the listing.
    const fn header(self) -> (&'static str, usize) {
        match self {
            Self::Phase => ("GolemPhaseEnforcer_TermsLength", 56),
            Self::Slippage => ("MaxSlippageEnforcer_TermsLength", 2),
            Self::Spend => ("DailySpendLimitEnforcer_TermsLength", 44),
            Self::Nav => ("VaultNAVEnforcer_TermsLength", 62),
            Self::Budget => ("ReplicantBudgetEnforcer_TermsLength", 45),
            Self::Holdings => ("Holdings_TermsLength", 106),
            Self::Charter => ("CharterTerms_Length", 232),
        }
    }

    /// Terms under which a swap of some dollars goes through.
    fn terms(self, law: &GolemCharter) -> Result<Vec<u8>> {
        let listing = law.listing.clone();
        let (golem_id, registry, staleness) = (law.golem_id, law.registry, law.staleness);
        Ok(match self {
            Self::Phase => GolemPhase { golem_id, registry, staleness, listing }.encode()?,
            Self::Slippage => MaxSlippage { bps: 100, listing }.encode()?,
            Self::Spend => {
                let (epoch, cap, bucket_minutes) = (1, 1_000 * DOLLAR, law.bucket_minutes);
                DailySpendLimit { golem_id, epoch, cap, bucket_minutes, listing }.encode()?
            }
            Self::Nav => {
                let (vault, bps, cap) = (law.vault, 1_000, 500 * DOLLAR);
                VaultNav { golem_id, vault, bps, cap, listing }.encode()?
            }
            Self::Budget => ReplicantBudget {
                replicant_id: golem_id,
                budget: 1_000 * DOLLAR,
                not_after: (1 << 40) - 1,
                listing,
            }
            .encode()?,
            Self::Holdings => holdings(law, |_| ())?,
            Self::Charter => law.encode()?,
        })
    }
}

/// Bounds on holdings that bind nothing, as `change`d.
fn holdings(law: &GolemCharter, change: impl FnOnce(&mut Holdings)) -> Result<Vec<u8>> {
    let usdc = law.listing.tokens.first().context("a token")?.token;
    let mut rule = Holdings {
        golem_id: law.golem_id,
        account: law.account,
        staleness: law.staleness,
        series: 1,
        thriving_bps: 10_000,
        stable_bps: 10_000,
        drawdown_bps: 10_000,
        registry: law.registry,
        cash: usdc,
        loss_bps: 10_000,
        listing: law.listing.clone(),
    };
    change(&mut rule);
    Ok(rule.encode()?)
}

/// The same terms with other bytes from `at` on.
fn patched(terms: &[u8], at: usize, bytes: &[u8]) -> Result<Vec<u8>> {
    let mut terms = terms.to_vec();
    terms.get_mut(at..at + bytes.len()).context("shorter")?.copy_from_slice(bytes);
    Ok(terms)
}

/// Terms that are too short, in some ways.
fn short(of: usize) -> Vec<Vec<u8>> {
    [1, of / 2, of - 1].into_iter().map(|length| vec![7; length]).collect()
}

/// Contracts that answer every question with the same words.
async fn answers(stage: &Stage, at: u64, words: &[U256]) -> Result<Address> {
    let address = Address::from_word(U256::from(0xfeed_0000 + at).into());
    let words: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes::<32>()).collect();
    let length = u8::try_from(words.len())?;
    // PUSH1 length PUSH1 10 PUSH0 CODECOPY PUSH1 length PUSH0 RETURN
    let code = [&[0x60, length, 0x60, 0x0a, 0x5f, 0x39, 0x60, length, 0x5f, 0xf3], &words[..]];
    stage.node().provider().anvil_set_code(address, code.concat().into()).await?;
    Ok(address)
}

/// Scenes as they come.
struct Rules<'a> {
    stage: &'a Stage,
    owner: &'a Owner,
    /// Somebody who may call anything, the manager too.
    porter: Address,
    carries: PermissionContext,
    scenes: Vec<Scene>,
}

impl Rules<'_> {
    const fn account(&self) -> Address {
        self.owner.account.address
    }

    fn context(&self, to: Address, caveats: Vec<Caveat>) -> Result<PermissionContext> {
        Ok(PermissionContext::new(granted(self.stage, self.owner, to, caveats)?)?)
    }

    /// Under each of these terms in turn.
    fn says(
        &mut self,
        enforcer: Address,
        error: &'static str,
        terms: Vec<Vec<u8>>,
        calls: impl Fn(&Stage, &mut Dice) -> Vec<Execution> + 'static,
    ) -> Result<()> {
        let one = |terms| self.context(BY, vec![Caveat::new(enforcer, terms)]);
        let contexts = terms.into_iter().map(one).collect::<Result<Vec<_>>>()?;
        self.under(enforcer, error, contexts, calls)
    }

    fn under(
        &mut self,
        enforcer: Address,
        error: &'static str,
        contexts: Vec<PermissionContext>,
        calls: impl Fn(&Stage, &mut Dice) -> Vec<Execution> + 'static,
    ) -> Result<()> {
        let many = u64::try_from(contexts.len())?;
        self.scenes.push(Scene::made(Wanted::Says(enforcer, error), BY, move |stage, dice| {
            let context = contexts.get(usize::try_from(dice.below(many))?).context("none")?.clone();
            Ok(match calls(stage, dice).as_slice() {
                [one] => Redemption::single(DELEGATION_MANAGER, context, one),
                several => Redemption::batch(DELEGATION_MANAGER, context, several),
            })
        }));
        Ok(())
    }

    /// In a form that no redemption of ours has: somebody's account hands it to the manager.
    fn within(
        &mut self,
        enforcer: Address,
        error: &'static str,
        terms: Vec<u8>,
        form: impl Fn(&Stage, &mut Dice) -> (B256, Bytes) + 'static,
    ) -> Result<()> {
        let inner = self.context(self.porter, vec![Caveat::new(enforcer, terms)])?.encode();
        let outer = self.carries.clone();
        self.scenes.push(Scene::made(Wanted::Within(enforcer, error), BY, move |stage, dice| {
            let (mode, execution) = form(stage, dice);
            let redeem = redeemDelegationsCall {
                permissionContexts: vec![inner.clone()],
                modes: vec![mode],
                executionCallDatas: vec![execution],
            };
            let redeem = call(DELEGATION_MANAGER, &redeem);
            Ok(Redemption::single(DELEGATION_MANAGER, outer.clone(), &redeem))
        }));
        Ok(())
    }

    /// Modes in which a call may fail unnoticed, and some that nobody knows.
    fn modes(&mut self, enforcer: Address) -> Result<()> {
        self.within(enforcer, "ExecutionModes_NotDefaultExecution", vec![], |_, dice| {
            let execution = dice.address().to_vec().into();
            let mode = match dice.below(3) {
                0 => MODE_SINGLE_TRY,
                1 => MODE_BATCH_TRY,
                _ => MODE_SINGLE | B256::from(U256::from(1 + dice.below(1 << 20))),
            };
            (mode, execution)
        })
    }

    /// Executions that an account might read otherwise.
    fn forms(&mut self, enforcer: Address, terms: &[u8]) -> Result<()> {
        let account = self.account();
        self.within(enforcer, "Executions_Short", terms.to_vec(), |_, dice| {
            let length = usize::try_from(dice.below(52)).unwrap_or_default();
            (MODE_SINGLE, vec![3; length].into())
        })?;
        self.within(enforcer, "Executions_Batch", terms.to_vec(), move |stage, dice| {
            let amount = dollars(1 + dice.below(400));
            let calls = vec![fair_swap(stage, account, amount); usize::from(dice.below(2) == 0)];
            let list = encode_batch(&calls);
            let tail = vec![0; 32 * calls.len()];
            (MODE_BATCH, [&list[..], &tail].concat().into())
        })
    }
}

/// Liquidity of a cent or more, in a pool of that fee.
fn mint(stage: &Stage, recipient: Address, fee: u64, dice: &mut Dice) -> Execution {
    let (book, cents) = (stage.book(), 1 + dice.below(1_000));
    let edge = I24::try_from(887_270).unwrap_or(I24::ZERO);
    let params = MintParams {
        token0: book.weth,
        token1: book.usdc,
        fee: U24::from(fee),
        tickLower: -edge,
        tickUpper: edge,
        amount0Desired: U256::from(cents) * U256::from(4_000_000_000_000_u64),
        amount1Desired: U256::from(cents * 10_000),
        amount0Min: U256::ZERO,
        amount1Min: U256::ZERO,
        recipient,
        deadline: U256::MAX,
    };
    call(book.position_manager, &mintCall { params })
}

/// A fair swap with arguments that are `change`d.
fn changed_swap(
    account: Address,
    change: impl Fn(&mut exactInputSingleCall, &mut Dice) + 'static,
) -> Calls {
    Box::new(move |stage, dice| {
        let fair = fair_swap(stage, account, dollars(1 + dice.below(400)));
        let Ok(mut swap) = exactInputSingleCall::abi_decode(&fair.data) else { return vec![] };
        change(&mut swap, dice);
        vec![Execution { data: swap.abi_encode().into(), ..fair }]
    })
}

fn several(inner: usize, stage: &Stage, account: Address, dice: &mut Dice) -> Execution {
    let one = swap(stage, account, dollars(1 + dice.below(400))).data;
    call(stage.book().swap_router_02, &multicallCall { calls: vec![one; inner] })
}

/// What `Actions` and `Executions` refuse, whoever asks them.
fn unreadable(account: Address) -> Vec<(&'static str, Calls)> {
    let with = move |least: u64| fair(account, least, 400);
    vec![
        (
            "Actions_HiddenApproval",
            Box::new(|stage, dice| {
                let added = dollars(1 + dice.below(400));
                let more = increaseAllowanceCall { spender: dice.address(), added };
                vec![call(stage.book().usdc, &more)]
            }),
        ),
        (
            "Actions_Multicall",
            Box::new(move |stage, dice| {
                let inner = if dice.below(2) == 0 { 0 } else { 9 };
                vec![several(inner, stage, account, dice)]
            }),
        ),
        (
            "Actions_NoSelector",
            Box::new(|stage, dice| {
                let data = vec![9; usize::try_from(dice.below(4)).unwrap_or_default()].into();
                let target = stage.book().swap_router_02;
                vec![Execution { target, value: U256::ZERO, data }]
            }),
        ),
        (
            "Actions_NotAPayment",
            Box::new(|_, dice| {
                let value = U256::from(dice.below(1_000));
                vec![Execution { target: BY, value, data: dice.address().to_vec().into() }]
            }),
        ),
        (
            "Actions_NotCanonical",
            Box::new(move |stage, dice| {
                let calls = with(1)(stage, dice).into_iter();
                let tail = vec![0; 1 + usize::try_from(dice.below(64)).unwrap_or_default()];
                let longer = |data: Bytes| [&data[..], &tail].concat().into();
                calls.map(|one| Execution { data: longer(one.data), ..one }).collect()
            }),
        ),
        (
            "Actions_Path",
            Box::new(move |stage, dice| {
                let mut path = vec![2; usize::try_from(dice.below(120)).unwrap_or_default()];
                if path.len() > 20 && (path.len() - 20) % 23 == 0 {
                    path.push(2);
                }
                let params = Input {
                    path: path.into(),
                    recipient: account,
                    amountIn: dollars(1),
                    amountOutMinimum: U256::ZERO,
                };
                vec![call(stage.book().swap_router_02, &exactInputCall { params })]
            }),
        ),
        (
            "Actions_PriceLimit",
            Box::new(move |stage, dice| {
                let book = stage.book();
                let params = Output {
                    tokenIn: book.usdc,
                    tokenOut: book.weth,
                    fee: U24::from(500),
                    recipient: account,
                    amountOut: U256::from(1 + dice.below(1_000)),
                    amountInMaximum: dollars(1),
                    sqrtPriceLimitX96: U160::from(1 + dice.below(1 << 30)),
                };
                vec![call(book.swap_router_02, &exactOutputSingleCall { params })]
            }),
        ),
        (
            "Actions_Sentinel",
            changed_swap(account, |swap, dice| match dice.below(4) {
                3 => swap.params.amountIn = U256::ZERO,
                low => swap.params.recipient = Address::from_word(U256::from(low).into()),
            }),
        ),
        (
            "Actions_UnexpectedValue",
            Box::new(move |stage, dice| {
                let value = U256::from(1 + dice.below(1_000));
                with(1)(stage, dice).into_iter().map(|one| Execution { value, ..one }).collect()
            }),
        ),
        (
            "Actions_UnknownCall",
            Box::new(move |stage, dice| {
                let calls = with(1)(stage, dice).into_iter();
                calls.map(|one| under_another_name(one, dice)).collect()
            }),
        ),
        (
            "Actions_UnknownTarget",
            Box::new(move |stage, dice| {
                let target = dice.address();
                with(1)(stage, dice).into_iter().map(|one| Execution { target, ..one }).collect()
            }),
        ),
        (
            "Executions_Order",
            Box::new(move |stage, dice| {
                let assets = dollars(1 + dice.below(100));
                let deposit = Erc4626::depositCall { assets, receiver: account };
                let mut calls = with(1)(stage, dice);
                calls.push(call(stage.book().vault, &deposit));
                calls
            }),
        ),
    ]
}

/// Everything that our enforcers refuse, each for itself; and apart from it what they refuse at the end of time.
pub(super) async fn of_enforcers(field: &Field) -> Result<(Vec<Scene>, Vec<Scene>)> {
    let (stage, owner) = (&field.stage, &field.owner);
    let porter = stage.owner(AccountKind::Hybrid).await?;
    let carries = PermissionContext::new(granted(stage, &porter, BY, vec![])?)?;
    let porter = porter.account.address;
    stage.fund(BY, U256::from(1u64 << 60), U256::ZERO).await?;
    let law = charter_of(stage, owner, LIVELY, BY, |_| ()).await?;
    let mut rules = Rules { stage, owner, porter, carries, scenes: Vec::new() };
    readers(&mut rules, &law).await?;
    prices(&mut rules, &law).await?;
    lives(&mut rules, &law).await?;
    charters(&mut rules, &law).await?;
    bounds(&mut rules, &law).await?;
    moods(&mut rules, &law).await?;
    councils(&mut rules)?;

    let mut late = Rules { scenes: Vec::new(), carries: rules.carries.clone(), ..rules };
    let router = stage.book().swap_router_02;
    for reader in [Reader::Spend, Reader::Charter] {
        let mut law = GolemCharter { bucket_minutes: 1, staleness: u32::MAX, ..law.clone() };
        law.window = golem_delegation::terms::MortalityTimeWindow::new(1, (1 << 40) - 1)?;
        let terms = vec![reader.terms(&law)?];
        late.says(reader.enforcer(), "SpendWindow_TimeOutOfRange", terms, move |stage, dice| {
            let amount = dollars(1 + dice.below(400));
            let allow = bardo_bindings::defi::Erc20::approveCall { spender: router, amount };
            vec![call(stage.book().usdc, &allow)]
        })?;
    }
    Ok((shared(rules.scenes), shared(late.scenes)))
}

/// Enforcers that say the same share the attempts.
fn shared(mut scenes: Vec<Scene>) -> Vec<Scene> {
    let error = |scene: &Scene| match scene.wanted {
        Wanted::Says(_, error) | Wanted::Within(_, error) => error,
        _ => "",
    };
    let mut many: BTreeMap<&str, u64> = BTreeMap::new();
    for scene in &scenes {
        *many.entry(error(scene)).or_default() += 1;
    }
    for scene in &mut scenes {
        scene.times = EACH.div_ceil(many.get(error(scene)).copied().unwrap_or(1));
    }
    scenes
}

/// What every enforcer with a listing refuses: calls that cannot be read, and terms.
async fn readers(rules: &mut Rules<'_>, law: &GolemCharter) -> Result<()> {
    let account = rules.account();
    for reader in Reader::ALL {
        let (enforcer, terms) = (reader.enforcer(), reader.terms(law)?);
        for (error, calls) in unreadable(account) {
            rules.says(enforcer, error, vec![terms.clone()], calls)?;
        }
        rules.modes(enforcer)?;
        let carried = GolemCharter { agent_key: rules.porter, ..law.clone() };
        rules.forms(enforcer, &reader.terms(&carried)?)?;
        let (error, header) = reader.header();
        rules.says(enforcer, error, short(header), fair(account, 1, 400))?;
        let cut = [1, 5, 20].into_iter();
        let cut = cut.filter_map(|less| Some(terms.get(..terms.len() - less)?.to_vec())).collect();
        rules.says(enforcer, "Listing_Length", cut, fair(account, 1, 400))?;
        // The router is the only target, and its role the last byte.
        let mut alone = law.clone();
        alone.listing.targets.truncate(1);
        let mut unknown = Vec::new();
        for role in [11, 99, 255] {
            let terms = reader.terms(&alone)?;
            unknown.push(patched(&terms, terms.len() - 1, &[role])?);
        }
        rules.says(enforcer, "Listing_Role", unknown, fair(account, 1, 400))?;
    }
    Ok(())
}

/// ATK-24, ATK-25: prices that are none.
async fn prices(rules: &mut Rules<'_>, law: &GolemCharter) -> Result<()> {
    let (stage, account) = (rules.stage, rules.account());
    let now = stage.now().await?;
    let eight = U256::from(8);
    let round = |answer: U256, at: u64, answered: u64| {
        [eight, answer, U256::from(at), U256::from(at), U256::from(answered)]
    };
    let dollar = U256::from(100_000_000);
    let minus = I256::try_from(-1)?.into_raw();
    let mut feeds: BTreeMap<&'static str, Vec<Address>> = BTreeMap::new();
    for (error, words) in [
        ("Valuation_Answer", round(U256::ZERO, now, 8)),
        ("Valuation_Answer", round(minus, now, 8)),
        ("Valuation_Answer", round(U256::from(1) << 96, now, 8)),
        ("Valuation_Incomplete", round(dollar, now, 7)),
        ("Valuation_Incomplete", round(dollar, now, 0)),
        ("Valuation_Stale", round(dollar, 0, 8)),
        ("Valuation_Stale", round(dollar, now - 40 * 86_400, 8)),
        ("Valuation_Stale", round(dollar, now + 86_400, 8)),
        // Down; up for no time at all, since never, and since tomorrow.
        ("Valuation_Sequencer", round(U256::from(1), 1, 8)),
        ("Valuation_Sequencer", round(U256::ZERO, now, 8)),
        ("Valuation_Sequencer", round(U256::ZERO, 0, 8)),
        ("Valuation_Sequencer", round(U256::ZERO, now + 86_400, 8)),
    ] {
        let known = u64::try_from(feeds.values().map(Vec::len).sum::<usize>())?;
        feeds.entry(error).or_default().push(answers(stage, known, &words).await?);
    }
    let holder = answers(stage, 0x100, &[U256::MAX]).await?;
    let priced = |change: &dyn Fn(&mut ListedToken)| {
        let mut law = law.clone();
        law.listing.tokens.first_mut().into_iter().for_each(change);
        law
    };
    for reader in Reader::ALL.into_iter().filter(|reader| *reader != Reader::Phase) {
        let enforcer = reader.enforcer();
        for (error, feeds) in &feeds {
            let mut terms = Vec::new();
            for feed in feeds.iter().copied() {
                terms.push(reader.terms(&if *error == "Valuation_Sequencer" {
                    let mut law = law.clone();
                    (law.listing.sequencer_feed, law.listing.sequencer_grace) = (feed, 86_400);
                    law
                } else {
                    priced(&|token| token.feed = feed)
                })?);
            }
            rules.says(enforcer, error, terms, fair(account, 1, 400))?;
        }
        let mut terms = Vec::new();
        for decimals in [0, 7, 18] {
            terms.push(reader.terms(&priced(&|token| token.feed_decimals = decimals))?);
        }
        rules.says(enforcer, "Valuation_Decimals", terms, fair(account, 1, 400))?;
        let mut cash = law.clone();
        cash.listing.tokens.truncate(1);
        let ether = Box::new(|stage: &Stage, dice: &mut Dice| {
            let wei = U256::from(4_000_000_000_000_u64) + U256::from(dice.below(1_000));
            let sale = swap(stage, Address::repeat_byte(9), wei);
            let Ok(mut sale_call) = exactInputSingleCall::abi_decode(&sale.data) else {
                return vec![];
            };
            let params = &mut sale_call.params;
            std::mem::swap(&mut params.tokenIn, &mut params.tokenOut);
            vec![Execution { data: sale_call.abi_encode().into(), ..sale }]
        });
        if reader == Reader::Charter {
            // Who gets it is looked at first.
            let home = changed_swap(account, |swap, _| {
                std::mem::swap(&mut swap.params.tokenIn, &mut swap.params.tokenOut);
            });
            rules.says(enforcer, "Listing_UnknownToken", vec![reader.terms(&cash)?], home)?;
        } else {
            rules.says(enforcer, "Listing_UnknownToken", vec![reader.terms(&cash)?], ether)?;
        }
        if reader == Reader::Holdings {
            let mut law = law.clone();
            let mut token = *law.listing.tokens.first().context("a token")?;
            token.token = holder;
            law.listing.tokens.push(token);
            let terms = vec![reader.terms(&law)?];
            rules.says(enforcer, "Valuation_Amount", terms, fair(account, 1, 400))?;
            continue;
        }
        let much = changed_swap(account, |swap, dice| {
            swap.params.amountIn = (U256::from(1) << 128) + U256::from(dice.below(1 << 30));
        });
        rules.says(enforcer, "Valuation_Amount", vec![reader.terms(law)?], much)?;
        rules.says(
            enforcer,
            "Positions_NoPool",
            vec![reader.terms(law)?],
            move |stage, dice| {
                let fee = 501 + dice.below(2_000);
                vec![mint(stage, account, fee, dice)]
            },
        )?;
    }

    // What a pool and a vault say beside the feeds.
    let other = answers(stage, 0x101, &round(U256::from(300_000_000_000_u64), now, 8)).await?;
    let dear = answers(stage, 0x102, &[U256::from(1)]).await?;
    let mut moved = law.clone();
    moved.listing.tokens.last_mut().into_iter().for_each(|token| token.feed = other);
    let mut few = law.clone();
    few.listing.targets.push(ListedTarget { target: dear, role: Role::Vault });
    for reader in [Reader::Slippage, Reader::Charter] {
        let enforcer = reader.enforcer();
        rules.says(enforcer, "MaxSlippage_PoolMoved", vec![reader.terms(&moved)?], {
            move |stage, dice| vec![mint(stage, account, 500, dice)]
        })?;
        rules.says(enforcer, "VaultShares_TooFew", vec![reader.terms(&few)?], move |_, dice| {
            let assets = U256::from(2 + dice.below(100 * DOLLAR));
            vec![call(dear, &Erc4626::depositCall { assets, receiver: account })]
        })?;
    }
    let poor = |stage: &Stage, dice: &mut Dice| {
        vec![swap(stage, Address::repeat_byte(9), dollars(1 + dice.below(400)))]
    };
    let slippage = vec![Reader::Slippage.terms(law)?];
    rules.says(max_slippage_enforcer(), "MaxSlippage_TooMuch", slippage, poor)
}

/// What is wrong with a life, for each that asks after it.
async fn lives(rules: &mut Rules<'_>, law: &GolemCharter) -> Result<()> {
    let (stage, owner, account) = (rules.stage, rules.owner, rules.account());
    let registry = golem_registry();
    let some = || fair(account, 1, 400);
    let nobody = [1, 2, 3].map(B256::repeat_byte);
    for reader in [Reader::Phase, Reader::Holdings, Reader::Charter] {
        let mut terms = Vec::new();
        for golem_id in nobody {
            terms.push(reader.terms(&GolemCharter { golem_id, ..law.clone() })?);
        }
        rules.says(reader.enforcer(), "GolemLife_NotAlive", terms, some())?;
    }
    let dream = dream_mode_enforcer();
    let terms = nobody.map(|golem_id| DreamMode { golem_id, registry }.encode()).to_vec();
    rules.says(dream, "GolemLife_NotAlive", terms, some())?;
    let sleeper = charter_of(stage, owner, DREAMER, BY, |_| ()).await?;
    let golem_id = sleeper.golem_id;
    let sleep = GolemRegistry::setDreamingCall { golemId: golem_id, dreaming: true };
    sent(stage, BY, registry, &sleep).await?;
    let terms = vec![DreamMode { golem_id, registry }.encode()];
    rules.says(dream, "GolemLife_Dreaming", terms, some())?;
    rules.says(dream, "DreamModeEnforcer_TermsLength", short(52), some())?;
    rules.modes(dream)?;
    // Of whom nothing was heard for long it is thought that he conserves.
    let old = GolemCharter { staleness: 0, ..law.clone() };
    for reader in [Reader::Phase, Reader::Charter] {
        let terms = vec![reader.terms(&old)?];
        rules.says(reader.enforcer(), "GolemPhase_NotAllowed", terms, some())?;
    }
    let grown = "Holdings_PhaseForbidsGrowth";
    rules.says(holdings_enforcer(), grown, vec![Reader::Holdings.terms(&old)?], some())?;

    // The owner takes all of his grants back; and one who never did.
    let other = stage.owner(AccountKind::Hybrid).await?;
    let revoked = charter_of(stage, &other, LIVELY, BY, |_| ()).await?;
    let human = other.signer.address();
    sent(stage, human, registry, &GolemRegistry::revokeAllCall {}).await?;
    let (charter, error) = (golem_charter_enforcer(), "GolemLife_OtherGeneration");
    let (his, terms) = (other.account.address, revoked.encode()?);
    let his_grant = granted(stage, &other, BY, vec![Caveat::new(charter, terms)])?;
    let his_grant = vec![PermissionContext::new(his_grant)?];
    rules.under(charter, error, his_grant, fair(his, 1, 400))?;
    let mut ahead = Vec::new();
    for generation in [1, 7, u32::MAX] {
        ahead.push(GolemCharter { generation, ..law.clone() }.encode()?);
    }
    rules.says(charter, error, ahead, some())
}

/// What only a charter says, or says of its own form.
async fn charters(rules: &mut Rules<'_>, law: &GolemCharter) -> Result<()> {
    let (stage, owner, account) = (rules.stage, rules.owner, rules.account());
    let (charter, terms) = (golem_charter_enforcer(), law.encode()?);
    let some = || fair(account, 1, 400);
    let beyond = 10_001u16.to_be_bytes();
    let most = u16::MAX.to_be_bytes();
    for (error, at, values) in [
        ("MaxSlippage_Bps", 60, vec![beyond.to_vec(), most.to_vec()]),
        ("VaultNav_Bps", 62, vec![beyond.to_vec(), most.to_vec()]),
        ("SpendWindow_BucketLength", 58, vec![vec![0, 0], vec![0x40, 0], most.to_vec()]),
        ("SpendWindow_ZeroCap", 84, vec![vec![0; 8]]),
        ("CharterTerms_UnknownBits", 126, vec![vec![0, 8], vec![0x80, 0]]),
        ("CharterTerms_UnknownBits", 156, vec![vec![0xff; 4], vec![0, 0, 0, 1]]),
        ("MortalityTimeWindow_InvertedWindow", 121, vec![vec![0; 5], vec![0, 0, 0, 0, 9]]),
    ] {
        let all = values.iter().map(|value| patched(&terms, at, value)).collect::<Result<_>>()?;
        rules.says(charter, error, all, some())?;
    }
    let royal = GolemCharter { max_royalty_bps: Some(1), ..law.clone() }.encode()?;
    let royal = vec![patched(&royal, 232, &beyond)?, patched(&royal, 232, &most)?];
    rules.says(charter, "KnowledgeRoyalty_Bps", royal, some())?;
    let bounds = MoodBounds { min_pleasure: 0, max_arousal: 0, min_dominance: 0 };
    let mood = Some(CharterMood { bounds, classes: Classes::of(&[Class::Swap]) });
    let moody = GolemCharter { mood, ..law.clone() };
    let said = moody.encode()?;
    let mut wild = Vec::new();
    for at in 232..235 {
        wild.push(patched(&said, at, &[101])?);
        wild.push(patched(&said, at, &[0x9b])?);
    }
    rules.says(charter, "EmotionalState_Bound", wild, some())?;
    let none = vec![patched(&said, 235, &[0; 4])?, patched(&said, 235, &[0x80, 0, 0, 2])?];
    rules.says(charter, "EmotionalState_Classes", none, some())?;
    let silent = GolemCharter { staleness: 0, ..moody }.encode()?;
    rules.says(charter, "EmotionalState_ClassStale", vec![silent], some())?;

    // Whoever rules over the account is listed, as anything.
    let forbidden = [account, DELEGATION_MANAGER, charter];
    let mut listed = law.clone();
    for target in forbidden {
        listed.listing.targets.push(ListedTarget { target, role: Role::Token });
    }
    let all = vec![listed.encode()?];
    rules.says(charter, "GolemCharter_ForbiddenTarget", all, move |_, dice| {
        let which = usize::try_from(dice.below(3)).unwrap_or_default();
        let pay = bardo_bindings::defi::Erc20::transferCall {
            to: dice.address(),
            amount: U256::from(dice.below(1_000)),
        };
        forbidden.get(which).map(|target| call(*target, &pay)).into_iter().collect()
    })?;
    rules.says(charter, "GolemCharter_OtherGolem", vec![terms.clone()], |_, dice| {
        let golem = dice.address().into_word();
        let dream = GolemRegistry::setDreamingCall { golemId: golem, dreaming: true };
        vec![call(golem_registry(), &dream)]
    })?;
    rules.says(charter, "GolemCharter_Source", vec![terms.clone()], move |stage, dice| {
        let assets = U256::from(1 + dice.below(DOLLAR));
        let take = Erc4626::withdrawCall { assets, receiver: account, owner: dice.address() };
        vec![call(stage.book().vault, &take)]
    })?;
    rules.says(charter, "GolemCharter_GasCeiling", vec![terms.clone()], |_, dice| {
        let value = U256::from(1u64 << 60) + U256::from(dice.below(1 << 30));
        vec![Execution { target: BY, value, data: Bytes::new() }]
    })?;
    let heir = GolemCharter { agent_key: Address::repeat_byte(0x42), ..law.clone() };
    rules.says(charter, "GolemCharter_Redeemer", vec![heir.encode()?], some())?;

    // Whoever dies buys what he was told to, and nothing else.
    let dying = charter_of(stage, owner, B256::repeat_byte(0x66), BY, |_| ()).await?;
    let last = GolemRegistry::advanceCall { golemId: dying.golem_id, phase: 4 };
    sent(stage, owner.signer.address(), golem_registry(), &last).await?;
    let all = vec![dying.encode()?];
    rules.says(charter, "GolemCharter_SettlementAsset", all, some())
}

/// Bounds that stand alone, and what each says of its own terms.
async fn bounds(rules: &mut Rules<'_>, law: &GolemCharter) -> Result<()> {
    let (stage, account) = (rules.stage, rules.account());
    let some = || fair(account, 1, 400);
    let (beyond, most) = (10_001u16.to_be_bytes(), u16::MAX.to_be_bytes());
    let both = |terms: &[u8], at: usize| -> Result<Vec<Vec<u8>>> {
        Ok(vec![patched(terms, at, &beyond)?, patched(terms, at, &most)?])
    };
    let slippage = both(&Reader::Slippage.terms(law)?, 0)?;
    rules.says(max_slippage_enforcer(), "MaxSlippage_Bps", slippage, some())?;

    let (nav, terms) = (vault_nav_enforcer(), Reader::Nav.terms(law)?);
    rules.says(nav, "VaultNav_Bps", both(&terms, 52)?, some())?;
    rules.says(nav, "VaultNav_TooMuch", vec![terms], fair(account, 501, 900))?;

    let (spend, terms) = (daily_spend_limit_enforcer(), Reader::Spend.terms(law)?);
    let lengths = [[0, 0], [0x40, 0], most].map(|minutes| patched(&terms, 42, &minutes));
    let lengths = lengths.into_iter().collect::<Result<_>>()?;
    rules.says(spend, "SpendWindow_BucketLength", lengths, some())?;
    let nothing = vec![patched(&terms, 34, &[0; 8])?];
    rules.says(spend, "SpendWindow_ZeroCap", nothing, some())?;
    let dollar = vec![patched(&terms, 34, &DOLLAR.to_be_bytes())?];
    rules.says(spend, "SpendWindow_OverCap", dollar, fair(account, 2, 400))?;
    // A grant with a higher number was used.
    let begun = B256::repeat_byte(0x71);
    let again = GolemCharter { golem_id: begun, ..law.clone() };
    let terms = Reader::Spend.terms(&again)?;
    let newer = patched(&terms, 32, &9u16.to_be_bytes())?;
    used(rules, spend, newer).await?;
    let older = [1u16, 2, 8].map(|epoch| patched(&terms, 32, &epoch.to_be_bytes()));
    let older = older.into_iter().collect::<Result<_>>()?;
    rules.says(spend, "SpendWindow_StaleEpoch", older, some())?;

    let (budget, terms) = (replicant_budget_enforcer(), Reader::Budget.terms(law)?);
    let outlived = vec![patched(&terms, 40, &[0; 5])?, patched(&terms, 40, &[0, 0, 0, 0, 1])?];
    rules.says(budget, "ReplicantBudget_Outlived", outlived, some())?;

    let (rule, terms) = (holdings_enforcer(), holdings(law, |_| ())?);
    let mut bps = Vec::new();
    for at in [58, 60, 62, 104] {
        bps.extend(both(&terms, at)?);
    }
    rules.says(rule, "Holdings_Bps", bps, some())?;
    let small = holdings(law, |rule| (rule.thriving_bps, rule.stable_bps) = (1, 1))?;
    rules.says(rule, "Holdings_Liquidity", vec![small.clone()], move |stage, dice| {
        vec![mint(stage, account, 500, dice)]
    })?;
    // At its floor from the first: it may lose nothing, or buy nothing.
    let strict = holdings(law, |rule| (rule.drawdown_bps, rule.loss_bps) = (0, 0))?;
    rules.says(rule, "Holdings_Loss", vec![strict], some())?;
    rules.says(rule, "Holdings_Mixed", vec![terms.clone()], move |stage, dice| {
        let params = DecreaseLiquidityParams {
            tokenId: U256::from(1),
            liquidity: 1 + u128::from(dice.below(1_000)),
            amount0Min: U256::ZERO,
            amount1Min: U256::ZERO,
            deadline: U256::MAX,
        };
        let out = call(stage.book().position_manager, &decreaseLiquidityCall { params });
        let mut calls = vec![out];
        calls.extend(fair(account, 1, 400)(stage, dice));
        calls
    })?;
    let twice = vec![Caveat::new(rule, terms.clone()), Caveat::new(rule, terms.clone())];
    let twice = vec![rules.context(BY, twice)?];
    rules.under(rule, "HoldingsEnforcer_Nested", twice, some())?;
    let marked = charter_of(stage, rules.owner, B256::repeat_byte(0x67), BY, |_| ()).await?;
    let series = |series| holdings(&marked, |rule| rule.series = series);
    let newer = series(9)?;
    used(rules, rule, newer).await?;
    let older = vec![series(1)?, series(8)?];
    rules.says(rule, "Holdings_StaleSeries", older, some())?;

    let window = mortality_time_window_enforcer();
    let now = stage.now().await?;
    let of = |start: u64, end: u64| [start.to_be_bytes(), end.to_be_bytes()].concat();
    let (year, end) = (31_536_000, u64::MAX);
    rules.says(window, "MortalityTimeWindow_Expired", vec![of(0, 1), of(1, now - 9)], some())?;
    let early = vec![of(now + year, end), of(end, end)];
    rules.says(window, "MortalityTimeWindow_NotYetBorn", early, some())?;
    let turned = vec![of(now, now - 1), of(1, 0), of(end, now)];
    rules.says(window, "MortalityTimeWindow_InvertedWindow", turned, some())?;
    rules.says(window, "MortalityTimeWindow_TermsLength", short(16), some())?;
    rules.modes(window)?;

    let cadence = cadence_enforcer();
    let of = |period: u32, count: u8| {
        [law.golem_id.as_slice(), &period.to_be_bytes(), &[count]].concat()
    };
    rules.says(cadence, "Cadence_ZeroPeriod", vec![of(0, 1), of(0, 255)], some())?;
    rules.says(cadence, "Cadence_ZeroCount", vec![of(1, 0), of(u32::MAX, 0)], some())?;
    rules.says(cadence, "Cadence_TermsLength", short(37), some())?;
    rules.modes(cadence)
}

/// A redemption of a dollar that goes through, under these terms alone.
async fn used(rules: &Rules<'_>, enforcer: Address, terms: Vec<u8>) -> Result<()> {
    let context = rules.context(BY, vec![Caveat::new(enforcer, terms)])?;
    let one = fair_swap(rules.stage, rules.account(), dollars(1));
    let data = Redemption::single(DELEGATION_MANAGER, context, &one).calldata();
    let receipt = rules.stage.send_as(BY, DELEGATION_MANAGER, U256::ZERO, data).await?;
    ensure!(receipt.status(), "not even once");
    Ok(())
}

/// What moods forbid, and what a royalty does not let pass: both read calls without a listing.
async fn moods(rules: &mut Rules<'_>, law: &GolemCharter) -> Result<()> {
    let (stage, owner, account) = (rules.stage, rules.owner, rules.account());
    let registry = golem_registry();
    let some = || fair(account, 1, 400);
    let upset = charter_of(stage, owner, UPSET, BY, |_| ()).await?;
    let golem_id = upset.golem_id;
    let (pleasure, arousal, dominance) = (-20, 80, 0);
    let pad = GolemRegistry::updatePadCall { golemId: golem_id, pleasure, arousal, dominance };
    sent(stage, BY, registry, &pad).await?;
    let emotion = emotional_state_enforcer();
    let swaps: Selector = exactInputSingleCall::SELECTOR.into();
    let of = |golem_id: B256, staleness: u32| {
        let bounds = MoodBounds { min_pleasure: 50, max_arousal: 60, min_dominance: -60 };
        EmotionalState { golem_id, registry, staleness, bounds, selectors: vec![swaps] }.encode()
    };
    let terms = of(golem_id, law.staleness)?;
    rules.says(emotion, "EmotionalState_OutOfBounds", vec![terms.clone()], some())?;
    rules.says(emotion, "EmotionalState_Stale", vec![of(golem_id, 0)?], some())?;
    let nobody = [1, 2, 3].map(|byte| of(B256::repeat_byte(byte), law.staleness));
    let nobody = nobody.into_iter().collect::<Result<_, _>>()?;
    rules.says(emotion, "GolemLife_NotAlive", nobody, some())?;
    let mut wild = Vec::new();
    for at in 56..59 {
        wild.push(patched(&terms, at, &[101])?);
        wild.push(patched(&terms, at, &[0x9b])?);
    }
    rules.says(emotion, "EmotionalState_Bound", wild, some())?;
    let header = terms.get(..59).context("a header")?.to_vec();
    let odd = [vec![], vec![1; 3], vec![1; 4 * 256]].map(|tail| [&header[..], &tail].concat());
    rules.says(emotion, "EmotionalState_Selectors", odd.to_vec(), some())?;
    rules.says(emotion, "EmotionalStateEnforcer_TermsLength", short(59), some())?;
    for (error, calls) in unreadable(account) {
        if matches!(error, "Actions_Multicall") {
            rules.says(emotion, error, vec![terms.clone()], calls)?;
        }
    }
    rules.says(emotion, "Actions_NoSelector", vec![terms.clone()], |stage, dice| {
        let data = vec![9; 1 + usize::try_from(dice.below(3)).unwrap_or_default()].into();
        vec![Execution { target: stage.book().swap_router_02, value: U256::ZERO, data }]
    })?;
    let others = B256::repeat_byte(5).to_vec();
    rules.says(emotion, "Actions_NotCanonical", vec![terms.clone()], move |stage, dice| {
        let list = multicallCall { calls: vec![others.clone().into()] }.abi_encode();
        let tail = vec![0; 1 + usize::try_from(dice.below(64)).unwrap_or_default()];
        let data = [list, tail].concat().into();
        vec![Execution { target: stage.book().swap_router_02, value: U256::ZERO, data }]
    })?;
    rules.says(emotion, "Actions_UnknownCall", vec![terms.clone()], move |stage, dice| {
        let inner = several(1, stage, account, dice).data;
        vec![call(stage.book().swap_router_02, &multicallCall { calls: vec![inner] })]
    })?;
    rules.modes(emotion)?;
    rules.forms(emotion, &terms)?;

    let royalty = knowledge_royalty_enforcer();
    let of = |bps: u16| [knowledge_market().as_slice(), &bps.to_be_bytes()].concat();
    rules.says(royalty, "KnowledgeRoyalty_Bps", vec![of(10_001), of(u16::MAX)], some())?;
    rules.says(royalty, "KnowledgeRoyaltyEnforcer_TermsLength", short(22), some())?;
    rules.modes(royalty)?;
    rules.forms(royalty, &of(1_000))?;
    for (enforcer, terms) in [(emotion, terms), (royalty, of(1_000))] {
        rules.says(enforcer, "HiddenCalls_Refused", vec![terms], move |_, dice| {
            let word = dice.address();
            let (target, data) = match dice.below(3) {
                0 => (DELEGATION_MANAGER, word.to_vec()),
                1 => (account, word.to_vec()),
                _ => (word, [&hex!("e9ae5c53")[..], word.as_slice()].concat()),
            };
            vec![Execution { target, value: U256::ZERO, data: data.into() }]
        })?;
    }
    Ok(())
}

/// What a council did not agree to.
fn councils(rules: &mut Rules<'_>) -> Result<()> {
    let rule = threshold_enforcer();
    let account = rules.account();
    let some = || fair(account, 1, 400);
    let (low, high) = (Address::repeat_byte(1), Address::repeat_byte(2));
    let of = |needed: u8, signers: &[Address]| {
        [&[needed][..], &signers.iter().flat_map(|one| one.to_vec()).collect::<Vec<_>>()].concat()
    };
    rules.says(rule, "Threshold_TermsLength", short(21), some())?;
    let needed = vec![of(0, &[low, high]), of(3, &[low, high]), of(255, &[low])];
    rules.says(rule, "Threshold_Needed", needed, some())?;
    let order = vec![of(1, &[high, low]), of(1, &[low, low]), of(1, &[Address::ZERO, low])];
    rules.says(rule, "Threshold_SignerOrder", order, some())?;
    rules.modes(rule)?;

    let mut members = [RawKey::fixed(0x11)?, RawKey::fixed(0x12)?];
    members.sort_by_key(RawKey::address);
    let seats: Vec<Address> = members.iter().map(RawKey::address).collect();
    let council = |needed: u8| -> Result<PermissionContext> {
        let council = Threshold::new(needed, seats.clone())?;
        rules.context(BY, vec![Caveat::new(rule, council.encode())])
    };
    let (one, both) = (council(1)?, council(2)?);
    let ever = u64::from(u32::MAX);
    // A head that may be anything, and a signature that nobody made.
    let forged = |deadline: u64, r: U256, s: U256, v: u8| {
        move |dice: &mut Dice| -> Vec<u8> {
            let nonce = B256::from(U256::from(dice.below(1 << 30)));
            let deadline = deadline.saturating_sub(dice.below(1 << 20)).to_be_bytes();
            let (_, deadline) = deadline.split_at(3);
            let signature = (r, s).abi_encode();
            [nonce.as_slice(), deadline, &signature, &[v]].concat()
        }
    };
    let big = U256::MAX >> 1;
    let high_s = "GrantSignature_HighS";
    for (error, args) in [
        ("Threshold_Expired", forged(1 << 20, U256::ZERO, U256::ZERO, 27)),
        (high_s, forged(ever, U256::from(1), big, 27)),
        ("GrantSignature_RecoveryId", forged(ever, U256::from(1), U256::from(1), 5)),
        ("GrantSignature_NoSigner", forged(ever, U256::ZERO, U256::from(1), 27)),
    ] {
        let (context, calls) = (one.clone(), some());
        rules.scenes.push(Scene::made(Wanted::Says(rule, error), BY, move |stage, dice| {
            let with = with_args(&context, args(dice).into())?;
            let call = calls(stage, dice);
            Ok(Redemption::single(DELEGATION_MANAGER, with, call.first().context("a call")?))
        }));
    }
    let strangers = [RawKey::fixed(0x13)?];
    let signers: [(&str, PermissionContext, Vec<RawKey>, bool); 3] = [
        ("Threshold_NotASigner", one.clone(), strangers.into(), false),
        (
            "Threshold_SignatureOrder",
            both,
            {
                let [first, _] = members;
                let first = first.address();
                let mut twice = Vec::new();
                for _ in 0..2 {
                    let key = [RawKey::fixed(0x11)?, RawKey::fixed(0x12)?];
                    twice.extend(key.into_iter().filter(|key| key.address() == first));
                }
                twice
            },
            false,
        ),
        // Agreed to, and done: not once more.
        ("Threshold_NonceUsed", one, vec![RawKey::fixed(0x11)?], true),
    ];
    for (error, context, keys, again) in signers {
        let calls = some();
        rules.scenes.push(Scene::made(Wanted::Says(rule, error), BY, move |stage, dice| {
            let call = calls(stage, dice);
            let call = call.first().context("a call")?;
            let agreed = CoSignature {
                manager: DELEGATION_MANAGER,
                delegation_hash: context.leaf().hash().0,
                mode: MODE_SINGLE,
                execution: (call.target, call.value, call.data.as_ref()).abi_encode_packed().into(),
                nonce: U256::from(dice.below(1 << 30)),
                deadline: ever,
            };
            let digest = agreed.digest(stage.node().chain_id(), threshold_enforcer());
            let signed = keys.iter().map(|key| key.sign(digest)).collect::<Result<Vec<_>>>()?;
            let with = with_args(&context, agreed.args(&signed)?)?;
            let first = Redemption::single(DELEGATION_MANAGER, with.clone(), call);
            Ok(if again { first.and_single(with, call) } else { first })
        }));
    }
    Ok(())
}

/// The same grant with what its redeemer adds to its one caveat.
fn with_args(context: &PermissionContext, args: Bytes) -> Result<PermissionContext> {
    let mut links = context.links().to_vec();
    let link = links.first_mut().context("a link")?;
    link.caveats.first_mut().context("a caveat")?.args = args;
    Ok(PermissionContext::new(links)?)
}
