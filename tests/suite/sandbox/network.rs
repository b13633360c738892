//! The one way to the network: a proxy that admits the addresses of the policy, at level `full` alone.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use systole_sandbox::SandboxLevel;

use super::{Scene, python};

/// A server of this machine that answers each connection with its name. It ends with the test's process.
fn server(name: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut asked = [0; 4096];
            let read = stream.read(&mut asked).unwrap();
            let first = String::from_utf8_lossy(&asked[..read]).lines().next().unwrap_or_default().to_owned();
            let body = format!("{name}: {first}");
            let length = body.len();
            let answer =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}");
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    port
}

/// Asks through the proxy, in both ways, and then tries to get out without it.
const PROGRAM: &str = r#"
import os, socket, sys, urllib.request, urllib.error
listed, other = sys.argv[1:3]
def get(url):
    try:
        return urllib.request.urlopen(url, timeout=20).read().decode()
    except urllib.error.HTTPError as error:
        return "%d %s" % (error.code, error.read().decode().strip())
    except OSError as error:
        return "no: %s" % error
def tunnel(address):
    host, port = os.environ["HTTPS_PROXY"].split("//")[1].split(":")
    with socket.create_connection((host, int(port)), timeout=20) as stream:
        stream.sendall(("CONNECT %s HTTP/1.1\r\n\r\n" % address).encode())
        answer = stream.recv(4096).decode()
        if " 200 " not in answer.splitlines()[0]:
            return answer.splitlines()[0]
        stream.sendall(b"GET /tunnel HTTP/1.1\r\nHost: x\r\n\r\n")
        data = b""
        while part := stream.recv(4096):
            data += part
        return data.decode().splitlines()[-1]
def direct(address):
    host, port = address.split(":")
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
        return "connected"
    except OSError:
        return "refused"
def made(*kind):
    try:
        socket.socket(*kind).close()
        return "made"
    except OSError:
        return "refused"
print("get", get("http://%s/path?a=b" % listed))
print("other", get("http://%s/" % other))
print("tunnel", tunnel(listed))
print("other-tunnel", tunnel(other))
print("name", tunnel("localtest.invalid:1"))
print("direct", direct(listed))
print("udp", made(socket.AF_INET, socket.SOCK_DGRAM))
print("unix", made(socket.AF_UNIX, socket.SOCK_STREAM))
print("raw", made(socket.AF_INET, socket.SOCK_RAW))
print("netlink", made(socket.AF_NETLINK, socket.SOCK_RAW))
"#;

#[test]
fn g2_a_program_reaches_the_addresses_of_its_list_through_the_proxy_and_no_others() {
    let (listed, other) = (server("listed"), server("other"));
    let mut scene = Scene::new();
    scene.policy.net = vec![format!("127.0.0.1:{listed}")];
    let (listed, other) = (format!("127.0.0.1:{listed}"), format!("127.0.0.1:{other}"));
    let python = python();
    let ran = scene.run(SandboxLevel::Full, &[&python, "-c", PROGRAM, &listed, &other]);
    let said: Vec<&str> = ran.stdout.lines().collect();
    let forbidden = format!("other 403 {other} is not among the addresses under sandbox.net");
    let wanted = [
        "get listed: GET /path?a=b HTTP/1.1",
        forbidden.as_str(),
        "tunnel listed: GET /tunnel HTTP/1.1",
        "other-tunnel HTTP/1.1 403 Forbidden",
        "name HTTP/1.1 403 Forbidden",
        "direct refused",
        "udp refused",
        "unix refused",
        "raw refused",
        "netlink refused",
    ];
    assert_eq!(said, wanted, "{ran:?}");
}

#[test]
fn g2_a_listed_name_that_leads_to_this_machine_is_refused() {
    let mut scene = Scene::new();
    // The name of this machine is looked up in its own table of hosts.
    let name = rustix::system::uname().nodename().to_string_lossy().to_lowercase();
    scene.policy.net = vec![format!("{name}:1")];
    let python = python();
    let ran = scene.run(SandboxLevel::Full, &[&python, "-c", PROGRAM, &format!("{name}:1"), "127.0.0.1:1"]);
    assert!(ran.stdout.contains("tunnel HTTP/1.1 502"), "{ran:?}");
}

#[test]
fn g2_addresses_need_level_full() {
    let mut scene = Scene::new();
    scene.policy.net = vec!["127.0.0.1:1".to_owned()];
    let ran = scene.run(SandboxLevel::Landlock, &["true"]);
    assert!(ran.code == Some(125) && ran.stderr.contains("need level full"), "{ran:?}");
}
