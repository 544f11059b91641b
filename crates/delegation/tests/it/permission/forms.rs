use super::{Vectors, answer, only_a_start_was_chosen, requests};
use alloy_primitives::{Address, Bytes, U256};
use golem_delegation::permission::{
    Answer, Asset, Dependency, Form, FormError, MAX_ADDRESSES, MAX_ENTRIES, MAX_JUSTIFICATION,
    MAX_TEXT, Message, Periodic, Permission, Request, RequestError, Supported, granted_call, read,
    read_granted, read_with, revoke_call, supported_call,
};
use serde_json::{Value, json};

/// G6: what we ask for is what MetaMask's kit asks for.
#[test]
fn requests_of_every_type_and_rule_are_the_kits() {
    let file = Vectors::load();
    assert!(file.today.len() >= 15);
    for vector in &file.today {
        let request = vector.asked.request();

        let ours = Form::Today.write_requests(std::slice::from_ref(&request)).unwrap();

        assert_eq!(ours, vector.request, "{}", vector.name);
        assert_eq!(requests(&ours), (Form::Today, vec![request]), "{}", vector.name);
    }
    let kinds: std::collections::BTreeSet<_> =
        file.today.iter().map(|vector| vector.asked.request().permission.type_name()).collect();
    assert_eq!(kinds.len(), 7);
}

#[test]
fn answers_are_read_and_written_back() {
    let file = Vectors::load();
    for vector in &file.today {
        let answer = answer(&vector.answer);

        let ours = Form::Today.write_answers(std::slice::from_ref(&answer)).unwrap();

        let mut expected = vector.answer.clone();
        // The wallet says this twice; we write it once.
        assert!(expected.as_object_mut().unwrap().remove("isAdjustmentAllowed").is_some());
        assert_eq!(ours, json!([expected]), "{}", vector.name);
    }
}

#[test]
fn the_form_of_2025_is_read_and_written() {
    let file = Vectors::load();
    assert!(file.year2025.len() >= 10);
    for vector in &file.year2025 {
        let request = vector.asked.request();

        let ours = Form::Year2025.write_requests(std::slice::from_ref(&request)).unwrap();

        assert_eq!(ours, vector.request, "{}", vector.name);
        assert_eq!(requests(&ours), (Form::Year2025, vec![request.clone()]));
        let answer = answer(&vector.answer);
        let edits = file.check(&answer).unwrap().edits(&request);
        assert!(only_a_start_was_chosen(&edits, &request), "{}: {edits:?}", vector.name);
        let again = Form::Year2025.write_answers(std::slice::from_ref(&answer)).unwrap();
        let mut expected = vector.answer.clone();
        expected.as_object_mut().unwrap().remove("isAdjustmentAllowed");
        assert_eq!(again, json!([expected]));
    }
}

/// The seeds' vault manager, 004 S8.1, as viem sends it.
#[test]
fn the_seeds_draft_is_read_and_written() {
    let file = Vectors::load();
    let (form, asked) = requests(&file.draft.request);

    assert_eq!(form, Form::Draft);
    let [usdc, ether] = &asked[..] else { panic!("{asked:?}") };
    assert_eq!(usdc.permission.type_name(), "erc20-token-periodic");
    assert_eq!(ether.permission.type_name(), "native-token-periodic");
    let Permission::Periodic(Periodic { amount, duration, start, .. }) = usdc.permission else {
        panic!("{usdc:?}")
    };
    assert_eq!((amount, duration, start), (U256::from(1_000_000_000), 86_400, None));
    assert_eq!((usdc.to, usdc.from), (file.session, Some(file.owner)));
    let ours = Form::Draft.write_requests(&asked).unwrap();
    let mut viems = file.draft.request.clone();
    for permission in viems["params"][0]["permissions"].as_array_mut().unwrap() {
        let permission = permission.as_object_mut().unwrap();
        // viem says these also where they say nothing.
        assert_eq!(permission.remove("policies"), Some(json!([])));
        assert_eq!(permission.remove("required"), Some(json!(false)));
    }
    assert_eq!(ours, viems);
    assert_eq!(requests(&ours), (Form::Draft, asked));
}

#[test]
fn a_draft_answer_needs_its_request_or_repeats_it() {
    let file = Vectors::load();
    let (_, asked) = requests(&file.draft.request);
    let text = file.draft.answer.to_string();

    assert!(matches!(read(&text), Err(FormError::Missing { field: "chainId", .. })));
    let Message::Answers(answers) = read_with(&text, &asked).unwrap().message else { panic!() };
    let granted = file.check(&answers[0]).unwrap();

    assert_eq!(granted.owner(), file.owner);
    assert!(only_a_start_was_chosen(&granted.edits(&asked[0]), &asked[0]));
    let ours = Form::Draft.write_answers(&answers).unwrap();
    assert_eq!(read(&ours.to_string()).unwrap().message, Message::Answers(answers));
}

#[test]
fn what_a_form_has_no_words_for_is_refused_and_not_left_out() {
    let (_, runway, answer) = Vectors::runway();
    let write = |form: Form, request: &Request| {
        form.write_requests(std::slice::from_ref(request)).map_err(|error| error.to_string())
    };
    let mut bare = Request { justification: None, ..runway.clone() };
    bare.rules.redeemers.clear();
    let Permission::Periodic(periodic) = bare.permission else { panic!() };
    bare.permission = Permission::Periodic(Periodic { start: None, ..periodic });
    assert!(write(Form::Draft, &bare).is_ok());

    for (what, change) in [
        ("a justification", (|r| r.justification = Some("x".into())) as fn(&mut Request)),
        ("who redeems", |r| r.rules.redeemers = vec![r.to]),
        ("who is paid", |r| r.rules.payees = vec![r.to]),
        ("that it never expires", |r| r.rules.expiry = None),
        ("rules edited apart", |r| r.rules.adjustable = !r.adjustable),
        ("when it starts", |r| {
            let Permission::Periodic(periodic) = &mut r.permission else { panic!() };
            periodic.start = Some(1);
        }),
    ] {
        let mut more = bare.clone();
        change(&mut more);
        let refusal = write(Form::Draft, &more).unwrap_err();
        assert!(refusal.contains(what), "{what}: {refusal}");
    }
    let mut apart = runway.clone();
    apart.rules.adjustable = !apart.adjustable;
    assert!(write(Form::Today, &apart).unwrap_err().contains("edited apart"));
    assert!(write(Form::Year2025, &apart).is_ok());
    let mut endless = runway;
    endless.rules.expiry = None;
    assert!(write(Form::Year2025, &endless).unwrap_err().contains("expiry is missing"));
    let nowhere = Answer { manager: None, ..answer };
    assert!(Form::Today.write_answers(&[nowhere]).is_err());
}

#[test]
fn draft_permissions_share_account_chain_and_end() {
    let file = Vectors::load();
    let (_, mut asked) = requests(&file.draft.request);
    asked[1].chain_id = 1;

    let refusal = Form::Draft.write_requests(&asked).unwrap_err().to_string();

    assert!(refusal.contains("at once"), "{refusal}");
}

#[test]
fn draft_policies_and_fields_of_another_type_are_refused() {
    let ask = |change: &dyn Fn(&mut Value)| {
        let mut text = Vectors::load().draft.request["params"][0].clone();
        change(&mut text);
        refusal(&text)
    };
    let policy = |text: &mut Value| text["permissions"][0]["policies"] = json!([{ "type": "x" }]);
    assert!(ask(&policy).contains("policies does not belong there"));
    let coin = |text: &mut Value| text["permissions"][1]["data"]["token"] = text["address"].clone();
    assert!(ask(&coin).contains("token does not belong there"));
    let swap = |text: &mut Value| text["permissions"][0]["type"] = json!("erc20-token-transfer");
    assert!(ask(&swap).contains("erc20-token-transfer"), "003's other shape contradicts itself");
    assert!(ask(&|text| text["signer"]["type"] = json!("account")).contains("account"));
    assert!(ask(&|text| text["permissions"] = json!([])).contains("no request"));
    let fixed = |text: &mut Value| text["permissions"][0]["required"] = json!(true);
    let mut text = Vectors::load().draft.request["params"][0].clone();
    fixed(&mut text);
    let (_, asked) = requests(&text);
    assert_eq!((asked[0].adjustable, asked[1].adjustable), (false, true));
    assert_eq!(requests(&Form::Draft.write_requests(&asked).unwrap()).1, asked);
}

#[test]
fn a_draft_answer_has_one_context() {
    let file = Vectors::load();
    let (_, asked) = requests(&file.draft.request);
    let read = read_with(&file.draft.answer.to_string(), &asked).unwrap();
    let Message::Answers(mut answers) = read.message else { panic!() };
    answers.push(Answer { context: Bytes::new(), ..answers[0].clone() });

    let refusal = Form::Draft.write_answers(&answers).unwrap_err().to_string();

    assert!(refusal.contains("several contexts"), "{refusal}");
}

fn kits() -> Value {
    Vectors::load().today[0].request["params"][0].clone()
}

fn with(pointer: &str, value: Value) -> Value {
    let mut text = kits();
    *text.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = value;
    text
}

/// Every message of the chain of causes.
fn refusal(text: &Value) -> String {
    let error = read(&text.to_string()).unwrap_err();
    let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
    format!("{error}: {cause}")
}

/// A field that is not looked at could be one that the sender relies on.
#[test]
fn unknown_fields_are_refused_wherever_they_stand() {
    for place in ["", "/permission", "/permission/data", "/rules/0", "/rules/0/data"] {
        let mut text = kits();
        let object = text.pointer_mut(place).unwrap().as_object_mut().unwrap();
        object.insert("surprise".to_owned(), json!(1));
        assert!(refusal(&text).contains("unknown field `surprise`"), "{place}");
    }
    let mut call = Vectors::load().today[0].request.clone();
    call["surprise"] = json!(1);
    assert!(refusal(&call).contains("unknown field `surprise`"));
    let mut answer = Vectors::load().today[0].answer.clone();
    answer["signerMeta"] = json!({});
    assert!(refusal(&answer).contains("unknown field `signerMeta`"));
}

#[test]
fn a_field_given_twice_is_refused() {
    let text = kits().to_string();
    for (once, twice) in [
        ("{\"chainId\"", "{\"chainId\":\"0x1\",\"chainId\""),
        ("\"periodAmount\"", "\"periodAmount\":\"0x1\",\"periodAmount\""),
        ("\"timestamp\"", "\"timestamp\":1,\"timestamp\""),
    ] {
        assert!(text.contains(once), "{once}");
        assert!(read(&text.replacen(once, twice, 1)).is_err(), "{once}");
    }
}

#[test]
fn fields_of_another_type_are_refused_by_name() {
    let stray = |field: &str, value: Value| {
        let mut text = kits();
        text["permission"]["data"][field] = value;
        refusal(&text)
    };
    for (field, value) in [
        ("maxAmount", json!("0x1")),
        ("amountPerSecond", json!("0x1")),
        ("allowanceAmount", json!("0x1")),
        ("erc20Approve", json!(false)),
    ] {
        assert!(stray(field, value).contains(&format!("{field} does not belong there")));
    }
    // What says nothing belongs everywhere: the wallet's types have null for that.
    let mut nothing = kits();
    nothing["permission"]["data"]["maxAmount"] = Value::Null;
    assert!(read(&nothing.to_string()).is_ok());
    for field in ["periodAmount", "periodDuration", "tokenAddress"] {
        let mut text = kits();
        text["permission"]["data"].as_object_mut().unwrap().remove(field);
        assert!(refusal(&text).contains(&format!("{field} is missing")), "{field}");
    }
    let mut coin = kits();
    coin["permission"]["type"] = json!("native-token-periodic");
    assert!(refusal(&coin).contains("tokenAddress does not belong there"));
}

#[test]
fn types_and_rules_that_nobody_knows_are_refused_by_name() {
    assert!(refusal(&with("/permission/type", json!("contract-call"))).contains("contract-call"));
    assert!(
        refusal(&with("/permission/type", json!("erc20-token-revocation")))
            .contains("no permission")
    );
    assert!(refusal(&with("/rules/0/type", json!("gas-limit"))).contains("gas-limit"));
    refusal(&with("/permission/type", json!({ "name": "erc20-token-periodic" })));
}

/// Numbers lose digits in JavaScript above 2^53: exact or refused.
#[test]
fn numbers_are_exact_or_refused() {
    for refused in [
        json!(1),
        json!(10_000_000),
        json!("10000000"),
        json!("0x"),
        json!("0xg"),
        json!("0X1"),
        json!("1"),
        json!(""),
        json!("0x 1"),
        json!("-0x1"),
        json!("0x_1"),
        json!(null),
        json!("0x0"),
        json!(format!("0x{}", "1".repeat(65))),
    ] {
        let text = with("/permission/data/periodAmount", refused.clone());
        assert!(read(&text.to_string()).is_err(), "{refused}");
    }
    for (said, amount) in [("0x1", U256::ONE), ("0x01", U256::ONE), ("0xA", U256::from(10))] {
        let (_, read) = requests(&with("/permission/data/periodAmount", json!(said)));
        assert!(matches!(read[0].permission, Permission::Periodic(p) if p.amount == amount));
    }
    let mut nothing = Vectors::load().today[4].request.clone();
    nothing["params"][0]["permission"]["data"]["initialAmount"] = json!("0x");
    assert!(refusal(&nothing).contains("an amount of 0 digits"));
    let whole = format!("0x{}", "f".repeat(64));
    let (_, read_back) = requests(&with("/permission/data/periodAmount", json!(whole)));
    assert!(matches!(read_back[0].permission, Permission::Periodic(p) if p.amount == U256::MAX));

    for pointer in ["/rules/0/data/timestamp", "/permission/data/startTime"] {
        for refused in
            ["1e3", "1.5", "-1", "\"1800000000\"", "9007199254740992", "0", "true", "1800000000.0"]
        {
            let text = with(pointer, json!("HERE")).to_string().replace("\"HERE\"", refused);
            assert!(read(&text).is_err(), "{pointer} {refused}");
        }
    }
    let (_, latest) = requests(&with("/rules/0/data/timestamp", json!(9_007_199_254_740_991_u64)));
    assert_eq!(latest[0].rules.expiry, Some(9_007_199_254_740_991));
}

#[test]
fn a_chain_id_is_a_quantity() {
    for refused in
        ["0x0", "0x", "0x02105", "8453", "0x20000000000000", "0xffffffffffffffffff", "0X2105"]
    {
        assert!(read(&with("/chainId", json!(refused)).to_string()).is_err(), "{refused}");
    }
    refusal(&with("/chainId", json!(8453)));
}

#[test]
fn addresses_are_forty_digits_in_any_case() {
    let session = Vectors::load().session;
    for text in [session.to_string(), session.to_string().to_lowercase()] {
        assert_eq!(requests(&with("/to", json!(text))).1[0].to, session);
    }
    let bare = session.to_string().trim_start_matches("0x").to_owned();
    for refused in
        [json!(bare), json!("0x"), json!(format!("{session}00")), json!(vec![1; 20]), json!(null)]
    {
        assert!(read(&with("/to", refused.clone()).to_string()).is_err(), "{refused}");
    }
}

#[test]
fn rules_are_each_said_once_and_say_something() {
    for (rules, words) in [
        (
            json!([{ "type": "expiry", "data": { "timestamp": 1 } }, { "type": "expiry", "data": { "timestamp": 2 } }]),
            "given twice",
        ),
        (json!([{ "type": "redeemer", "data": { "addresses": [] } }]), "addresses is missing"),
        (json!([{ "type": "redeemer", "data": {} }]), "addresses is missing"),
        (json!([{ "type": "expiry", "data": {} }]), "timestamp is missing"),
        (json!([{ "type": "payee", "data": { "timestamp": 1 } }]), "timestamp does not belong"),
        (
            json!([{ "type": "expiry", "data": { "timestamp": 1, "addresses": [] } }]),
            "addresses does not belong",
        ),
        (
            json!([{ "type": "expiry", "isAdjustmentAllowed": true, "data": { "timestamp": 1 } }]),
            "isAdjustmentAllowed does not belong",
        ),
    ] {
        let said = refusal(&with("/rules", rules.clone()));
        assert!(said.contains(words), "{rules}: {said}");
    }
    let none = requests(&with("/rules", json!(null))).1;
    assert_eq!(none[0].rules.expiry, None);
}

#[test]
fn in_2025_every_rule_says_whether_it_may_be_edited_and_all_agree() {
    let mut text = Vectors::load().year2025[0].request["params"][0].clone();
    text["rules"][0]["isAdjustmentAllowed"] = json!(false);
    assert!(refusal(&text).contains("said twice"));
    text["rules"][0].as_object_mut().unwrap().remove("isAdjustmentAllowed");
    assert!(refusal(&text).contains("isAdjustmentAllowed is missing"));
    text["signer"]["type"] = json!("key");
    refusal(&text);
    let mut endless = Vectors::load().year2025[0].request["params"][0].clone();
    endless["rules"].as_array_mut().unwrap().remove(0);
    assert!(refusal(&endless).contains("expiry is missing"));
}

#[test]
fn what_metamask_would_not_take_is_refused_with_the_numbers() {
    let refused = |change: fn(&mut Request)| {
        let (_, mut runway, _) = Vectors::runway();
        change(&mut runway);
        runway.check().unwrap_err()
    };
    let periodic = |change: fn(&mut Periodic)| {
        let (_, mut runway, _) = Vectors::runway();
        let Permission::Periodic(periodic) = &mut runway.permission else { panic!() };
        change(periodic);
        runway.check()
    };
    assert!(matches!(periodic(|p| p.amount = U256::ZERO), Err(RequestError::Zero { .. })));
    assert!(matches!(periodic(|p| p.duration = 0), Err(RequestError::Zero { .. })));
    assert!(matches!(periodic(|p| p.start = Some(0)), Err(RequestError::Zero { .. })));
    assert_eq!(periodic(|p| p.duration = 315_360_000), Ok(()));
    let long = RequestError::LongPeriod { duration: 315_360_001 };
    assert_eq!(periodic(|p| p.duration = 315_360_001), Err(long));
    assert_eq!(periodic(|p| p.asset = Asset::Erc20(Address::ZERO)), Err(RequestError::NoToken));
    let (start, expiry) = (1_800_000_000, 1_800_000_000);
    let over = RequestError::OverBeforeStart { start, expiry };
    assert_eq!(refused(|r| r.rules.expiry = Some(1_800_000_000)), over);
    let payees = refused(|r| r.rules.payees = vec![r.to, Address::ZERO]);
    assert_eq!(payees, RequestError::Payees { payees: 2 });
    let (file, mut revocation, _) = Vectors::runway();
    revocation.permission = file.today.last().unwrap().asked.request().permission;
    revocation.rules.payees = vec![file.owner];
    assert_eq!(revocation.check(), Err(RequestError::PayeeOfNothing));
    // Neither is written nor read.
    let (_, mut runway, _) = Vectors::runway();
    runway.rules.expiry = Some(1);
    assert!(matches!(Form::Today.write_requests(&[runway]), Err(FormError::Request(_))));
    refusal(&with("/rules/0/data/timestamp", json!(1)));
}

#[test]
fn a_stream_gives_more_than_it_starts_with() {
    let file = Vectors::load();
    let mut request = file.today[4].asked.request();
    let Permission::Stream(stream) = &mut request.permission else { panic!() };
    (stream.initial, stream.max) = (Some(U256::from(7)), Some(U256::from(7)));
    let same = U256::from(7);
    assert_eq!(request.check(), Err(RequestError::EmptyStream { initial: same, max: same }));
    let Permission::Stream(stream) = &mut request.permission else { panic!() };
    stream.max = Some(U256::from(8));
    assert_eq!(request.check(), Ok(()));
}

#[test]
fn calls_responses_lists_and_single_entries_are_read_alike() {
    let file = Vectors::load();
    let (request, answer) = (&file.today[0].request, &file.today[0].answer);
    let expected = requests(request);
    let mut rpc = request.clone();
    rpc["jsonrpc"] = json!("2.0");
    rpc["id"] = json!(7);
    for text in [rpc, request["params"].clone(), request["params"][0].clone()] {
        assert_eq!(requests(&text), expected);
    }
    for text in [json!([answer]), json!({ "jsonrpc": "2.0", "id": 1, "result": [answer] })] {
        assert_eq!(super::answer(&text), super::answer(answer));
    }
    for text in [
        json!([]),
        json!({ "method": "wallet_requestExecutionPermissions", "params": [] }),
        json!({ "method": "wallet_grantPermissions", "params": request["params"] }),
        json!({ "method": "wallet_requestExecutionPermissions", "params": [answer] }),
        json!({ "method": "wallet_requestExecutionPermissions", "params": [{}] }),
        json!({ "method": "x", "params": request["params"], "result": [answer] }),
        json!([request["params"][0], answer]),
        json!([request["params"][0], file.year2025[0].request["params"][0]]),
        json!("0x"),
        json!(null),
        json!(7),
        json!({}),
    ] {
        assert!(read(&text.to_string()).is_err(), "{text}");
    }
    let (today, older) = (&request["params"][0], &file.year2025[0].request["params"][0]);
    for two in [json!([today, answer]), json!([answer, today]), json!([today, older])] {
        assert!(matches!(read(&two.to_string()), Err(FormError::Mixed)), "{two}");
    }
    let denied = json!({ "id": 1, "error": { "code": 4001, "message": "User rejected" } });
    assert!(matches!(read(&denied.to_string()), Err(FormError::Refused { code: 4001 })));
}

#[test]
fn an_answer_is_whole() {
    let file = Vectors::load();
    for field in ["dependencies", "delegationManager"] {
        let mut answer = file.today[0].answer.clone();
        answer.as_object_mut().unwrap().remove(field);
        assert!(refusal(&answer).contains(&format!("{field} is missing")));
    }
    let mut answer = file.today[0].answer.clone();
    answer["isAdjustmentAllowed"] = json!(false);
    assert!(refusal(&answer).contains("said twice"));
    let mut request = kits();
    request["delegationManager"] = json!(file.manager);
    assert!(refusal(&request).contains("delegationManager does not belong there"));
    let (_, _, mut deployed) = Vectors::runway();
    let factory_data = Bytes::from_static(&[1, 2]);
    deployed.dependencies = vec![Dependency { factory: Address::repeat_byte(5), factory_data }];
    for form in [Form::Today, Form::Year2025] {
        let text = form.write_answers(&[deployed.clone()]).unwrap();
        assert_eq!(super::answer(&text), deployed);
    }
}

/// ATK-10: bounded work on hostile sizes, and the size is in the words.
#[test]
fn hostile_sizes_are_refused() {
    let large = " ".repeat(MAX_TEXT + 1);
    assert!(
        matches!(read(&large), Err(FormError::TooLarge { actual, .. }) if actual == MAX_TEXT + 1)
    );
    assert!(matches!(Supported::read(&large), Err(FormError::TooLarge { .. })));
    let many: Vec<Value> = vec![kits(); MAX_ENTRIES + 1];
    assert!(matches!(read(&json!(many).to_string()), Err(FormError::TooMany { actual: 33, .. })));
    assert!(read(&json!(many[1..]).to_string()).is_ok());
    let (_, runway, _) = Vectors::runway();
    assert!(Form::Today.write_requests(&vec![runway; MAX_ENTRIES + 1]).is_err());

    let redeemers = |count: usize| {
        let addresses: Vec<_> = (0..count).map(|_| Address::repeat_byte(7)).collect();
        with("/rules/1/data/addresses", json!(addresses))
    };
    assert!(read(&redeemers(MAX_ADDRESSES).to_string()).is_ok());
    assert!(refusal(&redeemers(MAX_ADDRESSES + 1)).contains("65 addresses"));
    let words = |count: usize| with("/permission/data/justification", json!("é".repeat(count)));
    assert!(read(&words(MAX_JUSTIFICATION).to_string()).is_ok());
    assert!(refusal(&words(MAX_JUSTIFICATION + 1)).contains("301 units"));
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(read(&deep).is_err());
    let deep = format!("{{\"to\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(read(&deep).is_err());
    let mut answer = Vectors::load().today[0].answer.clone();
    answer["context"] =
        json!(format!("0x{}", "00".repeat(golem_delegation::MAX_CONTEXT_BYTES + 1)));
    refusal(&answer);
}

#[test]
fn what_the_wallet_supports_is_read() {
    let file = Vectors::load();
    assert_eq!(supported_call(), file.supported_call);
    let supported = Supported::read(&file.supported.to_string()).unwrap();

    assert!(
        supported.takes("erc20-token-periodic", 12345, "payee"),
        "all chains where none is named"
    );
    assert!(supported.takes("token-approval-revocation", 8453, "redeemer"));
    assert!(!supported.takes("token-approval-revocation", 8453, "payee"));
    assert!(!supported.grants("token-approval-revocation", 10));
    assert!(!supported.grants("erc20-token-stream", 8453));
    assert_eq!(supported.types().count(), 2);
    for refused in [
        "[]",
        "{\"x\":{}}",
        "{\"x\":{\"ruleTypes\":[],\"y\":1}}",
        "{\"x\":{\"ruleTypes\":[],\"chainIds\":[1]}}",
    ] {
        assert!(Supported::read(refused).is_err(), "{refused}");
    }
}

#[test]
fn one_grant_that_is_not_understood_hides_no_other() {
    let file = Vectors::load();
    assert_eq!(granted_call(), file.granted_call);
    let mut strange = file.today[1].answer.clone();
    strange["permission"]["type"] = json!("contract-call");
    let list = json!([file.today[0].answer, strange, file.year2025[0].answer, 7]);

    let read = read_granted(&list.to_string()).unwrap();

    assert_eq!(read.len(), 4);
    assert!(read[0].is_ok() && read[2].is_ok());
    assert!(matches!(&read[1], Err(FormError::UnknownType { name }) if name == "contract-call"));
    assert!(read[3].is_err());
    assert!(read_granted("[]").unwrap().is_empty());
}

#[test]
fn revocation_is_asked_for_by_context() {
    let (_, _, answer) = Vectors::runway();

    let call = revoke_call(&answer.context);

    assert_eq!(call["method"], "wallet_revokeExecutionPermission");
    assert_eq!(call["params"], json!([{ "permissionContext": answer.context }]));
}
