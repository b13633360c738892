//! `systole doctor`: checks whether an organism has everything it needs, and whether its log is
//! intact; every problem comes with its fix.

mod before;
mod evidence;
mod finding;
mod folds;
mod machine;
mod sandbox;
mod server;
mod store;

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::exit::CommandExit;
use super::place::Place;
use super::screen::Screen;
use finding::{Finding, FindingState};
use systole_config::OrganismFile;

/// What is examined.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole doctor
  systole doctor --json")]
pub(super) struct DoctorCommand {
    #[command(flatten)]
    place: Place,
}

impl DoctorCommand {
    pub(super) fn run(self) -> CommandExit {
        let screen = self.place.screen();
        let mut found = machine::examine_machine();
        found.extend(sandbox::examine_sandbox());
        let loaded = self.place.load().and_then(OrganismFile::with_log_folder);
        found.extend(store::check_organism(&loaded));
        let of_file = loaded.as_ref().ok().map(|file| file.log.clone());
        found.extend(loaded.iter().flat_map(before::examine_file));
        let log: Option<PathBuf> = self.place.given_log().or(of_file).or_else(|| self.place.running_log());
        match log {
            Some(log) => {
                let log: PathBuf = log.components().collect();
                found.extend(store::check_log(&log, &self.place.run_command()));
                found.extend(loaded.iter().flat_map(|file| evidence::find_orphans(&log, &file.composition)));
            }
            None => {
                let fix = "--log PATH, or an organism's file that can be read";
                found.push(Finding::new_note("log", "which one is not known", fix));
            }
        }
        print_findings(screen, &found);
        find_worst(&found)
    }
}

fn print_findings(screen: Screen, found: &[Finding]) {
    if screen.json {
        let all = found
            .iter()
            .map(|f| json!({"what": f.what, "state": f.word(), "words": f.words, "try": f.fix()}));
        screen.show_value(&all.collect::<Vec<_>>());
        return;
    }
    for line in found.iter().flat_map(Finding::lines) {
        screen.show_drawn(&line);
    }
}

/// The exit of the worst problem: a damaged log first, then a refused file, then anything else.
fn find_worst(found: &[Finding]) -> CommandExit {
    let exits = found.iter().filter_map(|finding| match finding.state {
        FindingState::Problem(_, exit) => Some(exit),
        _ => None,
    });
    exits
        .max_by_key(|exit| match exit {
            CommandExit::Log => 3,
            CommandExit::Configuration => 2,
            _ => 1,
        })
        .unwrap_or(CommandExit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use systole_show::columns::width;
    use systole_show::limits::COLUMNS;

    #[test]
    fn a_finding_fits_and_carries_its_repair() {
        let words = "\u{1b}[2J".repeat(60);
        let lines = Finding::new_problem("log", words, "repair it ".repeat(30), CommandExit::Log).lines();
        assert!(lines.iter().all(|line| width(line) <= COLUMNS && !line.contains('\u{1b}')), "{lines:?}");
        assert!(lines[0].starts_with("problem  log: \\u{1b}[2J"), "{lines:?}");
        assert!(lines.iter().any(|line| line.starts_with("           try: repair it")), "{lines:?}");
    }

    #[test]
    fn the_worst_problem_gives_the_exit() {
        let problem = |exit| Finding::new_problem("x", "", "", exit);
        assert_eq!(find_worst(&[]), CommandExit::Done);
        assert_eq!(find_worst(&[Finding::new_note("x", "", "")]), CommandExit::Done);
        let all =
            [problem(CommandExit::Configuration), problem(CommandExit::Log), problem(CommandExit::Failed)];
        assert_eq!(find_worst(&all), CommandExit::Log);
        assert_eq!(find_worst(&all[..1]), CommandExit::Configuration);
    }
}
