//! Which addresses are public. A name that others control may resolve to an address of this machine or of its network,
//! where a request from outside has no business.

use std::net::{IpAddr, Ipv4Addr};

use super::proxy::is_in_network;

/// Networks of IPv4 that are not of the public internet, as IANA lists them.
const PRIVATE: [&str; 14] = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
];
/// Networks of IPv6 whose last four bytes are an address of IPv4: compatible, mapped, and behind NAT64.
const OF_IPV4: [&str; 3] = ["::/96", "::ffff:0:0/96", "64:ff9b::/96"];
/// The network of IPv6 whose bytes behind the first two are an address of IPv4.
const SIX_TO_FOUR: &str = "2002::/16";
/// What is routed of IPv6 today.
const ROUTED: &str = "2000::/3";
/// What of that is not of the public internet: protocols such as Teredo, and documentation.
const PRIVATE_ROUTED: [&str; 3] = ["2001::/23", "2001:db8::/32", "3fff::/20"];

/// Whether an address is one of the public internet.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    let is_in = |network: &str| is_in_network(address, network);
    let IpAddr::V6(six) = address else { return !PRIVATE.iter().any(|network| is_in(network)) };
    let [_, _, a, b, c, d, ..] = six.octets();
    let [.., w, x, y, z] = six.octets();
    if OF_IPV4.iter().any(|network| is_in(network)) {
        return is_public(Ipv4Addr::new(w, x, y, z).into());
    }
    if is_in(SIX_TO_FOUR) {
        return is_public(Ipv4Addr::new(a, b, c, d).into());
    }
    is_in(ROUTED) && !PRIVATE_ROUTED.iter().any(|network| is_in(network))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h15_an_address_of_this_machine_or_its_network_is_not_public() {
        for public in ["8.8.8.8", "100.128.0.1", "172.32.0.1", "198.20.0.1", "2606:4700::1", "::ffff:8.8.8.8"]
        {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
        for private in [
            "127.0.0.1",
            "127.9.9.9",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "100.64.0.1",
            "192.0.0.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2002:0a00:0001::",
            "2001:db8::1",
            "2001::1",
        ] {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
    }
}
