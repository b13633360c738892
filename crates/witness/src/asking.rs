//! Asks a witness over HTTP for its cosignature: `POST …/add-checkpoint` of C2SP's `tlog-witness`; and for the last
//! checkpoint that it cosigned: `GET …/SHA256(origin)/checkpoint`. The whole exchange is
//! bounded in time and bytes, because the witness may be slow or hostile. Nothing is tried again here.

use std::time::Duration;

use systole_http::{BodyPart, HttpAddress, HttpClient, ProxySettings, load_web_roots};
use systole_proof::checkpoint::SignedCheckpoint;
use systole_proof::witness::AddCheckpoint;
use tokio::time::{Instant, timeout_at};

use super::fault::{WitnessFault, make_plain_words};
use crate::limits::ANSWER_BYTES;
use systole_core::types::ids::Digest;

/// Asks witnesses.
#[derive(Clone)]
pub struct WitnessClient {
    proxies: ProxySettings,
}

/// What a witness answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WitnessReply {
    /// Lines of cosignatures, which are not verified yet.
    Cosigned(Vec<u8>),
    /// The last checkpoint that it cosigned has this size.
    Knows(u64),
}

impl WitnessClient {
    /// A client that goes through these proxies.
    pub fn new(proxies: ProxySettings) -> WitnessClient {
        WitnessClient { proxies }
    }

    /// Sends a checkpoint, and waits for the answer for that long.
    pub async fn ask_witness(
        &self,
        to: &HttpAddress,
        request: &AddCheckpoint,
        within: Duration,
    ) -> Result<WitnessReply, WitnessFault> {
        let until = Instant::now() + within;
        let asked = timeout_at(until, self.ask_until(to, request, until));
        let late = |_| WitnessFault::NoAnswer("nothing came in time".to_owned());
        asked.await.map_err(late)?
    }

    /// Reads back the last checkpoint of a log that a witness cosigned, within that time. `None` if it has none.
    pub async fn read_back(
        &self,
        to: &HttpAddress,
        origin: &str,
        within: Duration,
    ) -> Result<Option<SignedCheckpoint>, WitnessFault> {
        let until = Instant::now() + within;
        let at = to.with_path(&format!(
            "{}/{}/checkpoint",
            to.path().trim_end_matches('/'),
            Digest::hash_bytes(origin.as_bytes())
        ));
        match self.exchange_request(&at, None, until).await? {
            (200, body) => {
                let signed =
                    SignedCheckpoint::parse(&body).map_err(|why| WitnessFault::Strange(why.to_string()))?;
                let named = signed.checkpoint().origin();
                if named != origin {
                    let named = make_plain_words(named.as_bytes());
                    return Err(WitnessFault::Strange(format!("it is a checkpoint of {named}")));
                }
                Ok(Some(signed))
            }
            (404, _) => Ok(None),
            (status, body) => Err(WitnessFault::Refused { status, words: make_plain_words(&body) }),
        }
    }

    async fn ask_until(
        &self,
        to: &HttpAddress,
        request: &AddCheckpoint,
        until: Instant,
    ) -> Result<WitnessReply, WitnessFault> {
        match self.exchange_request(to, Some(request), until).await? {
            (200, body) => Ok(WitnessReply::Cosigned(body)),
            (409, body) => match parse_size(&body) {
                Some(size) => Ok(WitnessReply::Knows(size)),
                None => {
                    Err(WitnessFault::Strange(format!("409 without a size: {}", make_plain_words(&body))))
                }
            },
            (status, body) => Err(WitnessFault::Refused { status, words: make_plain_words(&body) }),
        }
    }

    /// Sends a request, or gets what is at the address. Returns the status and the body of the answer.
    async fn exchange_request(
        &self,
        to: &HttpAddress,
        request: Option<&AddCheckpoint>,
        until: Instant,
    ) -> Result<(u16, Vec<u8>), WitnessFault> {
        let none = WitnessFault::NoAnswer;
        let via = self.proxies.choose_proxy(to).map_err(none)?;
        let client = HttpClient::new(load_web_roots(), via).map_err(|fault| none(fault.to_string()))?;
        let left = until.saturating_duration_since(Instant::now());
        let sent = match request {
            Some(request) => {
                let body = request.to_string().into_bytes();
                client.post(to, Default::default(), body, left, left).await
            }
            None => client.get(to, left, left).await,
        };
        let mut answer = sent.map_err(|fault| none(fault.describe(to)))?;
        let mut body = Vec::new();
        loop {
            match answer.next(until).await {
                BodyPart::Bytes(bytes) if body.len() + bytes.len() > ANSWER_BYTES => {
                    return Err(WitnessFault::Strange(format!("it has more than {ANSWER_BYTES} bytes")));
                }
                BodyPart::Bytes(bytes) => body.extend_from_slice(&bytes),
                BodyPart::End | BodyPart::Closed => return Ok((answer.status, body)),
                BodyPart::Cut => return Err(none("the answer broke off".to_owned())),
                BodyPart::TooLate => return Err(none("the answer did not come to an end".to_owned())),
            }
        }
    }
}

/// The size in the body of a conflict: a decimal number and a line break.
fn parse_size(body: &[u8]) -> Option<u64> {
    let text = str::from_utf8(body).ok()?.strip_suffix('\n')?;
    let is_plain =
        text.bytes().all(|digit| digit.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| is_plain)
}
