//! Stock enforcers of framework 1.3.0, at the addresses they share on all its chains.
//!
//! ```
//! use golem_delegation::{Environment, Kind, enforcers};
//! assert_eq!(Environment::stock().kind(enforcers::REDEEMER), Some(Kind::Redeemer));
//! assert!(enforcers::STOCK.contains(&("RedeemerEnforcer", enforcers::REDEEMER)));
//! ```

use crate::Kind;
use alloy_primitives::{Address, address};

macro_rules! stock {
    ($($name:ident $kind:ident $label:literal $address:literal),* $(,)?) => {
        $(
            #[doc = concat!("Stock `", $label, "`.")]
            pub const $name: Address = address!($address);
        )*

        /// Every stock enforcer with its contract's name.
        pub const STOCK: &[(&str, Address)] = &[$(($label, $name)),*];

        /// The same, by kind.
        pub(crate) const KINDS: &[(Kind, Address)] = &[$((Kind::$kind, $name)),*];
    };
}

stock! {
    ALLOWED_CALLDATA AllowedCalldata "AllowedCalldataEnforcer" "c2b0d624c1c4319760C96503BA27C347F3260f55",
    ALLOWED_METHODS AllowedMethods "AllowedMethodsEnforcer" "2c21fD0Cb9DC8445CB3fb0DC5E7Bb0Aca01842B5",
    ALLOWED_TARGETS AllowedTargets "AllowedTargetsEnforcer" "7F20f61b1f09b08D970938F6fa563634d65c4EeB",
    APPROVAL_REVOCATION ApprovalRevocation "ApprovalRevocationEnforcer" "e264F1f09A19505a1ca1a86D5b01E8bFdb64324A",
    ARGS_EQUALITY_CHECK ArgsEqualityCheck "ArgsEqualityCheckEnforcer" "44B8C6ae3C304213c3e298495e12497Ed3E56E41",
    BLOCK_NUMBER BlockNumber "BlockNumberEnforcer" "5d9818dF0AE3f66e9c3D0c5029DAF99d1823ca6c",
    DEPLOYED Deployed "DeployedEnforcer" "24ff2AA430D53a8CD6788018E902E098083dcCd2",
    ERC1155_BALANCE_CHANGE Erc1155BalanceChange "ERC1155BalanceChangeEnforcer" "63c322732695cAFbbD488Fc6937A0A7B66fC001A",
    ERC20_BALANCE_CHANGE Erc20BalanceChange "ERC20BalanceChangeEnforcer" "cdF6aB796408598Cea671d79506d7D48E97a5437",
    ERC20_PERIOD_TRANSFER Erc20PeriodTransfer "ERC20PeriodTransferEnforcer" "474e3Ae7E169e940607cC624Da8A15Eb120139aB",
    ERC20_STREAMING Erc20Streaming "ERC20StreamingEnforcer" "56c97aE02f233B29fa03502Ecc0457266d9be00e",
    ERC20_TRANSFER_AMOUNT Erc20TransferAmount "ERC20TransferAmountEnforcer" "f100b0819427117EcF76Ed94B358B1A5b5C6D2Fc",
    ERC721_BALANCE_CHANGE Erc721BalanceChange "ERC721BalanceChangeEnforcer" "8aFdf96eDBbe7e1eD3f5Cd89C7E084841e12A09e",
    ERC721_TRANSFER Erc721Transfer "ERC721TransferEnforcer" "3790e6B7233f779b09DA74C72b6e94813925b9aF",
    EXACT_CALLDATA_BATCH ExactCalldataBatch "ExactCalldataBatchEnforcer" "982FD5C86BBF425d7d1451f974192d4525113DfD",
    EXACT_CALLDATA ExactCalldata "ExactCalldataEnforcer" "99F2e9bF15ce5eC84685604836F71aB835DBBdED",
    EXACT_EXECUTION_BATCH ExactExecutionBatch "ExactExecutionBatchEnforcer" "1e141e455d08721Dd5BCDA1BaA6Ea5633Afd5017",
    EXACT_EXECUTION ExactExecution "ExactExecutionEnforcer" "146713078D39eCC1F5338309c28405ccf85Abfbb",
    ID Id "IdEnforcer" "C8B5D93463c893401094cc70e66A206fb5987997",
    LIMITED_CALLS LimitedCalls "LimitedCallsEnforcer" "04658B29F6b82ed55274221a06Fc97D318E25416",
    LOGICAL_OR_WRAPPER LogicalOrWrapper "LogicalOrWrapperEnforcer" "E1302607a3251AF54c3a6e69318d6aa07F5eB46c",
    MULTI_TOKEN_PERIOD MultiTokenPeriod "MultiTokenPeriodEnforcer" "FB2f1a9BD76d3701B730E5d69C3219D42D80eBb7",
    NATIVE_BALANCE_CHANGE NativeBalanceChange "NativeBalanceChangeEnforcer" "bD7B277507723490Cd50b12EaaFe87C616be6880",
    NATIVE_TOKEN_PAYMENT NativeTokenPayment "NativeTokenPaymentEnforcer" "4803a326ddED6dDBc60e659e5ed12d85c7582811",
    NATIVE_TOKEN_PERIOD_TRANSFER NativeTokenPeriodTransfer "NativeTokenPeriodTransferEnforcer" "9BC0FAf4Aca5AE429F4c06aEEaC517520CB16BD9",
    NATIVE_TOKEN_STREAMING NativeTokenStreaming "NativeTokenStreamingEnforcer" "D10b97905a320b13a0608f7E9cC506b56747df19",
    NATIVE_TOKEN_TRANSFER_AMOUNT NativeTokenTransferAmount "NativeTokenTransferAmountEnforcer" "F71af580b9c3078fbc2BBF16FbB8EEd82b330320",
    NONCE Nonce "NonceEnforcer" "DE4f2FAC4B3D87A1d9953Ca5FC09FCa7F366254f",
    OWNERSHIP_TRANSFER OwnershipTransfer "OwnershipTransferEnforcer" "7EEf9734E7092032B5C56310Eb9BbD1f4A524681",
    REDEEMER Redeemer "RedeemerEnforcer" "E144b0b2618071B4E56f746313528a669c7E65c5",
    SPECIFIC_ACTION_ERC20_TRANSFER_BATCH SpecificActionErc20TransferBatch "SpecificActionERC20TransferBatchEnforcer" "6649b61c873F6F9686A1E1ae9ee98aC380c7bA13",
    TIMESTAMP Timestamp "TimestampEnforcer" "1046bb45C8d673d4ea75321280DB34899413c069",
    VALUE_LTE ValueLte "ValueLteEnforcer" "92Bf12322527cAA612fd31a0e810472BBB106A8F",
}
