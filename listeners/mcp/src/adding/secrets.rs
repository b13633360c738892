//! Which texts of a file for other hosts may be secrets. A value counts as one unless it is plainly harmless.
//!
//! In: names, values and arguments. Out: a decision, or words for a person. The words never hold a value.

use crate::limits;

/// Texts in the names of secrets, in lower case.
const IN_NAMES: [&str; 12] = [
    "key",
    "token",
    "secret",
    "pass",
    "pwd",
    "auth",
    "cred",
    "header",
    "cookie",
    "bearer",
    "jwt",
    "signature",
];
/// Ends of words in the names of secrets. Inside a word they mean nothing: `pat` is in `PATH`.
const ENDS_OF_WORDS: [&str; 2] = ["pat", "dsn"];
/// Beginnings of the keys of common services.
const BEGINNINGS: [&str; 17] = [
    "sk-",
    "sk_",
    "pk-",
    "pk_",
    "rk_",
    "gsk_",
    "xai-",
    "hf_",
    "AIza",
    "AKIA",
    "ghp_",
    "gho_",
    "github_pat_",
    "glpat-",
    "xox",
    "eyJ",
    "npm_",
];
/// First words of a flag that takes no value, such as `--no-auth`.
const SWITCHES: [&str; 4] = ["no", "without", "skip", "disable"];
/// Last words of a flag that takes a path, such as `--key-file`.
const OF_PATHS: [&str; 4] = ["file", "path", "dir", "folder"];

/// Whether a variable may be written with its value.
pub(super) fn is_harmless(name: &str, value: &str) -> bool {
    (!is_secret_name(name) || is_count(name, value)) && find_secret(value).is_none() && is_plain(value)
}

/// The first argument that may be a secret, in words that do not hold its value.
pub(super) fn find_in_arguments(arguments: &[&str]) -> Option<String> {
    arguments.iter().enumerate().find_map(|(at, argument)| {
        let pieces: Vec<&str> = argument.split_whitespace().collect();
        // The value of a flag is the rest of its own text, as in `sh -c "server --token x"`, or the next argument.
        let of_flag = pieces.iter().enumerate().find_map(|(piece, flag)| {
            let rest = pieces.get(piece + 1..).unwrap_or_default().join(" ");
            let next = || arguments.get(at + 1).map(|next| (*next).to_owned());
            let value = if rest.is_empty() { next()? } else { rest };
            let is_flag = flag.starts_with('-') && !flag.contains(['=', ':']) && !value.starts_with('-');
            // A flag with one dash may have its value in the same text, so it is not shown.
            let shown = || if flag.starts_with("--") { (*flag).to_owned() } else { format!("argument {at}") };
            (is_flag && is_secret(flag, &value)).then(|| format!("the value of {}", shown()))
        });
        let long = || is_long_code(argument).then(|| format!("argument {at}"));
        of_flag.or_else(|| find_secret(argument)).or_else(long)
    })
}

/// What in an address may be a secret.
pub(super) fn find_in_address(url: &str) -> Option<String> {
    let is_code = |piece: &str| has_run(piece, 16);
    find_secret(url).or_else(|| {
        let path = url.split_once("://").map_or(url, |(_, rest)| rest).split_once('/').map(|(_, path)| path);
        path.is_some_and(is_code).then(|| "a part of the path".to_owned())
    })
}

/// What a text holds that may be a secret, at any place in it.
fn find_secret(text: &str) -> Option<String> {
    let text = &without_references(text);
    let lower = text.to_ascii_lowercase();
    for scheme in ["bearer ", "basic "] {
        let behind = lower.split(scheme).skip(1);
        if behind.into_iter().any(|rest| rest.contains(char::is_alphanumeric)) {
            return Some(format!("a text with {}", if scheme == "basic " { "Basic" } else { "Bearer" }));
        }
    }
    if let Some(piece) = text.split_whitespace().find(|piece| has_user(piece)) {
        let scheme = piece.split_once("://").map(|(scheme, _)| scheme);
        let scheme = scheme.filter(|scheme| scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        return Some(match scheme {
            Some(scheme) => format!("the user or the password in a {scheme}:// address"),
            None => "the user or the password in an address".to_owned(),
        });
    }
    let begins = |piece: &str| {
        BEGINNINGS.iter().any(|beginning| piece.starts_with(beginning) && piece.len() > beginning.len() + 4)
    };
    if text.split(|sign: char| !sign.is_ascii_alphanumeric() && !"-_".contains(sign)).any(begins) {
        return Some("a text that begins like a key".to_owned());
    }
    for (at, sign) in text.char_indices().filter(|(_, sign)| matches!(sign, '=' | ':')) {
        let (before, behind) = (text.get(..at)?, text.get(at + 1..)?);
        let before = before.trim_end_matches(['"', '\'', ' ']);
        let is_of_name = |sign: char| sign.is_ascii_alphanumeric() || "-_.".contains(sign);
        let name = before.rsplit(|sign| !is_of_name(sign)).next().unwrap_or_default();
        let value = behind.split(['&', ';', ',']).next().unwrap_or_default().trim_matches(['"', '\'', ' ']);
        // Behind a colon a slash begins an address, or the path in a container.
        let is_path = sign == ':' && value.starts_with('/');
        if !is_path && is_secret(name, value) {
            let shown = if has_run(name, 16) { "a name that is itself like a key" } else { name };
            return Some(format!("the value of {shown}"));
        }
    }
    None
}

/// Whether a named value is a secret. Values that only switch, count or point are not.
fn is_secret(name: &str, value: &str) -> bool {
    let is_header = value.contains("${") && name.to_ascii_lowercase().contains("header");
    // In `--header Authorization:${TOKEN}` only what follows the header's name is its value.
    let value = value.split_once(':').filter(|_| is_header).map_or(value, |(_, value)| value);
    let value = without_references(value);
    let words = split_words(name);
    let is_switch = words.first().is_some_and(|word| SWITCHES.contains(&word.as_str()));
    let is_of_path = words.last().is_some_and(|word| OF_PATHS.contains(&word.as_str()));
    let rest = value.to_ascii_lowercase().replace("bearer", "").replace("basic", "");
    rest.contains(char::is_alphanumeric)
        && is_secret_name(name)
        && !is_count(name, &value)
        && !is_switch
        && !(is_of_path && is_plain(&value))
}

/// Whether a name is that of a secret.
fn is_secret_name(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    IN_NAMES.iter().any(|part| lower.contains(part))
        || split_words(name).iter().any(|word| ENDS_OF_WORDS.iter().any(|end| word.ends_with(end)))
}

/// Whether a value is a number of tokens, such as that of `MAX_TOKENS`.
fn is_count(name: &str, value: &str) -> bool {
    let digits = !value.is_empty() && value.len() <= 9 && value.bytes().all(|byte| byte.is_ascii_digit());
    digits && split_words(name).iter().any(|word| word == "tokens")
}

/// The words of a name in lower case: `apiKey` has two, as `API_KEY` has.
fn split_words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for sign in name.chars() {
        if !sign.is_alphanumeric() || (sign.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| sign.is_alphanumeric()) {
            word.extend(sign.to_lowercase());
        }
        was_lower = sign.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether a text is a number, a truth value, a few short words, a path or an address, and has no part like a code.
fn is_plain(value: &str) -> bool {
    let is_path = value.contains(['/', '\\']);
    let signs = if is_path { " ._-:,/\\~+@?&=%" } else { " ._-:,+*" };
    let is_known = |sign: char| sign.is_alphanumeric() || signs.contains(sign);
    (is_path || value.len() <= limits::SHORT_BYTES)
        && value.chars().all(is_known)
        && !split_runs(value).any(|run| is_code(run) || is_long(run, 16))
}

/// Whether a text has a user or a password as addresses have them.
fn has_user(text: &str) -> bool {
    let (scheme, rest) = text.split_once("://").map_or(("", text), |(scheme, rest)| (scheme, rest));
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if let Some((user, _)) = authority.rsplit_once('@').filter(|_| !scheme.is_empty()) {
        // Everyone logs in to Git's hosts as `git`.
        return user != "git";
    }
    // A password may hold a slash. A number between a colon and a slash is a port, and `npm:a@1` is a package.
    let Some((before, _)) = rest.rsplit_once('@').filter(|(before, _)| !before.starts_with("npm:")) else {
        return false;
    };
    before.split_once(':').is_some_and(|(_, behind)| {
        let first = behind.split('/').next().unwrap_or_default();
        !(behind.contains('/') && first.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

/// The text without `${NAME}`, which names a value and is none. The default in `${NAME:-default}` stays.
fn without_references(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("${") {
        let Some((reference, after)) = behind.split_once('}') else { break };
        shown.push_str(before);
        shown.push_str(reference.split_once(":-").map_or("", |(_, default)| default));
        rest = after;
    }
    shown.push_str(rest);
    shown
}

/// Whether an argument that is no path is a long code. The hash of an image is none.
fn is_long_code(argument: &str) -> bool {
    let is_path = argument.starts_with(['/', '.', '~']) || argument.contains("sha256:");
    !is_path && has_run(argument, 20)
}

/// Whether a text has a run of letters with digits that is at least this long.
fn has_run(text: &str, least: usize) -> bool {
    split_runs(text).any(|run| is_long(run, least))
}

fn split_runs(text: &str) -> impl Iterator<Item = &str> {
    text.split(|sign: char| !sign.is_ascii_alphanumeric()).filter(|run| !run.is_empty())
}

fn is_long(run: &str, least: usize) -> bool {
    let has_digit = run.bytes().any(|byte| byte.is_ascii_digit());
    let has_letter = run.bytes().any(|byte| byte.is_ascii_alphabetic());
    run.len() >= 2 * least || (run.len() >= least && has_digit && has_letter)
}

/// Whether a short run of letters and digits looks random: all in hex, or in upper and lower case with digits.
fn is_code(run: &str) -> bool {
    let has = |wanted: fn(&u8) -> bool| run.as_bytes().iter().any(wanted);
    let is_mixed = has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
    let is_hex = run.bytes().all(|byte| byte.is_ascii_hexdigit()) && has(u8::is_ascii_alphabetic);
    run.len() >= 8 && has(u8::is_ascii_digit) && (is_mixed || is_hex)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g9_only_plainly_harmless_variables_may_be_written_with_their_value() {
        for (name, value) in [
            ("PORT", "3000"),
            ("DEBUG", "true"),
            ("MODE", "fast: yes"),
            ("REGION", "us-east-1"),
            ("LANG", "en_US.UTF-8"),
            ("DATA_PATH", "./data/one.db"),
            ("HOME_URL", "https://api.example.com:8443/v1?page=2"),
            ("MAX_TOKENS", "4096"),
            ("EMPTY", ""),
        ] {
            assert!(is_harmless(name, value), "{name}={value}");
        }
        for (name, value) in [
            ("GITHUB_PAT", "short"),
            ("PGPASS", "x"),
            ("apiKey", "x"),
            ("SENTRY_DSN", "x"),
            ("OPENAPI_MCP_HEADERS", "{\"Authorization\":\"Bearer x\"}"),
            ("MAX_TOKENS", "abc"),
            ("DATABASE_URL", "postgres://u:p@h/d"),
            ("DATABASE_URL", "postgres://u:p/q@h/d"),
            ("DATABASE", "root:hunter2@tcp(db)/d"),
            ("ENDPOINT", "https://h/d?api_key=x"),
            ("OPTIONS", "{\"Authorization\": \"x\"}"),
            ("OPTIONS", "a=b;Password=x"),
            ("LOGIN", "sk-live-123"),
            ("LOGIN", "Kd92LmQ0x8"),
            ("LOGIN", "0123456789abcdef"),
            ("LOGIN", "d2f1c3a4-0b1c-4d2e-8f3a-1b2c3d4e5f60"),
            ("HOOK", "https://hooks.example/T0/B0/aB3dE5gH7jK9mN1pQ"),
            ("LOGIN", "pa$$word!"),
            ("LOGIN", "a line\nand another"),
        ] {
            assert!(!is_harmless(name, value), "{name}={value}");
        }
    }

    #[test]
    fn g9_an_argument_that_may_be_a_secret_is_named_without_its_value() {
        let found = |arguments: &[&str]| find_in_arguments(arguments);
        for (arguments, wanted) in [
            (&["--api-key", "sk-live-123"][..], "the value of --api-key"),
            (&["x", "--token=abc"], "the value of --token"),
            (&["--password", "12345"], "the value of --password"),
            (&["-ppassword", "x"], "the value of argument 0"),
            (&["-e", "API_KEY=abc"], "the value of API_KEY"),
            (&["--header", "X-Api: abc"], "the value of --header"),
            (&["-H", "Authorization: Bearer abc"], "a text with Bearer"),
            (&["postgresql://user:hunter2@db/x"], "the user or the password in a postgresql:// address"),
            (&["https://abc@db/x"], "the user or the password in a https:// address"),
            (&["https://db/x?sig=1&token=abc"], "the value of token"),
            (&["sh", "-c", "server --token abc"], "the value of --token"),
            (&["{\"apiKey\": \"abc\"}"], "the value of apiKey"),
            (&["--auth", "${AUTH:-abc}"], "the value of --auth"),
            (&["ghp_0123456789"], "a text that begins like a key"),
            (&["x", "k3k3k3k3k3k3k3k3k3k3k3"], "argument 1"),
        ] {
            assert_eq!(found(arguments).as_deref(), Some(wanted), "{arguments:?}");
        }
        for arguments in [
            &["npx", "-y", "@a/files@1.2.3", "./work", "--port", "3000"][..],
            &["docker", "run", "-i", "--rm", "-e", "GITHUB_PERSONAL_ACCESS_TOKEN", "ghcr.io/github/server"],
            &["docker", "run", "-v", "/home/me/keys:/keys", "localhost:5000/a@sha256:0123456789abcdef0123"],
            &["npx", "mcp-remote", "https://a.example/mcp", "--header", "Authorization: Bearer ${AUTH}"],
            &["npx", "mcp-remote", "https://a.example/mcp", "--header", "Authorization:${AUTH}"],
            &["x", "--no-auth", "./work", "--key-file", "./one.pem", "--max-tokens", "4096", "--token"],
            &["uvx", "--from", "git+ssh://git@github.com/a/b", "words==1.2"],
            &["/nix/store/0c5b8vw40dy178xlpddw65q9gf1h2186-node/bin/node", "server"],
        ] {
            assert_eq!(found(arguments), None, "{arguments:?}");
        }
    }

    #[test]
    fn g9_an_address_with_a_key_is_found() {
        for url in [
            "https://a.example/mcp?api_key=x",
            "https://u:p@a.example/mcp",
            "https://a.example/s/aB3dE5gH7jK9mN1pQ/mcp",
            "https://a.example/mcp#token=x",
        ] {
            assert!(find_in_address(url).is_some(), "{url}");
        }
        for url in ["https://tickets.example/mcp", "http://127.0.0.1:8080/v1/mcp?page=2"] {
            assert_eq!(find_in_address(url), None, "{url}");
        }
    }
}
