//! Identifiers. They have no arithmetic.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name($inner);

        impl $name {
            /// Creates the identifier with this number.
            #[inline]
            pub const fn new(number: $inner) -> $name {
                $name(number)
            }
            /// Returns the number of the identifier.
            #[inline]
            pub const fn get(self) -> $inner {
                self.0
            }
            /// Returns the number as an index into a table.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id! {
    /// A host. All addresses of a host resolve to one number.
    HostId(u32)
}
id! {
    /// A connection, unique at the host that opened it.
    ConnectionId(u32)
}
id! {
    /// A path from a source to a destination: on the wire the entropy value (UDP source port) or the choice of
    /// destination address.
    PathId(u16)
}

/// A packet in its owner's storage. The storage owns the packet; queues hold handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Handle(u32);

impl Handle {
    /// No packet: the end of a list.
    pub const NONE: Handle = Handle(u32::MAX);

    /// Creates the handle of the packet at `index`.
    #[inline]
    pub const fn new(index: u32) -> Handle {
        Handle(index)
    }
    /// Returns the index in the storage.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
    /// Returns whether the handle is [`Handle::NONE`].
    #[inline]
    pub const fn is_none(self) -> bool {
        self.0 == u32::MAX
    }
}
