// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

/// @notice A piece of knowledge, as its author published it. Nothing of it changes afterwards.
struct KnowledgeEntry {
    address author;
    /// @dev What the author is due when somebody else sells it.
    uint16 royaltyBps;
    uint40 publishedAt;
    /// @dev What is paid with, and how much.
    address token;
    uint96 price;
    /// @dev What it grew out of; zero for none.
    bytes32 parent;
    bytes32 contentHash;
}

/// @notice What one author is due of one sale.
struct Royalty {
    address author;
    uint256 amount;
}

/// @notice Sells access to knowledge, and says what its seller owes to those who wrote it.
interface IKnowledgeMarket {
    /// @notice The author published this content already.
    error KnowledgeMarket_AlreadyPublished(bytes32 entryId);
    /// @notice Nobody published this.
    error KnowledgeMarket_UnknownEntry(bytes32 entryId);
    /// @notice A royalty above the most there is.
    error KnowledgeMarket_Royalty(uint256 bps, uint256 max);
    /// @notice A price of nothing; the author can give for nothing.
    error KnowledgeMarket_NoPrice();
    /// @notice An ancestor is to be paid in the token that he asked for.
    error KnowledgeMarket_OtherToken(address token, address parents);
    /// @notice He does not have the knowledge himself.
    error KnowledgeMarket_NoAccess(bytes32 entryId, address account);
    /// @notice He has it already.
    error KnowledgeMarket_HasAccess(bytes32 entryId, address account);
    /// @notice Only the author gives his knowledge away.
    error KnowledgeMarket_NotAuthor(bytes32 entryId, address caller);
    /// @notice The caller sells for nobody but himself.
    error KnowledgeMarket_NotSeller(address seller, address caller);
    /// @notice An order that ends before it begins.
    error KnowledgeMarket_OrderExpiry(uint256 notAfter, uint256 nowAt);
    /// @notice The buyer did not order this here, or no longer.
    error KnowledgeMarket_NoOrder(bytes32 entryId, address seller, address buyer);
    /// @notice The token moved another amount than the price.
    error KnowledgeMarket_Payment(uint256 price, uint256 received);

    /// @notice There is new knowledge.
    event Published(
        bytes32 indexed entryId,
        address indexed author,
        bytes32 indexed parent,
        bytes32 contentHash,
        uint16 royaltyBps,
        address token,
        uint96 price
    );
    /// @notice The author gave it away.
    event Bequeathed(bytes32 indexed entryId, address indexed author, address indexed heir);
    /// @notice A buyer will pay this seller; with 0, he no longer will.
    event Ordered(
        bytes32 indexed entryId, address indexed seller, address indexed buyer, uint256 notAfter
    );
    /// @notice The price was paid, and the buyer has access.
    event Sold(
        bytes32 indexed entryId,
        address indexed seller,
        address indexed buyer,
        address token,
        uint256 price
    );

    /// @notice Publishes the caller's knowledge. A child's author has access to the parent, and asks for
    ///         the same token.
    /// @return entryId See {entryIdOf}.
    function publish(
        bytes32 contentHash,
        bytes32 parent,
        uint16 royaltyBps,
        address token,
        uint96 price
    ) external returns (bytes32 entryId);

    /// @notice Lets an heir have, and sell, what the caller wrote.
    function bequeath(bytes32 entryId, address heir) external;

    /// @notice Promises the price to a seller who has the knowledge, until the last second `notAfter`. The
    ///         market is to be approved for the price.
    function order(bytes32 entryId, address seller, uint256 notAfter) external;

    /// @notice Takes the caller's promise back.
    function cancel(bytes32 entryId, address seller) external;

    /// @notice Moves the price from the buyer to the caller, and gives the buyer access.
    /// @param seller The caller; named so that who reads the call knows whose sale it is.
    function sell(bytes32 entryId, address seller, address buyer) external;

    /// @notice What a sale by `seller` pays, and what he owes of it to whom. Of an entry that exists, this
    ///         never changes.
    function royaltiesOf(bytes32 entryId, address seller)
        external
        view
        returns (address token, uint256 price, Royalty[] memory royalties);

    /// @notice Whether the account wrote the entry, was given it, or bought it.
    function hasAccess(bytes32 entryId, address account) external view returns (bool);

    /// @notice Until when the buyer will pay the seller; 0 for not at all.
    function orderOf(bytes32 entryId, address seller, address buyer)
        external
        view
        returns (uint256 notAfter);

    /// @notice What was published. Refuses what was not.
    function entryOf(bytes32 entryId) external view returns (KnowledgeEntry memory);

    /// @notice The id that an author's content has, published or not.
    function entryIdOf(address author, bytes32 contentHash) external pure returns (bytes32);
}
