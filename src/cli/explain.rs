//! `systole explain`: the meaning of a code, the message that comes with it, and what to do about it.
//! Everything comes from the table of the pump's codes and that of the listeners'; it runs nothing and reads no log.

use clap::Args;
use serde_json::json;
use systole_kit::schema::nearest;

use super::exit::CommandExit;
use super::listener_codes::KnownCode;
use super::screen::Screen;
use crate::audit::columns::wrapped;
use systole_core::types::codes::Code;

/// Says what a code means, with an example and the fix.
///
/// Without a code it lists all of them; a family, as `payload`, lists its own.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole explain payload.invalid
  systole explain config
  systole explain")]
pub(super) struct Explain {
    /// The code, as config.value, or a family, as config
    code: Option<String>,
    /// Print data as JSON
    #[arg(long)]
    json: bool,
}

impl Explain {
    pub(super) fn run(self) -> CommandExit {
        let screen = Screen::of_process(self.json);
        let codes = KnownCode::all();
        let Some(typed) = self.code.as_deref().map(str::trim) else {
            return list(screen, codes.iter());
        };
        if let Some(code) = codes.iter().find(|code| code.as_str() == typed) {
            tell(screen, code);
            return CommandExit::Done;
        }
        let family = typed.trim_end_matches(['.', '*']);
        if codes.iter().any(|code| code.family() == family) {
            return list(screen, codes.iter().filter(|code| code.family() == family));
        }
        unknown(screen, typed, &codes)
    }
}

/// A code in full.
fn tell(screen: Screen, code: &KnownCode) {
    if screen.json {
        return screen.value(&as_json(code));
    }
    let mut lines = wrapped(&format!("{}:", code.as_str()), 4, code.meaning());
    lines.extend(wrapped("  and then:", 4, code.again()));
    lines.extend(wrapped("  try:", 4, code.fix()));
    if let Some(example) = code.pump().and_then(Code::example) {
        lines.push(String::new());
        lines.extend(example.lines().map(str::to_owned));
    }
    lines.iter().for_each(|line| screen.drawn(line));
}

fn list<'c>(screen: Screen, codes: impl Iterator<Item = &'c KnownCode>) -> CommandExit {
    let mut family = "";
    for code in codes {
        if screen.json {
            screen.value(&as_json(code));
            continue;
        }
        if code.family() != family && !family.is_empty() {
            screen.drawn("");
        }
        family = code.family();
        let lead = format!("{:<29}", code.as_str());
        wrapped(&lead, 29, code.meaning()).iter().for_each(|line| screen.drawn(line));
    }
    CommandExit::Done
}

fn as_json(code: &KnownCode) -> serde_json::Value {
    let pump = code.pump();
    json!({"code": code.as_str(), "meaning": code.meaning(), "again": pump.map(Code::retry_allowed),
           "warning": pump.is_some_and(Code::is_warning), "fix": code.fix(), "example": pump.and_then(Code::example)})
}

fn unknown(screen: Screen, typed: &str, all: &[KnownCode]) -> CommandExit {
    let exit = match typed {
        "" => screen.fail(CommandExit::Usage, "the code is empty"),
        _ => screen.fail(CommandExit::Usage, format!("there is no code `{typed}`")),
    };
    let codes = || all.iter().map(KnownCode::as_str);
    // If the family is missing, the code that ends in this name is meant.
    fn name(code: &str) -> &str {
        code.split_once('.').map_or(code, |(_, name)| name)
    }
    // A long name may contain the letters of a short word by chance.
    let bare = nearest(typed, codes().map(name))
        .filter(|near| near.starts_with(typed) || near.len() < typed.len().saturating_mul(2));
    let bare = codes().find(|code| Some(name(code)) == bare);
    // A short word is near to many families; only one with the same first letter is meant.
    let family =
        nearest(typed, all.iter().map(KnownCode::family).filter(|family| family.get(..1) == typed.get(..1)));
    let near = match typed.contains('.') {
        true => nearest(typed, codes()),
        false => family.or(bare),
    };
    let fix = match near {
        Some(near) => format!("  try: systole explain {near}"),
        None => "  try: systole explain, which lists them all".to_owned(),
    };
    screen.say(fix);
    exit
}
