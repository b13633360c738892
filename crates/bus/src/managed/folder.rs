//! The folder of a managed server, next to the log: its configuration, its store, the keys, its address and its lock.
//! Only its owner may look into it. The address is chosen once and stays, so that listeners find it again.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{ErrorKind, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::start_fault::BrokerStartFault;
use crate::limits::{FIRST_PORT, PORT_TRIES, PORTS};
use systole_system::clock::draw_random_bytes;
use systole_system::system::{self, FileFault};

/// The folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BrokerFolder(PathBuf);

impl BrokerFolder {
    /// The folder of an existing log. Links are followed, so that a log has one folder under every name.
    pub fn new_beside(log: &Path) -> BrokerFolder {
        let log =
            fs::canonicalize(log).or_else(|_| std::path::absolute(log)).unwrap_or_else(|_| log.to_owned());
        let mut path = log.into_os_string();
        path.push(".nats");
        BrokerFolder(path.into())
    }

    /// The folder of the keys.
    pub fn keys(&self) -> PathBuf {
        self.0.join("keys")
    }

    /// The folder where the server keeps what is out.
    pub fn store(&self) -> PathBuf {
        self.0.join("store")
    }

    /// The file with its address.
    pub fn address_file(&self) -> PathBuf {
        self.0.join("address")
    }

    pub(super) fn configuration(&self) -> PathBuf {
        self.0.join("nats.conf")
    }

    pub(super) fn lock(&self) -> PathBuf {
        self.0.join("lock")
    }

    /// Makes the folder, for its owner alone.
    pub(super) fn make_folders(&self) -> Result<(), FileFault> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.0);
        // An existing folder may have been opened to others.
        let made = made.and_then(|()| fs::set_permissions(&self.0, Permissions::from_mode(0o700)));
        made.map_err(|error| system::report_no_folder(&self.0, "the folder of the broker", &error))
    }

    /// Writes the configuration in place of the previous one.
    pub fn write_configuration(&self, text: &str) -> Result<(), BrokerStartFault> {
        Ok(write_file(&self.configuration(), "the configuration of the broker", text)?)
    }

    /// Its address, which no other process uses just now.
    pub(super) fn read_address(&self) -> Result<SocketAddr, BrokerStartFault> {
        let file = self.address_file();
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return self.choose_address(),
            Err(error) => {
                return Err(system::report_unread(&file, "the address of the broker", &error).into());
            }
        };
        let address = text.trim().strip_prefix("nats://").and_then(|rest| rest.parse::<SocketAddr>().ok());
        let Some(address) = address.filter(|known| known.ip() == Ipv4Addr::LOCALHOST && known.port() > 0)
        else {
            return Err(BrokerStartFault::Address { file });
        };
        match TcpListener::bind(address) {
            Ok(_free) => Ok(address),
            Err(error) if error.kind() == ErrorKind::AddrInUse => {
                Err(BrokerStartFault::Taken { address: address.to_string(), file })
            }
            Err(error) => {
                Err(BrokerStartFault::Unstartable(format!("{address}: {}", system::describe_error(&error))))
            }
        }
    }

    fn choose_address(&self) -> Result<SocketAddr, BrokerStartFault> {
        let machine = |error: std::io::Error| BrokerStartFault::Unstartable(system::describe_error(&error));
        let mut last = None;
        for _ in 0..PORT_TRIES {
            let port = FIRST_PORT + u16::from_be_bytes(draw_random_bytes().map_err(machine)?) % PORTS;
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
            match TcpListener::bind(address) {
                Ok(_free) => {
                    let text = format!("nats://{address}\n");
                    write_file(&self.address_file(), "the address of the broker", &text)?;
                    return Ok(address);
                }
                Err(error) => last = Some(error),
            }
        }
        Err(machine(last.unwrap_or_else(|| ErrorKind::AddrInUse.into())))
    }
}

/// Writes a complete file, for its owner alone.
fn write_file(path: &Path, what: &str, text: &str) -> Result<(), FileFault> {
    let draft = path.with_extension("new");
    let written = || {
        // Only the holder of the log gets here, so an existing file was left by a killed process.
        let _absent = fs::remove_file(&draft);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&draft, path)
    };
    written().map_err(|error| system::report_unwritten(path, what, &error))
}
