//! NDP (Handley et al., SIGCOMM 2017), section 3.2.

mod config;

pub use config::{
    Command, Config, Event, PathPenalty, PullSpacing, ReceiverStatistics, SenderStatistics,
};
