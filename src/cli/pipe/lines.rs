//! The pipe between a host and a door: a line of stdin is a message, and so is a line of stdout.
//!
//! A message is passed on as soon as the door has begun to answer the one before it, so a long call delays nothing. Of a
//! message it reads only the id, and whether it is an answer; it answers for the door if nothing answers there.

use std::io::{self, BufRead, Read as _};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::cli::screen::Screen;
use crate::limits::{self, PIPE_LINE_BYTES};
use systole_api::rpc_codes::RPC;
use systole_client::pipe_client::{AnswerStream, DoorAnswer, PipeClient, PostPlace};
use systole_organism::runfile::draw_hex;
use systole_system::system::describe_error;

/// Finds the door anew, as an organism that was started again has another.
pub(super) type DoorFinder = Arc<dyn Fn() -> Option<PipeClient> + Send + Sync>;

/// Passes messages on until stdin ends, and waits for the answers that are still open.
pub(super) fn pass_on(screen: Screen, mut door: PipeClient, find: &DoorFinder) {
    // Nothing is ever sent: the channel tells when the last answer is written.
    let (open, ended) = sync_channel::<()>(0);
    let mut input = io::stdin().lock();
    loop {
        match next_line(&mut input) {
            Ok(Some(HostLine::Message(line))) => {
                if !line.trim().is_empty() {
                    pass_message(screen, &mut door, find, &line, &open);
                }
            }
            Ok(Some(HostLine::TooLong)) => {
                write_fault(
                    screen,
                    &Value::Null,
                    RPC.request,
                    &format!("a message has {PIPE_LINE_BYTES} bytes at most"),
                );
            }
            Ok(Some(HostLine::NotText)) => {
                write_fault(screen, &Value::Null, RPC.request, "a message is UTF-8")
            }
            Ok(None) => break,
            Err(error) => {
                screen.say(format!("error: stdin: {}", describe_error(&error)));
                break;
            }
        }
    }
    drop(open);
    if ended.recv_timeout(limits::GRACE) == Err(RecvTimeoutError::Timeout) {
        screen.say("stdin has ended; answers that are still open are not waited for");
    }
}

/// A line of the host.
enum HostLine {
    Message(String),
    TooLong,
    NotText,
}

/// The next line; `None` at the end. Of one that is too long, only its end is looked for.
fn next_line(input: &mut impl BufRead) -> io::Result<Option<HostLine>> {
    let mut line = Vec::new();
    if input.by_ref().take(PIPE_LINE_BYTES).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.len() as u64 == PIPE_LINE_BYTES && !line.ends_with(b"\n") {
        input.skip_until(b'\n')?;
        return Ok(Some(HostLine::TooLong));
    }
    Ok(Some(String::from_utf8(line).map_or(HostLine::NotText, HostLine::Message)))
}

/// Passes one message on. An answer that comes as a stream, or later, is written by a thread of its own.
fn pass_message(screen: Screen, door: &mut PipeClient, find: &DoorFinder, line: &str, open: &SyncSender<()>) {
    let key = door.door().resumes().then(draw_hex).transpose();
    let place = match key {
        Ok(key) => PostPlace { key, ..PostPlace::default() },
        Err(error) => return refuse_request(screen, line, RPC.internal, &describe_error(&error)),
    };
    let begun = Instant::now();
    let mut answered = door.post_message(line, &place);
    if let Err(fault) = &answered
        && let Some(found) = find()
    {
        door.go_on_at(found);
        // The message may only go out again if no organism had it.
        if fault.is_unsent {
            answered = door.post_message(line, &place);
        }
    }
    let (messages, why) = match answered {
        Ok(answer) => match show_answer(screen, line, answer) {
            Some(messages) => (Some(messages), String::new()),
            None => return,
        },
        Err(fault) if fault.is_silent => {
            return refuse_request(screen, line, RPC.internal, &describe_silent(door));
        }
        Err(fault) if fault.is_locked => return refuse_request(screen, line, RPC.request, &fault.words),
        Err(fault) if door.door().resumes() => (None, fault.words),
        Err(fault) => return refuse_request(screen, line, RPC.internal, &describe_gone(door, &fault.words)),
    };
    let call =
        OpenCall { screen, line: line.to_owned(), place, door: door.clone(), find: find.clone(), begun };
    let open = open.clone();
    std::thread::spawn(move || {
        call.pass_answer(messages, why);
        drop(open);
    });
}

/// Shows an answer. Returns its messages if it comes as a stream.
fn show_answer(screen: Screen, line: &str, answer: DoorAnswer) -> Option<AnswerStream> {
    match answer {
        DoorAnswer::Stream(messages) => return Some(messages),
        DoorAnswer::Nothing => {}
        DoorAnswer::Whole(message) if is_answer(line) => {
            screen.say(format!("an answer was not taken: {}", read_fault(&message)));
        }
        DoorAnswer::Whole(message) => {
            screen.show_document(format!("{}\n", name_answered(line, message.trim_end())).as_bytes());
        }
        DoorAnswer::Refused(words) => refuse_request(screen, line, RPC.request, &words),
    }
    None
}

/// An answer under the id of its request, if the door could not read that.
fn name_answered(line: &str, message: &str) -> String {
    let (mut answer, line): (Value, Value) =
        (serde_json::from_str(message).unwrap_or_default(), serde_json::from_str(line).unwrap_or_default());
    match (answer.get_mut("id"), line.get("id")) {
        (Some(id @ Value::Null), Some(own)) => {
            *id = own.clone();
            answer.to_string()
        }
        _ => message.to_owned(),
    }
}

/// A message whose answer has begun, or not yet.
struct OpenCall {
    screen: Screen,
    line: String,
    place: PostPlace,
    door: PipeClient,
    find: DoorFinder,
    /// When the message was posted for the first time.
    begun: Instant,
}

impl OpenCall {
    /// Passes the answer on. If it breaks off, the rest is had from the organism that goes on, where the door has that.
    fn pass_answer(mut self, begun: Option<AnswerStream>, mut why: String) {
        let (mut next, mut idle) = (begun, 0);
        loop {
            if let Some(messages) = next.take() {
                let last = self.place.last.clone();
                match self.pass_stream(messages) {
                    Ok(()) => return,
                    Err(words) => why = words,
                }
                idle = if self.place.last == last { idle + 1 } else { 0 };
            }
            // An answer that begins again and again, and brings nothing, is none.
            if !self.door.door().resumes() || idle > limits::IDLE_RETURNS {
                let words = describe_gone(&self.door, &why);
                return refuse_request(self.screen, &self.line, RPC.internal, &words);
            }
            next = self.take_up(&why);
            if next.is_none() {
                return;
            }
        }
    }

    /// Passes messages on. An error says why the answer is not among them.
    fn pass_stream(&mut self, messages: AnswerStream) -> Result<(), String> {
        let mut is_answered = false;
        for event in messages {
            let event = match event {
                Ok(event) => event,
                Err(_) if is_answered => return Ok(()),
                Err(words) => return Err(words),
            };
            if event.id.is_some() {
                self.place.last = event.id;
            }
            if let Some(message) = event.message {
                is_answered |= is_answer(&message);
                self.screen.show_document(format!("{message}\n").as_bytes());
            }
        }
        // Only a door that is asked again ends a stream without the answer; a call that was cancelled has none.
        if is_answered || !self.door.door().resumes() {
            Ok(())
        } else {
            Err("its stream has ended".to_owned())
        }
    }

    /// Posts the message again, once an organism runs. Returns the rest of its answer, if that comes as a stream.
    fn take_up(&mut self, why: &str) -> Option<AnswerStream> {
        self.place.first = Some(self.begun);
        let until = Instant::now() + limits::RETURN_TIME;
        while Instant::now() < until {
            std::thread::sleep(limits::DOOR_LOOK);
            let Some(found) = (self.find)() else { continue };
            self.door.go_on_at(found);
            match self.door.post_message(&self.line, &self.place) {
                Ok(answer) => return show_answer(self.screen, &self.line, answer),
                Err(fault) if fault.is_silent || fault.is_locked => {
                    let words = if fault.is_silent { describe_silent(&self.door) } else { fault.words };
                    refuse_request(self.screen, &self.line, RPC.internal, &words);
                    return None;
                }
                // It may be about to start.
                Err(_) => {}
            }
        }
        refuse_request(self.screen, &self.line, RPC.internal, &describe_gone(&self.door, why));
        None
    }
}

/// That no organism runs any more, and what to do.
fn describe_gone(door: &PipeClient, words: &str) -> String {
    let then = describe_rest(door);
    format!("the organism has stopped: {words}; start it again with systole run, and {then}")
}

/// That a running organism leaves a request unanswered, and what to do.
fn describe_silent(door: &PipeClient) -> String {
    let then = describe_rest(door);
    format!(
        "the organism runs and does not answer; systole doctor says which process it is, and once that answers, {then}"
    )
}

/// How the rest of an answer is had.
fn describe_rest(door: &PipeClient) -> &'static str {
    if door.door().resumes() { "load the session for the rest" } else { "call again with the same key" }
}

/// Whether a line is the host's answer to a form. Nothing answers it.
fn is_answer(line: &str) -> bool {
    let message: Value = serde_json::from_str(line).unwrap_or_default();
    message.get("method").is_none() && ["result", "error"].iter().any(|key| message.get(key).is_some())
}

/// The words of an error.
fn read_fault(message: &str) -> String {
    let fault: Value = serde_json::from_str(message).unwrap_or_default();
    let words = fault.pointer("/error/message").and_then(Value::as_str);
    words.unwrap_or(message).to_owned()
}

/// Answers a request in the door's place. A notification and an answer have no answer, so only a person hears of them.
fn refuse_request(screen: Screen, line: &str, code: i64, words: &str) {
    let message: Value = serde_json::from_str(line).unwrap_or_default();
    match message.get("id") {
        Some(_) if is_answer(line) => screen.say(format!("an answer was not taken: {words}")),
        Some(id) => write_fault(screen, id, code, words),
        None => screen.say(format!("a notification was not taken: {words}")),
    }
}

fn write_fault(screen: Screen, id: &Value, code: i64, words: &str) {
    let error = json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": words}});
    screen.show_document(format!("{error}\n").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_costs_no_memory_and_no_later_line() {
        let most = usize::try_from(PIPE_LINE_BYTES).unwrap();
        let text = [b"a\n".as_slice(), &vec![b'x'; most + 9], b"\n\xff\nb"].concat();
        let mut input = io::BufReader::new(text.as_slice());
        let mut seen = Vec::new();
        while let Some(line) = next_line(&mut input).unwrap() {
            seen.push(match line {
                HostLine::Message(line) => line,
                HostLine::TooLong => "long".to_owned(),
                HostLine::NotText => "bytes".to_owned(),
            });
        }
        assert_eq!(seen, ["a\n", "long", "bytes", "b"]);
    }
}
