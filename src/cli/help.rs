//! The help pages: commands in groups, and examples below the options of each command. They are made from the
//! commands' own descriptions.

use clap::Command;

/// The groups of the help page, in order, with their commands.
pub(super) const GROUPS: &[(&str, &[&str])] = &[
    ("start", &["demo", "init", "check", "run", "stop", "ask", "send"]),
    ("look", &["ps", "why", "tree", "todo", "log", "context", "trail", "cost"]),
    ("steer", &["approve", "reject", "amend", "choose", "steer", "cancel", "pause", "resume", "end"]),
    ("prove", &["test", "copy"]),
    (
        "build",
        &["schema", "graph", "explain", "listener", "workflow", "permissions", "doctor", "completions"],
    ),
];

/// Examples of each command, as typed.
const EXAMPLES: &[(&str, &[&str])] = &[
    ("demo", &["systole demo"]),
    ("init", &["systole init my-organism", "systole init my-agent --agent", "systole init --list"]),
    ("check", &["systole check", "systole check --strict", "systole check --schema"]),
    (
        "run",
        &[
            "systole run",
            "systole run --detach",
            "systole -C my-team run --set console.listen=127.0.0.1:8080",
        ],
    ),
    ("stop", &["systole stop", "systole stop --now"]),
    (
        "ask",
        &["systole ask What makes a heart beat?", "systole ask --thread @last \"And why?\"", "systole ask"],
    ),
    ("send", &["systole send ask \"Who is there?\"", "systole send --file order.xml --key order-17"]),
    ("ps", &["systole ps", "systole ps -n 0 --children", "systole ps --json"]),
    ("why", &["systole why", "systole why @last"]),
    ("tree", &["systole tree", "systole tree 1f0c"]),
    ("todo", &["systole todo", "systole todo @last@12"]),
    ("log", &["systole log -f", "systole log -n 20 --since 10m", "systole log @last --json"]),
    ("context", &["systole context", "systole context 1f0c@7"]),
    ("trail", &["systole trail", "systole trail @last@5", "systole trail --text \"moving house\""]),
    ("cost", &["systole cost", "systole cost 1f0c --json"]),
    (
        "approve",
        &["systole approve", "systole approve a1 --note \"checked by phone\"", "systole approve a1 a2"],
    ),
    ("reject", &["systole reject a1 --note \"wrong account\""]),
    ("amend", &["systole amend a1 --file corrected.xml"]),
    (
        "choose",
        &[
            "systole choose a2 go",
            "systole choose a2 revise --note \"name the rollback\"",
            "systole choose a3 --note \"Monday\"",
        ],
    ),
    ("steer", &["systole steer @last \"Use the second source too.\""]),
    ("cancel", &["systole cancel @last"]),
    ("pause", &["systole pause 1f0c --note \"moving house\"", "systole pause --all"]),
    ("resume", &["systole resume 1f0c", "systole resume --all"]),
    ("end", &["systole end 1f0c"]),
    ("test", &["systole test", "systole test orders.test.yaml --json"]),
    ("copy", &["systole copy", "systole copy --again --to audit.db"]),
    ("schema show", &["systole schema show", "systole schema show answer"]),
    ("schema eject", &["systole schema eject"]),
    ("schema example", &["systole schema example ask"]),
    ("schema prompt", &["systole schema prompt ask"]),
    ("schema json", &["systole schema json ask"]),
    ("graph", &["systole graph", "systole graph --out who.svg"]),
    ("explain", &["systole explain payload.invalid", "systole explain config", "systole explain"]),
    ("listener new", &["systole listener new shell weather", "systole listener new python weather"]),
    (
        "listener try",
        &["systole listener try weather --send ask \"How is it?\"", "systole listener try -- ./answer.sh"],
    ),
    ("workflow explain", &["systole workflow explain review-change", "systole workflow explain --json"]),
    ("workflow from", &["systole workflow from Agentfile", "systole workflow from Agentfile --json"]),
    ("permissions", &["systole permissions", "systole permissions --nats-config --keys keys"]),
    ("doctor", &["systole doctor", "systole doctor --json"]),
    ("completions", &["systole completions bash", "systole completions zsh"]),
];

/// The help pages of a command and of all below it.
pub(super) fn pages(command: Command) -> Command {
    let mut page = String::from("{about}\n\n{usage-heading} {usage}\n");
    for (group, names) in GROUPS {
        page.push_str(&format!("\n{group}:\n"));
        for name in *names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            page.push_str(&format!("  {name:<13}{}\n", about.map(ToString::to_string).unwrap_or_default()));
        }
    }
    page.push_str(
        "\nOptions:\n{options}\n\nThe options of a command may also come before it: `systole --json ps`.\n\
         `systole COMMAND --help` says more about each.\n",
    );
    EXAMPLES.iter().fold(command.help_template(page), |command, (path, lines)| {
        let lines: String = lines.iter().map(|line| format!("\n  {line}")).collect();
        let words: Vec<&str> = path.split(' ').collect();
        at(command, &words, &format!("Examples:{lines}"))
    })
}

/// The command with these examples below the options of the subcommand that the words name.
fn at(command: Command, words: &[&str], examples: &str) -> Command {
    let Some((first, below)) = words.split_first() else { return command.after_help(examples.to_owned()) };
    command.mut_subcommand(first, |one| at(one, below, examples))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Arguments;
    use crate::cli::ordered::behind;

    /// The words of a line as a shell reads it. Examples use only double quotes.
    fn words(line: &str) -> Vec<std::ffi::OsString> {
        let parts = line.split('"').enumerate();
        let words = parts.flat_map(|(at, part)| match at % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        });
        words.map(Into::into).collect()
    }

    fn leaves(command: &Command, above: &str, found: &mut Vec<(String, bool)>) {
        for one in command.get_subcommands().filter(|one| !one.is_hide_set() && one.get_name() != "help") {
            let name = format!("{above}{}", one.get_name());
            if one.has_subcommands() {
                leaves(one, &format!("{name} "), found);
            } else {
                found.push((name, one.get_after_help().is_some()));
            }
        }
    }

    #[test]
    fn the_help_page_lists_every_command_once_and_no_other() {
        let command = pages(Arguments::command());
        let mut listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let shown = command.get_subcommands().filter(|one| !one.is_hide_set());
        let mut known: Vec<&str> = shown.map(Command::get_name).collect();
        listed.sort_unstable();
        known.sort_unstable();
        assert_eq!(listed, known);
        command.debug_assert();
    }

    #[test]
    fn every_command_has_examples_that_it_takes() {
        let command = pages(Arguments::command());
        let mut found = Vec::new();
        leaves(&command, "", &mut found);
        let without: Vec<_> = found.iter().filter(|(_, has)| !has).collect();
        assert!(found.len() > 30 && without.is_empty(), "{without:?} have no example");
        for (path, lines) in EXAMPLES {
            for line in *lines {
                assert!(line.contains(&format!("systole {path}")) || line.starts_with("systole -"), "{line}");
                let typed = behind(&command, words(line).into_iter());
                let read = command.clone().try_get_matches_from(typed);
                assert!(read.is_ok(), "{line}: {}", read.unwrap_err());
            }
        }
    }

    #[test]
    fn help_fits_eighty_columns() {
        let mut command = pages(Arguments::command()).term_width(80);
        command.build();
        let mut pages = vec![command.render_long_help().to_string()];
        pages.extend(command.get_subcommands_mut().map(|c| c.render_long_help().to_string()));
        for line in pages.iter().flat_map(|page| page.lines()) {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }

    #[test]
    fn options_may_stand_before_the_command() {
        let command = pages(Arguments::command());
        let typed = |line: &str| {
            let words: Vec<_> = behind(&command, words(line).into_iter());
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
