//! The one way from a sandbox to the network: a proxy outside of it, which admits only the addresses of the policy.
//!
//! The network namespace of the sandbox has nothing but its own loopback. The outer process listens there, and hands the
//! listening socket to the proxy, which is in the network of the machine. So the program reaches the proxy and nothing
//! else, and needs no forwarder. Only level `full` has such a namespace.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recv, recvmsg, send, sendmsg, socket_with,
};

use super::{PROXY, WORD, explain_failure};

/// Variables that tell programs of a proxy. Some know only the one spelling.
pub(super) const VARIABLES: [&str; 6] =
    ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];

/// A proxy that waits for its listening socket.
pub(super) struct WaitingProxy(UnixStream);

/// Starts the proxy. This process must still be in the network of the machine.
pub(super) fn start_proxy(net: &[String]) -> Result<WaitingProxy, String> {
    let (ours, theirs) =
        UnixStream::pair().map_err(|error| explain_failure("make a pair of sockets", error))?;
    let list = serde_json::to_string(net).map_err(|error| error.to_string())?;
    let mut command = Command::new("/proc/self/exe");
    command.arg(WORD).arg(PROXY).arg(list).env_clear();
    command.stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).stderr(Stdio::null());
    // It ends with this process, and is taken with the others.
    command.spawn().map_err(|error| explain_failure("start the proxy", error))?;
    Ok(WaitingProxy(ours))
}

/// Listens on the loopback of the sandbox, and hands the socket to the proxy. Returns its port. This process must be in
/// the network of the sandbox.
pub(super) fn open_network(proxy: &WaitingProxy) -> Result<u16, String> {
    bring_loopback_up().map_err(|error| explain_failure("bring the loopback up", error))?;
    let told = |error: std::io::Error| explain_failure("listen in the sandbox", error);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(told)?;
    let port = listener.local_addr().map_err(told)?.port();
    let files = [listener.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(&files)) {
        return Err("the socket has no room in a message".to_owned());
    }
    sendmsg(&proxy.0, &[IoSlice::new(b"l")], &mut control, SendFlags::empty())
        .map_err(|error| explain_failure("hand the socket over", error))?;
    Ok(port)
}

/// The listening socket that the outer process hands over on stdin.
pub(super) fn take_over_socket() -> Result<TcpListener, String> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(std::io::stdin(), &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC)
        .map_err(|error| explain_failure("take the socket", error))?;
    let found = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut files) => files.next(),
        _ => None,
    });
    found.map(TcpListener::from).ok_or_else(|| "no socket was handed over".to_owned())
}

/// The interface `lo` is always the first one of a namespace.
const LOOPBACK: i32 = 1;
/// Bytes of a head and of what follows it.
const REQUEST_BYTES: u32 = 32;

/// Asks the kernel, over its protocol for routes, to let the loopback of this namespace work.
fn bring_loopback_up() -> rustix::io::Result<()> {
    let kernel = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    let mut request = Vec::new();
    request.extend(REQUEST_BYTES.to_ne_bytes());
    request.extend(libc::RTM_NEWLINK.to_ne_bytes());
    let flags = libc::NLM_F_REQUEST | libc::NLM_F_ACK;
    request.extend(u16::try_from(flags).unwrap_or_default().to_ne_bytes());
    // The number of the request, the sender, the family and the kind of the interface.
    request.extend([1_u32.to_ne_bytes(), [0; 4], [0; 4]].concat());
    request.extend(LOOPBACK.to_ne_bytes());
    request.extend([libc::IFF_UP.to_ne_bytes(); 2].concat());
    send(&kernel, &request, SendFlags::empty())?;
    let mut answer = [0_u8; 64];
    let (length, _) = recv(&kernel, &mut answer[..], RecvFlags::empty())?;
    let kind = answer.get(4..6).and_then(|two| two.try_into().ok()).map(u16::from_ne_bytes).map(i32::from);
    let error = answer.get(16..20).and_then(|four| four.try_into().ok()).map(i32::from_ne_bytes);
    match (length >= 20, kind, error) {
        (true, Some(libc::NLMSG_ERROR), Some(0)) => Ok(()),
        (true, Some(libc::NLMSG_ERROR), Some(error)) => Err(rustix::io::Errno::from_raw_os_error(-error)),
        _ => Err(rustix::io::Errno::PROTO),
    }
}
