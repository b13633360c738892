//! The help page: the commands in groups, made from their own descriptions. The examples of a command are written
//! where its arguments are.

use clap::Command;

use super::remote_organism;

/// The groups of the help page, each with its first command. A group ends where the next one begins.
const GROUPS: [(&str, &str); 5] =
    [("start", "demo"), ("look", "ps"), ("steer", "approve"), ("prove", "test"), ("build", "schema")];

/// The commands that the help page lists.
pub(super) fn list_commands(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|one| !one.is_hide_set())
}

/// The command with its help page.
pub(super) fn add_help(command: Command) -> Command {
    let mut page = String::from("{about}\n\n{usage-heading} {usage}\n");
    for one in list_commands(&command) {
        let name = one.get_name();
        if let Some((group, _)) = GROUPS.iter().find(|(_, first)| *first == name) {
            page.push_str(&format!("\n{group}:\n"));
        }
        let about = one.get_about().map(ToString::to_string).unwrap_or_default();
        page.push_str(&format!("  {name:<13}{about}\n"));
    }
    page.push_str(
        "\nOptions:\n{options}\n\nThe options of a command may also come before it: `systole --json ps`.\n\
         `systole COMMAND --help` says more about each.\n",
    );
    let here = |one: Command| match remote_organism::can_take_address(one.get_name()) {
        true => one,
        false => without_address(one),
    };
    command.mut_subcommands(here).help_template(page)
}

/// A command whose help does not name the options for organisms elsewhere: it refuses them.
fn without_address(mut command: Command) -> Command {
    for option in ["url", "token_env"] {
        if command.get_arguments().any(|arg| arg.get_id() == option) {
            command = command.mut_arg(option, |arg| arg.hide(true));
        }
    }
    command.mut_subcommands(without_address)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Arguments;
    use crate::cli::option_order::move_options;

    /// The words of a line as a shell reads it. Examples use only double quotes.
    fn words(line: &str) -> Vec<std::ffi::OsString> {
        let parts = line.split('"').enumerate();
        let words = parts.flat_map(|(at, part)| match at % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        });
        words.map(Into::into).collect()
    }

    /// Every command without commands below it, with the text below its options.
    fn leaves(command: &Command, above: &str, found: &mut Vec<(String, String)>) {
        for one in list_commands(command).filter(|one| one.get_name() != "help") {
            let name = format!("{above}{}", one.get_name());
            if one.has_subcommands() {
                leaves(one, &format!("{name} "), found);
            } else {
                found.push((name, one.get_after_help().map(ToString::to_string).unwrap_or_default()));
            }
        }
    }

    #[test]
    fn the_help_page_lists_every_command_once_and_no_other() {
        let command = add_help(Arguments::command());
        let page = command.clone().render_help().to_string();
        let (_, groups) = page.split_once("Usage: ").unwrap();
        let (groups, _) = groups.split_once("\nOptions:\n").unwrap();
        let mut lines = groups.lines().skip(1).filter(|line| !line.is_empty());
        assert!(lines.clone().next().is_some_and(|line| line.ends_with(':')), "a command is in no group");
        let headings = lines.clone().filter(|line| !line.starts_with(' '));
        assert!(headings.eq(GROUPS.map(|(group, _)| format!("{group}:"))), "{groups}");
        for one in list_commands(&command) {
            let line = lines.by_ref().find(|line| line.starts_with(' ')).unwrap_or_default();
            assert_eq!(line.split_whitespace().next(), Some(one.get_name()));
        }
        assert_eq!(lines.next(), None);
        command.debug_assert();
    }

    #[test]
    fn every_command_has_examples_that_it_takes() {
        let command = add_help(Arguments::command());
        let mut found = Vec::new();
        leaves(&command, "", &mut found);
        assert!(found.len() > 30, "{found:?}");
        for (path, text) in found {
            let lines = text.strip_prefix("Examples:\n").unwrap_or_default();
            assert!(!lines.is_empty(), "{path} has no examples: {text}");
            for line in lines.lines() {
                let line = line.strip_prefix("  ").unwrap_or_default();
                assert!(line.contains(&format!("systole {path}")) || line.starts_with("systole -"), "{line}");
                let typed = move_options(&command, words(line).into_iter());
                let read = command.clone().try_get_matches_from(typed);
                assert!(read.is_ok(), "{line}: {}", read.unwrap_err());
            }
        }
    }

    #[test]
    fn help_fits_eighty_columns() {
        let mut command = add_help(Arguments::command()).term_width(80);
        command.build();
        let mut pages = vec![command.render_long_help().to_string()];
        pages.extend(command.get_subcommands_mut().map(|c| c.render_long_help().to_string()));
        for line in pages.iter().flat_map(|page| page.lines()) {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }

    #[test]
    fn options_may_stand_before_the_command() {
        let command = add_help(Arguments::command());
        let typed = |line: &str| {
            let words: Vec<_> = move_options(&command, words(line).into_iter());
            words.iter().map(|word| word.to_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
        };
        for (line, wanted) in [
            ("systole ps --json", "systole ps --json"),
            ("systole --json ps -n 3", "systole ps --json -n 3"),
            ("systole -f a.yaml -C there log -f", "systole -C there log --organism a.yaml -f"),
            (
                "systole -fa.yaml --set=x=y listener new shell it",
                "systole listener new --organism a.yaml --set x=y shell it",
            ),
            (
                "systole --log l.db --utc listener try -- --json",
                "systole --utc listener try --log l.db -- --json",
            ),
            ("systole --json", "systole --json"),
            ("systole --wrong ps", "systole --wrong ps"),
        ] {
            assert_eq!(typed(line), wanted);
        }
    }
}
