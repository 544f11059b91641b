use super::Request;
use alloy_primitives::{Address, Bytes};

/// An account that must be deployed before the permission can be redeemed (ERC-4337).
///
/// ```
/// use golem_delegation::permission::{Answer, Dependency, Form, Message, Request, read};
/// # use golem_delegation::permission::{Asset, Periodic, Permission, Rules};
/// # use alloy_primitives::{Address, U256};
/// # use alloy_primitives::bytes;
/// # let daily = Periodic { asset: Asset::Native, amount: U256::from(10), duration: 86_400, start: None };
/// # let request = Request { chain_id: 8453, from: None, to: Address::repeat_byte(1), adjustable: false,
/// #     permission: Permission::Periodic(daily), justification: None, rules: Rules::default() };
/// # let granted = Request { from: Some(Address::repeat_byte(2)), ..request };
/// let factory = Dependency { factory: Address::repeat_byte(3), factory_data: bytes!("01") };
/// # let (context, manager) = (bytes!("00"), Some(Address::repeat_byte(4)));
/// let answer = Answer { granted, context, dependencies: vec![factory.clone()], manager };
/// let written = Form::Today.write_answers(&[answer])?.to_string();
/// let Message::Answers(answers) = read(&written)?.message else { panic!("answers") };
/// assert_eq!(answers[0].dependencies, [factory]);
/// # Ok::<(), golem_delegation::permission::FormError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Dependency {
    /// Who deploys it.
    pub factory: Address,
    /// What it is told.
    pub factory_data: Bytes,
}

/// What the wallet says was granted. Words, until [`super::Granted::check`] has held them against the context.
///
/// ```
/// use golem_delegation::permission::{Answer, Form, Message, Request, read};
/// # use golem_delegation::permission::{Asset, Periodic, Permission, Rules};
/// # use alloy_primitives::{Address, U256};
/// # use alloy_primitives::bytes;
/// # let daily = Periodic { asset: Asset::Native, amount: U256::from(10), duration: 86_400, start: None };
/// # let request = Request { chain_id: 8453, from: None, to: Address::repeat_byte(1), adjustable: false,
/// #     permission: Permission::Periodic(daily), justification: None, rules: Rules::default() };
/// # let granted = Request { from: Some(Address::repeat_byte(2)), ..request };
/// # let (context, manager) = (bytes!("00"), Some(Address::repeat_byte(4)));
/// let answer = Answer { granted, context, dependencies: vec![], manager };
/// let written = Form::Today.write_answers(&[answer.clone()])?.to_string();
/// assert_eq!(read(&written)?.message, Message::Answers(vec![answer]));
/// # Ok::<(), golem_delegation::permission::FormError>(())
/// ```
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
