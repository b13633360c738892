//! `systole ask`: a question in words to the organism's entry, and its answer in words. On a terminal without a
//! question it is a conversation, in one thread. The question becomes an `<ask>` of the talk vocabulary, sent in the
//! same way as `send`.

use std::cell::Cell;
use std::io::{IsTerminal as _, Read as _};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use systole_kit::characters::first_illegal;
use systole_kit::{Payload, QName, file_reference, namespaces};

use super::exit::CommandExit;
use super::local_organism;
use super::place::Place;
use super::remote_organism::OrganismElsewhere;
use super::screen::Screen;
use super::send::way::{OtherProcess, ParcelWay};
use super::send::{OutgoingParcel, draw_key, through};
use super::signals::Signals;
use super::system_faults;
use super::thread_name;
use super::typed_lines::read_lines;
use crate::limits;
use systole_client::client::DoorClient;
use systole_client::client::local_file::LocalFile;
use systole_config::OrganismFile;
use systole_core::types::composition::{Composition, Listener};
use systole_core::types::ids::{Digest, Name};
use systole_core::types::subject::Subject;
use systole_organism::question_payload::{QuestionFile, build_question_with_files};
use systole_organism::runfile::RunFile;

/// Asks the organism a question, and prints its answer.
///
/// Goes to the organism's entry, through the organism that runs on the log; if none runs, one is started
/// in this process. On a terminal without a question it is a conversation: a line a question, Ctrl-D ends it.
#[derive(Args, Debug)]
#[command(after_help = r#"Examples:
  systole ask What makes a heart beat?
  systole ask --thread @last "And why?"
  systole ask --file plan.png "What is wrong here?"
  systole ask"#)]
pub(super) struct AskCommand {
    #[command(flatten)]
    place: Place,
    /// The question, quoted or not; without it, stdin is read
    #[arg(value_name = "QUESTION")]
    question: Vec<String>,
    /// Its thread: an id, its beginning, @last or a name, as @ticket-17
    #[arg(long, value_name = "THREAD")]
    thread: Option<String>,
    /// A picture or a PDF for a model that takes it; up to 16 times
    #[arg(long = "file", value_name = "PATH")]
    files: Vec<PathBuf>,
    /// The listener it is for, if that is not the entry
    #[arg(long, value_name = "NAME", value_parser = Name::parse)]
    to: Option<Name>,
    /// What the thread is about, for lists; without it, the question
    #[arg(long, value_name = "TEXT", value_parser = Subject::parse)]
    subject: Option<Subject>,
}

impl AskCommand {
    pub(super) fn run(&self) -> Result<CommandExit, CommandExit> {
        let (screen, subject) = (self.place.screen(), Cell::new(self.subject.clone()));
        let typed = self.thread.as_deref().filter(|typed| *typed != "new");
        if let Some(organism) = OrganismElsewhere::find_named(&self.place)? {
            // Without the composition, the organism itself says who takes the question.
            let to = match organism.read_composition()? {
                Ok(composition) => {
                    Some(find_addressee(screen, &composition, self.to.as_ref(), self.element())?)
                }
                Err(_) => self.to.clone(),
            };
            let thread = typed.map(|typed| organism.find_place(typed)).transpose()?;
            let organism = AskedOrganism::Elsewhere(organism);
            return self.ask_in(&QuestionSender { screen, to, organism, subject }, None, thread);
        }
        let file = self.place.organism(screen)?;
        let to = Some(find_addressee(screen, &file.composition, self.to.as_ref(), self.element())?);
        let thread = typed.map(|typed| thread_name::find_place(screen, &file.log, typed)).transpose()?;
        if let Some(run) = RunFile::find_running(&file.log) {
            self.place.set_nothing(screen, &run)?;
        }
        let organism = AskedOrganism::OnLog(file.log.clone());
        self.ask_in(&QuestionSender { screen, to, organism, subject }, Some(file), thread)
    }

    /// What is sent.
    fn element(&self) -> &'static str {
        if self.files.is_empty() { "ask" } else { "ask-with" }
    }

    fn ask_in(
        &self,
        asker: &QuestionSender,
        file: Option<OrganismFile>,
        thread: Option<String>,
    ) -> Result<CommandExit, CommandExit> {
        let screen = asker.screen;
        let question = match self.question.as_slice() {
            [] if std::io::stdin().is_terminal() => None,
            [] => Some(read_piped(screen)?),
            words => Some(words.join(" ")),
        };
        if question.as_ref().is_some_and(|question| question.trim().is_empty()) {
            return Err(screen.fail(CommandExit::Usage, "no question: write it after `ask`, or on stdin"));
        }
        let files = read_files(screen, &self.files)?;
        match question {
            Some(question) => asker.ask_once(&self.place, (&question, files), thread),
            None if !self.files.is_empty() => Err(screen
                .refuse("a conversation has no files", "one question: systole ask --file PATH QUESTION")),
            None => asker.converse(&self.place, file, thread),
        }
    }
}

/// The text from stdin, without its final line break.
fn read_piped(screen: Screen) -> Result<String, CommandExit> {
    let mut bytes = Vec::new();
    let most = limits::MESSAGE_BYTES;
    let read = std::io::stdin().lock().take(most as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| {
        system_faults::report_unread(
            screen,
            CommandExit::Usage,
            std::path::Path::new("stdin"),
            "the question",
            &error,
        )
    })?;
    let fail = |why: String, fix: &str| screen.refuse(format!("stdin, the question: {why}"), fix);
    // Before decoding the text: the limit may cut through a character.
    if bytes.len() > most {
        let why = format!("it is longer than {most} bytes");
        return Err(fail(why, "a shorter one, or a file that a listener reads"));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to().saturating_add(1);
        fail(format!("byte {at} is not UTF-8"), "the question as UTF-8")
    })?;
    Ok(text.trim_end_matches(['\n', '\r']).to_owned())
}

/// The fix where no listener takes files.
const FILES: &str = "files: [image, pdf] at the model of an agent, under `models` in the organism's file";

/// The receiver of the question: the named one, the entry, or the only open listener that takes it.
fn find_addressee(
    screen: Screen,
    composition: &Composition,
    named: Option<&Name>,
    element: &'static str,
) -> Result<Name, CommandExit> {
    let ask = QName::new(namespaces::TALK, element);
    let has_files = element == "ask-with";
    let (one, many) = if has_files {
        ("a question with files", "questions with files")
    } else {
        ("a question", "questions")
    };
    let takes = |listener: &Listener| listener.find_accepted(&ask).is_some();
    let open = composition.listeners.values().filter(|listener| listener.entry);
    let fail = |words: &str, fix: &str| {
        // No question was sent yet: the command itself names the wrong listener.
        screen.refuse(words, fix)
    };
    if let Some(name) = named.or(composition.entry.as_ref()) {
        let Some(listener) = composition.find_listener(name) else {
            let names: Vec<&str> = open.map(|listener| listener.name.as_str()).collect();
            let words = format!("nothing in the organism's file is called {}", name.as_str());
            return Err(fail(&words, &names.join(", ")));
        };
        if takes(listener) && listener.entry {
            return Ok(name.clone());
        }
        if takes(listener) {
            let words = format!("{} is not open to messages from outside", name.as_str());
            let fix = format!("entry: true at listeners.{} in the organism's file", name.as_str());
            return Err(fail(&words, &fix));
        }
        let shown = listener.accepts.iter().filter(|one| listener.shows_outside(one));
        let elements: Vec<String> = shown.map(|one| format!("<{}>", one.name.local)).collect();
        let words = format!("{} does not take {many}: it takes {}", name.as_str(), elements.join(", "));
        let others: Vec<&str> =
            composition.listeners.values().filter(|l| l.entry && takes(l)).map(|l| l.name.as_str()).collect();
        let fix = match others.first() {
            Some(other) => format!("systole ask --to {other}"),
            None if has_files => FILES.to_owned(),
            None => {
                format!("systole send --to {} --file FILE, with {}", name.as_str(), elements.join(" or "))
            }
        };
        return Err(fail(&words, &fix));
    }
    let mut takers: Vec<&Name> = open.filter(|listener| takes(listener)).map(|l| &l.name).collect();
    match (takers.pop(), takers.is_empty()) {
        (Some(one), true) => Ok(one.clone()),
        (Some(last), false) => {
            let mut names: Vec<&str> = takers.into_iter().map(Name::as_str).collect();
            names.push(last.as_str());
            let words = format!("more than one listener takes {one}: {}", names.join(", "));
            Err(fail(&words, "--to NAME, or organism.entry in the organism's file"))
        }
        (None, _) => {
            let words = format!("no listener with `entry: true` takes {many}");
            let fix = if has_files {
                FILES
            } else {
                "a listener with `accepts: [ask]` and `entry: true`, or systole send"
            };
            Err(fail(&words, fix))
        }
    }
}

/// Reads the files of a question.
fn read_files(screen: Screen, paths: &[PathBuf]) -> Result<Vec<LocalFile>, CommandExit> {
    let read = |path: &PathBuf| {
        LocalFile::read(path).map_err(|error| {
            system_faults::report_unread(screen, CommandExit::Usage, path, "the file", &error)
        })
    };
    paths.iter().map(read).collect()
}

/// The reference to a file. Of bytes without a known type the organism says so.
fn refer_to(file: &LocalFile) -> QuestionFile<'_> {
    QuestionFile {
        hash: Digest::hash_bytes(&file.bytes),
        media_type: file_reference::find_type(&file.bytes).unwrap_or("unknown"),
        bytes: file.bytes.len(),
        name: Some(&file.name),
    }
}

/// Asks one question after another.
struct QuestionSender {
    screen: Screen,
    /// The listener, if it is known here.
    to: Option<Name>,
    organism: AskedOrganism,
    /// The subject of the first question.
    subject: Cell<Option<Subject>>,
}

/// The organism that is asked.
enum AskedOrganism {
    /// The one that runs on this log, or one that is started for it.
    OnLog(PathBuf),
    /// One on another machine.
    Elsewhere(OrganismElsewhere),
}

impl QuestionSender {
    fn build_parcel(
        &self,
        (question, files): (&str, Vec<LocalFile>),
        thread: Option<String>,
    ) -> Result<OutgoingParcel, CommandExit> {
        let payload = match files.as_slice() {
            [] => Payload::write(namespaces::TALK, "ask", |inside| inside.text(question)),
            files => build_question_with_files(question, &files.iter().map(refer_to).collect::<Vec<_>>()),
        };
        let key = draw_key().map_err(|words| self.screen.fail(CommandExit::Unavailable, words))?;
        let mut parcel = OutgoingParcel::from_document(payload.bytes().to_vec(), key);
        (parcel.to, parcel.thread, parcel.spoken) = (self.to.clone(), thread, true);
        parcel.subject = self.subject.take();
        parcel.files = files.into_iter().map(|file| file.bytes).collect();
        Ok(parcel)
    }

    /// Refuses text that XML cannot carry, instead of asking something else.
    fn check_text(&self, question: &str) -> Result<(), CommandExit> {
        let Some((at, character)) = first_illegal(question) else { return Ok(()) };
        let place = question.get(..at).map_or(0, |before| before.chars().count()).saturating_add(1);
        let name = format!("U+{:04X}", u32::from(character));
        let words = format!("the question holds {name} as character {place}, which XML cannot carry");
        Err(self.screen.fail_with(CommandExit::Payload, words, "the question without it"))
    }

    /// The organism that runs, if any.
    fn find_running(&self) -> Option<OtherProcess> {
        match &self.organism {
            AskedOrganism::OnLog(log) => RunFile::find_running(log).map(|run| OtherProcess {
                client: Arc::new(DoorClient::from_run_file(&run)),
                log: Some(log.clone()),
            }),
            AskedOrganism::Elsewhere(organism) => {
                Some(OtherProcess { client: organism.client.clone(), log: None })
            }
        }
    }

    fn ask_once(
        &self,
        place: &Place,
        (question, files): (&str, Vec<LocalFile>),
        thread: Option<String>,
    ) -> Result<CommandExit, CommandExit> {
        self.check_text(question)?;
        let parcel = self.build_parcel((question, files), thread)?;
        if let AskedOrganism::Elsewhere(organism) = &self.organism {
            return Ok(through::send_afar(self.screen, organism, &parcel));
        }
        let through = |OtherProcess { client, log }: OtherProcess| {
            through::send_elsewhere(self.screen, client, log.as_deref(), &parcel)
        };
        let elsewhere = self.find_running().and_then(through);
        elsewhere.map_or_else(|| through::send_here(self.screen, place, &parcel), Ok)
    }

    /// One question per line, all in one thread, until the input ends. A failed question does not end it.
    fn converse(
        &self,
        place: &Place,
        file: Option<OrganismFile>,
        thread: Option<String>,
    ) -> Result<CommandExit, CommandExit> {
        local_organism::with_runtime(self.screen, async {
            let mut signals = Signals::listen(self.screen)?;
            match (self.find_running(), file) {
                (None, Some(file)) => Box::pin(self.converse_here(place, file, thread, &mut signals)).await,
                (None, None) => Err(CommandExit::Unavailable),
                (Some(elsewhere), _) => {
                    self.hold_talk(&ParcelWay::Elsewhere(&elsewhere), thread, &mut signals).await
                }
            }
        })
    }

    async fn converse_here(
        &self,
        place: &Place,
        file: OrganismFile,
        thread: Option<String>,
        signals: &mut Signals,
    ) -> Result<CommandExit, CommandExit> {
        let organism = Box::pin(local_organism::start_organism(self.screen, place, file)).await?;
        let exit =
            self.hold_talk(&ParcelWay::Here(&organism), thread, signals).await.unwrap_or_else(|exit| exit);
        tokio::select! {
            ended = organism.stop(limits::GRACE) => Ok(local_organism::report_end(self.screen, &ended).unwrap_or(exit)),
            _ = signals.next() => Err(CommandExit::Stopped),
        }
    }

    async fn hold_talk(
        &self,
        way: &ParcelWay<'_>,
        mut thread: Option<String>,
        signals: &mut Signals,
    ) -> Result<CommandExit, CommandExit> {
        let mut lines = read_lines();
        self.greet();
        loop {
            self.screen.show_prompt();
            let line = tokio::select! {
                line = lines.recv() => line,
                exit = signals.next() => {
                    // So that the shell's next line does not begin after our prompt.
                    self.screen.say("");
                    return Ok(exit);
                }
            };
            let Some(line) = line else { return Ok(self.leave(thread.as_deref())) };
            if line.trim().is_empty() || self.check_text(line.trim()).is_err() {
                continue;
            }
            let parcel = self.build_parcel((line.trim(), Vec::new()), thread.clone())?;
            let exit = Box::pin(through::send_and_wait(self.screen, way, &parcel, signals)).await;
            let exit = exit
                .unwrap_or_else(|| self.screen.fail(CommandExit::Unavailable, "the organism has stopped"));
            thread = parcel.opened_thread().or(thread);
            // Only a signal or a stopped organism ends it.
            if matches!(exit, CommandExit::Stopped | CommandExit::Unavailable | CommandExit::Log) {
                return Ok(exit);
            }
        }
    }

    fn greet(&self) {
        let to = self.to.as_ref().map_or("the organism", Name::as_str);
        self.screen.say(format!("{to} listens; each line is a question, Ctrl-D ends"));
    }

    fn leave(&self, thread: Option<&str>) -> CommandExit {
        self.screen.say("");
        if let Some(thread) = thread {
            self.screen.say(format!("thread {thread} rests; go on with: systole ask --thread {thread}"));
        }
        CommandExit::Done
    }
}
