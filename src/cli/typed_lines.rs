//! Lines that a person types.

use tokio::sync::mpsc;

/// Lines from stdin, read on a separate thread, because typing cannot be interrupted.
pub(super) fn read_lines() -> mpsc::Receiver<String> {
    // One line may be typed ahead; the terminal keeps further ones.
    let (to_talk, lines) = mpsc::channel(1);
    std::thread::spawn(move || {
        for line in std::io::stdin().lines().map_while(Result::ok) {
            if to_talk.blocking_send(line).is_err() {
                return;
            }
        }
    });
    lines
}
