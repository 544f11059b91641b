// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {ThresholdEnforcer} from "../../src/enforcers/ThresholdEnforcer.sol";
import {SINGLE_DEFAULT} from "../../src/interfaces/ModeCode.sol";
import {TestBase} from "../TestBase.sol";

/// @notice Five members of whom three must agree, two managers, two delegations and a clock. Agreements are
///         made, kept, and handed in once, twice, late, or for something else than they are for.
contract ThresholdHandler is TestBase {
    struct Agreement {
        address manager;
        bytes32 hash;
        bytes execution;
        uint256 nonce;
        uint40 deadline;
        bytes args;
        /// @dev Three different members, in order.
        bool enough;
    }

    ThresholdEnforcer private immutable ENFORCER = new ThresholdEnforcer();

    uint256 public accepted;
    uint256 public refused;
    /// @notice The first broken promise, if any.
    string public broken;

    bytes private _terms = abi.encodePacked(uint8(3));
    Actor[] private _members;
    Agreement[] private _agreements;
    mapping(bytes32 managerHashNonce => bool) private _used;
    bytes32[] private _usedKeys;
    uint256 private _now = 1_767_225_600;

    constructor() {
        Actor[] memory all = new Actor[](5);
        for (uint256 i = 0; i < all.length; i++) {
            all[i] = actor(string.concat("member ", vm.toString(i)));
            for (uint256 j = i; j > 0 && all[j].account < all[j - 1].account; j--) {
                (all[j], all[j - 1]) = (all[j - 1], all[j]);
            }
        }
        for (uint256 i = 0; i < all.length; i++) {
            _members.push(all[i]);
            _terms = bytes.concat(_terms, bytes20(all[i].account));
        }
    }

    function distinctNonces() external view returns (uint256) {
        return _usedKeys.length;
    }

    function wait(uint256 seconds_) external {
        _now += within(seconds_, 0, 2 hours);
    }

    /// @dev To the last second of an agreement, or the one after it.
    function waitForTheEdge(uint256 which, bool after_) external {
        if (_agreements.length == 0) return;
        uint256 edge = _agreements[which % _agreements.length].deadline;
        if (after_) edge++;
        if (edge > _now) _now = edge;
    }

    /// @dev Half of the time by three in order; else by any three.
    function agree(uint256 seed, uint256 chosen, bool inOrder) external {
        Agreement memory made;
        made.manager = _manager(seed);
        made.hash = _hash(seed);
        made.execution = abi.encode((seed >> 8) % 3);
        // Few of them, so that they meet; on both sides of a page's edge.
        made.nonce = 254 + (seed >> 16) % 5;
        made.deadline = uint40(within(seed >> 32, _now, _now + 1 hours));
        uint256[3] memory who = [chosen % 5, (chosen >> 8) % 5, (chosen >> 16) % 5];
        if (inOrder) who = [chosen % 2, 2, 3 + (chosen >> 8) % 2];
        made.enough = who[0] < who[1] && who[1] < who[2];
        bytes32 digest = ENFORCER.digestOf(
            made.manager, made.hash, SINGLE_DEFAULT, made.execution, made.nonce, made.deadline
        );
        made.args = abi.encodePacked(
            made.nonce,
            made.deadline,
            signed(_members[who[0]], digest),
            signed(_members[who[1]], digest),
            signed(_members[who[2]], digest)
        );
        _agreements.push(made);
    }

    /// @dev For what it is for.
    function redeem(uint256 which) external {
        if (_agreements.length == 0) return;
        Agreement memory made = _agreements[which % _agreements.length];
        _redeem(made, made.manager, made.hash, made.execution);
    }

    /// @dev The newest, which is often still good.
    function redeemNewest() external {
        if (_agreements.length == 0) return;
        Agreement memory made = _agreements[_agreements.length - 1];
        _redeem(made, made.manager, made.hash, made.execution);
    }

    /// @dev For whatever it may be.
    function redeemForAnother(uint256 which, uint256 seed) external {
        if (_agreements.length == 0) return;
        bytes memory execution = abi.encode((seed >> 8) % 3);
        _redeem(_agreements[which % _agreements.length], _manager(seed), _hash(seed), execution);
    }

    function _redeem(Agreement memory made, address manager, bytes32 hash, bytes memory execution)
        private
    {
        bytes32 key = keccak256(abi.encode(manager, hash, made.nonce));
        bool meant = manager == made.manager && hash == made.hash
            && keccak256(execution) == keccak256(made.execution);
        bool good = made.enough && meant && _now <= made.deadline && !_used[key];
        if (ENFORCER.isNonceUsed(manager, hash, made.nonce) != _used[key]) {
            broken = "a nonce is not what it was";
        }

        vm.warp(_now);
        vm.prank(manager);
        try ENFORCER.beforeHook(
            _terms, made.args, SINGLE_DEFAULT, execution, hash, address(0), address(0)
        ) {
            if (!good) broken = "accepted";
            if (!_used[key]) _usedKeys.push(key);
            _used[key] = true;
            accepted++;
        } catch {
            if (good) broken = "refused";
            refused++;
        }
    }

    function _manager(uint256 seed) private pure returns (address) {
        return seed & 1 == 0 ? address(0xa1) : address(0xa2);
    }

    function _hash(uint256 seed) private pure returns (bytes32) {
        return seed & 2 == 0 ? keccak256("one") : keccak256("other");
    }
}

contract ThresholdInvariantTest is TestBase {
    ThresholdHandler private _handler;

    function setUp() public {
        _handler = new ThresholdHandler();
    }

    /// @dev Asked by forge: what to call.
    function targetContracts() public view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = address(_handler);
    }

    /// @dev ATK-01, ATK-03. Whatever was accepted, three members had signed for exactly that, in time, and
    ///      it had not been done; and whatever was so was accepted.
    /// forge-config: default.invariant.runs = 128
    /// forge-config: default.invariant.depth = 96
    function invariant_only_what_was_agreed_to_happens_and_once() public view {
        vm.assertEq(_handler.broken(), "", "broken promise");
        vm.assertEq(_handler.accepted(), _handler.distinctNonces(), "one for each nonce");
    }
}
