//! What runs calls on a state.

use super::{State, Unread};
use crate::refusal::{Failure, Frame, Lack};
use alloy::primitives::{Address, Bytes, U256, address, map::HashMap};
use revm::{
    Context, ExecuteEvm as _, MainContext as _,
    bytecode::opcode::{BASEFEE, BLOBBASEFEE, COINBASE, DIFFICULTY, GASLIMIT, GASPRICE, ORIGIN},
    context::{
        BlockEnv, Cfg, CfgEnv, ContextSetters as _, ContextTr, Evm, FrameStack, Journal,
        JournalTr as _, TxEnv,
    },
    context_interface::result::{EVMError, ExecutionResult},
    database::WrapDatabaseRef,
    handler::{
        EthFrame, EthPrecompiles, EvmTr, FrameInitOrResult, FrameResult, Handler as _,
        ItemOrResult, MainnetHandler, PrecompileProvider,
        evm::{ContextDbError, FrameInitResult},
        instructions::EthInstructions,
        precompile_output_to_interpreter_result,
    },
    interpreter::{
        CallInputs, CallScheme, FrameInput, Instruction, InstructionContext, InstructionExecResult,
        InstructionResult, InterpreterResult, instruction_table, instructions::InstructionTable,
        interpreter::EthInterpreter, interpreter_action::FrameInit,
    },
    precompile::{PrecompileOutput, secp256k1::ECRECOVER},
    primitives::{AddressSet, TxKind, hardfork::SpecId},
};
use std::{
    cell::Cell,
    mem,
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

type Base<'a> = WrapDatabaseRef<&'a State>;
type Database<'a> = Context<BlockEnv, TxEnv, CfgEnv, Base<'a>, Journal<Base<'a>>, Glances>;
type Frames = FrameStack<EthFrame<EthInterpreter>>;
type Inner<'a> = Evm<
    Database<'a>,
    (),
    EthInstructions<EthInterpreter, Database<'a>>,
    Precompiles<'a>,
    EthFrame<EthInterpreter>,
>;
/// What an instruction of this machine is given.
type Given<'h, 'a> = InstructionContext<'h, Database<'a>, EthInterpreter>;
/// Why a run did not come to an end.
pub(super) type Stopped = EVMError<Unread>;

thread_local! {
    /// The stacks of the last machine of this thread. Each is 32 KiB: made anew for every run, they cost more than a tenth of it.
    static FRAMES: Cell<Option<Frames>> = const { Cell::new(None) };
}

/// Runs calls in one block, on the state that was read of it, and sees which calls are made.
///
/// It looks on where a call begins and where it ends, and not at every instruction as an inspector does: that costs a tenth of
/// the time.
pub(super) struct Machine<'a> {
    inner: Inner<'a>,
    witness: Witness,
    /// Whether what runs is a question, which must not change anything.
    asking: bool,
    /// The state that nothing here has changed, and the number of the block; none once something ran.
    before: Option<(&'a State, u64)>,
    state: (&'a State, u64),
}

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
            .with_chain(Glances::default())
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
        let mut instruction = EthInstructions::new_mainnet_with_spec(spec);
        let table = instruction.instruction_table_mut();
        notes::<ORIGIN>(table);
        notes::<GASPRICE>(table);
        notes::<COINBASE>(table);
        notes::<DIFFICULTY>(table);
        notes::<GASLIMIT>(table);
        notes::<BASEFEE>(table);
        notes::<BLOBBASEFEE>(table);
        let inner = Evm {
            ctx,
            inspector: (),
            instruction,
            precompiles: Precompiles { all: EthPrecompiles::new(spec), signers },
            frame_stack: FRAMES.take().unwrap_or_default(),
        };
        let state = (state, number);
        Self { inner, witness: Witness::default(), asking: false, before: Some(state), state }
    }

    /// A contract that the chain may have built in, that was touched, and that this machine does not have: what it would
    /// have done is not known. Such contracts stand at the lowest addresses.
    pub(super) fn built_in(&self) -> Option<Address> {
        let low = |address: &Address| !address.is_zero() && *address < FIRST;
        let known = self.inner.precompiles.all.warm_addresses();
        self.touched().map(|(address, _)| address).find(|it| low(it) && !known.contains(it))
    }

    /// Whoever was touched so far, and his coins.
    pub(super) fn touched(&self) -> impl Iterator<Item = (Address, U256)> {
        let state = &self.inner.ctx.journal().state;
        state.iter().map(|(address, account)| (*address, account.info.balance))
    }

    /// The coins of an account, as they are now.
    pub(super) fn coins(&mut self, address: Address) -> Result<U256, Unread> {
        Ok(self.inner.ctx.journal_mut().load_account(address)?.data.info.balance)
    }

    /// Whether there is code at an address, as it is now.
    pub(super) fn has_code(&mut self, address: Address) -> Result<bool, Unread> {
        let account = self.inner.ctx.journal_mut().load_account_with_code(address)?;
        Ok(!account.data.info.is_empty_code_hash())
    }

    /// Calls a contract as nobody, in whatever state there is, for little gas: nothing is paid, no place is taken, and who
    /// would change anything in answering does not answer. Otherwise one token's answer could hide what another moved.
    ///
    /// What was answered once on the state of a block is its answer as long as nothing ran.
    pub(super) fn ask(&mut self, to: Address, data: Bytes) -> Result<ExecutionResult, Stopped> {
        let Some((state, number)) = self.before else { return self.asks(to, data) };
        let asked = (number, to, data);
        if let Some(answer) = state.answer(&asked) {
            return Ok(answer);
        }
        let answer = self.asks(to, asked.2.clone())?;
        state.answered(asked, &answer);
        Ok(answer)
    }

    fn asks(&mut self, to: Address, data: Bytes) -> Result<ExecutionResult, Stopped> {
        self.inner.ctx.set_tx(TxEnv {
            kind: TxKind::Call(to),
            data,
            gas_limit: QUESTION_GAS,
            ..TxEnv::default()
        });
        self.asking = true;
        let answer = MainnetHandler::default().run_system_call(self);
        self.asking = false;
        answer
    }

    /// Runs a call. What it did stays until it is forgotten.
    pub(super) fn run(&mut self, transaction: TxEnv) -> Result<Seen, Stopped> {
        self.before = None;
        self.witness = Witness::default();
        self.inner.ctx.chain = Glances::default();
        self.inner.ctx.set_tx(transaction);
        let result: Result<_, Stopped> = MainnetHandler::default().run(self);
        let result = result?;
        let Witness { failed, made, .. } = mem::take(&mut self.witness);
        Ok(Seen { result, made, failed, glances: self.inner.ctx.chain })
    }

    /// Forgets whatever was done: what is seen next is how it was.
    pub(super) fn forget(&mut self) {
        drop(self.inner.finalize());
        self.before = Some(self.state);
    }
}

/// How a call went.
pub(super) struct Seen {
    pub(super) result: ExecutionResult,
    /// The calls that took effect.
    pub(super) made: Vec<Made>,
    /// How it failed, if it did.
    pub(super) failed: Option<Failure>,
    /// What it looked at that is otherwise in a block.
    pub(super) glances: Glances,
}

/// What contracts looked at that nobody knows before the block: by it they could tell a dry run from the deed. The time and the
/// number of a block are not among it, which too many ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Glances {
    /// Who sends the transaction.
    pub(super) sender: bool,
    /// What gas costs, who builds the block, what chance it brings and how large it may be.
    pub(super) block: bool,
}

/// Has an instruction noted, and done as before.
fn notes<const OPCODE: u8>(table: &mut InstructionTable<EthInterpreter, Database<'_>>) {
    if let Some(instruction) = table.get_mut(usize::from(OPCODE)) {
        *instruction = Instruction::new(noted::<OPCODE>);
    }
}

fn noted<const OPCODE: u8>(context: Given<'_, '_>) -> InstructionExecResult {
    let glances = &mut context.host.chain;
    if OPCODE == ORIGIN {
        glances.sender = true;
    } else {
        glances.block = true;
    }
    match instruction_table().get(usize::from(OPCODE)) {
        Some(instruction) => instruction.execute(context),
        None => Instruction::unknown().execute(context),
    }
}

impl<'a> EvmTr for Machine<'a> {
    type Context = Database<'a>;
    type Instructions = EthInstructions<EthInterpreter, Database<'a>>;
    type Precompiles = Precompiles<'a>;
    type Frame = EthFrame<EthInterpreter>;

    fn all(&self) -> (&Self::Context, &Self::Instructions, &Self::Precompiles, &Frames) {
        self.inner.all()
    }

    fn all_mut(
        &mut self,
    ) -> (&mut Self::Context, &mut Self::Instructions, &mut Self::Precompiles, &mut Frames) {
        self.inner.all_mut()
    }

    fn frame_init(
        &mut self,
        mut init: FrameInit,
    ) -> Result<FrameInitResult<'_, Self::Frame>, ContextDbError<Self::Context>> {
        if self.asking {
            if let FrameInput::Call(inputs) = &mut init.frame_input {
                inputs.is_static = true;
            }
            return self.inner.frame_init(init);
        }
        self.witness.begins(&init.frame_input, &mut self.inner.ctx);
        let input = init.frame_input.clone();
        if let ItemOrResult::Result(result) = self.inner.frame_init(init)? {
            self.witness.ends(&input, &result, &self.inner.ctx);
            return Ok(ItemOrResult::Result(result));
        }
        Ok(ItemOrResult::Item(self.inner.frame_stack.get()))
    }

    fn frame_run(
        &mut self,
    ) -> Result<FrameInitOrResult<Self::Frame>, ContextDbError<Self::Context>> {
        let next = self.inner.frame_run()?;
        if !self.asking
            && let ItemOrResult::Result(result) = &next
        {
            let frame = self.inner.frame_stack.get();
            self.witness.ends(&frame.input, result, &self.inner.ctx);
        }
        Ok(next)
    }

    fn frame_return_result(
        &mut self,
        result: FrameResult,
    ) -> Result<Option<FrameResult>, ContextDbError<Self::Context>> {
        self.inner.frame_return_result(result)
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

/// Sees which calls are made and which fail, and whose failures their callers pass on.
#[derive(Default)]
struct Witness {
    /// What each call that is under way was asked, how the last one that it made failed, and how many were made before it.
    under_way: Vec<(Bytes, Option<Failure>, usize)>,
    failed: Option<Failure>,
    made: Vec<Made>,
}

impl Witness {
    fn begins(&mut self, input: &FrameInput, context: &mut Database<'_>) {
        let before = self.made.len();
        let FrameInput::Call(inputs) = input else {
            return self.under_way.push((Bytes::new(), None, before));
        };
        let input = inputs.input.bytes(context);
        if inputs.scheme == CallScheme::Call {
            let (from, to) = (inputs.caller, inputs.target_address);
            let value = inputs.transfer_value().unwrap_or_default();
            self.made.push(Made { from, to, value, input: input.clone() });
        }
        self.under_way.push((input, None, before));
    }

    fn ends(&mut self, input: &FrameInput, result: &FrameResult, context: &Database<'_>) {
        let Some((asked, last, before)) = self.under_way.pop() else { return };
        let ended = result.interpreter_result();
        let failure = (!ended.is_ok()).then(|| {
            self.made.truncate(before);
            Failure::of(ended.output.clone(), frame(input, asked, result, context), last)
        });
        *self.under_way.last_mut().map_or(&mut self.failed, |(_, last, _)| last) = failure;
    }
}

/// A call that failed.
fn frame(input: &FrameInput, asked: Bytes, result: &FrameResult, context: &Database<'_>) -> Frame {
    let FrameInput::Call(inputs) = input else {
        let created = match result {
            FrameResult::Create(outcome) => outcome.address,
            FrameResult::Call(_) => None,
        };
        let to = created.unwrap_or_default();
        return Frame { to, input: asked, lent: false, lack: None };
    };
    let poor = result.interpreter_result().result == InstructionResult::OutOfFunds;
    let lack = inputs.transfer_value().filter(|_| poor).map(|value| {
        let account = inputs.transfer_from();
        let holds = context.journal().state.get(&account).map(|account| account.info.balance);
        Lack { account, value, holds }
    });
    let lent = matches!(inputs.scheme, CallScheme::DelegateCall | CallScheme::CallCode);
    Frame { to: inputs.target_address, input: asked, lent, lack }
}

impl Drop for Machine<'_> {
    fn drop(&mut self) {
        let frames = mem::take(&mut self.inner.frame_stack);
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
