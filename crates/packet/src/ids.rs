//! Identifiers. They have no arithmetic.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name($inner);

        impl $name {
            /// Creates an identifier from its number.
            #[inline]
            pub const fn new(number: $inner) -> $name {
                $name(number)
            }
            /// Number of the identifier.
            #[inline]
            pub const fn get(self) -> $inner {
                self.0
            }
            /// Number as a table index.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id! {
    /// A host. All its addresses resolve to one number.
    HostId(u32)
}
id! {
    /// A connection, unique at its opener.
    ConnectionId(u32)
}
id! {
    /// A path between two hosts: on the wire the entropy value (UDP source port) or the choice of destination address.
    PathId(u16)
}

/// Handle of a packet in its owner's storage. Queues hold handles; the storage owns the packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Handle(u32);

impl Handle {
    /// No packet: the end of a list.
    pub const NONE: Handle = Handle(u32::MAX);

    /// Creates the handle for `index`.
    #[inline]
    pub const fn new(index: u32) -> Handle {
        Handle(index)
    }
    /// Index in the storage.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
    /// True for [`Handle::NONE`].
    #[inline]
    pub const fn is_none(self) -> bool {
        self.0 == u32::MAX
    }
}
