//! The address from which a request comes.

use std::net::IpAddr;

/// The address of the client; the connection puts it beside every request.
#[derive(Debug, Clone, Copy)]
pub struct Peer(pub IpAddr);
