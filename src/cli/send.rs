//! `systole send`: sends a payload and prints its answer, through the organism that runs on the log, or
//! through one in this process if none runs. The key makes a repeated send harmless, so a sender
//! without a receipt may just send again.

use std::io::{IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use clap::Args;
use serde::Serialize;

use super::exit::CommandExit;
use super::live::Live;
use super::payload_from_fields;
use super::place::Place;
use super::refusal_text;
use super::remote_organism::OrganismElsewhere;
use super::screen::Screen;
use super::system_faults;
use super::thread_name;
use outage::AwaitedParty;
use systole_api::ending::find_ending;
use systole_api::record_words::is_step;
use systole_api::types::{ApiReceipt, ApiRecord, ApiRefusal, ProgressReport};
use systole_client::client::{DoorClient, DoorClientFault, OutgoingMessage};
use systole_core::rules::outcome::CallJudgement;
use systole_core::types::codes::Code;
use systole_core::types::ids::{Key, MalformedId, Name};
use systole_core::types::limits;
use systole_core::types::subject::Subject;
use systole_organism::runfile::{RunFile, draw_hex};
use systole_organism::waiting_view::{OpenWork, may_halt};
use systole_system::system;
use tail::LiveTail;
use way::ParcelWay;

pub(super) mod answer_in_words;
mod outage;
mod tail;
pub(super) mod through;
pub(super) mod way;

/// Sends a payload and waits for its answer.
///
/// The payload is made of ELEMENT and its fields, or read from a file or stdin.
/// Goes through the organism that runs on the log. Where none runs, one is started in this process
/// until the answer is there. The answer goes to stdout, everything else to stderr.
#[derive(Args, Debug)]
#[command(after_help = r#"Examples:
  systole send ask "Who is there?"
  systole send report photo=@plan.png "note=Look at the door"
  systole send --file order.xml --key order-17"#)]
pub(super) struct SendPayload {
    #[command(flatten)]
    place: Place,
    /// The element to send, made of the fields behind it
    #[arg(value_name = "ELEMENT")]
    element: Option<String>,
    /// A field of it: limit=5, @mode=fast, photo=@plan.png; a text alone
    #[arg(value_name = "NAME=VALUE")]
    fields: Vec<String>,
    /// The payload, or an envelope around it; `-` is stdin, and so is nothing
    #[arg(long, value_name = "FILE", conflicts_with = "element")]
    file: Option<PathBuf>,
    /// The listener it is for
    #[arg(long, value_name = "NAME", value_parser = Name::parse)]
    to: Option<Name>,
    /// Its thread: an id, its beginning, @last or a name, as @ticket-17
    #[arg(long, value_name = "THREAD")]
    thread: Option<String>,
    /// The idempotency key; the same key and payload are taken once
    #[arg(long, value_name = "KEY", value_parser = Key::parse)]
    key: Option<Key>,
    /// What the thread is about, for lists; without it, its first text
    #[arg(long, value_name = "TEXT", value_parser = Subject::parse)]
    subject: Option<Subject>,
    /// Only wait until the payload is on disk
    #[arg(long)]
    no_wait: bool,
    /// The longest to wait for the answer, such as 30s or 5m
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    timeout: Option<Duration>,
}

/// The message to send, and how long to wait for its answer.
#[derive(Clone)]
pub(super) struct OutgoingParcel {
    document: Vec<u8>,
    /// The files that the document refers to.
    pub(super) files: Vec<Vec<u8>>,
    key: Key,
    pub(super) to: Option<Name>,
    pub(super) thread: Option<String>,
    pub(super) subject: Option<Subject>,
    pub(super) wait: bool,
    timeout: Option<Duration>,
    /// Whether to print only the text of the answer, without progress.
    pub(super) spoken: bool,
    /// The thread that it opened or joined, once it is accepted.
    opened: OnceLock<String>,
}

impl SendPayload {
    pub(super) fn run(self) -> Result<CommandExit, CommandExit> {
        let screen = self.place.screen();
        let elsewhere = OrganismElsewhere::find_within(&self.place, self.timeout)?;
        let log = if elsewhere.is_some() { None } else { Some(self.place.log(screen)?) };
        let (document, files) = match &self.element {
            None => (read_document(screen, self.file.as_deref())?, Vec::new()),
            Some(element) => {
                let composition = match &elsewhere {
                    None => self.place.organism(screen)?.composition,
                    Some(organism) => {
                        let read = organism.read_composition()?;
                        read.map_err(|refusal| report_no_schema(organism, *refusal))?
                    }
                };
                let (fields, to) = (&self.fields, self.to.as_ref());
                payload_from_fields::build_message(screen, &composition, element, fields, to)?
            }
        };
        let key = match self.key {
            Some(key) => key,
            None => draw_key().map_err(|words| screen.fail(CommandExit::Unavailable, words))?,
        };
        let thread = match self.thread.as_deref() {
            None | Some("new") => None,
            Some(text) => match (&elsewhere, &log) {
                (Some(organism), _) => Some(organism.find_place(text)?),
                (None, log) => {
                    log.as_deref().map(|log| thread_name::find_place(screen, log, text)).transpose()?
                }
            },
        };
        let parcel = OutgoingParcel {
            to: self.to,
            thread,
            subject: self.subject,
            wait: !self.no_wait,
            timeout: self.timeout,
            files,
            ..OutgoingParcel::from_document(document, key)
        };
        if let Some(organism) = &elsewhere {
            return Ok(through::send_afar(screen, organism, &parcel));
        }
        if let Some((log, run)) = log.as_deref().and_then(|log| Some((log, RunFile::find_running(log)?))) {
            self.place.set_nothing(screen, &run)?;
            // The organism in the run file may be stopping or gone. If it still has the log, starting
            // reports that.
            let client = Arc::new(DoorClient::from_run_file(&run).with_limit(self.timeout));
            if let Some(exit) = through::send_elsewhere(screen, client, Some(log), &parcel) {
                return Ok(exit);
            }
        }
        through::send_here(screen, &self.place, &parcel)
    }
}

/// Reports that a payload cannot be made from fields: its schema is not shown to this client.
fn report_no_schema(organism: &OrganismElsewhere, mut refusal: ApiRefusal) -> CommandExit {
    refusal.message = "the schema of the element is for clients with the role `read`".to_owned();
    refusal.fix = Some("systole send --file FILE, with the payload".to_owned());
    organism.report_refusal(&refusal)
}

impl OutgoingParcel {
    /// A payload for any listener that takes it, with a wait for its answer.
    pub(super) fn from_document(document: Vec<u8>, key: Key) -> OutgoingParcel {
        OutgoingParcel {
            document,
            files: Vec::new(),
            key,
            to: None,
            thread: None,
            subject: None,
            wait: true,
            timeout: None,
            spoken: false,
            opened: OnceLock::new(),
        }
    }

    /// The thread that it opened or joined.
    pub(super) fn opened_thread(&self) -> Option<String> {
        self.opened.get().cloned()
    }

    pub(super) fn post_to(
        &self,
        client: &DoorClient,
    ) -> Result<Result<ApiReceipt, Box<ApiRefusal>>, DoorClientFault> {
        for file in &self.files {
            if let Err(refusal) = client.send_file(file)? {
                return Ok(Err(refusal));
            }
        }
        client.send_message(&OutgoingMessage {
            key: self.key.as_str(),
            to: self.to.as_ref().map(Name::as_str),
            thread: self.thread.as_deref(),
            subject: self.subject.as_ref(),
            document: &self.document,
        })
    }
}

/// Reads the payload from a file or from stdin. One byte more than any organism accepts is enough for
/// the refusal as too large.
pub(super) fn read_document(screen: Screen, file: Option<&Path>) -> Result<Vec<u8>, CommandExit> {
    let file = file.filter(|file| file.as_os_str() != "-");
    let stdin = std::io::stdin();
    if file.is_none() && stdin.is_terminal() {
        return Err(screen.fail(
            CommandExit::Usage,
            "no payload: name an element and its fields, give --file FILE, or a payload on stdin",
        ));
    }
    let limit = limits::MESSAGE_BYTES as u64 + 1;
    let mut document = Vec::new();
    let read = match file {
        Some(file) => std::fs::File::open(file).and_then(|f| f.take(limit).read_to_end(&mut document)),
        None => stdin.lock().take(limit).read_to_end(&mut document),
    };
    let from = file.unwrap_or(Path::new("stdin"));
    read.map_err(|error| {
        system_faults::report_unread(screen, CommandExit::Usage, from, "the payload", &error)
    })?;
    Ok(document)
}

pub(super) fn draw_key() -> Result<Key, String> {
    let hex = draw_hex()
        .map_err(|error| format!("the random bytes of a key: {}", system::describe_error(&error)))?;
    Key::parse(&hex).map_err(|malformed: MalformedId| malformed.to_string())
}

pub(super) fn parse_duration(text: &str) -> Result<Duration, String> {
    let units = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];
    let read = units.iter().find_map(|(unit, ms)| {
        let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
        number.checked_mul(*ms).filter(|ms| *ms > 0)
    });
    read.map(Duration::from_millis).ok_or_else(|| "a whole number and ms, s, m or h".to_owned())
}

/// The output of `--json`: one value for every outcome.
#[derive(Serialize)]
struct Came<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    receipt: Option<&'a ApiReceipt>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    record: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<&'a ApiRefusal>,
}

/// Follows a call on behalf of its sender.
struct AnswerWaiter<'a> {
    screen: Screen,
    receipt: &'a ApiReceipt,
    spoken: bool,
    live: Live,
    /// The current progress line.
    tail: LiveTail,
    way: &'a ParcelWay<'a>,
    /// The last record that asked a person; only after one is the log read again.
    asked: Option<ApiRecord>,
    /// Who is away.
    away: AwaitedParty,
}

impl<'a> AnswerWaiter<'a> {
    fn new(
        screen: Screen,
        receipt: &'a ApiReceipt,
        spoken: bool,
        way: &'a ParcelWay<'a>,
    ) -> AnswerWaiter<'a> {
        let live = Live::new(screen.for_talk());
        let tail = LiveTail::new(screen);
        let away = AwaitedParty::default();
        AnswerWaiter { screen, receipt, spoken, live, tail, way, asked: None, away }
    }

    /// Takes the next record. If it is the awaited one, prints it and returns the exit.
    fn take_record(&mut self, record: &ApiRecord) -> Option<CommandExit> {
        self.tail.note_record();
        self.away.take_record(record);
        if self.spoken {
            self.tail.take_picture(|| self.way.read_picture(&self.receipt.thread));
        }
        // A message that was sent before may have failed, and was tried again.
        let is_last = |_: &CallJudgement| !(self.receipt.repeated && self.way.is_tried_again(record));
        let Some(ending) = find_ending(self.receipt, record).filter(is_last) else {
            // A reader of a pipe gets a line for each step; a person who watches sees every record.
            let is_shown = self.screen.for_talk().terminal || is_step(record);
            let is_inside = self.tail.is_inside(self.receipt, record) && !self.tail.has_picture();
            let is_wanted = !self.spoken || is_inside;
            if !self.screen.json && is_shown && is_wanted {
                self.tail.clear_shown();
                self.live.mention(record);
            }
            if self.spoken && !self.screen.json {
                answer_in_words::find_loop_limit(record).iter().for_each(|words| self.print_message(words));
            }
            if may_halt(&record.kind) {
                self.asked = Some(record.clone());
            }
            return self.asked.is_some().then(|| self.exit_if_held()).flatten();
        };
        self.clear_lines();
        let (outcome, exit) = match ending {
            CallJudgement::Answered => ("answered", CommandExit::Done),
            CallJudgement::Handled => ("handled", CommandExit::Done),
            CallJudgement::Partial => ("partial", CommandExit::Failed),
            CallJudgement::Reported | CallJudgement::Failed | CallJudgement::Cancelled => {
                ("failed", CommandExit::Failed)
            }
        };
        if self.screen.json {
            let (receipt, record) = (Some(self.receipt), Some(self.way.add_form(record)));
            self.screen.show_value(&Came { receipt, outcome: Some(outcome), record, refusal: None });
        } else if self.spoken {
            answer_in_words::show_end(self.screen, ending, record);
        } else {
            if matches!(ending, CallJudgement::Failed | CallJudgement::Cancelled) {
                answer_in_words::show_failure(self.screen, record);
            }
            self.screen.show(&record.body);
            if ending == CallJudgement::Partial {
                answer_in_words::say_partial(self.screen, record);
            }
        }
        Some(exit)
    }
}

impl AnswerWaiter<'_> {
    /// Takes a listener's progress report, or its model's partial text.
    fn take_report(&mut self, spoken: &ProgressReport) {
        self.tail.take_report(spoken);
    }

    /// Runs once per second. Returns the exit if the answer waits for someone who is away, and only this command runs the
    /// organism.
    fn tick(&mut self, at_work: impl FnOnce() -> Vec<OpenWork>) -> Option<CommandExit> {
        let is_over = matches!(self.way, ParcelWay::Here(_));
        if let Some((words, record)) = self.away.take_news(is_over) {
            self.clear_lines();
            if self.screen.json && is_over {
                let (receipt, record) = (Some(self.receipt), Some(self.way.add_form(&record)));
                self.screen.show_value(&Came { receipt, outcome: Some("outage"), record, refusal: None });
            } else {
                self.screen.say(format!("waits: {words}"));
                let goes_on = if is_over { "; systole run goes on with it" } else { "" };
                self.screen.say(format!("  try: systole why {}{goes_on}", self.receipt.thread));
            }
            return is_over.then_some(CommandExit::Unavailable);
        }
        if self.spoken {
            self.tail.take_picture(|| self.way.read_picture(&self.receipt.thread));
        }
        self.tail.tick_second(at_work);
        None
    }

    /// Clears the lines that are rewritten in place, before the result is printed.
    fn clear_lines(&mut self) {
        self.tail.leave_picture(|| self.way.read_picture(&self.receipt.thread));
        self.tail.clear_shown();
    }

    /// Prints a message in between.
    fn print_message(&mut self, words: &str) {
        self.tail.clear_shown();
        self.screen.say(words);
    }

    /// The exit, if only a person can continue.
    fn exit_if_held(&mut self) -> Option<CommandExit> {
        let up_to = self.way.waits_for_a_person(&self.receipt.thread)?;
        self.clear_lines();
        if self.screen.json {
            let record = self.asked.as_ref().map(|record| self.way.add_form(record));
            let receipt = Some(self.receipt);
            self.screen.show_value(&Came { receipt, outcome: Some("waits"), record, refusal: None });
        } else {
            let why = format!("; systole why {}", self.receipt.thread);
            self.screen.say(format!("{} waits for a person{why}", self.receipt.thread));
            for command in up_to.answers {
                self.screen.say(format!("  systole approve shows the question; {command} answers it"));
            }
        }
        Some(CommandExit::Waits)
    }
}

/// Reports that the payload is on disk.
fn report_receipt(screen: Screen, receipt: &ApiReceipt, parcel: &OutgoingParcel) {
    // It is set only once.
    let _known_already = parcel.opened.set(receipt.thread.clone());
    if screen.json && !parcel.wait {
        return screen.show_value(&Came {
            receipt: Some(receipt),
            outcome: None,
            record: None,
            refusal: None,
        });
    }
    if screen.json || parcel.spoken {
        return;
    }
    let again = if receipt.repeated { "taken before" } else { "taken" };
    let place = format!(" as record {} of thread {}", receipt.seq, receipt.thread);
    screen.say(format!("{again}{place}, key {}", receipt.key));
    if let Some(claimed) = &receipt.claimed {
        screen.say(format!("its sender is {}, not {claimed} as the envelope claims", receipt.sender));
    }
}

/// Reports that it was refused.
fn report_refusal(screen: Screen, refusal: &ApiRefusal) -> CommandExit {
    if screen.json {
        screen.show_value(&Came { receipt: None, outcome: None, record: None, refusal: Some(refusal) });
    } else {
        refusal_text::say(screen, refusal);
    }
    match Code::parse(&refusal.code) {
        Some(Code::IngressUnavailable | Code::IngressThrottled | Code::IngressUnauthorized) => {
            CommandExit::Unavailable
        }
        _ => CommandExit::Payload,
    }
}

/// Reports that the answer did not come in time.
fn report_too_late(screen: Screen, receipt: &ApiReceipt) -> CommandExit {
    let words = format!("no answer came in time; thread {} goes on", receipt.thread);
    screen.fail(CommandExit::Unavailable, words)
}
