//! Finds who listens on a port of this machine, as the kernel shows it under `/proc`: the files that such a process
//! has open.
//!
//! Only processes of the same user can be inspected. A port goes in; paths come out; nothing is opened or connected
//! to.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The kernel's code for a listening socket.
const LISTENS: &str = "0A";

/// The open files of the processes that listen on that port.
pub fn list_listener_files(port: u16) -> Vec<PathBuf> {
    let sockets = list_listening(port);
    if sockets.is_empty() {
        return Vec::new();
    }
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let open = processes.flatten().map(|process| open_files(&process.path()));
    let listens = |files: &Vec<PathBuf>| files.iter().any(|file| sockets.contains(file));
    open.filter(listens).flatten().collect()
}

/// The open files of a process; empty if it may not be inspected.
fn open_files(process: &Path) -> Vec<PathBuf> {
    let Ok(open) = fs::read_dir(process.join("fd")) else { return Vec::new() };
    open.flatten().filter_map(|file| fs::read_link(file.path()).ok()).collect()
}

/// The sockets that listen on a port, with the names that they have among the open files of a process.
fn list_listening(port: u16) -> HashSet<PathBuf> {
    let tables =
        ["/proc/net/tcp", "/proc/net/tcp6"].map(|table| fs::read_to_string(table).unwrap_or_default());
    let lines = tables.iter().flat_map(|table| table.lines().skip(1));
    lines.filter_map(|line| parse_socket(line, port)).collect()
}

/// The socket in a line of the kernel's table, if it listens on that port.
fn parse_socket(line: &str, port: u16) -> Option<PathBuf> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let (_, hex) = fields.get(1)?.rsplit_once(':')?;
    let is_it = u16::from_str_radix(hex, 16) == Ok(port) && *fields.get(3)? == LISTENS;
    is_it.then(|| PathBuf::from(format!("socket:[{}]", fields.get(9).unwrap_or(&""))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_listens_is_known_by_what_it_has_open() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("mine");
        let _open = fs::File::create(&path).unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(list_listener_files(port).contains(&path));
        // A connection to a port does not listen there.
        let connection = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
        assert!(list_listener_files(connection.local_addr().unwrap().port()).is_empty());
        drop(listener);
        assert!(list_listener_files(port).is_empty());
    }
}
