//! What is asked of a node, and what is made of its answers.

use alloy::{
    primitives::{Address, B256, Bytes, U256, b256},
    sol_types::SolEvent,
};
use bardo_bindings::framework::{self, DELEGATION_MANAGER, DelegationManager};
use golem_chain::{Foresight, Node};
use golem_custody::{DenialCode, DryRun, Execution, Outcome, Redemption, SignedTransaction};
use golem_delegation::{Delegation, PermissionContext, ROOT_AUTHORITY};
use serde_json::{Value, json};
use std::{
    error::Error,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};
use url::Url;

const HEAD: B256 = b256!("abababababababababababababababababababababababababababababababab");

/// A node that answers by a table and remembers what it was asked. A fake: for what a real node
/// cannot be made to do.
struct FakeNode {
    url: Url,
    asked: Arc<Mutex<Vec<Value>>>,
}

impl FakeNode {
    fn start(answer: fn(&str) -> Value) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = asked.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                let seen = seen.clone();
                thread::spawn(move || serve(stream, answer, &seen));
            }
        });
        Self { url, asked }
    }

    fn asked(&self, method: &str) -> Vec<Value> {
        let all = self.asked.lock().unwrap();
        all.iter().filter(|request| request["method"] == method).cloned().collect()
    }
}

fn serve(mut stream: TcpStream, answer: fn(&str) -> Value, seen: &Mutex<Vec<Value>>) {
    let reply_to = |request: Value| {
        let mut reply = answer(request["method"].as_str().unwrap_or_default());
        reply["id"] = request["id"].clone();
        reply["jsonrpc"] = json!("2.0");
        seen.lock().unwrap().push(request);
        reply
    };
    while let Some(request) = read_request(&mut stream) {
        let body = match request {
            Value::Array(batch) => batch.into_iter().map(reply_to).collect(),
            one => reply_to(one),
        };
        let body = body.to_string();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        if stream.write_all(format!("{head}{body}").as_bytes()).is_err() {
            break;
        }
    }
}

fn read_request(stream: &mut TcpStream) -> Option<Value> {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        bytes.extend(byte);
    }
    let head = String::from_utf8(bytes).ok()?.to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"))?;
    let mut body = vec![0; length.trim().parse().ok()?];
    stream.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

/// A head whose hash is its own.
fn block() -> Value {
    let mut block = template();
    let read: alloy::rpc::types::Block = serde_json::from_value(block.clone()).unwrap();
    block["hash"] = json!(read.header.inner.hash_slow());
    block
}

fn template() -> Value {
    let zero = B256::ZERO;
    let address = Address::ZERO;
    json!({
        "number": "0x7", "hash": HEAD, "parentHash": zero, "sha3Uncles": zero, "miner": address,
        "stateRoot": zero, "transactionsRoot": zero, "receiptsRoot": zero,
        "logsBloom": format!("0x{}", "00".repeat(256)), "difficulty": "0x0", "gasLimit": "0x1",
        "gasUsed": "0x0", "timestamp": "0x64", "extraData": "0x", "mixHash": zero,
        "nonce": "0x0000000000000000", "baseFeePerGas": "0x1", "transactions": [], "uncles": [],
    })
}

fn redemption() -> Redemption {
    let grant = Delegation {
        delegate: Address::repeat_byte(1),
        delegator: Address::repeat_byte(2),
        authority: ROOT_AUTHORITY,
        caveats: vec![],
        salt: U256::ZERO,
        signature: Bytes::new(),
    };
    let call = Execution { target: Address::ZERO, value: U256::ZERO, data: Bytes::new() };
    let context = PermissionContext::new(vec![grant]).unwrap();
    Redemption::single(DELEGATION_MANAGER, context, &call)
}

/// Code that is everything at once: as the manager it logs what a manager logs of [`redemption`] and calls the account, as the account
/// it makes the call, and as anything else it does nothing.
fn says_redeemed() -> Bytes {
    let event = DelegationManager::RedeemedDelegation {
        rootDelegator: Address::repeat_byte(2),
        redeemer: Address::repeat_byte(1),
        delegation: framework::Delegation {
            delegate: Address::repeat_byte(1),
            delegator: Address::repeat_byte(2),
            authority: ROOT_AUTHORITY,
            caveats: vec![],
            salt: U256::ZERO,
            signature: Bytes::new(),
        },
    };
    let log = event.encode_log_data();
    let length = u16::try_from(log.data.len()).unwrap().to_be_bytes();
    let account = Address::repeat_byte(2);
    // PUSH0 five times: no value, nothing given, nothing wanted.
    let nothing = [0x5f; 5];
    let push2 = |at: usize| {
        let [high, low] = u16::try_from(at).unwrap().to_be_bytes();
        [0x61, high, low]
    };
    let built = |as_account: usize, otherwise: usize, data: usize| {
        let mut code = vec![0x30, 0x73];
        code.extend(account);
        code.push(0x14);
        code.extend(push2(as_account));
        code.extend([0x57, 0x30, 0x73]);
        code.extend(DELEGATION_MANAGER);
        code.extend([0x14, 0x15]);
        code.extend(push2(otherwise));
        // CODECOPY(0, data, length); the topics, the last first; LOG3.
        code.extend([0x57, 0x61, length[0], length[1]]);
        code.extend(push2(data));
        code.extend([0x60, 0, 0x39]);
        for topic in log.topics().iter().rev() {
            code.push(0x7f);
            code.extend(topic);
        }
        code.extend([0x61, length[0], length[1], 0x60, 0, 0xa3]);
        code.extend(nothing);
        code.push(0x73);
        code.extend(account);
        code.extend([0x5a, 0xf1, 0x00]);
        let as_account = code.len();
        code.push(0x5b);
        code.extend(nothing);
        code.extend([0x5f, 0x5a, 0xf1, 0x00]);
        let otherwise = code.len();
        code.extend([0x5b, 0x00]);
        (code, as_account, otherwise)
    };
    let (code, as_account, otherwise) = built(0, 0, 0);
    let (mut code, ..) = built(as_account, otherwise, code.len());
    code.extend(&log.data);
    code.into()
}

/// INV-11: everything a dry run reads is of one block, named by its hash.
#[tokio::test]
async fn a_dry_run_reads_one_block_by_its_hash() {
    // This node has the same code everywhere: on a rollup that would be what charges for data, too.
    let node = FakeNode::start(|method| match method {
        "eth_chainId" => json!({ "result": "0x1" }),
        "eth_getBlockByNumber" => json!({ "result": block() }),
        "eth_getCode" => json!({ "result": says_redeemed() }),
        "eth_getBalance" | "eth_getTransactionCount" => json!({ "result": "0x0" }),
        "eth_createAccessList" => json!({ "result": { "accessList": [], "gasUsed": "0x0" } }),
        // What it calls itself, and whether it has the newest rules.
        "web3_clientVersion" | "eth_call" => json!({ "result": "0x" }),
        other => panic!("{other} was not expected"),
    });

    let chain = Foresight::new(Node::connect(&node.url).await.unwrap());
    let outcome = chain.dry_run(&redemption().into(), Address::repeat_byte(1)).await.unwrap();

    assert!(
        matches!(outcome, Outcome::Allowed(preview) if json!(preview.block.hash) == block()["hash"])
    );
    for method in
        ["eth_getCode", "eth_getBalance", "eth_getTransactionCount", "eth_createAccessList"]
    {
        let requests = node.asked(method);
        assert!(!requests.is_empty());
        for request in requests {
            assert!(
                request["params"].to_string().contains(block()["hash"].as_str().unwrap()),
                "{request}"
            );
        }
    }
}

/// A revert that carries nothing is a refusal; state that cannot be read is a fault, and never taken for nothing.
#[tokio::test]
async fn a_revert_without_data_is_an_answer_and_other_errors_are_not() {
    let reverting = FakeNode::start(|method| match method {
        "eth_chainId" => json!({ "result": "0x2105" }),
        "eth_getBlockByNumber" => json!({ "result": block() }),
        // PUSH0 PUSH0 REVERT.
        "eth_getCode" => json!({ "result": "0x5f5ffd" }),
        "eth_getBalance" | "eth_getTransactionCount" => json!({ "result": "0x0" }),
        "eth_call" => json!({ "error": { "code": -32000, "message": "invalid opcode: CLZ" } }),
        _ => json!({ "error": { "code": -32601, "message": "no such method" } }),
    });
    let failing = FakeNode::start(|method| match method {
        "eth_chainId" => json!({ "result": "0x2105" }),
        "eth_getBlockByNumber" => json!({ "result": block() }),
        "eth_getCode" => json!({ "result": "0x00" }),
        "eth_getBalance" => json!({ "result": "0x0" }),
        "eth_call" => json!({ "result": "0x" }),
        _ => json!({ "error": { "code": -32000, "message": "state is pruned" } }),
    });

    let chain = Foresight::new(Node::connect(&reverting.url).await.unwrap());
    let refused = chain.dry_run(&redemption().into(), Address::ZERO).await.unwrap();
    let chain = Foresight::new(Node::connect(&failing.url).await.unwrap());
    let fault = chain.dry_run(&redemption().into(), Address::ZERO).await;

    assert!(matches!(refused, Outcome::Refused(denial) if denial.code == DenialCode::Reverted));
    assert!(fault.is_err());
}

/// A server that answers every request with `answer`, in which PATH stands for what was asked for.
fn echo(answer: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut bytes = vec![0; 4096];
            let read = stream.read(&mut bytes).unwrap_or_default();
            let head = String::from_utf8_lossy(&bytes[..read]).into_owned();
            let path = head.split(' ').nth(1).unwrap_or_default();
            let _ = stream.write_all(answer.replace("PATH", path).as_bytes());
        }
    });
    port
}

fn everything_said(error: &dyn Error) -> String {
    let mut words = format!("{error:?} {error}");
    let mut source = error.source();
    while let Some(cause) = source {
        words.push_str(&format!(" {cause} {cause:?}"));
        source = cause.source();
    }
    words
}

/// ATK-35: providers put keys into paths and queries, and servers echo what they do not know.
#[tokio::test]
async fn no_error_on_the_way_quotes_the_urls_secrets() {
    let not_found = "HTTP/1.1 404 Not Found\r\nconnection: close\r\n\r\nCannot POST PATH";
    let page = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n<html>PATH</html>";
    let moved =
        "HTTP/1.1 307 Moved\r\nlocation: http://127.0.0.1:1PATH\r\nconnection: close\r\n\r\n";
    for port in [1, echo(not_found), echo(page), echo(moved)] {
        let url = format!("http://user:secret@127.0.0.1:{port}/v2/APIKEY?key=QUERY");

        let error = Node::connect(&url.parse().unwrap()).await.unwrap_err();

        let words = everything_said(&error);
        for secret in ["secret", "APIKEY", "QUERY"] {
            assert!(!words.contains(secret), "{words}");
        }
        assert!(words.contains(&format!("127.0.0.1:{port}")), "{words}");
    }
}

/// Requests after the first are no different.
#[tokio::test]
async fn later_requests_quote_nothing_either() {
    let node = FakeNode::start(|method| match method {
        "eth_chainId" => json!({ "result": "0x2105" }),
        _ => json!({ "result": { "secret": "not a block" } }),
    });
    let url = format!("{}v2/APIKEY?key=QUERY", node.url).parse().unwrap();
    let chain = Node::connect(&url).await.unwrap();

    let words = everything_said(&chain.head().await.unwrap_err());

    for secret in ["APIKEY", "QUERY"] {
        assert!(!words.contains(secret), "{words}");
    }
}

/// A node that takes a request and never answers is given up.
#[tokio::test]
async fn a_node_that_stalls_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();

    let error = Node::connect_within(&url, Duration::from_millis(200)).await.unwrap_err();

    assert!(error.to_string().contains("does not answer"), "{error}");
    drop(listener);
}

/// What was sent and not answered is not called refused: it may be on its way into a block.
#[tokio::test]
async fn a_transaction_sent_into_silence_is_named_and_not_called_refused() {
    let node = FakeNode::start(|method| match method {
        "eth_chainId" => json!({ "result": "0x2105" }),
        _ => json!({ "result": "not a hash" }),
    });
    let refusing = FakeNode::start(|method| match method {
        "eth_chainId" => json!({ "result": "0x2105" }),
        "eth_getTransactionByHash" => json!({ "result": null }),
        _ => json!({ "error": { "code": -32000, "message": "intrinsic gas too low" } }),
    });
    let taken = FakeNode::start(|method| match method {
        "eth_chainId" => json!({ "result": "0x2105" }),
        "eth_getTransactionByHash" => json!({ "result": null }),
        _ => json!({ "error": { "code": -32000, "message": "nonce too low" } }),
    });
    let tx = SignedTransaction { hash: HEAD, raw: Bytes::new(), from: Address::ZERO };

    let silent = Node::connect(&node.url).await.unwrap().with_patience(Duration::from_millis(100));
    let silent = silent.send(&tx).await.unwrap_err();
    let refused = Node::connect(&refusing.url).await.unwrap().send(&tx).await.unwrap_err();

    assert!(silent.to_string().contains(&HEAD.to_string()), "{silent}");
    assert!(silent.to_string().contains("look it up"), "{silent}");
    assert!(refused.to_string().contains("refused"), "{refused}");
    let taken = Node::connect(&taken.url).await.unwrap().with_patience(Duration::from_millis(100));
    let taken = taken.send(&tx).await.unwrap_err();
    // It may be this very one.
    assert!(taken.to_string().contains("by it or by another"), "{taken}");
}
