//! Combinations of TCP's keys that are refused.

use trimline_packet::TimeDelta;
use trimline_transport::tcp::{Config, Handshake, Notifications};

use crate::scenario::ScenarioError;
use crate::transports::keys::Keys;

pub(super) fn check(config: &Config, keys: &Keys<'_>) -> Result<(), ScenarioError> {
    if let Notifications::FastLane(_) = config.notifications {
        let options =
            [("sack", config.sack), ("timestamps", config.timestamps), ("frto", config.frto)];
        if let Some((key, _)) = options.into_iter().find(|(_, is_on)| *is_on) {
            let what = format!("`{key}` beside notifications = \"fastlane\"");
            return Err(keys.refuse(
                key,
                &what,
                "one of the two: both would stand in the same words",
            ));
        }
    } else if keys.has("max_sim_shift") {
        let what = "`max_sim_shift` without notifications = \"fastlane\"";
        return Err(keys.refuse(
            "max_sim_shift",
            what,
            "notifications = \"fastlane\", or no max_sim_shift",
        ));
    }
    if config.notifications == Notifications::CutPayload && !config.sack {
        return Err(keys.refuse(
            "sack",
            "`sack = false` beside notifications = \"cut-payload\"",
            "sack = true, or other notifications: NACKs name segments, as SACK blocks do",
        ));
    }
    if config.dsack && !config.sack {
        return Err(keys.refuse("dsack", "`dsack` without `sack`", "sack = true, or no dsack"));
    }
    if config.ack_first && config.ack_every == 1 {
        return Err(keys.refuse(
            "ack_first",
            "`ack_first` where each segment has an ACK",
            "ack_every = 2 or more, or no ack_first",
        ));
    }
    if keys.has("syn_timeout") && config.handshake != Handshake::ThreeWay {
        return Err(keys.refuse(
            "syn_timeout",
            "`syn_timeout` without SYNs of their own",
            "handshake = \"three-way\", or no syn_timeout",
        ));
    }
    let timeouts = [
        ("rto_min", config.rto_min),
        ("rto_initial", config.rto_initial),
        ("syn_timeout", config.syn_timeout),
    ];
    for (key, time) in timeouts {
        if time == TimeDelta::ZERO {
            return Err(keys.refuse(key, "a time-out of nothing", "a time above 0"));
        }
    }
    for (key, time) in timeouts {
        if time > config.rto_max {
            return Err(keys.refuse(
                key,
                "a time-out above `rto_max`",
                "at most `rto_max`, which is 60s by default",
            ));
        }
    }
    Ok(())
}
