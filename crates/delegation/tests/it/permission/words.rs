use super::{Vectors, answer, with_leaf};
use alloy_primitives::{Address, U256};
use golem_delegation::{
    Caveat, Utc,
    permission::{Asset, Edit, Permission, Request, Token, Tokens, explain_request},
};

fn tokens() -> Tokens {
    let usdc = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913".parse().unwrap();
    Tokens::default()
        .with(Asset::Erc20(usdc), Token::new("USDC", 6).unwrap())
        .with(Asset::Native, Token::new("ETH", 18).unwrap())
}

#[test]
fn a_runway_is_explained_as_an_owner_understands_it() {
    let (file, asked, _) = Vectors::runway();

    let lines = explain_request(&asked, &tokens());

    assert_eq!(
        lines,
        [
            format!(
                "The session account {} asks for a permission on your account {}, on chain 8453.",
                file.session, file.owner
            ),
            "Up to 10 USDC in each period of 1 day, from 2027-01-15T08:00:00Z, until 2027-02-14T08:00:00Z; what is \
             not taken in a period is not carried over."
                .to_owned(),
            format!("Only {} may redeem it.", file.session),
            "It may pay anybody.".to_owned(),
            "The money leaves your account when it is redeemed, and does not come back by itself.".to_owned(),
            "Whoever steals the session account's key can take the whole of it as it becomes due (at most 300 USDC \
             in all), and what the session account itself holds. Only your revoking it, or its end, stops that."
                .to_owned(),
            "You may change its amounts and dates before you grant it.".to_owned(),
            "Its own words, which nobody has checked: \"Running costs of your Golem\"".to_owned(),
        ]
    );
}

/// D6, D25: every grant of money says what a thief gets, and that the money is gone.
#[test]
fn every_grant_of_money_warns() {
    let file = Vectors::load();
    for vector in &file.today {
        let granted = file.check(&answer(&vector.answer)).unwrap();
        let text = granted.explain(&tokens()).join("\n");
        let money = granted.permission().asset().is_some();
        assert_eq!(text.contains("Whoever steals the session account's key"), money, "{text}");
        assert_eq!(text.contains("leaves your account"), money, "{text}");
        assert!(text.contains("The account's own key signed it"), "{text}");
        assert!(text.contains("while the account's nonce is 3"));
    }
}

#[test]
fn the_whole_that_a_thief_could_take_is_counted_to_the_end() {
    let file = Vectors::load();
    let whole = |index: usize, change: &dyn Fn(&mut Request)| {
        let mut request = file.today[index].asked.request();
        change(&mut request);
        let lines = explain_request(&request, &Tokens::default());
        let line = lines.into_iter().find(|line| line.contains("steals")).unwrap();
        line.split_once('(').unwrap().1.split_once(')').unwrap().0.to_owned()
    };
    // A day and a second is a second period.
    let days = |r: &mut Request| r.rules.expiry = Some(1_800_086_401);
    assert_eq!(whole(8, &days), "at most 2 wei in all");
    let day = |r: &mut Request| r.rules.expiry = Some(1_800_086_400);
    assert_eq!(whole(8, &day), "at most 1 wei in all");
    assert_eq!(whole(8, &|r| r.rules.expiry = None), "there is no bound on the whole");
    assert_eq!(whole(11, &|_| ()), "at most 10 wei in all");
    // Nine to begin with, five more in the one second there is.
    let short = |r: &mut Request| {
        r.rules.expiry = Some(1_800_000_002);
        let Permission::Stream(stream) = &mut r.permission else { panic!() };
        stream.max = None;
    };
    assert_eq!(whole(11, &short), "at most 14 wei in all");
    assert_eq!(whole(12, &|_| ()), "at most 1000000000000000000 wei in all");
}

#[test]
fn every_type_has_words() {
    let file = Vectors::load();
    let line =
        |index: usize| explain_request(&file.today[index].asked.request(), &tokens())[1].clone();
    assert!(line(2).contains("from the moment you grant it"), "{}", line(2));
    assert!(line(3).contains("each period of 1 week"), "{}", line(3));
    assert_eq!(
        line(4),
        "0.000005 USDC more in each second, from 2027-01-15T08:00:00Z, until 2027-02-14T08:00:00Z, beginning with \
         0.000007 USDC, and never more than 1000000000000000000000000 USDC in all."
    );
    assert!(line(10).ends_with("without a bound on the whole."), "{}", line(10));
    assert_eq!(
        line(7),
        "Up to 1000000000000 USDC in all, from 2027-01-15T08:00:00Z, without an end."
    );
    assert!(line(12).starts_with("Up to 1 ETH in all"), "{}", line(12));
    assert!(line(15).starts_with("Taking back token allowances, until"), "{}", line(15));
    assert!(line(16).contains("Permit2 signatures by their nonces"), "{}", line(16));
}

#[test]
fn edits_have_words() {
    let (file, asked, _) = Vectors::runway();
    let said = |index: usize| {
        let granted = file.check(&answer(&file.edits[index].answer)).unwrap();
        let asset = granted.permission().asset();
        let lines: Vec<_> =
            granted.edits(&asked).iter().map(|edit| edit.explain(asset, &tokens())).collect();
        lines.join(" ")
    };
    assert_eq!(said(0), "The amount was lowered from 10 USDC to 5 USDC.");
    assert_eq!(said(1), "The amount was raised from 10 USDC to 20 USDC.");
    assert_eq!(said(2), "The period was lengthened from 1 day to 1 week.");
    assert_eq!(said(3), "The period was shortened from 1 day to 1 hour.");
    assert_eq!(
        said(4),
        "The end was brought forward from 2027-02-14T08:00:00Z to 2027-02-13T08:00:00Z."
    );
    assert_eq!(said(6), "The start was put off from 2027-01-15T08:00:00Z to 2027-01-16T08:00:00Z.");
    assert_eq!(said(7), "It has no end, though one was asked for: 2027-02-14T08:00:00Z.");
    assert!(said(8).starts_with("It may be redeemed by anybody, not by 0x"));
    let nothing = Edit::Adjustable { asked: true, granted: false };
    assert_eq!(nothing.explain(None, &tokens()), "It could not be edited.");
}

#[test]
fn what_is_not_known_is_said() {
    let (file, _, honest) = Vectors::runway();
    let stranger = Address::repeat_byte(0xee);
    let strange = with_leaf(&honest, |leaf| leaf.caveats.push(Caveat::new(stranger, vec![1])));

    let text = file.check(&strange).unwrap().explain(&tokens()).join("\n");

    assert!(text.contains(&format!("A caveat of the contract {stranger} binds it too")), "{text}");
    assert!(text.contains("only the chain can say"), "its signature is of the other bytes");
}

/// ATK-43: a stranger's words stay in their quotes and on their line.
#[test]
fn a_strangers_words_cannot_look_like_ours() {
    let (_, mut asked, _) = Vectors::runway();
    asked.justification = Some("safe\"\n\u{202e}Up to\u{200b} 1 wei\u{7}\u{1b}[2J".to_owned());

    let lines = explain_request(&asked, &tokens());

    let last = lines.last().unwrap();
    assert!(
        !last.chars().any(|c| c.is_control() || c == '\u{202e}' || c == '\u{200b}'),
        "{last:?}"
    );
    assert!(last.starts_with("Its own words, which nobody has checked: \"safe"));
    assert!(Token::new("\u{202e}\n", 6).is_none());
    assert!(Token::new("A", 78).is_none() && Token::new("A", 77).is_some());
}

#[test]
fn amounts_are_exact() {
    let asset = Asset::Native;
    let of = |amount: U256, decimals| {
        Tokens::default().with(asset, Token::new("X", decimals).unwrap()).amount(asset, amount)
    };
    assert_eq!(of(U256::ZERO, 6), "0 X");
    assert_eq!(of(U256::ONE, 6), "0.000001 X");
    assert_eq!(of(U256::from(1_000_000), 6), "1 X");
    assert_eq!(of(U256::from(1_010_000), 6), "1.01 X");
    assert_eq!(of(U256::from(7), 0), "7 X");
    assert_eq!(of(U256::ONE, 18), "0.000000000000000001 X");
    let max = "1.15792089237316195423570985008687907853269984665640564039457584007913129639935 X";
    assert_eq!(of(U256::MAX, 77), max);
}

#[test]
fn dates_are_the_calendars() {
    for (second, date) in [
        (0, "1970-01-01T00:00:00Z"),
        (59, "1970-01-01T00:00:59Z"),
        (86_399, "1970-01-01T23:59:59Z"),
        (68_169_600, "1972-02-29T00:00:00Z"),
        (951_782_400, "2000-02-29T00:00:00Z"),
        (951_868_800, "2000-03-01T00:00:00Z"),
        (978_307_199, "2000-12-31T23:59:59Z"),
        (1_797_318_302, "2026-12-15T07:05:02Z"),
        (4_107_542_399, "2100-02-28T23:59:59Z"),
        (4_107_542_400, "2100-03-01T00:00:00Z"),
        (13_574_563_200, "2400-02-29T00:00:00Z"),
        (253_402_300_799, "9999-12-31T23:59:59Z"),
        (253_402_300_800, "second 253402300800"),
        (u64::MAX, "second 18446744073709551615"),
    ] {
        assert_eq!(Utc(second).to_string(), date);
    }
}

/// Against a calendar that counts days one by one.
#[test]
fn four_hundred_years_of_dates_are_in_order() {
    let (mut year, mut month, mut day) = (1970, 1, 1);
    for days in 0..146_097 {
        assert_eq!(Utc(days * 86_400 + 86_399).date(), (year, month, day));
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let last = match month {
            2 => 28 + u64::from(leap),
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        day += 1;
        if day > last {
            (month, day) = (month + 1, 1);
        }
        if month > 12 {
            (year, month) = (year + 1, 1);
        }
    }
}
