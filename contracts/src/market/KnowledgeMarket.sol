// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {IKnowledgeMarket, KnowledgeEntry, Royalty} from "../interfaces/IKnowledgeMarket.sol";

/// @notice Where Golems sell what they know. There is no platform owner, no fee, no pause, and the market
///         never holds money: a price goes from the buyer to the seller in one transfer.
/// @dev A sale takes two: the buyer orders, and approves the market for the price; the seller sells. It is
///      the seller's call, so that a caveat of his grant can see it.
///
///      | who                 | is due, of the price             | unless         |
///      |---------------------|----------------------------------|----------------|
///      | the entry's author  | his `royaltyBps`                 | he is the seller |
///      | its parent's author | half of the parent's `royaltyBps` | he is the seller |
///      | its grandparent's   | a quarter of the grandparent's   | he is the seller |
///      | anybody further up  | nothing                          |                |
///
///      Each share is rounded up, and is never more than the shares before it leave of the price. At most
///      half a price can be asked for, so together it is 87.5 % and the rounding.
///
///      Not promised: that royalties are paid. The market says what is due; `KnowledgeRoyaltyEnforcer` keeps
///      a Golem to it, and a seller who is bound by none owes it on his word. Nor that an author wrote what
///      he published, or named what it grew out of: `publishedAt` says who came first. Nor that a token
///      which an author chose is worth anything.
contract KnowledgeMarket is IKnowledgeMarket, ReentrancyGuardTransient {
    using SafeERC20 for IERC20;

    /// @notice The most an author can ask for: half.
    uint256 public constant MAX_ROYALTY_BPS = 5_000;
    /// @notice How far up royalties go: entry, parent, grandparent.
    uint256 public constant GENERATIONS = 3;

    uint256 private constant WHOLE = 10_000;

    mapping(bytes32 entryId => KnowledgeEntry) private _entries;
    mapping(bytes32 entryId => mapping(address account => bool)) private _access;
    mapping(
        bytes32 entryId => mapping(address seller => mapping(address buyer => uint256 notAfter))
    ) private _orders;

    /// @inheritdoc IKnowledgeMarket
    function publish(
        bytes32 contentHash,
        bytes32 parent,
        uint16 royaltyBps,
        address token,
        uint96 price
    ) external returns (bytes32 entryId) {
        entryId = entryIdOf(msg.sender, contentHash);
        if (_entries[entryId].author != address(0)) {
            revert KnowledgeMarket_AlreadyPublished(entryId);
        }
        if (royaltyBps > MAX_ROYALTY_BPS) {
            revert KnowledgeMarket_Royalty(royaltyBps, MAX_ROYALTY_BPS);
        }
        if (price == 0) revert KnowledgeMarket_NoPrice();
        if (parent != bytes32(0)) {
            _requireAccess(parent, msg.sender);
            address parents = _entries[parent].token;
            if (token != parents) revert KnowledgeMarket_OtherToken(token, parents);
        }

        _entries[entryId] = KnowledgeEntry({
            author: msg.sender,
            royaltyBps: royaltyBps,
            // 40 bits of seconds last 34,000 years.
            // forge-lint: disable-next-line(unsafe-typecast)
            publishedAt: uint40(block.timestamp),
            token: token,
            price: price,
            parent: parent,
            contentHash: contentHash
        });
        emit Published(entryId, msg.sender, parent, contentHash, royaltyBps, token, price);
    }

    /// @inheritdoc IKnowledgeMarket
    function bequeath(bytes32 entryId, address heir) external {
        address author = _known(entryId).author;
        if (msg.sender != author) revert KnowledgeMarket_NotAuthor(entryId, msg.sender);
        if (hasAccess(entryId, heir)) revert KnowledgeMarket_HasAccess(entryId, heir);

        _access[entryId][heir] = true;
        emit Bequeathed(entryId, author, heir);
    }

    /// @inheritdoc IKnowledgeMarket
    function order(bytes32 entryId, address seller, uint256 notAfter) external {
        _requireAccess(entryId, seller);
        if (hasAccess(entryId, msg.sender)) revert KnowledgeMarket_HasAccess(entryId, msg.sender);
        if (notAfter < block.timestamp) {
            revert KnowledgeMarket_OrderExpiry(notAfter, block.timestamp);
        }

        _orders[entryId][seller][msg.sender] = notAfter;
        emit Ordered(entryId, seller, msg.sender, notAfter);
    }

    /// @inheritdoc IKnowledgeMarket
    function cancel(bytes32 entryId, address seller) external {
        if (_orders[entryId][seller][msg.sender] == 0) {
            revert KnowledgeMarket_NoOrder(entryId, seller, msg.sender);
        }

        delete _orders[entryId][seller][msg.sender];
        emit Ordered(entryId, seller, msg.sender, 0);
    }

    /// @inheritdoc IKnowledgeMarket
    /// @dev Access once given stays, so that a seller who had it when he was asked has it still.
    function sell(bytes32 entryId, address seller, address buyer) external nonReentrant {
        KnowledgeEntry storage entry = _known(entryId);
        if (msg.sender != seller) revert KnowledgeMarket_NotSeller(seller, msg.sender);
        uint256 notAfter = _orders[entryId][seller][buyer];
        if (notAfter == 0 || block.timestamp > notAfter) {
            revert KnowledgeMarket_NoOrder(entryId, seller, buyer);
        }
        // He may have bought it elsewhere since.
        if (hasAccess(entryId, buyer)) revert KnowledgeMarket_HasAccess(entryId, buyer);

        delete _orders[entryId][seller][buyer];
        _access[entryId][buyer] = true;
        (IERC20 token, uint256 price) = (IERC20(entry.token), entry.price);
        emit Sold(entryId, seller, buyer, address(token), price);

        // Royalties are paid out of this: a token that keeps a part of it would make the seller pay
        // them out of his own (ATK-26).
        uint256 before = token.balanceOf(seller);
        token.safeTransferFrom(buyer, seller, price);
        uint256 received = token.balanceOf(seller) - before;
        if (received != price) revert KnowledgeMarket_Payment(price, received);
    }

    /// @inheritdoc IKnowledgeMarket
    function royaltiesOf(bytes32 entryId, address seller)
        external
        view
        returns (address token, uint256 price, Royalty[] memory royalties)
    {
        KnowledgeEntry storage entry = _known(entryId);
        (token, price) = (entry.token, entry.price);
        Royalty[GENERATIONS] memory shares;
        uint256 count;
        uint256 left = price;
        for (uint256 generation = 0; generation < GENERATIONS; generation++) {
            uint256 amount = _share(price, entry.royaltyBps, generation);
            if (amount > left) amount = left;
            if (entry.author != seller && amount != 0) {
                shares[count++] = Royalty(entry.author, amount);
                left -= amount;
            }
            if (entry.parent == bytes32(0)) break;
            entry = _entries[entry.parent];
        }
        royalties = new Royalty[](count);
        for (uint256 i = 0; i < count; i++) {
            royalties[i] = shares[i];
        }
    }

    /// @inheritdoc IKnowledgeMarket
    function hasAccess(bytes32 entryId, address account) public view returns (bool) {
        // Nobody wrote what does not exist.
        return
            _access[entryId][account]
                || (account != address(0) && _entries[entryId].author == account);
    }

    /// @inheritdoc IKnowledgeMarket
    function orderOf(bytes32 entryId, address seller, address buyer)
        external
        view
        returns (uint256)
    {
        return _orders[entryId][seller][buyer];
    }

    /// @inheritdoc IKnowledgeMarket
    function entryOf(bytes32 entryId) external view returns (KnowledgeEntry memory) {
        return _known(entryId);
    }

    /// @inheritdoc IKnowledgeMarket
    function entryIdOf(address author, bytes32 contentHash) public pure returns (bytes32) {
        return keccak256(abi.encode(author, contentHash));
    }

    /// @dev Half as much for each generation up, rounded up.
    function _share(uint256 price, uint256 bps, uint256 generation) private pure returns (uint256) {
        uint256 whole = WHOLE << generation;
        return (price * bps + whole - 1) / whole;
    }

    function _known(bytes32 entryId) private view returns (KnowledgeEntry storage entry) {
        entry = _entries[entryId];
        if (entry.author == address(0)) revert KnowledgeMarket_UnknownEntry(entryId);
    }

    function _requireAccess(bytes32 entryId, address account) private view {
        _known(entryId);
        if (!hasAccess(entryId, account)) revert KnowledgeMarket_NoAccess(entryId, account);
    }
}
