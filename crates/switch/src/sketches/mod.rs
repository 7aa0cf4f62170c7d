//! Schemes of later papers, small: each shows that the port's interface carries it. They are test
//! modules: a scheme leaves this folder when its figures are reproduced.

mod codel;
mod fastlane;
mod opf;
mod pfabric;
