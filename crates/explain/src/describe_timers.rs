//! Warnings about time-outs shorter than a round trip, which retransmit packets that are not lost, and about tokens that
//! expire before a host can use them.

use trimline_sim::plan::Plan;
use trimline_sim::transports::time;

/// Warns of each transport whose first time-out is below a round trip of the idle network.
pub(crate) fn hasty(plan: &Plan) -> Vec<String> {
    let said = plan.transports.iter().filter_map(|chosen| {
        let (key, timeout) = chosen.first_timeout()?;
        let round_trip = plan.topology.idle_round_trip(chosen.payload_bytes(), chosen.framing());
        (timeout < round_trip).then(|| {
            format!(
                "transport {}: `{key}` is {}, shorter than the {} of a round trip between the farthest hosts of the \
                 idle network: it retransmits packets that are not lost",
                chosen.name(),
                time(timeout),
                time(round_trip)
            )
        })
    });
    said.collect()
}

/// Warns of each transport whose tokens expire within two of the times that a host needs for a burst. Measured with pHost
/// at 10 and 100 Gb/s: from there on flows take up to six times as long, and with bursts of twice that time none may end.
pub(crate) fn short_tokens(plan: &Plan) -> Vec<String> {
    let Some(nic) = &plan.nics.transmit else { return Vec::new() };
    let cost = nic.settings.per_burst;
    let said = plan.transports.iter().filter_map(|chosen| {
        let (key, expiry) = chosen.token_expiry()?;
        (expiry <= cost * 2).then(|| {
            format!(
                "transport {}: `{key}` is {}, and a host needs {} for a burst (`host.fifo.burst_cost`): tokens expire \
                 unused, so flows are slow, and may never end if a burst takes as long as a token lives",
                chosen.name(),
                time(expiry),
                time(cost)
            )
        })
    });
    said.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;
    use trimline_sim::transports::Transports;

    fn said(transport: &str, delay: &str) -> Vec<String> {
        let text = format!(
            "topology.star.hosts = 3\nlinks.delay = \"{delay}\"\ntransport.{transport} = {{}}\n\
             [[workload]]\nname = \"w\"\npermutation = {{}}\nsize = \"90KB\"\n"
        );
        let scenario = scenario(&text);
        hasty(&scenario.runs[0].plan)
    }

    #[test]
    fn a_timeout_below_the_idle_round_trip_is_warned_of() {
        assert_eq!(
            said("ndp", "10ms"),
            [
                "transport ndp: `rto` is 1ms, shorter than the 40.0146048ms of a round trip between the farthest \
                 hosts of the idle network: it retransmits packets that are not lost"
            ]
        );
        assert!(said("tcp", "10ms").is_empty(), "its first time-out is a second");
        assert!(said("tcp", "600ms")[0].contains("`rto_initial` is 1s"));
        assert!(said("homa", "10ms")[0].contains("`resend` is 2ms"));
    }

    #[test]
    fn tokens_that_expire_while_a_host_is_busy_are_warned_of() {
        let said = |transport: &str, burst_cost: &str| {
            let text = format!(
                "topology.star.hosts = 3\nhost.fifo = {{ queue = \"1MB\", burst_cost = \"{burst_cost}\" }}\n\
                 transport.{transport} = {{}}\n[[workload]]\nname = \"w\"\npermutation = {{}}\nsize = \"90KB\"\n"
            );
            short_tokens(&scenario(&text).runs[0].plan)
        };
        assert!(
            said("phost", "6us")[0].contains("`token_expiry` is 10.8768us, and a host needs 6us")
        );
        assert_eq!([said("phost", "5us"), said("ndp", "6us")], [[""; 0]; 2]);
    }

    #[test]
    fn no_default_timeout_is_below_the_round_trip_of_a_data_centre() {
        for transport in Transports::built_in().iter().filter(|known| known.traits().ends_flows) {
            assert_eq!(said(transport.name(), "1us"), [""; 0], "{}", transport.name());
        }
    }
}
