//! A command on its own terminal, as a person uses it: input is typed, including Ctrl-C, and the screen is read as it
//! comes. Every wait has a limit; a late answer fails the test.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};

use crate::program::PATIENCE;

/// Starts a command on a terminal, and copies unread between the terminal and pipes.
const COPIES: &str = r"
import fcntl, os, pty, select, signal, struct, sys, termios
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack('HHHH', 24, int(sys.argv[1]), 0, 0))
    # Tests that are started by nohup ignore SIGHUP, and a program would inherit that.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    os.execvp(sys.argv[2], sys.argv[2:])
watched = [fd, 0]
while fd in watched:
    for ready in select.select(watched, [], [])[0]:
        try: got = os.read(ready, 65536)
        except OSError: got = b''
        if not got: watched.remove(ready)
        else: os.write(1 if ready == fd else fd, got)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) % 256)
";

/// Ctrl-C, as a key.
pub(crate) const CTRL_C: &str = "\u{3}";

/// A command on a terminal.
pub(crate) struct Terminal {
    child: Child,
    screen: Receiver<Vec<u8>>,
    bytes: Vec<u8>,
}

impl Terminal {
    /// Starts `systole` with these arguments, and these variables in its environment.
    pub(crate) fn start(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Terminal {
        Terminal::wide(80, folder, arguments, variables)
    }

    /// The same on a terminal of this many columns. There is no pager, unless a variable names one.
    pub(crate) fn wide(
        columns: u16,
        folder: &Path,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Terminal {
        let mut command = Command::new("python3");
        command.args(["-c", COPIES, &columns.to_string(), env!("CARGO_BIN_EXE_systole")]).args(arguments);
        command.current_dir(folder).envs([("TZ", "UTC"), ("PAGER", "cat"), ("TERM", "xterm")]);
        command.env_remove("COLUMNS").env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        command.envs(variables.iter().copied()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut shown = child.stdout.take().unwrap();
        // There is room for more than any test waits for.
        let (to_test, screen) = sync_channel(100_000);
        std::thread::spawn(move || {
            let mut bytes = vec![0; 1 << 16];
            while let Ok(read @ 1..) = shown.read(&mut bytes) {
                if to_test.send(bytes[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
        Terminal { child, screen, bytes: Vec::new() }
    }

    /// The screen so far.
    pub(crate) fn seen(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// Waits until the screen shows this.
    #[track_caller]
    pub(crate) fn shows(&mut self, wanted: &str) {
        while !self.seen().contains(wanted) {
            self.shows_more();
        }
    }

    /// Waits until the screen shows more.
    pub(crate) fn shows_more(&mut self) {
        match self.screen.recv_timeout(PATIENCE) {
            Ok(bytes) => self.bytes.extend(bytes),
            Err(_) => panic!("no more comes on the terminal: {}", self.seen()),
        }
    }

    /// Types this.
    pub(crate) fn types(&mut self, keys: &str) {
        self.child.stdin.as_mut().unwrap().write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for its end, and returns its code and the whole screen.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        loop {
            match self.screen.recv_timeout(PATIENCE) {
                Ok(bytes) => self.bytes.extend(bytes),
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => break,
                Err(_) => panic!("it does not end: {}", self.seen()),
            }
        }
        (self.child.wait().unwrap().code(), self.seen())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A process that has already ended is fine. Without its terminal the command ends too.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// The lines that stay on a terminal, without what was overwritten, times of day, and thread ids.
pub(crate) fn lines_that_stay(screen: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for (at, written) in screen.split('\n').enumerate() {
        if at > 0 {
            lines.push(String::new());
        }
        for (at, part) in written.split("\u{1b}[J").enumerate() {
            // Everything from the beginning of the block on is cleared, and written again.
            if at > 0 {
                let up = lines.last().and_then(|line| line.rsplit('\r').next()?.strip_prefix("\u{1b}["));
                let up = up.and_then(|up| up.strip_suffix('A')?.parse::<usize>().ok()).unwrap_or(0);
                lines.truncate(lines.len().saturating_sub(up + 1));
                lines.push(String::new());
            }
            lines.last_mut().unwrap().push_str(part);
        }
    }
    let whole: Vec<&str> =
        lines.iter().map(|line| line.rsplit("\u{1b}[K").next().unwrap_or_default().trim_end()).collect();
    crate::session::untimed(&whole.join("\n"))
        .lines()
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}
