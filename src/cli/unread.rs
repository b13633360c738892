//! Reports errors in a command line, with the command that was probably meant. The input is repeated and may contain
//! anything.

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use systole_kit::schema::find_nearest;
use systole_kit::writer::make_visible;

use super::exit::CommandExit;
use super::help;
use super::screen::Screen;

/// Words from other tools, and their commands here.
const KNOWN_ELSEWHERE: &[(&str, &str)] = &[
    ("version", "--version"),
    ("status", "ps"),
    ("list", "ps"),
    ("ls", "ps"),
    ("threads", "ps"),
    ("start", "run"),
    ("up", "run"),
    ("serve", "run"),
    ("logs", "log"),
    ("history", "log"),
    ("tail", "log -f"),
    ("follow", "log -f"),
    ("show", "tree"),
    ("chat", "ask"),
    ("prompt", "context"),
    ("new", "init"),
    ("create", "init"),
    ("validate", "check"),
    ("lint", "check"),
    ("usage", "cost"),
    ("continue", "resume"),
    ("deny", "reject"),
    ("completion", "completions"),
];

/// Reports the error in the command line, and returns its exit.
pub(super) fn report_error(command: &Command, error: &clap::Error) -> CommandExit {
    let screen = Screen::new(false);
    if error.kind() == ErrorKind::InvalidSubcommand
        && let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand)
        // Below `listener` and `schema`, clap itself suggests the nearest one.
        && error.to_string().contains("Usage: systole [OPTIONS] <COMMAND>")
    {
        let meant = suggest_command(command, typed);
        let fix = format!("systole {}", meant.as_deref().unwrap_or("--help, which lists them"));
        return screen.refuse(format!("there is no command `{typed}`"), fix);
    }
    let words = error.to_string();
    if !error.use_stderr() || *make_visible(&words) == *words {
        error.exit();
    }
    screen.say(words.trim_end());
    CommandExit::Usage
}

/// The probable command, if there is a similar one.
fn suggest_command(command: &Command, typed: &str) -> Option<String> {
    let elsewhere = |word: &str| KNOWN_ELSEWHERE.iter().find(|(known, _)| *known == word).map(|(_, it)| *it);
    let ours = || help::list_commands(command).map(Command::get_name);
    let all = ours().chain(KNOWN_ELSEWHERE.iter().map(|(known, _)| *known));
    let near = elsewhere(typed).map(|_| typed).or_else(|| find_nearest(typed, all))?;
    elsewhere(near).or_else(|| ours().find(|name| *name == near)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Arguments;

    #[test]
    fn a_word_leads_to_the_command_that_was_meant() {
        for (typed, wanted) in [
            ("version", Some("--version")),
            ("stauts", Some("ps")),
            ("statsu", Some("ps")),
            ("list", Some("ps")),
            ("start", Some("run")),
            ("logs", Some("log")),
            ("history", Some("log")),
            ("aprove", Some("approve")),
            ("chekc", Some("check")),
            ("xyzzyplugh", None),
        ] {
            assert_eq!(suggest_command(&Arguments::command(), typed).as_deref(), wanted, "{typed}");
        }
    }
}
