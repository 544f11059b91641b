// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {IKnowledgeMarket, Royalty} from "../interfaces/IKnowledgeMarket.sol";
import {IToken} from "../interfaces/ITokens.sol";
import {ModeCode} from "../interfaces/ModeCode.sol";
import {Action, Class} from "./Actions.sol";
import {Executions} from "./Executions.sol";

/// @notice Who sells knowledge pays those who wrote it, in the same execution and right behind the sale.
/// @dev What is due is the market's word: exact amounts, exact recipients, one order. The calls behind a sale
///      are these transfers and nothing between, so no transfer serves two sales.
///
///      A thief can publish an entry and be its author. It gains him nothing: royalties are part of a
///      price that the account is paid first, by him, in the same token; and more than the owner's share of
///      a price is refused.
library KnowledgeRoyalty {
    /// @notice The sale is not followed by what this author is due.
    error KnowledgeRoyalty_Missing(bytes32 entryId, address token, address author, uint256 amount);
    /// @notice Royalties take more of the price than the owner agreed to.
    error KnowledgeRoyalty_TooMuch(
        bytes32 entryId, uint256 royalties, uint256 price, uint256 maxBps
    );
    /// @notice A sale's arguments are not in their one encoding.
    error KnowledgeRoyalty_NotCanonical(uint256 length);
    /// @notice Malformed terms: more than the whole.
    error KnowledgeRoyalty_Bps(uint256 bps);

    uint256 private constant WHOLE = 10_000;
    uint256 private constant SELECTOR = 4;
    uint256 private constant SALE = 100;

    /// @notice Refuses a bound beyond the whole.
    function requireBps(uint256 bps) internal pure {
        if (bps > WHOLE) revert KnowledgeRoyalty_Bps(bps);
    }

    /// @notice What a sale owes, in the order in which it is to be paid. Refuses more than `maxBps` of the
    ///         price, which is at most all of it.
    function due(address market, uint256 maxBps, bytes32 entryId, address seller)
        internal
        view
        returns (address token, Royalty[] memory royalties)
    {
        uint256 price;
        (token, price, royalties) = IKnowledgeMarket(market).royaltiesOf(entryId, seller);
        uint256 total;
        for (uint256 i = 0; i < royalties.length; i++) {
            total += royalties[i].amount;
        }
        if (total * WHOLE > price * maxBps) {
            revert KnowledgeRoyalty_TooMuch(entryId, total, price, maxBps);
        }
    }

    /// @notice Whether a call is a sale at this market.
    function isSale(address market, address target, bytes calldata data)
        internal
        pure
        returns (bool)
    {
        // The first four bytes are what is wanted.
        // forge-lint: disable-next-line(unsafe-typecast)
        return target == market && bytes4(data) == IKnowledgeMarket.sell.selector;
    }

    /// @notice Refuses an execution in which the sale at `index` is not followed by all it owes.
    /// @param count How many calls the execution has.
    /// @return next The call behind the last royalty.
    function checkSale(
        address market,
        uint256 maxBps,
        ModeCode mode,
        bytes calldata execution,
        uint256 count,
        uint256 index
    ) internal view returns (uint256 next) {
        (bytes32 entryId, address seller) = _sale(mode, execution, index);
        (address token, Royalty[] memory royalties) = due(market, maxBps, entryId, seller);
        next = index + 1;
        for (uint256 i = 0; i < royalties.length; i++) {
            if (next == count || !_isPayment(mode, execution, next, token, royalties[i])) {
                revert KnowledgeRoyalty_Missing(
                    entryId, token, royalties[i].author, royalties[i].amount
                );
            }
            next++;
        }
    }

    /// @notice The same for a rule that has read the calls already.
    /// @param index Which of the actions is the sale.
    /// @return token What is paid with.
    /// @return next The action behind the last royalty.
    function checkActions(uint256 maxBps, Action[] memory actions, uint256 index)
        internal
        view
        returns (address token, uint256 next)
    {
        Action memory sale = actions[index];
        Royalty[] memory royalties;
        (token, royalties) = due(sale.target, maxBps, sale.entryId, sale.source);
        next = index + 1;
        for (uint256 i = 0; i < royalties.length; i++) {
            Royalty memory royalty = royalties[i];
            if (next == actions.length || !_pays(actions[next], token, royalty)) {
                revert KnowledgeRoyalty_Missing(sale.entryId, token, royalty.author, royalty.amount);
            }
            next++;
        }
    }

    /// @dev A transfer without a source is the account's own `transfer`; see {Actions}.
    function _pays(Action memory action, address token, Royalty memory royalty)
        private
        pure
        returns (bool)
    {
        return action.class == Class.Transfer && action.target == token
            && action.source == address(0) && action.recipient == royalty.author
            && action.amountOut == royalty.amount;
    }

    function _sale(ModeCode mode, bytes calldata execution, uint256 index)
        private
        pure
        returns (bytes32 entryId, address seller)
    {
        (,, bytes calldata data) = Executions.callAt(mode, execution, index);
        if (data.length != SALE) revert KnowledgeRoyalty_NotCanonical(data.length);
        (entryId, seller,) = abi.decode(data[SELECTOR:], (bytes32, address, address));
    }

    function _isPayment(
        ModeCode mode,
        bytes calldata execution,
        uint256 index,
        address token,
        Royalty memory royalty
    ) private pure returns (bool) {
        (address target, uint256 value, bytes calldata data) =
            Executions.callAt(mode, execution, index);
        bytes memory payment = abi.encodeCall(IToken.transfer, (royalty.author, royalty.amount));
        return target == token && value == 0 && keccak256(data) == keccak256(payment);
    }
}
