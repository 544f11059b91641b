//! What tokens say by the errors of OpenZeppelin's fifth version (ERC-6093), in plain words.

use alloy::{primitives::Bytes, sol, sol_types::SolInterface as _};

sol! {
    #[derive(Debug)]
    interface TokenErrors {
        error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed);
        error ERC20InvalidSender(address sender);
        error ERC20InvalidReceiver(address receiver);
        error ERC20InsufficientAllowance(address spender, uint256 allowance, uint256 needed);
        error ERC20InvalidApprover(address approver);
        error ERC20InvalidSpender(address spender);
        error SafeERC20FailedOperation(address token);
        error SafeERC20FailedDecreaseAllowance(address spender, uint256 currentAllowance, uint256 requestedDecrease);
        error ERC4626ExceededMaxDeposit(address receiver, uint256 assets, uint256 max);
        error ERC4626ExceededMaxMint(address receiver, uint256 shares, uint256 max);
        error ERC4626ExceededMaxWithdraw(address owner, uint256 assets, uint256 max);
        error ERC4626ExceededMaxRedeem(address owner, uint256 shares, uint256 max);
        error ERC721NonexistentToken(uint256 tokenId);
        error ERC721IncorrectOwner(address sender, uint256 tokenId, address owner);
        error ERC721InsufficientApproval(address operator, uint256 tokenId);
        error ERC721InvalidReceiver(address receiver);
    }
}

/// The end of "which said that …", where it is one of these errors and nothing follows it.
pub(super) fn words(data: &Bytes) -> Option<String> {
    use TokenErrors::TokenErrorsErrors as Error;
    let error = Error::abi_decode(data).ok().filter(|error| error.abi_encode() == **data)?;
    Some(match error {
        Error::ERC20InsufficientBalance(e) => {
            format!("{} has {} of the token, and {} are needed", e.sender, e.balance, e.needed)
        }
        Error::ERC20InvalidSender(e) => format!("{} cannot send the token", e.sender),
        Error::ERC20InvalidReceiver(e) => format!("{} cannot receive the token", e.receiver),
        Error::ERC20InsufficientAllowance(e) => {
            format!(
                "{} may take {} of the token, and {} are needed",
                e.spender, e.allowance, e.needed
            )
        }
        Error::ERC20InvalidApprover(e) => format!("{} cannot allow anybody anything", e.approver),
        Error::ERC20InvalidSpender(e) => format!("{} cannot be allowed anything", e.spender),
        Error::SafeERC20FailedOperation(e) => {
            format!("the token {} did not do what it was asked", e.token)
        }
        Error::SafeERC20FailedDecreaseAllowance(e) => format!(
            "{} may take {} of the token, which is less than the {} to be taken back",
            e.spender, e.currentAllowance, e.requestedDecrease
        ),
        Error::ERC4626ExceededMaxDeposit(e) => {
            format!(
                "{} assets are more than the {} that may be paid in for {}",
                e.assets, e.max, e.receiver
            )
        }
        Error::ERC4626ExceededMaxMint(e) => {
            format!(
                "{} shares are more than the {} that may be made for {}",
                e.shares, e.max, e.receiver
            )
        }
        Error::ERC4626ExceededMaxWithdraw(e) => {
            format!("{} assets are more than the {} that {} may take out", e.assets, e.max, e.owner)
        }
        Error::ERC4626ExceededMaxRedeem(e) => {
            format!(
                "{} shares are more than the {} that {} may give back",
                e.shares, e.max, e.owner
            )
        }
        Error::ERC721NonexistentToken(e) => format!("there is no item {}", e.tokenId),
        Error::ERC721IncorrectOwner(e) => {
            format!("item {} is {}'s and not {}'s", e.tokenId, e.owner, e.sender)
        }
        Error::ERC721InsufficientApproval(e) => {
            format!("{} may not take item {}", e.operator, e.tokenId)
        }
        Error::ERC721InvalidReceiver(e) => format!("{} does not take items", e.receiver),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain_revert;
    use alloy::{
        primitives::{Address, U256, hex},
        sol_types::SolError as _,
    };
    use golem_delegation::{Delegation, PermissionContext, ROOT_AUTHORITY};

    fn context() -> PermissionContext {
        let nobody = Delegation {
            delegate: Address::ZERO,
            delegator: Address::ZERO,
            authority: ROOT_AUTHORITY,
            caveats: vec![],
            salt: U256::ZERO,
            signature: Bytes::new(),
        };
        PermissionContext::new(vec![nobody]).unwrap()
    }

    /// X2, X4: too little of a token is said in numbers, and not as bytes; what only begins like it is shown as it came.
    #[test]
    fn what_a_token_refuses_is_said_in_numbers() {
        let (sender, spender) = (Address::repeat_byte(7), Address::repeat_byte(8));
        let poor = TokenErrors::ERC20InsufficientBalance {
            sender,
            balance: U256::from(5),
            needed: U256::from(10),
        };
        let bound = TokenErrors::ERC20InsufficientAllowance {
            spender,
            allowance: U256::from(3),
            needed: U256::from(4),
        };
        assert_eq!(poor.abi_encode()[..4], hex!("e450d38c"));

        let said = |data: Vec<u8>| explain_revert(&data.into(), &context()).reason;

        let words = said(poor.abi_encode());
        assert!(
            words.ends_with(&format!("{sender} has 5 of the token, and 10 are needed")),
            "{words}"
        );
        let words = said(bound.abi_encode());
        assert!(words.contains(&format!("{spender} may take 3")), "{words}");
        let mut longer = poor.abi_encode();
        longer.push(0);
        for odd in [longer, poor.abi_encode()[..40].to_vec()] {
            let words = said(odd);
            assert!(words.contains(" with data 0xe450d38c"), "{words}");
        }
    }
}
