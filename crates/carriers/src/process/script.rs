//! Finds the script that an interpreter is to run, as in `python3 worker.py`, and reports if its file is missing.
//!
//! It reads only the arguments and starts nothing. If the arguments are not plainly an interpreter and a file, it
//! reports nothing: then only a start can tell.

use std::path::Path;

use systole_core::types::composition::ListenerProgram;

/// Interpreters that take the file of a script as their first argument.
const INTERPRETERS: [&str; 8] = ["python", "python3", "node", "ruby", "perl", "sh", "bash", "dash"];

/// Options that take no value, so that the script is the first argument after them.
const PLAIN_OPTIONS: [&str; 7] = ["-u", "-B", "-I", "-E", "-s", "-O", "-q"];

const ENDINGS: [&str; 7] = ["py", "js", "mjs", "cjs", "rb", "pl", "sh"];

/// Why the script of a program cannot be run; `None` if it is there, or if no script can be recognized.
pub(super) fn find_missing(program: &ListenerProgram) -> Option<String> {
    let (name, arguments) = program.run.split_first()?;
    let interpreter = Path::new(name).file_name()?.to_str()?;
    // `python3.11` is python3.
    let plain = interpreter.split_once('.').map_or(interpreter, |(plain, _)| plain);
    let script = arguments.iter().find(|argument| !PLAIN_OPTIONS.contains(&argument.as_str()))?;
    let ending = Path::new(script).extension()?.to_str()?;
    let is_script = INTERPRETERS.contains(&plain) && !script.starts_with('-') && ENDINGS.contains(&ending);
    if !is_script || program.directory.join(script).exists() {
        return None;
    }
    Some(format!(
        "{interpreter} cannot run {script}: there is no such file in {}",
        program.directory.display()
    ))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn told(run: &[&str]) -> Option<String> {
        find_missing(&ListenerProgram {
            run: run.iter().map(|word| (*word).to_owned()).collect(),
            directory: env!("CARGO_MANIFEST_DIR").into(),
            adapter: Vec::new(),
            env: BTreeMap::new(),
            pass: Vec::new(),
            stays: true,
            by_length: false,
            sandbox: None,
        })
    }

    #[test]
    fn a_script_is_missed_where_an_interpreter_would_look_for_it() {
        let told_of = |run: &[&str]| told(run).unwrap_or_default();
        let here = env!("CARGO_MANIFEST_DIR");
        let words = format!("python3 cannot run missing.py: there is no such file in {here}");
        assert_eq!(told_of(&["python3", "-u", "missing.py", "x"]), words);
        assert!(told_of(&["/usr/bin/python3.11", "/nowhere/a.py"]).contains("cannot run /nowhere/a.py"));
        for run in [
            &["python3", "-c", "print()"] as &[&str],
            &["python3", "-m", "missing.py"],
            &["python3"],
            &["sh", "config/hello/missing"],
            &["./missing.py"],
            &["cat", "missing.py"],
            &["sh", "src/../src/../Cargo.toml"],
        ] {
            assert_eq!(told(run), None, "{run:?}");
        }
    }
}
