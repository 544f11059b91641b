// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {GolemState, GolemWord, GolemWords} from "../../src/registry/GolemWord.sol";
import {Actions, Class} from "../../src/rules/Actions.sol";
import {EmotionalState, Mood, MoodBounds} from "../../src/rules/EmotionalState.sol";
import {HiddenCalls} from "../../src/rules/HiddenCalls.sol";
import {TestBase} from "../TestBase.sol";

/// @dev An internal library is judged through a contract that calls it.
contract MoodRule {
    function requireBounds(MoodBounds calldata bounds) external pure {
        EmotionalState.requireBounds(bounds);
    }

    function requireSelectors(bytes calldata selectors) external pure {
        EmotionalState.requireSelectors(selectors);
    }

    function isCalm(Mood calldata mood) external pure returns (bool) {
        return EmotionalState.isCalm(mood);
    }

    function isListed(bytes calldata selectors, bytes4 selector) external pure returns (bool) {
        return EmotionalState.isListed(selectors, selector);
    }

    function requireClasses(uint256 classes) external pure {
        EmotionalState.requireClasses(classes);
    }

    function checkClass(Mood calldata mood, uint256 classes, Class class) external pure {
        EmotionalState.checkClass(mood, classes, class);
    }

    function checkCall(Mood calldata mood, bytes calldata selectors, bytes calldata data)
        external
        pure
    {
        EmotionalState.checkCall(mood, selectors, address(0x7a), data);
    }
}

// forge-lint: disable-start(unsafe-typecast)
// What is narrowed here was drawn, and any value of it will do.

contract EmotionalStateTest is TestBase {
    address private constant TARGET = address(0x7a);
    bytes4 private constant LISTED = 0x11223344;
    bytes4 private constant OTHER = 0x55667788;
    uint40 private constant NOW = 1_800_000_000;

    MoodRule private _rule;

    function setUp() public {
        _rule = new MoodRule();
    }

    // Terms

    function test_bounds_are_moods() public {
        int8[6] memory tried = [int8(-100), 100, 0, -101, 101, type(int8).min];
        for (uint256 i = 0; i < tried.length; i++) {
            for (uint256 field = 0; field < 3; field++) {
                MoodBounds memory bounds;
                if (field == 0) bounds.minPleasure = tried[i];
                else if (field == 1) bounds.maxArousal = tried[i];
                else bounds.minDominance = tried[i];
                if (i > 2) {
                    vm.expectRevert(
                        abi.encodeWithSelector(
                            EmotionalState.EmotionalState_Bound.selector, tried[i]
                        )
                    );
                }
                _rule.requireBounds(bounds);
            }
        }
    }

    function test_a_list_has_one_to_255_whole_selectors() public {
        for (uint256 length = 0; length <= 1_025; length++) {
            bool whole = length % 4 == 0 && length != 0 && length <= 1_020;
            if (!whole) {
                vm.expectRevert(
                    abi.encodeWithSelector(EmotionalState.EmotionalState_Selectors.selector, length)
                );
            }
            _rule.requireSelectors(new bytes(length));
        }
    }

    function testFuzz_a_selector_is_listed_at_its_place_and_not_across_two(
        bytes4[] memory list,
        bytes4 sought,
        uint256 at
    ) public view {
        vm.assume(list.length > 1);
        bytes memory selectors = "";
        for (uint256 i = 0; i < list.length; i++) {
            selectors = bytes.concat(selectors, list[i]);
        }
        bool there = false;
        for (uint256 i = 0; i < list.length; i++) {
            there = there || list[i] == sought;
        }
        vm.assertEq(_rule.isListed(selectors, sought) ? 1 : 0, there ? 1 : 0, "sought");
        vm.assertTrue(_rule.isListed(selectors, list[at % list.length]), "each one");

        // Bytes of two neighbours.
        at = at % (list.length - 1);
        bytes4 across = bytes4((list[at] << 8) | (list[at + 1] >> 24));
        there = false;
        for (uint256 i = 0; i < list.length; i++) {
            there = there || list[i] == across;
        }
        vm.assertEq(_rule.isListed(selectors, across) ? 1 : 0, there ? 1 : 0, "across");
    }

    function testFuzz_classes_are_one_at_least_and_known(uint256 classes) public {
        if (classes % 2 == 0) classes &= 0x3fffe;
        if (classes == 0 || (classes | 0x3fffe) != 0x3fffe) {
            vm.expectRevert(
                abi.encodeWithSelector(EmotionalState.EmotionalState_Classes.selector, classes)
            );
        }
        _rule.requireClasses(classes);
    }

    /// @dev In words of its own, a class instead of a selector; news first, as there.
    function test_a_bound_class_is_refused_and_no_other() public {
        Mood memory sad = _mood(-21, 30, -10, NOW);
        Mood memory old = _mood(-20, 30, -10, NOW - 61);
        for (uint8 bound = 1; bound <= uint8(type(Class).max); bound++) {
            for (uint8 class = 0; class <= uint8(type(Class).max); class++) {
                if (class == bound) {
                    vm.expectRevert(
                        abi.encodeWithSelector(
                            EmotionalState.EmotionalState_ClassOutOfBounds.selector,
                            class,
                            int8(-21),
                            int8(30),
                            int8(-10)
                        )
                    );
                }
                _rule.checkClass(sad, 1 << bound, Class(class));
                if (class == bound) {
                    vm.expectRevert(
                        abi.encodeWithSelector(
                            EmotionalState.EmotionalState_ClassStale.selector,
                            class,
                            NOW - 61,
                            NOW,
                            60
                        )
                    );
                }
                _rule.checkClass(old, 1 << bound, Class(class));
            }
        }
    }

    // Mood

    function testFuzz_calm_is_within_every_bound_and_not_long_ago(
        int8[3] memory pad,
        int8[3] memory bound,
        uint32 staleness,
        uint40 updatedAt,
        uint40 nowAt
    ) public view {
        for (uint256 i = 0; i < 3; i++) {
            (pad[i], bound[i]) = (pad[i] % 101, bound[i] % 101);
        }
        Mood memory mood = Mood(
            _word(pad[0], pad[1], pad[2], updatedAt),
            MoodBounds(bound[0], bound[1], bound[2], staleness),
            nowAt
        );

        bool within_ = pad[0] >= bound[0] && pad[1] <= bound[1] && pad[2] >= bound[2];
        bool news = uint256(updatedAt) + staleness >= nowAt;
        vm.assertEq(_rule.isCalm(mood) ? 1 : 0, within_ && news ? 1 : 0, "calm");
    }

    function test_each_bound_holds_at_itself_and_not_past_it() public view {
        vm.assertTrue(_rule.isCalm(_mood(-20, 30, -10, NOW)), "at all bounds");
        vm.assertFalse(_rule.isCalm(_mood(-21, 30, -10, NOW)), "sadder");
        vm.assertFalse(_rule.isCalm(_mood(-20, 31, -10, NOW)), "wilder");
        vm.assertFalse(_rule.isCalm(_mood(-20, 30, -11, NOW)), "weaker");
        vm.assertTrue(_rule.isCalm(_mood(-20, 30, -10, NOW - 60)), "as old as may be");
        vm.assertFalse(_rule.isCalm(_mood(-20, 30, -10, NOW - 61)), "older");
        vm.assertTrue(_rule.isCalm(_mood(-20, 30, -10, NOW + 1)), "of a later second");
    }

    // Calls

    function test_a_listed_call_is_refused_with_the_mood_it_is_refused_for() public {
        vm.expectRevert(_outOfBounds(LISTED));
        _rule.checkCall(_mood(-90, 80, -70, NOW), _list(), abi.encodePacked(LISTED, "arguments"));
        vm.expectRevert(
            abi.encodeWithSelector(
                EmotionalState.EmotionalState_Stale.selector, LISTED, NOW - 61, NOW, 60
            )
        );
        _rule.checkCall(_mood(-90, 80, -70, NOW - 61), _list(), abi.encodePacked(LISTED));
        _rule.checkCall(_panic(), _list(), abi.encodePacked(OTHER, LISTED));
    }

    /// @dev ATK-16: INV-4 for what has too few bytes, and a place in the list for a payment.
    function test_calldata_without_a_selector() public {
        for (uint256 length = 1; length < 4; length++) {
            vm.expectRevert(_noSelector(length));
            _rule.checkCall(_panic(), _list(), new bytes(length));
        }
        _rule.checkCall(_panic(), _list(), "");
        vm.expectRevert(_outOfBounds(bytes4(0)));
        _rule.checkCall(_panic(), bytes.concat(LISTED, bytes4(0)), "");
    }

    /// @dev ATK-18.
    function testFuzz_a_multicall_is_all_of_its_calls(
        uint8 form,
        uint256 condition,
        uint8 count,
        uint256 at,
        bytes4 selector,
        bytes memory rest
    ) public {
        vm.assume(selector != LISTED && selector != 0xdeadbeef && !_isSpecial(selector));
        bytes[] memory inner = new bytes[](within(count, 1, 8));
        for (uint256 i = 0; i < inner.length; i++) {
            inner[i] = abi.encodePacked(selector, rest);
        }
        _rule.checkCall(_panic(), _list(), _multicall(form, condition, inner));

        inner[at % inner.length] = abi.encodePacked(LISTED, rest);
        vm.expectRevert(_outOfBounds(LISTED));
        _rule.checkCall(_panic(), _list(), _multicall(form, condition, inner));
    }

    function test_a_multicall_itself_can_be_listed() public {
        bytes[] memory inner = new bytes[](1);
        inner[0] = abi.encodePacked(OTHER);
        for (uint8 form = 0; form < 3; form++) {
            bytes memory data = _multicall(form, 9, inner);
            vm.expectRevert(_outOfBounds(bytes4(data)));
            _rule.checkCall(_panic(), bytes.concat(LISTED, bytes4(data)), data);
        }
    }

    /// @dev ATK-15, ATK-18: what cannot be read is refused.
    function test_a_multicall_that_cannot_be_read_is_refused() public {
        for (uint8 form = 0; form < 3; form++) {
            bytes[] memory inner = new bytes[](1);
            inner[0] = abi.encodePacked(OTHER);
            bytes memory data = _multicall(form, 9, inner);

            _rule.checkCall(_panic(), _list(), data);
            vm.expectRevert(
                abi.encodeWithSelector(Actions.Actions_NotCanonical.selector, TARGET, bytes4(data))
            );
            _rule.checkCall(_panic(), _list(), bytes.concat(data, hex"00"));
            vm.expectRevert(abi.encodeWithSelector(Actions.Actions_Multicall.selector, TARGET, 0));
            _rule.checkCall(_panic(), _list(), _multicall(form, 9, new bytes[](0)));
            inner = new bytes[](9);
            for (uint256 i = 0; i < 9; i++) {
                inner[i] = abi.encodePacked(OTHER);
            }
            vm.expectRevert(abi.encodeWithSelector(Actions.Actions_Multicall.selector, TARGET, 9));
            _rule.checkCall(_panic(), _list(), _multicall(form, 9, inner));

            inner = new bytes[](2);
            inner[0] = abi.encodePacked(OTHER);
            for (uint256 length = 0; length < 4; length++) {
                inner[1] = new bytes(length);
                vm.expectRevert(_noSelector(length));
                _rule.checkCall(_panic(), _list(), _multicall(form, 9, inner));
            }
            inner[1] = data;
            vm.expectRevert(
                abi.encodeWithSelector(Actions.Actions_UnknownCall.selector, TARGET, bytes4(data))
            );
            _rule.checkCall(_panic(), _list(), _multicall(form, 9, inner));
            inner[1] = abi.encodeWithSignature("callPositionManager(bytes)", "");
            vm.expectRevert(
                abi.encodeWithSelector(
                    HiddenCalls.HiddenCalls_Refused.selector, TARGET, bytes4(inner[1])
                )
            );
            _rule.checkCall(_panic(), _list(), _multicall(form, 9, inner));
        }
    }

    /// @dev Whatever the bytes: either refused, or neither listed nor a multicall around what is.
    function testFuzz_no_bytes_get_a_listed_call_through(
        uint8 form,
        uint256 at,
        uint8 flip,
        bytes memory rest
    ) public view {
        bytes[] memory inner = new bytes[](3);
        (inner[0], inner[1]) = (abi.encodePacked(OTHER), abi.encodePacked(LISTED, rest));
        inner[2] = rest;
        bytes memory data = _multicall(form, 9, inner);
        data[at % data.length] ^= bytes1(flip);

        try _rule.checkCall(_panic(), _list(), data) {
            if (!_isMulticall(bytes4(data))) return;
            // A Uniswap router would find these.
            bytes memory arguments = new bytes(data.length - 4);
            for (uint256 i = 0; i < arguments.length; i++) {
                arguments[i] = data[i + 4];
            }
            bytes[] memory found;
            if (bytes4(data) == 0xac9650d8) found = abi.decode(arguments, (bytes[]));
            else (, found) = abi.decode(arguments, (uint256, bytes[]));
            for (uint256 i = 0; i < found.length; i++) {
                vm.assertTrue(bytes4(found[i]) != LISTED, "a listed call");
            }
        } catch {}
    }

    function _multicall(uint8 form, uint256 condition, bytes[] memory inner)
        private
        pure
        returns (bytes memory)
    {
        if (form % 3 == 0) return abi.encodeWithSignature("multicall(bytes[])", inner);
        if (form % 3 == 1) {
            return abi.encodeWithSignature("multicall(uint256,bytes[])", condition, inner);
        }
        return abi.encodeWithSignature("multicall(bytes32,bytes[])", bytes32(condition), inner);
    }

    function _isMulticall(bytes4 selector) private pure returns (bool) {
        return selector == 0xac9650d8 || selector == 0x5ae401dc || selector == bytes4(0x1f0464d1);
    }

    function _isSpecial(bytes4 selector) private pure returns (bool) {
        return _isMulticall(selector) || HiddenCalls.isCarrier(selector);
    }

    function _list() private pure returns (bytes memory) {
        return bytes.concat(bytes4(0xdeadbeef), LISTED);
    }

    function _panic() private pure returns (Mood memory) {
        return _mood(-90, 80, -70, NOW);
    }

    function _mood(int8 pleasure, int8 arousal, int8 dominance, uint40 updatedAt)
        private
        pure
        returns (Mood memory)
    {
        return
            Mood(_word(pleasure, arousal, dominance, updatedAt), MoodBounds(-20, 30, -10, 60), NOW);
    }

    function _word(int8 pleasure, int8 arousal, int8 dominance, uint40 updatedAt)
        private
        pure
        returns (GolemWord)
    {
        GolemState memory state;
        (state.pleasure, state.arousal, state.dominance) = (pleasure, arousal, dominance);
        (state.registered, state.updatedAt) = (true, updatedAt);
        return GolemWords.pack(state);
    }

    function _outOfBounds(bytes4 selector) private pure returns (bytes memory) {
        return abi.encodeWithSelector(
            EmotionalState.EmotionalState_OutOfBounds.selector, selector, -90, 80, -70
        );
    }

    function _noSelector(uint256 length) private pure returns (bytes memory) {
        return abi.encodeWithSelector(Actions.Actions_NoSelector.selector, TARGET, length);
    }
}

// forge-lint: disable-end(unsafe-typecast)
