use super::{ActionRefusal, LAST_SENTINEL, MAX_INNER, SELECTOR_LEN};
use alloy_primitives::{Address, Selector, U256, aliases::U24};

const WORD: usize = 32;

/// Arguments of one call, read as Solidity's decoder reads them, and in their one canonical encoding only: a second encoding of
/// the same values is a chance for two readers to disagree (ATK-15).
///
/// What is no value of its type is told apart from what has another form, because the contract does so: its decoder looks at
/// the types first.
#[derive(Clone, Copy)]
pub(super) struct Arguments<'a> {
    pub(super) target: Address,
    pub(super) selector: Selector,
    bytes: &'a [u8],
}

impl<'a> Arguments<'a> {
    pub(super) fn split(target: Address, data: &'a [u8]) -> Result<Self, ActionRefusal> {
        match data.split_first_chunk::<SELECTOR_LEN>() {
            Some((selector, bytes)) => Ok(Self { target, selector: (*selector).into(), bytes }),
            None => Err(ActionRefusal::NoSelector { target, length: data.len() }),
        }
    }

    pub(super) const fn unknown(&self) -> ActionRefusal {
        ActionRefusal::UnknownCall { target: self.target, selector: self.selector }
    }

    const fn malformed(&self) -> ActionRefusal {
        ActionRefusal::Malformed { target: self.target, selector: self.selector }
    }

    const fn not_canonical(&self) -> ActionRefusal {
        ActionRefusal::NotCanonical { target: self.target, selector: self.selector }
    }

    /// Static arguments, which have one length.
    pub(super) fn words<const N: usize>(&self) -> Result<[U256; N], ActionRefusal> {
        let (chunks, rest) = self.bytes.as_chunks::<WORD>();
        match <[[u8; WORD]; N]>::try_from(chunks) {
            Ok(words) if rest.is_empty() => Ok(words.map(U256::from_be_bytes)),
            _ => Err(self.not_canonical()),
        }
    }

    // Types

    pub(super) const fn uint<const BITS: usize>(&self, word: U256) -> Result<U256, ActionRefusal> {
        if word.bit_len() > BITS { Err(self.malformed()) } else { Ok(word) }
    }

    /// A signed number stands in its word with its sign in all the bits above.
    pub(super) fn int<const BITS: usize>(&self, word: U256) -> Result<(), ActionRefusal> {
        let unsigned = if word.bit(U256::BITS - 1) { !word } else { word };
        if unsigned.bit_len() >= BITS { Err(self.malformed()) } else { Ok(()) }
    }

    pub(super) fn address(&self, word: U256) -> Result<Address, ActionRefusal> {
        let word = self.uint::<160>(word)?;
        Ok(Address::from_word(word.into()))
    }

    pub(super) fn fee(&self, word: U256) -> Result<U24, ActionRefusal> {
        self.uint::<{ U24::BITS }>(word).map(U24::saturating_from)
    }

    /// A recipient that is no router's own word.
    pub(super) fn payee(&self, word: U256) -> Result<Address, ActionRefusal> {
        let payee = self.address(word)?;
        if word <= LAST_SENTINEL {
            return Err(ActionRefusal::Sentinel { target: self.target, value: word });
        }
        Ok(payee)
    }

    // Dynamic parts

    /// A path and what stands behind it in a router's struct, a recipient first.
    pub(super) fn path_and_words<const N: usize>(
        &self,
    ) -> Result<(&'a [u8], [U256; N]), ActionRefusal> {
        let start = self.offset(0, 0)?;
        let head = self.bytes.get(start..).ok_or_else(|| self.malformed())?;
        let (chunks, _rest) = head.as_chunks::<WORD>();
        let Some([_path, words @ ..]) = chunks.get(..=N) else {
            return Err(self.malformed());
        };
        let path_at = self.offset(start, start)?;
        let path = self.blob(path_at)?;
        let words = <[[u8; WORD]; N]>::try_from(words)
            .map_err(|_length| self.malformed())?
            .map(U256::from_be_bytes);
        if let Some(recipient) = words.first() {
            self.address(*recipient)?;
        }

        let mut end = WORD + (1 + N) * WORD;
        let in_place = start == WORD && path_at == end;
        self.step_over(path, &mut end)?;
        if !in_place || end != self.bytes.len() {
            return Err(self.not_canonical());
        }
        Ok((path, words))
    }

    /// The calls inside a multicall, as its target will find them.
    pub(super) fn unwrapped(&self, has_condition: bool) -> Result<Vec<&'a [u8]>, ActionRefusal> {
        let head = if has_condition { 2 * WORD } else { WORD };
        if self.bytes.len() < head {
            return Err(self.malformed());
        }
        let list = self.offset(head - WORD, 0)?;
        let count = self.count(list)?;
        let first = list + WORD;
        let past = count.checked_mul(WORD).and_then(|offsets| first.checked_add(offsets));
        if past.is_none_or(|past| past > self.bytes.len()) {
            return Err(self.malformed());
        }

        // No copies are made, so that even calls that overlap are bounded by the offsets there are.
        let mut in_place = list == head;
        let mut end = first + count * WORD;
        let mut inner = Vec::new();
        for index in 0..count {
            let at = self.offset(first + index * WORD, first)?;
            let call = self.blob(at)?;
            in_place = in_place && at == end && self.step_over(call, &mut end).is_ok();
            if inner.len() < MAX_INNER {
                inner.push(call);
            }
        }
        if !in_place || end != self.bytes.len() {
            return Err(self.not_canonical());
        }
        if count == 0 || count > MAX_INNER {
            return Err(ActionRefusal::Multicall { target: self.target, length: count });
        }
        Ok(inner)
    }

    fn word(&self, at: usize) -> Result<U256, ActionRefusal> {
        let bytes = self.bytes.get(at..).and_then(|rest| rest.first_chunk::<WORD>());
        bytes.map(|word| U256::from_be_bytes(*word)).ok_or_else(|| self.malformed())
    }

    /// Where the offset at `at` leads, counted from `base`. The decoder takes none that 64 bits do not hold.
    fn offset(&self, at: usize, base: usize) -> Result<usize, ActionRefusal> {
        self.count(at)?.checked_add(base).ok_or_else(|| self.malformed())
    }

    fn count(&self, at: usize) -> Result<usize, ActionRefusal> {
        usize::try_from(self.word(at)?).map_err(|_too_large| self.malformed())
    }

    /// Length and bytes.
    fn blob(&self, at: usize) -> Result<&'a [u8], ActionRefusal> {
        let length = self.count(at)?;
        let bytes = at.checked_add(WORD).and_then(|start| self.bytes.get(start..));
        bytes.and_then(|rest| rest.get(..length)).ok_or_else(|| self.malformed())
    }

    /// Moves `end` over a blob that stands there in canonical form: length, bytes, zeros up to the next word.
    fn step_over(&self, blob: &[u8], end: &mut usize) -> Result<(), ActionRefusal> {
        let start = *end + WORD + blob.len();
        *end += WORD + blob.len().next_multiple_of(WORD);
        match self.bytes.get(start..*end) {
            Some(padding) if padding.iter().all(|byte| *byte == 0) => Ok(()),
            _ => Err(self.not_canonical()),
        }
    }
}
