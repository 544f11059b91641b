// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {PriceAggregator} from "../../local/PriceAggregator.sol";
import {ReplicantBudgetEnforcer} from "../../src/enforcers/ReplicantBudgetEnforcer.sol";
import {IToken} from "../../src/interfaces/ITokens.sol";
import {SINGLE_DEFAULT} from "../../src/interfaces/ModeCode.sol";
import {Role} from "../../src/rules/Actions.sol";
import {CharterTest} from "../CharterTest.sol";
import {TestBase} from "../TestBase.sol";

/// @notice Replicants of two parents under two managers, whose grants are signed anew at any time. A ledger
///         of what each was let spend says what it may spend still.
contract ReplicantLives is CharterTest {
    struct Grant {
        uint8 replicant;
        uint64 budget;
        uint40 notAfter;
    }

    /// @notice The first broken promise, if any.
    string public broken;
    uint256 public accepted;
    uint256 public refused;

    ReplicantBudgetEnforcer private immutable RULE = new ReplicantBudgetEnforcer();
    PriceAggregator private immutable FEED;
    bytes private _listing;
    Grant[4] private _grants;
    uint256 private _now = NOW;
    /// @dev By manager, parent and Replicant: everything it ever spent.
    mapping(uint8 manager => mapping(uint8 parent => mapping(uint8 replicant => uint256[]))) private
        _ledger;

    constructor() {
        vm.warp(_now);
        FEED = new PriceAggregator("", 8, address(this));
        FEED.set(1e8);
        Law memory law;
        law.tokens = bytes.concat(
            token(address(USDC), address(FEED), 6), token(address(WETH), address(FEED), 6)
        );
        law.targets =
            bytes.concat(target(ROUTER_02, Role.SwapRouter02), target(address(USDC), Role.Token));
        _listing = listing(law);
        for (uint8 i = 0; i < 4; i++) {
            _grants[i] = Grant(i % 3, 100e6, NOW + 30 days);
        }
    }

    function spend(uint8 which, uint8 manager, uint8 parent, uint64 amount) external {
        _spend(which, manager % 2, parent % 2, within(amount, 1, 150e6));
    }

    /// @dev All that is left by the ledger, or a micro-dollar more.
    function spendTheRest(uint8 which, uint8 manager, uint8 parent, bool more) external {
        Grant memory grant = _grants[which % 4];
        uint256 spent = _sum(_ledger[manager % 2][parent % 2][grant.replicant]);
        uint256 left = spent < grant.budget ? grant.budget - spent : 0;
        if (more) left += 1;
        if (left != 0) _spend(which, manager % 2, parent % 2, left);
    }

    /// @dev Nothing that counts: only its life may be over.
    function approve(uint8 which, uint8 manager, uint8 parent) external {
        bytes memory data = abi.encodeCall(IToken.approve, (ROUTER_02, 1e30));
        _act(which, manager % 2, parent % 2, single(address(USDC), data), 0);
    }

    function grantAnew(uint8 which, uint8 replicant, uint64 budget, uint32 life) external {
        _grants[which % 4] = Grant(
            replicant % 3,
            uint64(within(budget, 0, 400e6)),
            uint40(within(life, _now, _now + 20 days))
        );
    }

    /// @dev Sometimes to the last second of a grant, or one past it.
    function wait(uint32 time, uint8 which, uint8 kind) external {
        uint256 last = _grants[which % 4].notAfter;
        if (kind % 3 == 0 && last > _now) _now = last;
        else if (kind % 3 == 1 && last >= _now) _now = last + 1;
        else _now += within(time, 0, 2 days);
        vm.warp(_now);
        FEED.set(1e8);
    }

    function booksAgree() external view returns (bool) {
        for (uint8 manager = 0; manager < 2; manager++) {
            for (uint8 parent = 0; parent < 2; parent++) {
                for (uint8 i = 0; i < 3; i++) {
                    uint256 kept = RULE.spentBy(_managerOf(manager), _parentOf(parent), _idOf(i));
                    if (kept != _sum(_ledger[manager][parent][i])) return false;
                }
            }
        }
        return true;
    }

    function _spend(uint8 which, uint8 manager, uint8 parent, uint256 amount) private {
        _act(which, manager, parent, single(ROUTER_02, sellUsdc(amount, 0, address(9))), amount);
    }

    function _act(uint8 which, uint8 manager, uint8 parent, bytes memory execution, uint256 amount)
        private
    {
        vm.warp(_now);
        Grant memory grant = _grants[which % 4];
        uint256[] storage ledger = _ledger[manager][parent][grant.replicant];
        bool allowed =
            _now <= grant.notAfter && (amount == 0 || _sum(ledger) + amount <= grant.budget);
        bytes memory terms =
            abi.encodePacked(_idOf(grant.replicant), grant.budget, grant.notAfter, _listing);

        vm.prank(_managerOf(manager));
        try RULE.beforeHook(
            terms, "", SINGLE_DEFAULT, execution, 0, _parentOf(parent), address(0)
        ) {
            if (!allowed) {
                broken =
                    "allowed what the ledger refuses";
            }
            ledger.push(amount);
            accepted++;
        } catch {
            if (allowed) broken = "refused what the ledger allows";
            refused++;
        }
    }

    function _sum(uint256[] storage ledger) private view returns (uint256 sum) {
        for (uint256 i = 0; i < ledger.length; i++) {
            sum += ledger[i];
        }
    }

    function _managerOf(uint8 which) private pure returns (address) {
        return which == 0 ? address(MANAGER) : address(0x111);
    }

    function _parentOf(uint8 which) private pure returns (address) {
        return which == 0 ? address(0xa1) : address(0xa2);
    }

    function _idOf(uint8 which) private pure returns (bytes32) {
        return keccak256(abi.encode("replicant", which));
    }
}

contract ReplicantBudgetInvariantTest is TestBase {
    struct Selectors {
        address addr;
        bytes4[] selectors;
    }

    ReplicantLives private _lives;

    function setUp() public {
        _lives = new ReplicantLives();
    }

    /// @dev Asked by forge: whom to call.
    function targetContracts() public view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = address(_lives);
    }

    /// @dev Asked by forge: what to call.
    function targetSelectors() public view returns (Selectors[] memory targets) {
        targets = new Selectors[](1);
        targets[0].addr = address(_lives);
        targets[0].selectors = new bytes4[](5);
        targets[0].selectors[0] = ReplicantLives.spend.selector;
        targets[0].selectors[1] = ReplicantLives.spendTheRest.selector;
        targets[0].selectors[2] = ReplicantLives.approve.selector;
        targets[0].selectors[3] = ReplicantLives.grantAnew.selector;
        targets[0].selectors[4] = ReplicantLives.wait.selector;
    }

    /// @dev ATK-31: no sequence of grants gives more than the largest of them.
    function invariant_every_verdict_is_the_ledgers() public view {
        vm.assertEq(_lives.broken(), "", "broken promise");
        vm.assertTrue(_lives.booksAgree(), "books");
    }

    /// @dev A walk that only ever gets one answer would prove nothing.
    function test_the_walk_is_accepted_and_refused() public {
        _lives.spendTheRest(0, 0, 0, true);
        _lives.spendTheRest(0, 0, 0, false);
        vm.assertEq(_lives.refused(), 1, "more than the budget");
        vm.assertEq(_lives.accepted(), 1, "the budget");
        _lives.wait(0, 0, 0);
        _lives.approve(0, 0, 0);
        vm.assertEq(_lives.accepted(), 2, "in its last second");
        _lives.wait(0, 0, 1);
        _lives.approve(0, 0, 0);
        vm.assertEq(_lives.refused(), 2, "and after it");
    }
}
