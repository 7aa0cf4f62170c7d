#![no_main]

#[path = "../hosts.rs"]
#[allow(dead_code)]
mod hosts;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hosts::core(bytes));
