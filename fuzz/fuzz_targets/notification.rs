#![no_main]

#[path = "../notifications.rs"]
#[allow(dead_code)]
mod notifications;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| notifications::notification(bytes));
