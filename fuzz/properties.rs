//! Properties of any input. The fuzz targets and the packet crate's tests share them.

use core::net::{IpAddr, Ipv4Addr};

use trimline_packet::wire::{Fields, Frame, Lengths, Parsed, Profile, Records, View};

/// A frame from the network: whatever a profile accepts survives emit and parse.
pub(crate) fn parse_frame(bytes: &[u8]) {
    for (_, profile) in Profile::ALL {
        if let Ok(parsed) = Frame::new(bytes).and_then(|frame| frame.parse(&profile)) {
            same_after_emit(bytes, &parsed, &profile);
        }
        for lengths in [Lengths::Updated, Lengths::Stale] {
            trim_and_return(bytes.to_vec(), &profile, lengths);
        }
    }
}

fn same_after_emit(bytes: &[u8], parsed: &Parsed<'_>, profile: &Profile) {
    let records = Records::new(parsed.extension, parsed.payload.len());
    assert!(records.count() <= parsed.extension.len(), "more records than bytes");
    let ethernet = Frame::new(bytes).expect("it was understood").ethernet();
    let mut emitted = Vec::new();
    parsed
        .datagram
        .emit(ethernet, profile, parsed.payload, parsed.extension, &mut emitted)
        .expect("what was understood can be emitted");
    let again =
        Frame::new(&emitted).and_then(|frame| frame.parse(profile)).expect("it parses back");
    assert_eq!(again.datagram, parsed.datagram);
    assert_eq!((again.payload, again.extension), (parsed.payload, parsed.extension));
}

fn trim_and_return(mut bytes: Vec<u8>, profile: &Profile, lengths: Lengths) {
    let before = fields(&bytes, profile);
    let Ok(left) = Frame::trim(&mut bytes, profile, false, lengths) else { return };
    assert!(left <= bytes.len(), "a cut never adds");
    bytes.truncate(left);
    // A whole packet with a damaged payload is refused; trimmed, its header is good.
    let trimmed = fields(&bytes, profile);
    assert!(before.is_none() || trimmed == before);
    if Frame::bounce(&mut bytes, profile).is_ok() {
        assert_eq!(fields(&bytes, profile), trimmed, "a returned header is the same header");
    }
}

fn fields(bytes: &[u8], profile: &Profile) -> Option<Fields> {
    let parsed = Frame::new(bytes).and_then(|frame| frame.parse(profile)).ok()?;
    Some(parsed.datagram.fields)
}

/// Two IPv4 addresses and a header: an accepted header is emitted unchanged.
pub(crate) fn header(bytes: &[u8]) {
    let Some((addresses, bytes)) = bytes.split_first_chunk::<8>() else { return };
    let Ok(view) = View::new(bytes) else { return };
    let address = |at: usize| {
        let octets: [u8; 4] = addresses[at..at + 4].try_into().expect("four bytes");
        IpAddr::from(Ipv4Addr::from(octets))
    };
    let (source, destination) = (address(0), address(4));
    let parsed = view.parse(source, destination);
    assert_eq!(view.parse(destination, source), parsed, "the swap changes nothing");
    let Ok(fields) = parsed else { return };
    let emitted = fields.emit(source, destination);
    let (found, expected) = (&bytes[..16], &emitted[..]);
    assert_eq!((&found[..2], &found[4..]), (&expected[..2], &expected[4..]));
    // A one's-complement sum has two zeros: 0x0000 and 0xffff check alike.
    let one_zero = |check: &[u8]| if check == [0xff, 0xff] { [0, 0] } else { [check[0], check[1]] };
    assert_eq!(one_zero(&found[2..4]), one_zero(&expected[2..4]));
}
