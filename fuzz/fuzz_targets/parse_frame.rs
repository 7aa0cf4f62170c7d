#![no_main]

#[path = "../properties.rs"]
#[allow(dead_code)]
mod properties;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| properties::parse_frame(bytes));
