//! How requests and answers are written. One file per form; what they share is here.

mod draft;
mod today;
mod wire;
mod year_2025;

use super::{Answer, Request, RequestError};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, json, value::RawValue};

pub(super) use wire::Chain;

/// Longest text that is looked at.
///
/// ```
/// use golem_delegation::permission::{FormError, MAX_TEXT, read};
/// let text = " ".repeat(MAX_TEXT + 1);
/// assert!(matches!(read(&text), Err(FormError::TooLarge { limit: MAX_TEXT, .. })));
/// // One byte less is looked at, and is no JSON.
/// assert!(matches!(read(&text[1..]), Err(FormError::Json { .. })));
/// ```
pub const MAX_TEXT: usize = 1024 * 1024;
/// Most requests or answers in one text.
///
/// ```
/// use golem_delegation::permission::{Form, FormError, MAX_ENTRIES};
/// # use golem_delegation::permission::{Asset, Periodic, Permission, Request, Rules};
/// # use alloy_primitives::{Address, U256};
/// # let (asset, amount) = (Asset::Native, U256::from(10));
/// # let daily = Periodic { asset, amount, duration: 86_400, start: None };
/// # let request = Request { chain_id: 8453, from: None, to: Address::repeat_byte(1),
/// #     permission: Permission::Periodic(daily), adjustable: false, justification: None,
/// #     rules: Rules::default() };
/// assert!(Form::Today.write_requests(&vec![request.clone(); MAX_ENTRIES]).is_ok());
///
/// let more = Form::Today.write_requests(&vec![request; MAX_ENTRIES + 1]);
/// assert!(matches!(more, Err(FormError::TooMany { what: "entries", limit: MAX_ENTRIES, .. })));
/// ```
pub const MAX_ENTRIES: usize = 32;
/// Most addresses in one rule.
///
/// ```
/// use golem_delegation::permission::{Form, FormError, MAX_ADDRESSES};
/// # use golem_delegation::permission::{Asset, Periodic, Permission, Request, Rules};
/// # use alloy_primitives::{Address, U256};
/// # let (asset, amount) = (Asset::Native, U256::from(10));
/// # let daily = Periodic { asset, amount, duration: 86_400, start: None };
/// # let request = Request { chain_id: 8453, from: None, to: Address::repeat_byte(1),
/// #     permission: Permission::Periodic(daily), adjustable: false, justification: None,
/// #     rules: Rules::default() };
/// let write = |redeemers: usize| {
///     let redeemers = vec![Address::repeat_byte(2); redeemers];
///     let rules = Rules { redeemers, ..Rules::default() };
///     Form::Today.write_requests(&[Request { rules, ..request.clone() }])
/// };
/// assert!(write(MAX_ADDRESSES).is_ok());
/// let more = write(MAX_ADDRESSES + 1);
/// assert!(matches!(more, Err(FormError::TooMany { what: "addresses", .. })));
/// ```
pub const MAX_ADDRESSES: usize = 64;
/// Longest justification, in UTF-16 units, as MetaMask counts them.
///
/// ```
/// use golem_delegation::permission::{Form, MAX_JUSTIFICATION};
/// # use golem_delegation::permission::{Asset, Periodic, Permission, Request, Rules};
/// # use alloy_primitives::{Address, U256};
/// # let (asset, amount) = (Asset::Native, U256::from(10));
/// # let daily = Periodic { asset, amount, duration: 86_400, start: None };
/// # let request = Request { chain_id: 8453, from: None, to: Address::repeat_byte(1),
/// #     permission: Permission::Periodic(daily), adjustable: false, justification: None,
/// #     rules: Rules::default() };
/// let write = |words: String| {
///     Form::Today.write_requests(&[Request { justification: Some(words), ..request.clone() }])
/// };
/// assert!(write("a".repeat(MAX_JUSTIFICATION)).is_ok());
/// // This character is two units.
/// assert!(write("🜔".repeat(MAX_JUSTIFICATION / 2)).is_ok());
/// assert!(write("🜔".repeat(MAX_JUSTIFICATION / 2 + 1)).is_err());
/// ```
pub const MAX_JUSTIFICATION: usize = 300;

/// Which of the wire forms.
///
/// ```
/// use golem_delegation::permission::Form;
/// assert_eq!(Form::Today.method(), "wallet_requestExecutionPermissions");
/// assert_eq!(Form::Draft.method(), "wallet_grantPermissions");
/// assert_eq!(Form::Year2025.name(), "2025");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Form {
    /// What MetaMask and its kit 2.0 speak: `to`, `from`, `rules`; the answer has `delegationManager`.
    Today,
    /// What MetaMask spoke in 2025: `signer` of type `account`, `address`; the answer has `signerMeta`.
    Year2025,
    /// The draft that the seeds show: `wallet_grantPermissions`, `signer` of type `key`, `expiry` at the top.
    Draft,
}

impl Form {
    /// The method a request is sent by.
    #[must_use]
    pub const fn method(self) -> &'static str {
        match self {
            Self::Today | Self::Year2025 => "wallet_requestExecutionPermissions",
            Self::Draft => "wallet_grantPermissions",
        }
    }

    /// One word for programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Today => "today",
            Self::Year2025 => "2025",
            Self::Draft => "draft",
        }
    }

    /// `{"method": …, "params": […]}`. What the form cannot say is refused, not left out.
    ///
    /// ```
    /// use golem_delegation::permission::{Form, FormError};
    /// # use golem_delegation::permission::{Asset, Periodic, Permission, Request, Rules};
    /// # use alloy_primitives::{Address, U256};
    /// # let (asset, amount) = (Asset::Native, U256::from(10));
    /// # let daily = Periodic { asset, amount, duration: 86_400, start: None };
    /// # let request = Request { chain_id: 8453, from: None, to: Address::repeat_byte(1),
    /// #     permission: Permission::Periodic(daily), adjustable: false, justification: None,
    /// #     rules: Rules::default() };
    /// let call = Form::Today.write_requests(&[request.clone()])?;
    /// assert_eq!(call["params"][0]["permission"]["type"], "native-token-periodic");
    ///
    /// // This one never expires.
    /// let draft = Form::Draft.write_requests(&[request]);
    /// assert!(matches!(draft, Err(FormError::CannotSay { what: "that it never expires", .. })));
    /// # Ok::<(), FormError>(())
    /// ```
    pub fn write_requests(self, requests: &[Request]) -> Result<Value, FormError> {
        count(requests.len())?;
        let params = match self {
            Self::Today => each(requests, today::write_request)?,
            Self::Year2025 => each(requests, year_2025::write_request)?,
            Self::Draft => vec![draft::write_requests(requests)?],
        };
        Ok(json!({ "method": self.method(), "params": params }))
    }

    /// The answers as a wallet gives them.
    ///
    /// ```
    /// use golem_delegation::permission::{Answer, Form};
    /// # use golem_delegation::permission::{Asset, Periodic, Permission, Request, Rules};
    /// # use alloy_primitives::{Address, U256};
    /// # let (asset, amount) = (Asset::Native, U256::from(10));
    /// # let daily = Periodic { asset, amount, duration: 86_400, start: None };
    /// # let request = Request { chain_id: 8453, from: None, to: Address::repeat_byte(1),
    /// #     permission: Permission::Periodic(daily), adjustable: false, justification: None,
    /// #     rules: Rules::default() };
    /// # let (context, manager) = (alloy_primitives::bytes!("00"), Some(Address::repeat_byte(4)));
    /// # let rules = Rules { expiry: Some(1_800_000_000), ..Rules::default() };
    /// # let granted = Request { rules, ..request };
    /// let answers = [Answer { granted, context, dependencies: vec![], manager }];
    /// // The forms name the manager in different places.
    /// let today = Form::Today.write_answers(&answers)?;
    /// let before = Form::Year2025.write_answers(&answers)?;
    /// assert_eq!(today[0]["delegationManager"], "0x0404040404040404040404040404040404040404");
    /// assert_eq!(before[0]["signerMeta"]["delegationManager"], today[0]["delegationManager"]);
    /// # Ok::<(), golem_delegation::permission::FormError>(())
    /// ```
    pub fn write_answers(self, answers: &[Answer]) -> Result<Value, FormError> {
        count(answers.len())?;
        match self {
            Self::Today => each(answers, today::write_answer).map(Value::Array),
            Self::Year2025 => each(answers, year_2025::write_answer).map(Value::Array),
            Self::Draft => draft::write_answers(answers),
        }
    }
}

fn each<T>(
    all: &[T],
    write: impl Fn(&T) -> Result<Value, FormError>,
) -> Result<Vec<Value>, FormError> {
    all.iter().map(write).collect()
}

const fn count(actual: usize) -> Result<(), FormError> {
    match actual {
        0 => Err(FormError::Empty),
        1..=MAX_ENTRIES => Ok(()),
        _ => Err(FormError::TooMany { what: "entries", limit: MAX_ENTRIES, actual }),
    }
}

/// Why a text is no request or answer, or why a form cannot say one.
///
/// ```
/// use golem_delegation::permission::{FormError, read};
/// assert!(matches!(read("[]"), Err(FormError::Empty)));
/// // What a wallet answers when its owner declines.
/// let declined = read(r#"{"jsonrpc":"2.0","id":1,"error":{"code":4001,"message":"no"}}"#);
/// assert_eq!(declined.unwrap_err().to_string(), "the wallet answered with error 4001");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FormError {
    /// More bytes than [`MAX_TEXT`].
    #[error("text of {actual} bytes is larger than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: usize,
        /// What was given.
        actual: usize,
    },
    /// More of something than is looked at.
    #[error("{actual} {what}, of which {limit} at most are read")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// The limit.
        limit: usize,
        /// What was given.
        actual: usize,
    },
    /// Neither a request nor an answer.
    #[error("there is no request and no answer in it")]
    Empty,
    /// Not JSON, or with fields that are missing, unknown, given twice or of another kind.
    #[error("not the JSON of a permission in the form {form}")]
    Json {
        /// Which form was tried.
        form: &'static str,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// The wallet refused.
    #[error("the wallet answered with error {code}")]
    Refused {
        /// JSON-RPC's code.
        code: i64,
    },
    /// Another method, or one of another form.
    #[error("the method {method:?} asks for no permission in the form {form}")]
    Method {
        /// Its name.
        method: String,
        /// The form of its parameters.
        form: &'static str,
    },
    /// Entries of two forms, or requests beside answers.
    #[error("entries of different forms stand side by side")]
    Mixed,
    /// A type of permission nobody knows.
    #[error("no permission is of the type {name:?}")]
    UnknownType {
        /// What was asked for.
        name: String,
    },
    /// A rule nobody knows.
    #[error("no rule is of the type {name:?}")]
    UnknownRule {
        /// What was asked for.
        name: String,
    },
    /// A rule given twice.
    #[error("the rule {name:?} is given twice")]
    RuleTwice {
        /// Which.
        name: &'static str,
    },
    /// A field that the type needs.
    #[error("{of}: {field} is missing")]
    Missing {
        /// The type.
        of: &'static str,
        /// The field.
        field: &'static str,
    },
    /// A field that does not belong to the type.
    #[error("{of}: {field} does not belong there")]
    Unexpected {
        /// The type.
        of: &'static str,
        /// The field.
        field: &'static str,
    },
    /// Two fields that say the same thing differently.
    #[error("{field} is said twice, in different words")]
    Contradiction {
        /// The field.
        field: &'static str,
    },
    /// Something the form has no words for.
    #[error("the form {form} cannot say {what}")]
    CannotSay {
        /// The form.
        form: &'static str,
        /// What it cannot say.
        what: &'static str,
    },
    /// What MetaMask would not take.
    #[error("no wallet grants that")]
    Request(#[from] RequestError),
}

/// Requests or answers.
///
/// ```
/// use golem_delegation::permission::{Message, read};
/// let text = r#"{"chainId":"0x2105","to":"0x0101010101010101010101010101010101010101",
///     "permission":{"type":"native-token-allowance","isAdjustmentAllowed":false,
///         "data":{"allowanceAmount":"0x7"}}}"#;
/// let Message::Requests(requests) = read(text)?.message else { panic!("an answer") };
/// assert_eq!(requests[0].chain_id, 8453);
///
/// // A context makes it an answer, which says more than that.
/// let answer = text.replacen('{', r#"{"context":"0x00","#, 1);
/// assert_eq!(read(&answer).unwrap_err().to_string(), "answer: dependencies is missing");
/// # Ok::<(), golem_delegation::permission::FormError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Message {
    /// What is asked for.
    Requests(Vec<Request>),
    /// What was granted.
    Answers(Vec<Answer>),
}

/// A text that was understood.
///
/// ```
/// use golem_delegation::permission::{Form, Message, Read, read};
/// # use golem_delegation::permission::{Asset, Periodic, Permission, Request, Rules};
/// # use alloy_primitives::{Address, U256};
/// # let (asset, amount) = (Asset::Native, U256::from(10));
/// # let daily = Periodic { asset, amount, duration: 86_400, start: None };
/// # let request = Request { chain_id: 8453, from: None, to: Address::repeat_byte(1),
/// #     permission: Permission::Periodic(daily), adjustable: false, justification: None,
/// #     rules: Rules::default() };
/// // What is written in a form is read as that form.
/// let text = Form::Today.write_requests(&[request.clone()])?.to_string();
/// let Read { form, message } = read(&text)?;
/// assert_eq!((form, message), (Form::Today, Message::Requests(vec![request])));
/// # Ok::<(), golem_delegation::permission::FormError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// The form it is in.
    pub form: Form,
    /// What it says.
    pub message: Message,
}

/// Reads a request or an answer in any of the forms: the JSON-RPC call or response, its list, or one entry.
///
/// ```
/// use golem_delegation::permission::{Form, Message, read};
/// let text = r#"{"chainId":"0x2105","to":"0x0101010101010101010101010101010101010101",
///     "permission":{"type":"native-token-allowance","isAdjustmentAllowed":false,
///         "data":{"allowanceAmount":"0xde0b6b3a7640000"}},
///     "rules":[{"type":"expiry","data":{"timestamp":1800000000}}]}"#;
/// let read = read(text)?;
/// assert_eq!(read.form, Form::Today);
/// assert!(matches!(read.message, Message::Requests(_)));
/// # Ok::<(), golem_delegation::permission::FormError>(())
/// ```
pub fn read(text: &str) -> Result<Read, FormError> {
    read_with(text, &[])
}

/// The same for answers that leave out whom and where they are for, as the draft's may: `asked` fills that in.
///
/// ```
/// use golem_delegation::permission::{Message, read, read_with};
/// # use golem_delegation::permission::{Asset, Periodic, Permission, Request, Rules};
/// # use alloy_primitives::{Address, U256};
/// # let (asset, amount) = (Asset::Native, U256::from(10));
/// # let daily = Periodic { asset, amount, duration: 86_400, start: None };
/// # let request = Request { chain_id: 8453, from: None, to: Address::repeat_byte(1),
/// #     permission: Permission::Periodic(daily), adjustable: false, justification: None,
/// #     rules: Rules::default() };
/// let text = r#"{"expiry":1800000000,"permissionsContext":"0x00","grantedPermissions":[
///     {"type":"native-token-recurring-allowance","data":{"allowance":"0xa","period":86400}}]}"#;
/// assert_eq!(read(text).unwrap_err().to_string(), "answer: chainId is missing");
///
/// let Message::Answers(answers) = read_with(text, &[request])?.message else { panic!("a request") };
/// assert_eq!(answers[0].granted.chain_id, 8453);
/// assert_eq!(answers[0].granted.to, Address::repeat_byte(1));
/// # Ok::<(), golem_delegation::permission::FormError>(())
/// ```
pub fn read_with(text: &str, asked: &[Request]) -> Result<Read, FormError> {
    let Envelope { method, entries } = envelope(text)?;
    count(entries.len())?;
    let mut kinds = entries.iter().map(|entry| kind(entry));
    let Some(first) = kinds.next() else { return Err(FormError::Empty) };
    let (form, is_answer) = first?;
    for other in kinds {
        if other? != (form, is_answer) {
            return Err(FormError::Mixed);
        }
    }
    if let Some(method) = method
        && (method != form.method() || is_answer)
    {
        return Err(FormError::Method { method, form: form.name() });
    }
    let message = if is_answer {
        Message::Answers(collect(&entries, |entry| read_answer(form, entry, asked))?)
    } else {
        Message::Requests(collect(&entries, |entry| match form {
            Form::Today => today::read_request(entry).map(|request| vec![request]),
            Form::Year2025 => year_2025::read_request(entry).map(|request| vec![request]),
            Form::Draft => draft::read_requests(entry),
        })?)
    };
    Ok(Read { form, message })
}

fn read_answer(form: Form, entry: &str, asked: &[Request]) -> Result<Vec<Answer>, FormError> {
    match form {
        Form::Today => today::read_answer(entry).map(|answer| vec![answer]),
        Form::Year2025 => year_2025::read_answer(entry).map(|answer| vec![answer]),
        Form::Draft => draft::read_answers(entry, asked.first()),
    }
}

/// Each entry of a list of answers by itself, so that one that is not understood does not hide the others.
pub(super) fn read_each_answer(text: &str) -> Result<Vec<Result<Answer, FormError>>, FormError> {
    let Envelope { method, entries } = envelope(text)?;
    if let Some(method) = method {
        return Err(FormError::Method { method, form: "answer" });
    }
    if entries.len() > MAX_ENTRIES {
        let actual = entries.len();
        return Err(FormError::TooMany { what: "entries", limit: MAX_ENTRIES, actual });
    }
    let one = |entry: &&str| match kind(entry)? {
        (form @ (Form::Today | Form::Year2025), true) => {
            read_answer(form, entry, &[])?.pop().ok_or(FormError::Empty)
        }
        _ => Err(FormError::Mixed),
    };
    Ok(entries.iter().map(one).collect())
}

fn collect<T>(
    entries: &[&str],
    read: impl Fn(&str) -> Result<Vec<T>, FormError>,
) -> Result<Vec<T>, FormError> {
    let mut all = Vec::new();
    for entry in entries {
        all.extend(read(entry)?);
        count(all.len())?;
    }
    Ok(all)
}

/// What is in the envelope, if there is one.
struct Envelope<'a> {
    method: Option<String>,
    entries: Vec<&'a str>,
}

#[derive(Deserialize)]
struct Call<'a> {
    method: Option<String>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    error: Option<CallError>,
}

#[derive(Deserialize)]
struct CallError {
    code: i64,
}

/// The call's and the response's own fields, and no others.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only there to refuse other fields")]
struct StrictCall {
    jsonrpc: Option<IgnoredAny>,
    id: Option<IgnoredAny>,
    method: Option<IgnoredAny>,
    params: Option<IgnoredAny>,
    result: Option<IgnoredAny>,
}

fn parse<'a, T: Deserialize<'a>>(form: &'static str, text: &'a str) -> Result<T, FormError> {
    serde_json::from_str(text).map_err(|source| FormError::Json { form, source })
}

fn envelope(text: &str) -> Result<Envelope<'_>, FormError> {
    if text.len() > MAX_TEXT {
        return Err(FormError::TooLarge { limit: MAX_TEXT, actual: text.len() });
    }
    if !text.trim_start().starts_with('{') {
        return Ok(Envelope { method: None, entries: list(text)? });
    }
    let call: Call<'_> = parse("of a call", text)?;
    if let Some(CallError { code }) = call.error {
        return Err(FormError::Refused { code });
    }
    let inner = match (&call.method, call.params, call.result) {
        (Some(_), Some(params), None) => params.get(),
        (None, None, Some(result)) => result.get(),
        (None, None, None) => return Ok(Envelope { method: None, entries: vec![text] }),
        _ => return Err(FormError::Mixed),
    };
    parse::<StrictCall>("of a call", text)?;
    let entries = if inner.trim_start().starts_with('{') { vec![inner] } else { list(inner)? };
    Ok(Envelope { method: call.method, entries })
}

fn list(text: &str) -> Result<Vec<&str>, FormError> {
    let entries: Vec<&RawValue> = parse("of a list", text)?;
    Ok(entries.into_iter().map(RawValue::get).collect())
}

/// What tells the forms apart.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Marks {
    to: Option<IgnoredAny>,
    signer: Option<IgnoredAny>,
    permissions: Option<IgnoredAny>,
    granted_permissions: Option<IgnoredAny>,
    permissions_context: Option<IgnoredAny>,
    context: Option<IgnoredAny>,
}

/// The form of an entry, and whether it is an answer.
fn kind(entry: &str) -> Result<(Form, bool), FormError> {
    let marks: Marks = parse("of an entry", entry)?;
    if marks.permissions.is_some() || marks.granted_permissions.is_some() {
        return Ok((Form::Draft, marks.permissions_context.is_some()));
    }
    match (marks.to.is_some(), marks.signer.is_some()) {
        (true, false) => Ok((Form::Today, marks.context.is_some())),
        (false, true) => Ok((Form::Year2025, marks.context.is_some())),
        (true, true) => Err(FormError::Mixed),
        (false, false) => Err(FormError::Missing { of: "permission", field: "to" }),
    }
}
