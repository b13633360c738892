//! `systole trail`: why a record exists, or where a text comes from: the chain of causes back to the door.

use clap::Args;
use systole_core::types::ports::PlacedRecord;
use systole_kit::prompt_link::{self, ParsedLink};

use super::exit::CommandExit;
use super::forms::Forms;
use super::looking::{Looking, PastPosition, split_number};
use super::place::Place;
use systole_queries::causes;
use systole_queries::texts::{self, PromptLink, SearchText};
use systole_queries::trail::{self, LastShown};
use systole_show::columns::wrapped;

/// Of which record, or of which text.
#[derive(Args, Debug)]
#[command(after_help = r#"Examples:
  systole trail
  systole trail @last@5
  systole trail --text "moving house""#)]
pub(super) struct Trail {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    past: PastPosition,
    /// THREAD@N, its number as log prints it; without @N the thread's last
    #[arg(value_name = "MESSAGE", default_value = "@last", conflicts_with = "text")]
    message: String,
    /// The first record that holds this text, and who passed it on
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
}

impl Trail {
    pub(super) fn run(&self) -> Result<CommandExit, CommandExit> {
        let wanted = self.text.as_ref().map(|text| (text, SearchText::new(text)));
        let looking = Looking::open_anywhere_at(&self.place, self.past)?;
        let start = match &wanted {
            None => find_named(&looking, &self.message)?,
            Some((text, Some(wanted))) => holding(&looking, text, wanted)?,
            Some((_, None)) => {
                let words = "the text is empty, and would match everything";
                return Err(looking.screen.refuse(words, "--text with some words of it"));
            }
        };
        follow(&looking, start)
    }
}

/// The named record.
fn find_named(looking: &Looking, message: &str) -> Result<PlacedRecord, CommandExit> {
    let (typed, seq) = split_number(message);
    let thread = looking.find(typed)?;
    let fault = |fault| looking.fault(&fault);
    let last = causes::last(&*looking.view, &thread).map_err(fault)?;
    let Some(last) = last else {
        return Err(looking
            .screen
            .fail(CommandExit::Usage, format!("thread {} has no record", thread.as_str())));
    };
    let Some(seq) = seq else { return Ok(last) };
    match causes::at(&*looking.view, &thread, seq).map_err(fault)? {
        Some(placed) if seq > 0 => Ok(placed),
        _ => {
            let (seq, most) = (seq.to_string(), last.1.header.seq.to_string());
            let words = format!("thread {} has no record {seq}; its last is {most}", thread.as_str());
            let fix = format!("systole log {}, which prints their numbers", thread.as_str());
            Err(looking.screen.refuse(words, fix))
        }
    }
}

/// The first record that contains a text, after reporting where else the text occurs.
fn holding(looking: &Looking, text: &str, wanted: &SearchText) -> Result<PlacedRecord, CommandExit> {
    let screen = looking.screen;
    let found = texts::search(&*looking.view, wanted, &read_link).map_err(|fault| looking.fault(&fault))?;
    if found.missing > 0 {
        let missing = found.missing.to_string();
        screen.say(format!(
            "note: {missing} documents that records name are not in the log, and were not searched"
        ));
    }
    let Some(first) = &found.first else {
        let fix = "fewer words of it, as they were written: small and capital letters differ";
        return Err(screen.refuse("no record holds that text", fix));
    };
    if screen.json {
        screen.show_value(&texts::as_json(text, &found));
    } else {
        texts::lines(&found).iter().for_each(|line| screen.show_drawn(line));
        screen.show_drawn("");
    }
    Ok(first.clone())
}

/// A link of a prompt's chain, with its texts as the model read them.
fn read_link(text: &str) -> Option<PromptLink> {
    let (before, parts): (Option<&str>, Vec<&str>) = match prompt_link::read_link(text)? {
        ParsedLink::Base { system, tools } => (None, vec![system, tools]),
        ParsedLink::Segment { before, messages } => (Some(before), vec![messages]),
        ParsedLink::Prompt { before, header, .. } => (Some(before), vec![header]),
    };
    let texts = parts.iter().flat_map(|part| {
        let strings = texts::strings(part);
        if strings.is_empty() { vec![(*part).to_owned()] } else { strings }
    });
    Some(PromptLink { before: before.map(str::to_owned), texts: texts.collect() })
}

fn follow(looking: &Looking, start: PlacedRecord) -> Result<CommandExit, CommandExit> {
    let screen = looking.screen;
    let read = |source: &[u8]| looking.configuration(source);
    let (mut telling, forms) = (LastShown::default(), Forms::default());
    if !screen.json {
        let heading = "newest first; the reason is after each arrow, and the cause below it";
        wrapped("", 2, heading).iter().for_each(|line| screen.show_drawn(line));
    }
    let followed = trail::Trail::through(&*looking.view, &read).follow(start, |link| {
        if screen.json {
            let mut value = trail::as_json(link);
            if let Some(record) = value.get_mut("record") {
                *record = forms.add_to_record(&*looking.reader, &*record);
            }
            screen.show_value(&value);
        } else {
            telling.lines(link).iter().for_each(|line| screen.show_drawn(line));
        }
    });
    followed.map(|()| CommandExit::Done).map_err(|fault| looking.fault(&fault))
}
