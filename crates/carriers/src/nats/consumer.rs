//! The consumer of a listener: made, or given the settings of this pump. Work that it has handed out stays with its
//! workers, so a consumer with such work is never made anew.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::consumer::{AckPolicy, Info, pull};
use async_nats::jetstream::context::ConsumerInfoErrorKind;
use async_nats::jetstream::response::Response;
use async_nats::jetstream::stream::Stream;
use serde::Deserialize;
use serde_json::json;

use super::fence;
use super::side_messages::in_time;
use crate::limits;
use systole_bus::{Broker, to_token as part};
use systole_core::types::ids::Name;
use systole_core::types::time::Millis;
use systole_system::clock::draw_random_bytes;

/// The key in a consumer's metadata under which the pump notes the id that it drew for this consumer.
const MARK: &str = "systole.mark";
/// The key under which it notes its term.
const TERM: &str = "systole.term";

/// The key under which it notes the run of the broker's server that it works with.
const SERVER: &str = "systole.server";

/// The consumer of a listener.
pub(super) struct WorkConsumer {
    name: String,
    /// The id in its metadata. A consumer that was deleted or made by someone else does not have it; a restart of the
    /// broker keeps it.
    mark: String,
    config: Mutex<pull::Config>,
    made: Info,
    /// Whether it is certain that the server was not started anew since a pump noted its run.
    pub(super) is_same_server: bool,
}

/// What the broker says about a consumer, and when, by its own clock.
#[derive(Deserialize)]
struct ConsumerAtTime {
    config: MarkedConfig,
    created: String,
    delivered: SequencePlace,
    ack_floor: SequencePlace,
    num_pending: u64,
    num_ack_pending: u64,
    #[serde(default)]
    ts: Option<String>,
}

#[derive(Deserialize)]
struct MarkedConfig {
    #[serde(default)]
    metadata: HashMap<String, String>,
}

#[derive(Deserialize)]
struct SequencePlace {
    stream_seq: u64,
}

/// How far a consumer has come.
pub(super) struct ConsumerProgress {
    /// The last place in the stream that it handed out.
    pub(super) handed_out: u64,
    /// Everything up to that place is acknowledged.
    pub(super) acknowledged: u64,
    /// Whether it has nothing to hand out, and no worker has anything.
    pub(super) is_idle: bool,
    /// The time of the broker.
    pub(super) now: Option<Millis>,
}

/// What a look at the consumer found.
pub(super) enum ConsumerState {
    /// It is the one that was made.
    Ours(ConsumerProgress),
    /// A pump that was ousted before has changed its settings. It still has its deliveries.
    ChangedLate,
    /// It is another one or gone, for this reason.
    Lost(String),
    /// There is no stream.
    NoStream,
    /// The broker did not say.
    Unanswered,
}

impl WorkConsumer {
    /// Makes the consumer, or gives it the settings of this pump.
    pub(super) async fn make(
        broker: &Broker,
        listener: &Name,
        stream: &Stream<()>,
        (room, silence): (usize, Duration),
    ) -> Result<WorkConsumer, String> {
        let drawn: [u8; 16] =
            draw_random_bytes().map_err(|error| format!("no id for the consumer: {error}"))?;
        let mark = format!("{:032x}", u128::from_be_bytes(drawn));
        let mut metadata = HashMap::from([
            (MARK.to_owned(), mark.clone()),
            (TERM.to_owned(), fence::name_writer(broker.term())),
        ]);
        let found = match stream.consumer_info(part(listener)).await {
            Err(error) if error.kind() == ConsumerInfoErrorKind::NotFound => None,
            found => Some(found.map_err(|error| error.to_string())?),
        };
        let (is_new, run) = (found.is_none(), broker.server_run());
        let noted = found.and_then(|mut found| found.config.metadata.remove(SERVER));
        let is_same_server = run.is_none() || run == noted;
        // What was noted stays until it is known what became of the deliveries.
        let noted = if is_new { run } else { noted };
        metadata.extend(noted.map(|noted| (SERVER.to_owned(), noted)));
        let config = pull::Config {
            durable_name: Some(part(listener)),
            metadata,
            ack_policy: AckPolicy::Explicit,
            ack_wait: silence,
            // The pump counts and decides the attempts.
            max_deliver: 1,
            filter_subject: broker.subjects().name_delivery(listener),
            max_ack_pending: i64::try_from(room).unwrap_or(i64::MAX),
            // The broker must still know whom an answer is for.
            max_expires: limits::REMEMBERS / 2,
            max_waiting: limits::PULLS,
            ..pull::Config::default()
        };
        let (config, made) = create_consumer(stream, config).await?;
        Ok(WorkConsumer { name: part(listener), mark, config: Mutex::new(config), made, is_same_server })
    }

    /// Asks the broker for it.
    pub(super) async fn read_state(&self, broker: &Broker) -> ConsumerState {
        let asked = format!("CONSUMER.INFO.{}.{}", broker.subjects().bus_stream(), self.name);
        let told: Result<Response<ConsumerAtTime>, _> = broker.jetstream().request(asked, &json!({})).await;
        match told {
            Ok(Response::Ok(info)) => {
                if info.config.metadata.get(MARK) == Some(&self.mark) {
                    return ConsumerState::Ours(ConsumerProgress {
                        handed_out: info.delivered.stream_seq,
                        acknowledged: info.ack_floor.stream_seq,
                        is_idle: info.num_pending == 0 && info.num_ack_pending == 0,
                        now: info.ts.and_then(|ts| Millis::parse(&ts)),
                    });
                }
                if self.was_changed_late(&info, broker) {
                    return ConsumerState::ChangedLate;
                }
                ConsumerState::Lost(format!("the consumer {} was made by another program", self.name))
            }
            Ok(Response::Err { error }) => match error.error_code() {
                ErrorCode::CONSUMER_NOT_FOUND => {
                    ConsumerState::Lost(format!("the consumer {} is gone", self.name))
                }
                ErrorCode::STREAM_NOT_FOUND => ConsumerState::NoStream,
                _ => ConsumerState::Unanswered,
            },
            Err(_) => ConsumerState::Unanswered,
        }
    }

    /// Whether a pump that was ousted before has changed the consumer. The consumer was not made anew, so it still has
    /// its deliveries.
    fn was_changed_late(&self, found: &ConsumerAtTime, broker: &Broker) -> bool {
        let term = found.config.metadata.get(TERM);
        let made_ms = self.made.created.unix_timestamp_nanos() / 1_000_000;
        Millis::parse(&found.created).is_some_and(|created| i128::from(created.0) == made_ms)
            && term.is_some_and(|term| fence::is_earlier(term, broker.term()))
    }

    fn lock_config(&self) -> MutexGuard<'_, pull::Config> {
        // Every change of it is complete before anything can panic.
        self.config.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the consumer its settings back.
    pub(super) async fn take_back(&self, stream: &Stream<()>) -> Result<(), String> {
        let config = self.lock_config().clone();
        stream.update_consumer(config).await.map(drop).map_err(|error| error.to_string())
    }

    /// Whether the server was not started anew since its run was noted.
    pub(super) fn knows_server(&self, broker: &Broker) -> bool {
        broker.server_run().is_none_or(|run| self.lock_config().metadata.get(SERVER) == Some(&run))
    }

    /// Notes the run of the server, so that the next pump knows whether it was started anew. Returns whether it was.
    pub(super) async fn notes_server(&self, broker: &Broker, stream: &Stream<()>) -> bool {
        let Some(run) = broker.server_run().filter(|_| !self.knows_server(broker)) else { return false };
        let mut config = self.lock_config().clone();
        config.metadata.insert(SERVER.to_owned(), run);
        match in_time("the consumer", stream.update_consumer(config.clone())).await {
            Ok(_) => *self.lock_config() = config,
            Err(why) => tracing::debug!(listener = self.name, why, "the broker's run is not noted"),
        }
        true
    }
}

/// Makes a consumer, or changes the one that is there. One made by an earlier version has another number of waiting
/// pulls, which the broker does not change: if workers have something of it, it keeps that number.
async fn create_consumer(stream: &Stream<()>, config: pull::Config) -> Result<(pull::Config, Info), String> {
    let name = config.durable_name.clone().unwrap_or_default();
    if let Ok(made) = stream.create_consumer(config.clone()).await {
        return Ok((config, made.cached_info().clone()));
    }
    let config = match stream.consumer_info(&name).await {
        Ok(found) if found.num_ack_pending > 0 => {
            pull::Config { max_waiting: found.config.max_waiting, ..config }
        }
        // If there is none to delete, the cause is another one, and the second try reports it.
        _ => {
            let _was_there = stream.delete_consumer(&name).await;
            config
        }
    };
    let made = stream.create_consumer(config.clone()).await.map_err(|error| error.to_string())?;
    Ok((config, made.cached_info().clone()))
}
