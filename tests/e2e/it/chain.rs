//! The local chain: what stands on it, its clock, and that it never outlives its user.

use alloy::{
    primitives::{Address, U256, keccak256},
    providers::ext::AnvilApi,
    sol_types::{Revert, SolError as _, SolValue},
};
use anyhow::{Context, Result, bail, ensure};
use bardo_bindings::{
    defi::{Erc20, Erc4626, PriceFeed, QuoterV2, SwapRouter02, UniswapV3Pool},
    deployables,
    framework::{
        DELEGATION_MANAGER, DeleGator, DelegationManager, ENTRY_POINT, HYBRID_IMPL, MULTISIG_IMPL,
        STATELESS_7702_IMPL,
    },
};
use bardo_testkit::{Fault, Proxy, Stage, dollars, root};
use golem_chain::{
    ChainFault, Node,
    local::{LocalChain, LocalFiles},
};
use golem_delegation::{SigningDomain, enforcers};
use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    time::{Duration, Instant},
};
use tokio::time::timeout;

#[tokio::test]
async fn the_whole_field_stands_at_its_addresses() -> Result<()> {
    let stage = Stage::open().await?;
    let node = stage.node();
    let book = stage.book();

    assert_eq!(node.chain_id(), 8453);
    for (name, address) in enforcers::STOCK {
        let there = !node.code(*address).await?.is_empty();
        // Its package holds older code than its address: left out rather than faked.
        assert_eq!(there, *name != "SpecificActionERC20TransferBatchEnforcer", "{name}");
    }
    for implementation in [STATELESS_7702_IMPL, HYBRID_IMPL, MULTISIG_IMPL] {
        let manager = node.read(implementation, DeleGator::delegationManagerCall {}).await?;
        let entry_point = node.read(implementation, DeleGator::entryPointCall {}).await?;
        assert_eq!((manager, entry_point), (DELEGATION_MANAGER, ENTRY_POINT));
    }
    let domain = SigningDomain { chain_id: 8453, manager: DELEGATION_MANAGER };
    let on_chain = node.read(DELEGATION_MANAGER, DelegationManager::getDomainHashCall {}).await?;
    assert_eq!(domain.separator(), on_chain);
    for contract in deployables() {
        assert_eq!(node.code(contract.address).await?, contract.runtime_code, "{}", contract.name);
    }
    let router = book.swap_router_02;
    assert_eq!(node.read(router, SwapRouter02::factoryCall {}).await?, book.factory);
    assert_eq!(node.read(router, SwapRouter02::WETH9Call {}).await?, book.weth);
    let positions = node.read(router, SwapRouter02::positionManagerCall {}).await?;
    assert_eq!(positions, book.position_manager);
    for address in [book.swap_router, book.quoter, book.vault] {
        assert!(!node.code(address).await?.is_empty(), "{address}");
    }
    Ok(())
}

#[tokio::test]
async fn pools_feeds_and_vault_are_funded_and_agree_on_the_price() -> Result<()> {
    let stage = Stage::open().await?;
    let node = stage.node();
    let book = stage.book();

    for (pool, fee) in [(book.pool_500, 500u16), (book.pool_3000, 3_000)] {
        assert!(node.read(pool, UniswapV3Pool::liquidityCall {}).await? > 0, "{fee}");
        let quote = QuoterV2::quoteExactInputSingleCall {
            params: QuoterV2::QuoteExactInputSingleParams {
                tokenIn: book.weth,
                tokenOut: book.usdc,
                amountIn: U256::from(1_000_000_000_000_000_000u64),
                fee: fee.try_into()?,
                sqrtPriceLimitX96: Default::default(),
            },
        };
        let out = node.read(book.quoter, quote).await?.amountOut;
        assert!(out > dollars(2_480) && out < dollars(2_500), "{fee}: {out}");
    }
    let eth = node.read(book.eth_usd, PriceFeed::latestRoundDataCall {}).await?;
    assert_eq!(eth.answer.to_string(), "250000000000");
    let usdc = node.read(book.usdc_usd, PriceFeed::latestRoundDataCall {}).await?;
    assert_eq!(usdc.answer.to_string(), "100000000");
    for feed in [book.eth_usd, book.usdc_usd] {
        assert_eq!(node.read(feed, PriceFeed::decimalsCall {}).await?, 8);
        // Two hops: the proxy's answer is its aggregator's.
        let aggregator = node.read(feed, PriceFeed::aggregatorCall {}).await?;
        let direct = node.read(aggregator, PriceFeed::latestRoundDataCall {}).await?;
        let through = node.read(feed, PriceFeed::latestRoundDataCall {}).await?;
        assert_eq!(direct.answer, through.answer);
    }
    let assets = node.read(book.vault, Erc4626::totalAssetsCall {}).await?;
    assert_eq!(assets, dollars(1_000_000));
    Ok(())
}

#[tokio::test]
async fn a_price_can_be_set_and_goes_back_with_the_stage() -> Result<()> {
    let before = {
        let stage = Stage::open().await?;
        let read = PriceFeed::latestRoundDataCall {};
        let before = stage.node().read(stage.book().eth_usd, read).await?.answer;
        stage.set_price(stage.book().eth_usd, 123_400_000_000).await?;
        let read = PriceFeed::latestRoundDataCall {};
        let set = stage.node().read(stage.book().eth_usd, read).await?;
        assert_eq!(set.answer.to_string(), "123400000000");
        assert_eq!(set.updatedAt, U256::from(stage.now().await?));
        before
    };

    let stage = Stage::open().await?;
    let read = PriceFeed::latestRoundDataCall {};
    let again = stage.node().read(stage.book().eth_usd, read).await?.answer;

    assert_eq!(again, before);
    Ok(())
}

/// USDC's wallet-visible domain: "USD Coin", "2".
#[tokio::test]
async fn usdc_has_usdcs_own_domain_and_six_decimals() -> Result<()> {
    let stage = Stage::open().await?;
    let usdc = stage.book().usdc;
    let domain = keccak256(
        (
            keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"),
            keccak256("USD Coin"),
            keccak256("2"),
            U256::from(8453),
            usdc,
        )
            .abi_encode(),
    );

    assert_eq!(stage.node().read(usdc, Erc20::DOMAIN_SEPARATORCall {}).await?, domain);
    assert_eq!(stage.node().read(usdc, Erc20::decimalsCall {}).await?, 6);
    Ok(())
}

/// A real vault takes a deposit and pays it back (SPEC X5).
#[tokio::test]
async fn the_vault_takes_a_deposit_and_gives_it_back() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(golem_chain::AccountKind::Hybrid).await?;
    let (usdc, vault) = (stage.book().usdc, stage.book().vault);
    let account = owner.account.address;
    let assets = dollars(500);

    owner.act(&stage, usdc, Erc20::approveCall { spender: vault, amount: assets }).await?;
    owner.act(&stage, vault, Erc4626::depositCall { assets, receiver: account }).await?;
    assert_eq!(stage.balance_of(usdc, account).await?, dollars(9_500));
    let withdraw = Erc4626::withdrawCall { assets, receiver: account, owner: account };
    owner.act(&stage, vault, withdraw).await?;

    assert_eq!(stage.balance_of(usdc, account).await?, dollars(10_000));
    Ok(())
}

#[tokio::test]
async fn time_moves_forward_and_back_to_the_start_with_the_next_stage() -> Result<()> {
    let (start, later) = {
        let stage = Stage::open().await?;
        let start = stage.now().await?;
        stage.warp(start + 30 * 86_400).await?;
        (start, stage.now().await?)
    };

    let stage = Stage::open().await?;
    stage.node().provider().anvil_mine(Some(1), None).await?;
    let again = stage.now().await?;

    assert_eq!(later, start + 30 * 86_400);
    assert!(again < start + 3_600, "{again} is near {start}");
    Ok(())
}

/// Times are reported, not asserted: this prints how long loading took.
#[tokio::test]
async fn a_chain_starts_from_its_state_with_everything_on_it() -> Result<()> {
    let begun = Instant::now();
    let chain = LocalChain::start(&LocalFiles::at(root()))?;
    let node = Node::connect(chain.url()).await?;
    let there = !node.code(DELEGATION_MANAGER).await?.is_empty();

    eprintln!("local chain answered after {} ms", begun.elapsed().as_millis());
    assert!(there);
    assert_eq!(chain.url().host_str(), Some("127.0.0.1"));
    Ok(())
}

fn alive(pid: &str) -> bool {
    Command::new("kill")
        .args(["-0", pid])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// A child of `parent` by the name of its program.
fn child_of(parent: &str, name: &str) -> Option<String> {
    std::fs::read_dir("/proc").ok()?.flatten().find_map(|entry| {
        let pid = entry.file_name().to_str()?.to_owned();
        let status = std::fs::read_to_string(entry.path().join("status")).ok()?;
        let is = |line: String| status.lines().any(|found| found == line);
        (is(format!("PPid:\t{parent}")) && is(format!("Name:\t{name}"))).then_some(pid)
    })
}

/// The same inputs give the same state, byte for byte, however fast the machine is.
#[tokio::test]
async fn a_second_build_of_the_state_is_the_first_and_a_broken_one_is_mended() -> Result<()> {
    let folder = tempfile::tempdir()?;
    for name in ["node_modules", "contracts", "crates", "package-lock.json"] {
        std::os::unix::fs::symlink(root().join(name), folder.path().join(name))?;
    }
    let read = |at: &std::path::Path, name: &str| std::fs::read(at.join(".devchain").join(name));
    let build = async || bardo_testkit::devchain::build(folder.path(), |_| ()).await;

    assert!(build().await?, "there was nothing");
    for name in ["state.json", "allocs.json", "book.json"] {
        assert!(read(folder.path(), name)? == read(&root(), name)?, "{name} differs");
    }
    assert!(!build().await?, "nothing to do");
    for name in ["state.json", "allocs.json", "book.json"] {
        std::fs::write(folder.path().join(".devchain").join(name), "")?;
        assert!(build().await?, "{name} was mended");
        assert!(!read(folder.path(), name)?.is_empty());
    }
    Ok(())
}

#[tokio::test]
async fn a_dropped_chain_is_gone_when_drop_returns() -> Result<()> {
    let chain = LocalChain::start(&LocalFiles::at(root()))?;
    let url = chain.url().clone();
    assert!(Node::connect(&url).await.is_ok());

    drop(chain);

    assert!(Node::connect(&url).await.is_err());
    Ok(())
}

#[tokio::test]
async fn a_chain_ends_when_its_user_panics() -> Result<()> {
    let chain = LocalChain::start(&LocalFiles::at(root()))?;
    let url = chain.url().clone();

    let panicked = std::thread::spawn(move || {
        let _mine = chain;
        panic!("on purpose");
    })
    .join();

    assert!(panicked.is_err());
    assert!(Node::connect(&url).await.is_err());
    Ok(())
}

/// kill -9 of the process that started the chain: nothing in it can run, and the chain ends.
#[test]
fn a_chain_ends_when_its_user_is_killed() -> Result<()> {
    let mut user = Command::new(env!("CARGO_BIN_EXE_soak"))
        .args(["hold"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut lines = BufReader::new(user.stdout.take().context("no output")?).lines();
    let guard = lines.next().context("no pid")??;
    let anvil = child_of(&guard, "anvil").context("the guard runs no anvil")?;
    assert!(alive(&guard) && alive(&anvil));

    user.kill()?;
    user.wait()?;

    // Both end as soon as the kernel has closed the pipe; the bound is for a test that must not hang.
    let begun = Instant::now();
    while alive(&guard) || alive(&anvil) {
        assert!(begun.elapsed().as_secs() < 60, "{guard} or {anvil} outlived its user");
        std::thread::yield_now();
    }
    Ok(())
}

/// Where nothing listens, the error says what to do.
#[tokio::test]
async fn an_unreachable_node_says_so() {
    let error =
        Node::connect(&"http://user:secret@127.0.0.1:1/key".parse().unwrap()).await.unwrap_err();

    let words = error.to_string();
    assert!(words.contains("127.0.0.1:1") && words.contains("check the URL"), "{words}");
    assert!(
        !words.contains("secret") && !words.contains("key"),
        "credentials are not shown: {words}"
    );
}

#[test]
fn a_folder_without_a_chain_says_how_to_build_it() {
    let folder = tempfile::tempdir().unwrap();

    let error = LocalChain::start(&LocalFiles::at(folder.path())).unwrap_err();

    assert!(error.to_string().contains("make devchain"), "{error}");
}

#[tokio::test]
async fn a_stranger_has_no_code_and_is_named() -> Result<()> {
    let stage = Stage::open().await?;

    let error = stage.node().require("a thing", Address::repeat_byte(1)).await.unwrap_err();

    assert!(error.to_string().contains("a thing") && error.to_string().contains("8453"), "{error}");
    Ok(())
}

/// X4: a contract may revert with any words, and so may the line to a node speak: those of a contract are its own, and nobody waits
/// because of them.
#[tokio::test]
async fn a_contract_that_speaks_of_limits_has_reverted_and_is_not_asked_again() -> Result<()> {
    let stage = Stage::open().await?;
    let proxy = Proxy::before(stage.chain().url(), Duration::ZERO).await?;
    let node = Node::connect(proxy.url()).await?;
    let target = Address::repeat_byte(0xba);
    // Error("rate limit: try again in 300s"): its bytes follow the code, which reverts with them.
    let said = Revert::from("rate limit: try again in 300s").abi_encode();
    let length = u8::try_from(said.len())?;
    let code = [&[0x60, length, 0x60, 0x0b, 0x5f, 0x39, 0x60, length, 0x5f, 0xfd, 0x00][..], &said];
    stage.node().provider().anvil_set_code(target, code.concat().into()).await?;
    let _ = proxy.requests();

    let asked = timeout(
        Duration::from_secs(20),
        node.read(target, Erc20::balanceOfCall { account: target }),
    );
    let fault = asked.await?.err().context("it answered")?;

    let words = format!("{:#}", anyhow::Error::from(fault));
    ensure!(words.contains("rate limit"), "{words}");
    ensure!(proxy.requests() <= 2, "it was asked again");
    Ok(())
}

/// ATK-35: whoever has no time is asked a few times, not for an hour; what he says beside it is not passed on.
#[tokio::test]
async fn a_node_that_has_no_time_is_asked_a_few_times_and_not_quoted() -> Result<()> {
    let stage = Stage::open().await?;
    let proxy = Proxy::before(stage.chain().url(), Duration::ZERO).await?;
    proxy.fail("eth_chainId", 3, Fault::TooMany);
    let _node = Node::connect(proxy.url()).await?;
    assert_eq!(proxy.failed(), 3, "three times no, and then yes");

    proxy.fail("eth_chainId", 1_000, Fault::TooMany);
    let away = timeout(Duration::from_secs(30), Node::connect(proxy.url())).await?;

    let Err(fault @ ChainFault::Busy { .. }) = away else { bail!("{:?}", away.map(|_| ())) };
    let words = format!("{:#}", anyhow::Error::from(fault));
    ensure!(words.contains("429") && words.contains("wait a while"), "{words}");
    ensure!(!words.contains("0123456789abcdef"), "{words}");
    Ok(())
}
