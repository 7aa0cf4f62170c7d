//! A credit that finds no packet: kept, or discarded as in the authors' program.

use trimline_packet::{Kind, Time, TimeDelta};
use trimline_transport::Endpoint as _;
use trimline_transport::ndp::Config;

use crate::link::config;
use crate::lone::*;

fn window(initial_window: u32) -> Config {
    Config { initial_window, ..config() }
}

/// The trimmed packet of a flow whose PULL overtakes its NACK.
fn overtaken(config: Config) -> Lone {
    let mut lone = Lone::sender(config, Some(1));
    assert_eq!(lone.data(), [0]);
    lone.receive(&pull(1));
    assert_eq!(lone.data(), [], "all was sent, and nothing asks for it again");
    lone.receive(&nack(0));
    lone
}

#[test]
fn a_pull_that_overtakes_its_nack_is_banked_for_it() {
    let mut lone = overtaken(window(1));
    assert_eq!(lone.data(), [0], "the credit waited for the NACK");
    lone.receive(&ack(0));
    assert_eq!(lone.events().len(), 1, "the flow has ended");
}

#[test]
fn without_a_bank_a_pull_that_overtakes_its_nack_is_lost_and_the_flow_stalls() {
    let mut lone = overtaken(window(1).without_credit_bank());
    assert_eq!(lone.data(), []);
    lone.pass(Time::ZERO + TimeDelta::from_ms(1_000_000));
    assert_eq!(lone.data(), []);
    assert_eq!(lone.endpoint.poll_timeout(), Time::NEVER, "no timer makes up for it");
    assert_eq!(lone.events().len(), 0);
}

/// Only credits without a packet are lost: in order the same answers end the flow.
#[test]
fn without_a_bank_a_pull_after_its_nack_is_obeyed() {
    let mut lone = Lone::sender(window(1).without_credit_bank(), Some(2));
    assert_eq!(lone.data(), [0]);
    lone.receive(&nack(0));
    lone.receive(&pull(1));
    assert_eq!(lone.data(), [0]);
    lone.receive(&ack(0));
    lone.receive(&pull(2));
    assert_eq!(lone.data(), [1]);
    lone.receive(&pull(5));
    lone.receive(&nack(1));
    assert_eq!(lone.data(), [], "three credits found nothing");
    lone.receive(&pull(6));
    assert_eq!(lone.data(), [1]);
    lone.receive(&ack(1));
    assert_eq!(lone.events().len(), 1);
}

#[test]
fn without_a_bank_no_pull_is_repeated() {
    let says = |config: Config| {
        let mut lone = Lone::new(Config { pull_ack: false, ..config });
        lone.receive(&trimmed(data(1, 0, trimline_packet::Flags::SYN)));
        let mut said = lone.kinds();
        lone.pass(Time::ZERO + TimeDelta::from_ms(50));
        said.extend(lone.kinds());
        said.iter().filter(|(kind, _)| *kind == Kind::Pull).count()
    };
    assert_eq!(says(window(1).without_credit_bank()), 1);
    assert!(says(window(1)) > 1, "with a bank it is repeated");
}
