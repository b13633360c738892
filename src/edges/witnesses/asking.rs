//! Asks a witness over HTTP for its cosignature: `POST …/add-checkpoint` of C2SP's `tlog-witness`. The whole exchange is
//! bounded in time and bytes, because the witness may be slow or hostile. Nothing is tried again here.

use std::time::Duration;

use systole_http::{BodyPart, HttpAddress, HttpClient, Proxies, Unanswered, web_roots};
use systole_proof::witness::AddCheckpoint;
use tokio::time::{Instant, timeout_at};

use super::{WitnessFault, plain_words};

/// The most bytes of an answer: cosignatures of a few kinds.
const ANSWER: usize = 64 << 10;

/// Asks witnesses.
#[derive(Clone)]
pub struct WitnessClient {
    proxies: Proxies,
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
    pub fn new(proxies: Proxies) -> WitnessClient {
        WitnessClient { proxies }
    }

    /// Sends a checkpoint, and waits for the answer for that long.
    pub async fn ask(
        &self,
        to: &HttpAddress,
        request: &AddCheckpoint,
        within: Duration,
    ) -> Result<WitnessReply, WitnessFault> {
        let until = Instant::now() + within;
        let asked = timeout_at(until, self.asked(to, request, until));
        let late = |_| WitnessFault::NoAnswer("nothing came in time".to_owned());
        asked.await.map_err(late)?
    }

    async fn asked(
        &self,
        to: &HttpAddress,
        request: &AddCheckpoint,
        until: Instant,
    ) -> Result<WitnessReply, WitnessFault> {
        let none = WitnessFault::NoAnswer;
        let via = self.proxies.to(to).map_err(none)?;
        let client = HttpClient::new(web_roots(), via).map_err(|fault| none(fault.to_string()))?;
        let left = until.saturating_duration_since(Instant::now());
        let body = request.to_string().into_bytes();
        let sent = client.post(to, Default::default(), body, left, left).await;
        let mut answer = sent.map_err(|fault| {
            none(match fault {
                Unanswered::NoConnection(why) => format!("no connection to {}: {why}", to.shown()),
                Unanswered::NotSent(why) => format!("the connection ended: {why}"),
                Unanswered::NoHead(why) => format!("the request was sent, and the connection ended: {why}"),
                Unanswered::TooLate => "the request was sent, and nothing came in time".to_owned(),
                Unanswered::Unwritable(why) => format!("the request cannot be written: {why}"),
            })
        })?;
        let mut body = Vec::new();
        loop {
            match answer.next(until).await {
                BodyPart::Bytes(bytes) if body.len() + bytes.len() > ANSWER => {
                    return Err(WitnessFault::Strange(format!("it has more than {ANSWER} bytes")));
                }
                BodyPart::Bytes(bytes) => body.extend_from_slice(&bytes),
                BodyPart::End | BodyPart::Closed => break,
                BodyPart::Cut => return Err(none("the answer broke off".to_owned())),
                BodyPart::TooLate => return Err(none("the answer did not come to an end".to_owned())),
            }
        }
        match answer.status {
            200 => Ok(WitnessReply::Cosigned(body)),
            409 => match size_of(&body) {
                Some(size) => Ok(WitnessReply::Knows(size)),
                None => Err(WitnessFault::Strange(format!("409 without a size: {}", plain_words(&body)))),
            },
            status => Err(WitnessFault::Refused { status, words: plain_words(&body) }),
        }
    }
}

/// The size in the body of a conflict: a decimal number and a line break.
fn size_of(body: &[u8]) -> Option<u64> {
    let text = str::from_utf8(body).ok()?.strip_suffix('\n')?;
    let is_plain =
        text.bytes().all(|digit| digit.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| is_plain)
}
