use super::bounds::{AllowedCall, BoundsError, Pin, Pinned, RiskBounds};
use alloy_json_abi::Function;
use alloy_primitives::{Address, U256};
use serde_json::{Value, json};

/// The service's policy language, and nothing of it but what the bounds need.
///
/// Every rule allows; what no rule allows is denied by the service, as are typed data, messages, the export of the key and the
/// service's own sending: we send ourselves what was signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SigningPolicy {
    name: String,
    rules: Vec<Value>,
}

/// The one method whose requests are ever allowed.
const METHOD: &str = "eth_signTransaction";
const TRANSFER: &str = "function transfer(address to, uint256 amount) returns (bool)";

impl SigningPolicy {
    pub(super) const VERSION: &str = "1.0";
    pub(super) const CHAIN_TYPE: &str = "ethereum";

    /// Compiles bounds. The same bounds give the same policy.
    pub fn compile(bounds: &RiskBounds) -> Result<Self, BoundsError> {
        bounds.check()?;
        let mut rules: Vec<Value> =
            bounds.calls.iter().map(|call| call_rule(bounds, call)).collect();
        let transfer = Function::parse(TRANSFER)
            .map_err(|source| BoundsError::Signature { source: source.into() })?;
        for bound in &bounds.tokens {
            let token = bound.token;
            if !bounds.payees.is_empty() && !bound.cap.is_zero() {
                let pins =
                    [Pin::one_of("to", bounds.payees.clone()), Pin::at_most("amount", bound.cap)];
                let mut conditions = place(bounds, token);
                conditions.extend([carries(U256::ZERO), until(bounds)]);
                conditions.extend(called(&transfer, &pins));
                rules.push(rule(&format!("pay {token}"), conditions));
            }
        }
        for token in bounds.held() {
            let mut conditions = place(bounds, token);
            conditions.push(carries(U256::ZERO));
            conditions.extend(called(&transfer, &[Pin::is("to", bounds.beneficiary)]));
            rules.push(rule(&format!("return {token}"), conditions));
        }
        rules.push(rule("return the coin", place(bounds, bounds.beneficiary)));
        Ok(Self { name: format!("bardo {}", bounds.wallet), rules })
    }

    /// For people.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// In the service's form.
    #[must_use]
    pub fn rules(&self) -> &[Value] {
        &self.rules
    }
}

fn call_rule(bounds: &RiskBounds, call: &AllowedCall) -> Value {
    let mut conditions = place(bounds, call.contract);
    conditions.extend([carries(call.most_value(bounds)), until(bounds)]);
    conditions.extend(called(&call.function, &call.pins));
    // A name has 50 characters; the address alone takes 42 of them.
    let name: String = call.function.name.chars().take(40).collect();
    rule(&format!("call {name}"), conditions)
}

fn rule(name: &str, conditions: Vec<Value>) -> Value {
    let name: String = name.chars().take(50).collect();
    json!({ "name": name, "method": METHOD, "action": "ALLOW", "conditions": conditions })
}

fn place(bounds: &RiskBounds, to: Address) -> Vec<Value> {
    let chains: Vec<String> = bounds.chains.iter().map(u64::to_string).collect();
    vec![condition("chain_id", "in", json!(chains)), condition("to", "eq", json!(to.to_string()))]
}

fn carries(most: U256) -> Value {
    condition("value", "lte", json!(most.to_string()))
}

fn until(bounds: &RiskBounds) -> Value {
    json!({
        "field_source": "system",
        "field": "current_unix_timestamp",
        "operator": "lte",
        "value": bounds.expires_at.to_string(),
    })
}

fn condition(field: &str, operator: &str, value: Value) -> Value {
    json!({
        "field_source": "ethereum_transaction",
        "field": field,
        "operator": operator,
        "value": value,
    })
}

/// Which function, with which arguments.
fn called(function: &Function, pins: &[Pin]) -> Vec<Value> {
    let abi = json!([function]);
    let about = |field: String, operator: &str, value: Value| {
        json!({
            "field_source": "ethereum_calldata",
            "field": field,
            "abi": abi,
            "operator": operator,
            "value": value,
        })
    };
    let name = &function.name;
    let which = about("function_name".to_owned(), "eq", json!(name));
    let arguments = pins.iter().map(|pin| {
        let field = format!("{name}.{}", pin.path);
        match &pin.to {
            Pinned::OneOf(addresses) => match addresses.as_slice() {
                [one] => about(field, "eq", json!(one.to_string())),
                several => {
                    let several: Vec<String> = several.iter().map(Address::to_string).collect();
                    about(field, "in", json!(several))
                }
            },
            Pinned::AtMost(most) => about(field, "lte", json!(most.to_string())),
        }
    });
    std::iter::once(which).chain(arguments).collect()
}
