#![no_main]

#[path = "../formats.rs"]
mod formats;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| formats::formats(bytes));
