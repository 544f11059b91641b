//! The embedded mode over fakes of its ports.

mod bounds;
mod presence;
mod requests;
mod signer;
mod sweep;

mod wallet;

use alloy_consensus::{SignableTransaction, TxEip1559, TxEnvelope};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Address, B256, Bytes, TxKind, U256, address};
use alloy_signer::SignerSync;
use alloy_signer_local::PrivateKeySigner;
use async_trait::async_trait;
use golem_custody::{
    AllowedCall, BoxError, ClearingPolicy, Permit, PermittedTransaction, Pin, RiskBounds,
    ServiceReply, TokenBound, TransactionPlan, Verb, WalletApp, WalletRequest, WalletService,
    WalletTransaction,
};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

const CHAIN: u64 = 8453;
const NOW: u64 = 1_800_000_000;
const ENDS: u64 = NOW + 86_400;
const OWNER: Address = address!("00000000000000000000000000000000000000A1");
const STRANGER: Address = address!("00000000000000000000000000000000000000B2");
const PAYEE: Address = address!("00000000000000000000000000000000000000C3");
const USDC: Address = address!("00000000000000000000000000000000000000D4");
const WETH: Address = address!("00000000000000000000000000000000000000D5");
const VAULT: Address = address!("00000000000000000000000000000000000000E6");
const CAP: u64 = 1_000_000;
const ZAP: &str = r#"{
  "type": "function", "name": "zap", "stateMutability": "payable", "outputs": [],
  "inputs": [{ "name": "params", "type": "tuple", "components": [
    { "name": "to", "type": "address" }, { "name": "most", "type": "uint256" }
  ]}]
}"#;

/// USDC and WETH, a vault into which and a payee to whom, and the owner.
fn bounds(wallet: Address) -> RiskBounds {
    let approve = AllowedCall::new(
        USDC,
        "function approve(address spender, uint256 amount) returns (bool)",
        vec![Pin::is("spender", VAULT), Pin::at_most("amount", U256::from(CAP))],
    );
    let deposit = AllowedCall::new(
        VAULT,
        "function deposit(uint256 assets, address receiver) returns (uint256)",
        vec![Pin::at_most("assets", U256::from(CAP)), Pin::is("receiver", wallet)],
    );
    let zap = AllowedCall::from_abi(VAULT, ZAP, vec![Pin::is("params.to", wallet)]);
    RiskBounds {
        wallet,
        chains: [CHAIN].into(),
        calls: vec![approve.unwrap(), deposit.unwrap(), zap.unwrap()],
        max_value: U256::from(500),
        tokens: vec![
            TokenBound { token: USDC, cap: U256::from(CAP) },
            TokenBound { token: WETH, cap: U256::ZERO },
        ],
        payees: vec![PAYEE],
        beneficiary: OWNER,
        expires_at: ENDS,
    }
}

fn plan(nonce: u64) -> TransactionPlan {
    TransactionPlan {
        chain_id: CHAIN,
        nonce,
        max_fee_per_gas: 10,
        max_priority_fee_per_gas: 1,
        balance: U256::from(10_000_000_000u64),
    }
}

fn policy() -> ClearingPolicy {
    ClearingPolicy::default()
}

/// `transfer(to, amount)`, written by hand.
fn transfer(to: Address, amount: u64) -> Bytes {
    two_words([0xa9, 0x05, 0x9c, 0xbb], to.into_word(), B256::from(U256::from(amount)))
}

fn two_words(selector: [u8; 4], first: B256, second: B256) -> Bytes {
    [selector.as_slice(), first.as_slice(), second.as_slice()].concat().into()
}

fn call(to: Address, value: u64, data: Bytes) -> WalletTransaction {
    WalletTransaction::new(&plan(7), to, U256::from(value), data, 60_000)
}

fn permitted(wallet: Address, tx: WalletTransaction) -> PermittedTransaction {
    match bounds(wallet).permit(tx, &policy(), plan(7).balance, NOW) {
        Permit::Granted(permitted) => permitted,
        Permit::Refused(denial) => panic!("{denial}"),
    }
}

fn app() -> WalletApp {
    WalletApp::new(WalletApp::PRIVY, "an-app").unwrap()
}

/// How the fake service is to answer next.
#[derive(Clone, Debug)]
enum Turn {
    Status(u16, Value),
    Busy(Option<u64>),
    /// No answer.
    Lost,
    /// It signs, and no answer comes.
    LostAfter,
    /// It signs this instead.
    Instead(WalletTransaction),
}

/// A service that signs everything: it has no policy. What real ones judge is tested against `privy.mjs`.
#[derive(Clone)]
struct FakeService {
    app: WalletApp,
    key: PrivateKeySigner,
    turns: Arc<Mutex<Vec<Turn>>>,
    asked: Arc<Mutex<Vec<WalletRequest>>>,
}

impl FakeService {
    fn new() -> Self {
        let (turns, asked) = Default::default();
        Self { app: app(), key: PrivateKeySigner::random(), turns, asked }
    }

    const fn wallet(&self) -> Address {
        self.key.address()
    }

    fn next(&self, turns: impl IntoIterator<Item = Turn>) {
        *self.turns.lock().unwrap() = turns.into_iter().collect();
    }

    fn asked(&self) -> Vec<WalletRequest> {
        self.asked.lock().unwrap().clone()
    }

    fn signatures(&self) -> usize {
        self.asked().iter().filter(|request| request.verb() == Verb::Post).count()
    }

    fn answer(&self, request: &WalletRequest) -> Value {
        if request.verb() == Verb::Get {
            return json!({
                "id": "a-wallet", "address": self.wallet(), "additional_signers": [],
                "chain_type": "ethereum", "policy_ids": [], "created_at": 1,
            });
        }
        let body: Value = serde_json::from_str(&request.body().unwrap()).unwrap();
        let tx = &body["params"]["transaction"];
        let number = |name: &str| tx[name].as_str().unwrap().parse::<U256>().unwrap();
        self.signed(&WalletTransaction {
            chain_id: tx["chain_id"].as_u64().unwrap(),
            nonce: number("nonce").to(),
            max_fee_per_gas: number("max_fee_per_gas").to(),
            max_priority_fee_per_gas: number("max_priority_fee_per_gas").to(),
            gas_limit: number("gas_limit").to(),
            to: tx["to"].as_str().unwrap().parse().unwrap(),
            value: number("value"),
            data: tx["data"].as_str().unwrap().parse().unwrap(),
        })
    }

    #[expect(clippy::disallowed_methods, reason = "the fake signs what it is told")]
    fn signed(&self, tx: &WalletTransaction) -> Value {
        let tx = TxEip1559 {
            chain_id: tx.chain_id,
            nonce: tx.nonce,
            gas_limit: tx.gas_limit,
            max_fee_per_gas: tx.max_fee_per_gas,
            max_priority_fee_per_gas: tx.max_priority_fee_per_gas,
            to: TxKind::Call(tx.to),
            value: tx.value,
            access_list: Default::default(),
            input: tx.data.clone(),
        };
        let signature = self.key.sign_hash_sync(&tx.signature_hash()).unwrap();
        let raw = Bytes::from(TxEnvelope::from(tx.into_signed(signature)).encoded_2718());
        json!({
            "method": "eth_signTransaction",
            "data": { "signed_transaction": raw, "encoding": "rlp" },
        })
    }
}

fn reply(status: u16, body: &Value) -> ServiceReply {
    ServiceReply { status, retry_after: None, body: body.to_string().into_bytes() }
}

#[async_trait]
impl WalletService for FakeService {
    fn app(&self) -> &WalletApp {
        &self.app
    }

    async fn ask(&self, request: &WalletRequest) -> Result<ServiceReply, BoxError> {
        self.asked.lock().unwrap().push(request.clone());
        let turn = {
            let mut turns = self.turns.lock().unwrap();
            if turns.is_empty() { None } else { Some(turns.remove(0)) }
        };
        match turn {
            None => Ok(reply(200, &self.answer(request))),
            Some(Turn::Status(status, body)) => Ok(reply(status, &body)),
            Some(Turn::Busy(seconds)) => {
                Ok(ServiceReply { status: 429, retry_after: seconds, body: vec![] })
            }
            Some(Turn::Lost | Turn::LostAfter) => Err("the connection ended".into()),
            Some(Turn::Instead(tx)) => Ok(reply(200, &self.signed(&tx))),
        }
    }
}
