//! The stream of events of an organism: records as they are written, and what listeners report while they work.
//!
//! Lines come in, each up to a limit; events go out. The stream ends when the organism stops.

use std::io::{BufRead as _, BufReader, Read as _};

use ureq::http::{Response, StatusCode};
use ureq::{Body, BodyReader};

use super::DoorClientFault;
use crate::limits;
use systole_api::types::{ApiRecord, ApiRefusal, FollowerEvent, ProgressReport};

/// Records as they are written. It ends when the organism stops.
pub struct RecordEvents(pub(super) StreamFrames);

impl Iterator for RecordEvents {
    type Item = Result<ApiRecord, DoorClientFault>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.0.next()? {
                Ok(FollowerEvent::Record(record)) => return Some(Ok(*record)),
                Ok(FollowerEvent::Spoken(_)) => {}
                Err(unheard) => return Some(Err(unheard)),
            }
        }
    }
}

/// Records and listener output as they come. It ends when the organism stops.
pub struct VoiceEvents(pub(super) StreamFrames);

impl Iterator for VoiceEvents {
    type Item = Result<FollowerEvent, DoorClientFault>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }
}

/// Events of the HTTP stream.
pub(super) struct StreamFrames {
    lines: BufReader<BodyReader<'static>>,
    address: String,
}

impl StreamFrames {
    /// The events in the body of an answer.
    pub(super) fn from_response(response: Response<Body>, address: String) -> StreamFrames {
        StreamFrames { lines: BufReader::new(response.into_body().into_reader()), address }
    }

    fn next(&mut self) -> Option<Result<FollowerEvent, DoorClientFault>> {
        let (mut line, mut kind) = (String::new(), String::new());
        loop {
            line.clear();
            match (&mut self.lines).take(limits::REMOTE_BYTES).read_line(&mut line) {
                Ok(0) => return None,
                Ok(_) if line.len() as u64 >= limits::REMOTE_BYTES => {
                    return Some(Err(DoorClientFault::TooLong { address: self.address.clone() }));
                }
                Ok(_) => {}
                Err(error) => return Some(Err(self.describe_break(&error))),
            }
            if let Some(event) = line.strip_prefix("event:") {
                event.trim().clone_into(&mut kind);
            }
            // The data line has everything else; the id only repeats a part of it.
            if let Some(json) = line.strip_prefix("data:") {
                return Some(self.read_event(json.trim(), &kind));
            }
        }
    }

    fn read_event(&self, json: &str, kind: &str) -> Result<FollowerEvent, DoorClientFault> {
        let strange = |words: String| DoorClientFault::Strange {
            address: self.address.clone(),
            status: StatusCode::OK.as_u16(),
            words,
        };
        let read = match kind {
            ProgressReport::EVENT => serde_json::from_str(json).map(FollowerEvent::Spoken),
            ApiRefusal::EVENT => match serde_json::from_str::<ApiRefusal>(json) {
                Ok(refusal) => return Err(DoorClientFault::Broken { words: refusal.message }),
                Err(error) => Err(error),
            },
            _ => serde_json::from_str(json).map(|record| FollowerEvent::Record(Box::new(record))),
        };
        read.map_err(|error| strange(error.to_string()))
    }

    fn describe_break(&self, error: &std::io::Error) -> DoorClientFault {
        let late = error.get_ref().and_then(|inner| inner.downcast_ref::<ureq::Error>());
        if matches!(late, Some(ureq::Error::Timeout(_))) || error.kind() == std::io::ErrorKind::TimedOut {
            return DoorClientFault::TooLate;
        }
        DoorClientFault::Unreachable { address: self.address.clone(), words: error.to_string() }
    }
}
