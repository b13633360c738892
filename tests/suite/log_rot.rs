//! A rotten row in the cache of a log, as `systole doctor` and the next start find it.

use systole_log::sqlite;

use crate::log_records::edit_at;
use crate::organism::folder;
use crate::program::systole;

const FILE: &str = "organism: {name: hello, entry: greeter}
listeners:
  greeter: {run: [sh, greeter.sh], mode: once, accepts: [ask], returns: [answer]}
";
const GREETER: &str =
    "cat > /dev/null; echo '<answer xmlns=\"https://xml-pipeline.org/ns/talk/v1\">hello</answer>'\n";

#[test]
fn c15_a_rotten_row_is_named_by_doctor_and_breaks_no_chain() {
    let folder = folder(&[("organism.yaml", FILE), ("greeter.sh", GREETER)]);
    assert_eq!(systole(folder.path(), &["ask", "one"]).code, Some(0));
    let log = folder.path().join("organism.db");
    let doctor = || systole(folder.path(), &["doctor"]);
    assert!(doctor().stdout.contains("each matches its thread's records"), "{:?}", doctor());
    let rows = "UPDATE fold SET bytes = CAST(substr(bytes, 1, 30) || x'00' || substr(bytes, 32) AS BLOB)";
    edit_at(&log, rows);
    let damaged = doctor();
    assert_eq!(damaged.code, Some(7), "{damaged:?}");
    assert!(
        damaged.stdout.contains("has a wrong checksum") && damaged.stdout.contains("systole run"),
        "{damaged:?}"
    );
    // The thread goes on as if nothing had happened, and so does the next one.
    for (arguments, is_noted) in
        [(&["ask", "two", "--thread", "@last"][..], true), (&["ask", "three"], false)]
    {
        let ran = systole(folder.path(), arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "hello\n"), "{ran:?}");
        assert_eq!(
            ran.stderr.contains("corrupt rows in its cache (the table fold): 1;"),
            is_noted,
            "{ran:?}"
        );
    }
    assert!(sqlite::verify_all(&log).is_ok());
    assert_eq!(doctor().code, Some(0), "{:?}", doctor());
    edit_at(&log, "UPDATE fold SET seq = seq - 1");
    assert_eq!(doctor().code, Some(7));
    assert_eq!(systole(folder.path(), &["ask", "four", "--thread", "@last"]).code, Some(0));
    assert!(sqlite::verify_all(&log).is_ok());
}
