//! `systole test`: runs the tests of organisms. Each test has its own organism, with its log in memory, rehearsed
//! models, copies of the folders of workspaces and a clock that is advanced instead of waited for. All test files are
//! read and checked before the first test runs.

mod exports;
mod replayed_exports;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use tokio::time::Instant;

use super::check::print_all;
use super::exit::CommandExit;
use super::local_organism;
use super::screen::Screen;
use super::signals::Signals;
use super::system_faults;
use super::verify::verify_export;
use crate::limits::{TEST_FIRST_LINES, TEST_LINES};
use exports::ExportTest;
use systole_config::rehearsal::{self, Rehearsal, TestFile};
use systole_config::{Diagnostic, TEST_JSON_SCHEMA};
use systole_organism::inline_listeners::ScriptsByFile;
use systole_rehearsal::failed_test::{FailedTest, TestFailure};
use systole_rehearsal::find_unused_replies;

/// The extension of test files.
const ENDING: &str = ".test.yaml";
/// The extension of exports that are found in folders.
const EXPORT_ENDING: &str = ".test.zip";

/// Runs the tests of organisms.
///
/// A test file says what is sent to an organism and what has to come of it. Models are rehearsed, and
/// time is skipped: timers, approvals that expire and pauses before a retry take no time.
///
/// An export is a test too: it is replayed under the organism.yaml beside or above it, and has to come
/// out equal. Nothing is called or started. A test file can name an export and expect less.
///
/// Examples:
///   systole test                      every *.test.yaml and *.test.zip here and below
///   systole test team.test.yaml       the tests of one file
///   systole test case-7.zip           one export
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
#[command(after_help = "Examples:
  systole test
  systole test orders.test.yaml --json
  systole test case-7.zip")]
pub(super) struct TestCommand {
    /// Test files, exports, and folders with *.test.yaml and *.test.zip
    #[arg(value_name = "PATH", default_value = ".")]
    paths: Vec<PathBuf>,
    /// Print the JSON Schema of a test file, for editors, and run nothing
    #[arg(long)]
    schema: bool,
    /// Print data as JSON
    #[arg(long)]
    json: bool,
}

/// How many tests passed and failed.
#[derive(Default)]
struct TestTally {
    passed: usize,
    failed: usize,
    /// Exports that cannot be replayed, and those that are damaged.
    cannot: usize,
    damaged: usize,
}

impl TestCommand {
    pub(super) fn run(&self) -> Result<CommandExit, CommandExit> {
        let screen = Screen::new(self.json);
        if self.schema {
            screen.show_drawn(TEST_JSON_SCHEMA.trim_end());
            return Ok(CommandExit::Done);
        }
        let paths = self.find_files(screen)?;
        let (mut files, mut mistakes): (Vec<(PathBuf, TestFile)>, Vec<Diagnostic>) = (Vec::new(), Vec::new());
        let mut exports = Vec::new();
        for path in paths {
            let loaded = match is_rehearsal(&path) {
                true => rehearsal::load(&path).map(|file| files.push((path, file))),
                false => ExportTest::load(path).map(|export| exports.push(export)),
            };
            // Several test files may name the same faulty organism.
            if let Err(refused) = loaded {
                let new: Vec<_> = refused.0.into_iter().filter(|one| !mistakes.contains(one)).collect();
                mistakes.extend(new);
            }
        }
        if !mistakes.is_empty() {
            print_all(screen, &mistakes);
            return Err(CommandExit::Configuration);
        }
        let mut tally = TestTally::default();
        // First, because once the runtime below has heard signals, Ctrl-C no longer ends the process by itself.
        exports.into_iter().for_each(|export| export.run(screen, &mut tally));
        if !files.is_empty() {
            local_organism::with_runtime(screen, async {
                let mut signals = Signals::listen(screen)?;
                tokio::select! {
                    () = Box::pin(run_all(screen, &files, &mut tally)) => Ok(()),
                    exit = signals.next() => Err(exit),
                }
            })?;
        }
        Ok(tally.choose_exit(screen))
    }

    /// The selected test files.
    fn find_files(&self, screen: Screen) -> Result<Vec<PathBuf>, CommandExit> {
        let mut found = Vec::new();
        for path in &self.paths {
            let told =
                |error| system_faults::report_unread(screen, CommandExit::Usage, path, "the tests", &error);
            if path.is_dir() {
                let before = found.len();
                collect_files(path, &mut found).map_err(told)?;
                found.get_mut(before..).unwrap_or_default().sort();
            } else {
                std::fs::metadata(path).map_err(told)?;
                if !is_rehearsal(path) && !verify_export::is_export(path) {
                    let words = format!(
                        "{} is not a test file: its name does not end in {ENDING}, and it is no export",
                        path.display()
                    );
                    return Err(screen.fail(CommandExit::Usage, words));
                }
                found.push(path.clone());
            }
        }
        found.dedup();
        if found.is_empty() {
            let shown: Vec<String> = self.paths.iter().map(|path| path.display().to_string()).collect();
            let fix = format!("a file whose name ends in {ENDING}; docs/reference/tests.md has an example");
            return Err(screen.refuse(format!("no tests found in {}", shown.join(", ")), fix));
        }
        Ok(found)
    }
}

/// The test files of a folder and of those below it, except hidden ones.
fn collect_files(folder: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let path = if folder == Path::new(".") { PathBuf::from(&name) } else { entry.path() };
        if name.to_string_lossy().starts_with('.') {
            continue;
        }
        if entry.file_type()?.is_dir() {
            collect_files(&path, found)?;
        } else if is_rehearsal(&path) || name.to_string_lossy().ends_with(EXPORT_ENDING) {
            found.push(path);
        }
    }
    Ok(())
}

fn is_rehearsal(path: &Path) -> bool {
    path.to_string_lossy().ends_with(ENDING)
}

impl TestTally {
    fn choose_exit(&self, screen: Screen) -> CommandExit {
        let TestTally { passed, failed, cannot, damaged } = self;
        if !screen.json {
            let mut parts = vec![format!("{passed} passed")];
            for (count, words) in [(failed, "failed"), (cannot, "cannot be replayed"), (damaged, "damaged")] {
                parts.extend((*count > 0).then(|| format!("{count} {words}")));
            }
            // What went wrong comes first.
            parts.rotate_left(1);
            screen.say(parts.join(", "));
        }
        match self {
            TestTally { damaged: 1.., .. } => CommandExit::Log,
            TestTally { failed: 1.., .. } => CommandExit::Failed,
            TestTally { cannot: 1.., .. } => CommandExit::Unavailable,
            _ => CommandExit::Done,
        }
    }
}

async fn run_all(screen: Screen, files: &[(PathBuf, TestFile)], tally: &mut TestTally) {
    for (path, file) in files {
        // Scripts shared by several tests are counted over all tests of the file.
        let mut shared = ScriptsByFile::new();
        let mut has_failed = false;
        for test in &file.tests {
            let begun = Instant::now();
            let failed = Box::pin(run_one(screen, test, &mut shared)).await.err();
            has_failed |= failed.is_some();
            report_test(screen, path, &test.name, begun.elapsed(), failed.as_deref(), tally);
        }
        // Unused answers after a failed test are expected.
        for (script_file, script) in shared.iter().filter(|_| !has_failed) {
            for failed in find_unused_replies(script, &from_here(script_file)) {
                report_test(screen, path, "every answer is used", Duration::ZERO, Some(&failed), tally);
            }
        }
    }
}

/// The shortest form of a path.
fn from_here(path: &Path) -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&here).unwrap_or(path).to_owned()
}

async fn run_one(
    screen: Screen,
    test: &Arc<Rehearsal>,
    shared: &mut ScriptsByFile,
) -> Result<(), Box<FailedTest>> {
    if test.export.is_some() {
        let replayed = test.clone();
        // It has a runtime of its own, which may not end inside this one.
        let judged =
            tokio::task::spawn_blocking(move || replayed_exports::judge_export(screen, &replayed)).await;
        let told = |error| FailedTest::new_unrunnable(&test.place, format!("the replay broke off: {error}"));
        return judged.map_err(told).flatten();
    }
    systole_rehearsal::rehearse(test, shared).await
}

fn report_test(
    screen: Screen,
    path: &Path,
    name: &str,
    took: Duration,
    failed: Option<&FailedTest>,
    tally: &mut TestTally,
) {
    let (count, verdict) = match failed.map(|failed| failed.kind) {
        None => (&mut tally.passed, "ok  "),
        Some(TestFailure::Unrunnable) => (&mut tally.cannot, "----"),
        Some(TestFailure::Damaged) => (&mut tally.damaged, "FAIL"),
        Some(TestFailure::Failed) => (&mut tally.failed, "FAIL"),
    };
    *count += 1;
    let file = path.display();
    if screen.json {
        let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let failure = failed.map(FailedTest::as_json);
        let value = json!({"file": file.to_string(), "test": name, "passed": failed.is_none(),
                           "ms": ms, "failure": failure});
        return screen.show_value(&value);
    }
    let seconds = format!("{:.1} s", took.as_secs_f64());
    screen.show(&format!("{verdict}  {file}: {name} ({seconds})"));
    if let Some(failed) = failed {
        explain_failure(screen, failed);
    }
}

/// Shows where a test failed, what was expected and what came, and the thread.
fn explain_failure(screen: Screen, failed: &FailedTest) {
    let FailedTest { place, words, expected, came, tree, .. } = failed;
    screen.show(&format!("  {}:{}:{}: {words}", place.file, place.line, place.column));
    for (name, text) in [("expected", expected), ("came", came)] {
        for (number, line) in text.iter().flat_map(|text| text.lines()).enumerate() {
            screen.show(&format!("    {:<10}{line}", if number == 0 { name } else { "" }));
        }
    }
    let cut = tree.len().saturating_sub(TEST_LINES);
    for (number, line) in tree.iter().enumerate() {
        match number {
            TEST_FIRST_LINES if cut > 0 => screen.show(&format!("    … {cut} lines")),
            _ if (TEST_FIRST_LINES..TEST_FIRST_LINES + cut).contains(&number) => {}
            _ => screen.show_drawn(&format!("    {line}")),
        }
    }
}
