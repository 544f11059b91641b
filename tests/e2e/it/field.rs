//! A chain, an owner and his Golem, and the calls that tests of limits try on them.

use alloy::{
    primitives::{
        Address, B256, U256,
        aliases::{I24, U24, U160},
    },
    sol_types::SolCall,
};
use anyhow::{Result, ensure};
use bardo_bindings::{
    GolemLifecycle, GolemRegistry,
    defi::{
        Erc20, Erc4626,
        NonfungiblePositionManager::{
            CollectParams, DecreaseLiquidityParams, MintParams, collectCall, decreaseLiquidityCall,
            mintCall, tokenOfOwnerByIndexCall,
        },
        SwapRouter02::{ExactInputSingleParams, exactInputSingleCall},
    },
    golem_lifecycle, golem_registry,
};
use bardo_testkit::{Owner, Stage, dollars, fair_swap};
use golem_chain::AccountKind;
use golem_custody::Execution;

/// Where a test takes place.
pub(crate) struct Field {
    pub(crate) stage: Stage,
    pub(crate) owner: Owner,
    pub(crate) golem_id: B256,
}

impl Field {
    /// A chain of its own, and an owner whose account holds 10,000 dollars, no ether, and trades both ways.
    pub(crate) async fn prepared(kind: AccountKind) -> Result<(Stage, Owner)> {
        let stage = Stage::open().await?;
        let owner = stage.owner(kind).await?;
        // An EOA that is its own account pays its own gas.
        if owner.account.address != owner.signer.address() {
            stage.fund(owner.account.address, U256::ZERO, U256::ZERO).await?;
        }
        let allow = Erc20::approveCall { spender: stage.book().swap_router_02, amount: U256::MAX };
        owner.act(&stage, stage.book().weth, allow).await?;
        Ok((stage, owner))
    }

    pub(crate) const fn account(&self) -> Address {
        self.owner.account.address
    }

    pub(crate) fn swap(&self, amount: u64) -> Execution {
        fair_swap(&self.stage, self.account(), dollars(amount))
    }

    /// A cent's worth of wrapped ether for dollars.
    pub(crate) fn swap_back(&self) -> Execution {
        self.sell(U256::from(4_000_000_000_000_u64), U256::from(9_900))
    }

    /// Wrapped ether for dollars.
    pub(crate) fn sell(&self, wei: U256, least: U256) -> Execution {
        let book = self.stage.book();
        let call = exactInputSingleCall {
            params: ExactInputSingleParams {
                tokenIn: book.weth,
                tokenOut: book.usdc,
                fee: U24::from(500),
                recipient: self.account(),
                amountIn: wei,
                amountOutMinimum: least,
                sqrtPriceLimitX96: U160::ZERO,
            },
        };
        Execution { target: book.swap_router_02, value: U256::ZERO, data: call.abi_encode().into() }
    }

    /// The owner's account does it himself.
    pub(crate) async fn owner_does(&self, calls: &[Execution]) -> Result<()> {
        self.owner.account.act(self.stage.node(), &self.owner.signer, calls).await?;
        Ok(())
    }

    /// A position that the owner opened with $100 and as much ether, and the two calls that close a half of it.
    pub(crate) async fn position(&self) -> Result<[Execution; 2]> {
        let (book, account) = (self.stage.book(), self.account());
        let positions = book.position_manager;
        let wei = U256::from(40_000_000_000_000_000_u64);
        let open = mintCall {
            params: MintParams {
                token0: book.weth,
                token1: book.usdc,
                fee: U24::from(500),
                tickLower: I24::try_from(-887_270)?,
                tickUpper: I24::try_from(887_270)?,
                amount0Desired: wei,
                amount1Desired: dollars(100),
                amount0Min: U256::ZERO,
                amount1Min: U256::ZERO,
                recipient: account,
                deadline: U256::MAX,
            },
        };
        let allow = |token: Address| {
            self.call(token, &Erc20::approveCall { spender: positions, amount: U256::MAX })
        };
        self.owner_does(&[
            self.swap(150),
            allow(book.weth),
            allow(book.usdc),
            self.call(positions, &open),
        ])
        .await?;
        let first = tokenOfOwnerByIndexCall { owner: account, index: U256::ZERO };
        let token_id = self.stage.node().read(positions, first).await?;
        let remove = decreaseLiquidityCall {
            params: DecreaseLiquidityParams {
                tokenId: token_id,
                liquidity: 1_000_000_000_000,
                amount0Min: U256::ZERO,
                amount1Min: U256::ZERO,
                deadline: U256::MAX,
            },
        };
        let collect = collectCall {
            params: CollectParams {
                tokenId: token_id,
                recipient: account,
                amount0Max: u128::MAX,
                amount1Max: u128::MAX,
            },
        };
        Ok([self.call(positions, &remove), self.call(positions, &collect)])
    }

    pub(crate) fn home(&self) -> Execution {
        let to = self.owner.signer.address();
        self.call(self.stage.book().usdc, &Erc20::transferCall { to, amount: dollars(1) })
    }

    pub(crate) fn call<C: SolCall>(&self, target: Address, call: &C) -> Execution {
        Execution { target, value: U256::ZERO, data: call.abi_encode().into() }
    }

    pub(crate) fn spawn(&self) -> Execution {
        let call = GolemLifecycle::spawnReplicantCall {
            golemId: self.golem_id,
            replicant: Address::repeat_byte(0x77),
            delegationHash: B256::repeat_byte(0x78),
        };
        self.call(golem_lifecycle(), &call)
    }

    pub(crate) fn settle(&self) -> Execution {
        let manifest = B256::repeat_byte(0x79);
        let call = GolemLifecycle::settleCall { golemId: self.golem_id, manifestHash: manifest };
        self.call(golem_lifecycle(), &call)
    }

    pub(crate) fn disapprove(&self) -> Execution {
        let book = self.stage.book();
        let nothing = Erc20::approveCall { spender: book.swap_router_02, amount: U256::ZERO };
        self.call(book.usdc, &nothing)
    }

    pub(crate) fn deposit(&self) -> Execution {
        let receiver = self.account();
        self.call(self.stage.book().vault, &Erc4626::depositCall { assets: dollars(1), receiver })
    }

    /// Ten dollars that the owner put into the vault himself.
    pub(crate) async fn deposited(&self) -> Result<Execution> {
        let (book, account) = (self.stage.book(), self.account());
        let allow = Erc20::approveCall { spender: book.vault, amount: dollars(1_000) };
        self.owner.act(&self.stage, book.usdc, allow).await?;
        let deposit = Erc4626::depositCall { assets: dollars(10), receiver: account };
        self.owner.act(&self.stage, book.vault, deposit).await?;
        let back = Erc4626::withdrawCall { assets: dollars(1), receiver: account, owner: account };
        Ok(self.call(book.vault, &back))
    }

    /// The owner makes his account the key by which the Golem speaks at the registry, so that grants decide who
    /// says what.
    pub(crate) async fn published(&self) -> Result<Execution> {
        let human = self.owner.signer.address();
        let speak = GolemRegistry::attachCall { golemId: self.golem_id, agentKey: self.account() };
        let data = speak.abi_encode().into();
        let receipt = self.stage.send_as(human, golem_registry(), U256::ZERO, data).await?;
        ensure!(receipt.status(), "attached");
        let pad = GolemRegistry::updatePadCall {
            golemId: self.golem_id,
            pleasure: 10,
            arousal: 20,
            dominance: 30,
        };
        Ok(self.call(golem_registry(), &pad))
    }
}
