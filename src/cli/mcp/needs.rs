//! What a server asks for in its command line, its variables and its last words, and its sandbox does not give it.
//!
//! It starts nothing and writes nothing. Out: the line for the organism's file.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use systole_config::McpServer;
use systole_core::types::composition::ProgramSandbox;
use systole_mcp::installing::read_net_address;

/// What stands before the name of a host that a program looked for in vain.
const BEFORE_HOST: [&str; 5] = ["ENOTFOUND ", "EAI_AGAIN ", "host='", "resolve '", "resolve host: "];

/// The sandbox that a server needs: `sandbox: {read: [work]}`. `None` if it has no sandbox, or all that it names.
/// `words` are its last words, if it did not start.
pub(super) fn write_sandbox_line(server: &McpServer, directory: &Path, words: &str) -> Option<String> {
    let sandbox = server.program.sandbox.as_ref()?;
    let given = |paths: &[PathBuf]| -> Vec<PathBuf> {
        paths.iter().filter(|path| !is_installed(path, directory)).cloned().collect()
    };
    let (mut read, write) = (given(&sandbox.read), given(&sandbox.write));
    let mut net: BTreeSet<String> = sandbox.net.iter().cloned().collect();
    let before = (read.len(), net.len());
    let arguments = server.command.iter().skip(1);
    let variables = server.program.env.values();
    // Of a command line, files are given as they are.
    let named = arguments.map(|word| (word, false)).chain(variables.map(|value| (value, true)));
    for (word, is_variable) in named {
        let option = word.split_once('=').filter(|_| !is_variable && word.starts_with('-'));
        let value = option.map_or(word.as_str(), |(_, value)| value);
        let path = directory.join(value);
        let is_meant =
            path.is_dir() || (path.is_file() && value.len() < word.len() + usize::from(is_variable));
        let has = |folder: &PathBuf| covers_path(folder, &path);
        if let Some(address) = read_net_address(value) {
            net.insert(address);
        } else if is_meant && !covers_path(&path, directory) && !read.iter().chain(&write).any(has) {
            read.push(path);
        }
    }
    net.extend(find_hosts(words).map(|host| format!("{host}:443")));
    if before == (read.len(), net.len()) {
        return None;
    }
    let shown = |paths: &[PathBuf]| paths.iter().map(|path| write_yaml(path, directory)).collect::<Vec<_>>();
    let net = net.into_iter().map(|address| format!("\"{address}\"")).collect();
    let lists = [("read", shown(&read)), ("write", shown(&write)), ("net", net)];
    let lists = lists.iter().filter(|(_, values)| !values.is_empty());
    let lists = lists.map(|(key, values)| format!("{key}: [{}]", values.join(", ")));
    let keys: Vec<String> = lists.chain(list_limits(sandbox)).collect();
    Some(format!("sandbox: {{{}}}", keys.join(", ")))
}

/// The limits of a sandbox that are not the defaults: the line replaces the one in the file, which may set them.
fn list_limits(sandbox: &ProgramSandbox) -> impl Iterator<Item = String> {
    let usual = ProgramSandbox::default();
    let size = |bytes: u64, usual: u64| (bytes != usual).then(|| write_in_units(bytes));
    let processes = (sandbox.processes != usual.processes).then(|| sandbox.processes.to_string());
    let limits = [
        ("processes", processes),
        ("memory", size(sandbox.memory_bytes, usual.memory_bytes)),
        ("output", size(sandbox.output_bytes, usual.output_bytes)),
    ];
    limits.into_iter().filter_map(|(key, value)| Some(format!("{key}: {}", value?)))
}

/// A size in the largest unit of the organism's file that says it exactly.
fn write_in_units(bytes: u64) -> String {
    let units = [("GiB", 1_u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    let exact = units.into_iter().find(|(_, unit)| bytes.is_multiple_of(*unit));
    exact.map_or_else(|| format!("{bytes}B"), |(name, unit)| format!("{}{name}", bytes / unit))
}

/// Whether a path is one that every installed server has.
fn is_installed(path: &Path, directory: &Path) -> bool {
    path.strip_prefix(directory).is_ok_and(|path| path.starts_with(systole_config::SERVERS))
}

/// Whether a path is in a folder.
fn covers_path(folder: &Path, path: &Path) -> bool {
    match (folder.canonicalize(), path.canonicalize()) {
        (Ok(folder), Ok(path)) => path.starts_with(folder),
        _ => false,
    }
}

/// The hosts that a program could not find.
fn find_hosts(words: &str) -> impl Iterator<Item = &str> {
    let of = |before: &'static str| words.split(before).skip(1);
    let is_of_name = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '.' | '-');
    let names = BEFORE_HOST.into_iter().flat_map(of);
    let names = names.map(move |rest| rest.split(|sign| !is_of_name(sign)).next().unwrap_or_default());
    names.filter(|name| name.contains('.') && !name.ends_with('.'))
}

/// A path from the organism's folder, as YAML in brackets has it.
fn write_yaml(path: &Path, directory: &Path) -> String {
    let path: PathBuf = path.strip_prefix(directory).unwrap_or(path).components().collect();
    let text = path.display().to_string();
    let is_plain = text.chars().all(|sign| sign.is_ascii_alphanumeric() || "._-/".contains(sign));
    if is_plain && !text.starts_with('-') { text } else { serde_json::Value::from(text).to_string() }
}

#[cfg(test)]
mod tests {
    use systole_core::types::composition::ListenerProgram;
    use systole_core::types::ids::Name;

    use super::*;

    fn server(place: &Path, command: &[&str], sandbox: ProgramSandbox) -> McpServer {
        let env = [("API".to_owned(), "https://api.example.com/v1".to_owned())].into();
        let program = ListenerProgram {
            run: Vec::new(),
            adapter: Vec::new(),
            directory: place.to_owned(),
            env,
            pass: Vec::new(),
            stays: true,
            by_length: false,
            sandbox: Some(Box::new(sandbox)),
        };
        let command = command.iter().map(|word| (*word).to_owned()).collect();
        McpServer { name: Name::parse("files").unwrap(), program, command, installs: None }
    }

    #[test]
    fn g9_the_line_names_folders_and_hosts_that_a_server_asks_for() {
        let place = tempfile::tempdir().unwrap();
        for folder in ["work", "a b", "out/in"] {
            std::fs::create_dir_all(place.path().join(folder)).unwrap();
        }
        std::fs::write(place.path().join("x.json"), "").unwrap();
        let line = |command: &[&str], sandbox, words: &str| {
            write_sandbox_line(&server(place.path(), command, sandbox), place.path(), words)
        };
        let strict = ProgramSandbox::default;
        let net = "net: [\"api.example.com:443\"]";
        let of = |keys: &str| Some(format!("sandbox: {{{keys}{net}}}"));
        assert_eq!(line(&["npx", "x", "./work"], strict(), ""), of("read: [work], "));
        assert_eq!(
            line(&["x", "--root=a b", "x.json", "--file=x.json"], strict(), ""),
            of("read: [\"a b\", x.json], ")
        );
        // The whole folder of an organism holds its log.
        assert_eq!(line(&["x", ".", "/"], strict(), ""), of(""));
        let given = ProgramSandbox {
            read: vec![place.path().join(".systole/mcp/files")],
            write: vec![place.path().join("out")],
            net: vec!["api.example.com:443".to_owned()],
            ..strict()
        };
        assert_eq!(line(&["x", "out/in"], given.clone(), ""), None);
        assert_eq!(
            line(&["x", "work"], given, "getaddrinfo EAI_AGAIN data.example.org\n at x (ENOTFOUND me)"),
            Some(
                "sandbox: {read: [work], write: [out], net: [\"api.example.com:443\", \"data.example.org:443\"]}"
                    .to_owned()
            )
        );
    }

    #[test]
    fn g9_the_line_keeps_the_limits_of_the_sandbox_in_the_file() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join("work")).unwrap();
        let limited = ProgramSandbox {
            processes: 8,
            memory_bytes: 512 << 20,
            output_bytes: 3 << 30,
            ..ProgramSandbox::default()
        };
        let asking = server(place.path(), &["x", "./work"], limited);
        assert_eq!(
            write_sandbox_line(&asking, place.path(), "").as_deref(),
            Some(
                "sandbox: {read: [work], net: [\"api.example.com:443\"], processes: 8, memory: 512MiB, output: 3GiB}"
            )
        );
        assert_eq!(write_in_units(1536 << 10), "1536KiB");
        assert_eq!(write_in_units(1000), "1000B");
    }
}
