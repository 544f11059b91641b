//! An owner who has everything that a rule could be about, and what grants of his are redeemed with.

use crate::raw::RawKey;
use alloy::{
    primitives::{
        Address, B256, Bytes, U256, address,
        aliases::{I24, U24, U96},
        hex, keccak256,
    },
    sol_types::SolCall as _,
};
use anyhow::{Context as _, Result, ensure};
use bardo_bindings::{
    GolemRegistry, KnowledgeMarket,
    defi::{
        Erc20,
        NonfungiblePositionManager::{
            MintParams, approveCall, mintCall, setApprovalForAllCall, tokenOfOwnerByIndexCall,
        },
        Weth9,
    },
    framework::{DELEGATION_MANAGER, STATELESS_7702_IMPL},
    golem_registry, knowledge_market,
};
use bardo_testkit::{Course, dollars, root};
use golem_chain::local::{AddressBook, FAUCET};
use golem_delegation::{
    ANY_DELEGATE, Caveat, Delegation, ROOT_AUTHORITY, SigningDomain, enforcers,
    terms::NativeTokenTransferAmount,
};
use std::fs;

/// Answer every call with nothing.
pub(super) const ANYTHING: Address = address!("00000000000000000000000000000000000a2701");
pub(super) const ANYTHING_ELSE: Address = address!("00000000000000000000000000000000000a2702");
/// As little of a token of many kinds as a balance needs: `balanceOf(address,uint256)`, and a setter.
pub(super) const MANY: Address = address!("00000000000000000000000000000000000a1155");
/// For 68 bytes of calldata `sload(owner + id)`, for any other number `sstore(owner + id, amount)`.
const MANY_CODE: &[u8] = &hex!("60243560043501604436146014576044359055005b545f5260205ff3");
/// What the account owns of each kind.
pub(super) const MANY_OWNED: u64 = 1_000;

const SALT: B256 = B256::repeat_byte(0x5a);
const OTHER_SALT: B256 = B256::repeat_byte(0x5b);
/// How many positions the account has.
pub(super) const POSITIONS: u64 = 3;
/// Of the knowledge that the account may sell.
pub(super) const PRICE: u64 = 50_000_000;
/// What its author is due.
pub(super) const ROYALTY_BPS: u16 = 1_000;

/// A chain on which one owner has everything that a rule could be about.
pub(super) struct Arena {
    begun: Course,
    pub(super) book: AddressBook,
    pub(super) now: u64,
    pub(super) block: u64,
    owner: RawKey,
    payer: RawKey,
    pub(super) council: [RawKey; 3],
    pub(super) golem_id: B256,
    /// Another one of the same owner.
    pub(super) other_golem: B256,
    pub(super) entry: B256,
    pub(super) positions: Vec<U256>,
}

/// Anybody but the owner.
pub(super) const AGENT: Address = Address::repeat_byte(0xa6);
pub(super) const OTHER: Address = Address::repeat_byte(0x07);
pub(super) const AUTHOR: Address = Address::repeat_byte(0xaa);

/// Each buys once.
pub(super) const BUYERS: [Address; 5] = [
    Address::repeat_byte(0xb0),
    Address::repeat_byte(0xb1),
    Address::repeat_byte(0xb2),
    Address::repeat_byte(0xb3),
    Address::repeat_byte(0xb4),
];

impl Arena {
    pub(super) fn open() -> Result<Self> {
        let (mut course, book) = Course::begun()?;
        course.put(ANYTHING, U256::ZERO, &[0]);
        course.put(ANYTHING_ELSE, U256::ZERO, &[0]);
        course.put(MANY, U256::ZERO, MANY_CODE);
        let upgraded = [&hex!("ef0100")[..], STATELESS_7702_IMPL.as_slice()].concat();
        let (owner, payer) = (RawKey::fixed(0x0a)?, RawKey::fixed(0x0b)?);
        for key in [&owner, &payer] {
            course.put(key.address(), ether(1_000), &upgraded);
        }
        // The local chain leaves it out: npm's code is older than the canonical one.
        let at = enforcers::SPECIFIC_ACTION_ERC20_TRANSFER_BATCH;
        course.install(at, npm_code("SpecificActionERC20TransferBatchEnforcer")?)?;

        let account = owner.address();
        let golem = |salt: B256| keccak256([account.into_word(), salt].concat());
        let (now, block) = (course.now, course.block);
        let mut arena = Self {
            begun: course,
            book,
            now,
            block,
            owner,
            payer,
            council: [RawKey::fixed(0x0c)?, RawKey::fixed(0x0d)?, RawKey::fixed(0x0e)?],
            golem_id: golem(SALT),
            other_golem: golem(OTHER_SALT),
            entry: B256::ZERO,
            positions: Vec::new(),
        };
        arena.furnish()?;
        Ok(arena)
    }

    /// Money, allowances, positions, Golems, and something to sell.
    fn furnish(&mut self) -> Result<()> {
        let (account, book) = (self.account(), &self.book);
        let (usdc, weth, positions) = (book.usdc, book.weth, book.position_manager);
        let mut course = self.begun.clone();
        let mint = Erc20::mintCall { to: account, amount: dollars(1_000_000) };
        course.must(FAUCET, usdc, &mint)?;
        let wrap = Weth9::depositCall {}.abi_encode();
        ensure!(course.call(account, weth, ether(100), wrap), "wrapped ether");
        for spender in [book.swap_router_02, positions, book.vault] {
            let allow = Erc20::approveCall { spender, amount: U256::MAX };
            course.must(account, usdc, &allow)?;
            course.must(account, weth, &allow)?;
        }
        for at in 0..POSITIONS {
            let params = MintParams {
                token0: weth,
                token1: usdc,
                fee: U24::from(500),
                tickLower: I24::try_from(-887_270)?,
                tickUpper: I24::try_from(887_270)?,
                amount0Desired: ether(1) / U256::from(25),
                amount1Desired: dollars(100),
                amount0Min: U256::ZERO,
                amount1Min: U256::ZERO,
                recipient: account,
                deadline: U256::MAX,
            };
            course.must(account, positions, &mintCall { params })?;
            let nth = tokenOfOwnerByIndexCall { owner: account, index: U256::from(at) };
            self.positions.push(course.read(positions, &nth)?);
        }
        // Approvals that may be taken back.
        course.must(account, usdc, &Erc20::approveCall { spender: OTHER, amount: dollars(7) })?;
        let token_id = self.positions.first().copied().context("a position")?;
        course.must(account, positions, &approveCall { to: OTHER, tokenId: token_id })?;
        let all = setApprovalForAllCall { operator: OTHER, approved: true };
        course.must(account, positions, &all)?;

        for (salt, golem_id) in [(SALT, self.golem_id), (OTHER_SALT, self.other_golem)] {
            let register = GolemRegistry::registerCall { salt, agentKey: AGENT };
            course.must(account, golem_registry(), &register)?;
            let thrives =
                GolemRegistry::updateVitalityCall { golemId: golem_id, phase: 0, score: 9_000 };
            course.must(AGENT, golem_registry(), &thrives)?;
        }
        self.entry = self.for_sale(&mut course)?;
        for id in 0..2_u64 {
            let given = course.call(account, MANY, U256::ZERO, many_call(account, id, MANY_OWNED));
            ensure!(given, "some of many");
        }
        self.begun = course.settled();
        Ok(())
    }

    /// Knowledge that the account inherited, and five who ordered it.
    fn for_sale(&self, course: &mut Course) -> Result<B256> {
        let (market, account, usdc) = (knowledge_market(), self.account(), self.book.usdc);
        let content = B256::repeat_byte(0x6e);
        let publish = KnowledgeMarket::publishCall {
            contentHash: content,
            parent: B256::ZERO,
            royaltyBps: ROYALTY_BPS,
            token: usdc,
            price: U96::from(PRICE),
        };
        course.must(AUTHOR, market, &publish)?;
        let named = KnowledgeMarket::entryIdOfCall { author: AUTHOR, contentHash: content };
        let entry = course.read(market, &named)?;
        let give = KnowledgeMarket::bequeathCall { entryId: entry, heir: account };
        course.must(AUTHOR, market, &give)?;
        for buyer in BUYERS {
            let mint = Erc20::mintCall { to: buyer, amount: U256::from(PRICE) };
            course.must(FAUCET, usdc, &mint)?;
            let allow = Erc20::approveCall { spender: market, amount: U256::MAX };
            course.must(buyer, usdc, &allow)?;
            let order =
                KnowledgeMarket::orderCall { entryId: entry, seller: account, notAfter: U256::MAX };
            course.must(buyer, market, &order)?;
        }
        Ok(entry)
    }

    pub(super) const fn account(&self) -> Address {
        self.owner.address()
    }

    /// From here on, as often as one likes.
    pub(super) fn course(&self) -> Course {
        self.begun.clone()
    }

    /// A root that anybody may redeem, with these caveats and signed by the account's owner.
    pub(super) fn root(&self, caveats: Vec<Caveat>) -> Result<Delegation> {
        self.signed(&self.owner, ANY_DELEGATE, caveats)
    }

    /// What pays for an execution under [`golem_delegation::terms::NativeTokenPayment`], and no more than `most`.
    pub(super) fn payment(&self, hash: B256, redeemer: Address, most: U256) -> Result<Delegation> {
        let bound = [hash.as_slice(), redeemer.as_slice()].concat();
        let most = NativeTokenTransferAmount(most).encode();
        let caveats = vec![
            Caveat {
                args: bound.clone().into(),
                ..Caveat::new(enforcers::ARGS_EQUALITY_CHECK, bound)
            },
            Caveat::new(enforcers::NATIVE_TOKEN_TRANSFER_AMOUNT, most),
        ];
        self.signed(&self.payer, enforcers::NATIVE_TOKEN_PAYMENT, caveats)
    }

    fn signed(&self, key: &RawKey, delegate: Address, caveats: Vec<Caveat>) -> Result<Delegation> {
        let mut delegation = Delegation {
            delegate,
            delegator: key.address(),
            authority: ROOT_AUTHORITY,
            caveats,
            salt: U256::ZERO,
            signature: Bytes::new(),
        };
        let domain = SigningDomain { chain_id: 8453, manager: DELEGATION_MANAGER };
        delegation.signature = key.sign(domain.digest(&delegation))?.to_vec().into();
        Ok(delegation)
    }
}

/// Creation code of an enforcer, from MetaMask's package.
fn npm_code(name: &str) -> Result<Vec<u8>> {
    let file = format!("node_modules/@metamask/delegation-abis/dist/bytecode/{name}.mjs");
    let text = fs::read_to_string(root().join(&file)).with_context(|| format!("read {file}"))?;
    let code = text.split('"').find(|part| part.starts_with("0x")).context("no bytecode")?;
    Ok(hex::decode(code)?)
}

/// Sets what `owner` has of a kind of [`MANY`].
pub(super) fn many_call(owner: Address, id: u64, amount: u64) -> Vec<u8> {
    let words: [B256; 3] = [owner.into_word(), U256::from(id).into(), U256::from(amount).into()];
    [&[0; 4][..], &words.concat()].concat()
}

pub(super) fn ether(amount: u64) -> U256 {
    U256::from(amount) * U256::from(1_000_000_000_000_000_000_u64)
}
