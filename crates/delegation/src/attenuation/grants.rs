//! Stock enforcers without a schedule.

use super::{Loose, Verdict, Within, all, among, at_least, at_most, same, same_bytes};
use crate::{
    Opaque,
    terms::{
        AllowedCalldata, AllowedMethods, AllowedTargets, ApprovalRevocation, ArgsEqualityCheck,
        BlockNumber, ChangeType, Deployed, Erc20BalanceChange, Erc20TransferAmount,
        Erc721BalanceChange, Erc721Transfer, Erc1155BalanceChange, ExactCalldata,
        ExactCalldataBatch, ExactExecution, ExactExecutionBatch, Id, LimitedCalls,
        LogicalOrWrapper, NativeBalanceChange, NativeTokenPayment, NativeTokenTransferAmount,
        Nonce, OwnershipTransfer, Redeemer, SpecificActionErc20TransferBatch, Timestamp, ValueLte,
    },
};
use alloy_primitives::U256;

impl Within for AllowedTargets {
    fn within(&self, parent: &Self) -> Verdict {
        among("target", &self.0, &parent.0)
    }
}

impl Within for AllowedMethods {
    fn within(&self, parent: &Self) -> Verdict {
        among("method", &self.0, &parent.0)
    }
}

impl Within for Redeemer {
    fn within(&self, parent: &Self) -> Verdict {
        among("redeemer", &self.0, &parent.0)
    }
}

impl Within for AllowedCalldata {
    /// Whatever the parent pins the child pins to the same.
    fn within(&self, parent: &Self) -> Verdict {
        let pinned = parent
            .start
            .checked_sub(self.start)
            .and_then(|from| usize::try_from(from).ok())
            .and_then(|from| self.value.get(from..))
            .is_some_and(|rest| rest.starts_with(&parent.value));
        let shown = |rule: &Self| format!("{} from byte {}", rule.value, rule.start);
        if pinned { Ok(()) } else { Err(Loose::new("value", shown(parent), shown(self))) }
    }
}

impl Within for ValueLte {
    fn within(&self, parent: &Self) -> Verdict {
        at_most("maxValue", self.0, parent.0)
    }
}

impl Within for LimitedCalls {
    fn within(&self, parent: &Self) -> Verdict {
        at_most("limit", self.0, parent.0)
    }
}

impl Within for Timestamp {
    fn within(&self, parent: &Self) -> Verdict {
        open_window(
            ("afterThreshold", self.after, parent.after),
            ("beforeThreshold", self.before, parent.before),
        )
    }
}

impl Within for BlockNumber {
    fn within(&self, parent: &Self) -> Verdict {
        open_window(
            ("afterThreshold", self.after, parent.after),
            ("beforeThreshold", self.before, parent.before),
        )
    }
}

/// Both ends are exclusive, and zero is none: it is looser than any end there is.
fn open_window(after: (&'static str, u128, u128), before: (&'static str, u128, u128)) -> Verdict {
    let (name, child, parent) = after;
    let begins = at_least(name, child, parent);
    let (name, child, parent) = before;
    let ends = match (child, parent) {
        (_, 0) => Ok(()),
        (0, end) => Err(Loose::new(name, end, "0 (no end)")),
        _ => at_most(name, child, parent),
    };
    all([begins, ends])
}

impl Within for Nonce {
    /// It belongs to each link's own delegator.
    fn within(&self, _: &Self) -> Verdict {
        Ok(())
    }
}

impl Within for Id {
    /// It belongs to each link's own delegator.
    fn within(&self, _: &Self) -> Verdict {
        Ok(())
    }
}

impl Within for ArgsEqualityCheck {
    fn within(&self, parent: &Self) -> Verdict {
        same_bytes("args", &self.0, &parent.0)
    }
}

impl Within for Deployed {
    fn within(&self, parent: &Self) -> Verdict {
        all([
            same("contractAddress", self.contract_address, parent.contract_address),
            same("salt", self.salt, parent.salt),
            same_bytes("bytecode", &self.bytecode, &parent.bytecode),
        ])
    }
}

impl Within for ExactCalldata {
    fn within(&self, parent: &Self) -> Verdict {
        same_bytes("calldata", &self.0, &parent.0)
    }
}

macro_rules! only_the_same {
    ($($terms:ident $name:literal,)*) => {
        $(impl Within for $terms {
            /// Nothing is within it but itself.
            fn within(&self, parent: &Self) -> Verdict {
                if self == parent {
                    return Ok(());
                }
                same_bytes($name, &self.encode(), &parent.encode())
            }
        })*
    };
}

only_the_same! {
    ExactCalldataBatch "executions",
    ExactExecution "execution",
    ExactExecutionBatch "executions",
    SpecificActionErc20TransferBatch "action",
}

impl Within for LogicalOrWrapper {
    /// The rules of its groups count under the wrapper's name, those of one kind together, and whoever redeems picks the
    /// group: only the same groups are known to say the same.
    fn within(&self, parent: &Self) -> Verdict {
        if self == parent {
            return Ok(());
        }
        let bytes = |rule: &Self| rule.encode().unwrap_or_default();
        same_bytes("groups", &bytes(self), &bytes(parent))
    }
}

impl Within for ApprovalRevocation {
    fn within(&self, parent: &Self) -> Verdict {
        all([
            at_most("erc20Approve", self.erc20_approve, parent.erc20_approve),
            at_most("erc721Approve", self.erc721_approve, parent.erc721_approve),
            at_most(
                "erc721SetApprovalForAll",
                self.erc721_set_approval_for_all,
                parent.erc721_set_approval_for_all,
            ),
            at_most("permit2Approve", self.permit2_approve, parent.permit2_approve),
            at_most("permit2Lockdown", self.permit2_lockdown, parent.permit2_lockdown),
            at_most(
                "permit2InvalidateNonces",
                self.permit2_invalidate_nonces,
                parent.permit2_invalidate_nonces,
            ),
        ])
    }
}

impl Within for OwnershipTransfer {
    fn within(&self, parent: &Self) -> Verdict {
        same("contractAddress", self.0, parent.0)
    }
}

impl Within for Erc721Transfer {
    fn within(&self, parent: &Self) -> Verdict {
        all([
            same("tokenAddress", self.token_address, parent.token_address),
            same("tokenId", self.token_id, parent.token_id),
        ])
    }
}

impl Within for Erc20TransferAmount {
    fn within(&self, parent: &Self) -> Verdict {
        all([
            same("tokenAddress", self.token_address, parent.token_address),
            at_most("maxAmount", self.max_amount, parent.max_amount),
        ])
    }
}

impl Within for NativeTokenTransferAmount {
    fn within(&self, parent: &Self) -> Verdict {
        at_most("maxAmount", self.0, parent.0)
    }
}

impl Within for NativeTokenPayment {
    /// The very sum is taken from who pays, by a permission of his own that may be for that sum alone: neither more nor less is
    /// known to be paid as easily.
    fn within(&self, parent: &Self) -> Verdict {
        all([
            same("recipient", self.recipient, parent.recipient),
            same("amount", self.amount, parent.amount),
        ])
    }
}

impl Within for Erc20BalanceChange {
    fn within(&self, parent: &Self) -> Verdict {
        all([
            same("tokenAddress", self.token_address, parent.token_address),
            same("recipient", self.recipient, parent.recipient),
            change(
                "balance",
                (self.change_type, self.balance),
                (parent.change_type, parent.balance),
            ),
        ])
    }
}

impl Within for Erc721BalanceChange {
    fn within(&self, parent: &Self) -> Verdict {
        all([
            same("tokenAddress", self.token_address, parent.token_address),
            same("recipient", self.recipient, parent.recipient),
            change("amount", (self.change_type, self.amount), (parent.change_type, parent.amount)),
        ])
    }
}

impl Within for Erc1155BalanceChange {
    fn within(&self, parent: &Self) -> Verdict {
        all([
            same("tokenAddress", self.token_address, parent.token_address),
            same("recipient", self.recipient, parent.recipient),
            same("tokenId", self.token_id, parent.token_id),
            change(
                "balance",
                (self.change_type, self.balance),
                (parent.change_type, parent.balance),
            ),
        ])
    }
}

impl Within for NativeBalanceChange {
    fn within(&self, parent: &Self) -> Verdict {
        all([
            same("recipient", self.recipient, parent.recipient),
            change(
                "balance",
                (self.change_type, self.balance),
                (parent.change_type, parent.balance),
            ),
        ])
    }
}

/// Who must gain more has gained enough. A loss is compared with itself alone: the contract refuses every
/// execution while the balance is below the loss that it would allow, so a smaller one can allow more.
fn change(name: &'static str, child: (ChangeType, U256), parent: (ChangeType, U256)) -> Verdict {
    let (falls, may_fall) = (child.0.is_decrease(), parent.0.is_decrease());
    let word = |falls: bool| if falls { "decrease" } else { "increase" };
    same("changeType", word(falls), word(may_fall))?;
    if falls { same(name, child.1, parent.1) } else { at_least(name, child.1, parent.1) }
}

impl Within for Opaque {
    /// Nothing is known of what the enforcer does with its terms, so only the same ones say the same.
    fn within(&self, parent: &Self) -> Verdict {
        same_bytes("terms", &self.terms, &parent.terms)
    }
}
