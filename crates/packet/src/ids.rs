//! Identifiers. They name; they have no arithmetic.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name($inner);

        impl $name {
            /// The identifier with this number.
            #[inline]
            pub const fn new(number: $inner) -> $name {
                $name(number)
            }
            /// The number behind the identifier.
            #[inline]
            pub const fn get(self) -> $inner {
                self.0
            }
            /// The number as an index into a table.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id! {
    /// A host: its canonical address. Every address of a host resolves to one number.
    HostId(u32)
}
id! {
    /// A connection, unique at the host that opened it.
    ConnectionId(u32)
}
id! {
    /// One of the paths from a source to a destination: on the wire the entropy value (UDP source
    /// port) or the choice of destination address.
    PathId(u16)
}

/// A packet in its owner's storage. The storage, not the queue, owns the packet: queues hold
/// handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Handle(u32);

impl Handle {
    /// No packet: the end of a list.
    pub const NONE: Handle = Handle(u32::MAX);

    /// The packet at `index`.
    #[inline]
    pub const fn new(index: u32) -> Handle {
        Handle(index)
    }
    /// The place in the storage.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
    /// Whether this names no packet.
    #[inline]
    pub const fn is_none(self) -> bool {
        self.0 == u32::MAX
    }
}
