//! Decoders held against the contracts that are deployed: what one refuses, the other refuses.
//!
//! Terms that are good are bent in many small ways, and `getTermsInfo` is asked about each.

use alloy::{
    network::TransactionBuilder as _,
    primitives::{Address, B256, Selector, U256},
    providers::Provider as _,
    rpc::types::TransactionRequest,
    sol,
    sol_types::{SolCall as _, SolValue as _},
};
use anyhow::{Context as _, Result, ensure};
use bardo_bindings::{
    cadence_enforcer, daily_spend_limit_enforcer, dream_mode_enforcer, emotional_state_enforcer,
    framework::{DELEGATION_MANAGER, SelectedGroup},
    golem_charter_enforcer, golem_phase_enforcer, holdings_enforcer, knowledge_royalty_enforcer,
    max_slippage_enforcer, mortality_time_window_enforcer, replicant_budget_enforcer,
    threshold_enforcer, vault_nav_enforcer,
};
use bardo_testkit::{Stage, charter};
use golem_chain::AccountKind;
use golem_delegation::{
    Caveat, Environment, Kind, Rule, TermsError, enforcers,
    terms::{
        AllowedCalldata, AllowedMethods, AllowedTargets, ApprovalRevocation, ArgsEqualityCheck,
        BlockNumber, Cadence, ChangeType, CharterMood, Class, Classes, DailySpendLimit, Deployed,
        DreamMode, EmotionalState, Erc20BalanceChange, Erc20PeriodTransfer, Erc20Streaming,
        Erc20TransferAmount, Erc721BalanceChange, Erc721Transfer, Erc1155BalanceChange,
        ExactCalldata, ExactCalldataBatch, ExactExecution, ExactExecutionBatch, Execution,
        GolemCharter, GolemPhase, Holdings, Id, KnowledgeRoyalty, LimitedCalls, LogicalOrWrapper,
        MaxSlippage, MoodBounds, MortalityTimeWindow, MultiTokenPeriod, NativeBalanceChange,
        NativeTokenPayment, NativeTokenPeriodTransfer, NativeTokenStreaming,
        NativeTokenTransferAmount, Nonce, OwnershipTransfer, Redeemer, ReplicantBudget, Threshold,
        Timestamp, TokenPeriod, ValueLte, VaultNav,
    },
};
use std::num::{NonZeroU8, NonZeroU32};

sol! {
    /// Of every enforcer of ours, and of most others.
    function getTermsInfo(bytes terms);

    /// Of one that has a list.
    function getAllTermsInfo(bytes terms);

    /// Of every enforcer.
    function beforeHook(
        bytes terms,
        bytes args,
        bytes32 mode,
        bytes execution,
        bytes32 delegationHash,
        address delegator,
        address redeemer
    );
}

/// A contract, good terms of it, and what Rust says to any bytes.
type Case = (&'static str, Address, Vec<u8>, fn(&[u8]) -> Result<(), TermsError>);

macro_rules! decoder {
    ($terms:ty) => {
        |bytes| <$terms>::decode(bytes).map(drop)
    };
}

fn cases(law: &GolemCharter) -> Result<Vec<Case>> {
    let (golem_id, registry, listing) = (law.golem_id, law.registry, law.listing.clone());
    let bounds = MoodBounds { min_pleasure: -50, max_arousal: 60, min_dominance: -60 };
    let whole = GolemCharter {
        max_royalty_bps: Some(2_000),
        mood: Some(CharterMood { bounds, classes: Classes::of(&[Class::Swap, Class::Sell]) }),
        ..law.clone()
    };
    let holdings = Holdings {
        golem_id,
        account: law.account,
        staleness: law.staleness,
        series: 1,
        thriving_bps: 3_000,
        stable_bps: 2_000,
        drawdown_bps: 1_500,
        registry,
        cash: law.settlement_asset,
        loss_bps: 100,
        listing: listing.clone(),
    };
    let week = NonZeroU32::new(604_800).context("a week")?;
    let council = [3, 1, 2].map(Address::repeat_byte).to_vec();
    Ok(vec![
        (
            "cadence",
            cadence_enforcer(),
            Cadence { golem_id, period: week, count: NonZeroU8::MIN }.encode(),
            decoder!(Cadence),
        ),
        (
            "daily spend",
            daily_spend_limit_enforcer(),
            DailySpendLimit {
                golem_id,
                epoch: 1,
                cap: 5,
                bucket_minutes: 120,
                listing: listing.clone(),
            }
            .encode()?,
            decoder!(DailySpendLimit),
        ),
        (
            "dream",
            dream_mode_enforcer(),
            DreamMode { golem_id, registry }.encode(),
            decoder!(DreamMode),
        ),
        (
            "emotion",
            emotional_state_enforcer(),
            EmotionalState {
                golem_id,
                registry,
                staleness: 9,
                bounds,
                selectors: vec![Selector::repeat_byte(4); 3],
            }
            .encode()?,
            decoder!(EmotionalState),
        ),
        ("charter", golem_charter_enforcer(), law.encode()?, decoder!(GolemCharter)),
        ("charter, sections", golem_charter_enforcer(), whole.encode()?, decoder!(GolemCharter)),
        (
            "phase",
            golem_phase_enforcer(),
            GolemPhase { golem_id, registry, staleness: 9, listing: listing.clone() }.encode()?,
            decoder!(GolemPhase),
        ),
        ("holdings", holdings_enforcer(), holdings.encode()?, decoder!(Holdings)),
        (
            "royalty",
            knowledge_royalty_enforcer(),
            KnowledgeRoyalty { market: registry, max_royalty_bps: 2_000 }.encode()?,
            decoder!(KnowledgeRoyalty),
        ),
        (
            "slippage",
            max_slippage_enforcer(),
            MaxSlippage { bps: 100, listing: listing.clone() }.encode()?,
            decoder!(MaxSlippage),
        ),
        (
            "window",
            mortality_time_window_enforcer(),
            MortalityTimeWindow::new(7, 9)?.encode(),
            decoder!(MortalityTimeWindow),
        ),
        (
            "budget",
            replicant_budget_enforcer(),
            ReplicantBudget {
                replicant_id: golem_id,
                budget: 5,
                not_after: 9,
                listing: listing.clone(),
            }
            .encode()?,
            decoder!(ReplicantBudget),
        ),
        (
            "council",
            threshold_enforcer(),
            Threshold::new(2, council)?.encode(),
            decoder!(Threshold),
        ),
        (
            "vault NAV",
            vault_nav_enforcer(),
            VaultNav { golem_id, vault: law.vault, bps: 9, cap: 9, listing }.encode()?,
            decoder!(VaultNav),
        ),
    ])
}

/// Every byte turned in turn, every length, and both ends longer.
fn bent(good: &[u8]) -> Vec<Vec<u8>> {
    let mut all = vec![good.to_vec()];
    for at in 0..good.len() {
        for turn in [0x01, 0x80, 0xff] {
            let mut one = good.to_vec();
            if let Some(byte) = one.get_mut(at) {
                *byte ^= turn;
            }
            all.push(one);
        }
        all.push(good.get(..at).unwrap_or_default().to_vec());
    }
    for extra in [1, 4, 20, 32, 47] {
        all.push([good, &vec![0; extra]].concat());
        all.push([good, &vec![0xff; extra]].concat());
    }
    all
}

#[tokio::test]
async fn terms_are_good_in_rust_where_they_are_on_chain() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.fixed_owner(AccountKind::Stateless7702).await?;
    let law = charter(&stage, &owner, Address::repeat_byte(0x5e), |_| ()).await?;
    let provider = stage.node().provider();
    let (mut accepted, mut refused, mut stricter) = (0, 0, 0);
    for (name, enforcer, good, decode) in cases(&law)? {
        for (index, terms) in bent(&good).into_iter().enumerate() {
            let data = getTermsInfoCall { terms: terms.clone().into() }.abi_encode();
            let ask = TransactionRequest::default().with_to(enforcer).with_input(data);
            let chain = provider.call(ask).await.is_ok();
            let ours = decode(&terms);
            match (chain, &ours) {
                (true, Ok(())) => accepted += 1,
                (false, Err(_)) => refused += 1,
                // A role nobody knows is refused at once, not when it is called; and a window that the hook never lets
                // anything through (SpendWindow.t.sol) before anybody signs it.
                (true, Err(TermsError::UnknownRole { .. } | TermsError::Window(_))) => {
                    stricter += 1;
                }
                _ => anyhow::bail!(
                    "{name}, {index}: chain {chain}, Rust {ours:?}: {}",
                    alloy::hex::encode(&terms)
                ),
            }
        }
    }

    ensure!(accepted > 4_000 && refused > 3_000, "{accepted} and {refused}: too few to tell");
    ensure!(stricter < refused / 10, "Rust alone refused {stricter}");
    Ok(())
}

/// What is asked about the terms of a stock enforcer.
#[derive(Clone, Copy, Debug)]
enum Question {
    /// The getter, which looks at all there is to look at.
    Getter,
    /// The getter, and whether the hook finds what no execution mends: a zero, a stream that begins above its end.
    Transfer {
        /// Of a token, which the terms begin with; of the chain's own coin otherwise.
        token: bool,
    },
    /// The same for every entry of a list.
    Transfers,
    /// The hook, with the terms as arguments.
    Echo,
    /// The hook, as far as it reads the terms.
    Flags,
    /// The hook, as far as it reads the terms, as the manager calls it.
    Groups,
}

/// What a hook says to terms that no execution mends.
const BEYOND_MENDING: [&str; 5] = [
    ":invalid-zero-",
    ":invalid-max-amount",
    ":invalid-terms",
    ":no-methods-allowed",
    ":invalid-group-index",
];

/// Whether a call goes through, and what it says where it does not.
async fn answer(
    stage: &Stage,
    enforcer: Address,
    data: Vec<u8>,
) -> Result<std::result::Result<(), String>> {
    let ask = TransactionRequest::default()
        .with_from(DELEGATION_MANAGER)
        .with_to(enforcer)
        .with_input(data);
    match stage.node().provider().call(ask).await {
        Ok(_) => Ok(Ok(())),
        Err(error) => {
            let reply = error.as_error_resp().context("the node did not answer")?;
            let words = reply.as_revert_data().unwrap_or_default();
            Ok(Err(String::from_utf8_lossy(&words).into_owned()))
        }
    }
}

fn hook(terms: &[u8], args: Vec<u8>, execution: Vec<u8>) -> Vec<u8> {
    beforeHookCall {
        terms: terms.to_vec().into(),
        args: args.into(),
        mode: B256::ZERO,
        execution: execution.into(),
        delegationHash: B256::repeat_byte(7),
        delegator: Address::repeat_byte(8),
        redeemer: Address::repeat_byte(9),
    }
    .abi_encode()
}

/// `transfer` of nothing by a token, or nothing of the chain's own coin.
fn transfer(token: Option<&[u8]>) -> Vec<u8> {
    let Some(token) = token else { return vec![0; 52] };
    let call = [&[0xa9, 0x05, 0x9c, 0xbb][..], &[0; 64]].concat();
    [token, &[0; 32], &call].concat()
}

/// Whether the chain takes terms.
async fn taken(stage: &Stage, enforcer: Address, question: Question, terms: &[u8]) -> Result<bool> {
    let getter = getTermsInfoCall { terms: terms.to_vec().into() }.abi_encode();
    let mended = |said: &std::result::Result<(), String>| match said {
        Ok(()) => true,
        Err(words) => !BEYOND_MENDING.iter().any(|reason| words.contains(reason)),
    };
    Ok(match question {
        Question::Getter => answer(stage, enforcer, getter).await?.is_ok(),
        Question::Transfer { token } => {
            let execution = transfer(token.then(|| terms.get(..20).unwrap_or(&[0; 20])));
            answer(stage, enforcer, getter).await?.is_ok()
                && mended(&answer(stage, enforcer, hook(terms, vec![], execution)).await?)
        }
        Question::Transfers => {
            let getter = getAllTermsInfoCall { terms: terms.to_vec().into() }.abi_encode();
            let mut good = answer(stage, enforcer, getter).await?.is_ok();
            for (index, entry) in terms.chunks_exact(116).enumerate() {
                let args = U256::from(index).to_be_bytes_vec();
                let execution = transfer(entry.get(..20));
                good &= mended(&answer(stage, enforcer, hook(terms, args, execution)).await?);
            }
            good
        }
        Question::Echo => {
            answer(stage, enforcer, hook(terms, terms.to_vec(), vec![])).await?.is_ok()
        }
        Question::Flags => {
            mended(&answer(stage, enforcer, hook(terms, vec![], transfer(None))).await?)
        }
        Question::Groups => {
            let first = SelectedGroup { groupIndex: U256::ZERO, caveatArgs: vec![] };
            // It goes through, or it comes to compare what was read with the arguments.
            match answer(stage, enforcer, hook(terms, first.abi_encode(), vec![])).await? {
                Ok(()) => true,
                Err(words) => words.contains(":invalid-caveat-args-length"),
            }
        }
    })
}

/// Good terms of every stock enforcer that stands on the local chain; small numbers, so that a bent bit finds the zero beside them.
fn stock_cases() -> Vec<(Rule, Question)> {
    let one = U256::ONE;
    let [token, recipient] = [1, 2].map(Address::repeat_byte);
    let change_type = ChangeType::INCREASE;
    let (period_amount, period_duration, start_date) = (one, one, one);
    let (initial_amount, max_amount, amount_per_second, start_time) = (one, one, one, one);
    let call = Execution { target: token, value: one, call_data: vec![5; 4].into() };
    let calls = vec![call.clone(), Execution { call_data: vec![6; 33].into(), ..call.clone() }];
    let entry = TokenPeriod { token, period_amount, period_duration, start_date };
    let caveat = Caveat::new(recipient, vec![7; 33]);
    let getter = |rule| (rule, Question::Getter);
    let mut cases: Vec<_> = [
        Rule::AllowedCalldata(AllowedCalldata { start: one, value: vec![1; 3].into() }),
        Rule::AllowedMethods(AllowedMethods(vec![Selector::repeat_byte(4); 3])),
        Rule::AllowedTargets(AllowedTargets(vec![token, recipient])),
        Rule::BlockNumber(BlockNumber { after: 1, before: 2 }),
        Rule::Deployed(Deployed {
            contract_address: token,
            salt: B256::repeat_byte(3),
            bytecode: vec![1].into(),
        }),
        Rule::Erc1155BalanceChange(Erc1155BalanceChange {
            change_type,
            token_address: token,
            recipient,
            token_id: one,
            balance: one,
        }),
        Rule::Erc20BalanceChange(Erc20BalanceChange {
            change_type,
            token_address: token,
            recipient,
            balance: one,
        }),
        Rule::Erc721BalanceChange(Erc721BalanceChange {
            change_type,
            token_address: token,
            recipient,
            amount: one,
        }),
        Rule::NativeBalanceChange(NativeBalanceChange { change_type, recipient, balance: one }),
        Rule::Erc20TransferAmount(Erc20TransferAmount { token_address: token, max_amount }),
        Rule::Erc721Transfer(Erc721Transfer { token_address: token, token_id: one }),
        Rule::ExactCalldata(ExactCalldata(vec![1; 5].into())),
        Rule::ExactCalldataBatch(ExactCalldataBatch(calls.clone())),
        Rule::ExactExecution(ExactExecution(call)),
        Rule::ExactExecutionBatch(ExactExecutionBatch(calls)),
        Rule::Id(Id(one)),
        Rule::LimitedCalls(LimitedCalls(one)),
        Rule::NativeTokenPayment(NativeTokenPayment { recipient, amount: one }),
        Rule::NativeTokenTransferAmount(NativeTokenTransferAmount(one)),
        Rule::Nonce(Nonce(one)),
        Rule::OwnershipTransfer(OwnershipTransfer(token)),
        Rule::Redeemer(Redeemer(vec![token, recipient])),
        Rule::Timestamp(Timestamp { after: 1, before: 2 }),
        Rule::ValueLte(ValueLte(one)),
    ]
    .map(getter)
    .into();
    cases.extend([
        (
            Rule::Erc20PeriodTransfer(Erc20PeriodTransfer {
                token_address: token,
                period_amount,
                period_duration,
                start_date,
            }),
            Question::Transfer { token: true },
        ),
        (
            Rule::NativeTokenPeriodTransfer(NativeTokenPeriodTransfer {
                period_amount,
                period_duration,
                start_date,
            }),
            Question::Transfer { token: false },
        ),
        (
            Rule::Erc20Streaming(Erc20Streaming {
                token_address: token,
                initial_amount,
                max_amount,
                amount_per_second,
                start_time,
            }),
            Question::Transfer { token: true },
        ),
        (
            Rule::NativeTokenStreaming(NativeTokenStreaming {
                initial_amount,
                max_amount,
                amount_per_second,
                start_time,
            }),
            Question::Transfer { token: false },
        ),
        (Rule::MultiTokenPeriod(MultiTokenPeriod(vec![entry; 2])), Question::Transfers),
        (Rule::ArgsEqualityCheck(ArgsEqualityCheck(vec![1; 5].into())), Question::Echo),
        (
            Rule::ApprovalRevocation(ApprovalRevocation {
                erc20_approve: true,
                ..ApprovalRevocation::default()
            }),
            Question::Flags,
        ),
        (
            Rule::LogicalOrWrapper(LogicalOrWrapper(vec![vec![caveat.clone()], vec![caveat]])),
            Question::Groups,
        ),
    ]);
    cases
}

/// Where Rust may refuse what the chain takes: ABI terms have one form here, and nothing behind it.
const fn has_many_forms(kind: Kind, refusal: &TermsError) -> bool {
    match kind {
        Kind::ExactCalldataBatch | Kind::ExactExecutionBatch | Kind::LogicalOrWrapper => {
            matches!(refusal, TermsError::NotCanonical | TermsError::Malformed)
        }
        Kind::NativeTokenTransferAmount => matches!(refusal, TermsError::Trailing { .. }),
        _ => false,
    }
}

#[tokio::test]
async fn stock_terms_are_good_in_rust_where_they_are_on_chain() -> Result<()> {
    let stage = Stage::open().await?;
    let stock = Environment::stock();
    let cases = stock_cases();
    // SpecificActionERC20TransferBatch is not on the local chain: its package holds older code than its address.
    ensure!(cases.len() == enforcers::STOCK.len() - 1, "{} stock enforcers", cases.len());
    let (mut accepted, mut refused, mut stricter) = (0, 0, 0);

    for (rule, question) in cases {
        let kind = rule.kind().context("a stock rule")?;
        let enforcer = stock.enforcer(kind).context("a stock enforcer")?;
        let before = accepted;
        for (index, terms) in bent(&rule.encode()?).into_iter().enumerate() {
            let chain = taken(&stage, enforcer, question, &terms).await?;
            let ours = Rule::decode(kind, &terms);
            match (chain, &ours) {
                (true, Ok(_)) => accepted += 1,
                (false, Err(_)) => refused += 1,
                (true, Err(refusal)) if has_many_forms(kind, refusal) => stricter += 1,
                _ => anyhow::bail!(
                    "{kind}, {index}: chain {chain}, Rust {ours:?}: {}",
                    alloy::hex::encode(&terms)
                ),
            }
        }
        ensure!(accepted > before, "{kind}: the chain takes nothing of it");
    }

    ensure!(accepted > 4_000 && refused > 3_000, "{accepted} and {refused}: too few to tell");
    ensure!(stricter < (accepted + refused) / 10, "Rust alone refused {stricter}");
    Ok(())
}
