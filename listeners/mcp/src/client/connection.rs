//! A connection to a server: which revision of the protocol it speaks, and its tools.

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{PaginatedRequestParams, ProtocolVersion, Tool};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, RunningService, ServiceError, serve_client_with_lifecycle,
};
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{DynamicTransportError, IntoTransport, StreamableHttpClientTransport};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::SetOnce;

use super::hearing::ServerHearing;
use super::http::{BoundedHttp, KeyedServer};
use super::wire::{ServerLines, WireEnd};
use crate::limits::{self, TOOL_PAGES, TOOLS};

/// The ways to speak the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Revision {
    /// 2026-07-28: every request stands alone.
    #[serde(rename = "2026-07-28")]
    Modern,
    /// 2025-11-25, or one before it: a handshake comes first.
    #[serde(rename = "2025-11-25")]
    Legacy,
}

impl Revision {
    /// The date of its newest revision.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Revision::Modern => "2026-07-28",
            Revision::Legacy => "2025-11-25",
        }
    }

    /// The way to speak the revision of that date.
    pub(crate) fn from_date(date: &str) -> Option<Revision> {
        let known = ProtocolVersion::KNOWN_VERSIONS.iter().find(|known| known.as_str() == date)?;
        Some(if known.has_initialize() { Revision::Legacy } else { Revision::Modern })
    }
}

/// Why there is no connection, or no list of tools.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoConnection {
    /// It says nothing.
    #[error("the server has not answered {what} within {} s", .after.as_secs())]
    Silent {
        /// What was asked.
        what: &'static str,
        /// How long was waited.
        after: Duration,
    },
    /// Nothing more comes.
    #[error("{0}")]
    Ended(WireEnd),
    /// There is no answer from its address.
    #[error("{0}")]
    Unreachable(String),
    /// It answers with something else.
    #[error("the server does not answer {what} as MCP says: {words}")]
    NoMcp {
        /// What was asked.
        what: &'static str,
        /// What it answered.
        words: String,
    },
    /// It has too many tools, or too many pages of them.
    #[error("the server has more than {TOOLS} tools, or lists them on more than {TOOL_PAGES} pages")]
    TooMany,
}

/// A connection to a server. Its end ends the connection.
pub struct McpConnection {
    pub(super) service: RunningService<RoleClient, ServerHearing>,
    pub(super) end: Arc<SetOnce<WireEnd>>,
    /// Whether each request has a connection of its own, so that a call that fails says nothing about others.
    pub(super) is_at_address: bool,
}

impl McpConnection {
    /// Connects over the streams of a server. A server that was asked in one revision is not asked in the other over the
    /// same streams: its answer to the first may come late.
    ///
    /// # Errors
    /// If the server does not answer in time, or not as the protocol says.
    pub async fn connect_over<R, W>(
        input: R,
        output: W,
        revision: Revision,
    ) -> Result<McpConnection, NoConnection>
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let end = Arc::new(SetOnce::new());
        let lines = ServerLines::new(input, output, end.clone());
        McpConnection::begin_session(lines, revision, end, false).await
    }

    /// Connects to a server at an address.
    ///
    /// # Errors
    /// If the server does not answer in time, or not as the protocol says.
    pub async fn connect_to(
        server: impl Into<KeyedServer>,
        revision: Revision,
    ) -> Result<McpConnection, NoConnection> {
        let client = BoundedHttp::new(server.into()).map_err(NoConnection::Unreachable)?;
        let mut settings =
            StreamableHttpClientTransportConfig::default().max_sse_event_size(limits::WHOLE_BYTES);
        let mut again = ExponentialBackoff::default();
        again.max_delay = Some(limits::UNASKED_PAUSE);
        settings.retry_config = Arc::new(again);
        let transport = StreamableHttpClientTransport::with_client(client, settings);
        McpConnection::begin_session(transport, revision, Arc::new(SetOnce::new()), true).await
    }

    async fn begin_session<T: IntoTransport<RoleClient, E, A>, E, A>(
        transport: T,
        revision: Revision,
        end: Arc<SetOnce<WireEnd>>,
        is_at_address: bool,
    ) -> Result<McpConnection, NoConnection>
    where
        E: std::error::Error + Send + Sync + 'static,
    {
        let modern = vec![ProtocolVersion::V_2026_07_28];
        let lifecycle = match revision {
            Revision::Modern => ClientLifecycleMode::Discover { preferred_versions: modern },
            Revision::Legacy => ClientLifecycleMode::Initialize,
        };
        let hearing = ServerHearing::new(revision == Revision::Modern);
        let serving = serve_client_with_lifecycle(hearing, transport, lifecycle);
        let what = "the first request";
        let service = match tokio::time::timeout(limits::STEP, serving).await {
            Err(_) => return Err(NoConnection::Silent { what, after: limits::STEP }),
            Ok(Err(fault)) => return Err(describe_unconnected(what, &fault, &end)),
            Ok(Ok(service)) => service,
        };
        Ok(McpConnection { service, end, is_at_address })
    }

    /// Whether the server is at an address.
    #[must_use]
    pub fn is_at_address(&self) -> bool {
        self.is_at_address
    }

    /// The date of the revision that the server agreed to.
    #[must_use]
    pub fn describe_agreed(&self) -> String {
        let info = self.service.peer().peer_info();
        info.map(|info| info.protocol_version.as_str().to_owned()).unwrap_or_default()
    }

    /// The tools of the server, in its order.
    ///
    /// # Errors
    /// If it does not list them in time, or lists too many.
    pub async fn list_tools(&self) -> Result<Vec<Tool>, NoConnection> {
        let what = "the question for its tools";
        let (mut tools, mut cursor) = (Vec::new(), None);
        for _ in 0..TOOL_PAGES {
            let mut page = PaginatedRequestParams::default();
            page.cursor.clone_from(&cursor);
            let asked = self.service.peer().list_tools(Some(page));
            let page = match tokio::time::timeout(limits::STEP, asked).await {
                Err(_) => return Err(NoConnection::Silent { what, after: limits::STEP }),
                Ok(Err(fault)) => return Err(self.describe_unlisted(what, &fault)),
                Ok(Ok(page)) => page,
            };
            tools.extend(page.tools);
            if tools.len() > TOOLS {
                return Err(NoConnection::TooMany);
            }
            match page.next_cursor {
                // A server that names the same page twice has no further one.
                Some(next) if cursor.as_ref() != Some(&next) => cursor = Some(next),
                _ => return Ok(tools),
            }
        }
        Err(NoConnection::TooMany)
    }

    /// Waits until the server says that its tools have changed.
    pub async fn wait_for_change(&self) {
        self.service.service().changed.notified().await;
    }

    /// Waits until nothing more will come.
    pub async fn over_now(&self) {
        self.end.wait().await;
    }

    /// Ends the connection, and at an address the session, if the server answers soon.
    pub async fn close(mut self) {
        // What is open at a server that does not answer ends with its own limits.
        let _late = self.service.close_with_timeout(limits::END).await;
    }

    /// Why nothing more comes.
    #[must_use]
    pub fn end(&self) -> WireEnd {
        self.end.get().cloned().unwrap_or(WireEnd::Closed)
    }

    fn describe_unlisted(&self, what: &'static str, fault: &ServiceError) -> NoConnection {
        match fault {
            ServiceError::TransportSend(fault) if self.is_at_address => {
                NoConnection::Unreachable(describe_plainly(fault))
            }
            ServiceError::TransportClosed | ServiceError::TransportSend(_) => NoConnection::Ended(self.end()),
            other => NoConnection::NoMcp { what, words: other.to_string() },
        }
    }
}

fn describe_unconnected(
    what: &'static str,
    fault: &ClientInitializeError,
    end: &SetOnce<WireEnd>,
) -> NoConnection {
    match (end.get(), fault) {
        (Some(end), _) => NoConnection::Ended(end.clone()),
        // A program that ended reads nothing more, which may show before its output ends.
        (None, ClientInitializeError::TransportError { error, .. }) if is_broken_pipe(error) => {
            NoConnection::Ended(WireEnd::Closed)
        }
        (None, ClientInitializeError::TransportError { error, .. }) => {
            NoConnection::Unreachable(describe_plainly(error))
        }
        (None, _) => NoConnection::NoMcp { what, words: fault.to_string() },
    }
}

fn is_broken_pipe(fault: &DynamicTransportError) -> bool {
    let fault = fault.error.downcast_ref::<std::io::Error>();
    fault.is_some_and(|fault| fault.kind() == std::io::ErrorKind::BrokenPipe)
}

/// The innermost words of a fault: the library puts its own before them.
pub(super) fn describe_plainly(fault: &DynamicTransportError) -> String {
    let words = fault.error.to_string();
    words.strip_prefix("Client error: ").unwrap_or(&words).to_owned()
}
