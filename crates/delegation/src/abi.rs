//! ABI shapes of the framework, inline so that the crate reads no file outside its folder.

alloy_sol_types::sol! {
    struct Caveat {
        address enforcer;
        bytes terms;
        bytes args;
    }

    struct CaveatGroup {
        Caveat[] caveats;
    }

    struct Execution {
        address target;
        uint256 value;
        bytes callData;
    }

    struct Delegation {
        address delegate;
        address delegator;
        bytes32 authority;
        Caveat[] caveats;
        uint256 salt;
        bytes signature;
    }
}
