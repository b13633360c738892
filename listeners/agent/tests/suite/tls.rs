//! TLS with a self-made certificate: accepted if its root is trusted, and otherwise a fault before the request.

use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use systole_agent::model::{Model, ModelAdapter, ModelAnswer, ModelFault, ModelFaultKind};
use systole_agent::spec::Provider;

use super::bench::{key, limits, model, request, run, unwatched};
use super::server::{chunked, request as read_request};
use super::streams::{answer, body, content_type};

/// Answers one connection. Returns whether it carried a complete request.
pub(crate) fn serve(name: &str) -> (SocketAddr, CertificateDer<'static>, JoinHandle<bool>) {
    let made = rcgen::generate_simple_self_signed(vec![name.to_owned()]).expect("a certificate");
    let certificate = made.cert.der().clone();
    let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], private)
        .expect("a key that fits");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let at = listener.local_addr().expect("an address");
    let thread = std::thread::spawn(move || {
        let (stream, _) = listener.accept().expect("a client");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a limit");
        let session = ServerConnection::new(Arc::new(config)).expect("a session");
        let mut stream = StreamOwned::new(session, stream);
        let came = read_request(&mut stream).is_some();
        if came {
            let form = Provider::Anthropic;
            stream.write_all(&chunked(content_type(form), &[body(form).as_bytes()])).expect("it is read");
        }
        came
    });
    (at, certificate, thread)
}

fn ask(at: SocketAddr, roots: Option<RootCertStore>) -> Result<ModelAnswer, ModelFault> {
    let model = model(Provider::Anthropic, &format!("https://localhost:{}", at.port()));
    let adapter = ModelAdapter::new(&model, key(&model), limits(), roots).expect("a model that can be asked");
    run(adapter.ask(request("hello"), unwatched()))
}

pub(crate) fn trusting(certificate: CertificateDer<'static>) -> Option<RootCertStore> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate).expect("a root");
    Some(roots)
}

#[test]
fn e13_a_trusted_certificate_is_taken() {
    let (at, certificate, thread) = serve("localhost");
    assert_eq!(ask(at, trusting(certificate)), Ok(answer(Provider::Anthropic)));
    assert!(thread.join().expect("the server stands"));
}

#[test]
fn e13_an_untrusted_certificate_or_a_wrong_name_fails_before_the_request() {
    let (at, _, stranger) = serve("localhost");
    let unknown = ask(at, None).expect_err("no root certificate trusts it");
    assert!(unknown.words.contains("UnknownIssuer"), "{unknown:?}");
    let (other, certificate, namesake) = serve("elsewhere.example");
    let misnamed = ask(other, trusting(certificate)).expect_err("another name");
    assert!(misnamed.words.contains("elsewhere.example"), "{misnamed:?}");
    for (fault, at) in [(unknown, at), (misnamed, other)] {
        assert_eq!((fault.kind, fault.status, fault.may_be_paid), (ModelFaultKind::Unavailable, None, false));
        let words = format!("anthropic at localhost:{} cannot be reached: no TLS: ", at.port());
        assert!(fault.words.starts_with(&words), "{fault:?}");
    }
    assert!(!stranger.join().expect("the server stands") && !namesake.join().expect("the server stands"));
}
