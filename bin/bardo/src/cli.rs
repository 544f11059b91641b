mod audit;
mod bequest;
mod demo;
mod golem;
mod identity;
mod onboard;
mod registry;
mod report;
mod vault;
mod wallet;

pub(crate) use audit::{AuditCommand, AuditExportArgs, AuditVerifyArgs};
pub(crate) use bequest::{BequestCommand, BequestOpenArgs};
pub(crate) use demo::DemoPart;
pub(crate) use golem::{
    AdjustArgs, AnswerArgs, FeedArgs, GolemCommand, GolemGrantArgs, HistoryArgs, KillArgs,
    ListArgs, LookArgs, ReplicateArgs, RunArgs, RunwayArgs, WatchArgs,
};
pub(crate) use identity::{
    IdentityCommand, IdentityRegisterArgs, IdentityRegistryArgs, IdentityShowArgs, SameOwnerArgs,
};
pub(crate) use onboard::{OnboardAccount, OnboardArgs, OnboardMode, RunwayRequestArgs, Wishes};
pub(crate) use registry::{RegistryCommand, StatusArgs};
pub(crate) use report::ReportArgs;
pub(crate) use vault::{
    DerivedArgs, VaultCommand, VaultCreateArgs, VaultStatusArgs, VaultWithdrawArgs,
};
pub(crate) use wallet::{WalletCommand, WalletStatusArgs, WalletSweepArgs};

use crate::{
    answer::{Failure, tell},
    input,
};
use alloy::primitives::{Address, B256, Bytes, U256};
use bardo_bindings::framework::DELEGATION_MANAGER;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use golem_chain::{ChainFault, Node, OWNER_FEE_CEILING, printable};
use golem_delegation::{
    DelegationHash, PasskeyOwner, State,
    permission::{Asset, Token},
};
use std::{
    io::{Write as _, stderr},
    path::PathBuf,
    time::Duration,
};
use url::Url;

/// The last second of the year 9999: beyond it no date can be written.
const LAST_SECOND: u64 = 253_402_300_799;

/// Let an agent act from your account without ever holding your keys.
#[derive(Debug, Parser)]
#[command(
    version,
    propagate_version = true,
    after_help = "Examples:
  bardo demo                                  see it work, on a local chain
  bardo up                                    a local chain and bundler to play with
  bardo deploy --rpc URL --key-file KEY       put Bardo's contracts on a chain
  bardo delegation verify grant.json --chain-id 8453
  bardo caveat decode --enforcer 0x… --terms 0x…

Exit status: 0 yes, 1 a refusal, 2 wrong use, 3 a fault. Answers go to standard output, talk to standard error."
)]
pub(crate) struct Cli {
    /// Answer in JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Verify and export a Golem's audit log
    #[command(subcommand)]
    Audit(AuditCommand),

    /// Open what a dead Golem left its owner
    #[command(subcommand)]
    Bequest(BequestCommand),

    /// Write and read the terms of caveats
    #[command(subcommand)]
    Caveat(CaveatCommand),

    /// List the chains Bardo knows by name, or check one
    #[command(after_help = "Examples:
  bardo chains --json
  bardo chains check --rpc URL --chain base

Known is not supported: what a chain has is only seen where its RPC is asked. BARDO_CHAINS may name a folder of your own
chain files: name, chain_id, testnet, private_rpc where signed transactions shall go there alone, and ws that tells of new
blocks. --in-the-open sends past a private_rpc; what ends a grant or takes money home does so by itself while that is away.")]
    Chains(ChainsArgs),

    /// Print a completion script for your shell
    #[command(after_help = "Example:\n  bardo completions bash > /etc/bash_completion.d/bardo")]
    Completions {
        /// The shell
        shell: Shell,
    },

    /// Hash, sign, check, try and redeem delegations
    #[command(subcommand)]
    Delegation(DelegationCommand),

    /// Grants and a Golem's whole life on a local chain; ends by itself
    #[command(after_help = "Examples:
  bardo demo
  bardo demo --only life
  bardo demo --only life --stay

Needs the local chain: make devchain. The Golem's life is target/demo/report.html afterwards.")]
    Demo {
        /// One part of it
        #[arg(long, value_name = "PART")]
        only: Option<DemoPart>,
        /// Leave the Golem's chain and folder there until standard input ends; where they are is said on standard error
        #[arg(long)]
        stay: bool,
    },

    /// Put Bardo's contracts on a chain, at the same addresses everywhere
    #[command(after_help = "Examples:
  bardo deploy --rpc http://127.0.0.1:8545 --key-file deployer.key
  bardo deploy --rpc http://127.0.0.1:8545 --check

Running it again is harmless: what is there is verified, not deployed again.")]
    Deploy(DeployArgs),

    /// Run a Golem, look at it, feed it, watch over it, end it
    #[command(subcommand)]
    Golem(GolemCommand),

    /// Register identities of agents (ERC-8004), and read them
    #[command(subcommand)]
    Identity(IdentityCommand),

    /// Become the owner of a Golem, by one grant and one transaction
    #[command(after_help = "Examples:
  bardo onboard --rpc URL --mode vault --session 0x… --data ~/.bardo/golem --deposit 0xUSDC=1000000000 --key-file owner.key
  bardo onboard --rpc URL --mode local --session-password-file pw --data ~/.bardo/golem --key-file owner.key --json
  bardo onboard --rpc URL --manifest golem-manifest.toml --data ~/.bardo/golem --key-file owner.key
  bardo onboard --rpc URL --mode vault --session 0x… --data ~/.bardo/golem --key-file owner.key --print-runway-request

You are asked for a sign-in (ERC-4361), the grant, and one transaction: it upgrades your EOA (EIP-7702) and, in one batch, creates the
vault, registers the Golem with its key, publishes its policy, and pays gas money and deposits. All wishes are looked at first; one that
is off is named, and nothing is born, asked or sent. Prompts, transactions, gas and seconds are shown for each step, and for the eight
by which Golems are provisioned. STRATEGY.md, HEARTBEAT.md and CONSTITUTION.md in the folder are yours to write first; where they are
missing a first one is written. The signed grant is grant.json there, for `bardo delegation status` and `redeem`, and golem.toml says
where everything is. Interrupted anywhere, the same words go on where it was, and send nothing twice. Exit status 1 where it was begun
otherwise, or for another key than the Golem has now: nothing is paid to a key that is gone.

In embedded mode the wallet is made, ruled and funded, and no more: `bardo golem run` does not wake its Golem, and nothing acts until a
program of yours asks for signatures with the Golem's key. `bardo wallet sweep` brings everything home.

A runway is an ERC-7715 grant of your own account for running costs. No charter binds it: whoever has the Golem's key has all of it.")]
    Onboard(Box<OnboardArgs>),

    /// Read what a wallet is asked for, and what it granted (ERC-7715)
    #[command(subcommand)]
    Permission(PermissionCommand),

    /// Write to the registry of Golems, and read it
    #[command(subcommand)]
    Registry(RegistryCommand),

    /// Make session keys
    #[command(subcommand)]
    Session(SessionCommand),

    /// Run a local chain and a bundler until interrupted
    #[command(after_help = "Example:\n  bardo up --json\n\nNeeds the local chain: make devchain")]
    Up,

    /// Create the account where your money is, look at it, and get everything out
    #[command(subcommand)]
    Vault(VaultCommand),

    /// Look at a Golem's wallet at a service, and get everything out
    #[command(subcommand)]
    Wallet(WalletCommand),
}

#[derive(Debug, Args)]
pub(crate) struct ChainsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ChainsCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ChainsCommand {
    /// Ask a chain's RPC whether everything Bardo relies on is there
    #[command(after_help = "Examples:
  bardo chains check --rpc https://… --chain base
  bardo chains check --rpc http://127.0.0.1:8545 --json

Bardo's own contracts, and those whose code is the same on every chain, are compared byte by byte; each of the others is asked
something that nothing else answers alike. `bardo up` starts a local chain that calls itself Base (8453) and has all but one stock
enforcer: it is made to be looked at, and this says so of it. Exit status 1 where something is missing or is something else, or where the RPC is of another chain; then the last lines say what to do. Nothing is sent.")]
    Check(ChainsCheckArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ChainsCheckArgs {
    #[command(flatten)]
    pub(crate) node: NodeArgs,
    /// The chain it should be: by name, by the name of its file under chains/, or by id
    #[arg(long, value_name = "NAME")]
    pub(crate) chain: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CaveatCommand {
    /// Print the terms that say what the parameters say
    #[command(after_help = "Examples:
  bardo caveat encode --kind limitedCalls --params '{\"limit\":\"3\"}'
  cat charter.json | bardo caveat encode --kind golemCharter --params -

`bardo caveat kinds` lists the kinds; they and their parameters have the names that MetaMask's kit gives them. With
--json the enforcer is named too. What is not JSON exits 2; what is not this
kind's parameters, or the contract would refuse, exits 1.")]
    Encode(CaveatEncodeArgs),

    /// List every kind of caveat and the contract that enforces it
    #[command(after_help = "Example:\n  bardo caveat kinds --json")]
    Kinds,

    /// Print what terms say, as kind and parameters
    #[command(after_help = "Example:
  bardo caveat decode --enforcer 0x92Bf12322527cAA612fd31a0e810472BBB106A8F --terms 0x…

An enforcer that is not known gives the kind opaque. What the contract would refuse exits 1.")]
    Decode(CaveatDecodeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct CaveatEncodeArgs {
    /// Which enforcer, by its kind
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: String,
    /// Its parameters as JSON; `-` is standard input
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) params: String,
}

#[derive(Debug, Args)]
pub(crate) struct CaveatDecodeArgs {
    /// The enforcer
    #[arg(long, value_name = "ADDRESS", value_parser = input::address)]
    pub(crate) enforcer: Address,
    /// Its terms; `-` is standard input
    #[arg(long, value_name = "HEX", allow_hyphen_values = true)]
    pub(crate) terms: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DelegationCommand {
    /// Print the hash of each delegation, one a line
    #[command(
        after_help = "Example:\n  bardo delegation hash grant.json\n  cat grants.jsonl | bardo delegation hash -"
    )]
    Hash {
        /// A delegation, a list of them, or one a line, as JSON; `-` is standard input
        file: PathBuf,
    },

    /// Say what a thief of the key could cost you, by day and asset
    #[command(after_help = "Examples:
  bardo delegation blast-radius grant.json --rpc URL
  bardo delegation blast-radius grant.json --facts facts.json --now 1794700800 --json

Facts are what you read from the chain; whatever is missing is taken at its worst, but for a token's decimals: there the
charter is believed, and that is said. JSON, all optional, every
number a decimal string, token 0x0000…0000 the chain's coin, all amounts in base units:

  {
    \"disabled\": [\"0x<hash of a link>\"],
    \"charters\": [{
      \"delegator\": \"0x…\", \"golemId\": \"0x…\",
      \"spendWindow\": \"0\",    GolemCharterEnforcer.spendWindowOf(manager, delegator, golemId)
      \"gasWindow\": \"0\",      gasWindowOf(…)
      \"settlement\": \"0\",     settlementOf(…)
      \"minEpoch\": \"1\",       GolemRegistry's lowest epoch of the Golem
      \"generation\": \"0\"      and its owner's generation
    }],
    \"golems\": [{             GolemRegistry's word: both ends of a life are for ever
      \"registry\": \"0x…\", \"golemId\": \"0x…\", \"registered\": true, \"closed\": false
    }],
    \"counters\": [{           what an enforcer counted: calls, amounts; of a period, the present one's
      \"delegation\": \"0x…\", \"enforcer\": \"0x…\", \"count\": \"0\"
    }],
    \"vaults\": [{             what each listed vault is made of
      \"vault\": \"0x…\", \"asset\": \"0x…\"
    }],
    \"tokens\": [{
      \"token\": \"0x…\", \"decimals\": \"6\",
      \"price\": { \"answer\": \"100000000\", \"decimals\": \"8\" },
      \"balance\": \"0\",        of the account
      \"inVaults\": \"0\",       what its shares of vaults are worth
      \"inPositions\": \"0\",    what its liquidity positions hold
      \"allowance\": \"0\",      what listed spenders may pull
      \"keyBalance\": \"0\"      of the session key
    }]
  }

What a Golem says of itself (phase, dreams, feelings) is no fact: the thief says it.")]
    BlastRadius(BlastRadiusArgs),

    /// Sign a delegation with a key of yours
    #[command(after_help = "Examples:
  bardo delegation sign grant.json --chain-id 8453 --key-file owner.key > signed.json
  bardo delegation sign grant.json --chain-id 8453 --key-file one.key --co-key-file two.key > signed.json

A MultiSig account takes the signatures of as many of its keys as it needs, and of no more.")]
    Sign(SignArgs),

    /// Check signatures by plain keys and passkeys, of one delegation or of a chain
    #[command(after_help = "Examples:
  bardo delegation verify signed.json --chain-id 8453
  bardo delegation verify chain.json --chain-id 8453 --signer 0x…
  bardo delegation verify signed.json --chain-id 8453 --passkey CREDENTIAL-ID,0xX,0xY

A chain is given leaf first; --signer and --passkey speak of its root. Smart accounts are asked on chain (ERC-1271): use
`simulate`. For a Hybrid account, give its owner as --signer or --passkey.")]
    Verify(VerifyArgs),

    /// Say whether a child stays within its parent, and where it does not
    #[command(
        after_help = "Example:\n  bardo delegation attenuates --parent grant.json --child replicant.json

What the child leaves out it inherits. The parent may be a chain, leaf first: each link has its say."
    )]
    Attenuates(AttenuatesArgs),

    /// Say in words what delegations allow, and what they leave open
    #[command(
        after_help = "Example:\n  bardo delegation explain grant.json\n  bardo delegation explain - --json < grants.jsonl"
    )]
    Explain {
        /// Delegations as JSON, or a permission context in hex; `-` is standard input
        file: PathBuf,
    },

    /// Draw who lent what to whom
    #[command(after_help = "Examples:
  bardo delegation tree grants.json
  bardo delegation tree grants.json --state 0xHASH=revoked

Delegations may come in any order. What a state is not given for is shown as unknown: the chain is not asked.")]
    Tree(TreeArgs),

    /// Ask the chain whether it would allow a call, without sending anything
    #[command(
        after_help = "Example:\n  bardo delegation simulate --rpc URL --context signed.json --target 0x… --data 0x…"
    )]
    Simulate(SimulateArgs),

    /// Act under a delegation: judged first, sent only if allowed
    #[command(after_help = "Examples:
  bardo delegation redeem --rpc URL --context signed.json --target 0x… --data 0x… --keystore session.json --password-file pw
  bardo delegation redeem --rpc URL --context signed.json --calls approve-and-swap.json --keystore session.json --password-file pw
  bardo delegation redeem --rpc URL --bundler URL --context signed.json --target 0x… --keystore session.json --password-file pw
  bardo delegation redeem --rpc URL --bundler URL --curve p256 --context signed.json --target 0x… --keystore session.json --password-file pw

A price that finds no block is raised in its place, up to the ceiling. Exit status 1 where it was refused or failed in its
block, with the cause; 3 where that is not known, with the hash to look for.")]
    Redeem(Box<RedeemArgs>),

    /// Say what the chain knows of a grant: alive or dead, spent and left
    #[command(after_help = "Examples:
  bardo delegation status --rpc URL --context signed.json
  bardo delegation status --rpc URL --context signed.json --token 0x… --json

Everything is read on one block. Exit status 1 where the grant is dead.")]
    Status(GrantStatusArgs),

    /// End a grant, a Golem's charters, or all, by one transaction of the owner
    #[command(after_help = "Examples:
  bardo delegation revoke --rpc URL --context signed.json --key-file owner.key
  bardo delegation revoke --rpc URL --golem GOLEM_ID --key-file owner.key
  bardo delegation revoke --rpc URL --all --keystore owner.json
  bardo delegation revoke --rpc URL --context signed.json --key-file one.key --co-key-file two.key

Whatever stands on a revoked grant ends with it. No Golem and no other process is needed.")]
    Revoke(RevokeArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum PermissionCommand {
    /// Say in plain words what is asked for, or what was granted and what the owner changed
    #[command(after_help = "Examples:
  bardo permission explain request.json --token 0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913=USDC:6
  bardo permission explain answer.json --request request.json --session 0x…

An answer is held against its own signed caveats; where they say something else it is refused, with exit status 1.")]
    Explain(PermissionExplainArgs),

    /// Say how a granted permission is doing: healthy, low, critical or revoked
    #[command(after_help = "Example:
  bardo permission health answer.json --spent 4000000 --now 1800000000

Exit status 1 where nothing can be redeemed under it any more.")]
    Health(PermissionHealthArgs),
}

#[derive(Debug, Args)]
pub(crate) struct GrantArgs {
    /// A request or a wallet's answer as JSON, in any of the three forms; `-` is standard input
    pub(crate) file: PathBuf,
    /// Our session account [default: the one the answer names]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) session: Option<Address>,
    /// DelegationManager to redeem at
    #[arg(long, value_name = "ADDRESS", default_value_t = DELEGATION_MANAGER)]
    pub(crate) manager: Address,
    /// What a token is called and its decimals, as ADDRESS=SYMBOL:DECIMALS; `native` is the chain's coin
    #[arg(long = "token", value_name = "TOKEN", value_parser = token)]
    pub(crate) tokens: Vec<(Asset, Token)>,
}

#[derive(Debug, Args)]
pub(crate) struct PermissionExplainArgs {
    #[command(flatten)]
    pub(crate) grant: GrantArgs,
    /// What was asked for, to see what the owner changed
    #[arg(long, value_name = "FILE")]
    pub(crate) request: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct PermissionHealthArgs {
    #[command(flatten)]
    pub(crate) grant: GrantArgs,
    /// Spent in the current period, in base units; of a stream or an allowance, in all
    #[arg(long, value_name = "N", value_parser = whole)]
    pub(crate) spent: U256,
    /// The second it is [default: by this machine's clock]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(..=LAST_SECOND))]
    pub(crate) now: Option<u64>,
    /// The delegation is disabled on chain, or its nonce has passed
    #[arg(long)]
    pub(crate) disabled: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// Make a key and keep it in an encrypted keystore; prints its address
    #[command(after_help = "Examples:
  bardo session new --keystore session.json --password-file pw
  bardo session new --curve p256 --keystore session.json --password-file pw

No chain knows transactions of a P-256 key: it acts through a Hybrid account of its own, by UserOperations. The account's address is
what a grant has to name, and it is created by the key's first operation.")]
    New(SessionArgs),

    /// Print the address of a key in a keystore
    #[command(
        after_help = "Example:\n  bardo session show --keystore session.json --password-file pw"
    )]
    Show(SessionArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SessionArgs {
    #[command(flatten)]
    pub(crate) secret: KeystoreArgs,
    #[command(flatten)]
    pub(crate) form: SessionForm,
}

/// What a session key is, beside what it is kept in: a keystore does not say.
#[derive(Debug, Args)]
pub(crate) struct SessionForm {
    /// Curve of the session key
    #[arg(long, value_name = "CURVE", default_value = "secp256k1")]
    pub(crate) curve: Curve,
    /// Creation code of MetaMask's account proxy, for a Hybrid account: see `bardo vault create --help`
    #[arg(long, value_name = "FILE")]
    pub(crate) proxy_code: Option<PathBuf>,
}

/// Curves of session keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Curve {
    /// That of every plain account.
    Secp256k1,
    /// That of passkeys and of hardware that knows no other.
    P256,
}

#[derive(Debug, Args)]
pub(crate) struct KeystoreArgs {
    /// Encrypted key file (V3), private to you
    #[arg(long, value_name = "FILE")]
    pub(crate) keystore: PathBuf,
    /// File whose first line is the keystore's password
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: PathBuf,
}

/// One key, from one of two kinds of file.
#[derive(Debug, Args)]
pub(crate) struct KeyArgs {
    /// File with a private key in hex, private to you
    #[arg(long, value_name = "FILE", conflicts_with = "keystore")]
    pub(crate) key_file: Option<PathBuf>,
    /// Encrypted key file (V3), private to you
    #[arg(long, value_name = "FILE")]
    pub(crate) keystore: Option<PathBuf>,
    /// File whose first line is the keystore's password [default: it is asked for]
    #[arg(long, value_name = "FILE", requires = "keystore")]
    pub(crate) password_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct DomainArgs {
    /// Chain the delegation is for
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) chain_id: u64,
    /// DelegationManager it is for
    #[arg(long, value_name = "ADDRESS", default_value_t = DELEGATION_MANAGER)]
    pub(crate) manager: Address,
}

#[derive(Debug, Args)]
pub(crate) struct SignArgs {
    /// A delegation as JSON; `-` is standard input
    pub(crate) file: PathBuf,
    /// Links above it as JSON, leaf first: a child that is wider than any of them is not signed
    #[arg(long, value_name = "FILE")]
    pub(crate) parent: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) domain: DomainArgs,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
    /// A further key, where several keys rule the delegator together (MultiSig); may be repeated
    #[arg(long = "co-key-file", value_name = "FILE")]
    pub(crate) co_keys: Vec<PathBuf>,
    /// Sign even though the delegation has no caveats, or is open to any delegate
    #[arg(long)]
    pub(crate) unbounded: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BlastRadiusArgs {
    /// Delegations as JSON, leaf first, or a permission context in hex; `-` is standard input
    pub(crate) file: PathBuf,
    /// What you read from the chain, as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) facts: Option<PathBuf>,
    /// A node to read all of that from, by its JSON-RPC endpoint: instead of --facts and --now
    #[arg(long, value_name = "URL", value_parser = endpoint, conflicts_with = "facts")]
    pub(crate) rpc: Option<Url>,
    /// With --rpc: the DelegationManager that it is for
    #[arg(long, value_name = "ADDRESS", default_value_t = DELEGATION_MANAGER)]
    pub(crate) manager: Address,
    /// Second to reckon from [default: now]
    #[arg(long, value_name = "SECONDS", conflicts_with = "rpc", value_parser = clap::value_parser!(u64).range(..=LAST_SECOND))]
    pub(crate) now: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// A delegation as JSON, a chain of them, or a permission context in hex; `-` is standard input
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) domain: DomainArgs,
    /// Who should have signed [default: the delegator]
    #[arg(long, value_name = "ADDRESS", conflicts_with = "passkey")]
    pub(crate) signer: Option<Address>,
    /// The passkey of a Hybrid account that should have signed: id of the credential, x and y
    #[arg(long, value_name = "ID,X,Y", value_parser = passkey)]
    pub(crate) passkey: Option<PasskeyOwner>,
    /// The only site the passkey may have signed for
    #[arg(long, value_name = "DOMAIN", requires = "passkey")]
    pub(crate) relying_party: Option<String>,
    /// Insist that the authenticator recognised its user
    #[arg(long, requires = "passkey")]
    pub(crate) user_verified: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TreeArgs {
    /// Delegations as JSON, or a permission context in hex; `-` is standard input
    pub(crate) file: PathBuf,
    /// What is known of a delegation: active, revoked, expired or exhausted; may be repeated
    #[arg(long, value_name = "HASH=STATE", value_parser = state)]
    pub(crate) state: Vec<(DelegationHash, State)>,
}

#[derive(Debug, Args)]
pub(crate) struct AttenuatesArgs {
    /// The delegation above, or all links above, as JSON; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) parent: PathBuf,
    /// The delegation below as JSON; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) child: PathBuf,
}

/// Which chain, by a node of it.
#[derive(Debug, Args)]
pub(crate) struct NodeArgs {
    /// The chain's JSON-RPC endpoint
    #[arg(long, value_name = "URL", value_parser = endpoint)]
    pub(crate) rpc: Url,
}

impl NodeArgs {
    pub(crate) async fn connect(&self) -> Result<Node, ChainFault> {
        Node::connect(&self.rpc).await
    }
}

/// Which chain, and what a transaction of a person's key may take there.
#[derive(Debug, Args)]
pub(crate) struct SendArgs {
    #[command(flatten)]
    pub(crate) node: NodeArgs,
    /// Most that each transaction may cost, in wei [default: 0.05 ether], with what a rollup charges for its data
    #[arg(long, value_name = "WEI")]
    fee_ceiling: Option<U256>,
    /// Seconds to wait for a transaction to be mined
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    timeout: u64,
    /// Blocks that must hold a transaction before it counts, its own included [default: 2; of a node on this machine 1]
    #[arg(long, value_name = "N")]
    confirmations: Option<u64>,
    /// Take the place of this transaction of the key, which waits for its block, at a higher price
    #[arg(long, value_name = "HASH", value_parser = input::word)]
    instead_of: Option<B256>,
    /// Hand what is signed to --rpc, where everybody sees it, and not to the private endpoint that the chain's file names
    #[arg(long)]
    in_the_open: bool,
}

/// Blocks that must hold a transaction. A chain to play with makes a block when it is asked to, and undoes none.
pub(crate) fn confirmations(asked: Option<u64>, node: &Node) -> u64 {
    asked.unwrap_or(if node.is_near() { 1 } else { 2 })
}

impl SendArgs {
    /// Sends by the private endpoint where the chain's file names one; where that is away, nothing is sent.
    pub(crate) async fn connect(&self) -> Result<Node, Failure> {
        let open = self.node.connect().await?;
        let node = if self.in_the_open {
            open
        } else {
            input::privately(open, None).await.map_err(|failure| match failure {
                Failure::Fault(away) => Failure::Fault(away.context(
                    "nothing was sent; --in-the-open sends by --rpc, where everybody sees it",
                )),
                other => other,
            })?
        };
        Ok(self.told(node))
    }

    /// The same for what ends a grant or takes money home: that waits for nobody, and where the private endpoint is away it goes by
    /// --rpc (SPEC G5).
    pub(crate) async fn connect_in_need(&self) -> Result<Node, Failure> {
        let open = self.node.connect().await?;
        if self.in_the_open {
            return Ok(self.told(open));
        }
        match input::privately(open.clone(), None).await {
            Ok(node) => {
                let openly = |hash| openly(&format!("the private RPC did not take {hash}"));
                Ok(self.told(node.or_openly(openly)))
            }
            // Also one that serves another chain: who is in need is not sent to mend a file first.
            Err(Failure::Fault(away) | Failure::Use(away) | Failure::Undecided(away)) => {
                openly(&format!("{away:#}"));
                Ok(self.told(open))
            }
        }
    }

    fn told(&self, node: Node) -> Node {
        let node = node.with_patience(Duration::from_secs(self.timeout));
        let confirmations = confirmations(self.confirmations, &node);
        node.with_confirmations(confirmations).telling(tell).instead_of(self.instead_of)
    }

    /// The fee ceiling in wei.
    pub(crate) fn ceiling(&self, node: &Node) -> Result<U256, Failure> {
        Ok(match self.fee_ceiling {
            Some(ceiling) => ceiling,
            None => input::chain_ceiling(node)?.unwrap_or(OWNER_FEE_CEILING),
        })
    }
}

/// Says that something is shown to everybody, and why.
fn openly(why: &str) {
    let words = "what is signed goes by --rpc, where everybody sees it";
    let _ = writeln!(stderr(), "bardo: {}; {words}", printable(why));
}

#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    #[command(flatten)]
    pub(crate) node: NodeArgs,
    /// Signed delegations as JSON, leaf first, or a permission context in hex; `-` is standard input
    #[arg(long, value_name = "FILE", required_unless_present = "grants")]
    pub(crate) context: Option<PathBuf>,
    /// Several grants in one transaction, as a JSON list of {"context","calls"}: all of them or none
    #[arg(long, value_name = "FILE", conflicts_with_all = ["context", "target", "value", "data", "calls"])]
    pub(crate) grants: Option<PathBuf>,
    /// Contract to call from the owner's account
    #[arg(long, value_name = "ADDRESS", required_unless_present_any = ["calls", "grants"])]
    pub(crate) target: Option<Address>,
    /// Native value to send along, in wei
    #[arg(long, value_name = "WEI", default_value_t = U256::ZERO)]
    pub(crate) value: U256,
    /// Calldata
    #[arg(long, value_name = "HEX", default_value = "0x")]
    pub(crate) data: Bytes,
    /// Several calls in one go, as a JSON list of {"target","value","data"}: all of them or none
    #[arg(long, value_name = "FILE", conflicts_with_all = ["target", "value", "data"])]
    pub(crate) calls: Option<PathBuf>,
    /// DelegationManager to redeem at
    #[arg(long, value_name = "ADDRESS", default_value_t = DELEGATION_MANAGER)]
    pub(crate) manager: Address,
}

#[derive(Debug, Args)]
pub(crate) struct GrantStatusArgs {
    #[command(flatten)]
    pub(crate) node: NodeArgs,
    /// Signed delegations as JSON, leaf first, or a permission context in hex; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) context: PathBuf,
    /// DelegationManager that it is for
    #[arg(long, value_name = "ADDRESS", default_value_t = DELEGATION_MANAGER)]
    pub(crate) manager: Address,
    /// A token that the grant does not mention and the account may hold
    #[arg(long = "token", value_name = "ADDRESS", value_parser = input::address)]
    pub(crate) tokens: Vec<Address>,
}

#[derive(Debug, Args)]
pub(crate) struct SimulateArgs {
    #[command(flatten)]
    pub(crate) call: CallArgs,
    /// Who would redeem [default: the leaf's delegate]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) redeemer: Option<Address>,
}

#[derive(Debug, Args)]
pub(crate) struct RedeemArgs {
    #[command(flatten)]
    pub(crate) call: CallArgs,
    #[command(flatten)]
    pub(crate) secret: KeystoreArgs,
    /// Seconds to wait for it to be mined
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    pub(crate) timeout: u64,
    /// Most that it may cost, in wei [default: 0.005 ether], with what a rollup charges for its data
    #[arg(long, value_name = "WEI")]
    pub(crate) fee_ceiling: Option<U256>,
    /// Blocks that must hold it before it counts, its own included [default: 2; of a node on this machine 1]
    #[arg(long, value_name = "N")]
    pub(crate) confirmations: Option<u64>,
    /// Give up this transaction or operation of the key, which waits for its block or which nobody has, and take its place at a
    /// higher price: of both at most one takes effect
    #[arg(long, value_name = "HASH", value_parser = input::word)]
    pub(crate) instead_of: Option<B256>,
    /// Do it once more where an earlier run signed the very same calls and was not told what became of them [default: their end is
    /// the answer]
    #[arg(long)]
    pub(crate) again: bool,
    /// Folder of the key's books: what was signed and not seen to its end is brought there by the next redemption
    /// [default: what BARDO_DATA names, or bardo in your data folder; for a node on this machine a passing one]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) books: Option<PathBuf>,
    /// Hand what is signed to this endpoint alone [default: the one that the chain's file names, if it does]
    #[arg(long, value_name = "URL", value_parser = endpoint, conflicts_with = "bundler")]
    pub(crate) private_rpc: Option<Url>,
    /// Send a UserOperation (ERC-4337 v0.7) through this bundler instead of a transaction
    #[arg(long, value_name = "URL", value_parser = endpoint)]
    pub(crate) bundler: Option<Url>,
    /// What executes the UserOperation: the key's own address (EIP-7702), or a Hybrid account that the key owns [default: key;
    /// of a P-256 key hybrid]
    #[arg(long, value_name = "KIND", requires = "bundler")]
    pub(crate) account: Option<SessionAccountKind>,
    #[command(flatten)]
    pub(crate) form: SessionForm,
}

/// What holds a grant that is redeemed through a bundler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SessionAccountKind {
    /// The key's own address.
    Key,
    /// A Hybrid account of the key's.
    Hybrid,
}

#[derive(Debug, Args)]
pub(crate) struct RevokeArgs {
    #[command(flatten)]
    pub(crate) send: SendArgs,
    /// Signed delegations as JSON, leaf first, or a permission context in hex: its root ends
    #[arg(long, value_name = "FILE")]
    pub(crate) context: Option<PathBuf>,
    /// Every charter of one Golem, at the registry
    #[arg(long, value_name = "GOLEM_ID", value_parser = input::word, conflicts_with = "context")]
    pub(crate) golem: Option<B256>,
    /// Every charter of every Golem of this key, at the registry
    #[arg(long, conflicts_with_all = ["context", "golem"])]
    pub(crate) all: bool,
    /// Further key files, where several keys rule the account together (MultiSig): one for each that must agree
    #[arg(long = "co-key-file", value_name = "FILE")]
    pub(crate) co_keys: Vec<PathBuf>,
    /// With --all: the account that is the owner at the registry: a vault of this key, or one that several keys rule
    #[arg(long, value_name = "ADDRESS", value_parser = input::address, requires = "all")]
    pub(crate) account: Option<Address>,
    /// Also a grant that is not signed for this chain by who rules the account now
    #[arg(long, requires = "context")]
    pub(crate) anyway: bool,
    /// The owner's key
    #[command(flatten)]
    pub(crate) key: KeyArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DeployArgs {
    #[command(flatten)]
    pub(crate) send: SendArgs,
    /// Only compare what is there; send nothing
    #[arg(long, conflicts_with_all = ["key_file", "keystore"])]
    pub(crate) check: bool,
    /// The deployer's key
    #[command(flatten)]
    pub(crate) key: KeyArgs,
}

/// An endpoint that JSON-RPC over HTTP can be spoken to.
fn endpoint(text: &str) -> Result<Url, String> {
    let url: Url =
        text.parse().map_err(|error| format!("{error}; a URL such as http://127.0.0.1:8545"))?;
    if matches!(url.scheme(), "http" | "https") {
        Ok(url)
    } else {
        Err(format!("{} is not http or https: a URL such as http://127.0.0.1:8545", url.scheme()))
    }
}

/// One that tells of new blocks over WebSocket.
fn socket(text: &str) -> Result<Url, String> {
    let url: Url =
        text.parse().map_err(|error| format!("{error}; a URL such as ws://127.0.0.1:8545"))?;
    if matches!(url.scheme(), "ws" | "wss") {
        Ok(url)
    } else {
        Err(format!("{} is not ws or wss: a URL such as ws://127.0.0.1:8545", url.scheme()))
    }
}

/// `ADDRESS=SYMBOL:DECIMALS`
fn token(text: &str) -> Result<(Asset, Token), String> {
    let (asset, named) = text.split_once('=').ok_or("not ADDRESS=SYMBOL:DECIMALS")?;
    let asset = if asset == "native" {
        Asset::Native
    } else {
        Asset::Erc20(asset.parse().map_err(|_invalid| format!("{asset:?} is no address"))?)
    };
    let (symbol, decimals) = named.split_once(':').ok_or("not ADDRESS=SYMBOL:DECIMALS")?;
    let decimals = decimals.parse().map_err(|_invalid| format!("{decimals:?} are no decimals"))?;
    let token = Token::new(symbol, decimals).ok_or("no such symbol or decimals")?;
    Ok((asset, token))
}

/// An amount in base units: decimal digits and nothing else.
fn whole(text: &str) -> Result<U256, String> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("not a whole number of base units".to_owned());
    }
    U256::from_str_radix(text, 10).map_err(|error| error.to_string())
}

/// `ID,X,Y`; coordinates in hex with 0x.
fn passkey(text: &str) -> Result<PasskeyOwner, String> {
    let [id, x, y] = text.split(',').collect::<Vec<_>>()[..] else {
        return Err("three parts are needed: ID,X,Y".to_owned());
    };
    let coordinate = |name: &str, text: &str| {
        let digits = text.strip_prefix("0x").filter(|digits| {
            (1..=64).contains(&digits.len()) && digits.bytes().all(|one| one.is_ascii_hexdigit())
        });
        let read = digits.and_then(|digits| U256::from_str_radix(digits, 16).ok());
        read.ok_or_else(|| format!("{name} is not 32 bytes of hex with 0x"))
    };
    if id.is_empty() {
        return Err("the credential has no id".to_owned());
    }
    Ok(PasskeyOwner::new(id, coordinate("x", x)?, coordinate("y", y)?))
}

/// `HASH=STATE`
fn state(text: &str) -> Result<(DelegationHash, State), String> {
    let (hash, state) = text.split_once('=').ok_or("HASH=STATE is needed")?;
    let hash = hash.parse().map_err(|_error| format!("{hash} is not a hash"))?;
    let state = match state {
        "active" => State::Active,
        "revoked" => State::RevokedByOwner,
        "expired" => State::Expired,
        "exhausted" => State::Exhausted,
        other => return Err(format!("{other} is not active, revoked, expired or exhausted")),
    };
    Ok((DelegationHash(hash), state))
}
