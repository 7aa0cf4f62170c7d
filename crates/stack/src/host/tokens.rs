//! Tokens, which prove that a packet came from its source address (after RFC 9000, section 8).
//!
//! A host that validates addresses answers the first packet of an unknown host with a token, and forgets both. The
//! token is a keyed hash of the address and the time, so it needs no memory. A host that shows it has received it at
//! this address within the last hour or two. It shows it with its next connections as well, whose first packets are
//! answered at once (as with a cookie of TCP Fast Open, RFC 7413).

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;

use trimline_packet::wire::TOKEN_BYTES;
use trimline_packet::{Time, TimeDelta};

pub(super) type Token = [u8; TOKEN_BYTES];

/// A token is valid in the period of its issue and in the next (chosen).
const PERIOD: TimeDelta = TimeDelta::from_ms(3_600_000);

/// Maximum number of tokens in [`WINDOW`] (chosen: 100,000 a second, 54 Mb/s), to limit answers to a flood of forged
/// packets.
const MAX: u32 = 1000;
const WINDOW: TimeDelta = TimeDelta::from_ms(10);

#[derive(Debug)]
pub(super) struct Tokens {
    /// A keyed hash (SipHash) with a key of the operating system.
    hash: RandomState,
    /// Start of the current count of issued tokens, and the count.
    counted: (Time, u32),
}

impl Tokens {
    pub(super) fn new() -> Tokens {
        Tokens { hash: RandomState::new(), counted: (Time::ZERO, 0) }
    }

    fn of_period(&self, address: IpAddr, period: u64) -> Token {
        self.hash.hash_one((address, period)).to_be_bytes()
    }

    /// Issues a token, unless [`MAX`] is reached.
    pub(super) fn issue(&mut self, now: Time, address: IpAddr) -> Option<Token> {
        let (since, count) = &mut self.counted;
        if now >= since.saturating_add(WINDOW) || now < *since {
            (*since, *count) = (now, 0);
        }
        *count += 1;
        let is_allowed = *count <= MAX;
        is_allowed.then(|| self.of_period(address, now.as_ps() / PERIOD.as_ps()))
    }

    /// Returns whether a token was issued in this period or the last.
    pub(super) fn is_good(&self, now: Time, address: IpAddr, token: Token) -> bool {
        let period = now.as_ps() / PERIOD.as_ps();
        [period, period.wrapping_sub(1)]
            .into_iter()
            .any(|one| self.of_period(address, one) == token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_good_for_its_address_and_for_an_hour_or_two() {
        let mut tokens = Tokens::new();
        let [one, other] = [1, 2].map(|last| IpAddr::from([10, 0, 0, last]));
        let at = |minutes: u64| Time::ZERO + TimeDelta::from_ms(minutes * 60_000);
        let token = tokens.issue(at(59), one).unwrap();
        for minutes in [0, 59, 60, 119] {
            assert!(tokens.is_good(at(minutes), one, token), "after {minutes} minutes");
        }
        assert!(!tokens.is_good(at(120), one, token), "too late");
        assert!(!tokens.is_good(at(59), other, token), "of another address");
        assert!(
            !Tokens::new().is_good(at(59), one, token),
            "of another host, or of one that was started again"
        );
    }

    #[test]
    fn tokens_are_bounded_in_time() {
        let mut tokens = Tokens::new();
        let mut given = |now: Time| {
            let all = (0..5000u32)
                .filter(|&n| tokens.issue(now, IpAddr::from(n.to_be_bytes())).is_some());
            all.count()
        };
        let later = Time::ZERO + WINDOW;
        assert_eq!([given(Time::ZERO), given(Time::ZERO), given(later)], [1000, 0, 1000]);
    }
}
