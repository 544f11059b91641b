// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {IDaimonOracle} from "../../src/interfaces/IDaimonOracle.sol";
import {Delegation} from "../../src/interfaces/IDelegationManager.sol";
import {IDreamOracle} from "../../src/interfaces/IDreamOracle.sol";
import {IGolemLifecycle} from "../../src/interfaces/IGolemLifecycle.sol";
import {IGolemRegistry} from "../../src/interfaces/IGolemRegistry.sol";
import {IVitalityOracle} from "../../src/interfaces/IVitalityOracle.sol";
import {Action, Actions, Class, Role} from "../../src/rules/Actions.sol";
import {TestBase} from "../TestBase.sol";

/// @dev An internal library is judged through a contract that calls it.
contract Decoder {
    function decode(Role role, address target, uint256 value, bytes calldata data)
        external
        pure
        returns (Action[] memory)
    {
        return Actions.decode(role, target, value, data);
    }

    /// @dev Gas of the decoding alone, without the call and without returning its result.
    function cost(Role role, address target, uint256 value, bytes calldata data)
        external
        view
        returns (uint256)
    {
        uint256 start = gasleft();
        Actions.decode(role, target, value, data);
        return start - gasleft();
    }
}

/// @notice One function as these tests know it: written down by hand, apart from the library and
///         from the interfaces it uses.
struct Shape {
    Role role;
    Class class;
    string signature;
    /// @dev One letter per argument: a address, b bool, e uint8, s int8, d uint16, f uint24,
    ///      t int24, h uint128, l uint160, u a full word, p a path.
    string kinds;
    /// @dev Where each argument goes: O tokenOut, o amountOut, P tokenOut2, p amountOut2,
    ///      I tokenIn, i minimumIn, 0 minimum0, 1 minimum1, R recipient, S spender, F source,
    ///      n positionId, f fee, g golemId, k entryId, c both amountOut and minimumIn, > and < the ends of a
    ///      path, L must be zero, . nowhere.
    string fields;
    /// @dev O or I where the target itself is that token.
    bytes1 own;
}

/// @notice The table of all functions, and how their calls are written.
library Shapes {
    uint256 internal constant COUNT = 35;

    function all() internal pure returns (Shape[] memory s) {
        s = new Shape[](COUNT);
        _routers(s);
        _positions(s);
        _vault(s);
        _tokens(s, 17, Role.Vault);
        _tokens(s, 20, Role.Token);
        _tokens(s, 23, Role.Weth);
        s[26] = Shape(Role.Weth, Class.Unwrap, "withdraw(uint256)", "u", "c", "O");
        s[27] = Shape(
            Role.Lifecycle,
            Class.SpawnReplicant,
            "spawnReplicant(bytes32,address,bytes32)",
            "uau",
            "g..",
            0
        );
        s[28] = Shape(Role.Lifecycle, Class.Settle, "settle(bytes32,bytes32)", "uu", "g.", 0);
        s[29] = _word("updateVitality(bytes32,uint8,uint16)", "ued", "g..");
        s[30] = _word("setDreaming(bytes32,bool)", "ub", "g.");
        s[31] = _word("updatePad(bytes32,int8,int8,int8)", "usss", "g...");
        s[32] = _word("heartbeat(bytes32,bytes32)", "uu", "g.");
        s[33] = _word("close(bytes32)", "u", "g");
        s[34] = Shape(Role.Market, Class.Sell, "sell(bytes32,address,address)", "uaa", "kF.", 0);
    }

    function _routers(Shape[] memory s) private pure {
        string memory single =
            "Single((address,address,uint24,address,uint256,uint256,uint256,uint160))";
        string memory many = "((bytes,address,uint256,uint256,uint256))";
        s[0] = _swap(Role.SwapRouter, "exactInput", single, "aafauuul", "OIfR.oi.");
        s[1] = _swap(Role.SwapRouter, "exactOutput", single, "aafauuul", "OIfR.ioL");
        s[2] = _swap(Role.SwapRouter, "exactInput", many, "pauuu", ">R.oi");
        s[3] = _swap(Role.SwapRouter, "exactOutput", many, "pauuu", "<R.io");
        single = "Single((address,address,uint24,address,uint256,uint256,uint160))";
        many = "((bytes,address,uint256,uint256))";
        s[4] = _swap(Role.SwapRouter02, "exactInput", single, "aafauul", "OIfRoi.");
        s[5] = _swap(Role.SwapRouter02, "exactOutput", single, "aafauul", "OIfRioL");
        s[6] = _swap(Role.SwapRouter02, "exactInput", many, "pauu", ">Roi");
        s[7] = _swap(Role.SwapRouter02, "exactOutput", many, "pauu", "<Rio");
    }

    function _swap(
        Role role,
        string memory name,
        string memory rest,
        string memory kinds,
        string memory fields
    ) private pure returns (Shape memory) {
        return Shape(role, Class.Swap, string.concat(name, rest), kinds, fields, 0);
    }

    function _positions(Shape[] memory s) private pure {
        s[8] = Shape(
            Role.PositionManager,
            Class.AddLiquidity,
            "mint((address,address,uint24,int24,int24,uint256,uint256,uint256,uint256,address,uint256))",
            "aafttuuuuau",
            "OPf..op01R.",
            0
        );
        s[9] = Shape(
            Role.PositionManager,
            Class.AddLiquidity,
            "increaseLiquidity((uint256,uint256,uint256,uint256,uint256,uint256))",
            "uuuuuu",
            "nop01.",
            0
        );
        s[10] = Shape(
            Role.PositionManager,
            Class.RemoveLiquidity,
            "decreaseLiquidity((uint256,uint128,uint256,uint256,uint256))",
            "uhuuu",
            "n.01.",
            0
        );
        s[11] = Shape(
            Role.PositionManager,
            Class.Collect,
            "collect((uint256,address,uint128,uint128))",
            "uahh",
            "nR..",
            0
        );
        s[12] = Shape(Role.PositionManager, Class.BurnPosition, "burn(uint256)", "u", "n", 0);
    }

    function _vault(Shape[] memory s) private pure {
        s[13] = Shape(Role.Vault, Class.Deposit, "deposit(uint256,address)", "ua", "oR", 0);
        s[14] = Shape(Role.Vault, Class.Deposit, "mint(uint256,address)", "ua", "iR", "I");
        s[15] =
            Shape(Role.Vault, Class.Withdraw, "withdraw(uint256,address,address)", "uaa", "iRF", 0);
        s[16] =
            Shape(Role.Vault, Class.Withdraw, "redeem(uint256,address,address)", "uaa", "oRF", "O");
    }

    function _tokens(Shape[] memory s, uint256 at, Role role) private pure {
        s[at] = Shape(role, Class.Transfer, "transfer(address,uint256)", "au", "Ro", "O");
        s[at + 1] =
            Shape(role, Class.Transfer, "transferFrom(address,address,uint256)", "aau", "FRo", "O");
        s[at + 2] = Shape(role, Class.Approve, "approve(address,uint256)", "au", "So", "O");
    }

    function _word(string memory signature, string memory kinds, string memory fields)
        private
        pure
        returns (Shape memory)
    {
        return Shape(Role.Registry, Class.Publish, signature, kinds, fields, 0);
    }

    function selector(Shape memory shape) internal pure returns (bytes4) {
        return bytes4(keccak256(bytes(shape.signature)));
    }

    function isPath(Shape memory shape) internal pure returns (bool) {
        return bytes(shape.kinds)[0] == "p";
    }

    /// @dev The one canonical way to write a call.
    function encode(Shape memory shape, uint256[] memory words, bytes memory path)
        internal
        pure
        returns (bytes memory data)
    {
        data = abi.encodePacked(selector(shape));
        if (!isPath(shape)) return bytes.concat(data, abi.encodePacked(words));
        words[0] = words.length * 32;
        return bytes.concat(data, bytes32(uint256(32)), abi.encodePacked(words), tail(path));
    }

    /// @dev Length, bytes, and zeros up to the next word.
    function tail(bytes memory content) internal pure returns (bytes memory) {
        return
            bytes.concat(
                bytes32(content.length), content, new bytes((32 - content.length % 32) % 32)
            );
    }

    /// @dev A list of calls, as the last argument after `head` other words.
    function encodeList(bytes[] memory calls, uint256 head) internal pure returns (bytes memory) {
        bytes memory offsets;
        bytes memory tails;
        for (uint256 i = 0; i < calls.length; i++) {
            offsets = bytes.concat(offsets, bytes32(calls.length * 32 + tails.length));
            tails = bytes.concat(tails, tail(calls[i]));
        }
        return bytes.concat(bytes32(head * 32 + 32), bytes32(calls.length), offsets, tails);
    }

    /// @dev What is left of a word in its type.
    function clean(bytes1 kind, uint256 word) internal pure returns (uint256) {
        uint256 bits = width(kind);
        if (bits == 256) return word;
        word = word % 2 ** bits;
        if ((kind != "s" && kind != "t") || word < 2 ** (bits - 1)) return word;
        return word + (type(uint256).max - (2 ** bits - 1));
    }

    /// @dev How many bits of a word its type has.
    function width(bytes1 kind) internal pure returns (uint256) {
        if (kind == "b") return 1;
        if (kind == "e" || kind == "s") return 8;
        if (kind == "d") return 16;
        if (kind == "f" || kind == "t") return 24;
        if (kind == "h") return 128;
        if (kind == "a" || kind == "l") return 160;
        return 256;
    }

    /// @dev What the call means, or that it must not be made.
    function meaning(Shape memory shape, address target, uint256[] memory words, bytes memory path)
        internal
        pure
        returns (bool ok, Action memory action)
    {
        action.class = shape.class;
        action.target = target;
        if (shape.own == "O") action.tokenOut = target;
        if (shape.own == "I") action.tokenIn = target;
        for (uint256 i = 0; i < words.length; i++) {
            bytes1 field = bytes(shape.fields)[i];
            if (field == "L" && words[i] != 0) return (false, action);
            if (field == ">" || field == "<") {
                if (path.length < 43 || path.length % 23 != 20) return (false, action);
                (action.tokenOut, action.tokenIn) =
                    field == ">" ? (_head(path), _foot(path)) : (_foot(path), _head(path));
            } else {
                _put(action, field, words[i]);
            }
        }
        ok = true;
        if (shape.class == Class.Approve && action.amountOut == 0) action.class = Class.Disapprove;
        if (shape.class == Class.Swap && action.amountOut == 0) ok = false;
        bool named = shape.class == Class.Swap || selector(shape) == 0x88316456
            || shape.class == Class.Collect;
        if (named && uint160(action.recipient) < 3) ok = false;
        // Tokens of nobody.
        if (selector(shape) == 0x23b872dd && action.source == address(0)) ok = false;
    }

    function _put(Action memory action, bytes1 field, uint256 word) private pure {
        // Addresses and fees were cleaned to their width before.
        // forge-lint: disable-next-item(unsafe-typecast)
        address account = address(uint160(word));
        if (field == "O") action.tokenOut = account;
        else if (field == "o") action.amountOut = word;
        else if (field == "P") action.tokenOut2 = account;
        else if (field == "p") action.amountOut2 = word;
        else if (field == "I") action.tokenIn = account;
        else if (field == "i") action.minimumIn = word;
        else if (field == "0") action.minimum0 = word;
        else if (field == "1") action.minimum1 = word;
        else if (field == "R") action.recipient = account;
        else if (field == "S") action.spender = account;
        else if (field == "F") action.source = account;
        else if (field == "n") action.positionId = word;
        // forge-lint: disable-next-line(unsafe-typecast)
        else if (field == "f") action.fee = uint24(word);
        else if (field == "g") action.golemId = bytes32(word);
        else if (field == "k") action.entryId = bytes32(word);
        else if (field == "c") (action.amountOut, action.minimumIn) = (word, word);
    }

    function _head(bytes memory path) private pure returns (address) {
        // The first 20 bytes are wanted.
        // forge-lint: disable-next-line(unsafe-typecast)
        return address(bytes20(path));
    }

    function _foot(bytes memory path) private pure returns (address) {
        bytes memory last = new bytes(20);
        for (uint256 i = 0; i < 20; i++) {
            last[i] = path[path.length - 20 + i];
        }
        return _head(last);
    }
}

/// @notice A second decoder, from the table. It follows offsets wherever they lead, drops dirty
///         bits and ignores what is left over, as a careless target would; then writes what it read
///         in canonical form, and lets pass only what comes out as it went in.
contract SecondReader {
    function read(Role role, address target, uint256 value, bytes calldata data)
        external
        pure
        returns (bool ok, Action[] memory actions)
    {
        actions = new Action[](1);
        if (role == Role.None) return (false, actions);
        if (role == Role.AgentKey) {
            actions[0].class = Class.GasTopUp;
            (actions[0].target, actions[0].recipient, actions[0].amountOut) =
            (target, target, value);
            return (data.length == 0, actions);
        }
        if (role == Role.Weth && keccak256(data) == keccak256(hex"d0e30db0")) {
            actions[0].class = Class.Wrap;
            (actions[0].target, actions[0].tokenIn) = (target, target);
            (actions[0].amountOut, actions[0].minimumIn) = (value, value);
            return (true, actions);
        }
        if (value != 0 || data.length < 4) return (false, actions);
        uint256 head = _listHead(role, bytes4(data[:4]));
        if (head != type(uint256).max) return _readList(role, target, head, data);
        (ok, actions[0]) = _readCall(role, target, data);
    }

    /// @dev Words before the list of a multicall, or the largest number if it is none.
    function _listHead(Role role, bytes4 selector) private pure returns (uint256) {
        bool router02 = role == Role.SwapRouter02;
        if (selector == bytes4(keccak256("multicall(bytes[])"))) {
            if (router02 || role == Role.SwapRouter || role == Role.PositionManager) return 0;
        }
        if (router02 && selector == bytes4(keccak256("multicall(uint256,bytes[])"))) return 1;
        if (router02 && selector == bytes4(keccak256("multicall(bytes32,bytes[])"))) return 1;
        return type(uint256).max;
    }

    function _readList(Role role, address target, uint256 head, bytes calldata data)
        private
        pure
        returns (bool ok, Action[] memory actions)
    {
        uint256 at = 4 + _offset(data, 4 + head * 32);
        uint256 count = _word(data, at);
        if (count == 0 || count > 8) return (false, actions);
        bytes[] memory calls = new bytes[](count);
        actions = new Action[](count);
        for (uint256 i = 0; i < count; i++) {
            bytes calldata call = _bytes(data, at + 32 + _offset(data, at + 32 + i * 32));
            calls[i] = call;
            (ok, actions[i]) = _readCall(role, target, call);
            if (!ok) return (false, actions);
        }
        bytes memory again =
            bytes.concat(data[:4], data[4:4 + head * 32], Shapes.encodeList(calls, head));
        return (keccak256(again) == keccak256(data), actions);
    }

    function _readCall(Role role, address target, bytes calldata data)
        private
        pure
        returns (bool, Action memory none)
    {
        if (data.length < 4) return (false, none);
        Shape[] memory shapes = Shapes.all();
        for (uint256 i = 0; i < shapes.length; i++) {
            if (shapes[i].role == role && Shapes.selector(shapes[i]) == bytes4(data[:4])) {
                return _readShape(shapes[i], target, data);
            }
        }
        return (false, none);
    }

    function _readShape(Shape memory shape, address target, bytes calldata data)
        private
        pure
        returns (bool ok, Action memory action)
    {
        uint256[] memory words = new uint256[](bytes(shape.kinds).length);
        bool dynamic = Shapes.isPath(shape);
        uint256 base = dynamic ? 4 + _offset(data, 4) : 4;
        for (uint256 i = 0; i < words.length; i++) {
            words[i] = Shapes.clean(bytes(shape.kinds)[i], _word(data, base + i * 32));
        }
        bytes memory path;
        if (dynamic) path = _bytes(data, base + _offset(data, base));
        if (keccak256(Shapes.encode(shape, words, path)) != keccak256(data)) {
            return (false, action);
        }
        return Shapes.meaning(shape, target, words, path);
    }

    /// @dev What leads far beyond the end leads nowhere, wherever exactly.
    function _offset(bytes calldata data, uint256 at) private pure returns (uint256 offset) {
        offset = _word(data, at);
        if (offset > 2 ** 32) offset = 2 ** 32;
    }

    /// @dev Beyond the end there are zeros.
    function _word(bytes calldata data, uint256 at) private pure returns (uint256) {
        if (at + 32 > data.length) return 0;
        return uint256(bytes32(data[at:at + 32]));
    }

    function _bytes(bytes calldata data, uint256 at) private pure returns (bytes calldata) {
        uint256 length = _word(data, at);
        if (at > 2 ** 32 || length > data.length || at + 32 + length > data.length) {
            return data[:0];
        }
        return data[at + 32:at + 32 + length];
    }
}

/// @notice Calls made up from the table and a seed.
abstract contract Sampler is TestBase {
    address internal constant TARGET = address(0x7A26E7);

    /// @dev A number that depends on the seed and on what it is for.
    function _random(uint256 seed, uint256 purpose) internal pure returns (uint256) {
        return uint256(keccak256(abi.encode(seed, purpose)));
    }

    /// @dev Any value of its kind; edges as often as all others.
    function _value(bytes1 kind, uint256 seed) internal pure returns (uint256) {
        uint256 choice = seed % 8;
        uint256 any = _random(seed, 1);
        if (choice == 0) any = 0;
        else if (choice == 1) any = 1;
        else if (choice == 2) any = type(uint256).max;
        else if (choice == 3) any = kind == "s" ? 2 ** 7 : 2 ** 23;
        return Shapes.clean(kind, any);
    }

    /// @dev Arguments that nobody has a reason to refuse.
    function _words(Shape memory shape, uint256 seed)
        internal
        pure
        returns (uint256[] memory words)
    {
        words = new uint256[](bytes(shape.kinds).length);
        for (uint256 i = 0; i < words.length; i++) {
            bytes1 field = bytes(shape.fields)[i];
            words[i] = _value(bytes(shape.kinds)[i], _random(seed, 100 + i));
            if (field == "L") words[i] = 0;
            if (field == "R" && words[i] < 3) words[i] += 3;
            if ((field == "o" || field == "F") && words[i] == 0) words[i] = 1;
        }
    }

    function _path(uint256 seed) internal pure returns (bytes memory path) {
        path = abi.encodePacked(bytes20(bytes32(_random(seed, 10))));
        for (uint256 i = 0; i <= seed % 4; i++) {
            path = bytes.concat(path, bytes23(bytes32(_random(seed, 11 + i))));
        }
    }

    function _call(Shape memory shape, uint256 seed) internal pure returns (bytes memory) {
        return Shapes.encode(shape, _words(shape, seed), _path(seed));
    }

    function _isMulticaller(Role role) internal pure returns (bool) {
        return role == Role.SwapRouter || role == Role.SwapRouter02 || role == Role.PositionManager;
    }

    /// @dev A multicall in form 0, 1 or 2.
    function _multicall(uint256 form, uint256 condition, bytes[] memory calls)
        internal
        pure
        returns (bytes memory)
    {
        if (form == 0) {
            return
                bytes.concat(bytes4(keccak256("multicall(bytes[])")), Shapes.encodeList(calls, 0));
        }
        bytes4 selector = form == 1
            ? bytes4(keccak256("multicall(uint256,bytes[])"))
            : bytes4(keccak256("multicall(bytes32,bytes[])"));
        return bytes.concat(selector, bytes32(condition), Shapes.encodeList(calls, 1));
    }

    function _only(bytes memory call) internal pure returns (bytes[] memory calls) {
        calls = new bytes[](1);
        calls[0] = call;
    }

    function _cut(bytes memory data, uint256 length) internal pure returns (bytes memory out) {
        out = new bytes(length);
        for (uint256 i = 0; i < length; i++) {
            out[i] = data[i];
        }
    }

    function _getWord(bytes memory data, uint256 at) internal pure returns (uint256 word) {
        for (uint256 i = 0; i < 32; i++) {
            word = (word << 8) | uint8(data[at + i]);
        }
    }

    function _setWord(bytes memory data, uint256 at, uint256 word) internal pure {
        for (uint256 i = 0; i < 32; i++) {
            data[at + i] = bytes32(word)[i];
        }
    }
}

contract ActionsTest is Sampler {
    struct Vector {
        string name;
        string role;
        address target;
        uint256 value;
        bytes data;
        bool ok;
        string error;
        Row[] actions;
    }

    /// @dev An Action with its class by name.
    struct Row {
        string class;
        address target;
        address tokenOut;
        uint256 amountOut;
        address tokenOut2;
        uint256 amountOut2;
        address tokenIn;
        uint256 minimumIn;
        uint256 minimum0;
        uint256 minimum1;
        address recipient;
        address spender;
        address source;
        uint256 positionId;
        uint24 fee;
        bytes32 golemId;
        bytes32 entryId;
    }

    string private constant VECTOR_TYPE =
        "Vector(string name,string role,address target,uint256 value,bytes data,bool ok,string error,Row[] actions)Row(string class,address target,address tokenOut,uint256 amountOut,address tokenOut2,uint256 amountOut2,address tokenIn,uint256 minimumIn,uint256 minimum0,uint256 minimum1,address recipient,address spender,address source,uint256 positionId,uint24 fee,bytes32 golemId,bytes32 entryId)";
    uint256 private constant ANY_SEED = 77;
    bytes private constant MALFORMED = "";

    Decoder private _decoder;
    SecondReader private _reader;

    function setUp() public {
        _decoder = new Decoder();
        _reader = new SecondReader();
    }

    // What each function means

    function testFuzz_every_function_gives_exactly_its_fields(uint256 seed, address target)
        public
        view
    {
        Shape[] memory shapes = Shapes.all();
        for (uint256 i = 0; i < shapes.length; i++) {
            uint256[] memory words = _words(shapes[i], _random(seed, i));
            bytes memory path = _path(_random(seed, i));
            (bool sane, Action memory want) = Shapes.meaning(shapes[i], target, words, path);
            vm.assertTrue(sane, shapes[i].signature);

            Action[] memory got =
                _decoder.decode(shapes[i].role, target, 0, Shapes.encode(shapes[i], words, path));

            vm.assertEq(got.length, 1, shapes[i].signature);
            _assertSame(got[0], want, shapes[i].signature);
        }
    }

    /// @dev The table above is written in letters; here is one row in full.
    function test_a_swap_says_what_leaves_what_comes_and_who_gets_it() public view {
        bytes memory data = abi.encodeWithSelector(
            0x04e45aaf,
            address(0xA),
            address(0xB),
            uint24(500),
            address(0xC),
            uint256(1000),
            uint256(990),
            uint160(7)
        );
        Action memory want;
        want.class = Class.Swap;
        want.target = TARGET;
        (want.tokenOut, want.amountOut) = (address(0xA), 1000);
        (want.tokenIn, want.minimumIn) = (address(0xB), 990);
        (want.recipient, want.fee) = (address(0xC), 500);

        Action[] memory got = _decoder.decode(Role.SwapRouter02, TARGET, 0, data);

        _assertSame(got[0], want, "exactInputSingle");
    }

    function test_the_table_holds_the_selectors_of_the_real_contracts() public pure {
        bytes4[20] memory known = [
            bytes4(0x414bf389), // SwapRouter
            0xdb3e2198,
            0xc04b8d59,
            0xf28c0498,
            0x04e45aaf, // SwapRouter02
            0x5023b4df,
            0xb858183f,
            0x09b81346,
            0x88316456, // NonfungiblePositionManager
            0x219f5d17,
            0x0c49ccbe,
            0xfc6f7865,
            0x42966c68,
            0x6e553f65, // ERC-4626
            0x94bf804d,
            0xb460af94,
            0xba087652,
            0xa9059cbb, // ERC-20
            0x23b872dd,
            0x095ea7b3
        ];
        Shape[] memory shapes = Shapes.all();
        for (uint256 i = 0; i < known.length; i++) {
            vm.assertEq(Shapes.selector(shapes[i]), known[i], shapes[i].signature);
        }
        vm.assertEq(Shapes.selector(shapes[26]), bytes4(0x2e1a7d4d), "WETH9 withdraw");
    }

    function testFuzz_a_wrap_takes_coins_and_gives_as_much(address target, uint256 value)
        public
        view
    {
        Action memory want;
        want.class = Class.Wrap;
        (want.target, want.tokenIn) = (target, target);
        (want.amountOut, want.minimumIn) = (value, value);

        Action[] memory got = _decoder.decode(Role.Weth, target, value, hex"d0e30db0");

        vm.assertEq(got.length, 1, "one effect");
        _assertSame(got[0], want, "wrap");
    }

    function testFuzz_a_wrap_has_no_arguments(bytes memory extra, uint256 value) public view {
        if (extra.length == 0) extra = hex"00";
        _assertRefused(
            Role.Weth,
            value,
            bytes.concat(hex"d0e30db0", extra),
            _notCanonical(hex"d0e30db0"),
            "wrap with arguments"
        );
    }

    /// @dev WETH9 wraps whatever arrives with a call it does not know; nobody asked it to.
    function test_coins_sent_to_weth_without_a_word_are_refused() public view {
        _assertRefused(Role.Weth, 1, "", _noSelector(0), "bare payment");
        _assertRefused(
            Role.Weth, 1, hex"deadbeef", _unexpectedValue(1), "an unknown call with coins"
        );
    }

    function testFuzz_a_gas_top_up_is_a_plain_payment(address target, uint256 value) public view {
        Action memory want;
        want.class = Class.GasTopUp;
        (want.target, want.recipient, want.amountOut) = (target, target, value);

        Action[] memory got = _decoder.decode(Role.AgentKey, target, value, "");

        vm.assertEq(got.length, 1, "one effect");
        _assertSame(got[0], want, "top-up");
    }

    function testFuzz_a_gas_top_up_with_a_message_is_refused(bytes memory data, uint256 value)
        public
        view
    {
        if (data.length == 0) data = hex"00";
        _assertRefused(
            Role.AgentKey,
            value,
            data,
            abi.encodeWithSelector(Actions.Actions_NotAPayment.selector, TARGET, data.length),
            "top-up with data"
        );
    }

    function testFuzz_taking_a_right_away_is_no_approval(address spender) public view {
        Role[3] memory roles = [Role.Token, Role.Weth, Role.Vault];
        for (uint256 i = 0; i < roles.length; i++) {
            for (uint256 amount = 0; amount < 2; amount++) {
                bytes memory data =
                    abi.encodeWithSignature("approve(address,uint256)", spender, amount);
                Action memory want;
                want.class = amount == 0 ? Class.Disapprove : Class.Approve;
                (want.target, want.tokenOut, want.amountOut) = (TARGET, TARGET, amount);
                want.spender = spender;

                Action[] memory got = _decoder.decode(roles[i], TARGET, 0, data);

                _assertSame(got[0], want, "approve");
            }
        }
    }

    /// @dev ATK-29: whose tokens, and for whom, is for the charter to judge; it must be told.
    function testFuzz_the_source_is_told_and_never_assumed(address from, address to, uint256 amount)
        public
        view
    {
        vm.assume(from != address(0));
        bytes memory data =
            abi.encodeWithSignature("transferFrom(address,address,uint256)", from, to, amount);
        Action memory got = _decoder.decode(Role.Token, TARGET, 0, data)[0];
        vm.assertEq(got.source, from, "source of a transfer");
        vm.assertEq(got.recipient, to, "recipient of a transfer");

        string[2] memory calls =
            ["withdraw(uint256,address,address)", "redeem(uint256,address,address)"];
        for (uint256 i = 0; i < calls.length; i++) {
            got = _decoder.decode(
                Role.Vault, TARGET, 0, abi.encodeWithSignature(calls[i], amount, to, from)
            )[0];
            vm.assertEq(got.source, from, calls[i]);
            vm.assertEq(got.recipient, to, calls[i]);
        }
    }

    /// @dev Read as an action without a source, it would be a `transfer`.
    function test_a_transfer_of_nobodys_tokens_is_refused() public view {
        Role[3] memory roles = [Role.Token, Role.Weth, Role.Vault];
        for (uint256 i = 0; i < roles.length; i++) {
            bytes memory data = abi.encodeWithSignature(
                "transferFrom(address,address,uint256)", address(0), address(7), 1
            );
            _assertRefused(roles[i], 0, data, _sentinel(0), "of nobody");
        }
    }

    /// @dev The table again in full: what an agent says of itself moves nothing, whatever it says.
    function testFuzz_an_agents_word_tells_its_golem_and_nothing_else(
        bytes32 golemId,
        uint8 phase,
        uint16 score,
        int8 mood,
        bytes32 auditHead
    ) public view {
        bytes[6] memory calls = [
            abi.encodeCall(IGolemRegistry.updateVitality, (golemId, phase, score)),
            abi.encodeCall(IGolemRegistry.setDreaming, (golemId, true)),
            abi.encodeCall(IGolemRegistry.setDreaming, (golemId, false)),
            abi.encodeCall(IGolemRegistry.updatePad, (golemId, mood, -1 - mood, 0)),
            abi.encodeCall(IGolemRegistry.heartbeat, (golemId, auditHead)),
            abi.encodeCall(IGolemRegistry.close, (golemId))
        ];
        Action memory want;
        (want.class, want.target, want.golemId) = (Class.Publish, TARGET, golemId);

        for (uint256 i = 0; i < calls.length; i++) {
            Action[] memory got = _decoder.decode(Role.Registry, TARGET, 0, calls[i]);

            vm.assertEq(got.length, 1, "one effect");
            _assertSame(got[0], want, vm.toString(i));
        }
    }

    function testFuzz_a_lifecycle_call_tells_its_golem(
        bytes32 golemId,
        address replicant,
        bytes32 hash
    ) public view {
        bytes memory spawn = abi.encodeCall(
            IGolemLifecycle.spawnReplicant, (golemId, replicant, hash)
        );
        bytes memory settle = abi.encodeCall(IGolemLifecycle.settle, (golemId, hash));
        Action memory want;
        (want.class, want.target, want.golemId) = (Class.SpawnReplicant, TARGET, golemId);

        _assertSame(_decoder.decode(Role.Lifecycle, TARGET, 0, spawn)[0], want, "spawnReplicant");
        want.class = Class.Settle;
        _assertSame(_decoder.decode(Role.Lifecycle, TARGET, 0, settle)[0], want, "settle");
    }

    /// @dev What was forgotten must not look like the first thing that is allowed.
    function test_an_action_that_nobody_has_classed_is_of_no_class() public pure {
        Action memory blank;
        vm.assertTrue(blank.class == Class.None, "class");
    }

    // Who may be asked what

    /// @dev ATK-14: a known selector at the wrong kind of contract is an unknown call.
    function testFuzz_a_function_of_another_role_is_refused(uint256 seed) public view {
        Shape[] memory shapes = Shapes.all();
        for (uint256 i = 0; i < shapes.length; i++) {
            bytes memory data = _call(shapes[i], _random(seed, i));
            bytes4 selector = Shapes.selector(shapes[i]);
            for (uint256 r = uint256(Role.Token); r <= uint256(type(Role).max); r++) {
                if (Role(r) == Role.AgentKey) continue;
                if (_has(shapes, Role(r), selector)) continue;
                string memory where = string.concat(shapes[i].signature, " as ", vm.toString(r));
                _assertRefused(Role(r), 0, data, _unknownCall(selector), where);
            }
        }
    }

    function test_nothing_is_known_of_a_target_without_a_role() public view {
        Shape[] memory shapes = Shapes.all();
        bytes memory unknown =
            abi.encodeWithSelector(Actions.Actions_UnknownTarget.selector, TARGET);
        for (uint256 i = 0; i < shapes.length; i++) {
            bytes memory data = _call(shapes[i], ANY_SEED);
            _assertRefused(Role.None, 0, data, unknown, shapes[i].signature);
            _assertRefused(
                Role.AgentKey,
                0,
                data,
                abi.encodeWithSelector(Actions.Actions_NotAPayment.selector, TARGET, data.length),
                shapes[i].signature
            );
        }
        _assertRefused(Role.None, 0, "", unknown, "empty");
        _assertRefused(Role.None, 1, "", unknown, "a payment");
    }

    /// @dev ATK-14, ATK-18, ATK-20: what thieves have used elsewhere, under every role.
    function test_calls_that_thieves_know_are_refused_under_every_role() public view {
        string[32] memory calls = _foreignCalls();
        for (uint256 i = 0; i < calls.length; i++) {
            bytes4 selector = bytes4(keccak256(bytes(calls[i])));
            bytes memory data = bytes.concat(selector, new bytes(320));
            for (uint256 r = uint256(Role.Token); r <= uint256(type(Role).max); r++) {
                if (Role(r) == Role.AgentKey) continue;
                _assertRefused(Role(r), 0, data, _unknownCall(selector), calls[i]);
                if (_isMulticaller(Role(r))) {
                    bytes memory wrapped = _multicall(0, 0, _only(data));
                    _assertRefused(Role(r), 0, wrapped, _unknownCall(selector), calls[i]);
                }
            }
        }
    }

    /// @dev ATK-14: where the account is its Golem's owner, an agent that could make these calls
    ///      would be the owner.
    function testFuzz_the_owners_calls_of_the_registry_are_unknown(bytes32 golemId, address key)
        public
        view
    {
        bytes[9] memory calls = _ownersCalls(golemId, key);
        for (uint256 i = 0; i < calls.length; i++) {
            bytes memory why = _unknownCall(_selector(calls[i]));
            for (uint256 r = uint256(Role.Token); r <= uint256(type(Role).max); r++) {
                if (Role(r) == Role.AgentKey) continue;
                _assertRefused(Role(r), 0, calls[i], why, vm.toString(i));
            }
            _assertRefused(Role.Registry, 1, calls[i], _unexpectedValue(1), "with coins");
        }
    }

    /// @dev The five of the table are all there is; the registry's views are no calls for a Golem.
    function test_questions_to_the_registry_are_unknown() public view {
        bytes4[10] memory views = [
            IGolemRegistry.golemIdOf.selector,
            IGolemRegistry.word.selector,
            IGolemRegistry.state.selector,
            IGolemRegistry.ownerOf.selector,
            IGolemRegistry.agentOf.selector,
            IGolemRegistry.generationOf.selector,
            IGolemRegistry.returnEpochOf.selector,
            IVitalityOracle.vitalityOf.selector,
            IDreamOracle.isDreaming.selector,
            IDaimonOracle.padOf.selector
        ];
        for (uint256 i = 0; i < views.length; i++) {
            for (uint256 words = 0; words <= 4; words++) {
                bytes memory data = bytes.concat(views[i], new bytes(words * 32));
                _assertRefused(Role.Registry, 0, data, _unknownCall(views[i]), vm.toString(i));
            }
        }
    }

    function testFuzz_any_other_selector_is_refused(bytes4 selector, bytes memory rest, uint8 role)
        public
        view
    {
        Role as_ = Role(within(role, uint256(Role.Token), uint256(type(Role).max)));
        (bool ok,) = _reader.read(as_, TARGET, 0, bytes.concat(selector, rest));
        vm.assume(!ok && !_has(Shapes.all(), as_, selector));

        (bool accepted,) = _try(as_, 0, bytes.concat(selector, rest));

        vm.assertFalse(accepted, "an unknown selector");
    }

    /// @dev ATK-20.
    function test_hidden_approvals_are_refused_by_name() public view {
        Role[3] memory roles = [Role.Token, Role.Weth, Role.Vault];
        string[2] memory calls = [
            "increaseAllowance(address,uint256)",
            "permit(address,address,uint256,uint256,uint8,bytes32,bytes32)"
        ];
        for (uint256 i = 0; i < roles.length; i++) {
            for (uint256 j = 0; j < calls.length; j++) {
                bytes4 selector = bytes4(keccak256(bytes(calls[j])));
                bytes memory hidden = abi.encodeWithSelector(
                    Actions.Actions_HiddenApproval.selector, TARGET, selector
                );
                bytes memory data = bytes.concat(selector, new bytes(j == 0 ? 64 : 224));
                _assertRefused(roles[i], 0, data, hidden, calls[j]);
                _assertRefused(roles[i], 0, bytes.concat(selector), hidden, calls[j]);
            }
        }
    }

    /// @dev ATK-16.
    function test_a_call_shorter_than_a_selector_is_refused() public view {
        bytes memory data = hex"a9059c";
        for (uint256 r = uint256(Role.Token); r <= uint256(type(Role).max); r++) {
            if (Role(r) == Role.AgentKey) continue;
            for (uint256 length = 0; length < 4; length++) {
                _assertRefused(Role(r), 0, _cut(data, length), _noSelector(length), "short");
            }
        }
    }

    /// @dev ATK-17: only a wrap and a top-up have a use for coins.
    function testFuzz_coins_on_any_other_call_are_refused(uint256 seed, uint256 value) public view {
        if (value == 0) value = 1;
        Shape[] memory shapes = Shapes.all();
        for (uint256 i = 0; i < shapes.length; i++) {
            bytes memory data = _call(shapes[i], _random(seed, i));
            Role role = shapes[i].role;
            _assertRefused(role, value, data, _unexpectedValue(value), shapes[i].signature);
            if (_isMulticaller(role)) {
                data = _multicall(0, 0, _only(data));
                _assertRefused(role, value, data, _unexpectedValue(value), shapes[i].signature);
            }
        }
    }

    /// @dev WETH has a payable function; a token with the same selector has not.
    function test_coins_on_a_deposit_are_for_weth_alone() public view {
        for (uint256 r = uint256(Role.Token); r <= uint256(type(Role).max); r++) {
            if (Role(r) == Role.AgentKey || Role(r) == Role.Weth) continue;
            _assertRefused(Role(r), 1, hex"d0e30db0", _unexpectedValue(1), "with coins");
            _assertRefused(Role(r), 0, hex"d0e30db0", _unknownCall(0xd0e30db0), "without");
        }
    }

    // Sentinels

    /// @dev SPEC D29: 0, 1 and 2 are the routers' words for others; 3 is an address.
    function testFuzz_sentinel_recipients_are_refused(uint256 seed) public view {
        Shape[] memory shapes = Shapes.all();
        uint256 seen = 0;
        for (uint256 i = 0; i <= 12; i++) {
            uint256 at = _indexOf(shapes[i].fields, "R");
            if (at == type(uint256).max) continue;
            seen++;
            for (uint256 recipient = 0; recipient < 4; recipient++) {
                uint256[] memory words = _words(shapes[i], _random(seed, i));
                words[at] = recipient;
                bytes memory data = Shapes.encode(shapes[i], words, _path(seed));
                if (recipient < 3) {
                    bytes memory why = _sentinel(recipient);
                    _assertRefused(shapes[i].role, 0, data, why, shapes[i].signature);
                } else {
                    Action[] memory got = _decoder.decode(shapes[i].role, TARGET, 0, data);
                    vm.assertEq(got[0].recipient, address(3), shapes[i].signature);
                }
            }
        }
        vm.assertEq(seen, 10, "eight swaps, a mint, a collect");
    }

    /// @dev SPEC D29: an amount of zero is the second router's word for all it holds.
    function testFuzz_a_swap_of_nothing_is_refused(uint256 seed) public view {
        Shape[] memory shapes = Shapes.all();
        for (uint256 i = 0; i < 8; i++) {
            uint256 at = _indexOf(shapes[i].fields, "o");
            uint256[] memory words = _words(shapes[i], _random(seed, i));
            words[at] = 0;
            bytes memory data = Shapes.encode(shapes[i], words, _path(seed));
            _assertRefused(shapes[i].role, 0, data, _sentinel(0), shapes[i].signature);

            words[at] = 1;
            data = Shapes.encode(shapes[i], words, _path(seed));
            Action[] memory got = _decoder.decode(shapes[i].role, TARGET, 0, data);
            vm.assertEq(got[0].amountOut, 1, shapes[i].signature);
        }
    }

    /// @dev With a limit, the routers no longer insist that the whole output arrives.
    function testFuzz_an_exact_output_with_a_price_limit_is_refused(uint256 seed, uint160 limit)
        public
        view
    {
        if (limit == 0) limit = 1;
        Shape[] memory shapes = Shapes.all();
        for (uint256 i = 1; i < 8; i += 4) {
            uint256[] memory words = _words(shapes[i], seed);
            words[words.length - 1] = limit;
            _assertRefused(
                shapes[i].role,
                0,
                Shapes.encode(shapes[i], words, ""),
                abi.encodeWithSelector(Actions.Actions_PriceLimit.selector, TARGET, limit),
                shapes[i].signature
            );
        }
    }

    /// @dev An exact input may have one: its minimum is checked whatever was swapped.
    function testFuzz_an_exact_input_may_have_a_price_limit(uint256 seed, uint160 limit)
        public
        view
    {
        Shape[] memory shapes = Shapes.all();
        for (uint256 i = 0; i < 8; i += 4) {
            uint256[] memory words = _words(shapes[i], seed);
            words[words.length - 1] = limit;
            (bool ok,) = _try(shapes[i].role, 0, Shapes.encode(shapes[i], words, ""));
            vm.assertTrue(ok, shapes[i].signature);
        }
    }

    // Paths

    function testFuzz_the_ends_of_a_path_are_its_tokens_both_ways(
        address first,
        address last,
        uint256 seed
    ) public view {
        Shape[] memory shapes = Shapes.all();
        for (uint256 hops = 1; hops <= 5; hops++) {
            bytes memory path = bytes.concat(bytes20(first), bytes3(bytes32(seed)));
            for (uint256 i = 1; i < hops; i++) {
                path = bytes.concat(path, bytes23(bytes32(_random(seed, i))));
            }
            path = bytes.concat(path, bytes20(last));
            for (uint256 i = 2; i < 8; i++) {
                if (!Shapes.isPath(shapes[i])) continue;
                bytes memory data = Shapes.encode(shapes[i], _words(shapes[i], seed), path);
                Action memory got = _decoder.decode(shapes[i].role, TARGET, 0, data)[0];
                bool forwards = i % 4 == 2;
                vm.assertEq(got.tokenOut, forwards ? first : last, shapes[i].signature);
                vm.assertEq(got.tokenIn, forwards ? last : first, shapes[i].signature);
                vm.assertEq(got.fee, 0, "a path has many fees, so none is told");
            }
        }
    }

    function test_a_path_of_any_other_length_is_refused() public view {
        Shape[] memory shapes = Shapes.all();
        for (uint256 length = 0; length <= 140; length++) {
            bool right =
                length == 43 || length == 66 || length == 89 || length == 112 || length == 135;
            bytes memory path = new bytes(length);
            for (uint256 i = 2; i < 8; i++) {
                if (!Shapes.isPath(shapes[i])) continue;
                bytes memory data = Shapes.encode(shapes[i], _words(shapes[i], ANY_SEED), path);
                if (right) {
                    _decoder.decode(shapes[i].role, TARGET, 0, data);
                } else {
                    bytes memory why = abi.encodeWithSelector(Actions.Actions_Path.selector, length);
                    _assertRefused(shapes[i].role, 0, data, why, vm.toString(length));
                }
            }
        }
    }

    // Multicalls

    function testFuzz_a_multicall_gives_the_effects_of_its_calls_in_order(
        uint256 seed,
        uint256 condition
    ) public view {
        Shape[] memory shapes = Shapes.all();
        for (uint256 form = 0; form < 5; form++) {
            // Three forms of the second router, and the plain one of the two others.
            (uint256 low, uint256 high) = (4, 7);
            if (form == 3) (low, high) = (0, 3);
            if (form == 4) (low, high) = (8, 12);
            bytes[] memory calls = new bytes[](within(_random(seed, form), 1, 8));
            Action[] memory want = new Action[](calls.length);
            for (uint256 i = 0; i < calls.length; i++) {
                uint256 own = _random(seed, form * 100 + i);
                Shape memory shape = shapes[within(own, low, high)];
                calls[i] = _call(shape, own);
                want[i] = _decoder.decode(shape.role, TARGET, 0, calls[i])[0];
            }

            Action[] memory got = _decoder.decode(
                shapes[low].role, TARGET, 0, _multicall(form < 3 ? form : 0, condition, calls)
            );

            vm.assertEq(got.length, calls.length, "as many effects as calls");
            for (uint256 i = 0; i < got.length; i++) {
                _assertSame(got[i], want[i], "inner call");
            }
        }
    }

    function test_the_forms_with_a_condition_are_the_second_routers_alone() public view {
        Shape[] memory shapes = Shapes.all();
        for (uint256 form = 0; form < 3; form++) {
            for (uint256 r = uint256(Role.Token); r <= uint256(type(Role).max); r++) {
                if (Role(r) == Role.AgentKey) continue;
                Role role = Role(r);
                if (role == Role.SwapRouter02 || (form == 0 && _isMulticaller(role))) continue;
                bytes memory data = _multicall(form, 1, _only(_call(_firstOf(shapes, role), 1)));
                _assertRefused(role, 0, data, _unknownCall(_selector(data)), vm.toString(r));
            }
        }
        vm.assertEq(_selector(_multicall(0, 0, _only(""))), bytes4(0xac9650d8), "plain");
        vm.assertEq(_selector(_multicall(1, 0, _only(""))), bytes4(0x5ae401dc), "deadline");
        vm.assertEq(_selector(_multicall(2, 0, _only(""))), bytes4(0x1f0464d1), "block hash");
    }

    function test_a_multicall_has_one_to_eight_calls() public view {
        _forEachMulticall(this.checkLengthOfMulticall);
    }

    function checkLengthOfMulticall(Shape memory shape, uint256 form) external view {
        bytes memory call = _call(shape, ANY_SEED);
        for (uint256 count = 0; count <= 12; count++) {
            bytes[] memory calls = new bytes[](count);
            for (uint256 i = 0; i < count; i++) {
                calls[i] = call;
            }
            bytes memory data = _multicall(form, 9, calls);
            if (count == 0 || count > 8) {
                _assertRefused(shape.role, 0, data, _wrongCount(count), vm.toString(count));
            } else {
                vm.assertEq(_decoder.decode(shape.role, TARGET, 0, data).length, count, "effects");
            }
        }
    }

    function test_multicalls_do_not_nest() public view {
        _forEachMulticall(this.checkNestedMulticall);
    }

    function checkNestedMulticall(Shape memory shape, uint256 form) external view {
        bytes memory call = _call(shape, ANY_SEED);
        for (uint256 inner = 0; inner < 3; inner++) {
            bytes memory nested = _multicall(inner, 9, _only(call));
            bytes memory why = _unknownCall(_selector(nested));
            _assertRefused(shape.role, 0, _multicall(form, 9, _only(nested)), why, "nested");
            bytes[] memory calls = new bytes[](2);
            (calls[0], calls[1]) = (call, nested);
            _assertRefused(shape.role, 0, _multicall(form, 9, calls), why, "nested, second");
        }
    }

    /// @dev ATK-18: one bad call spoils the list, wherever in the list it is.
    function test_a_bad_call_inside_a_multicall_is_refused_for_its_own_reason() public view {
        _forEachMulticall(this.checkBadInnerCall);
    }

    function checkBadInnerCall(Shape memory shape, uint256 form) external view {
        bytes memory good = _call(shape, ANY_SEED);
        for (uint256 bad = 0; bad < 3; bad++) {
            bytes[] memory calls = new bytes[](3);
            for (uint256 length = 0; length < 4; length++) {
                (calls[0], calls[1], calls[2]) = (good, good, good);
                calls[bad] = _cut(good, length);
                bytes memory data = _multicall(form, 9, calls);
                _assertRefused(shape.role, 0, data, _noSelector(length), "short");
            }
            calls[bad] = bytes.concat(good, hex"00");
            bytes memory why = _notCanonical(_selector(good));
            _assertRefused(shape.role, 0, _multicall(form, 9, calls), why, "trailing byte");
            calls[bad] = hex"d0e30db0";
            why = _unknownCall(0xd0e30db0);
            _assertRefused(shape.role, 0, _multicall(form, 9, calls), why, "unknown");
            calls[bad] = abi.encodeWithSignature("approve(address,uint256)", TARGET, 1);
            why = _unknownCall(0x095ea7b3);
            _assertRefused(shape.role, 0, _multicall(form, 9, calls), why, "approval");
        }
    }

    // Canonical form, ATK-15

    function test_bytes_too_many_or_too_few_are_refused() public view {
        Shape[] memory shapes = Shapes.all();
        for (uint256 i = 0; i < shapes.length; i++) {
            Role role = shapes[i].role;
            bytes memory data = _call(shapes[i], ANY_SEED);
            bytes memory why = _notCanonical(Shapes.selector(shapes[i]));
            uint256[4] memory extra = [uint256(1), 31, 32, 64];
            for (uint256 j = 0; j < extra.length; j++) {
                bytes memory longer = bytes.concat(data, new bytes(extra[j]));
                _assertRefused(role, 0, longer, why, shapes[i].signature);
                bytes memory shorter = _cut(data, data.length - extra[j] % data.length);
                if (shorter.length < 4 || shorter.length == data.length) continue;
                // What has offsets runs out of bytes before it can be compared.
                if (!Shapes.isPath(shapes[i])) {
                    _assertRefused(role, 0, shorter, why, shapes[i].signature);
                } else {
                    (bool ok,) = _try(role, 0, shorter);
                    vm.assertFalse(ok, shapes[i].signature);
                }
            }
        }
    }

    function test_no_call_may_be_cut_anywhere() public view {
        Shape[] memory shapes = Shapes.all();
        for (uint256 i = 0; i < shapes.length; i++) {
            bytes memory data = _call(shapes[i], ANY_SEED);
            for (uint256 length = 0; length < data.length; length++) {
                (bool ok,) = _try(shapes[i].role, 0, _cut(data, length));
                vm.assertFalse(ok, shapes[i].signature);
            }
        }
    }

    /// @dev Every single bit above the type's width, for every argument.
    function test_dirty_upper_bits_are_refused() public view {
        Shape[] memory shapes = Shapes.all();
        uint256 seen = 0;
        for (uint256 i = 0; i < shapes.length; i++) {
            bytes memory kinds = bytes(shapes[i].kinds);
            for (uint256 j = 0; j < kinds.length; j++) {
                if (kinds[j] == "u" || kinds[j] == "p") continue;
                seen++;
                this.checkDirtyBits(shapes[i], j);
            }
        }
        vm.assertEq(seen, 61, "narrow arguments");
    }

    function checkDirtyBits(Shape memory shape, uint256 argument) external view {
        uint256 width = Shapes.width(bytes(shape.kinds)[argument]);
        uint256 at = 4 + argument * 32 + (Shapes.isPath(shape) ? 32 : 0);
        bytes memory data = _call(shape, ANY_SEED);
        uint256 right = _getWord(data, at);
        for (uint256 bit = width; bit < 256; bit++) {
            _setWord(data, at, right ^ (1 << bit));
            _assertRefused(shape.role, 0, data, MALFORMED, shape.signature);
        }
        _setWord(data, at, right);
        _decoder.decode(shape.role, TARGET, 0, data);
    }

    function testFuzz_ticks_are_signed_and_extended(int24 lower, int24 upper) public view {
        Shape memory mint = Shapes.all()[8];
        uint256[] memory words = _words(mint, ANY_SEED);
        // casting to 'uint256' is safe because a negative tick is meant to fill the whole word
        // forge-lint: disable-next-line(unsafe-typecast)
        words[3] = uint256(int256(lower));
        // forge-lint: disable-next-line(unsafe-typecast)
        words[4] = uint256(int256(upper));
        _decoder.decode(mint.role, TARGET, 0, Shapes.encode(mint, words, ""));

        words[3] ^= 1 << 23;
        (bool ok,) = _try(mint.role, 0, Shapes.encode(mint, words, ""));
        vm.assertFalse(ok, "a sign without its extension");
    }

    function testFuzz_moods_are_signed_and_extended(int8 pleasure, int8 arousal, int8 dominance)
        public
        view
    {
        Shape memory pad = Shapes.all()[31];
        uint256[] memory words = _words(pad, ANY_SEED);
        int8[3] memory moods = [pleasure, arousal, dominance];
        for (uint256 i = 0; i < moods.length; i++) {
            // casting to 'uint256' is safe because a negative mood is meant to fill the whole word
            // forge-lint: disable-next-line(unsafe-typecast)
            words[1 + i] = uint256(int256(moods[i]));
        }
        _decoder.decode(pad.role, TARGET, 0, Shapes.encode(pad, words, ""));

        for (uint256 i = 0; i < moods.length; i++) {
            words[1 + i] ^= 1 << 7;
            _assertRefused(pad.role, 0, Shapes.encode(pad, words, ""), MALFORMED, "a bare sign");
            words[1 + i] ^= 1 << 7;
        }
    }

    /// @dev Bounds of every narrow word of the registry, and one step beyond.
    function test_the_words_of_the_registry_end_where_their_types_end() public view {
        Shape[] memory shapes = Shapes.all();
        _assertBound(shapes[29], 1, type(uint8).max, 2 ** 8);
        _assertBound(shapes[29], 2, type(uint16).max, 2 ** 16);
        _assertBound(shapes[30], 1, 1, 2);
        for (uint256 i = 1; i <= 3; i++) {
            _assertBound(shapes[31], i, 127, 128);
            _assertBound(shapes[31], i, type(uint256).max - 127, type(uint256).max - 128);
        }
    }

    function _assertBound(Shape memory shape, uint256 argument, uint256 inside, uint256 outside)
        private
        view
    {
        uint256[] memory words = _words(shape, ANY_SEED);
        words[argument] = inside;
        _decoder.decode(shape.role, TARGET, 0, Shapes.encode(shape, words, ""));
        words[argument] = outside;
        bytes memory data = Shapes.encode(shape, words, "");
        _assertRefused(shape.role, 0, data, MALFORMED, shape.signature);
    }

    /// @dev The same values behind other offsets: what a lenient target reads, we do not.
    function test_shifted_offsets_are_refused() public view {
        Shape[] memory shapes = Shapes.all();
        for (uint256 i = 2; i < 8; i++) {
            if (!Shapes.isPath(shapes[i])) continue;
            bytes memory data = _call(shapes[i], ANY_SEED);
            bytes memory why = _notCanonical(Shapes.selector(shapes[i]));
            // One word of slack between the head and the struct, or between struct and path.
            bytes memory slack = _insertWord(data, 36);
            _setWord(slack, 4, 64);
            _assertRefused(shapes[i].role, 0, slack, why, "the struct one word later");

            uint256 end = 36 + bytes(shapes[i].kinds).length * 32;
            slack = _insertWord(data, end);
            _setWord(slack, 36, end - 36 + 32);
            _assertRefused(shapes[i].role, 0, slack, why, "the path one word later");

            // The path's length read from an argument that happens to fit.
            uint256[] memory words = _words(shapes[i], ANY_SEED);
            words[words.length - 1] = 43;
            bytes memory overlap =
                bytes.concat(Shapes.encode(shapes[i], words, new bytes(0)), new bytes(64));
            _setWord(overlap, 36, (words.length - 1) * 32);
            _assertRefused(shapes[i].role, 0, overlap, why, "a path inside the struct");

            _setWord(data, 36, type(uint256).max - 31);
            (bool ok,) = _try(shapes[i].role, 0, data);
            vm.assertFalse(ok, "an offset that wraps around");
        }
    }

    function test_padding_that_is_not_zero_is_refused() public view {
        Shape[] memory shapes = Shapes.all();
        for (uint256 i = 2; i < 8; i++) {
            if (!Shapes.isPath(shapes[i])) continue;
            bytes memory path = new bytes(43);
            bytes memory data = Shapes.encode(shapes[i], _words(shapes[i], ANY_SEED), path);
            bytes memory why = _notCanonical(Shapes.selector(shapes[i]));
            for (uint256 j = 1; j <= 64 - 43; j++) {
                data[data.length - j] = 0x01;
                _assertRefused(shapes[i].role, 0, data, why, "padding of a path");
                data[data.length - j] = 0x00;
            }
            _decoder.decode(shapes[i].role, TARGET, 0, data);
        }
    }

    function test_a_list_in_another_encoding_is_refused() public view {
        _forEachMulticall(this.checkListEncoding);
    }

    function checkListEncoding(Shape memory shape, uint256 form) external view {
        bytes[] memory calls = new bytes[](2);
        (calls[0], calls[1]) = (_call(shape, ANY_SEED), _call(shape, ANY_SEED));
        bytes memory data = _multicall(form, 9, calls);
        bytes memory why = _notCanonical(_selector(data));
        uint256 head = form == 0 ? 4 : 36;
        uint256 list = head + 64; // offset of the list, its length, and then its offsets

        bytes memory bent = bytes.concat(data, new bytes(1));
        _assertRefused(shape.role, 0, bent, why, "a byte too many");
        bent = bytes.concat(data, new bytes(32));
        _assertRefused(shape.role, 0, bent, why, "a word too many");

        bent = _insertWord(data, head + 32);
        _setWord(bent, head, _getWord(data, head) + 32);
        _assertRefused(shape.role, 0, bent, why, "the list one word later");

        bent = bytes.concat(data);
        _setWord(bent, list + 32, _getWord(data, list));
        _assertRefused(shape.role, 0, bent, why, "one call read twice");

        bent = bytes.concat(data);
        _setWord(bent, list, _getWord(data, list + 32));
        _setWord(bent, list + 32, _getWord(data, list));
        _assertRefused(shape.role, 0, bent, why, "calls out of order");

        if ((calls[0].length) % 32 != 0) {
            bent = bytes.concat(data);
            bent[bent.length - 1] = 0x01;
            _assertRefused(shape.role, 0, bent, why, "padding of a call");
        }

        bent = bytes.concat(data);
        _setWord(bent, head + 32, type(uint256).max);
        (bool ok,) = _try(shape.role, 0, bent);
        vm.assertFalse(ok, "a list without end");
        (ok,) = _try(shape.role, 0, _cut(data, data.length - 32));
        vm.assertFalse(ok, "a word too few");
    }

    /// @dev The property behind all of the above: whatever is done to a call, what is accepted is
    ///      in canonical form and means what a second reader says; and no canonical call is lost.
    function testFuzz_mutated_calls_are_read_as_a_second_reader_reads_them(uint256 seed)
        public
        view
    {
        Shape[] memory shapes = Shapes.all();
        for (uint256 i = 0; i < shapes.length; i++) {
            uint256 own = _random(seed, i);
            bytes memory data = _mutated(_call(shapes[i], own), own);
            _compare(shapes[i].role, own % 16 == 0 ? 1 : 0, data, shapes[i].signature);
        }
    }

    function testFuzz_mutated_multicalls_are_read_as_a_second_reader_reads_them(uint256 seed)
        public
        view
    {
        Shape[] memory shapes = Shapes.all();
        for (uint256 form = 0; form < 3; form++) {
            uint256 own = _random(seed, form);
            uint256 first = form == 0 ? own % 13 : within(own, 4, 7);
            bytes[] memory calls = new bytes[](1 + own % 3);
            for (uint256 i = 0; i < calls.length; i++) {
                calls[i] = _call(shapes[first], _random(own, i));
                if (_random(own, 50 + i) % 4 == 0) calls[i] = _mutated(calls[i], own);
            }
            bytes memory data = _multicall(form, own, calls);
            if (own % 5 != 0) data = _mutated(data, own);
            _compare(shapes[first].role, 0, data, "multicall");
        }
    }

    /// @dev Mutants seldom hit a selector of another function; here each one is drawn on purpose.
    function testFuzz_the_two_readers_agree_on_swapped_selectors(uint256 seed) public view {
        Shape[] memory shapes = Shapes.all();
        for (uint256 i = 0; i < shapes.length; i++) {
            bytes memory data = _call(shapes[i], _random(seed, i));
            Shape memory other = shapes[_random(seed, 1000 + i) % shapes.length];
            for (uint256 j = 0; j < 4; j++) {
                data[j] = Shapes.selector(other)[j];
            }
            _compare(other.role, 0, data, shapes[i].signature);
            _compare(shapes[i].role, 0, data, shapes[i].signature);
        }
    }

    function testFuzz_noise_is_read_as_a_second_reader_reads_it(
        uint8 role,
        uint256 value,
        bytes memory data
    ) public view {
        Role as_ = Role(within(role, 0, uint256(type(Role).max)));
        _compare(as_, value, data, "noise");
        _compare(as_, 0, data, "noise");
    }

    // The shared file

    /// @dev Made with viem by `node testdata/vectors/actions.mjs`.
    function test_matches_the_shared_vectors() public view {
        string memory json = vm.readFile("../testdata/vectors/actions.json");
        Vector[] memory vectors =
            abi.decode(vm.parseJsonTypeArray(json, "$.vectors", VECTOR_TYPE), (Vector[]));
        vm.assertTrue(vectors.length >= 400, "vectors read");

        for (uint256 i = 0; i < vectors.length; i++) {
            Vector memory v = vectors[i];
            Role role = _roleOf(v.role);
            (bool ok, bytes memory out) = address(_decoder)
                .staticcall(abi.encodeCall(Decoder.decode, (role, v.target, v.value, v.data)));
            vm.assertTrue(ok == v.ok, v.name);
            if (!ok) {
                vm.assertEq(_errorOf(out), v.error, v.name);
                continue;
            }
            vm.assertEq(v.error, "", v.name);
            Action[] memory got = abi.decode(out, (Action[]));
            vm.assertEq(got.length, v.actions.length, v.name);
            for (uint256 j = 0; j < got.length; j++) {
                _assertSame(got[j], _actionOf(v.actions[j]), v.name);
            }
        }
    }

    /// @dev No class may be known to the decoder and missing in the file, but the one of no call.
    function test_the_shared_vectors_have_every_class_role_and_error() public view {
        string memory json = vm.readFile("../testdata/vectors/actions.json");
        Vector[] memory vectors =
            abi.decode(vm.parseJsonTypeArray(json, "$.vectors", VECTOR_TYPE), (Vector[]));
        uint256 classes;
        uint256 roles;
        uint256 errors;
        string[12] memory names = _errorNames();
        for (uint256 i = 0; i < vectors.length; i++) {
            roles |= 1 << uint256(_roleOf(vectors[i].role));
            for (uint256 j = 0; j < vectors[i].actions.length; j++) {
                classes |= 1 << uint256(_classOf(vectors[i].actions[j].class));
            }
            for (uint256 j = 0; j < names.length; j++) {
                if (_same(vectors[i].error, names[j])) errors |= 1 << j;
            }
        }
        vm.assertEq(classes, (1 << (uint256(type(Class).max) + 1)) - 2, "classes");
        vm.assertEq(roles, (1 << (uint256(type(Role).max) + 1)) - 1, "roles");
        vm.assertEq(errors, (1 << names.length) - 1, "errors");
    }

    // Gas

    /// @dev A guard against a slow path being added to the calls that are made most.
    function test_the_cost_of_decoding_stays_bounded() public view {
        Shape[] memory shapes = Shapes.all();
        _assertCost(shapes[0], 3500);
        _assertCost(shapes[4], 3600);
        _assertCost(shapes[6], 13_500);
        _assertCost(shapes[8], 3800);
        _assertCost(shapes[22], 3000);
    }

    function _assertCost(Shape memory shape, uint256 most) private view {
        uint256 cost = _decoder.cost(shape.role, TARGET, 0, _call(shape, ANY_SEED));
        vm.assertTrue(cost <= most, string.concat(shape.signature, ": ", vm.toString(cost)));
    }

    // What the tests above are made of

    function _compare(Role role, uint256 value, bytes memory data, string memory what)
        private
        view
    {
        (bool canonical, Action[] memory want) = _reader.read(role, TARGET, value, data);
        (bool ok, bytes memory out) = _try(role, value, data);
        vm.assertTrue(ok == canonical, what);
        if (!ok) return;
        Action[] memory got = abi.decode(out, (Action[]));
        vm.assertEq(got.length, want.length, what);
        for (uint256 i = 0; i < got.length; i++) {
            _assertSame(got[i], want[i], what);
        }
    }

    /// @dev One to three changes, of eight kinds.
    function _mutated(bytes memory data, uint256 seed) private pure returns (bytes memory) {
        data = bytes.concat(data);
        uint256 times = 1 + seed % 3;
        for (uint256 i = 0; i < times; i++) {
            data = _mutatedOnce(data, _random(seed, 7000 + i));
        }
        return data;
    }

    function _mutatedOnce(bytes memory data, uint256 seed) private pure returns (bytes memory) {
        uint256 kind = seed % 9;
        if (data.length < 36) return bytes.concat(data, bytes32(seed));
        uint256 words = (data.length - 4) / 32;
        uint256 one = 4 + _random(seed, 1) % words * 32;
        uint256 other = 4 + _random(seed, 2) % words * 32;
        if (kind == 0) {
            data[_random(seed, 3) % data.length] ^= bytes1(uint8(1 << (_random(seed, 4) % 8)));
        } else if (kind == 1) {
            uint256 word = _getWord(data, one);
            _setWord(data, one, _getWord(data, other));
            _setWord(data, other, word);
        } else if (kind == 2) {
            _setWord(data, one, _getWord(data, other));
        } else if (kind == 3) {
            return _cut(data, data.length - _random(seed, 3) % 65 % data.length);
        } else if (kind == 4) {
            return bytes.concat(data, new bytes(_random(seed, 3) % 65));
        } else if (kind == 5) {
            unchecked {
                // Offsets that wrap around are wanted.
                _setWord(data, one, _getWord(data, one) + 32);
            }
        } else if (kind == 6) {
            _setWord(data, one, _random(seed, 3) % 8 * 32);
        } else if (kind == 7) {
            return _insertWord(data, one);
        } else {
            _setWord(data, one, _random(seed, 3) % 4);
        }
        return data;
    }

    function _insertWord(bytes memory data, uint256 at) private pure returns (bytes memory out) {
        out = new bytes(data.length + 32);
        for (uint256 i = 0; i < data.length; i++) {
            out[i < at ? i : i + 32] = data[i];
        }
    }

    /// @dev Every function that can be in a multicall, in every form its contract has.
    function _forEachMulticall(function(Shape memory, uint256) external view check) private view {
        Shape[] memory shapes = Shapes.all();
        for (uint256 i = 0; i <= 12; i++) {
            uint256 forms = shapes[i].role == Role.SwapRouter02 ? 3 : 1;
            for (uint256 form = 0; form < forms; form++) {
                check(shapes[i], form);
            }
        }
    }

    function _try(Role role, uint256 value, bytes memory data)
        private
        view
        returns (bool ok, bytes memory out)
    {
        return address(_decoder)
            .staticcall(abi.encodeCall(Decoder.decode, (role, TARGET, value, data)));
    }

    function _assertRefused(
        Role role,
        uint256 value,
        bytes memory data,
        bytes memory why,
        string memory what
    ) private view {
        (bool ok, bytes memory out) = _try(role, value, data);
        vm.assertFalse(ok, what);
        vm.assertEq(out, why, what);
    }

    function _assertSame(Action memory got, Action memory want, string memory what) private pure {
        vm.assertTrue(got.class != Class.None, string.concat(what, ": no class"));
        vm.assertEq(uint256(got.class), uint256(want.class), string.concat(what, ": class"));
        vm.assertEq(got.target, want.target, string.concat(what, ": target"));
        vm.assertEq(got.tokenOut, want.tokenOut, string.concat(what, ": tokenOut"));
        vm.assertEq(got.amountOut, want.amountOut, string.concat(what, ": amountOut"));
        vm.assertEq(got.tokenOut2, want.tokenOut2, string.concat(what, ": tokenOut2"));
        vm.assertEq(got.amountOut2, want.amountOut2, string.concat(what, ": amountOut2"));
        vm.assertEq(got.tokenIn, want.tokenIn, string.concat(what, ": tokenIn"));
        vm.assertEq(got.minimumIn, want.minimumIn, string.concat(what, ": minimumIn"));
        vm.assertEq(got.minimum0, want.minimum0, string.concat(what, ": minimum0"));
        vm.assertEq(got.minimum1, want.minimum1, string.concat(what, ": minimum1"));
        vm.assertEq(got.recipient, want.recipient, string.concat(what, ": recipient"));
        vm.assertEq(got.spender, want.spender, string.concat(what, ": spender"));
        vm.assertEq(got.source, want.source, string.concat(what, ": source"));
        vm.assertEq(got.positionId, want.positionId, string.concat(what, ": positionId"));
        vm.assertEq(got.fee, want.fee, string.concat(what, ": fee"));
        vm.assertEq(got.golemId, want.golemId, string.concat(what, ": golemId"));
        vm.assertEq(got.entryId, want.entryId, string.concat(what, ": entryId"));
        // What was added to the struct and not to the list above.
        vm.assertEq(keccak256(abi.encode(got)), keccak256(abi.encode(want)), what);
    }

    function _has(Shape[] memory shapes, Role role, bytes4 selector) private pure returns (bool) {
        for (uint256 i = 0; i < shapes.length; i++) {
            if (shapes[i].role == role && Shapes.selector(shapes[i]) == selector) return true;
        }
        return false;
    }

    function _firstOf(Shape[] memory shapes, Role role) private pure returns (Shape memory) {
        uint256 i = 0;
        while (shapes[i].role != role) i++;
        return shapes[i];
    }

    function _indexOf(string memory text, bytes1 letter) private pure returns (uint256) {
        for (uint256 i = 0; i < bytes(text).length; i++) {
            if (bytes(text)[i] == letter) return i;
        }
        return type(uint256).max;
    }

    function _selector(bytes memory data) private pure returns (bytes4) {
        // The first four bytes are wanted.
        // forge-lint: disable-next-line(unsafe-typecast)
        return bytes4(data);
    }

    function _foreignCalls() private pure returns (string[32] memory) {
        return [
            "unwrapWETH9(uint256,address)",
            "unwrapWETH9(uint256)",
            "unwrapWETH9WithFee(uint256,address,uint256,address)",
            "refundETH()",
            "sweepToken(address,uint256,address)",
            "sweepToken(address,uint256)",
            "sweepTokenWithFee(address,uint256,address,uint256,address)",
            "selfPermit(address,uint256,uint256,uint8,bytes32,bytes32)",
            "selfPermitAllowed(address,uint256,uint256,uint8,bytes32,bytes32)",
            "wrapETH(uint256)",
            "pull(address,uint256)",
            "approveMax(address)",
            "callPositionManager(bytes)",
            "swapExactTokensForTokens(uint256,uint256,address[],address)",
            "uniswapV3SwapCallback(int256,int256,bytes)",
            "createAndInitializePoolIfNecessary(address,address,uint24,uint160)",
            "safeTransferFrom(address,address,uint256)",
            "safeTransferFrom(address,address,uint256,bytes)",
            "setApprovalForAll(address,bool)",
            "permit(address,uint256,uint256,uint8,bytes32,bytes32)",
            "permit(address,address,uint256,uint256,bytes)",
            "permit(address,address,uint256,uint256,bool,uint8,bytes32,bytes32)",
            "approve(address,address,uint160,uint48)",
            "transferFrom(address,address,uint160,address)",
            "decreaseAllowance(address,uint256)",
            "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)",
            "receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)",
            "transferAndCall(address,uint256,bytes)",
            "multiSend(bytes)",
            "execute(bytes,bytes[],uint256)",
            "execute(bytes32,bytes)",
            "upgradeToAndCall(address,bytes)"
        ];
    }

    function _ownersCalls(bytes32 golemId, address key) private pure returns (bytes[9] memory) {
        Delegation memory grant;
        grant.delegate = key;
        return [
            abi.encodeCall(IGolemRegistry.register, (golemId, key)),
            abi.encodeCall(IGolemRegistry.registerWithGrant, (grant, 0, golemId)),
            abi.encodeCall(IGolemRegistry.attach, (golemId, key)),
            abi.encodeCall(IGolemRegistry.detach, (golemId)),
            abi.encodeCall(IGolemRegistry.advance, (golemId, 4)),
            abi.encodeCall(IGolemRegistry.feed, (golemId, 0)),
            abi.encodeCall(IGolemRegistry.revoke, (golemId)),
            abi.encodeCall(IGolemRegistry.revokeAll, ()),
            abi.encodeCall(IGolemRegistry.deregister, (golemId))
        ];
    }

    // Names in the shared file

    function _roleOf(string memory name) private pure returns (Role) {
        string[11] memory names = [
            "None",
            "Token",
            "Weth",
            "SwapRouter",
            "SwapRouter02",
            "PositionManager",
            "Vault",
            "Lifecycle",
            "AgentKey",
            "Registry",
            "Market"
        ];
        uint256 i = 0;
        while (!_same(names[i], name)) i++;
        return Role(i);
    }

    function _classOf(string memory name) private pure returns (Class) {
        string[18] memory names = [
            "None",
            "Swap",
            "AddLiquidity",
            "RemoveLiquidity",
            "Collect",
            "BurnPosition",
            "Deposit",
            "Withdraw",
            "Approve",
            "Disapprove",
            "Transfer",
            "Wrap",
            "Unwrap",
            "GasTopUp",
            "SpawnReplicant",
            "Settle",
            "Publish",
            "Sell"
        ];
        uint256 i = 0;
        while (!_same(names[i], name)) i++;
        return Class(i);
    }

    /// @dev The last is a revert without data: the arguments are no encoding of their types at all.
    function _errorNames() private pure returns (string[12] memory) {
        return [
            "UnknownTarget",
            "UnknownCall",
            "NoSelector",
            "NotCanonical",
            "UnexpectedValue",
            "Sentinel",
            "NotAPayment",
            "Path",
            "HiddenApproval",
            "PriceLimit",
            "Multicall",
            "Malformed"
        ];
    }

    function _errorOf(bytes memory out) private pure returns (string memory) {
        if (out.length == 0) return "Malformed";
        bytes4[11] memory selectors = [
            Actions.Actions_UnknownTarget.selector,
            Actions.Actions_UnknownCall.selector,
            Actions.Actions_NoSelector.selector,
            Actions.Actions_NotCanonical.selector,
            Actions.Actions_UnexpectedValue.selector,
            Actions.Actions_Sentinel.selector,
            Actions.Actions_NotAPayment.selector,
            Actions.Actions_Path.selector,
            Actions.Actions_HiddenApproval.selector,
            Actions.Actions_PriceLimit.selector,
            Actions.Actions_Multicall.selector
        ];
        uint256 i = 0;
        while (selectors[i] != _selector(out)) i++;
        return _errorNames()[i];
    }

    function _actionOf(Row memory row) private pure returns (Action memory) {
        return Action({
            class: _classOf(row.class),
            target: row.target,
            tokenOut: row.tokenOut,
            amountOut: row.amountOut,
            tokenOut2: row.tokenOut2,
            amountOut2: row.amountOut2,
            tokenIn: row.tokenIn,
            minimumIn: row.minimumIn,
            minimum0: row.minimum0,
            minimum1: row.minimum1,
            recipient: row.recipient,
            spender: row.spender,
            source: row.source,
            positionId: row.positionId,
            fee: row.fee,
            golemId: row.golemId,
            entryId: row.entryId
        });
    }

    function _same(string memory a, string memory b) private pure returns (bool) {
        return keccak256(bytes(a)) == keccak256(bytes(b));
    }

    // Errors

    function _unknownCall(bytes4 selector) private pure returns (bytes memory) {
        return abi.encodeWithSelector(Actions.Actions_UnknownCall.selector, TARGET, selector);
    }

    function _noSelector(uint256 length) private pure returns (bytes memory) {
        return abi.encodeWithSelector(Actions.Actions_NoSelector.selector, TARGET, length);
    }

    function _wrongCount(uint256 length) private pure returns (bytes memory) {
        return abi.encodeWithSelector(Actions.Actions_Multicall.selector, TARGET, length);
    }

    function _notCanonical(bytes4 selector) private pure returns (bytes memory) {
        return abi.encodeWithSelector(Actions.Actions_NotCanonical.selector, TARGET, selector);
    }

    function _unexpectedValue(uint256 value) private pure returns (bytes memory) {
        return abi.encodeWithSelector(Actions.Actions_UnexpectedValue.selector, TARGET, value);
    }

    function _sentinel(uint256 value) private pure returns (bytes memory) {
        return abi.encodeWithSelector(Actions.Actions_Sentinel.selector, TARGET, value);
    }
}
