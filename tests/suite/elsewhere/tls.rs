//! An organism behind a proxy that speaks TLS: its certificate must count.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::FarStage;
use crate::program::{run_file, systole_with};
use crate::reading::BOB;

/// A proxy with its own certificate, which it writes into a file.
fn proxy(organism: SocketAddr, certificate: &Path) -> u16 {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    std::fs::write(certificate, pem("CERTIFICATE", made.cert.der())).unwrap();
    let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], private)
        .unwrap();
    let (config, listener) = (Arc::new(config), TcpListener::bind("127.0.0.1:0").unwrap());
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut client = StreamOwned::new(ServerConnection::new(config.clone()).unwrap(), stream);
            // A client that does not trust the certificate says no more.
            let _passed = passes(&mut client, organism);
        }
    });
    port
}

/// A certificate or a key as PEM.
pub(crate) fn pem(kind: &str, der: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let group = |bytes: &[u8]| {
        let number = (0..3).fold(0_usize, |sum, at| sum << 8 | usize::from(*bytes.get(at).unwrap_or(&0)));
        let digit = |at: usize| char::from(DIGITS[number >> (18 - 6 * at) & 63]);
        (0..4).map(|at| if at <= bytes.len() { digit(at) } else { '=' }).collect::<String>()
    };
    let lines: Vec<String> = der.chunks(48).map(|line| line.chunks(3).map(group).collect()).collect();
    format!("-----BEGIN {kind}-----\n{}\n-----END {kind}-----\n", lines.join("\n"))
}

/// Passes one request on, and its answer back.
fn passes(
    client: &mut StreamOwned<ServerConnection, TcpStream>,
    organism: SocketAddr,
) -> std::io::Result<()> {
    let mut head = String::new();
    let mut lines = BufReader::new(&mut *client);
    while !head.ends_with("\r\n\r\n") {
        if lines.read_line(&mut head)? == 0 {
            return Ok(());
        }
    }
    let head = format!("{}\r\nConnection: close\r\n\r\n", head.trim_end());
    let mut real = TcpStream::connect(organism)?;
    real.write_all(head.as_bytes())?;
    let mut answer = Vec::new();
    real.read_to_end(&mut answer)?;
    client.write_all(&answer)?;
    client.conn.send_close_notify();
    client.flush()
}

#[test]
fn h11_over_tls_the_certificate_must_count() {
    let stage = FarStage::start();
    let file = stage.away.path().join("proxy.pem");
    let port = proxy(run_file(stage.stage.path()).address, &file);
    let file = file.display().to_string();
    let asks = |host: &str, roots: &[(&str, &str)]| {
        let url = format!("https://{host}:{port}");
        let all = [&[("SYSTOLE_URL", url.as_str()), ("SYSTOLE_TOKEN", BOB)], roots].concat();
        systole_with(stage.away.path(), &["tree", &stage.stage.rests], &all)
    };
    let trusted = asks("localhost", &[("SSL_CERT_FILE", &file)]);
    assert_eq!((trusted.code, &trusted.stderr), (Some(0), &String::new()), "{trusted:?}");
    assert_eq!(trusted.stdout, stage.near(&["tree", &stage.stage.rests]).stdout);
    // Unknown, or of another name.
    for other in [asks("localhost", &[]), asks("127.0.0.1", &[("SSL_CERT_FILE", &file)])] {
        assert_eq!((other.code, other.stdout.as_str()), (Some(5), ""), "{other:?}");
        assert!(other.stderr.contains("no certificate that counts"), "{other:?}");
        assert!(other.stderr.contains("SSL_CERT_FILE"), "{other:?}");
    }
    std::fs::write(stage.away.path().join("none.pem"), "nothing").unwrap();
    let none = asks("localhost", &[("SSL_CERT_FILE", "none.pem")]);
    assert_eq!((none.code, none.stderr.contains("holds no certificate")), (Some(2), true), "{none:?}");
    stage.stage.organism.interrupt();
}
