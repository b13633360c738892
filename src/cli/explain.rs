//! `systole explain`: the meaning of a word. Of a code also the message that comes with it, and what to do about it.
//! Everything comes from tables that are kept anyway; it runs nothing and reads no log.

mod known_words;

use clap::{Args, Command};
use serde_json::json;
use systole_kit::schema::{find_nearest, is_slip};

use super::exit::CommandExit;
use super::screen::Screen;
use known_words::KnownWord;
use systole_config::listener_codes::KnownCode;
use systole_core::types::codes::Code;
use systole_show::columns::wrapped;

/// Says what a word means: a code, a key of the file, an element, a command, a word of the glossary.
///
/// Without a word it lists all codes; a family, as `payload`, lists its own.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole explain payload.invalid
  systole explain agents.NAME.dialect
  systole explain thread-spawned
  systole explain config
  systole explain")]
pub(super) struct Explain {
    /// The word, as config.value, dialect or thread; or a family, as config
    word: Vec<String>,
    /// Print data as JSON
    #[arg(long)]
    json: bool,
}

impl Explain {
    pub(super) fn run(self, command: &Command) -> CommandExit {
        let screen = Screen::new(self.json);
        let codes = KnownCode::list_all();
        if self.word.is_empty() {
            return list(screen, codes.iter());
        }
        let typed = self.word.join(" ");
        let typed = typed.trim();
        if let Some(code) = codes.iter().find(|code| code.as_str() == typed) {
            tell(screen, code);
            return CommandExit::Done;
        }
        let words = known_words::find(command, typed);
        for (at, word) in words.iter().enumerate() {
            if at > 0 && !screen.json {
                screen.show_drawn("");
            }
            tell_word(screen, word);
        }
        let family = typed.trim_end_matches(['.', '*']);
        if codes.iter().any(|code| code.family() == family) {
            if !words.is_empty() && !screen.json {
                screen.show_drawn("");
            }
            return list(screen, codes.iter().filter(|code| code.family() == family));
        }
        if words.is_empty() { report_unknown(screen, typed, &codes, command) } else { CommandExit::Done }
    }
}

/// A word that is no code.
fn tell_word(screen: Screen, word: &KnownWord) {
    if screen.json {
        return screen.show_value(&word.as_json());
    }
    wrapped(&format!("{} ({}):", word.name, word.kind), 4, &word.meaning)
        .iter()
        .for_each(|line| screen.show_drawn(line));
    for (label, text) in &word.more {
        wrapped(&format!("  {label}:"), 4, text).iter().for_each(|line| screen.show_drawn(line));
    }
}

/// A code in full.
fn tell(screen: Screen, code: &KnownCode) {
    if screen.json {
        return screen.show_value(&as_json(code));
    }
    let mut lines = wrapped(&format!("{}:", code.as_str()), 4, code.meaning());
    lines.extend(wrapped("  and then:", 4, code.again()));
    lines.extend(wrapped("  try:", 4, code.fix()));
    if let Some(example) = code.as_pump_code().and_then(Code::example) {
        lines.push(String::new());
        lines.extend(example.lines().map(str::to_owned));
    }
    lines.iter().for_each(|line| screen.show_drawn(line));
}

fn list<'c>(screen: Screen, codes: impl Iterator<Item = &'c KnownCode>) -> CommandExit {
    let mut family = "";
    for code in codes {
        if screen.json {
            screen.show_value(&as_json(code));
            continue;
        }
        if code.family() != family && !family.is_empty() {
            screen.show_drawn("");
        }
        family = code.family();
        let lead = format!("{:<29}", code.as_str());
        wrapped(&lead, 29, code.meaning()).iter().for_each(|line| screen.show_drawn(line));
    }
    CommandExit::Done
}

fn as_json(code: &KnownCode) -> serde_json::Value {
    let pump = code.as_pump_code();
    json!({"code": code.as_str(), "meaning": code.meaning(), "again": pump.map(Code::retry_allowed),
           "warning": pump.is_some_and(Code::is_warning), "fix": code.fix(), "example": pump.and_then(Code::example)})
}

fn report_unknown(screen: Screen, typed: &str, all: &[KnownCode], command: &Command) -> CommandExit {
    let words = match typed {
        "" => "the word is empty".to_owned(),
        _ => format!("`{typed}` is no code, key, element, command or word of the glossary"),
    };
    let codes = || all.iter().map(KnownCode::as_str);
    // If the family is missing, the code that ends in this name is meant.
    fn name(code: &str) -> &str {
        code.split_once('.').map_or(code, |(_, name)| name)
    }
    // A long name may contain the letters of a short word by chance.
    let bare = find_nearest(typed, codes().map(name))
        .filter(|near| near.starts_with(typed) || near.len() < typed.len().saturating_mul(2));
    let bare = codes().find(|code| Some(name(code)) == bare);
    // A short word is near to many families; only one with the same first letter is meant.
    let family = find_nearest(
        typed,
        all.iter().map(KnownCode::family).filter(|family| family.get(..1) == typed.get(..1)),
    );
    let near = match typed.contains('.') {
        true => find_nearest(typed, codes()),
        false => family.or(bare),
    };
    let near = near.map(str::to_owned);
    let slip = near
        .clone()
        .filter(|near| is_slip(typed, near))
        .or_else(|| known_words::near(command, typed, is_slip));
    let near = slip.or(near).or_else(|| known_words::near(command, typed, |_, _| true));
    let fix = match near {
        Some(near) => format!("systole explain {near}"),
        None => "systole explain, which lists all codes".to_owned(),
    };
    screen.refuse(words, fix)
}
