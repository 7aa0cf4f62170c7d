//! Links inside the process.
//!
//! [`pair`] is a cable between two backends in any threads: frames arrive at once. [`Impairments`] lose, damage,
//! duplicate and delay frames on the way, at random from a seed.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use rand_xoshiro::rand_core::RngCore;
use trimline_transport::RngStream;

use super::{Caps, ETHERNET_BYTES, PacketIo, Pieces, sys};
use crate::random;

/// Probabilities of impairments on a cable, in units of 2^-32.
///
/// ```
/// use trimline_stack::io::PacketIo;
/// use trimline_stack::io::mem::{Impairments, impaired_pair};
///
/// let rules = Impairments { loss: Impairments::share(1000), ..Impairments::default() };
/// let (mut near, mut far) = impaired_pair(1500, rules, 7).unwrap();
/// for _ in 0..1000 {
///     near.tx_burst(&[&[b"a frame"]]).unwrap();
/// }
/// let arrived = far.rx_burst(1000, &mut |frame| assert_eq!(frame, b"a frame")).unwrap();
/// assert!((850..950).contains(&arrived), "10 % are lost: {arrived}");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Impairments {
    /// The frame is lost.
    pub loss: u32,
    /// One bit is flipped.
    pub corruption: u32,
    /// The frame arrives twice.
    pub duplication: u32,
    /// Up to `reorder_depth` later frames overtake it.
    pub reordering: u32,
    /// Maximum number of frames that overtake one.
    pub reorder_depth: u8,
}

impl Impairments {
    /// Converts a share in hundredths of a percent (1 % is 100) to the unit of [`Impairments`].
    pub const fn share(hundredths: u32) -> u32 {
        ((hundredths as u64) << 32).div_ceil(10_000) as u32
    }
}

#[derive(Debug)]
pub(crate) struct Impairer {
    rules: Impairments,
    stream: RngStream,
    /// Frames that later ones overtake, with the number that still may.
    held: Vec<(u8, Vec<u8>)>,
}

impl Impairer {
    pub(crate) fn new(rules: Impairments, stream: RngStream) -> Impairer {
        Impairer { rules, stream, held: Vec::new() }
    }

    fn happens(&mut self, share: u32) -> bool {
        share > 0 && (self.stream.next_u64() >> 32) < u64::from(share)
    }

    /// Passes a frame. Frames that leave now are appended to `out`.
    pub(crate) fn pass(&mut self, mut frame: Vec<u8>, out: &mut VecDeque<Vec<u8>>) {
        let rules = self.rules;
        // A duplicate takes the same cable: it may be lost, damaged or delayed by itself.
        let copies = if self.happens(rules.duplication) { 2 } else { 1 };
        for copy in 0..copies {
            if self.happens(rules.loss) {
                continue;
            }
            let mut one =
                if copy + 1 == copies { std::mem::take(&mut frame) } else { frame.clone() };
            if self.happens(rules.corruption) && !one.is_empty() {
                let bit = self.stream.next_u64() % (one.len() as u64 * 8);
                one[(bit / 8) as usize] ^= 1 << (bit % 8);
            }
            if rules.reorder_depth > 0 && self.happens(rules.reordering) {
                let depth = self.stream.next_u64() % u64::from(rules.reorder_depth) + 1;
                self.held.push((depth as u8, one));
                continue;
            }
            out.push_back(one);
            self.overtaken(out);
        }
    }

    fn overtaken(&mut self, out: &mut VecDeque<Vec<u8>>) {
        for place in (0..self.held.len()).rev() {
            self.held[place].0 -= 1;
            if self.held[place].0 == 0 {
                out.push_back(self.held.remove(place).1);
            }
        }
    }
}

#[derive(Debug, Default)]
struct Lane {
    frames: VecDeque<Vec<u8>>,
    spare: Vec<Vec<u8>>,
    impairer: Option<Impairer>,
}

/// Maximum number of waiting frames.
const LANE_FRAMES: usize = 4096;

/// Maximum number of buffers kept for reuse.
const SPARE_FRAMES: usize = 64;

#[derive(Debug)]
struct Direction {
    lane: Mutex<Lane>,
    /// Readable while frames may wait.
    waker: OwnedFd,
}

impl Direction {
    fn lane(&self) -> std::sync::MutexGuard<'_, Lane> {
        // A thread that panicked left whole frames behind.
        self.lane.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One end of a cable.
#[derive(Debug)]
pub struct Mem {
    incoming: Arc<Direction>,
    outgoing: Arc<Direction>,
    taken: VecDeque<Vec<u8>>,
    mtu: usize,
}

/// Returns the two ends of a cable.
///
/// # Errors
/// Fails if no file descriptor is left.
pub fn pair(mtu: usize) -> io::Result<(Mem, Mem)> {
    impaired_pair(mtu, Impairments::default(), 0)
}

/// Returns the two ends of a cable with impairments in both directions, from a seed.
///
/// # Errors
/// Fails if no file descriptor is left.
pub fn impaired_pair(mtu: usize, rules: Impairments, seed: u64) -> io::Result<(Mem, Mem)> {
    let direction = |owner| -> io::Result<Arc<Direction>> {
        let is_clean = rules == Impairments::default();
        let impairer = (!is_clean).then(|| Impairer::new(rules, random::stream(seed, owner)));
        Ok(Arc::new(Direction {
            lane: Mutex::new(Lane { impairer, ..Lane::default() }),
            waker: sys::event_fd()?,
        }))
    };
    let (there, back) = (direction(0)?, direction(1)?);
    let end = |incoming: &Arc<Direction>, outgoing: &Arc<Direction>| Mem {
        incoming: Arc::clone(incoming),
        outgoing: Arc::clone(outgoing),
        taken: VecDeque::new(),
        mtu,
    };
    Ok((end(&back, &there), end(&there, &back)))
}

impl PacketIo for Mem {
    fn rx_burst(&mut self, max: usize, take: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        {
            let mut lane = self.incoming.lane();
            for _ in 0..max {
                let Some(frame) = lane.frames.pop_front() else { break };
                self.taken.push_back(frame);
            }
            if lane.frames.is_empty() && !self.taken.is_empty() {
                sys::clear_eventfd(&self.incoming.waker);
            }
        }
        let count = self.taken.len();
        // The frames are read without the lock: their reader may send.
        for frame in &self.taken {
            take(frame);
        }
        if count > 0 {
            let mut lane = self.incoming.lane();
            for frame in self.taken.drain(..) {
                if lane.spare.len() < SPARE_FRAMES {
                    lane.spare.push(frame);
                }
            }
        }
        Ok(count)
    }

    fn tx_burst(&mut self, frames: &[Pieces<'_>]) -> io::Result<usize> {
        let mut lane = self.outgoing.lane();
        let was_empty = lane.frames.is_empty();
        let mut taken = 0;
        for pieces in frames {
            let bytes: usize = pieces.iter().map(|piece| piece.len()).sum();
            if bytes > self.mtu + ETHERNET_BYTES {
                if taken == 0 {
                    return Err(io::ErrorKind::InvalidInput.into());
                }
                break;
            }
            if lane.frames.len() >= LANE_FRAMES {
                break;
            }
            let mut frame = lane.spare.pop().unwrap_or_default();
            frame.clear();
            pieces.iter().for_each(|piece| frame.extend_from_slice(piece));
            let Lane { frames, impairer, .. } = &mut *lane;
            match impairer {
                Some(impairer) => impairer.pass(frame, frames),
                None => frames.push_back(frame),
            }
            taken += 1;
        }
        if was_empty && !lane.frames.is_empty() {
            sys::ring(&self.outgoing.waker)?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.incoming.waker.as_fd())
    }

    fn caps(&self) -> Caps {
        Caps {
            mtu: self.mtu,
            needs_kick: false,
            multi_buffer: true,
            zero_copy: false,
            receives_trimmed: true,
            receives_returned: true,
            joins_datagrams: false,
            finds_next_hops: false,
            reopens: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(end: &mut Mem) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        end.rx_burst(usize::MAX, &mut |frame| frames.push(frame.to_vec())).unwrap();
        frames
    }

    #[test]
    fn a_cable_keeps_the_order_and_joins_the_pieces_of_frames() {
        let (mut a, mut b) = pair(1500).unwrap();
        let pieces: [Pieces<'_>; 2] = [&[b"one ", b"frame"], &[b"two"]];
        assert_eq!(a.tx_burst(&pieces).unwrap(), 2);
        assert_eq!(received(&mut b), [b"one frame".to_vec(), b"two".to_vec()]);
        assert_eq!(received(&mut b), Vec::<Vec<u8>>::new());
        assert_eq!(received(&mut a), Vec::<Vec<u8>>::new());
    }

    #[test]
    fn a_full_cable_takes_no_more() {
        let (mut a, mut b) = pair(1500).unwrap();
        let frame: Pieces<'_> = &[b"x"];
        for _ in 0..LANE_FRAMES {
            assert_eq!(a.tx_burst(&[frame]).unwrap(), 1);
        }
        assert_eq!(a.tx_burst(&[frame]).unwrap(), 0);
        assert_eq!(received(&mut b).len(), LANE_FRAMES);
        assert_eq!(a.tx_burst(&[frame]).unwrap(), 1);
    }

    #[test]
    fn a_frame_beyond_the_mtu_is_refused() {
        let (mut a, _b) = pair(100).unwrap();
        assert!(a.tx_burst(&[&[&[0; 115]]]).is_err());
        assert_eq!(a.tx_burst(&[&[&[0; 114]]]).unwrap(), 1);
    }

    #[test]
    fn impairments_happen_at_their_rate() {
        let share = Impairments::share(1000);
        let check = |rules: Impairments, counted: fn(&[Vec<u8>]) -> usize| {
            let (mut a, mut b) = impaired_pair(1500, rules, 3).unwrap();
            let mut frames = Vec::new();
            for number in 0..10_000u32 {
                a.tx_burst(&[&[&number.to_be_bytes()]]).unwrap();
                frames.extend(received(&mut b));
            }
            let count = counted(&frames);
            assert!((900..1100).contains(&count), "{rules:?}: {count}");
        };
        let none = Impairments::default();
        check(Impairments { loss: share, ..none }, |frames| 10_000 - frames.len());
        check(Impairments { duplication: share, ..none }, |frames| frames.len() - 10_000);
        check(Impairments { corruption: share, ..none }, |frames| {
            let wrong = |(number, frame): &(u32, &Vec<u8>)| number.to_be_bytes()[..] != frame[..];
            (0..).zip(frames).filter(wrong).count()
        });
        check(Impairments { reordering: share, reorder_depth: 1, ..none }, |frames| {
            frames.windows(2).filter(|pair| pair[0] > pair[1]).count()
        });
    }
}
