//! A connection to a provider: TCP, possibly through a proxy, and TLS if the address asks for it, with a timeout. It
//! carries one request. It does not read the environment, and trusts the given roots.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::address::HttpAddress;
use super::proxy::ProxyAddress;
use super::public::is_public;

/// A stream of bytes both ways.
pub(super) trait HttpStream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> HttpStream for S {}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectFault {
    /// The name is unknown.
    #[error("no address is known by that name ({0})")]
    Unknown(io::Error),
    /// The name has only addresses of this machine or of its network.
    #[error("{0} is not an address of the public internet")]
    Private(IpAddr),
    /// No address accepted the connection.
    #[error("{0}")]
    Refused(io::Error),
    /// The proxy does not connect to the provider.
    #[error("no way through the proxy at {at}, which {variable} names: {why}")]
    Proxy {
        /// The address of the proxy.
        at: String,
        /// The variable that names it.
        variable: &'static str,
        /// Why.
        why: String,
    },
    /// TLS failed.
    #[error("no TLS: {0}")]
    Tls(io::Error),
    /// It took too long.
    #[error("no connection within {} ms", .0.as_millis())]
    TooLate(Duration),
}

/// Opens connections.
#[derive(Clone)]
pub(super) struct StreamConnector {
    tls: Arc<ClientConfig>,
    /// Whether only addresses of the public internet are connected to.
    pub(super) is_public_only: bool,
}

impl StreamConnector {
    /// With those roots for TLS.
    pub(super) fn new(roots: RootCertStore) -> Result<Self, rustls::Error> {
        let ring = Arc::new(rustls::crypto::ring::default_provider());
        let mut tls = ClientConfig::builder_with_provider(ring)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { tls: Arc::new(tls), is_public_only: false })
    }

    pub(super) async fn open_stream(
        &self,
        to: &HttpAddress,
        via: Option<&ProxyAddress>,
        within: Duration,
    ) -> Result<Box<dyn HttpStream>, ConnectFault> {
        let opening = async {
            let stream = match via {
                None => connect_tcp(to, within, self.is_public_only).await?,
                Some(proxy) => connect_through(proxy, to, within).await?,
            };
            if !to.tls {
                return Ok(Box::new(stream) as Box<dyn HttpStream>);
            }
            let wrong = |fault| ConnectFault::Tls(io::Error::new(io::ErrorKind::InvalidInput, fault));
            let name = ServerName::try_from(to.host.clone()).map_err(wrong)?;
            let tls = TlsConnector::from(self.tls.clone()).connect(name, stream).await;
            Ok(Box::new(tls.map_err(ConnectFault::Tls)?) as Box<dyn HttpStream>)
        };
        timeout(within, opening).await.unwrap_or(Err(ConnectFault::TooLate(within)))
    }
}

/// A connection to the proxy, and for TLS through it to the address itself. Without TLS the proxy reads the request.
async fn connect_through(
    proxy: &ProxyAddress,
    to: &HttpAddress,
    within: Duration,
) -> Result<TcpStream, ConnectFault> {
    let none = |why| ConnectFault::Proxy { at: proxy.at.to_text(), variable: proxy.variable, why };
    let mut stream = connect_tcp(&proxy.at, within, false).await.map_err(|why| none(why.to_string()))?;
    if to.tls {
        proxy.open_tunnel(&mut stream, to).await.map_err(none)?;
    }
    Ok(stream)
}

/// Each address of the name gets an equal part of the time, so that one that does not answer leaves time for the
/// others.
async fn connect_tcp(
    to: &HttpAddress,
    within: Duration,
    is_public_only: bool,
) -> Result<TcpStream, ConnectFault> {
    let found = lookup_host((to.host.as_str(), to.port)).await.map_err(ConnectFault::Unknown)?;
    let mut addresses: Vec<SocketAddr> = found.collect();
    // The very addresses that are looked at are connected to: a second answer of the name could differ.
    if is_public_only && let Some(private) = addresses.iter().find(|one| !is_public(one.ip())).copied() {
        addresses.retain(|one| is_public(one.ip()));
        if addresses.is_empty() {
            return Err(ConnectFault::Private(private.ip()));
        }
    }
    let each = within / u32::try_from(addresses.len().max(1)).unwrap_or(u32::MAX);
    let mut last = ConnectFault::Unknown(io::Error::new(io::ErrorKind::NotFound, "the name has no address"));
    for address in addresses {
        match timeout(each, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                stream.set_nodelay(true).map_err(ConnectFault::Refused)?;
                return Ok(stream);
            }
            Ok(Err(fault)) => last = ConnectFault::Refused(fault),
            Err(_) => last = ConnectFault::TooLate(each),
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn h15_a_name_that_leads_inside_is_not_connected_to_if_only_public_ones_are_wanted() {
        let server = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = server.local_addr().unwrap().port();
        for host in ["127.0.0.1", "localhost"] {
            let to = HttpAddress::parse(&format!("http://{host}:{port}")).unwrap();
            let time = Duration::from_secs(60);
            assert!(connect_tcp(&to, time, false).await.is_ok(), "{host}");
            let refused = connect_tcp(&to, time, true).await;
            assert!(matches!(refused, Err(ConnectFault::Private(at)) if at.is_loopback()), "{host}");
        }
    }
}
