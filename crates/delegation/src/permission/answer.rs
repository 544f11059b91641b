use super::Request;
use alloy_primitives::{Address, Bytes};

/// An account that must be deployed before the permission can be redeemed (ERC-4337).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Dependency {
    /// Who deploys it.
    pub factory: Address,
    /// What it is told.
    pub factory_data: Bytes,
}

/// What the wallet says was granted. Words, until [`super::Granted::check`] has held them against the context.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Answer {
    /// The fields as the owner granted them; they need not be those of the request.
    pub granted: Request,
    /// The permission context, not decoded yet.
    pub context: Bytes,
    /// Accounts to deploy first.
    pub dependencies: Vec<Dependency>,
    /// Where to redeem, if the answer says so.
    pub manager: Option<Address>,
}
