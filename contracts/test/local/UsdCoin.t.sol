// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";
import {IERC20Errors} from "@openzeppelin/contracts/interfaces/draft-IERC6093.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {UsdCoin} from "../../local/UsdCoin.sol";
import {TestBase} from "../TestBase.sol";

/// @notice A wallet with code that stands by what its keeper signed.
contract KeptWallet is IERC1271 {
    address private immutable _keeper;

    constructor(address keeper) {
        _keeper = keeper;
    }

    function isValidSignature(bytes32 hash, bytes memory signature) external view returns (bytes4) {
        return ECDSA.recover(hash, signature) == _keeper
            ? IERC1271.isValidSignature.selector
            : bytes4(0xffffffff);
    }
}

contract UsdCoinTest is TestBase {
    uint256 private constant NOW = 1_767_225_600;
    bytes32 private constant NONCE = keccak256("a nonce");

    UsdCoin private _coin;
    Actor private _minter;
    Actor private _payer;
    Actor private _payee;
    Actor private _stranger;

    function setUp() public {
        vm.warp(NOW);
        _minter = actor("minter");
        _payer = actor("payer");
        _payee = actor("payee");
        _stranger = actor("stranger");
        _coin = new UsdCoin(_minter.account);
        vm.prank(_minter.account);
        _coin.mint(_payer.account, 1_000e6);
    }

    // What it is

    function test_it_presents_itself_as_usdc() public view {
        vm.assertEq(_coin.name(), "USD Coin", "name");
        vm.assertEq(_coin.symbol(), "USDC", "symbol");
        vm.assertEq(_coin.version(), "2", "version");
        vm.assertEq(_coin.decimals(), 6, "decimals");
    }

    function test_its_domain_is_usdcs() public view {
        bytes32 expected = keccak256(
            abi.encode(
                keccak256(
                    "EIP712Domain(string name,string version,uint256 chainId,"
                    "address verifyingContract)"
                ),
                keccak256("USD Coin"),
                keccak256("2"),
                uint256(8453),
                address(_coin)
            )
        );

        vm.assertEq(_coin.DOMAIN_SEPARATOR(), expected, "domain");
    }

    /// @dev As USDC has them on every chain.
    function test_its_type_hashes_are_usdcs() public view {
        vm.assertEq(
            _coin.PERMIT_TYPEHASH(),
            0x6e71edae12b1b97f4d1f60370fef10105fa2faae0126114a169c64845d6126c9,
            "permit"
        );
        vm.assertEq(
            _coin.TRANSFER_WITH_AUTHORIZATION_TYPEHASH(),
            0x7c7c6cdb67a18743f49ec6fa9b35f50d52ed05cbed4cc592e13b44501c1a2267,
            "transfer"
        );
        vm.assertEq(
            _coin.RECEIVE_WITH_AUTHORIZATION_TYPEHASH(),
            0xd099cc98ef71107a616c4f0f941f04c322d8e254fe26b3c6668db87aae413de8,
            "receive"
        );
        vm.assertEq(
            _coin.CANCEL_AUTHORIZATION_TYPEHASH(),
            0x158b0a9edf7a828aad02f63cd515c68ef2f50ba807396f6d12842833a1597429,
            "cancel"
        );
    }

    // Minting and allowances

    function testFuzz_only_the_minter_mints(address caller) public {
        vm.assume(caller != _minter.account && caller != address(vm));

        vm.expectRevert(
            abi.encodeWithSelector(UsdCoin.UsdCoin_NotMinter.selector, caller, _minter.account)
        );
        vm.prank(caller);
        _coin.mint(caller, 1);
    }

    function test_minting_is_announced_and_counted() public {
        vm.expectEmit(address(_coin));
        emit UsdCoin.Mint(_minter.account, _payee.account, 5e6);
        vm.prank(_minter.account);
        _coin.mint(_payee.account, 5e6);

        vm.assertEq(_coin.balanceOf(_payee.account), 5e6, "balance");
        vm.assertEq(_coin.totalSupply(), 1_005e6, "supply");
    }

    function test_an_allowance_is_raised_and_lowered_but_not_below_zero() public {
        vm.prank(_payer.account);
        _coin.increaseAllowance(_payee.account, 10e6);
        vm.prank(_payer.account);
        _coin.decreaseAllowance(_payee.account, 4e6);
        vm.assertEq(_coin.allowance(_payer.account, _payee.account), 6e6, "allowance");

        vm.expectRevert(
            abi.encodeWithSelector(
                IERC20Errors.ERC20InsufficientAllowance.selector, _payee.account, 6e6, 6e6 + 1
            )
        );
        vm.prank(_payer.account);
        _coin.decreaseAllowance(_payee.account, 6e6 + 1);
    }

    // Permit

    function test_a_permit_sets_the_allowance_and_is_used_once() public {
        bytes32 digest = _permitDigest(_payer.account, 7e6, 0, NOW);
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(_payer.key, digest);

        _coin.permit(_payer.account, _payee.account, 7e6, NOW, v, r, s);
        vm.assertEq(_coin.allowance(_payer.account, _payee.account), 7e6, "allowance");
        vm.assertEq(_coin.nonces(_payer.account), 1, "nonce");

        _expectInvalidSignature(_payer.account, _permitDigest(_payer.account, 7e6, 1, NOW));
        _coin.permit(_payer.account, _payee.account, 7e6, NOW, v, r, s);
    }

    function test_a_permit_ends_after_its_deadline() public {
        bytes memory signature = signed(_payer, _permitDigest(_payer.account, 7e6, 0, NOW));
        vm.warp(NOW + 1);

        vm.expectRevert(
            abi.encodeWithSelector(UsdCoin.UsdCoin_PermitExpired.selector, NOW, NOW + 1)
        );
        _coin.permit(_payer.account, _payee.account, 7e6, NOW, signature);
    }

    function test_a_permit_signed_by_somebody_else_is_refused() public {
        bytes32 digest = _permitDigest(_payer.account, 7e6, 0, NOW);
        bytes memory signature = signed(_stranger, digest);

        _expectInvalidSignature(_payer.account, digest);
        _coin.permit(_payer.account, _payee.account, 7e6, NOW, signature);
    }

    function test_a_wallet_with_code_permits_by_erc_1271() public {
        KeptWallet wallet = new KeptWallet(_payer.account);
        bytes32 digest = _permitDigest(address(wallet), 7e6, 0, NOW);
        bytes memory good = signed(_payer, digest);
        bytes memory bad = signed(_stranger, digest);

        _expectInvalidSignature(address(wallet), digest);
        _coin.permit(address(wallet), _payee.account, 7e6, NOW, bad);
        _coin.permit(address(wallet), _payee.account, 7e6, NOW, good);

        vm.assertEq(_coin.allowance(address(wallet), _payee.account), 7e6, "allowance");
    }

    // Authorizations

    function test_anyone_may_bring_in_a_transfer_authorization_once() public {
        (uint8 v, bytes32 r, bytes32 s) =
            vm.sign(_payer.key, _transferDigest(_payer.account, 9e6, NOW - 1, NOW + 1));

        vm.expectEmit(address(_coin));
        emit UsdCoin.AuthorizationUsed(_payer.account, NONCE);
        vm.prank(_stranger.account);
        _coin.transferWithAuthorization(
            _payer.account, _payee.account, 9e6, NOW - 1, NOW + 1, NONCE, v, r, s
        );
        vm.assertEq(_coin.balanceOf(_payee.account), 9e6, "paid");
        vm.assertTrue(_coin.authorizationState(_payer.account, NONCE), "nonce spent");

        _expectSpent(_payer.account);
        _coin.transferWithAuthorization(
            _payer.account, _payee.account, 9e6, NOW - 1, NOW + 1, NONCE, v, r, s
        );
    }

    function test_an_authorization_is_not_valid_at_either_end() public {
        bytes memory early = signed(_payer, _transferDigest(_payer.account, 9e6, NOW, NOW + 9));
        bytes memory late = signed(_payer, _transferDigest(_payer.account, 9e6, 0, NOW));

        vm.expectRevert(
            abi.encodeWithSelector(UsdCoin.UsdCoin_AuthorizationNotYetValid.selector, NOW, NOW)
        );
        _transfer(_payer.account, 9e6, NOW, NOW + 9, early);
        vm.expectRevert(
            abi.encodeWithSelector(UsdCoin.UsdCoin_AuthorizationExpired.selector, NOW, NOW)
        );
        _transfer(_payer.account, 9e6, 0, NOW, late);

        vm.assertFalse(_coin.authorizationState(_payer.account, NONCE), "nonce spent");
    }

    function testFuzz_an_authorization_holds_for_its_own_amount_only(uint256 value) public {
        vm.assume(value != 9e6);
        bytes memory signature = signed(_payer, _transferDigest(_payer.account, 9e6, 0, NOW + 1));

        _expectInvalidSignature(_payer.account, _transferDigest(_payer.account, value, 0, NOW + 1));
        _transfer(_payer.account, value, 0, NOW + 1, signature);
    }

    function test_an_authorization_over_the_balance_spends_no_nonce() public {
        bytes memory signature =
            signed(_payer, _transferDigest(_payer.account, 1_001e6, 0, NOW + 1));

        vm.expectRevert(
            abi.encodeWithSelector(
                IERC20Errors.ERC20InsufficientBalance.selector, _payer.account, 1_000e6, 1_001e6
            )
        );
        _transfer(_payer.account, 1_001e6, 0, NOW + 1, signature);

        vm.assertFalse(_coin.authorizationState(_payer.account, NONCE), "nonce spent");
    }

    function test_a_wallet_with_code_authorizes_by_erc_1271() public {
        KeptWallet wallet = new KeptWallet(_payer.account);
        vm.prank(_payer.account);
        vm.assertTrue(_coin.transfer(address(wallet), 9e6), "transferred");
        bytes32 digest = _transferDigest(address(wallet), 9e6, 0, NOW + 1);
        bytes memory good = signed(_payer, digest);
        bytes memory bad = signed(_stranger, digest);

        _expectInvalidSignature(address(wallet), digest);
        _transfer(address(wallet), 9e6, 0, NOW + 1, bad);
        _transfer(address(wallet), 9e6, 0, NOW + 1, good);

        vm.assertEq(_coin.balanceOf(_payee.account), 9e6, "paid");
    }

    function test_only_the_payee_may_bring_in_a_receive_authorization() public {
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(_payer.key, _receiveDigest(9e6, 0, NOW + 1));

        vm.expectRevert(
            abi.encodeWithSelector(
                UsdCoin.UsdCoin_CallerNotPayee.selector, _stranger.account, _payee.account
            )
        );
        vm.prank(_stranger.account);
        _coin.receiveWithAuthorization(
            _payer.account, _payee.account, 9e6, 0, NOW + 1, NONCE, v, r, s
        );
        vm.prank(_payee.account);
        _coin.receiveWithAuthorization(
            _payer.account, _payee.account, 9e6, 0, NOW + 1, NONCE, v, r, s
        );

        vm.assertEq(_coin.balanceOf(_payee.account), 9e6, "paid");
    }

    function test_a_receive_authorization_is_no_transfer_authorization() public {
        bytes memory signature = signed(_payer, _receiveDigest(9e6, 0, NOW + 1));

        _expectInvalidSignature(_payer.account, _transferDigest(_payer.account, 9e6, 0, NOW + 1));
        _transfer(_payer.account, 9e6, 0, NOW + 1, signature);
    }

    function test_a_cancelled_authorization_is_never_carried_out() public {
        bytes memory payment = signed(_payer, _transferDigest(_payer.account, 9e6, 0, NOW + 1));
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(_payer.key, _cancelDigest(_payer.account));

        vm.expectEmit(address(_coin));
        emit UsdCoin.AuthorizationCanceled(_payer.account, NONCE);
        _coin.cancelAuthorization(_payer.account, NONCE, v, r, s);

        _expectSpent(_payer.account);
        _transfer(_payer.account, 9e6, 0, NOW + 1, payment);
        _expectSpent(_payer.account);
        _coin.cancelAuthorization(_payer.account, NONCE, v, r, s);
    }

    function test_nobody_cancels_for_somebody_else() public {
        bytes32 digest = _cancelDigest(_payer.account);
        bytes memory signature = signed(_stranger, digest);

        _expectInvalidSignature(_payer.account, digest);
        _coin.cancelAuthorization(_payer.account, NONCE, signature);
    }

    /// @dev ATK-02.
    function test_a_signature_is_worth_nothing_on_another_chain() public {
        bytes memory signature = signed(_payer, _transferDigest(_payer.account, 9e6, 0, NOW + 1));
        vm.chainId(1);

        _expectInvalidSignature(_payer.account, _transferDigest(_payer.account, 9e6, 0, NOW + 1));
        _transfer(_payer.account, 9e6, 0, NOW + 1, signature);
    }

    function _transfer(
        address from,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes memory signature
    ) private {
        _coin.transferWithAuthorization(
            from, _payee.account, value, validAfter, validBefore, NONCE, signature
        );
    }

    function _permitDigest(address owner, uint256 value, uint256 nonce, uint256 deadline)
        private
        view
        returns (bytes32)
    {
        bytes32 typeHash = keccak256(
            "Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)"
        );
        return
            _digest(keccak256(abi.encode(typeHash, owner, _payee.account, value, nonce, deadline)));
    }

    function _transferDigest(address from, uint256 value, uint256 validAfter, uint256 validBefore)
        private
        view
        returns (bytes32)
    {
        bytes32 typeHash = keccak256(
            "TransferWithAuthorization(address from,address to,uint256 value,"
            "uint256 validAfter,uint256 validBefore,bytes32 nonce)"
        );
        return _digest(
            keccak256(
                abi.encode(typeHash, from, _payee.account, value, validAfter, validBefore, NONCE)
            )
        );
    }

    function _receiveDigest(uint256 value, uint256 validAfter, uint256 validBefore)
        private
        view
        returns (bytes32)
    {
        bytes32 typeHash = keccak256(
            "ReceiveWithAuthorization(address from,address to,uint256 value,"
            "uint256 validAfter,uint256 validBefore,bytes32 nonce)"
        );
        return _digest(
            keccak256(
                abi.encode(
                    typeHash, _payer.account, _payee.account, value, validAfter, validBefore, NONCE
                )
            )
        );
    }

    function _cancelDigest(address authorizer) private view returns (bytes32) {
        bytes32 typeHash = keccak256("CancelAuthorization(address authorizer,bytes32 nonce)");
        return _digest(keccak256(abi.encode(typeHash, authorizer, NONCE)));
    }

    function _digest(bytes32 message) private view returns (bytes32) {
        return keccak256(abi.encodePacked(hex"1901", _coin.DOMAIN_SEPARATOR(), message));
    }

    function _expectInvalidSignature(address signer, bytes32 digest) private {
        vm.expectRevert(
            abi.encodeWithSelector(UsdCoin.UsdCoin_InvalidSignature.selector, signer, digest)
        );
    }

    function _expectSpent(address authorizer) private {
        vm.expectRevert(
            abi.encodeWithSelector(
                UsdCoin.UsdCoin_AuthorizationUsedOrCanceled.selector, authorizer, NONCE
            )
        );
    }
}
