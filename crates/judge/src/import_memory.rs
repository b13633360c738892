//! Puts imported schema documents where libxml2 finds them: into sealed memory of this process.
//!
//! libxml2 resolves an import without a location to a namespace that it has already loaded, and it can load
//! several documents only by their locations. So this file makes a schema that declares nothing itself and
//! imports each document by the path of an anonymous memory file. Documents with their namespaces come in;
//! that schema goes out. No file and no socket is ever opened, and the memory can no longer be changed.

use std::io::Write as _;
use std::os::fd::{AsRawFd as _, OwnedFd};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use systole_kit::writer::XmlWriter;

const XSD: &str = "http://www.w3.org/2001/XMLSchema";

/// A schema document and the namespace that it declares.
#[derive(Clone, Copy)]
pub(super) struct SchemaFile<'d> {
    pub(super) namespace: &'d str,
    pub(super) xsd: &'d [u8],
}

/// Documents in memory, and the schema that imports them all. They exist as long as this value.
pub(super) struct SealedSchemas {
    pub(super) driver: Vec<u8>,
    _documents: Vec<OwnedFd>,
}

impl SealedSchemas {
    /// Puts the documents into memory.
    pub(super) fn from_documents(documents: &[SchemaFile<'_>]) -> std::io::Result<SealedSchemas> {
        let mut kept = Vec::with_capacity(documents.len());
        let mut paths = Vec::with_capacity(documents.len());
        for document in documents {
            let sealed = seal_bytes(document.xsd)?;
            paths.push(format!("/proc/self/fd/{}", sealed.as_raw_fd()));
            kept.push(sealed);
        }
        let mut writer = XmlWriter::with_capacity(256);
        writer.open("schema").xmlns(XSD).content(|inside| {
            for (document, path) in documents.iter().zip(&paths) {
                let import = inside.open("import").attr("namespace", document.namespace);
                import.attr("schemaLocation", path).empty();
            }
        });
        Ok(SealedSchemas { driver: writer.finish(), _documents: kept })
    }
}

/// Bytes in anonymous memory that can no longer be written, and that no child inherits.
fn seal_bytes(bytes: &[u8]) -> std::io::Result<OwnedFd> {
    let memory = memfd_create(c"systole-schema", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    let mut file = std::fs::File::from(memory);
    file.write_all(bytes)?;
    let memory = OwnedFd::from(file);
    fcntl_add_seals(&memory, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
    Ok(memory)
}
