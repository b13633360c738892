//! The connection to the broker. It reconnects after a break, and reports the broker's other messages.
//!
//! From the process it shows the key and nothing else. Secrets go into the connection and into no message.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_nats::{Client, ConnectErrorKind, ConnectOptions, Event, ServerAddr, ServerError};
use tokio::sync::watch;

use super::news::{WorkerEvent, WorkerFault};
use super::{Worker, as_token};
use crate::limits;

/// A connection that is open or is being made again.
pub(super) struct WorkerConnection {
    pub(super) client: Client,
    /// Counts the reconnects.
    pub(super) made: watch::Receiver<u64>,
}

/// The pause before the next try: short at first, then longer, at most a few seconds.
pub(super) fn choose_pause(tries: u32) -> Duration {
    Duration::from_millis(100).saturating_mul(1 << tries.min(6)).min(limits::RECONNECT_PAUSE)
}

/// Connects. While no broker listens, it keeps trying.
pub(super) async fn connect(worker: &Worker) -> Result<WorkerConnection, WorkerFault> {
    let read = |url: &str| {
        url.parse::<ServerAddr>().map_err(|_| {
            WorkerFault::Told(format!("{url:?} is not the address of a broker, such as nats://HOST:4222"))
        })
    };
    let servers = worker.url.split(',').map(read).collect::<Result<Vec<_>, _>>()?;
    let named = servers.iter().map(|server| format!("{}:{}", server.host(), server.port()));
    let at = named.collect::<Vec<_>>().join(", ");
    let seed = match &worker.key_file {
        None => None,
        Some(path) => {
            let read = std::fs::read_to_string(path);
            Some(
                read.map_err(|error| WorkerFault::Told(format!("the key file {}: {error}", path.display())))?,
            )
        }
    };
    let mut tries = 0;
    loop {
        let (count, made) = watch::channel(0);
        let tried = build_options(worker, seed.as_deref(), count).connect(servers.clone()).await;
        let error = match tried {
            Ok(client) => return Ok(WorkerConnection { client, made }),
            Err(error) => error,
        };
        match error.kind() {
            ConnectErrorKind::AuthorizationViolation => {
                let who = if seed.is_some() { "a client with this key" } else { "a client without a key" };
                return Err(WorkerFault::Forbidden { at, who });
            }
            ConnectErrorKind::Authentication if seed.is_some() => {
                let words = "the key file does not hold the seed of an nkey: one line that begins with SU";
                return Err(WorkerFault::Told(words.to_owned()));
            }
            _ if tries == 0 => (worker.tell)(&WorkerEvent::Away { words: format!("{at}: {error}") }),
            _ => {}
        }
        tokio::time::sleep(choose_pause(tries)).await;
        tries = tries.saturating_add(1);
    }
}

fn build_options(worker: &Worker, seed: Option<&str>, count: watch::Sender<u64>) -> ConnectOptions {
    let tell = worker.tell.clone();
    let (told_last, was_made) = (Mutex::new(String::new()), AtomicBool::new(false));
    let options = ConnectOptions::new()
        .name(format!("systole listener {}", worker.listener))
        .custom_inbox_prefix(format!("_INBOX_{}", as_token(&worker.listener)))
        .connection_timeout(limits::PATIENCE)
        .request_timeout(Some(limits::PATIENCE))
        .ping_interval(limits::QUIET)
        .reconnect_delay_callback(|tries| choose_pause(u32::try_from(tries).unwrap_or(u32::MAX)))
        .event_callback(move |event| {
            let news = match event {
                Event::Connected => {
                    if was_made.swap(true, Ordering::Relaxed) {
                        count.send_modify(|times| *times += 1);
                    }
                    Some(WorkerEvent::Connected)
                }
                Event::Disconnected => Some(WorkerEvent::Away { words: "the connection broke".to_owned() }),
                Event::ServerError(ServerError::Other(words)) => Some(WorkerEvent::Forbidden { words }),
                // Other events show up as failing operations.
                _ => None,
            };
            if let Some(news) = news {
                let words = news.to_string();
                // A forbidden operation is retried forever but reported once.
                let is_new = told_last
                    .lock()
                    .is_ok_and(|mut last| std::mem::replace(&mut *last, words.clone()) != words);
                if is_new {
                    tell(&news);
                }
            }
            std::future::ready(())
        });
    match seed {
        Some(seed) => options.nkey(seed.trim().to_owned()),
        None => options,
    }
}
