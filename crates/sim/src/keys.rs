//! Building blocks of scenario keys: forms, values with their places in the text, quantities, and errors that name a
//! place. Scenarios and transports read their keys with them.

pub(crate) mod error;
pub(crate) mod form;
pub(crate) mod links;
pub(crate) mod port;
pub(crate) mod quantity;
pub(crate) mod read;
pub(crate) mod tree;
