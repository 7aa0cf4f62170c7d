//! Bumps on a link: what sits between a port and its wire, sees every packet and queues none or
//! some. They combine with every service model.

mod phantom;
