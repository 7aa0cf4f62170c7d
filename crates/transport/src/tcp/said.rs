//! The fields of a segment in the words of the standards, for display.

use alloc::vec::Vec;

use trimline_packet::{Flags, Kind, Packet};

use super::config::Config;
use super::segment::{self, Block, Extra};

/// A segment or an ACK. Numbers count segments, not bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The subflow; 0 if there is only one.
    pub subflow: u8,
    /// The segment (data), or the next missing segment (ACK).
    pub number: u32,
    /// With several subflows: the connection's segment (data), or its next missing one (ACK).
    pub of_connection: Option<u32>,
    /// Payload, in bytes.
    pub payload: u16,
    /// True for the opening of a subflow and its answer.
    pub is_syn: bool,
    /// True at the end of a message.
    pub is_last: bool,
    /// Send time, in ticks of the sender.
    pub stamp: Option<u32>,
    /// The echoed time stamp.
    pub echo: Option<u32>,
    /// Runs beyond the number: first segment and length. A duplicate (RFC 2883) stands in front.
    pub blocks: Vec<Block>,
    /// In an ACK with FastLane: bytes that arrived beyond the number.
    pub beyond: Option<u32>,
    /// In data with FastLane: the sender's time-outs so far.
    pub timeouts: Option<u32>,
}

impl Said {
    /// Decodes a DATA packet or ACK of the TCP family; `None` for others. `near` is a number of the subflow less than
    /// 2^15 away: with several subflows packets carry only its low bits.
    pub fn of(packet: &Packet, config: &Config, near: u32) -> Option<Said> {
        let header = &packet.header;
        let is_single = config.subflows == 1;
        let word = header.sequence;
        let number = if is_single { word } else { segment::whole(word, near) };
        let short_time = config.timestamps.then_some(word & 0xffff).filter(|_| !is_single);
        let mut said = Said {
            subflow: if is_single { 0 } else { segment::subflow(header.flags) },
            number,
            of_connection: None,
            payload: 0,
            is_syn: header.flags.contains(Flags::SYN),
            is_last: header.flags.contains(Flags::LAST),
            stamp: None,
            echo: None,
            blocks: Vec::new(),
            beyond: None,
            timeouts: None,
        };
        match header.kind {
            Kind::Data => {
                said.payload = segment::payload(packet);
                let is_alone = said.payload == 0;
                said.stamp = short_time.or(config.timestamps.then_some(header.extra));
                said.of_connection = (!is_single && !is_alone).then_some(header.extra);
                said.timeouts = config.notifications.fastlane().map(|_| header.extra);
            }
            Kind::Ack => {
                said.echo = short_time;
                match Extra::decode(packet.marks, number, header.extra) {
                    Extra::Nothing => {}
                    Extra::Echo(time) => said.echo = Some(time),
                    Extra::Connection(next) => said.of_connection = Some(next),
                    Extra::Beyond(bytes) => said.beyond = Some(bytes),
                    Extra::Blocks(blocks) => said.blocks.extend(blocks.as_slice()),
                    Extra::Twice(sequence, blocks) => {
                        said.blocks.push((sequence, 1));
                        said.blocks.extend(blocks.as_slice());
                    }
                }
            }
            Kind::Nack | Kind::Pull | Kind::Reset => return None,
        }
        Some(said)
    }
}

#[cfg(test)]
mod tests {
    use super::super::segment::Blocks;
    use super::*;
    use alloc::vec;
    use trimline_packet::{ConnectionId, Header, HostId, PathId};

    fn ack(config: &Config, extra: Extra, number: u32) -> Option<Said> {
        let (marks, extra) = extra.encode(number);
        let header = Header {
            kind: Kind::Ack,
            flags: Flags::default(),
            path: PathId::new(0),
            connection: ConnectionId::new(1),
            sequence: number,
            extra,
        };
        let packet = Packet::control(HostId::new(0), HostId::new(1), header);
        Said::of(&Packet { marks, ..packet }, config, number)
    }

    #[test]
    fn an_ack_carries_sack_blocks_echoes_and_duplicates() {
        let config = super::super::tests::config();
        let said = |extra| ack(&config, extra, 100).expect("an ACK");
        assert_eq!(said(Extra::Echo(7)).echo, Some(7));
        let mut blocks = Blocks::NONE;
        blocks.push((105, 3));
        assert_eq!(said(Extra::Blocks(blocks)).blocks, [(105, 3)]);
        assert_eq!(said(Extra::Twice(90, blocks)).blocks, vec![(90, 1), (105, 3)]);
        assert_eq!(said(Extra::Beyond(2872)).beyond, Some(2872));
        let several = Config { subflows: 2, timestamps: true, ..config };
        let found = ack(&several, Extra::Connection(9), 0x12_0007).expect("an ACK");
        assert_eq!((found.of_connection, found.echo), (Some(9), Some(7)));
    }
}
