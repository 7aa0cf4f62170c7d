#![no_main]

#[path = "../formats.rs"]
#[allow(dead_code)]
mod formats;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| formats::hpcc_topology(bytes));
