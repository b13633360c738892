//! The exercises: additions and removals as patches in `tests/exercises`. They hold what `docs/how-to-change.md` says about
//! how many files a change touches.
//!
//! The head of a patch names its row on that page and the files that are its own, and has a session that shows that it
//! works. Every patch must apply and touch as many other files as its row says. `make soak` also builds each of them in
//! a copy of the checkout, and runs its session.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::session::{Shell, Step, steps};

const FOLDER: &str = "tests/exercises";
const PAGE: &str = "docs/how-to-change.md";

/// A patch, with what its head says.
struct Exercise {
    /// Its path in the checkout.
    path: String,
    /// The first cell of its row on the page.
    row: String,
    /// How the paths begin that are its own.
    own: Vec<String>,
    session: Vec<Step>,
    /// The files that it touches.
    touched: Vec<String>,
}

impl Exercise {
    fn read(path: String) -> Exercise {
        let text = fs::read_to_string(checkout().join(&path)).unwrap();
        let (head, _) = text.split_once("\ndiff --git ").unwrap_or_else(|| panic!("{path} changes nothing"));
        let said = |key: &str| head.lines().find_map(|line| line.strip_prefix(key));
        let row = said("row: ").unwrap_or_else(|| panic!("{path}: no `row:` in its head")).to_owned();
        let session = steps(head);
        assert!(session.iter().any(|step| !step.shown.is_empty()), "{path}: its session shows nothing");
        let own = said("own: ").unwrap_or_default().split_whitespace().map(str::to_owned).collect();
        let changed = text.lines().filter_map(|line| line.strip_prefix("diff --git a/")?.split(" b/").next());
        Exercise { row, own, session, touched: changed.map(str::to_owned).collect(), path }
    }

    /// The files of code and schema beside its own.
    fn list_others(&self) -> Vec<&str> {
        let is_other = |path: &&str| !self.own.iter().any(|own| path.starts_with(own)) && !is_left_out(path);
        self.touched.iter().map(String::as_str).filter(is_other).collect()
    }

    /// Applies it in a folder, with these options of git.
    fn apply(&self, folder: &Path, options: &[&str]) -> Result<(), String> {
        let folder = fs::canonicalize(folder).unwrap();
        let mut git = Command::new("git");
        git.arg("apply").args(options).arg(checkout().join(&self.path)).current_dir(&folder);
        // Below a checkout of something else git would apply nothing, and say nothing.
        git.env("GIT_CEILING_DIRECTORIES", folder.parent().unwrap());
        let ran = git.output().unwrap();
        if ran.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&ran.stderr).into_owned()) }
    }

    /// What its session does not show with the program in this folder.
    fn play(&self, programs: &Path) -> Vec<String> {
        let shell = Shell::new().with("PATH", programs.to_str().unwrap());
        let mut missing = Vec::new();
        for step in &self.session {
            let came = shell.run(&step.command);
            let lines = step.shown.lines().filter(|line| !came.contains(line));
            missing.extend(lines.map(|line| format!("{}: `{line}` is not in: {came}", step.command)));
        }
        missing
    }
}

fn checkout() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn list_exercises() -> Vec<Exercise> {
    let entries = fs::read_dir(checkout().join(FOLDER)).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert!(names.len() >= 8, "{FOLDER} has only {names:?}");
    names.into_iter().map(|name| Exercise::read(format!("{FOLDER}/{name}"))).collect()
}

/// Whether the page does not count a file: tests, pages, and what is generated.
fn is_left_out(path: &str) -> bool {
    let is_generated = ["Cargo.lock", "schemas/organism.schema.json"].contains(&path);
    is_generated || path.ends_with(".md") || path.starts_with("tests/") || path.contains("/tests/")
}

/// How many files a row of the page says: the number at the beginning of its cell `today`.
fn find_claim(page: &str, row: &str) -> Option<usize> {
    let is_row = |line: &&str| {
        let first = line.split('|').nth(1).unwrap_or_default().trim();
        first == row || first.starts_with(&format!("[{row}]("))
    };
    let today = page.lines().find(is_row)?.split('|').nth(3)?.trim();
    today.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[test]
fn each_exercise_touches_as_many_files_as_its_row_says() {
    let page = fs::read_to_string(checkout().join(PAGE)).unwrap();
    for exercise in list_exercises() {
        let (path, row, others) = (&exercise.path, &exercise.row, exercise.list_others());
        let claim = find_claim(&page, row);
        let claim = claim.unwrap_or_else(|| panic!("{path}: no row `{row}` with a number in {PAGE}"));
        assert_eq!(others.len(), claim, "{path} touches {others:?}: correct `today` of `{row}` in {PAGE}");
    }
}

#[test]
fn every_exercise_applies() {
    if Command::new("git").arg("--version").output().is_err() {
        println!("SKIPPED: git is not here");
        return;
    }
    for exercise in list_exercises() {
        if let Err(words) = exercise.apply(checkout(), &["--check"]) {
            let page = "docs/internals/tests.md says under `Exercises` how to make it again";
            panic!("{} does not apply any more; {page}:\n{words}", exercise.path);
        }
    }
}

/// Copies the files that git knows, as they are now.
fn copy_checkout(to: &Path) {
    let _absent = fs::remove_dir_all(to);
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(checkout()).output().unwrap();
    assert!(listed.status.success(), "{} is no checkout of git", checkout().display());
    let paths = String::from_utf8(listed.stdout).unwrap();
    for path in paths.split_terminator('\0').filter(|path| checkout().join(path).exists()) {
        fs::create_dir_all(to.join(path).parent().unwrap()).unwrap();
        fs::copy(checkout().join(path), to.join(path)).unwrap();
    }
}

/// Builds the program of a copy. Returns the warnings of the compiler, or why there is no program.
fn build(copy: &Path, target: &Path) -> Result<String, String> {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "--offline", "--bin", "systole"]);
    cargo.current_dir(copy).env("CARGO_TARGET_DIR", target);
    // The tests run in a cargo of their own.
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("CARGO_PKG")) {
        cargo.env_remove(name);
    }
    let ran = cargo.output().unwrap();
    let words = String::from_utf8_lossy(&ran.stderr).into_owned();
    if ran.status.success() { Ok(words) } else { Err(words) }
}

/// What is wrong with an exercise in a copy of the checkout.
fn try_exercise(exercise: &Exercise, copy: &Path, target: &Path) -> Vec<String> {
    if let Err(words) = exercise.apply(copy, &[]) {
        return vec![words];
    }
    let wrong = match build(copy, target) {
        // What only the removed part used is still there.
        Ok(warnings) if !warnings.is_empty() && !exercise.path.contains("/without-") => vec![warnings],
        Ok(_) => exercise.play(&target.join("debug")),
        Err(words) => vec![words],
    };
    exercise.apply(copy, &["--reverse"]).unwrap();
    wrong
}

#[test]
#[ignore = "minutes: it builds the program once for each exercise; part of make soak"]
fn every_exercise_builds_and_does_what_its_session_shows() {
    let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("exercises");
    let (copy, target) = (place.join("checkout"), place.join("target"));
    copy_checkout(&copy);
    let mut wrong = Vec::new();
    for exercise in list_exercises() {
        let found = try_exercise(&exercise, &copy, &target);
        let verdict = if found.is_empty() { "works" } else { "FAILS" };
        println!("{}: {} files beside its own, {verdict}", exercise.path, exercise.list_others().len());
        wrong.extend(found.into_iter().map(|words| format!("{}: {words}", exercise.path)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
