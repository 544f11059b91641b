//! SPEC K2, ATK-35: nothing that has the form of a key gets into a log.

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD},
};
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

/// SplitMix64: the same keys in each run.
struct Draw(u64);

impl Draw {
    const fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        std::iter::repeat_with(|| self.word().to_be_bytes()).flatten().take(length).collect()
    }
}

/// A P-256 key as other programs write it: PKCS#8, with its public half.
fn pkcs8(draw: &mut Draw) -> Vec<u8> {
    let head = "308187020100301306072a8648ce3d020106082a8648ce3d030107046d306b0201010420";
    let mut all = alloy_primitives::hex::decode(head).unwrap();
    all.extend(draw.bytes(32));
    all.extend(alloy_primitives::hex::decode("a14403420004").unwrap());
    all.extend(draw.bytes(64));
    all
}

#[test]
fn a_key_of_any_length_is_not_shown_in_base64() {
    let mut draw = Draw(0x35);
    for length in (64..=200).flat_map(|length| [length; 20]) {
        let bytes = draw.bytes(length);
        for key in [STANDARD.encode(&bytes), URL_SAFE_NO_PAD.encode(&bytes)] {
            let shown = redact(&key).into_owned();
            assert_eq!(shown, "[redacted]", "{length} bytes: {key}");
        }
    }
    for _ in 0..500 {
        let bytes = pkcs8(&mut draw);
        assert_eq!(STANDARD.encode(&bytes).len(), 184);
        for key in [
            STANDARD.encode(&bytes),
            STANDARD_NO_PAD.encode(&bytes),
            URL_SAFE.encode(&bytes),
            URL_SAFE_NO_PAD.encode(&bytes),
        ] {
            // Where '/' is a letter too, a path before it is a part of the same word.
            for text in [
                format!("cannot parse {key}"),
                format!("\"k\":\"{key}\""),
                format!("/run/keys/{key}"),
            ] {
                let shown = redact(&text);
                assert!(shown.contains("[redacted]") && !shown.contains(&key[24..44]), "{shown}");
            }
        }
    }
    // Between 32 bytes and 64 chance can look like words, though seldom.
    for length in 33..64 {
        let keys = (0..500).map(|_| STANDARD_NO_PAD.encode(draw.bytes(length)));
        let shown = keys.filter(|key| redact(key) == *key).count();
        assert!(shown <= 7, "{shown} of 500 keys of {length} bytes are shown");
    }
}

#[test]
fn long_names_paths_and_addresses_of_pages_stay() {
    for text in [
        "target/debug/deps/libgolem_custody-1a2b3c4d5e6f7a8b.rmeta",
        "/home/Alice/Projects/Bardo2/target/x86_64-unknown-linux-gnu/release/bardo",
        "tests/e2e/it/thief/tricks/Atk21Permit2ReplayAgainstTheAccountOfAnEoa",
        "https://developer.example.org/en-US/docs/Web/API/WebGL2RenderingContext/getSamplerParameter",
        "https://github.com/MetaMask/delegation-framework/blob/804681c5c1c93d4fab29c1a2f47b7d808dc70fd3/Readme.md",
        "a_thief_with_memory_and_disk_takes_what_a_charter_of_Version_2_was_said_to_cost",
        "MortalityTimeWindowEnforcerTest2RefusesWhateverComesAfterTheLastSecond",
        "DELEGATION_MANAGER_OF_THE_FRAMEWORK_AT_VERSION_1_3_0",
        "0x00000000000000000000000000000000000000aa00000000000000000000",
        "2027-01-15T08-00-00Z-golem-report-of-the-Whole-Life-in-one-Page",
    ] {
        assert_eq!(redact(text), text);
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
