//! What must hold for any bytes at all. The fuzz targets run these, and so do the stable tests.

use alloy_primitives::{Address, B256, U256, uint};
use golem_delegation::{
    ANY_DELEGATE, Delegation, DelegationTree, Environment, Kind, MAX_CONTEXT_BYTES, MAX_LINKS,
    MAX_PASSKEY_BYTES, PasskeyError, PasskeyOwner, PasskeySignature, PermissionContext,
    ROOT_AUTHORITY, Rule, SigningDomain, Standing, State, permission,
    terms::{
        AllowedCalldata, AllowedMethods, AllowedTargets, ApprovalRevocation, ArgsEqualityCheck,
        BlockNumber, Cadence, DailySpendLimit, Deployed, DreamMode, EmotionalState,
        Erc20BalanceChange, Erc20PeriodTransfer, Erc20Streaming, Erc20TransferAmount,
        Erc721BalanceChange, Erc721Transfer, Erc1155BalanceChange, ExactCalldata,
        ExactCalldataBatch, ExactExecution, ExactExecutionBatch, GolemCharter, GolemPhase,
        Holdings, Id, KnowledgeRoyalty, LimitedCalls, Listing, LogicalOrWrapper, MaxSlippage,
        MortalityTimeWindow, MultiTokenPeriod, NativeBalanceChange, NativeTokenPayment,
        NativeTokenPeriodTransfer, NativeTokenStreaming, NativeTokenTransferAmount, Nonce,
        OwnershipTransfer, Redeemer, ReplicantBudget, SpecificActionErc20TransferBatch, Threshold,
        Timestamp, ValueLte, VaultNav,
    },
};
use std::collections::{BTreeMap, BTreeSet};

/// A context that decodes has one form only, and nothing about it can panic.
pub(crate) fn context(bytes: &[u8]) {
    let Ok(context) = PermissionContext::decode(bytes) else { return };

    assert!(bytes.len() <= MAX_CONTEXT_BYTES);
    assert_eq!(context.encode(), *bytes, "decoded from another form");
    assert_eq!(PermissionContext::new(context.links().to_vec()).as_ref(), Ok(&context));
    assert!((1..=MAX_LINKS).contains(&context.links().len()));
    assert!(context.root().is_root());
    let domain = SigningDomain { chain_id: 8453, manager: context.root().delegator };
    for link in context.links() {
        let verdict = domain.verify(link, link.delegator);
        assert!(verdict.is_err() || link.signature.len() == 65);
        let mut bare = link.clone().signed(Vec::new());
        for caveat in &mut bare.caveats {
            caveat.args = Vec::new().into();
            terms(&caveat.terms);
        }
        assert_eq!(bare.hash(), link.hash(), "hash covers what is not signed");
    }
}

/// Decodes exactly where `accepts` says so, and back to the same bytes.
macro_rules! both_ways {
    ($type:ident, $bytes:ident, $accepts:expr) => {{
        let decoded = $type::decode($bytes);
        assert_eq!(decoded.is_ok(), $accepts, concat!(stringify!($type), " of {:02x?}"), $bytes);
        if let Ok(value) = &decoded {
            assert_eq!(value.encode(), $bytes, concat!(stringify!($type), " in another form"));
        }
        decoded
    }};
}

/// The same for terms that cannot all be encoded: what was decoded always can.
macro_rules! both_ways_fallible {
    ($type:ident, $bytes:ident, $accepts:expr) => {{
        let decoded = $type::decode($bytes);
        assert_eq!(decoded.is_ok(), $accepts, concat!(stringify!($type), " of {:02x?}"), $bytes);
        if let Ok(value) = &decoded {
            assert_eq!(value.encode().as_deref(), Ok($bytes), "in another form");
        }
    }};
}

/// What `Listing.sol` accepts, less entries whose role it would refuse when they are called.
fn listing_is_whole(bytes: &[u8]) -> bool {
    let count = |at: usize| usize::from(bytes.get(at).copied().unwrap_or(0));
    let (first, targets) = (26 + 47 * count(24), count(25));
    bytes.len() == first + 21 * targets
        && bytes.len() >= 26
        && bytes[26..first].chunks(47).all(|token| token[20] <= 10)
        && bytes[first..].chunks(21).all(|target| (1..=10).contains(&target[20]))
}

/// What `CharterTerms.sol` accepts.
fn charter_is_whole(bytes: &[u8]) -> bool {
    let Some((header, rest)) = bytes.split_at_checked(232) else { return false };
    let number = |at: usize, length: usize| {
        header[at..at + length].iter().fold(0u64, |sum, byte| sum << 8 | u64::from(*byte))
    };
    let (slippage, nav) = (number(60, 2), number(62, 2));
    let (start, end, flags) = (number(116, 5), number(121, 5), number(126, 2));
    let known = |classes: u64| classes & 1 == 0 && classes < 1 << 18;
    let royalty = if flags & 2 == 0 { 0 } else { 2 };
    let emotion = if flags & 4 == 0 { 0 } else { 7 };
    let Some((sections, listing)) = rest.split_at_checked(royalty + emotion) else { return false };
    let (royalty, emotion) = sections.split_at(royalty);
    listing_is_whole(listing)
        && slippage <= 10_000
        && nav <= 10_000
        && window_is_one(header, 84, 58)
        && start <= end
        && flags <= 7
        && known(number(156, 4))
        && royalty.first_chunk().is_none_or(|bps| u16::from_be_bytes(*bps) <= 10_000)
        && emotion.first_chunk().is_none_or(
            |&[pleasure, arousal, dominance, classes @ ..]: &[u8; 7]| {
                let bounds = [pleasure, arousal, dominance].map(u8::cast_signed);
                let classes = u32::from_be_bytes(classes);
                bounds.iter().all(|bound| (-100..=100).contains(bound))
                    && classes != 0
                    && known(u64::from(classes))
            },
        )
}

/// What `Threshold.sol` accepts.
fn threshold_is_one(bytes: &[u8]) -> bool {
    let Some((needed, signers)) = bytes.split_first() else { return false };
    let signers: Vec<_> = signers.chunks(20).collect();
    (1..=signers.len()).contains(&usize::from(*needed))
        && signers.iter().all(|signer| signer.len() == 20)
        && signers.windows(2).all(|two| two[0] < two[1])
        && signers[0] != [0; 20]
}

/// A rule that was read is written as the same bytes, goes through JSON unchanged, and has a sentence.
fn every_kind(bytes: &[u8]) {
    for kind in Kind::ALL {
        let Ok(rule) = Rule::decode(*kind, bytes) else { continue };
        assert_eq!(rule.kind(), Some(*kind));
        assert_eq!(rule.encode().as_deref(), Ok(bytes), "{kind} in another form");
        let text = serde_json::to_string(&rule).unwrap();
        assert_eq!(serde_json::from_str::<Rule>(&text).unwrap(), rule, "{text}");
        let words = rule.explain();
        // Nothing is left out, so that words grow with what they tell of, and no faster.
        let most = 1_024 + 8 * bytes.len();
        assert!(words.iter().all(|one| one.ends_with('.') && one.len() < most), "{words:?}");
    }
}

/// Every decoder of terms takes what its contract takes, as the contract's source says it.
pub(crate) fn terms(bytes: &[u8]) {
    every_kind(bytes);
    stock_terms(bytes);
    let length = bytes.len();
    let _ = both_ways!(AllowedTargets, bytes, length != 0 && length.is_multiple_of(20));
    let _ = both_ways!(AllowedMethods, bytes, length != 0 && length.is_multiple_of(4));
    let _ = both_ways!(AllowedCalldata, bytes, length >= 33);
    let _ = both_ways!(ValueLte, bytes, length == 32);
    let _ = both_ways!(LimitedCalls, bytes, length == 32);
    let _ = both_ways!(Redeemer, bytes, length != 0 && length.is_multiple_of(20));
    let _ = both_ways!(Timestamp, bytes, length == 32);
    both_ways_fallible!(Listing, bytes, listing_is_whole(bytes));
    both_ways_fallible!(GolemCharter, bytes, charter_is_whole(bytes));
    let behind = |header: usize| bytes.get(header..).is_some_and(listing_is_whole);
    let bounded = |at: usize| {
        bytes.get(at..at + 2).is_some_and(|two| u16::from_be_bytes([two[0], two[1]]) <= 10_000)
    };
    both_ways_fallible!(GolemPhase, bytes, behind(56));
    both_ways_fallible!(DailySpendLimit, bytes, window_is_one(bytes, 34, 42) && behind(44));
    both_ways_fallible!(MaxSlippage, bytes, bounded(0) && behind(2));
    both_ways_fallible!(VaultNav, bytes, bounded(52) && behind(62));
    let _ = both_ways!(DreamMode, bytes, length == 52);
    let _ = both_ways!(Cadence, bytes, length == 37 && bytes[32..36] != [0; 4] && bytes[36] != 0);
    let _ = both_ways!(Threshold, bytes, threshold_is_one(bytes));
    both_ways_fallible!(ReplicantBudget, bytes, behind(45));
    let shares = [58, 60, 62, 104].into_iter().all(bounded);
    both_ways_fallible!(Holdings, bytes, shares && behind(106));
    let moods = |mood: &u8| matches!(mood, 0..=100 | 156..=255);
    let selectors = length.wrapping_sub(59);
    both_ways_fallible!(
        EmotionalState,
        bytes,
        bytes.get(56..59).is_some_and(|bounds| bounds.iter().all(moods))
            && (4..=1020).contains(&selectors)
            && selectors.is_multiple_of(4)
    );
    both_ways_fallible!(KnowledgeRoyalty, bytes, length == 22 && bounded(20));
    // Big-endian numbers of one length compare like their bytes.
    let upright = length == 16 && bytes[..8] <= bytes[8..];
    if let Ok(window) = both_ways!(MortalityTimeWindow, bytes, upright) {
        let (start, end) = (window.start(), window.end());
        assert!(window.allows(start) && window.allows(end));
        assert!(start.checked_sub(1).is_none_or(|before| !window.allows(before)));
        assert!(end.checked_add(1).is_none_or(|after| !window.allows(after)));
    }
}

/// What a spend window takes: a cap, and buckets of a length that it has room for.
fn window_is_one(bytes: &[u8], cap: usize, minutes: usize) -> bool {
    let some = bytes.get(cap..cap + 8).is_some_and(|cap| cap.iter().any(|byte| *byte != 0));
    let length = bytes.get(minutes..minutes + 2).map(|two| u16::from_be_bytes([two[0], two[1]]));
    some && length.is_some_and(|length| (1..=0x3fff).contains(&length))
}

/// Where a word of 32 bytes is zero; not where there is none.
fn is_zero(bytes: &[u8], at: usize) -> bool {
    bytes.get(at..at + 32).is_some_and(|word| word.iter().all(|byte| *byte == 0))
}

/// What the hooks of the period enforcers accept, of terms with the right length.
fn period_is_one(bytes: &[u8], at: usize) -> bool {
    [0, 32, 64].into_iter().all(|word| !is_zero(bytes, at + word))
}

/// What the hooks of the streaming enforcers accept; words of one length compare like numbers.
fn stream_is_one(bytes: &[u8], at: usize) -> bool {
    bytes[at..at + 32] <= bytes[at + 32..at + 64] && !is_zero(bytes, at + 96)
}

/// The rest of the stock enforcers.
fn stock_terms(bytes: &[u8]) {
    let length = bytes.len();
    let flags = bytes.first().copied().unwrap_or_default();
    both_ways_fallible!(ApprovalRevocation, bytes, length == 1 && (1..=63).contains(&flags));
    let _ = both_ways!(ArgsEqualityCheck, bytes, true);
    let _ = both_ways!(BlockNumber, bytes, length == 32);
    both_ways_fallible!(Deployed, bytes, length > 52);
    let _ = both_ways!(Erc1155BalanceChange, bytes, length == 105);
    let _ = both_ways!(Erc20BalanceChange, bytes, length == 73);
    let _ = both_ways!(Erc721BalanceChange, bytes, length == 73);
    let _ = both_ways!(NativeBalanceChange, bytes, length == 53);
    let period = length == 116 && period_is_one(bytes, 20);
    both_ways_fallible!(Erc20PeriodTransfer, bytes, period);
    let period = length == 96 && period_is_one(bytes, 0);
    both_ways_fallible!(NativeTokenPeriodTransfer, bytes, period);
    let entries = length != 0
        && length.is_multiple_of(116)
        && bytes.chunks(116).all(|entry| period_is_one(entry, 20));
    both_ways_fallible!(MultiTokenPeriod, bytes, entries);
    both_ways_fallible!(Erc20Streaming, bytes, length == 148 && stream_is_one(bytes, 20));
    both_ways_fallible!(NativeTokenStreaming, bytes, length == 128 && stream_is_one(bytes, 0));
    let _ = both_ways!(Erc20TransferAmount, bytes, length == 52);
    let _ = both_ways!(NativeTokenTransferAmount, bytes, length == 32);
    let _ = both_ways!(NativeTokenPayment, bytes, length == 52);
    let _ = both_ways!(Erc721Transfer, bytes, length == 52);
    let _ = both_ways!(OwnershipTransfer, bytes, length == 20);
    let _ = both_ways!(ExactCalldata, bytes, true);
    let _ = both_ways!(ExactExecution, bytes, length >= 52);
    let _ = both_ways!(SpecificActionErc20TransferBatch, bytes, length >= 124);
    let _ = both_ways!(Id, bytes, length == 32);
    let _ = both_ways!(Nonce, bytes, length == 32);
    // Of ABI forms a second reader would be a second decoder; that they have one form only is enough.
    let batch = ExactExecutionBatch::decode(bytes).map(|batch| batch.0);
    assert_eq!(ExactCalldataBatch::decode(bytes).map(|batch| batch.0), batch);
    if let Ok(executions) = batch {
        assert!(64 + executions.len() * 160 <= length, "more calls than there are bytes for");
    }
    if let Ok(LogicalOrWrapper(groups)) = LogicalOrWrapper::decode(bytes) {
        assert!(64 + groups.len() * 96 <= length, "more groups than there are bytes for");
    }
}

/// A text that is read has one meaning: written in its form it reads the same, and nothing about it can panic.
pub(crate) fn permission(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let listed = permission::read_granted(text);
    let _ = permission::Supported::read(text);
    let Ok(read) = permission::read(text) else { return };

    assert!(text.len() <= permission::MAX_TEXT);
    let tokens = permission::Tokens::default();
    let written = match &read.message {
        permission::Message::Requests(requests) => {
            for request in requests {
                assert_eq!(request.check(), Ok(()));
                assert!(permission::Edit::between(request, request).is_empty());
                let lines = permission::explain_request(request, &tokens);
                assert!(!lines.iter().any(|line| line.chars().any(char::is_control)), "{lines:?}");
                health(&request.permission, request.rules.expiry);
            }
            read.form.write_requests(requests)
        }
        permission::Message::Answers(answers) => {
            if read.form != permission::Form::Draft && text.trim_start().starts_with('[') {
                assert!(listed.is_ok_and(|listed| listed.len() == answers.len()));
            }
            answers.iter().for_each(granted);
            read.form.write_answers(answers)
        }
        other => panic!("neither requests nor answers: {other:?}"),
    };
    let written = written.unwrap().to_string();
    assert_eq!(permission::read(&written).unwrap(), read);
}

/// An answer that is believed was changed by nobody since, and binds as it says.
fn granted(answer: &permission::Answer) {
    let environment = Environment::stock();
    let expected = permission::Expected {
        session: answer.granted.to,
        manager: answer.manager.unwrap_or_default(),
        environment: &environment,
    };
    let Ok(granted) = permission::Granted::check(answer, expected) else { return };
    assert_eq!(granted.context().encode(), answer.context);
    assert_eq!(granted.edits(&answer.granted), []);
    assert!(granted.unknown().count() <= granted.further().len());
    assert!(granted.explain(&permission::Tokens::default()).len() > 2);
    health(granted.permission(), granted.terms().rules.expiry);
}

fn health(permission: &permission::Permission, expiry: Option<u64>) {
    let edge = expiry.unwrap_or_default();
    for now in [0, 1, edge.saturating_sub(1), edge, u64::MAX] {
        for disabled in [false, true] {
            let usage = permission::Usage { spent: Default::default(), now, disabled };
            let health = permission::Health::of(permission, expiry, usage);
            let gone = matches!(health.condition, permission::Condition::Revoked(_));
            assert_eq!(gone, disabled || expiry.is_some_and(|expiry| expiry <= now));
            assert!(health.left <= health.cap);
        }
    }
}

/// A passkey's signature that decodes has one form only, and nothing about it can panic.
pub(crate) fn passkey(bytes: &[u8]) {
    // The curve's generator: a key that nobody signs with here.
    let x = uint!(0x6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296_U256);
    let y = uint!(0x4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5_U256);
    let decoded = PasskeySignature::decode(bytes);
    if let Ok(signature) = &decoded {
        assert!((96..=MAX_PASSKEY_BYTES).contains(&bytes.len()));
        assert_eq!(signature.encode(), *bytes, "decoded from another form");
        assert_eq!(signature.assertion.is_none(), bytes.len() == 96);
    }
    let key_id_hash = decoded.as_ref().map_or(B256::ZERO, |signature| signature.key_id_hash);
    let owner = PasskeyOwner { key_id_hash, ..PasskeyOwner::new("", x, y) };
    let domain = SigningDomain { chain_id: 8453, manager: Address::repeat_byte(1) };
    let grant = Delegation {
        delegate: Address::repeat_byte(2),
        delegator: Address::repeat_byte(3),
        authority: ROOT_AUTHORITY,
        caveats: vec![],
        salt: U256::ZERO,
        signature: bytes.to_vec().into(),
    };
    let demanding = owner.of_relying_party("bardo.example").verified();
    for owner in [owner, demanding] {
        let Err(refusal) = domain.verify_passkey(&grant, &owner) else {
            panic!("nobody has this key's secret");
        };
        assert_ne!(refusal, PasskeyError::NotAKey);
        if let Err(error) = &decoded {
            assert_eq!(refusal, *error);
        }
    }
}

/// Nodes that a tree of a few bytes has at most: more than the longest chain.
const TREE_NODES: usize = 40;

/// Delegations by what four bytes each say: a root, a child of an earlier one, a lost one, or one again.
fn sown(bytes: &[u8]) -> Vec<Delegation> {
    let party = |number: usize| Address::left_padding_from(&(0x1000 + number).to_be_bytes());
    let mut links: Vec<Delegation> = Vec::new();
    for chunk in bytes.chunks_exact(4).take(TREE_NODES) {
        let [what, which, by, to] = [0, 1, 2, 3].map(|at: usize| usize::from(chunk[at]));
        let index = links.len();
        let above = links.get(which % index.max(1)).cloned();
        let (authority, mut delegator) = match (what % 16, &above) {
            (0, _) | (_, None) => (ROOT_AUTHORITY, party(0)),
            (1, _) => (B256::repeat_byte(chunk[1]), party(0)),
            (2, Some(again)) => {
                links.push(again.clone().signed(vec![chunk[2]]));
                continue;
            }
            (_, Some(parent)) => (parent.hash().0, parent.delegate),
        };
        if by % 16 == 1 {
            delegator = party(999);
        }
        let delegate = if to % 16 == 1 { ANY_DELEGATE } else { party(index + 1) };
        let (caveats, salt, signature) = (vec![], U256::from(index), Vec::new().into());
        links.push(Delegation { delegate, delegator, authority, caveats, salt, signature });
    }
    let turn = links.len().min(bytes.first().copied().map_or(0, usize::from));
    links.rotate_left(turn);
    links
}

/// Whether a list is a tree, told one by one and by search alone.
fn is_tree(links: &[Delegation]) -> bool {
    let hashes: Vec<_> = links.iter().map(Delegation::hash).collect();
    let unique: BTreeSet<_> = hashes.iter().collect();
    let reaches_root = |leaf: &Delegation| {
        let mut at = leaf;
        for _ in 0..MAX_LINKS {
            if at.is_root() {
                return true;
            }
            let Some(parent) = hashes.iter().position(|hash| hash.0 == at.authority) else {
                return false;
            };
            if ![at.delegator, ANY_DELEGATE].contains(&links[parent].delegate) {
                return false;
            }
            at = &links[parent];
        }
        false
    };
    !links.is_empty() && unique.len() == links.len() && links.iter().all(reaches_root)
}

/// Any list of delegations is a tree or is refused, as a slower look at it says.
pub(crate) fn tree(bytes: &[u8]) {
    let links = sown(bytes);
    let tree = DelegationTree::new(links.clone());
    assert_eq!(tree.is_ok(), is_tree(&links), "{tree:?}");
    let Ok(tree) = tree else { return };

    assert_eq!((tree.len(), tree.walk().count()), (links.len(), links.len()));
    let leaf = &links[links.len() - 1];
    let chain = tree.chain(leaf.hash()).unwrap();
    assert_eq!(chain.leaf(), leaf);
    assert_eq!(PermissionContext::decode(&chain.encode()).as_ref(), Ok(&chain));
    // Whatever died, the leaf is dead if that stands above it, and says so.
    let killed = links[usize::from(bytes.last().copied().unwrap_or(0)) % links.len()].hash();
    let mut facts: BTreeMap<_, _> = tree.walk().map(|(hash, _)| (hash, State::Active)).collect();
    facts.insert(killed, State::Expired);
    let standings = tree.standings(&facts);
    let below = chain.links().iter().any(|link| link.hash() == killed);
    let dead = Standing::Dead { cause: State::Expired, by: killed };
    assert_eq!(standings[&leaf.hash()], if below { dead } else { Standing::Active });
    assert_eq!(tree.render(&standings).lines().count(), links.len());
}
