//! The tricks, by their row in the attack list.

mod greed;
mod life;
mod limits;
mod market;
mod shape;
mod signatures;

pub(super) use greed::{Rigged, approve_router, die_rich, settle};

use super::{
    calls,
    prey::Prey,
    wish::{THIEF, Wish},
};
use alloy::primitives::Bytes;
use anyhow::{Context, Result};
use bardo_bindings::defi::NonfungiblePositionManager;
use bardo_testkit::{dollars, root};
use golem_custody::Execution;
use std::{fs, pin::Pin};

type Play = for<'a, 's> fn(&'a mut Prey<'s>) -> Pin<Box<dyn Future<Output = Result<()>> + 'a>>;

/// One trick.
pub(super) struct Trick {
    /// `atk_<row>_<what it is>`.
    pub(super) name: &'static str,
    /// The same for the table.
    pub(super) what: &'static str,
    pub(super) play: Play,
}

impl Trick {
    /// Two digits of its name.
    pub(super) fn row(&self) -> &'static str {
        self.name.split('_').nth(1).unwrap_or_default()
    }
}

macro_rules! tricks {
    ($($module:ident :: $name:ident, $what:literal;)*) => {
        /// Every trick, in the order of the table.
        pub(super) const TRICKS: &[Trick] = &[$(Trick {
            name: stringify!($name),
            what: $what,
            play: |prey| Box::pin($module::$name(prey)),
        }),*];
    };
}

tricks! {
    signatures::atk_01_replay_through_another_manager, "calls the account through a manager of his own, and directly";
    signatures::atk_02_replay_from_another_chain, "brings a grant that the owner signed for another chain";
    signatures::atk_03_change_what_is_not_signed, "changes args, salt, order, terms or number of caveats beside the signature";
    signatures::atk_04_wrap_the_signature, "wraps the signature (ERC-6492) with a call that robs the account";
    signatures::atk_05_append_bytes, "appends a signature or a second call to the calldata";
    signatures::atk_06_supply_the_authority, "supplies the authority himself: own signature, empty one, empty chain";
    signatures::atk_07_child_wider_than_its_parent, "signs himself a child without caveats and takes the owner's position";
    signatures::atk_08_children_with_the_whole_budget, "signs himself three children and spends the day's budget under each";
    signatures::atk_09_child_of_a_revoked_grant, "uses a child of a grant that is revoked in the same block";
    signatures::atk_10_deep_chain, "builds a chain of twenty links and repeats it in one redemption";
    signatures::atk_11_open_to_everybody, "passes the grant on to anybody; a stranger takes the dollars";
    shape::atk_12_batch_around_single_call_rules, "hides a forbidden call in a batch";
    shape::atk_12_many_times_in_one_redemption, "spends the cap five times in one redemption";
    shape::atk_12_empty_batch, "sends an empty batch, empty lists, lists of unequal length";
    shape::atk_12_delegatecall, "asks for a delegatecall into his own code";
    shape::atk_13_try_mode, "uses try mode, with a failing call and with a forbidden one";
    shape::atk_14_self_call, "has the account call itself, the manager, an enforcer, the register";
    shape::atk_15_odd_offsets, "shows the checker one recipient and the router another, by odd ABI offsets";
    shape::atk_16_short_calldata, "cuts the calldata, so that WETH fills it up with zeros";
    shape::atk_17_value_limit_avoided_by_token_transfer, "transfers tokens to himself, with a native value of 0";
    shape::atk_17_position_transfer, "transfers vault shares and the position to himself";
    shape::atk_18_forbidden_call_in_multicall, "puts a swap to himself into the router's multicall";
    limits::atk_19_both_sides_of_midnight, "spends the day's cap just before and just after midnight";
    limits::atk_19_all_at_once, "spends as often as the grant lets him, at a fair price, in one day";
    limits::atk_20_approve, "approves himself and pulls afterwards";
    limits::atk_20_increase_allowance, "raises his allowance by increaseAllowance and pulls";
    limits::atk_20_permit_by_the_session_key, "signs a permit and an EIP-3009 transfer with the session key";
    limits::atk_20_permit2, "approves Permit2, and itself through it";
    limits::atk_20_listed_spenders, "approves every spender of the list without limit, and has them pull for him";
    limits::atk_21_session_key_for_the_account, "lets the session key sign for the account (ERC-1271)";
    limits::atk_21_permit2_replay, "has Permit2 approved, and replays a payment that the owner's EOA signed against his account";
    limits::atk_22_gas_money_again_and_again, "asks for gas money, sends it away, asks again";
    limits::atk_22_gas_price, "pays himself through the fee of his own block, and is topped up";
    limits::atk_23_two_grants_add_up, "spends the cap of each of two grants on one day";
    market::atk_24_feed_zero, "sandwiches a swap while the feed says zero";
    market::atk_24_feed_negative, "sandwiches a swap while the feed is negative";
    market::atk_24_feed_stale, "sandwiches a swap while the feed is two days old";
    market::atk_24_sequencer_down, "sandwiches a swap while the sequencer is down";
    market::atk_25_look_alike_token, "sells him a look-alike of USDC in a pool of his own";
    market::atk_26_lying_token, "sells him a token that takes all and answers what it likes";
    market::atk_27_sandwich, "pushes the pool, lets the account swap, pushes it back, all in one block";
    market::atk_27_own_pool_in_an_unused_tier, "opens a pool at an absurd price in an unused fee tier";
    market::atk_27_exact_output_at_a_limit, "promises an exact output, and stops it by a price limit in his own pool";
    market::atk_27_vault_inflated_by_donation, "inflates the vault by a donation around the account's deposit";
    greed::atk_27_at_the_bound, "swaps to and fro through pools of his own, every price exactly at the bound";
    greed::atk_27_sandwich_in_one_transaction, "pushes, redeems and pushes back in one transaction of the key";
    greed::atk_27_donation_in_one_transaction, "enters the vault, gives, redeems and leaves in one transaction of the key";
    greed::atk_27_donation_inside_a_batch, "is woken by gas money inside a batch, and makes vault shares dearer before they are bought";
    market::atk_28_re_entrancy, "re-enters the manager from a token's transfer, between the hooks";
    greed::atk_28_woken_by_gas_money, "is woken by gas money inside a batch, and pushes the pool that was just found fair";
    greed::atk_28_woken_by_a_caveat, "signs himself a child whose own caveat pushes the pool, before the grant's is asked";
    greed::atk_28_woken_by_a_token, "gives the account a position in a token of his, is woken when it collects, and pushes the pool";
    market::atk_29_swap_to_himself, "names himself as the recipient of a swap, on both routers";
    market::atk_29_vault_to_himself, "names himself as receiver of deposit and withdrawal";
    market::atk_29_collect_to_himself, "removes the owner's liquidity and collects it himself";
    limits::atk_31_granted_again, "spends the cap, is granted again, spends it again";
    limits::atk_31_old_grant_lives_on, "goes on with the old grant after the owner made a new one";
    limits::atk_31_replay_after_a_day, "waits a day, and uses the old grant beside the new one";
    greed::atk_32_key_with_code, "gives the key code (EIP-7702) that redeems again when gas money arrives";
    life::atk_33_after_expiry, "comes one second after the grant's last";
    life::atk_34_dead_golem, "acts for a Golem that is Terminal, after reporting it Thriving";
    life::atk_34_dreaming_golem, "acts while the Golem dreams";
    life::atk_34_wakes_first, "lets the Golem dream, wakes it, and acts";
    greed::atk_34_settles_at_the_bound, "wraps all ether, reports the Golem Terminal, and settles everything at the bound";
    greed::atk_34_settles_in_circles, "reports the Golem Terminal, and turns its dollars into dollars, at the bound, again and again";
    greed::atk_34_settlement_redirected, "reports the Golem Terminal, and has the settlement sent to himself";
    life::atk_34_after_revocation, "comes after the revocation, and tries to undo it";
    market::atk_45_foreign_position, "adds the owner's liquidity to a position of his own";
    market::atk_45_mint_to_himself, "mints a position with the owner's money, for himself";
    market::atk_45_mint_in_his_own_pool, "has liquidity added to a pool of his own at an absurd price, and trades against it";
    market::atk_45_mint_in_a_skewed_pool, "has liquidity added with zero minimums while the pool is pushed";
    market::atk_45_mint_at_the_bound, "has a narrow position opened while the pool is pushed to the bound, and trades against it";
    market::atk_45_remove_in_a_skewed_pool, "has liquidity removed with zero minimums while the pool is pushed";
    life::atk_46_sub_delegation_to_himself, "sub-delegates to himself, robs the account with a fresh key";
    life::atk_46_always_thriving, "keeps himself Thriving by his own reports, against the owner's";
}

/// Runtime code of a contract in `contracts/test/thief`, as forge built it.
fn built(name: &str) -> Result<Bytes> {
    let path = root().join(format!("contracts/out/{name}.sol/{name}.json"));
    let json =
        fs::read_to_string(path).context("thief's contract; build it with `make contracts`")?;
    let json: serde_json::Value = serde_json::from_str(&json)?;
    let code = json.pointer("/deployedBytecode/object").and_then(serde_json::Value::as_str);
    Ok(code.context("no code in the artifact")?.parse()?)
}

/// Sizes a greedy thief tries, biggest first: all there is, the day's cap, a little less.
const SIZES: [u64; 3] = [10_000, 1_000, 990];

/// Something that no reading of the wish allows: the owner's liquidity position, to the thief.
fn forbidden(wish: &Wish) -> Execution {
    let take = NonfungiblePositionManager::transferFromCall {
        from: wish.account,
        to: THIEF,
        tokenId: wish.position,
    };
    calls::call(wish.book.position_manager, take)
}

/// The day's cap, or nearly, sold at a fair price: what the wish allows once a day.
fn fair_jobs(wish: &Wish) -> [Execution; 2] {
    [1_000, 990].map(|size| wish.fair_sale(dollars(size), 9_910).on_02(wish.book.swap_router_02))
}

/// Spends it. Answers whether it went through.
async fn spend_the_cap(prey: &mut Prey<'_>) -> Result<bool> {
    for sale in fair_jobs(&prey.wish) {
        if prey.redeem(&[sale]).await? {
            return Ok(true);
        }
    }
    Ok(false)
}
