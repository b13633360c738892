//! Ports for servers that a test starts on a port that it chooses, or starts again on the same port.
//!
//! They are below the range from which the system gives ports to connections and to sockets that are bound to port 0.
//! From that range another process could get the port while the server is down. Then the server could not start
//! again.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::net::TcpListener;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The lowest port that a test gets.
const LOWEST: u16 = 10_000;

/// The first port that the system assigns itself.
static SYSTEM: LazyLock<u16> = LazyLock::new(|| {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    range.split_whitespace().next().and_then(|first| first.parse().ok()).unwrap_or_default()
});

/// Counts the ports that were tried. Each test process begins elsewhere, so two of them seldom meet.
static NEXT: LazyLock<AtomicU64> = LazyLock::new(|| AtomicU64::new(RandomState::new().hash_one(0) >> 1));

/// A port that is free now, and that this process gives to no other test.
pub(crate) fn free() -> u16 {
    let count = u64::from(SYSTEM.saturating_sub(LOWEST));
    let bound = |port| TcpListener::bind(("127.0.0.1", port)).ok()?.local_addr().ok();
    let below = (0..count).map(|_| u64::from(LOWEST) + NEXT.fetch_add(1, Ordering::Relaxed) % count);
    // If the system assigns nearly all ports itself, the test uses one of those.
    let mut ports = below.map(|port| u16::try_from(port).unwrap()).chain([0]);
    ports.find_map(bound).expect("no port is free").port()
}

#[test]
fn the_system_gives_a_port_that_was_let_go_to_no_connection() {
    let port = free();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    for _ in 0..100 {
        let client = std::net::TcpStream::connect(server.local_addr().unwrap()).unwrap();
        let given = client.local_addr().unwrap().port();
        assert!(given >= *SYSTEM, "{given} is no port that the system gives out");
        assert!(port < *SYSTEM || *SYSTEM <= LOWEST, "{port} can be given to a connection");
    }
    assert_ne!(free(), port, "another test got it as well");
}
