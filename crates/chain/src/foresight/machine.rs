//! What runs calls on a state.

use super::State;
use crate::refusal::{Failure, Frame, Lack};
use alloy::primitives::{Address, Bytes, U256, address, map::HashMap};
use revm::{
    Context, ExecuteEvm, InspectEvm as _, Inspector, MainContext as _,
    context::{BlockEnv, Cfg, ContextSetters as _, ContextTr, Evm, FrameStack, TxEnv},
    context_interface::result::ExecutionResult,
    database::WrapDatabaseRef,
    handler::{
        EthFrame, EthPrecompiles, Handler as _, MainnetContext, MainnetHandler, PrecompileProvider,
        instructions::EthInstructions, precompile_output_to_interpreter_result,
    },
    interpreter::{
        CallInputs, CallOutcome, CallScheme, CreateInputs, CreateOutcome, InstructionResult,
        InterpreterResult, interpreter::EthInterpreter,
    },
    precompile::{PrecompileOutput, secp256k1::ECRECOVER},
    primitives::{AddressSet, TxKind, hardfork::SpecId},
};
use std::{
    cell::Cell,
    mem,
    ops::{Deref, DerefMut},
    sync::{Mutex, PoisonError},
};

/// Most signers that are remembered: far more than a key has grants, and little memory.
const MOST_SIGNERS: usize = 256;
/// The first address at which no chain has a contract built in.
const FIRST: Address = address!("0000000000000000000000000000000000001000");
/// Most gas of a question to a token.
const QUESTION_GAS: u64 = 1_000_000;
/// Length of a whole question to `ecrecover`: digest, `v`, `r` and `s`.
const QUESTION: usize = 128;

type Database<'a> = MainnetContext<WrapDatabaseRef<&'a State>>;
type Frames = FrameStack<EthFrame<EthInterpreter>>;
type Inner<'a> = Evm<
    Database<'a>,
    Witness,
    EthInstructions<EthInterpreter, Database<'a>>,
    Precompiles<'a>,
    EthFrame<EthInterpreter>,
>;

thread_local! {
    /// The stacks of the last machine of this thread. Each is 32 KiB: made anew for every run, they cost more than a tenth of it.
    static FRAMES: Cell<Option<Frames>> = const { Cell::new(None) };
}

/// Runs calls in one block, on the state that was read of it.
pub(super) struct Machine<'a>(Inner<'a>);

impl<'a> Machine<'a> {
    pub(super) fn new(state: &'a State, rules: Rules, number: u64, signers: &'a Signers) -> Self {
        let header = &state.within;
        let block = BlockEnv {
            number: U256::from(number),
            timestamp: U256::from(header.timestamp),
            beneficiary: header.beneficiary,
            gas_limit: header.gas_limit,
            basefee: header.base_fee_per_gas.unwrap_or_default(),
            prevrandao: Some(header.mix_hash),
            ..BlockEnv::default()
        };
        let ctx = Context::mainnet()
            .with_db(WrapDatabaseRef(state))
            .with_block(block)
            .modify_cfg_chained(|cfg| {
                cfg.chain_id = rules.chain_id;
                cfg.set_spec_and_mainnet_gas_params(rules.spec);
                // As `eth_call` has it: a question costs nothing and needs no place in a queue.
                cfg.disable_nonce_check = true;
                cfg.disable_balance_check = true;
                cfg.disable_block_gas_limit = true;
                cfg.disable_eip3607 = true;
                cfg.disable_base_fee = true;
                cfg.disable_fee_charge = true;
            });
        let spec = ctx.cfg.spec;
        Self(Evm {
            ctx,
            inspector: Witness::default(),
            instruction: EthInstructions::new_mainnet_with_spec(spec),
            precompiles: Precompiles { all: EthPrecompiles::new(spec), signers },
            frame_stack: FRAMES.take().unwrap_or_default(),
        })
    }

    /// A contract that the chain may have built in, that was touched, and that this machine does not have: what it would
    /// have done is not known. Such contracts stand at the lowest addresses.
    pub(super) fn built_in(&self) -> Option<Address> {
        let touched = self.0.ctx.journal().state.keys();
        let low = |address: &&Address| !address.is_zero() && **address < FIRST;
        let known = self.0.precompiles.all.warm_addresses();
        touched.filter(low).find(|address| !known.contains(*address)).copied()
    }

    /// Calls a contract as nobody, in whatever state there is, for little gas: nothing is paid, and no place is taken.
    pub(super) fn ask(
        &mut self,
        to: Address,
        data: Bytes,
    ) -> Result<ExecutionResult, <Inner<'a> as ExecuteEvm>::Error> {
        self.0.ctx.set_tx(TxEnv {
            kind: TxKind::Call(to),
            data,
            gas_limit: QUESTION_GAS,
            ..TxEnv::default()
        });
        MainnetHandler::default().run_system_call(&mut self.0)
    }

    /// Runs a call, and says which calls it made; none where it failed.
    pub(super) fn made(
        mut self,
        transaction: TxEnv,
    ) -> Result<Option<Vec<Made>>, <Inner<'a> as ExecuteEvm>::Error> {
        let result = self.0.inspect_one_tx(transaction)?;
        Ok(result.is_success().then(|| mem::take(&mut self.0.inspector.made)))
    }

    /// Runs a call that reverts, and says how it did.
    pub(super) fn failure(
        mut self,
        transaction: TxEnv,
    ) -> Result<Option<Failure>, <Inner<'a> as ExecuteEvm>::Error> {
        let _reverted = self.0.inspect_one_tx(transaction)?;
        Ok(mem::take(&mut self.0.inspector.failed))
    }
}

/// Which chain's rules count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) chain_id: u64,
    pub(super) spec: SpecId,
}

/// A call that took effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Made {
    pub(super) from: Address,
    pub(super) to: Address,
    pub(super) value: U256,
    pub(super) input: Bytes,
}

/// Sees which calls are made and which fail, and whose failures their callers pass on. Runs that are not inspected do not know
/// of it.
#[derive(Default)]
pub(super) struct Witness {
    /// What each call that is under way was asked, how the last one that it made failed, and how many were made before it.
    under_way: Vec<(Bytes, Option<Failure>, usize)>,
    failed: Option<Failure>,
    made: Vec<Made>,
}

impl Witness {
    fn ended(&mut self, result: &InterpreterResult, frame: impl FnOnce(Bytes) -> Frame) {
        let Some((input, last, before)) = self.under_way.pop() else { return };
        let failure =
            (!result.is_ok()).then(|| Failure::of(result.output.clone(), frame(input), last));
        if failure.is_some() {
            self.made.truncate(before);
        }
        *self.under_way.last_mut().map_or(&mut self.failed, |(_, last, _)| last) = failure;
    }
}

impl Inspector<Database<'_>> for Witness {
    fn call(&mut self, context: &mut Database<'_>, inputs: &mut CallInputs) -> Option<CallOutcome> {
        let input = inputs.input.bytes(context);
        self.under_way.push((input.clone(), None, self.made.len()));
        if inputs.scheme == CallScheme::Call {
            let (from, to) = (inputs.caller, inputs.target_address);
            let value = inputs.transfer_value().unwrap_or_default();
            self.made.push(Made { from, to, value, input });
        }
        None
    }

    fn call_end(
        &mut self,
        context: &mut Database<'_>,
        inputs: &CallInputs,
        outcome: &mut CallOutcome,
    ) {
        let poor = outcome.result.result == InstructionResult::OutOfFunds;
        let lack = inputs.transfer_value().filter(|_| poor).map(|value| {
            let account = inputs.transfer_from();
            let holds = context.journal().state.get(&account).map(|account| account.info.balance);
            Lack { account, value, holds }
        });
        let lent = matches!(inputs.scheme, CallScheme::DelegateCall | CallScheme::CallCode);
        self.ended(&outcome.result, |input| Frame { to: inputs.target_address, input, lent, lack });
    }

    fn create(&mut self, _: &mut Database<'_>, _: &mut CreateInputs) -> Option<CreateOutcome> {
        self.under_way.push((Bytes::new(), None, self.made.len()));
        None
    }

    fn create_end(&mut self, _: &mut Database<'_>, _: &CreateInputs, outcome: &mut CreateOutcome) {
        let to = outcome.address.unwrap_or_default();
        self.ended(&outcome.result, |input| Frame { to, input, lent: false, lack: None });
    }
}

impl<'a> Deref for Machine<'a> {
    type Target = Inner<'a>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Machine<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl Drop for Machine<'_> {
    fn drop(&mut self) {
        let frames = mem::take(&mut self.0.frame_stack);
        // A thread that ends has no more use for them.
        let _ = FRAMES.try_with(|kept| kept.set(Some(frames)));
    }
}

/// Who signed what, as `ecrecover` said: gas and answer by question. The answer depends on nothing but the question, and a
/// grant asks the same one each time that it is redeemed.
#[derive(Debug, Default)]
pub(super) struct Signers(Mutex<HashMap<Bytes, (u64, Bytes)>>);

impl Signers {
    fn of(&self, question: &[u8]) -> Option<(u64, Bytes)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(question).cloned()
    }

    fn keep(&self, question: Bytes, gas: u64, answer: Bytes) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_SIGNERS {
            known.clear();
        }
        known.insert(question, (gas, answer));
    }
}

/// The chain's built-in contracts.
pub(super) struct Precompiles<'a> {
    all: EthPrecompiles,
    signers: &'a Signers,
}

impl<C: ContextTr<Cfg: Cfg<Spec = SpecId>>> PrecompileProvider<C> for Precompiles<'_> {
    type Output = InterpreterResult;

    fn set_spec(&mut self, spec: SpecId) -> bool {
        PrecompileProvider::<C>::set_spec(&mut self.all, spec)
    }

    fn run(
        &mut self,
        context: &mut C,
        inputs: &CallInputs,
    ) -> Result<Option<InterpreterResult>, String> {
        let asked = (inputs.bytecode_address == *ECRECOVER.address())
            .then(|| inputs.input.bytes(context))
            .filter(|question| question.len() == QUESTION);
        let Some(question) = asked else { return self.all.run(context, inputs) };
        if let Some((gas, answer)) = self.signers.of(&question)
            && gas <= inputs.gas_limit
        {
            let output = PrecompileOutput::new(gas, answer, inputs.reservoir);
            return Ok(Some(precompile_output_to_interpreter_result(output, inputs.gas_limit)));
        }
        let ran = self.all.run(context, inputs)?;
        if let Some(done) = &ran
            && done.result.is_ok()
        {
            self.signers.keep(question, done.gas.total_gas_spent(), done.output.clone());
        }
        Ok(ran)
    }

    fn warm_addresses(&self) -> &AddressSet {
        self.all.warm_addresses()
    }
}
