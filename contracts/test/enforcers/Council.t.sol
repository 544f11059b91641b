// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {ERC1967Proxy} from "@openzeppelin/contracts/proxy/ERC1967/ERC1967Proxy.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {YieldVault} from "../../local/YieldVault.sol";
import {VaultNAVEnforcer} from "../../src/enforcers/VaultNAVEnforcer.sol";
import {
    ANY_DELEGATE,
    Caveat,
    Delegation,
    IDelegationManager
} from "../../src/interfaces/IDelegationManager.sol";
import {IVault} from "../../src/interfaces/ITokens.sol";
import {ModeCode, SINGLE_DEFAULT} from "../../src/interfaces/ModeCode.sol";
import {Role} from "../../src/rules/Actions.sol";
import {Threshold} from "../../src/rules/Threshold.sol";
import {VaultNav} from "../../src/rules/VaultNav.sol";
import {IMultiSigAccount} from "../DevchainTest.sol";
import {ITestToken} from "../CharterTest.sol";
import {CouncilTest} from "./CouncilTest.sol";

/// @notice A UserOperation as EntryPoint v0.7 packs it.
struct PackedUserOperation {
    address sender;
    uint256 nonce;
    bytes initCode;
    bytes callData;
    bytes32 accountGasLimits;
    uint256 preVerificationGas;
    bytes32 gasFees;
    bytes paymasterAndData;
    bytes signature;
}

/// @notice The part of EntryPoint v0.7 that the tests call.
interface IEntryPoint {
    error FailedOp(uint256 opIndex, string reason);

    function handleOps(PackedUserOperation[] calldata ops, address payable beneficiary) external;
    function getNonce(address sender, uint192 key) external view returns (uint256);
}

/// @notice What an account of the framework says of its own operations.
interface IDeleGator {
    error NotEntryPointOrSelf();

    function redeemDelegations(
        bytes[] calldata contexts,
        ModeCode[] calldata modes,
        bytes[] calldata executions
    ) external;
    function getPackedUserOperationTypedDataHash(PackedUserOperation calldata op)
        external
        view
        returns (bytes32);
}

/// @notice Coordination Council, 2 of 3, at most 10,000 dollars at once, into two vaults. Both ways to have one
///         (SPEC C12, D2): co-signatures as a caveat, or a MultiSig account as delegate.
contract CouncilFixtureTest is CouncilTest {
    address private constant ALLOWED_TARGETS = 0x7F20f61b1f09b08D970938F6fa563634d65c4EeB;
    address private constant REDEEMER = 0xE144b0b2618071B4E56f746313528a669c7E65c5;
    IEntryPoint private constant ENTRY_POINT =
        IEntryPoint(0x0000000071727De22E5E9d8BAf0edAc6f37da032);
    uint64 private constant MOST = 10_000e6;

    VaultNAVEnforcer private _nav;
    address private _otherVault;

    function setUp() public override {
        super.setUp();
        _nav = new VaultNAVEnforcer();
        _otherVault = address(new YieldVault(IERC20(address(USDC)), "other", "O", 6));
        law.targets = bytes.concat(law.targets, target(_otherVault, Role.Vault));
        vm.prank(FAUCET);
        USDC.mint(law.account, 20_000e6);
        address[2] memory vaults = [vault, _otherVault];
        for (uint256 i = 0; i < vaults.length; i++) {
            vm.prank(law.account);
            USDC.approve(vaults[i], type(uint256).max);
        }
    }

    // Co-signatures as a caveat: any member redeems, and another one must have signed

    function test_two_of_three_move_money_between_two_vaults() public {
        Delegation memory grant = _council();
        uint256 before = USDC.balanceOf(vault);

        _redeemAgreed(grant, members[0], _deposit(vault, MOST), 0);
        _redeemAgreed(grant, members[2], _deposit(_otherVault, 5_000e6), 1);

        vm.assertEq(USDC.balanceOf(vault) - before, MOST, "one vault");
        vm.assertEq(USDC.balanceOf(_otherVault), 5_000e6, "the other");
        vm.assertTrue(ITestToken(vault).balanceOf(law.account) != 0, "shares are the owner's");
    }

    function test_nobody_acts_for_the_council_alone() public {
        Delegation memory grant = _council();
        bytes memory execution = _deposit(vault, MOST);
        for (uint256 i = 0; i < 3; i++) {
            bytes32 what = digest(
                address(MANAGER),
                MANAGER.getDelegationHash(grant),
                SINGLE_DEFAULT,
                execution,
                0,
                DEADLINE
            );
            address alone = members[i].account;
            armed(grant, args(what, 0, DEADLINE, members[i], members[i]));
            vm.expectRevert(
                abi.encodeWithSelector(Threshold.Threshold_SignatureOrder.selector, alone, alone)
            );
            redeem(alone, grant, SINGLE_DEFAULT, execution);
        }
    }

    function test_what_the_council_agrees_to_is_bound_by_the_owners_other_rules() public {
        Delegation memory grant = _council();
        bytes memory execution = _deposit(vault, MOST + 1);
        armed(grant, agreement(grant, SINGLE_DEFAULT, execution, 0));
        vm.expectRevert(abi.encodeWithSelector(VaultNav.VaultNav_TooMuch.selector, MOST + 1, MOST));
        redeem(members[0].account, grant, SINGLE_DEFAULT, execution);

        execution = swap(SOLD);
        armed(grant, agreement(grant, SINGLE_DEFAULT, execution, 0));
        vm.expectRevert(
            abi.encodeWithSignature(
                "Error(string)", "AllowedTargetsEnforcer:target-address-not-allowed"
            )
        );
        redeem(members[0].account, grant, SINGLE_DEFAULT, execution);

        execution = _deposit(vault, MOST);
        armed(grant, agreement(grant, SINGLE_DEFAULT, execution, 0));
        vm.expectRevert(
            abi.encodeWithSignature("Error(string)", "RedeemerEnforcer:unauthorized-redeemer")
        );
        redeem(agent.account, grant, SINGLE_DEFAULT, execution);
    }

    // A MultiSig account as delegate: it redeems by its own UserOperation, which two of three sign

    function test_a_multisig_delegate_redeems_by_a_user_operation_that_two_signed() public {
        address delegate = _multiSig();
        PackedUserOperation memory op = _operation(delegate, _deposit(vault, MOST));
        uint256 before = USDC.balanceOf(vault);
        op.signature = _signatures(op, 0, 2);

        _handle(op);

        vm.assertEq(USDC.balanceOf(vault) - before, MOST, "deposited");
        vm.assertTrue(ITestToken(vault).balanceOf(law.account) != 0, "shares are the owner's");
        vm.assertEq(ITestToken(vault).balanceOf(delegate), 0, "and not the delegate's");

        // The operation is spent.
        vm.expectRevert(_failed("AA25 invalid account nonce"));
        _handle(op);
    }

    function test_a_multisig_delegate_does_not_act_for_one_signer() public {
        address delegate = _multiSig();
        PackedUserOperation memory op = _operation(delegate, _deposit(vault, MOST));
        uint256 before = USDC.balanceOf(vault);

        op.signature =
            signed(members[0], IDeleGator(delegate).getPackedUserOperationTypedDataHash(op));
        vm.expectRevert(_failed("AA24 signature error"));
        _handle(op);
        op.signature = _signatures(op, 1, 1);
        vm.expectRevert(_failed("AA24 signature error"));
        _handle(op);
        // What two signed is that very execution.
        op.signature = _signatures(op, 0, 1);
        op.callData = _redemption(delegate, _deposit(vault, MOST - 1));
        vm.expectRevert(_failed("AA24 signature error"));
        _handle(op);

        vm.assertEq(USDC.balanceOf(vault), before, "nothing deposited");
    }

    function test_no_member_gets_around_the_multisig_delegate() public {
        address delegate = _multiSig();
        Delegation memory grant = root(me(), delegate, _limits());
        bytes memory execution = _deposit(vault, MOST);

        vm.expectRevert(IDelegationManager.InvalidDelegate.selector);
        redeem(members[0].account, grant, SINGLE_DEFAULT, execution);
        (bool ok, bytes memory why) = _asMember(delegate, _redemption(delegate, execution));
        vm.assertFalse(ok, "not by its own function");
        vm.assertEq(why, abi.encodeWithSelector(IDeleGator.NotEntryPointOrSelf.selector), "and why");
    }

    /// @dev The owner's limits bind whoever the delegate is. The operation itself is included, and fails.
    function test_a_multisig_delegate_is_bound_by_the_owners_rules() public {
        address delegate = _multiSig();
        PackedUserOperation memory op = _operation(delegate, _deposit(vault, MOST + 1));
        uint256 before = USDC.balanceOf(vault);
        op.signature = _signatures(op, 0, 1);

        _handle(op);

        vm.assertEq(USDC.balanceOf(vault), before, "nothing deposited");
        vm.assertEq(ENTRY_POINT.getNonce(delegate, 0), 1, "included all the same");
    }

    // Helpers

    /// @dev Threshold first, so that its arguments are where {armed} puts them.
    function _council() private returns (Delegation memory) {
        Caveat[] memory limits = _limits();
        Caveat[] memory caveats = new Caveat[](4);
        caveats[0] = Caveat(address(threshold), council(), "");
        caveats[1] = Caveat(
            REDEEMER,
            abi.encodePacked(members[0].account, members[1].account, members[2].account),
            ""
        );
        (caveats[2], caveats[3]) = (limits[0], limits[1]);
        return root(me(), ANY_DELEGATE, caveats);
    }

    function _limits() private view returns (Caveat[] memory caveats) {
        caveats = new Caveat[](2);
        caveats[0] = Caveat(ALLOWED_TARGETS, abi.encodePacked(vault, _otherVault), "");
        caveats[1] = Caveat(
            address(_nav),
            abi.encodePacked(law.golemId, address(0), uint16(10_000), MOST, listing(law)),
            ""
        );
    }

    function _deposit(address into, uint256 assets) private view returns (bytes memory) {
        return single(into, abi.encodeCall(IVault.deposit, (assets, law.account)));
    }

    function _redeemAgreed(
        Delegation memory grant,
        Actor memory redeemer,
        bytes memory execution,
        uint256 nonce
    ) private {
        armed(grant, agreement(grant, SINGLE_DEFAULT, execution, nonce));
        redeem(redeemer.account, grant, SINGLE_DEFAULT, execution);
    }

    function _multiSig() private returns (address made) {
        address[] memory signers = new address[](3);
        for (uint256 i = 0; i < 3; i++) {
            signers[i] = members[i].account;
        }
        made = address(
            new ERC1967Proxy(MULTI_SIG, abi.encodeCall(IMultiSigAccount.initialize, (signers, 2)))
        );
        vm.label(made, "council account");
        vm.deal(made, 1 ether);
    }

    /// @dev What the account is asked to do: redeem the owner's delegation to it.
    function _redemption(address delegate, bytes memory execution) private returns (bytes memory) {
        Delegation[] memory chain = new Delegation[](1);
        chain[0] = root(me(), delegate, _limits());
        bytes[] memory contexts = new bytes[](1);
        contexts[0] = abi.encode(chain);
        bytes[] memory executions = new bytes[](1);
        executions[0] = execution;
        return
            abi.encodeCall(IDeleGator.redeemDelegations, (contexts, new ModeCode[](1), executions));
    }

    function _operation(address delegate, bytes memory execution)
        private
        returns (PackedUserOperation memory op)
    {
        op.sender = delegate;
        op.nonce = ENTRY_POINT.getNonce(delegate, 0);
        op.callData = _redemption(delegate, execution);
        op.accountGasLimits = bytes32(uint256(1_000_000) << 128 | 2_000_000);
        op.preVerificationGas = 100_000;
        op.gasFees = bytes32(uint256(1 gwei) << 128 | 1 gwei);
    }

    function _signatures(PackedUserOperation memory op, uint256 first, uint256 second)
        private
        view
        returns (bytes memory)
    {
        bytes32 what = IDeleGator(op.sender).getPackedUserOperationTypedDataHash(op);
        return bytes.concat(signed(members[first], what), signed(members[second], what));
    }

    /// @dev As a bundler does.
    function _handle(PackedUserOperation memory op) private {
        PackedUserOperation[] memory ops = new PackedUserOperation[](1);
        ops[0] = op;
        ENTRY_POINT.handleOps(ops, payable(address(0xb0b)));
    }

    function _asMember(address delegate, bytes memory data)
        private
        returns (bool ok, bytes memory why)
    {
        vm.prank(members[0].account);
        return delegate.call(data);
    }

    function _failed(string memory reason) private pure returns (bytes memory) {
        return abi.encodeWithSelector(IEntryPoint.FailedOp.selector, 0, reason);
    }
}
