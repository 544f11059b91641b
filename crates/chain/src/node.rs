use alloy::{
    eips::{BlockId, BlockNumberOrTag},
    network::TransactionBuilder,
    primitives::{Address, B256, Bytes, U256},
    providers::{DynProvider, PendingTransactionError, Provider, ProviderBuilder},
    rpc::types::{TransactionReceipt, TransactionRequest},
    sol_types::SolCall,
    transports::{
        RpcError, TransportErrorKind,
        http::{
            Client,
            reqwest::{self},
        },
    },
};
use async_trait::async_trait;
use golem_custody::{BlockRef, BoxError, Receipt, SignedTransaction, Submit, TransactionPlan};
use std::time::Duration;
use url::Url;

/// How long a node may take for one answer.
const ANSWER: Duration = Duration::from_secs(20);
/// How long a sent transaction may take to be mined, unless the caller says otherwise.
const PATIENCE: Duration = Duration::from_secs(120);

/// Something about the chain could not be read or done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChainFault {
    /// The node did not answer.
    #[error("node at {url} does not answer as one; check the URL and that the node runs")]
    Unreachable {
        /// Where, without credentials.
        url: String,
        /// Why.
        source: Box<RpcError<TransportErrorKind>>,
    },
    /// The HTTP client could not be made.
    #[error("no HTTP client could be made")]
    Client {
        /// Why.
        source: reqwest::Error,
    },
    /// A request failed.
    #[error("node refused {what}")]
    Rpc {
        /// What was asked.
        what: &'static str,
        /// Why.
        source: Box<RpcError<TransportErrorKind>>,
    },
    /// A contract's answer does not decode.
    #[error("answer of {contract} to {what} does not decode; is it the expected contract?")]
    Answer {
        /// Who answered.
        contract: Address,
        /// What was asked.
        what: &'static str,
        /// Why.
        source: Box<alloy::sol_types::Error>,
    },
    /// A contract that must be there is not.
    #[error(
        "no code at {address} ({what}) on chain {chain_id}; `bardo chains check` says what is missing and what to do"
    )]
    Missing {
        /// What should be there.
        what: &'static str,
        /// Where.
        address: Address,
        /// On which chain.
        chain_id: u64,
    },
    /// A block the node named cannot be read from it.
    #[error("node has no newest block")]
    NoHead,
    /// A call touches more than is read for one verdict.
    #[error("the call touches too much: it was not decided after {stops} stops to read state")]
    TooMuchUnread {
        /// How often it stopped.
        stops: usize,
    },
    /// The machine did not take the call for one.
    #[error("the call cannot be run here: {why}")]
    Machine {
        /// In its words.
        why: String,
    },
    /// A transaction was sent, and the node did not say what it made of it.
    #[error("transaction {hash} was sent but not answered; look it up before sending again")]
    Unanswered {
        /// The transaction.
        hash: B256,
        /// Why.
        source: Box<RpcError<TransportErrorKind>>,
    },
    /// A sent transaction was not seen in a block in time; it may still land.
    #[error(
        "transaction {hash} was sent but is not in a block yet; look it up before sending again"
    )]
    NotMined {
        /// The transaction.
        hash: B256,
        /// Why.
        source: Box<PendingTransactionError>,
    },
}

/// A node whose chain id was asked for once, at the start.
#[derive(Clone, Debug)]
pub struct Node {
    provider: DynProvider,
    chain_id: u64,
    patience: Duration,
}

impl Node {
    /// Connects over HTTP and asks for the chain id.
    pub async fn connect(url: &Url) -> Result<Self, ChainFault> {
        Self::connect_within(url, ANSWER).await
    }

    /// The same, giving the node `answer` for each of its answers. Redirects are not followed: what
    /// is signed goes to the node that was named.
    pub async fn connect_within(url: &Url, answer: Duration) -> Result<Self, ChainFault> {
        let client = Client::builder()
            .timeout(answer)
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|source| ChainFault::Client { source: source.without_url() })?;
        let provider = ProviderBuilder::new()
            .disable_recommended_fillers()
            .connect_reqwest(client, url.clone())
            .erased();
        let chain_id = provider.get_chain_id().await.map_err(|source| ChainFault::Unreachable {
            url: redacted(url),
            source: without_url(source).into(),
        })?;
        Ok(Self { provider, chain_id, patience: PATIENCE })
    }

    /// The same connection, waiting `patience` for a sent transaction to be mined.
    #[must_use]
    pub const fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// The chain's id.
    #[must_use]
    pub const fn chain_id(&self) -> u64 {
        self.chain_id
    }

    /// The connection, for requests this type has no word for.
    #[must_use]
    pub const fn provider(&self) -> &DynProvider {
        &self.provider
    }

    /// Calls a view function on the newest state.
    pub async fn read<C: SolCall>(&self, to: Address, call: C) -> Result<C::Return, ChainFault> {
        let request = TransactionRequest::default().with_to(to).with_input(call.abi_encode());
        let answer = self.provider.call(request).await.map_err(|source| ChainFault::Rpc {
            what: C::SIGNATURE,
            source: without_url(source).into(),
        })?;
        C::abi_decode_returns_validate(&answer).map_err(|source| ChainFault::Answer {
            contract: to,
            what: C::SIGNATURE,
            source: source.into(),
        })
    }

    /// Code at an address.
    pub async fn code(&self, address: Address) -> Result<Bytes, ChainFault> {
        self.provider.get_code_at(address).await.map_err(rpc("the code of an address"))
    }

    /// Fails unless there is code at `address`.
    pub async fn require(&self, what: &'static str, address: Address) -> Result<(), ChainFault> {
        if self.code(address).await?.is_empty() {
            return Err(ChainFault::Missing { what, address, chain_id: self.chain_id });
        }
        Ok(())
    }

    /// Native balance, in wei.
    pub async fn balance(&self, address: Address) -> Result<U256, ChainFault> {
        self.provider.get_balance(address).await.map_err(rpc("a balance"))
    }

    /// The newest block.
    pub async fn head(&self) -> Result<BlockRef, ChainFault> {
        let block = self
            .provider
            .get_block(BlockId::Number(BlockNumberOrTag::Latest))
            .await
            .map_err(rpc("the newest block"))?
            .ok_or(ChainFault::NoHead)?;
        Ok(BlockRef {
            number: block.header.number,
            hash: block.header.hash,
            timestamp: block.header.timestamp,
        })
    }

    /// Next nonce, fees and balance of `sender`.
    pub async fn plan(&self, sender: Address) -> Result<TransactionPlan, ChainFault> {
        let fees =
            self.provider.estimate_eip1559_fees().await.map_err(rpc("an estimate of fees"))?;
        let nonce =
            self.provider.get_transaction_count(sender).pending().await.map_err(rpc("a nonce"))?;
        Ok(TransactionPlan {
            chain_id: self.chain_id,
            nonce,
            max_fee_per_gas: fees.max_fee_per_gas,
            max_priority_fee_per_gas: fees.max_priority_fee_per_gas,
            balance: self.balance(sender).await?,
        })
    }

    /// Sends a signed transaction and waits for the block that holds it.
    pub async fn send(&self, tx: &SignedTransaction) -> Result<TransactionReceipt, ChainFault> {
        self.provider
            .send_raw_transaction(&tx.raw)
            .await
            .map_err(|source| match source {
                // The node answered, and the answer was no.
                RpcError::ErrorResp(_) => rpc("a signed transaction")(source),
                other => {
                    ChainFault::Unanswered { hash: tx.hash, source: without_url(other).into() }
                }
            })?
            .with_timeout(Some(self.patience))
            .get_receipt()
            .await
            .map_err(|source| ChainFault::NotMined {
                hash: tx.hash,
                source: pending_without_url(source).into(),
            })
    }
}

#[async_trait]
impl Submit for Node {
    async fn plan(&self, sender: Address) -> Result<TransactionPlan, BoxError> {
        Ok(Self::plan(self, sender).await?)
    }

    async fn submit(&self, transaction: &SignedTransaction) -> Result<Receipt, BoxError> {
        let receipt = self.send(transaction).await?;
        Ok(Receipt {
            hash: receipt.transaction_hash,
            success: receipt.status(),
            gas_used: receipt.gas_used,
            block_number: receipt.block_number.unwrap_or_default(),
        })
    }
}

pub(crate) fn rpc(what: &'static str) -> impl FnOnce(RpcError<TransportErrorKind>) -> ChainFault {
    move |source| ChainFault::Rpc { what, source: without_url(source).into() }
}

/// Providers put keys into paths and queries; the HTTP library quotes them in its errors, and a
/// server may echo them in its body (ATK-35). The status stays, the text goes.
fn without_url(error: RpcError<TransportErrorKind>) -> RpcError<TransportErrorKind> {
    match error {
        RpcError::Transport(TransportErrorKind::Custom(cause)) => {
            match cause.downcast::<reqwest::Error>() {
                Ok(http) => TransportErrorKind::custom(http.without_url()),
                Err(other) => RpcError::Transport(TransportErrorKind::Custom(other)),
            }
        }
        RpcError::Transport(TransportErrorKind::HttpError(http)) => {
            TransportErrorKind::http_error(http.status, String::new())
        }
        RpcError::DeserError { err, .. } => RpcError::DeserError { err, text: String::new() },
        other => other,
    }
}

fn pending_without_url(error: PendingTransactionError) -> PendingTransactionError {
    match error {
        PendingTransactionError::TransportError(cause) => {
            PendingTransactionError::TransportError(without_url(cause))
        }
        other => other,
    }
}

/// A URL without user, password, path and query: providers put keys there.
fn redacted(url: &Url) -> String {
    format!("{}://{}", url.scheme(), url.authority().rsplit('@').next().unwrap_or_default())
}
