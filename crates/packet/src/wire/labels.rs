//! MPLS labels before the IP header (RFC 3032): label-switched paths, and explicit source routes (NDP 3.1.1).
//!
//! ```text
//! +----------+--------------+-----------------------------+------------+
//! | Ethernet | 0x8847       | entries of 4 bytes, top     | IP packet  |
//! | addresses|              | first; the last is marked   |            |
//! +----------+--------------+-----------------------------+------------+
//!
//! an entry: label 20 bits | class 3 bits | bottom of stack 1 bit | TTL 8 bits
//! ```

use alloc::vec::Vec;

/// EtherType of a frame with labels.
pub const ETHER_TYPE_LABELS: u16 = 0x8847;

/// Bytes of one entry.
pub const LABEL_BYTES: usize = 4;

/// Most labels of a frame (chosen: more hops than a Clos network of five tiers has).
pub const MAX_LABELS: usize = 8;

/// The first label that an operator may use; lower ones are reserved (RFC 3032, 2.1).
pub const MIN_LABEL: u32 = 16;

/// Largest label: 20 bits.
pub const MAX_LABEL: u32 = (1 << 20) - 1;

const ETHER_TYPE: core::ops::Range<usize> = 12..14;
const IP: usize = 14;
const BOTTOM: u32 = 1 << 8;

/// The labels of a frame, without the frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LabelStack {
    /// Entries as on the wire, the bottom first.
    entries: [u32; MAX_LABELS],
    count: u8,
}

impl LabelStack {
    /// Returns a stack of these labels, the top first, with this TTL.
    ///
    /// ```
    /// use trimline_packet::wire::labels::LabelStack;
    ///
    /// let mut stack = LabelStack::of(&[16, 17], 64).unwrap();
    /// assert_eq!(stack.top(), Some((16, 64)));
    /// stack.pop(63);
    /// assert_eq!(stack.top(), Some((17, 63)));
    /// assert_eq!(LabelStack::of(&[3], 64), None, "reserved");
    /// ```
    ///
    /// Returns `None` for a label outside [`MIN_LABEL`] to [`MAX_LABEL`], and beyond [`MAX_LABELS`].
    pub fn of(labels: &[u32], ttl: u8) -> Option<LabelStack> {
        if labels.len() > MAX_LABELS
            || !labels.iter().all(|label| (MIN_LABEL..=MAX_LABEL).contains(label))
        {
            return None;
        }
        let mut stack = LabelStack { count: labels.len() as u8, ..LabelStack::default() };
        for (place, label) in stack.entries.iter_mut().zip(labels.iter().rev()) {
            *place = label << 12 | u32::from(ttl);
        }
        Some(stack)
    }

    /// Splits a frame with labels into its stack and the frame without: the EtherType is then that of the IP version
    /// below. Returns `None` for another EtherType, a stack without a bottom or of more than [`MAX_LABELS`], and for
    /// what is not IP below it.
    pub fn split(frame: &[u8]) -> Option<(LabelStack, Vec<u8>)> {
        if frame.get(ETHER_TYPE)? != ETHER_TYPE_LABELS.to_be_bytes() {
            return None;
        }
        let mut stack = LabelStack::default();
        let mut rest = frame.get(IP..)?;
        loop {
            let (entry, behind) = rest.split_first_chunk::<LABEL_BYTES>()?;
            let entry = u32::from_be_bytes(*entry);
            let place = stack.entries.get_mut(usize::from(stack.count))?;
            (*place, rest) = (entry & !BOTTOM, behind);
            stack.count += 1;
            if entry & BOTTOM != 0 {
                break;
            }
        }
        stack.entries[..usize::from(stack.count)].reverse();
        let ether_type: u16 = match rest.first()? >> 4 {
            4 => 0x0800,
            6 => 0x86dd,
            _ => return None,
        };
        let mut plain = Vec::with_capacity(IP + rest.len());
        plain.extend_from_slice(&frame[..ETHER_TYPE.start]);
        plain.extend_from_slice(&ether_type.to_be_bytes());
        plain.extend_from_slice(rest);
        Some((stack, plain))
    }

    /// Inserts the stack into a frame of IP. An empty stack changes nothing.
    ///
    /// # Panics
    /// Panics if the frame has no Ethernet header.
    pub fn push_onto(&self, frame: &mut Vec<u8>) {
        if self.is_empty() {
            return;
        }
        frame[ETHER_TYPE].copy_from_slice(&ETHER_TYPE_LABELS.to_be_bytes());
        let top_first = self.entries[..usize::from(self.count)].iter().enumerate().rev();
        let entries = top_first.flat_map(|(place, entry)| {
            let bottom = if place == 0 { BOTTOM } else { 0 };
            (entry | bottom).to_be_bytes()
        });
        frame.splice(IP..IP, entries);
    }

    /// Returns whether there is no label.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes that the stack takes in a frame.
    #[inline]
    pub const fn bytes(&self) -> usize {
        self.count as usize * LABEL_BYTES
    }

    /// The top label and its TTL.
    pub fn top(&self) -> Option<(u32, u8)> {
        let top = self.entries[..usize::from(self.count)].last()?;
        Some((top >> 12, *top as u8))
    }

    /// Replaces the top label; its class stays.
    pub fn swap(&mut self, label: u32, ttl: u8) {
        if let Some(top) = self.entries[..usize::from(self.count)].last_mut() {
            *top = label << 12 | *top & 0xe00 | u32::from(ttl);
        }
    }

    /// Removes the top label, and gives the next one the TTL (RFC 3032, 2.4.2).
    pub fn pop(&mut self, ttl: u8) {
        self.count = self.count.saturating_sub(1);
        if let Some(top) = self.entries[..usize::from(self.count)].last_mut() {
            *top = *top & !0xff | u32::from(ttl);
        }
    }

    /// Removes all labels.
    #[inline]
    pub const fn clear(&mut self) {
        self.count = 0;
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use proptest::prelude::*;

    use super::*;

    fn plain(version: u8, length: usize) -> Vec<u8> {
        let mut frame = vec![7; IP + length];
        let ether_type: u16 = if version == 4 { 0x0800 } else { 0x86dd };
        frame[ETHER_TYPE].copy_from_slice(&ether_type.to_be_bytes());
        frame[IP] = version << 4 | 5;
        frame
    }

    /// RFC 3032, figure 1.
    #[test]
    fn labels_stand_before_the_ip_packet_in_network_order() {
        let mut frame = plain(4, 20);
        LabelStack::of(&[0x12345, 16], 64).unwrap().push_onto(&mut frame);
        assert_eq!(frame[12..22], [0x88, 0x47, 0x12, 0x34, 0x50, 64, 0, 1, 1, 64]);
        assert_eq!(frame[22], 0x45);
    }

    #[test]
    fn a_malformed_stack_is_no_stack() {
        let mut frame = plain(4, 20);
        assert_eq!(LabelStack::split(&frame), None, "no labels");
        LabelStack::of(&[16; MAX_LABELS], 64).unwrap().push_onto(&mut frame);
        assert!(LabelStack::split(&frame).is_some());
        let mut bottomless = frame.clone();
        bottomless[IP + 4 * MAX_LABELS - 2] &= !1;
        assert_eq!(LabelStack::split(&bottomless), None, "a ninth label");
        assert_eq!(LabelStack::split(&frame[..IP + 4 * MAX_LABELS]), None, "nothing below");
        frame[IP + 4 * MAX_LABELS] = 0x10;
        assert_eq!(LabelStack::split(&frame), None, "not IP");
        assert_eq!(LabelStack::of(&[MAX_LABEL + 1], 1), None);
        assert_eq!(LabelStack::of(&[15], 1), None);
        assert_eq!(LabelStack::of(&[16; MAX_LABELS + 1], 1), None);
    }

    proptest! {
        #[test]
        fn what_is_pushed_is_split(
            labels in prop::collection::vec(MIN_LABEL..=MAX_LABEL, 1..=MAX_LABELS),
            ttl in any::<u8>(),
            version in prop_oneof![Just(4u8), Just(6)],
            length in 1usize..100,
        ) {
            let frame = plain(version, length);
            let mut stack = LabelStack::of(&labels, ttl).unwrap();
            let mut labelled = frame.clone();
            stack.push_onto(&mut labelled);
            prop_assert_eq!(labelled.len(), frame.len() + stack.bytes());
            prop_assert_eq!(LabelStack::split(&labelled), Some((stack, frame.clone())));
            // Every switch takes one.
            for (hop, &label) in labels.iter().enumerate() {
                let ttl = ttl.saturating_sub(hop as u8);
                prop_assert_eq!(stack.top(), Some((label, ttl)));
                stack.pop(ttl.saturating_sub(1));
            }
            prop_assert!(stack.is_empty());
        }

        /// Any bytes are split or refused, and what is split is the same again.
        #[test]
        fn any_bytes_are_split_or_refused(
            mut bytes in prop::collection::vec(any::<u8>(), 0..80),
            is_labelled in any::<bool>(),
        ) {
            if is_labelled && bytes.len() >= IP {
                bytes[ETHER_TYPE].copy_from_slice(&ETHER_TYPE_LABELS.to_be_bytes());
            }
            if let Some((stack, mut plain)) = LabelStack::split(&bytes) {
                stack.push_onto(&mut plain);
                prop_assert_eq!(plain, bytes);
            }
        }
    }
}
