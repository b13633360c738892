//! The proxy of one sandbox: an HTTP proxy that admits only the addresses of its list.
//!
//! Connections of the program come in; connections to listed addresses go out, and nothing else. It looks names up by
//! itself, so a program in the sandbox needs no resolver. A name that leads to this machine is refused: only an address
//! that the list itself writes as such is meant.

use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream, ToSocketAddrs as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use nix::sys::signal::SigSet;
use rustix::process::{Signal, set_parent_process_death_signal};

use super::{explain_failure, network};
use crate::limits;

/// Serves until the outer process ends.
pub(super) fn run_proxy(list: &str) -> Result<ExitCode, String> {
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| explain_failure("tie its life to the outer process", error))?;
    SigSet::all().thread_block().map_err(|error| explain_failure("block signals", error))?;
    let listed: Vec<String> = serde_json::from_str(list).map_err(|error| error.to_string())?;
    let listed: Arc<[String]> = listed.iter().map(|one| one.to_ascii_lowercase()).collect();
    let listener = network::take_over_socket()?;
    let open = Arc::new(AtomicUsize::new(0));
    for inside in listener.incoming() {
        let Ok(inside) = inside else { continue };
        if open.fetch_add(1, Ordering::SeqCst) >= limits::PROXY_CONNECTIONS {
            open.fetch_sub(1, Ordering::SeqCst);
            refuse_client(&inside, "503 Service Unavailable", "too many connections at once");
            continue;
        }
        let (listed, done) = (listed.clone(), open.clone());
        std::thread::spawn(move || {
            serve_client(&inside, &listed);
            done.fetch_sub(1, Ordering::SeqCst);
        });
    }
    Ok(ExitCode::SUCCESS)
}

/// What a request asks for.
#[derive(Debug, PartialEq, Eq)]
struct ProxyRequest {
    /// `host:port`, in lower case.
    address: String,
    /// What goes to the address first. None for a tunnel.
    head: Option<Vec<u8>>,
}

fn serve_client(inside: &TcpStream, listed: &[String]) {
    let Some((head, rest)) = read_head(inside) else {
        return refuse_client(inside, "400 Bad Request", "the request has no end, or is too long");
    };
    let Some(wanted) = parse_head(&head) else {
        return refuse_client(
            inside,
            "400 Bad Request",
            "write CONNECT HOST:PORT, or a request for http://HOST/…",
        );
    };
    if !listed.contains(&wanted.address) {
        let words = format!("{} is not among the addresses under sandbox.net", wanted.address);
        return refuse_client(inside, "403 Forbidden", &words);
    }
    let outside = match connect_to(&wanted.address) {
        Ok(outside) => outside,
        Err(words) => return refuse_client(inside, "502 Bad Gateway", &words),
    };
    let first = match &wanted.head {
        Some(head) => (&outside).write_all(head),
        None => (&*inside).write_all(b"HTTP/1.1 200 Connection established\r\n\r\n"),
    };
    if first.and_then(|()| (&outside).write_all(&rest)).is_ok() {
        join_streams(inside, &outside);
    }
}

/// The head of a request, and what came after it.
fn read_head(inside: &TcpStream) -> Option<(Vec<u8>, Vec<u8>)> {
    inside.set_read_timeout(Some(limits::PROXY_PATIENCE)).ok()?;
    let (mut bytes, mut portion) = (Vec::new(), [0; 4096]);
    loop {
        let read = (&*inside).read(&mut portion).ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(portion.get(..read)?);
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = bytes.split_off(end + 4);
            return Some((bytes, rest));
        }
        if bytes.len() > limits::PROXY_HEAD_BYTES {
            return None;
        }
    }
}

fn parse_head(head: &[u8]) -> Option<ProxyRequest> {
    let head = std::str::from_utf8(head).ok()?;
    let (line, fields) = head.split_once("\r\n")?;
    let mut words = line.split(' ');
    let (method, target, version, None) = (words.next()?, words.next()?, words.next()?, words.next()) else {
        return None;
    };
    if method == "CONNECT" {
        return Some(ProxyRequest { address: target.to_ascii_lowercase(), head: None });
    }
    let rest = target.strip_prefix("http://")?;
    let (host, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let address = if host.contains(':') { host.to_owned() } else { format!("{host}:80") };
    let slash = if path.starts_with('/') { "" } else { "/" };
    // One request for each connection, so that no later one goes to the wrong address.
    let kept = fields.split("\r\n").filter(|field| {
        let name = field.split(':').next().unwrap_or_default().to_ascii_lowercase();
        !matches!(name.as_str(), "connection" | "proxy-connection" | "proxy-authorization" | "keep-alive")
    });
    let kept: Vec<&str> = kept.filter(|field| !field.is_empty()).collect();
    let head =
        format!("{method} {slash}{path} {version}\r\n{}\r\nConnection: close\r\n\r\n", kept.join("\r\n"));
    Some(ProxyRequest { address: address.to_ascii_lowercase(), head: Some(head.into_bytes()) })
}

/// Connects to a listed address.
fn connect_to(address: &str) -> Result<TcpStream, String> {
    let is_literal = address.parse::<SocketAddr>().is_ok() || address.starts_with("localhost:");
    let found = address.to_socket_addrs().map_err(|error| format!("{address}: {error}"))?;
    let mut why = format!("{address} has no address");
    for one in found {
        if !is_literal && is_this_machine(one.ip()) {
            why = format!("{address} leads to this machine; list the address itself if that is meant");
            continue;
        }
        match TcpStream::connect_timeout(&one, limits::PROXY_PATIENCE) {
            Ok(stream) => return Ok(stream),
            Err(error) => why = format!("{address}: {error}"),
        }
    }
    Err(why)
}

/// Whether an address is one of this machine or of its link.
fn is_this_machine(address: IpAddr) -> bool {
    let address = address.to_canonical();
    let is_of_link = match address {
        IpAddr::V4(four) => four.is_link_local(),
        IpAddr::V6(six) => six.is_unicast_link_local(),
    };
    address.is_loopback() || address.is_unspecified() || is_of_link
}

/// Passes bytes on in both directions, until both sides have ended or nothing comes for a long time.
fn join_streams(inside: &TcpStream, outside: &TcpStream) {
    for stream in [inside, outside] {
        if stream
            .set_read_timeout(Some(limits::PROXY_SILENCE))
            .and_then(|()| stream.set_write_timeout(Some(limits::PROXY_SILENCE)))
            .is_err()
        {
            return;
        }
    }
    std::thread::scope(|both| {
        both.spawn(|| pass_on(inside, outside));
        pass_on(outside, inside);
    });
}

fn pass_on(mut from: &TcpStream, mut to: &TcpStream) {
    let whole = std::io::copy(&mut from, &mut to);
    // The other direction may still go on, unless this one broke.
    let how = if whole.is_ok() { Shutdown::Write } else { Shutdown::Both };
    let _gone = to.shutdown(how);
    if whole.is_err() {
        let _gone = from.shutdown(Shutdown::Both);
    }
}

fn refuse_client(mut inside: &TcpStream, status: &str, words: &str) {
    let length = words.len() + 1;
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{words}\n"
    );
    // If the program is gone, it needs no answer.
    let _gone = inside.write_all(answer.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(head: &str) -> Option<(String, Option<String>)> {
        let wanted = parse_head(head.as_bytes())?;
        Some((wanted.address, wanted.head.map(|head| String::from_utf8(head).unwrap())))
    }

    #[test]
    fn g2_a_request_names_its_address_in_two_ways() {
        assert_eq!(
            asked("CONNECT Example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n"),
            Some(("example.org:443".into(), None))
        );
        let plain = asked(
            "GET http://Example.org/a?b HTTP/1.1\r\nHost: example.org\r\nProxy-Authorization: x\r\n\r\n",
        );
        let head = "GET /a?b HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\n\r\n";
        assert_eq!(plain, Some(("example.org:80".into(), Some(head.into()))));
        assert_eq!(asked("GET http://h:81?q HTTP/1.1\r\n\r\n").unwrap().0, "h:81");
        for bad in ["GET / HTTP/1.1\r\n\r\n", "CONNECT a:1\r\n\r\n", "CONNECT a:1 b c\r\n\r\n", "\r\n\r\n"] {
            assert_eq!(asked(bad), None, "{bad}");
        }
    }

    #[test]
    fn g2_addresses_of_this_machine_are_known_in_every_spelling() {
        for own in
            ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "0.0.0.0", "::", "169.254.1.1", "fe80::1"]
        {
            assert!(is_this_machine(own.parse().unwrap()), "{own}");
        }
        for other in ["192.0.2.1", "2001:db8::1", "10.0.0.1"] {
            assert!(!is_this_machine(other.parse().unwrap()), "{other}");
        }
    }
}
