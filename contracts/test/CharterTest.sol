// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {IGolemCharterEnforcer} from "../src/interfaces/IGolemCharterEnforcer.sol";
import {Caveat, Delegation, Execution} from "../src/interfaces/IDelegationManager.sol";
import {ISwapRouter02} from "../src/interfaces/IUniswapV3.sol";
import {BATCH_DEFAULT, SINGLE_DEFAULT} from "../src/interfaces/ModeCode.sol";
import {GolemRegistry} from "../src/registry/GolemRegistry.sol";
import {Class, Role} from "../src/rules/Actions.sol";
import {DevchainTest} from "./DevchainTest.sol";

/// @notice What tests read of a token, and how the faucet makes one.
interface ITestToken {
    function balanceOf(address account) external view returns (uint256);
    function allowance(address owner, address spender) external view returns (uint256);
    function approve(address spender, uint256 amount) external returns (bool);
    function transfer(address to, uint256 amount) external returns (bool);
    function mint(address to, uint256 amount) external returns (bool);
}

/// @notice Setter of the local chain's feeds.
interface ITestFeed {
    function aggregator() external view returns (address);
    function set(int256 answer) external;
}

/// @notice A Golem under a charter on the real contracts: real manager, real account, real router.
abstract contract CharterTest is DevchainTest {
    /// @dev Every field of a charter's terms; {encode} packs them.
    struct Law {
        bytes32 golemId;
        address owner;
        uint16 epoch;
        uint32 generation;
        address registry;
        address account;
        address beneficiary;
        address agentKey;
        uint16 flags;
        uint32 classes;
        uint40 start;
        uint40 end;
        uint64 spendCap;
        uint16 bucketMinutes;
        uint16 slippageBps;
        address vault;
        uint16 navBps;
        uint64 navCap;
        uint32 staleness;
        uint48 gasCeiling;
        uint48 gasDailyCap;
        address sequencerFeed;
        uint32 sequencerGrace;
        address settlementAsset;
        /// @dev Between header and listing, as `flags` name them.
        bytes sections;
        bytes tokens;
        bytes targets;
    }

    address internal constant FAUCET = 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266;
    ITestToken internal constant USDC = ITestToken(0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913);
    ITestToken internal constant WETH = ITestToken(0x4200000000000000000000000000000000000006);
    address internal constant ROUTER_02 = 0x2626664c2603336E57B271c5C0b26F421741e481;
    address internal constant POSITIONS = 0x03a520b32C04BF3bEEf7BEb72E919cf822Ed34f1;
    /// @dev A bit for each class there is; none for {Class.None}.
    uint32 internal constant ALL_CLASSES = uint32((1 << (uint256(type(Class).max) + 1)) - 2);
    /// @dev Flags of a charter.
    uint16 internal constant REPLICANTS = 1;
    uint16 internal constant ROYALTY = 2;
    uint16 internal constant EMOTION = 4;
    bytes32 internal constant SALT = "golem";
    uint40 internal constant NOW = 1_800_001_000;

    IGolemCharterEnforcer internal charterEnforcer;
    GolemRegistry internal registry;
    address internal ethUsd;
    address internal usdcUsd;
    address internal vault;
    address internal router;
    Actor internal agent;

    function setUp() public virtual override {
        super.setUp();
        vm.warp(NOW);
        string memory book = vm.readFile("../.devchain/book.json");
        ethUsd = vm.parseJsonAddress(book, ".eth_usd");
        usdcUsd = vm.parseJsonAddress(book, ".usdc_usd");
        vault = vm.parseJsonAddress(book, ".vault");
        router = vm.parseJsonAddress(book, ".swap_router");
        charterEnforcer =
            IGolemCharterEnforcer(vm.deployCode("GolemCharterEnforcer.sol:GolemCharterEnforcer"));
        registry = new GolemRegistry();
        agent = actor("agent");
    }

    /// @dev A Golem of `from`, registered and Thriving, whose account holds 10,000 USDC and 10 ETH and
    ///      lets the router pull; and the charter most tests start from.
    function golem(Owner memory from) internal returns (Law memory made) {
        address human = from.signers[0].account;
        vm.prank(human);
        bytes32 golemId = registry.register(SALT, agent.account);
        vm.prank(FAUCET);
        USDC.mint(from.account, 10_000e6);
        vm.deal(from.account, 10 ether);
        vm.prank(from.account);
        USDC.approve(ROUTER_02, type(uint256).max);
        made = Law({
            golemId: golemId,
            owner: human,
            epoch: 1,
            generation: registry.generationOf(human),
            registry: address(registry),
            account: from.account,
            beneficiary: human,
            agentKey: agent.account,
            flags: 0,
            classes: ALL_CLASSES,
            start: NOW,
            end: NOW + 7 days,
            spendCap: 1_000e6,
            bucketMinutes: 120,
            slippageBps: 100,
            vault: vault,
            navBps: 1_000,
            navCap: 500e6,
            staleness: 30 days,
            gasCeiling: 50_000_000,
            gasDailyCap: 10_000_000,
            sequencerFeed: address(0),
            sequencerGrace: 0,
            settlementAsset: address(USDC),
            sections: "",
            tokens: bytes.concat(
                token(address(USDC), usdcUsd, 6), token(address(WETH), ethUsd, 18)
            ),
            targets: bytes.concat(
                target(ROUTER_02, Role.SwapRouter02),
                target(POSITIONS, Role.PositionManager),
                target(vault, Role.Vault),
                target(agent.account, Role.AgentKey)
            )
        });
    }

    /// @dev A token that may be called, with a feed that is good for a month.
    function token(address at, address feed, uint8 decimals) internal pure returns (bytes memory) {
        return token(at, feed, decimals, 8, 30 days);
    }

    function token(address at, address feed, uint8 decimals, uint8 feedDecimals, uint32 maxAge)
        internal
        pure
        returns (bytes memory)
    {
        Role role = at == address(WETH) ? Role.Weth : Role.Token;
        return abi.encodePacked(at, uint8(role), feed, decimals, feedDecimals, maxAge);
    }

    function target(address at, Role role) internal pure returns (bytes memory) {
        return abi.encodePacked(at, uint8(role));
    }

    function encode(Law memory c) internal pure returns (bytes memory) {
        bytes memory who = abi.encodePacked(
            c.golemId, c.owner, c.epoch, c.generation, c.bucketMinutes, c.slippageBps, c.navBps
        );
        bytes memory parties = abi.encodePacked(
            c.account, c.spendCap, c.staleness, c.beneficiary, c.start, c.end, c.flags
        );
        bytes memory rest =
            abi.encodePacked(c.agentKey, c.navCap, c.classes, c.vault, c.gasCeiling, c.gasDailyCap);
        bytes memory last = abi.encodePacked(c.registry, c.settlementAsset, c.sections);
        return bytes.concat(who, parties, rest, last, listing(c));
    }

    /// @dev Section of flag {ROYALTY}.
    function royaltySection(uint16 maxBps) internal pure returns (bytes memory) {
        return abi.encodePacked(maxBps);
    }

    /// @dev Section of flag {EMOTION}.
    function emotionSection(int8 pleasure, int8 arousal, int8 dominance, uint32 classes)
        internal
        pure
        returns (bytes memory)
    {
        return abi.encodePacked(pleasure, arousal, dominance, classes);
    }

    /// @dev What the separate enforcers have at the end of their terms too.
    function listing(Law memory c) internal pure returns (bytes memory) {
        return abi.encodePacked(
            c.sequencerFeed,
            c.sequencerGrace,
            uint8(c.tokens.length / 47),
            uint8(c.targets.length / 21),
            c.tokens,
            c.targets
        );
    }

    function grant(Owner memory from, Law memory c) internal view returns (Delegation memory) {
        return root(from, c.agentKey, only(address(charterEnforcer), encode(c)));
    }

    function sellUsdc(uint256 amount, uint256 minimum, address recipient)
        internal
        pure
        returns (bytes memory)
    {
        return abi.encodeCall(
            ISwapRouter02.exactInputSingle,
            (ISwapRouter02.ExactInputSingleParams({
                    tokenIn: address(USDC),
                    tokenOut: address(WETH),
                    fee: 500,
                    recipient: recipient,
                    amountIn: amount,
                    amountOutMinimum: minimum,
                    sqrtPriceLimitX96: 0
                }))
        );
    }

    /// @dev 99 % of what the feeds say `usdc` buys at 2,500 dollars an ether: the bound exactly.
    function atTheBound(uint256 usdc) internal pure returns (uint256) {
        return usdc * 1e12 / 2500 * 99 / 100;
    }

    function setPrice(address feed, int256 answer) internal {
        address aggregator = ITestFeed(feed).aggregator();
        vm.prank(FAUCET);
        ITestFeed(aggregator).set(answer);
    }

    function act(Delegation memory leaf, address to, bytes memory data) internal {
        redeem(agent.account, leaf, SINGLE_DEFAULT, single(to, data));
    }

    function actBatch(Delegation memory leaf, Execution[] memory calls) internal {
        redeem(agent.account, leaf, BATCH_DEFAULT, abi.encode(calls));
    }
}
