//! What must hold for any bytes at all. The fuzz targets run these, and so do the stable tests.

use golem_delegation::{
    MAX_CONTEXT_BYTES, MAX_LINKS, PermissionContext, SigningDomain,
    terms::{
        AllowedCalldata, AllowedMethods, AllowedTargets, Cadence, DailySpendLimit, DreamMode,
        EmotionalState, GolemCharter, GolemPhase, Holdings, KnowledgeRoyalty, LimitedCalls,
        Listing, MaxSlippage, MortalityTimeWindow, Redeemer, ReplicantBudget, Threshold, Timestamp,
        ValueLte, VaultNav,
    },
};

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

/// Every decoder of terms takes what its contract takes, as the contract's source says it.
pub(crate) fn terms(bytes: &[u8]) {
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
    both_ways_fallible!(DailySpendLimit, bytes, behind(44));
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
