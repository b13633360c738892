//! Where the door is: at the address that it listens on, and at the public one behind a TLS proxy. A request comes in
//! by the name in its header `Host`, and what a browser may do depends on that name alone. No header of a proxy counts.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, header};

use systole_core::types::public_origin::PublicOrigin;

/// By which of its addresses a request came in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entrance {
    /// The address that the door listens on. A cookie is shared by all ports of a host there, so it only reads.
    Bound,
    /// The public address. Only pages of this one origin have its cookie, so it makes changes too.
    Public,
}

/// The addresses of a door.
pub struct DoorAddresses {
    /// The address that it listens on.
    pub bound: SocketAddr,
    /// The address of its pages behind a TLS proxy.
    pub public: Option<PublicOrigin>,
}

impl DoorAddresses {
    /// By which address a request came in. Browsers write a host in one way only, so nothing but this way counts.
    pub fn find_entrance(&self, headers: &HeaderMap) -> Entrance {
        match &self.public {
            Some(public) if public.authority() == read_host(headers) => Entrance::Public,
            _ => Entrance::Bound,
        }
    }

    /// The origin of pages of a request that came in by the public address.
    pub fn find_public(&self, headers: &HeaderMap) -> Option<&PublicOrigin> {
        self.public.as_ref().filter(|_| self.find_entrance(headers) == Entrance::Public)
    }

    /// Whether a page is of the public address although its request did not come in by that: a proxy has changed `Host`.
    pub fn is_host_lost(&self, origin: &str) -> bool {
        self.public.as_ref().is_some_and(|public| public.as_str() == origin)
    }
}

/// The header `Host`.
pub fn read_host(headers: &HeaderMap) -> &str {
    headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default()
}

/// The host of `host:port`.
pub fn split_host(authority: &str) -> Option<&str> {
    let (host, port) = match authority.rfind(':') {
        Some(at) if !authority.ends_with(']') => (authority.get(..at)?, authority.get(at + 1..)?),
        _ => (authority, "0"),
    };
    (!host.is_empty() && port.bytes().all(|b| b.is_ascii_digit())).then_some(host)
}

/// Whether `host:port` is an address or `localhost`. No other site can let these lead here.
pub fn is_address(authority: &str) -> bool {
    split_host(authority).is_some_and(|host| is_localhost(host) || read_address(host).is_some())
}

/// Whether a host is this machine by its name.
pub fn is_localhost(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
}

/// The address that a host is written as.
pub fn read_address(host: &str) -> Option<IpAddr> {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host).parse().ok()
}
