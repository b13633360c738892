//! `systole completions`: the script by which a shell completes commands and options. Made from the same
//! table as the help page, so it cannot fall behind it.

use clap::Args;
use clap_complete::Shell;

use super::exit::Exit;
use super::screen::Screen;

/// Prints the script by which a shell completes commands and options.
///
/// bash: `systole completions bash > ~/.local/share/bash-completion/completions/systole`;
/// zsh: into a file `_systole` of a folder in `fpath`; fish: `~/.config/fish/completions/systole.fish`.
#[derive(Args, Debug)]
pub(super) struct Completions {
    /// Which shell
    #[arg(value_name = "SHELL", value_parser = ["bash", "zsh", "fish"])]
    shell: String,
}

impl Completions {
    pub(super) fn run(self, mut command: clap::Command) -> Exit {
        let screen = Screen::of_process(false);
        let shell = match self.shell.as_str() {
            "zsh" => Shell::Zsh,
            "fish" => Shell::Fish,
            _ => Shell::Bash,
        };
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut command, "systole", &mut script);
        screen.drawn(String::from_utf8_lossy(&script).trim_end_matches('\n'));
        Exit::Done
    }
}
