//! `systole completions`: the script with which a shell completes commands, options, thread ids, approvals and codes.
//! It is made from the same table as the help page, so it cannot become outdated. Ids are looked up at completion
//! time.

use clap::Args;
use clap_complete::Shell;

use super::exit::CommandExit;
use super::screen::Screen;

/// The kind of completion for arguments with these names. Options are completed under their own names.
const SORTS: &[(&str, &[&str])] =
    &[("threads", &["thread", "message"]), ("approvals", &["id", "ids"]), ("codes", &["word"])];

/// Prints the script by which a shell completes commands, options and ids.
///
/// bash: `systole completions bash > ~/.local/share/bash-completion/completions/systole`;
/// zsh: into a file `_systole` of a folder in `fpath`; fish: `~/.config/fish/completions/systole.fish`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole completions bash
  systole completions zsh")]
pub(super) struct CompletionsCommand {
    /// Which shell
    #[arg(value_name = "SHELL", value_parser = ["bash", "zsh", "fish"])]
    shell: String,
}

impl CompletionsCommand {
    pub(super) fn run(self, command: clap::Command) -> CommandExit {
        Screen::new(false).show_drawn(write_script(&self.shell, command).trim_end_matches('\n'));
        CommandExit::Done
    }
}

fn write_script(shell: &str, mut command: clap::Command) -> String {
    let clap_shell = match shell {
        "zsh" => Shell::Zsh,
        "fish" => Shell::Fish,
        _ => Shell::Bash,
    };
    let mut script = Vec::new();
    clap_complete::generate(clap_shell, &mut command, "systole", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    match shell {
        "zsh" => write_zsh(&script),
        "fish" => format!("{script}{}", write_fish(&command)),
        _ => format!("{script}{}", write_bash(&command)),
    }
}

/// The commands with arguments of a kind.
fn list_takers(command: &clap::Command, names: &[&str]) -> Vec<String> {
    let takes =
        |one: &&clap::Command| one.get_positionals().any(|arg| names.contains(&arg.get_id().as_str()));
    command.get_subcommands().filter(takes).map(|one| one.get_name().to_owned()).collect()
}

fn write_bash(command: &clap::Command) -> String {
    let cases = SORTS
        .iter()
        .map(|(sort, names)| format!("        {}) sort={sort} ;;\n", list_takers(command, names).join("|")));
    let cases: String = cases.collect();
    format!(
        r#"
_systole_with_ids() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" sort=
    case "${{COMP_WORDS[1]}}" in
{cases}    esac
    [[ $before == --thread ]] && sort=threads
    if [[ -n $sort && $current != -* && ( $before != -* || $before == --thread ) ]]; then
        COMPREPLY=($(compgen -W "$(systole complete-words "$sort" 2>/dev/null)" -- "$current"))
        return
    fi
    _systole systole "$current" "$before"
}}
complete -F _systole_with_ids -o bashdefault -o default systole
"#
    )
}

fn write_fish(command: &clap::Command) -> String {
    let lines = SORTS.iter().map(|(sort, names)| {
        let of = list_takers(command, names).join(" ");
        format!(
            "complete -c systole -n '__fish_seen_subcommand_from {of}' -f -a '(systole complete-words {sort} 2>/dev/null)'\n"
        )
    });
    let threads = "complete -c systole -l thread -x -a '(systole complete-words threads 2>/dev/null)'\n";
    lines.chain([threads.to_owned()]).collect()
}

/// The clap script, changed so that a function looks up ids for arguments with these names.
fn write_zsh(script: &str) -> String {
    let mut out = String::new();
    for line in script.lines() {
        let words = line.trim_start().trim_start_matches(['\'', '*', ':']);
        let name = words.split([' ', '=']).next().unwrap_or_default();
        let is_argument = line.trim_start().starts_with("':") || line.trim_start().starts_with("'*:");
        let sort =
            SORTS.iter().find(|(_, names)| is_argument && names.contains(&name)).map(|(sort, _)| *sort);
        let sort = sort.or(if words.starts_with("--thread=") { Some("threads") } else { None });
        match sort {
            Some(sort) => {
                out.push_str(&line.replace(":_default'", &format!(": _systole_words {sort}'")));
            }
            None => out.push_str(line),
        }
        out.push('\n');
    }
    let function = "_systole_words() {\n    local -a words\n    words=(${(f)\"$(systole complete-words $1 2>/dev/null)\"})\n    compadd -a words\n}\n";
    // The function must be defined before the script's first call.
    match out.split_once("\n_systole() {") {
        Some((head, tail)) => format!("{head}\n{function}\n_systole() {{{tail}"),
        None => out,
    }
}
