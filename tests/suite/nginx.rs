//! An nginx with TLS in front of an organism, as `docs/reference/console.md` describes it.

use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::elsewhere::tls::pem;
use crate::ports;

/// A proxy at `https://localhost:PORT`, gone when it is dropped.
pub(crate) struct TlsProxy {
    port: u16,
    folder: tempfile::TempDir,
    child: Option<Child>,
}

/// The block of the page that shows how a proxy is set up.
fn read_location() -> String {
    let page = std::fs::read_to_string("docs/reference/console.md").unwrap();
    let (_, block) = page.split_once("```nginx\n").expect("the page shows a proxy");
    let (block, _) = block.split_once("```").expect("the block ends");
    let (_, location) = block.split_once("    location").expect("it has a location");
    format!("    location{}", location.trim_end().trim_end_matches('}'))
}

/// The nginx of this machine, or the one that was unpacked for the tests. Debian keeps it where only root looks.
fn find_nginx() -> PathBuf {
    let unpacked = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/nginx/usr/sbin");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders =
        std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into(), unpacked]);
    let found = folders.map(|folder| folder.join("nginx")).find(|file| file.is_file());
    found.expect("nginx is missing: run `tools/prepare test`")
}

impl TlsProxy {
    /// A proxy on a free port. It passes nothing on before `start`.
    pub(crate) fn new() -> TlsProxy {
        TlsProxy { port: ports::free(), folder: tempfile::tempdir().unwrap(), child: None }
    }

    /// Its address, for `console.public`.
    pub(crate) fn public(&self) -> String {
        format!("https://localhost:{}", self.port)
    }

    /// Passes on what comes in to an organism. It is ready when this returns.
    pub(crate) fn start(&mut self, organism: SocketAddr) {
        let folder = self.folder.path();
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        std::fs::write(folder.join("cert.pem"), pem("CERTIFICATE", made.cert.der())).unwrap();
        std::fs::write(folder.join("key.pem"), pem("PRIVATE KEY", &made.signing_key.serialize_der()))
            .unwrap();
        let location = read_location().replace("http://127.0.0.1:7474", &format!("http://{organism}"));
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|name| format!("    {name}_temp_path {name};\n"))
            .concat();
        let text = format!(
            "daemon off;\nmaster_process off;\npid nginx.pid;\nerror_log stderr;\nevents {{}}\nhttp {{\n{temporary}    access_log off;\n    server {{\n    listen 127.0.0.1:{} ssl;\n    ssl_certificate cert.pem;\n    ssl_certificate_key key.pem;\n{location}}}\n}}\n",
            self.port
        );
        std::fs::write(folder.join("nginx.conf"), &text).unwrap();
        let mut command = Command::new(find_nginx());
        command.args(["-e", "stderr", "-c", "nginx.conf", "-p"]).arg(folder);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        let child = self.child.insert(child);
        let address = ("127.0.0.1", self.port);
        while TcpStream::connect(address).is_err() {
            assert!(child.try_wait().unwrap().is_none(), "nginx has ended: {text}");
            std::thread::yield_now();
        }
    }
}

impl Drop for TlsProxy {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended by itself.
            let _killed = child.kill();
            let _reaped = child.wait();
        }
    }
}
