//! The commands that need no approval: plain words, compared one by one.
//!
//! A command and patterns come in; whether one of them fits goes out. A command with any character that a shell could
//! read as more than a word never fits.

/// Why a pattern of commands cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ShellPatternFault(String);

/// Checks a pattern: words as they are in the command. A last word `*` stands for any further words.
///
/// # Errors
/// If it would fit no command, or every command.
pub fn check_shell_pattern(pattern: &str) -> Result<(), ShellPatternFault> {
    let fault = |why: &str| Err(ShellPatternFault(why.to_owned()));
    let words: Vec<&str> = pattern.split(' ').filter(|word| !word.is_empty()).collect();
    let (first, last) = match words.as_slice() {
        [] => return fault("it has no word"),
        ["*", ..] => return fault("it begins with `*`, and would fit every command; name the program"),
        [first, .., last] => (first, Some(last)),
        [first] => (first, None),
    };
    if !is_program(first) {
        return fault("its first word is no name of a program");
    }
    let count = words.len() - usize::from(last.is_some_and(|last| *last == "*"));
    for word in words.iter().take(count) {
        if !word.chars().all(is_plain) {
            return Err(ShellPatternFault(format!(
                "`{word}` has a character that a shell reads; use letters, digits and . _ - / : @ % + , = \
                 (a last word * stands for any further words)"
            )));
        }
    }
    Ok(())
}

/// Whether a command fits one of the patterns.
pub(crate) fn is_listed(command: &str, patterns: &[String]) -> bool {
    let is_simple = command.chars().all(|character| character == ' ' || is_plain(character));
    let words: Vec<&str> = command.split(' ').filter(|word| !word.is_empty()).collect();
    is_simple
        && words.first().is_some_and(|first| is_program(first))
        && patterns.iter().any(|pattern| fits_pattern(&words, pattern))
}

fn fits_pattern(words: &[&str], pattern: &str) -> bool {
    if check_shell_pattern(pattern).is_err() {
        return false;
    }
    let wanted: Vec<&str> = pattern.split(' ').filter(|word| !word.is_empty()).collect();
    match wanted.split_last() {
        Some((&"*", wanted)) => words.starts_with(wanted),
        _ => words == wanted,
    }
}

/// Whether a shell runs a word as a program: `A=b` it would take as a setting.
fn is_program(word: &str) -> bool {
    word.chars().all(is_plain) && !word.contains('=') && !word.starts_with(['-', '%', '+'])
}

/// Characters that no shell reads as anything else, anywhere in a word.
fn is_plain(character: char) -> bool {
    character.is_ascii_alphanumeric()
        || matches!(character, '.' | '_' | '-' | '/' | ':' | '@' | '%' | '+' | ',' | '=')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g2_a_pattern_fits_plain_words_and_nothing_else() {
        let patterns: Vec<String> =
            ["cargo test *", "git status", "ls", "make -j4 check"].map(str::to_owned).to_vec();
        for listed in
            ["cargo test", "cargo test -p a --all", " ls ", "git  status", "make -j4 check", "cargo test a=b"]
        {
            assert!(is_listed(listed, &patterns), "{listed}");
        }
        for not_listed in [
            "cargo testx",
            "cargo",
            "cargo build",
            "git status -s",
            "ls .",
            "lsx",
            "/bin/ls",
            "LS",
            "cargo test; rm -rf .",
            "cargo test && x",
            "cargo test & x",
            "cargo test | sh",
            "cargo test > f",
            "cargo test < f",
            "cargo test $HOME",
            "cargo test $(x)",
            "cargo test `x`",
            "cargo test (x)",
            "cargo test {a,b}",
            "cargo test\nrm x",
            "cargo test\rrm x",
            "cargo\ttest",
            "cargo test \\x",
            "cargo test *",
            "cargo test ?",
            "cargo test [a]",
            "cargo test ~",
            "cargo test # x",
            "cargo test !!",
            "cargo test 'a'",
            "cargo test \"a\"",
            "A=b cargo test",
            "PATH=. ls",
            "ls\0",
            "ls\u{a0}",
            "\u{435}cho",
            "ls \u{202e}x",
            "c\u{430}rgo test",
            "",
            " ",
        ] {
            assert!(!is_listed(not_listed, &patterns), "{not_listed:?}");
        }
        let odd: Vec<String> = ["*", "* x", "ls ; *", "a$b", ""].map(str::to_owned).to_vec();
        assert!(odd.iter().all(|pattern| check_shell_pattern(pattern).is_err()));
        assert!(!is_listed("rm -rf x", &odd) && !is_listed("", &odd), "a bad pattern fits nothing");
        for bad in ["A=b x", "-x", "cargo * test", "ls\n"] {
            assert!(check_shell_pattern(bad).is_err(), "{bad:?}");
        }
    }
}
