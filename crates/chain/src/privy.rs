use alloy::transports::http::{
    Client,
    reqwest::{
        self, Method,
        header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER},
    },
};
use async_trait::async_trait;
use golem_custody::{
    AppSecret, BoxError, ServiceReply, Verb, WalletApp, WalletRequest, WalletService,
};
use std::time::Duration;

/// How long the service may take for one answer.
const ANSWER: Duration = Duration::from_secs(20);
/// Longest answer that is read.
const MOST: usize = 1 << 20;

/// Privy could not be asked, or no whole answer came.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PrivyFault {
    /// The HTTP client could not be made.
    #[error("no HTTP client could be made")]
    Client {
        /// Why.
        source: reqwest::Error,
    },
    /// The secret has characters that no header carries.
    #[error("the app secret cannot be sent: it has characters that no header carries")]
    Secret,
    /// A request for somebody else: it would carry this app's secret there.
    #[error("the request was made for another app or another service; it was not sent")]
    NotOurs,
    /// The connection failed or ended.
    #[error("no whole answer came")]
    Http {
        /// Why, without the URL.
        source: reqwest::Error,
    },
    /// Too long an answer.
    #[error("the answer is longer than {MOST} bytes")]
    TooLong,
}

/// Privy's REST API over HTTPS: carries what custody made, with the app's own credentials, and follows nobody elsewhere.
#[expect(missing_debug_implementations, reason = "INV-2: it holds the app's secret")]
pub struct Privy {
    client: Client,
    app: WalletApp,
    authorization: HeaderValue,
}

impl Privy {
    /// The service that `app` describes.
    pub fn new(app: WalletApp, secret: &AppSecret) -> Result<Self, PrivyFault> {
        Self::answering_within(app, secret, ANSWER)
    }

    /// The same, with `answer` for each of its answers.
    pub fn answering_within(
        app: WalletApp,
        secret: &AppSecret,
        answer: Duration,
    ) -> Result<Self, PrivyFault> {
        let client = Client::builder()
            .timeout(answer)
            .redirect(reqwest::redirect::Policy::none())
            // What is on this machine is not asked for through somebody else.
            .no_proxy()
            .build()
            .map_err(|source| PrivyFault::Client { source: source.without_url() })?;
        // Its cause would quote the secret.
        let Ok(mut authorization) = HeaderValue::from_str(&secret.basic(&app)) else {
            return Err(PrivyFault::Secret);
        };
        authorization.set_sensitive(true);
        Ok(Self { client, app, authorization })
    }

    async fn exchange(&self, request: &WalletRequest) -> Result<ServiceReply, PrivyFault> {
        if !self.app.made(request) {
            return Err(PrivyFault::NotOurs);
        }
        let fault = |source: reqwest::Error| PrivyFault::Http { source: source.without_url() };
        let method = match request.verb() {
            Verb::Get => Method::GET,
            Verb::Post => Method::POST,
            Verb::Patch => Method::PATCH,
        };
        let mut sent = self
            .client
            .request(method, request.url())
            .header(AUTHORIZATION, self.authorization.clone());
        for (name, value) in request.headers() {
            sent = sent.header(name, value);
        }
        if let Some(body) = request.body() {
            sent = sent.header(CONTENT_TYPE, "application/json").body(body);
        }
        let mut answer = sent.send().await.map_err(fault)?;
        let (status, retry_after) = (answer.status().as_u16(), seconds(answer.headers()));
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(fault)? {
            if body.len() + chunk.len() > MOST {
                return Err(PrivyFault::TooLong);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(ServiceReply { status, retry_after, body })
    }
}

/// What `Retry-After` says, where it is a number of seconds. A date is not read: our own wait stands.
fn seconds(headers: &HeaderMap) -> Option<u64> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()
}

#[async_trait]
impl WalletService for Privy {
    fn app(&self) -> &WalletApp {
        &self.app
    }

    async fn ask(&self, request: &WalletRequest) -> Result<ServiceReply, BoxError> {
        Ok(self.exchange(request).await?)
    }
}
