//! What the owner wants, and who is who.

use super::{calls, calls::Swap};
use alloy::primitives::{Address, B256, U160, U256, address};
use anyhow::Result;
use bardo_testkit::dollars;
use golem_chain::local::AddressBook;
use golem_custody::Execution;

/// The stolen session key: a development account, so that the node can sign for its holder whatever
/// he likes.
pub(super) const SESSION: Address = address!("70997970C51812dc3A010C7d01b50e0d17dc79C8");
/// The thief's purse. He has a hundred million to move markets with.
pub(super) const THIEF: Address = address!("7412f00000000000000000000000000000007412");
/// Somebody with a key of his own who would share.
pub(super) const STRANGER: Address = address!("3C44CdDdB6a900fa2b585dd299e03d12FA4293BC");
/// Who builds the thief's blocks, and gets their fees.
pub(super) const BUILDER: Address = address!("b17d000000000000000000000000000000000001");
/// Everybody whose fortune counts as the thief's.
pub(super) const THIEVES: [Address; 4] = [THIEF, SESSION, STRANGER, BUILDER];
/// Where the owner wants money to be sent home to.
pub(super) const BENEFICIARY: Address = address!("b0b0000000000000000000000000000000000b0b");
/// The 0.05 % pool.
pub(super) const FEE: u16 = 500;

/// What the owner wants, the same for every column.
#[derive(Clone, Debug)]
pub(super) struct Wish {
    /// Where everything stands.
    pub(super) book: AddressBook,
    /// The owner's EOA, which the register knows him by; of several owners, their account.
    pub(super) owner: Address,
    /// The owner's account; as a 7702 account it is his EOA too.
    pub(super) account: Address,
    /// The agent's key.
    pub(super) session: Address,
    /// Whom money may be sent home to.
    pub(super) beneficiary: Address,
    /// First second of the grant.
    pub(super) start: u64,
    /// Last second of the grant.
    pub(super) end: u64,
    /// Number of the block before the grant.
    pub(super) block: u64,
    /// Most that may be spent in any 24 hours, in USDC's base units.
    pub(super) cap: U256,
    /// Most that a swap may lose against the feeds.
    pub(super) slippage_bps: u16,
    /// The agent's ether may be topped up to this.
    pub(super) gas_ceiling: U256,
    /// And by no more than this in a day.
    pub(super) gas_daily: U256,
    /// Oldest answer of a feed that counts, in seconds.
    pub(super) staleness: u64,
    /// The Golem; it is on the register, with the key attached.
    pub(super) golem: B256,
    /// How many grants the owner has made before this one. Also its salt.
    pub(super) epoch: u16,
    /// The register's lowest good epoch: a revocation raises it.
    pub(super) series: u16,
    /// The owner's liquidity.
    pub(super) position: U256,
    /// The thief's liquidity in the same pool.
    pub(super) foreign_position: U256,
}

impl Wish {
    /// WETH for `usdc` at the feeds' price.
    pub(super) fn fair(&self, usdc: U256) -> U256 {
        usdc * U256::from(1_000_000_000_000u64) / self.book.eth_price
    }

    /// Ether worth a day's cap.
    pub(super) fn cap_in_ether(&self) -> U256 {
        self.fair(self.cap)
    }

    /// What ether is worth, in USDC's base units.
    pub(super) fn ether_in_dollars(&self, wei: U256) -> Result<i128> {
        Ok((wei * self.book.eth_price / U256::from(1_000_000_000_000u64)).try_into()?)
    }

    /// Sells dollars on the 0.05 % pool for the account, at any price.
    pub(super) const fn sale(&self, amount: U256) -> Swap {
        Swap {
            token_in: self.book.usdc,
            token_out: self.book.weth,
            fee: FEE,
            recipient: self.account,
            amount,
            minimum: U256::ZERO,
            limit: U160::ZERO,
        }
    }

    /// The same at a share of the feeds' price.
    pub(super) fn fair_sale(&self, amount: U256, bps: u64) -> Swap {
        let minimum = self.fair(amount) * U256::from(bps) / U256::from(10_000);
        Swap { minimum, ..self.sale(amount) }
    }

    /// One of everything the agent is hired for.
    pub(super) fn whole_job(&self) -> Vec<Execution> {
        let (book, account) = (&self.book, self.account);
        let (hundred, part) = (dollars(100), self.fair(dollars(100)));
        let sale = self.fair_sale(hundred, 9_910);
        let back = Swap { token_in: book.weth, token_out: book.usdc, amount: part, ..sale };
        let back = Swap { minimum: dollars(99), ..back };
        vec![
            calls::approve(book.usdc, book.swap_router_02, hundred),
            sale.on_02(book.swap_router_02),
            calls::approve(book.weth, book.swap_router, part),
            back.on_01(book.swap_router),
            calls::approve(book.usdc, book.position_manager, hundred),
            calls::approve(book.weth, book.position_manager, part),
            calls::mint(
                book.position_manager,
                [(book.weth, part), (book.usdc, hundred)],
                FEE,
                account,
            ),
            calls::decrease(book.position_manager, self.position, 1_000_000),
            calls::collect(book.position_manager, self.position, account),
            calls::approve(book.usdc, book.vault, hundred),
            calls::vault_deposit(book.vault, hundred, account),
            calls::vault_withdraw(book.vault, dollars(50), account, account),
            calls::wrap(book.weth, part),
            calls::unwrap(book.weth, part),
            calls::transfer(book.usdc, self.beneficiary, hundred),
            self.gas_money(U256::from(1_000_000_000_000_000u64)),
        ]
    }

    /// Ether for the agent's key. It has no code and takes any data.
    pub(super) fn gas_money(&self, wei: U256) -> Execution {
        Execution { target: self.session, ..calls::wrap(self.book.weth, wei) }
    }
}
