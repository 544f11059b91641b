//! SPEC K2, ATK-35: nothing that has the form of a key gets into a log.

use golem_custody::{RedactedWriter, redact};
use std::io::Write as _;

const KEY: &str = "4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318";

#[test]
fn whatever_has_the_form_of_a_key_is_not_shown() {
    let base64 = "TAiDppECk31iMUcbXbtiBP5RKWFwgnkq5GjQGj82Ixg=";
    for secret in [
        KEY.to_owned(),
        format!("0x{KEY}"),
        KEY.to_uppercase(),
        format!("{KEY}{KEY}"),
        format!("k{KEY}z"),
        base64.to_owned(),
        base64.trim_end_matches('=').to_owned(),
        base64.replace('+', "-").replace('/', "_"),
        format!("-----BEGIN EC PRIVATE KEY-----\n{base64}\n-----END EC PRIVATE KEY-----"),
    ] {
        for text in [
            secret.clone(),
            format!("panicked at '{secret}'"),
            format!("{{\"key\":\"{secret}\",\"n\":1}}"),
            format!("session_hash_of_what={secret}, and more"),
        ] {
            let shown = redact(&text);
            assert!(!shown.contains(&secret[..20]), "{shown}");
            assert!(shown.contains("[redacted]"), "{shown}");
        }
    }
}

#[test]
fn what_is_public_and_what_is_no_key_stays() {
    for text in [
        format!("hash=0x{KEY} block: 7"),
        format!("{{\"golemId\":\"0x{KEY}\"}}"),
        format!("tx: 0x{KEY}"),
        format!("intent=\"{KEY}\""),
        "0x00000000000000000000000000000000000000aa sent 5000000".to_owned(),
        KEY[..63].to_owned(),
        "a sentence of many words and no secrets whatsoever in it, not even one".to_owned(),
        "crates/custody/src/redact.rs:12: TheQuickBrownFoxJumpsOverTheLazyDogAndOn".to_owned(),
        String::new(),
    ] {
        assert_eq!(redact(&text), text);
    }
}

#[test]
fn a_key_does_not_hide_on_the_seam_of_two_writes() {
    for cut in 0..KEY.len() {
        let mut log = Vec::new();
        {
            let mut writer = RedactedWriter::new(&mut log);
            writer.write_all(format!("first line\nkey {}", &KEY[..cut]).as_bytes()).unwrap();
            writer.write_all(format!("{}\nlast", &KEY[cut..]).as_bytes()).unwrap();
        }
        assert_eq!(String::from_utf8(log).unwrap(), "first line\nkey [redacted]\nlast", "{cut}");
    }
}

#[test]
fn nor_behind_a_line_that_does_not_end_nor_in_several_lines() {
    let mut log = Vec::new();
    {
        let mut writer = RedactedWriter::new(&mut log);
        let long = "word ".repeat(13_107);
        for at in 0..KEY.len() {
            let (begin, end) = KEY.split_at(at);
            writer.write_all(format!("{long}{begin}").as_bytes()).unwrap();
            writer.write_all(format!("{end}\n").as_bytes()).unwrap();
        }
        writer.write_all(b"-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIEyI\nmore\n").unwrap();
        writer.write_all(b"-----END PRIVATE KEY-----\nafter\n").unwrap();
    }
    let log = String::from_utf8(log).unwrap();
    assert!(!log.contains(&KEY[..24]) && !log.contains(&KEY[40..]), "a key");
    assert!(!log.contains("MC4CAQ") && !log.contains("more"), "a key in PEM");
    assert!(log.ends_with("after\n"), "{}", &log[log.len() - 80..]);
}
