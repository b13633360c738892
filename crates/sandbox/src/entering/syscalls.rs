//! seccomp: the system calls that a program in a sandbox does not get. The list is data; everything else is allowed.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Width, SeccompCmpOp as Is, SeccompCondition,
    SeccompFilter, SeccompRule, apply_filter, sock_filter,
};

use crate::policy::{SandboxLevel, SandboxPolicy};

/// Calls that are always refused.
const REFUSED: [i64; 55] = [
    libc::SYS_socket,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_chroot,
    libc::SYS_kexec_load,
    SYS_KEXEC_FILE_LOAD,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_acct,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    libc::SYS_personality,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
    // It holds memory that no mapping shows.
    libc::SYS_vmsplice,
];

/// Without an own namespace these reach other processes of this user, or leave the process group.
const REFUSED_AT_LANDLOCK: [i64; 8] = [
    libc::SYS_setsid,
    libc::SYS_setpgid,
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_msgget,
    libc::SYS_semget,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// Calls that old kernels lack, so that programs know what to do without them. The arguments of the first five are in
/// memory, where a filter cannot see them. The last two make memory that no mapping needs to show, so it could not be
/// counted.
const ABSENT: [i64; 7] = [
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_clone3,
    libc::SYS_openat2,
    libc::SYS_memfd_create,
    libc::SYS_memfd_secret,
];

#[cfg(target_arch = "x86_64")]
const SYS_KEXEC_FILE_LOAD: i64 = libc::SYS_kexec_file_load;
#[cfg(not(target_arch = "x86_64"))]
const SYS_KEXEC_FILE_LOAD: i64 = 294;

/// Bits that let a file run as its owner or group.
const SET_ID: [u64; 2] = [libc::S_ISUID as u64, libc::S_ISGID as u64];
/// Kinds of new namespaces.
const NEW: [i32; 8] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
    0x80,
];
/// The kind of a socket, without its flags.
const KIND: u64 = 0xf;
/// The kind of `ioprio_set` that means one process.
const IO_OF_PROCESS: u64 = 1;
/// The first number of the x32 calls, which would pass for others.
const X32: u32 = 0x4000_0000;

/// Forbids the calls for good, for this process and all that it starts.
pub(super) fn forbid_calls(level: SandboxLevel, abi: i32, policy: &SandboxPolicy) -> Result<(), String> {
    let told = |error: &dyn std::fmt::Display| format!("cannot limit the system calls: {error}");
    let absent = ABSENT.into_iter().filter(|call| !(policy.opens_below && *call == libc::SYS_openat2));
    let filters = [
        make_filter(
            list_refused(level, abi, !policy.net.is_empty()).map_err(|error| told(&error))?,
            libc::EPERM,
        ),
        make_filter(absent.map(|call| (call, Vec::new())).collect(), libc::ENOSYS),
    ];
    apply_filter(&make_x32_guard()).map_err(|error| told(&error))?;
    for filter in filters {
        apply_filter(&filter.map_err(|error| told(&error))?).map_err(|error| told(&error))?;
    }
    Ok(())
}

type RefusedCalls = BTreeMap<i64, Vec<SeccompRule>>;

fn make_filter(refused: RefusedCalls, number: i32) -> Result<BpfProgram, seccompiler::BackendError> {
    let refusal = SeccompAction::Errno(number.unsigned_abs());
    let arch = std::env::consts::ARCH.try_into()?;
    // A call by the numbers of another architecture ends the process.
    SeccompFilter::new(refused, SeccompAction::Allow, refusal, arch)?.try_into()
}

/// Refuses every x32 call. Only x86-64 has them.
fn make_x32_guard() -> BpfProgram {
    let step = |code: u32, jt, jf, k| sock_filter { code: code.try_into().unwrap_or(0), jt, jf, k };
    vec![
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 0, 1, X32),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, SeccompAction::Errno(libc::EPERM.unsigned_abs()).into()),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, SeccompAction::Allow.into()),
    ]
}

fn list_refused(
    level: SandboxLevel,
    abi: i32,
    has_net: bool,
) -> Result<RefusedCalls, seccompiler::BackendError> {
    let mut all: RefusedCalls = REFUSED.map(|call| (call, Vec::new())).into();
    if has_net {
        all.insert(libc::SYS_socket, list_all_but_tcp()?);
    }
    if level == SandboxLevel::Landlock {
        all.extend(REFUSED_AT_LANDLOCK.map(|call| (call, Vec::new())));
    }
    forbid_on_others(&mut all, level)?;
    // Memory that this swaps out is counted no more.
    all.insert(
        libc::SYS_madvise,
        vec![make_rule(&[(2, Width::Dword, Is::Eq, u64::from(libc::MADV_PAGEOUT.unsigned_abs()))])?],
    );
    // Such pages stay when they are in no page table any more, and no list of mappings shows how many there are.
    all.insert(libc::SYS_mmap, vec![has_all(3, libc::MAP_SHARED | libc::MAP_ANONYMOUS)?]);
    if abi < 3 {
        // Landlock does not see it yet; `ftruncate` needs an open file.
        all.insert(libc::SYS_truncate, Vec::new());
    }
    all.insert(libc::SYS_socketpair, list_pairs()?);
    all.insert(libc::SYS_clone, make_each(&NEW.map(|flag| u64::from(flag.unsigned_abs())), 0, None)?);
    for (call, mode) in [
        (libc::SYS_fchmod, 1),
        (libc::SYS_fchmodat, 2),
        (SYS_FCHMODAT2, 2),
        (libc::SYS_mknodat, 2),
        (libc::SYS_mkdirat, 2),
    ] {
        all.insert(call, make_each(&SET_ID, mode, None)?);
    }
    all.insert(libc::SYS_openat, make_rules(1, 3)?);
    #[cfg(target_arch = "x86_64")]
    {
        for call in [libc::SYS_chmod, libc::SYS_creat, libc::SYS_mknod, libc::SYS_mkdir] {
            all.insert(call, make_each(&SET_ID, 1, None)?);
        }
        all.insert(libc::SYS_open, make_rules(0, 2)?);
        for call in [libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_modify_ldt] {
            all.insert(call, Vec::new());
        }
    }
    let ioctls =
        [libc::TIOCSTI, libc::TIOCLINUX].map(|request| make_rule(&[(1, Width::Dword, Is::Eq, request)]));
    all.insert(libc::SYS_ioctl, ioctls.into_iter().collect::<Result<_, _>>()?);
    Ok(all)
}

/// Adds the calls that change the limits, the priority, the policy or the processors of another process. At level `full`
/// only those processes are in reach that it started, and the inner process, which has the number 1. At level `landlock`
/// it would be every process of this user, so a program may change only itself there.
fn forbid_on_others(all: &mut RefusedCalls, level: SandboxLevel) -> Result<(), seccompiler::BackendError> {
    let other = |argument: u8| match level {
        SandboxLevel::Full => make_rule(&[(argument, Width::Dword, Is::Eq, 1)]),
        SandboxLevel::Landlock => make_rule(&[(argument, Width::Dword, Is::Ne, 0)]),
    };
    for call in [
        libc::SYS_prlimit64,
        libc::SYS_sched_setscheduler,
        libc::SYS_sched_setparam,
        libc::SYS_sched_setattr,
        libc::SYS_sched_setaffinity,
    ] {
        all.insert(call, vec![other(0)?]);
    }
    // These take a process, a group or a user. The outer process is in the group.
    for (call, process) in
        [(libc::SYS_setpriority, libc::PRIO_PROCESS.into()), (libc::SYS_ioprio_set, IO_OF_PROCESS)]
    {
        all.insert(call, vec![make_rule(&[(0, Width::Dword, Is::Ne, process)])?, other(1)?]);
    }
    Ok(())
}

/// This number is the same on every architecture; the crate of constants lacks it for some.
const SYS_FCHMODAT2: i64 = 452;

/// Sockets that are not streams of the internet's protocols.
fn list_all_but_tcp() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let known = [libc::AF_INET, libc::AF_INET6].map(|family| u64::from(family.unsigned_abs()));
    let stream = u64::from(libc::SOCK_STREAM.unsigned_abs());
    let mut rules =
        vec![make_rule(&[(0, Width::Dword, Is::Ne, known[0]), (0, Width::Dword, Is::Ne, known[1])])?];
    for kind in (0..=KIND).filter(|kind| *kind != stream) {
        rules.push(make_rule(&[(1, Width::Dword, Is::MaskedEq(KIND), kind)])?);
    }
    Ok(rules)
}

/// Pairs of sockets that are not streams between processes of this machine.
fn list_pairs() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let local = u64::from(libc::AF_UNIX.unsigned_abs());
    let stream = u64::from(libc::SOCK_STREAM.unsigned_abs());
    let mut rules = vec![make_rule(&[(0, Width::Dword, Is::Ne, local)])?];
    for kind in (0..=KIND).filter(|kind| *kind != stream) {
        rules.push(make_rule(&[(1, Width::Dword, Is::MaskedEq(KIND), kind)])?);
    }
    Ok(rules)
}

/// Files that an `open` makes with a bit that lets them run as their owner. Without a new file the mode means nothing.
fn make_rules(flags: u8, mode: u8) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let mut rules = Vec::new();
    // O_TMPFILE without the bit of a folder, which it shares with another flag.
    for maker in [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY] {
        let maker = u64::from(maker.unsigned_abs());
        rules.extend(make_each(&SET_ID, mode, Some((flags, maker)))?);
    }
    Ok(rules)
}

/// One rule for each bit of an argument, optionally only if a bit of another argument is set.
fn make_each(
    bits: &[u64],
    argument: u8,
    and: Option<(u8, u64)>,
) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let rule = |bit: &u64| {
        let mut conditions = vec![(argument, Width::Dword, Is::MaskedEq(*bit), *bit)];
        conditions.extend(and.map(|(other, set)| (other, Width::Dword, Is::MaskedEq(set), set)));
        make_rule(&conditions)
    };
    bits.iter().map(rule).collect()
}

/// All these bits of an argument.
fn has_all(argument: u8, bits: i32) -> Result<SeccompRule, seccompiler::BackendError> {
    let bits = u64::from(bits.unsigned_abs());
    make_rule(&[(argument, Width::Dword, Is::MaskedEq(bits), bits)])
}

fn make_rule(conditions: &[(u8, Width, Is, u64)]) -> Result<SeccompRule, seccompiler::BackendError> {
    let made = conditions.iter().map(|(argument, width, is, value)| {
        SeccompCondition::new(*argument, width.clone(), is.clone(), *value)
    });
    SeccompRule::new(made.collect::<Result<_, _>>()?)
}
