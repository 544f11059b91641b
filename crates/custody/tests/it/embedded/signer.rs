use super::{FakeService, NOW, OWNER, USDC, bounds, call, permitted, transfer};
use alloy_primitives::{Address, B256, U256};
use golem_custody::{
    Act, Afloat, Answered, AuditHead, AuthorizationKey, Backoff, Bid, BoundsError, ClearingPolicy,
    CustodyError, EmbeddedWallet, Entry, Execution, IntentId, Offer, Open, Route,
    SessionSigner as _, SignedTransaction, WalletCall, WalletSigner,
};
use serde_json::{Value, json};

const BACKOFF: Backoff = Backoff { first: 10, most: 100 };

fn wallet(service: &FakeService) -> EmbeddedWallet<FakeService> {
    let id = "a-wallet".to_owned().try_into().unwrap();
    EmbeddedWallet::new(service.clone(), id, service.wallet(), AuthorizationKey::born(), BACKOFF)
}

async fn signed(service: &FakeService) -> SignedTransaction {
    let wallet = wallet(service);
    let permitted = permitted(wallet.address(), call(USDC, 0, transfer(OWNER, 5)));
    match wallet.sign(permitted, NOW, 0).await.unwrap() {
        Answered::Done(signed) => signed,
        Answered::Refused(denial) => panic!("{denial}"),
    }
}

fn open(signed: &SignedTransaction, what: Value) -> Open {
    let entry = Entry {
        intent: IntentId(B256::repeat_byte(1)),
        golem: B256::repeat_byte(2),
        owner: OWNER,
        session: signed.from,
        micro_dollars: 0,
        at: NOW,
        what,
    };
    let place = U256::from(signed.nonce().unwrap());
    let (hash, bytes) = (signed.hash, signed.raw.clone());
    let bid = Bid { route: Route::Transaction, hash, place, since: 1, bytes };
    Open { entry, bids: vec![bid], forsaken: false }
}

/// What was reserved as a wallet's is one call of that wallet, whatever it looks like; what was not is no wallet's.
#[tokio::test]
async fn what_a_wallet_signed_is_read_back_as_what_it_was_reserved_as() {
    let service = FakeService::new();
    let signed = signed(&service).await;

    let as_wallets = open(&signed, json!({ "wallet": signed.from }));
    let read = Afloat::<SignedTransaction>::left(&as_wallets).unwrap();

    let call = Execution { target: USDC, value: U256::ZERO, data: transfer(OWNER, 5) };
    assert_eq!(read.act(), &Act::Wallet(WalletCall { wallet: signed.from, call }));
    let as_keys = Afloat::<SignedTransaction>::left(&open(&signed, json!({}))).unwrap();
    assert!(matches!(as_keys.act(), Act::Home(_)), "{:?}", as_keys.act());
}

#[tokio::test]
async fn a_wallet_signs_transactions_of_its_own_and_nothing_else() {
    let service = FakeService::new();
    let bounds = bounds(service.wallet());
    let signer =
        WalletSigner::new(wallet(&service), bounds.clone(), ClearingPolicy::default()).unwrap();

    let head = AuditHead { golem: B256::repeat_byte(1), length: 1, hash: B256::repeat_byte(2) };
    let sealed = signer.seal(crate::heads::judged(head)).await;
    assert!(matches!(sealed, Err(CustodyError::NotOfWallets { .. })), "{sealed:?}");
    let offer = Offer { max_fee_per_gas: 100, max_priority_fee_per_gas: 100 };
    let before = signed(&service).await;
    let asked = service.asked().len();
    let raised = signer.raise(&before, offer, U256::MAX).await;
    assert!(matches!(raised, Err(CustodyError::NotOfWallets { .. })), "{raised:?}");
    assert_eq!(service.asked().len(), asked, "nobody was asked");

    let mut others = bounds;
    others.wallet = Address::repeat_byte(0x77);
    let refused = WalletSigner::new(wallet(&service), others, ClearingPolicy::default());
    assert!(matches!(refused.map(drop), Err(BoundsError::OtherWallet { .. })));
}
