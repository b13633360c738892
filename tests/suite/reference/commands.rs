//! The pages of the commands, compared with the program's own help and its exits. The help is the output of the real
//! program; only the table of exits is read from the sources. An entry on only one side fails the test.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The options by their names, short ones as well.
type Options = BTreeSet<String>;

fn help(command: &[&str]) -> String {
    printed(command, "--help")
}

fn printed(command: &[&str], option: &str) -> String {
    let program = env!("CARGO_BIN_EXE_systole");
    let output = Command::new(program).args(command).arg(option).output().unwrap();
    assert!(output.status.success(), "{command:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The names below `heading` of a help page.
fn listed(help: &str, heading: &str) -> Vec<String> {
    let below = help.split_once(heading).map(|(_, below)| below).unwrap_or_default();
    let lines = below.lines().skip(1).take_while(|line| line.starts_with("  "));
    lines
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .filter(|it| it != "help")
        .collect()
}

/// Every command, also such as `listener new`, with its options.
fn commands() -> BTreeMap<String, Options> {
    let root = help(&[]);
    let groups = root.lines().filter(|line| line.ends_with(':') && *line != "Options:");
    let mut found = BTreeMap::new();
    for name in groups.flat_map(|group| listed(&root, &format!("\n{group}"))) {
        let page = help(&[&name]);
        let below = listed(&page, "\nCommands:");
        for sub in &below {
            found.insert(format!("{name} {sub}"), options(&help(&[&name, sub])));
        }
        // A command may also do something without the commands below it.
        if below.is_empty() || page.contains(&format!("systole {name} [OPTIONS]\n")) {
            found.insert(name, options(&page));
        }
    }
    assert!(found.len() > 25, "only {found:?} were found");
    found
}

fn options(help: &str) -> Options {
    let lines = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    let named = lines.flat_map(|line| line.split("  ").next().map(names).unwrap_or_default());
    named.filter(|name| name != "--help" && name != "-h").collect()
}

/// The options that a text names.
fn names(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let shorts = words.filter(|word| word.len() == 2 && word.starts_with('-') && *word != "--");
    shorts.map(str::to_owned).chain(longs(text)).collect()
}

/// The long options that a text names.
fn longs(text: &str) -> Vec<String> {
    let is_part = |c: char| c.is_ascii_lowercase() || c == '-';
    let starts = text.match_indices("--").filter(|(at, _)| {
        let before = text[..*at].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric() && c != '-')
    });
    let names = starts.map(|(at, _)| text[at..].chars().take_while(|c| is_part(*c)).collect::<String>());
    names.filter(|name| name.len() > 2 && !name.starts_with("---")).collect()
}

fn page(name: &str) -> String {
    fs::read_to_string(format!("docs/reference/{name}.md")).unwrap()
}

/// The sections of the pages: the commands of each, and its text.
fn sections() -> Vec<(Vec<String>, String)> {
    let mut found = Vec::new();
    for name in ["commands", "reading"] {
        for section in page(name).split("\n## ").skip(1) {
            let (heading, text) = section.split_once('\n').unwrap();
            let codes = heading.split('`').skip(1).step_by(2);
            let words = |code: &str| {
                let words = code.split_whitespace().take_while(|word| is_command(word));
                words.collect::<Vec<_>>().join(" ")
            };
            let of: Vec<String> = codes.map(words).collect();
            found.push((of, format!("{heading}\n{text}")));
        }
    }
    found.retain(|(of, _)| !of.is_empty());
    found
}

/// Whether a word may be part of a command's name, such as `eject`.
fn is_command(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.chars().all(|c| c.is_ascii_lowercase() || c == '-')
}

/// Whether a section is about a command, or about its group.
fn is_of(section: &[String], command: &str) -> bool {
    section.iter().any(|one| one == command || command.split(' ').next() == Some(one))
}

/// The options of every command, as `ps` has them.
const COMMON: [&str; 9] =
    ["--organism", "--log", "--set", "--json", "--url", "--token-env", "-C", "--utc", "--no-pager"];

/// The names of the options of every command, short ones as well.
fn common() -> BTreeSet<String> {
    let told = printed(&["ps"], "-h");
    let lines = told.lines().filter_map(|line| line.split("  ").find(|part| !part.is_empty()).map(names));
    let of_common = |named: &Vec<String>| named.iter().any(|option| COMMON.contains(&option.as_str()));
    let found: BTreeSet<String> = lines.filter(of_common).flatten().collect();
    assert_eq!(found.len(), COMMON.len() + 1, "{found:?}");
    found
}

/// The table of the options of every command, with the commands that lack each.
fn common_options(commands: &BTreeMap<String, Options>) -> String {
    let told = printed(&["ps"], "-h");
    let mut table = "| option | meaning | commands |\n|---|---|---|\n".to_owned();
    for option in COMMON {
        let is_of = |line: &&str| line.split("  ").any(|part| names(part).iter().any(|one| one == option));
        let line = told.lines().find(is_of).unwrap().trim();
        let (spelt, meaning) = line.split_once("  ").unwrap();
        let (have, lack): (Vec<_>, Vec<_>) = commands.iter().partition(|(_, own)| own.contains(option));
        let list = |of: &[(&String, &Options)]| {
            of.iter().map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        };
        let which = match (have.len(), lack.len()) {
            (_, 0) => "all".to_owned(),
            (have_it, lack_it) if have_it < lack_it => list(&have),
            _ => format!("all but {}", list(&lack)),
        };
        table.push_str(&format!("| `{spelt}` | {} | {which} |\n", meaning.trim()));
    }
    table
}

#[test]
fn every_command_and_every_option_stands_in_the_reference() {
    let (commands, sections) = (commands(), sections());
    let common = common();
    for (name, own) in &commands {
        let [(_, text)] = sections.iter().filter(|(of, _)| is_of(of, name)).collect::<Vec<_>>()[..] else {
            panic!("{name} has no section, or several");
        };
        let told: Options = names(text).into_iter().collect();
        let missing: Vec<_> = own.iter().filter(|it| !told.contains(*it) && !common.contains(*it)).collect();
        assert!(missing.is_empty(), "the section of {name} does not name {missing:?}");
        if let Some((_, sub)) = name.split_once(' ') {
            assert!(text.contains(sub), "{name} is not named in its section");
        }
    }
    for (of, text) in &sections {
        let own: Vec<&Options> =
            commands.iter().filter(|(name, _)| is_of(of, name)).map(|(_, options)| options).collect();
        assert!(!own.is_empty(), "there is no command {of:?}");
        // The next test compares a command line with the command that it names. Short options of other programs are
        // listed here too.
        let beside =
            |line: &str| shown(line).into_iter().fold(line.to_owned(), |line, it| line.replace(it, ""));
        for option in text.lines().flat_map(|line| longs(&beside(line))) {
            let is_there = own.iter().any(|own| own.contains(&option)) || common.contains(&option);
            assert!(is_there, "the section of {of:?} names {option}, which does not exist");
        }
    }
}

/// The usage, the arguments, the options and the examples of a command as its short help has them, without the options
/// of every command.
fn usage(name: &str, common: &BTreeSet<String>) -> String {
    let page = printed(&name.split(' ').collect::<Vec<_>>(), "-h");
    let (_, page) = page.split_once("Usage: ").unwrap();
    let is_common = |line: &&str| {
        let named = line.split("  ").find(|part| !part.is_empty()).map(longs).unwrap_or_default();
        let is_other = line.starts_with("  -C ") || line.starts_with("  help ");
        is_other || named.iter().any(|option| option == "--help" || common.contains(option))
    };
    let mut parts = page.split("\n\n");
    let mut block = format!("{}\n", parts.next().unwrap_or_default().trim_end());
    for part in parts {
        let (heading, lines) = part.split_once('\n').unwrap_or((part, ""));
        let indent = if heading == "Examples:" { 2 } else { 0 };
        let lines: Vec<&str> = lines.lines().filter(|line| !is_common(line)).collect();
        let lines: String =
            lines.iter().map(|line| format!("{}\n", &line[indent.min(line.len())..])).collect();
        if !lines.is_empty() {
            block.push_str(&format!("\n{lines}"));
        }
    }
    block
}

/// The table of the exits: each number of the program with its comment.
fn exits() -> String {
    let source = fs::read_to_string("src/cli/exit.rs").unwrap();
    let (_, numbers) = source.split_once("pub enum CommandExit {\n").unwrap();
    let (mut table, mut meaning) = ("| exit | meaning |\n|---|---|\n".to_owned(), Vec::new());
    for line in numbers.lines().map(str::trim).take_while(|line| *line != "}") {
        if let Some(comment) = line.strip_prefix("/// ") {
            meaning.push(comment);
        } else if let Some((_, number)) = line.trim_end_matches(',').split_once(" = ") {
            table.push_str(&format!("| {number} | {} |\n", meaning.join(" ").trim_end_matches('.')));
            meaning.clear();
        }
    }
    assert!(table.lines().count() > 10, "{table}");
    table
}

#[test]
fn the_sections_of_the_commands_begin_with_their_usage() {
    let commands = commands();
    let common = common();
    let block = |part: &str| {
        match part {
            "options of every command" => return common_options(&commands),
            "exits" => return exits(),
            "init --list" => return format!("```text\n{}```\n", printed(&["init"], "--list")),
            _ => {}
        }
        let blocks: Vec<String> = part.split(", ").map(|name| usage(name, &common)).collect();
        format!("```text\n{}```\n", blocks.join("\n"))
    };
    let parts = ["commands", "reading"].map(|name| {
        let parts = crate::generated::parts(&format!("docs/reference/{name}.md"), block);
        parts
            .iter()
            .flat_map(|part| part.split(", ").map(str::to_owned).collect::<Vec<_>>())
            .collect::<Vec<_>>()
    });
    let told: BTreeSet<String> = parts.concat().into_iter().collect();
    let missing: Vec<&String> = commands.keys().filter(|name| !told.contains(*name)).collect();
    assert!(missing.is_empty(), "write `<!-- generated: NAME -->` into the sections of {missing:?}");
}

fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// A command line in any page names a command that exists, with options that it has.
#[test]
fn no_page_shows_a_command_or_an_option_that_does_not_exist() {
    let commands = commands();
    let mut found = vec![PathBuf::from("README.md"), "CONTRIBUTING.md".into()];
    pages(Path::new("docs"), &mut found);
    let (mut seen, mut wrong) = (0, Vec::new());
    for path in &found {
        let page = fs::read_to_string(path).unwrap();
        for (number, line) in page.lines().enumerate() {
            for shown in shown(line) {
                let words: Vec<&str> = shown.split_whitespace().collect();
                let Some(first) = words.first().filter(|it| it.chars().all(|c| c.is_ascii_lowercase()))
                else {
                    continue;
                };
                let two = words.get(1).map(|second| format!("{first} {second}"));
                // The first words of a stored configuration, of its pieces, and of the parts of a log in NATS.
                let forms = ["configuration v", "pieces v", "bundle v", "bundle apart v"];
                if forms.iter().any(|it| shown.starts_with(it)) {
                    continue;
                }
                let own = two.and_then(|two| commands.get(&two)).or_else(|| commands.get(*first));
                let is_group = commands.keys().any(|name| name.split(' ').next() == Some(first));
                let at = format!("{}:{}: systole {shown}", path.display(), number + 1);
                if own.is_none() && !is_group {
                    wrong.push(format!("{at}: there is no such command"));
                }
                let options = names(shown).into_iter().filter(|option| option != "--help");
                let unknown = options.filter(|option| own.is_none_or(|own| !own.contains(option)));
                wrong.extend(unknown.map(|option| format!("{at}: there is no {option}")));
                seen += 1;
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(seen > 60, "only {seen} command lines were found");
}

/// The text after the program's name in a line of a page.
fn shown(line: &str) -> Vec<&str> {
    let begins = |at: usize| line[..at].chars().next_back().is_none_or(|c| c == '`' || c == ' ');
    let starts = line.match_indices("systole ").filter(|(at, _)| begins(*at));
    let in_code = |at: usize| line[..at].matches('`').count() % 2 == 1 || !line.contains('`');
    let starts = starts.filter(|(at, _)| in_code(*at));
    starts.map(|(at, word)| cut(&line[at + word.len()..])).collect()
}

/// Text after `--`, a pipe or a `#` is not one of our options.
fn cut(rest: &str) -> &str {
    let ends = ["`", " | ", " -- ", " # ", " > "].iter().filter_map(|end| rest.find(end));
    &rest[..ends.min().unwrap_or(rest.len())]
}
