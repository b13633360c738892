//! Sessions as pages show them: commands and their output, read from a page and run in a real shell, in the order of
//! the page. Only times are removed.

use std::path::Path;
use std::process::Command;

use crate::program::NO_MODEL;

/// A command and its output.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) command: String,
    pub(crate) shown: String,
}

/// The commands of every console block of a page. `$ ` begins a command, `> ` continues it, everything else is its
/// output.
pub(crate) fn steps(page: &str) -> Vec<Step> {
    let blocks = page.split("```console\n").skip(1).map(|rest| rest.split("\n```\n").next().unwrap());
    let mut steps: Vec<Step> = Vec::new();
    for line in blocks.flat_map(str::lines) {
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step { command: command.to_owned(), shown: String::new() });
            continue;
        }
        let step = steps.last_mut().expect("a block begins with a command");
        match line.strip_prefix("> ").or_else(|| (line == ">").then_some("")) {
            Some(more) if step.shown.is_empty() => step.command.push_str(&format!("\n{more}")),
            _ => step.shown.push_str(&format!("{line}\n")),
        }
    }
    steps
}

/// A shell that keeps its current folder from one command to the next.
pub(crate) struct Shell {
    home: tempfile::TempDir,
    variables: Vec<(String, String)>,
}

impl Shell {
    /// A shell in an empty folder, with `systole` on its path.
    pub(crate) fn new() -> Shell {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("folder")).unwrap();
        std::fs::write(home.path().join("place"), home.path().join("folder").to_str().unwrap()).unwrap();
        let program = Path::new(env!("CARGO_BIN_EXE_systole")).parent().unwrap().to_str().unwrap();
        let path = format!("{program}:{}", std::env::var("PATH").unwrap());
        // Pages show the output of a terminal of 80 columns in UTC.
        let variables = [("PATH", path.as_str()), ("TZ", "UTC"), ("COLUMNS", "80")];
        let variables = variables.into_iter().chain(NO_MODEL);
        Shell {
            home,
            variables: variables.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        }
    }

    /// The same shell with one more variable, or with one more folder at the beginning of `PATH`.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Shell {
        match self.variables.iter_mut().find(|(known, _)| known == name) {
            Some((known, path)) if known.as_str() == "PATH" => *path = format!("{value}:{path}"),
            _ => self.variables.push((name.to_owned(), value.to_owned())),
        }
        self
    }

    /// The folder in which it began.
    pub(crate) fn folder(&self) -> std::path::PathBuf {
        self.home.path().join("folder")
    }

    fn place(&self) -> String {
        self.home.path().join("place").to_str().unwrap().to_owned()
    }

    fn sh(&self, script: &str) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).envs(self.variables.iter().cloned()).stdin(std::process::Stdio::null());
        shell
    }

    /// Starts a long-running command in its own terminal, in the current folder of this shell. Returns the process
    /// itself.
    pub(crate) fn leave(&self, command: &str) -> std::process::Child {
        let script = format!("cd \"$(cat '{}')\" && exec {command} 2>&1", self.place());
        self.sh(&script).stdout(std::process::Stdio::piped()).spawn().unwrap()
    }

    /// Runs a command and returns all its output.
    pub(crate) fn run(&self, command: &str) -> String {
        let place = self.place();
        let whole = format!("cd \"$(cat '{place}')\" || exit\n{{ {command}\n}} 2>&1\npwd >'{place}'\n");
        let ran = self.sh(&whole).output();
        String::from_utf8(ran.unwrap().stdout).unwrap()
    }
}

/// A text without its times: `10:08:41`, `1.1 s`, `14 ms`.
pub(crate) fn timeless(text: &str) -> String {
    let mut out = String::new();
    let mut digits = false;
    for c in text.chars() {
        let is_time = c.is_ascii_digit();
        if !is_time || !digits {
            out.push(if is_time { '0' } else { c });
        }
        digits = is_time;
    }
    out
}

/// Copies a folder with all that is in it.
pub(crate) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A text without what differs from run to run: times of day, durations, thread ids, and the blanks that align
/// columns.
pub(crate) fn untimed(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let mut out = Vec::with_capacity(words.len());
    for (n, word) in words.iter().enumerate() {
        let unit = words.get(n + 1).and_then(|next| next.split('\n').next()).unwrap_or_default();
        let unit = unit.trim_end_matches(|c: char| !c.is_alphabetic());
        let number = word.rsplit('\n').next().unwrap_or_default().trim_start_matches('(');
        let stretch = matches!(unit, "ms" | "s" | "m" | "h") && number.parse::<f64>().is_ok();
        let of_day = word.matches(':').count() >= 2 && word.chars().any(|c| c.is_ascii_digit());
        out.push(if stretch || of_day { timeless(word) } else { (*word).to_owned() });
    }
    // A number is a duration with or without a decimal point, and with any unit. Columns are as wide as the times in
    // them.
    let out = out
        .join(" ")
        .split("  ")
        .filter(|part| !part.is_empty())
        .map(str::trim_start)
        .collect::<Vec<_>>()
        .join(" ");
    let out =
        [" 0.0 s", " 0 s", " 0 m", " 0 h"].iter().fold(out, |out, stretch| out.replace(stretch, " 0 ms"));
    // A thread that was opened without a key has a random id.
    let mut parts = out.split("sess-");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |out, part| {
        format!("{out}sess-{}", part.trim_start_matches(|c: char| c.is_ascii_hexdigit()))
    })
}

/// The page with these outputs in place of its own.
pub(crate) fn rewritten(page: &str, outputs: &[String]) -> String {
    let mut out = String::new();
    let mut outputs = outputs.iter();
    let (mut inside, mut waiting) = (false, None::<&String>);
    for line in page.lines() {
        let goes_on = inside && waiting.is_some() && (line.starts_with("> ") || line == ">");
        let ends = inside && line == "```";
        if (!goes_on && line.starts_with("$ ") || ends) && inside {
            out.push_str(waiting.take().map_or("", String::as_str));
        }
        if inside && line.starts_with("$ ") {
            waiting = outputs.next();
        }
        if !inside || line.starts_with("$ ") || goes_on || ends {
            out.extend([line, "\n"]);
        }
        inside = if inside { !ends } else { line == "```console" };
    }
    out
}
