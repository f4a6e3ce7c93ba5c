"""The decision about a shell command: denied by a group of patterns, only reading, or to be asked about. Pure.

The groups keep honest commands from doing harm and tell the model why. What confines a command is the sandbox.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import translate
from functools import lru_cache

from agent.workspace.shell_parse import Part, PartKind, parse_command

Groups = Mapping[str, Sequence[str]]

DENY_GROUPS: Groups = {
    "accounts": (
        "passwd*",
        "chpasswd*",
        "useradd*",
        "usermod*",
        "userdel*",
        "groupadd*",
        "visudo*",
        "chsh*",
        "gpasswd*",
    ),
    "containers": ("docker*", "podman*", "nerdctl*", "ctr *", "runc*", "kubectl*", "lxc*", "machinectl*"),
    "devices": (
        "mkfs*",
        "mkswap*",
        "dd *of=/dev/*",
        "fdisk*",
        "parted*",
        "losetup*",
        "mknod*",
        "> /dev/[!ns]*",
        "tee */dev/[!ns]*",
    ),
    "deleting_everything": (
        *(
            "rm * /",
            "rm / *",
            "rm * / *",
            "rm * /[*]",
            "rm * ~",
            "rm * ~/",
            "rm * $HOME*",
            "rm * ${HOME*",
            "rm * .[*]",
            "rm * ..",
            "rm * ../*",
        ),
        *("rm *--no-preserve-root*", "find / *-delete*", "find / *-exec*", "shred *", "wipefs*"),
    ),
    "escaping": (
        "unshare*",
        "nsenter*",
        "bwrap*",
        "chroot*",
        "pivot_root*",
        "mount",
        "mount *",
        "umount*",
        "setns*",
        "systemd-run*",
    ),
    "exhausting": ("recursion *", "stress*", "fallocate*", "swapoff*", "swapon*"),
    "injecting": (
        *(
            "LD_PRELOAD=*",
            "LD_LIBRARY_PATH=*",
            "LD_AUDIT=*",
            "BASH_ENV=*",
            "ENV=*",
            "PROMPT_COMMAND=*",
            "PYTHONSTARTUP=*",
        ),
        *("GIT_SSH_COMMAND=*", "PERL5OPT=*", "NODE_OPTIONS=*", "export LD_*", "declare *LD_*"),
    ),
    "kernel": (
        "sysctl*",
        "modprobe*",
        "insmod*",
        "rmmod*",
        "kexec*",
        "*> /proc/*",
        "*> /sys/*",
        "tee */proc/*",
        "tee */sys/*",
        "dmesg*",
    ),
    "killing": ("killall*", "pkill*", "kill * -1", "kill -1*", "kill * 1", "kill 1"),
    "networking": (
        *(
            "curl*",
            "wget*",
            "nc",
            "nc *",
            "ncat*",
            "netcat*",
            "socat*",
            "telnet*",
            "ftp*",
            "nmap*",
            "tcpdump*",
            "iptables*",
        ),
        *("nft*", "ip *", "ifconfig*", "ping*", "dig *", "nslookup*", "[<>]*/dev/tcp/*", "[<>]*/dev/udp/*"),
    ),
    "packages": (
        *("apt *", "apt-get *", "dpkg -i*", "yum *", "dnf *", "apk *", "pacman *", "snap *", "brew *", "pip *install*"),
        *(
            "pip3 *install*",
            "npm install*",
            "npm i *",
            "npm ci*",
            "yarn add*",
            "gem install*",
            "cargo install*",
            "go install*",
        ),
    ),
    "persisting": (
        "crontab*",
        "at *",
        "batch",
        "systemctl*",
        "service *",
        "launchctl*",
        "> /etc/*",
        ">> /etc/*",
        "tee */etc/*",
    ),
    "powering_off": ("reboot*", "shutdown*", "halt*", "poweroff*", "init [0-9]*", "telinit*"),
    "privileges": (
        "sudo*",
        "su",
        "su *",
        "doas*",
        "pkexec*",
        "runuser*",
        "setpriv*",
        "capsh*",
        "setcap*",
        "chmod *[ugoa+]s*",
        "chmod *[2467][0-7][0-7][0-7] *",
        "chown*",
        "chgrp*",
        "newgrp*",
    ),
    "remote_shells": ("ssh*", "scp*", "sftp*", "rsync*", "rlogin*", "mosh*", "screen", "screen *", "tmux*"),
    "secrets": (
        *(
            "*/etc/shadow*",
            "*/etc/gshadow*",
            "*/etc/sudoers*",
            "*/.ssh/*",
            "*~/.ssh*",
            "*id_rsa*",
            "*id_ed25519*",
            "*/.aws/*",
        ),
        *(
            "*/.gnupg*",
            "*/.netrc*",
            "*/proc/*/environ*",
            "*/proc/*/mem*",
            "*/proc/kcore*",
            "*/.docker/config.json*",
            "gpg *--export-secret*",
        ),
    ),
    "tracing": ("gdb*", "strace*", "ltrace*", "ptrace*", "perf *", "bpftrace*", "bpftool*"),
    "tenk": ("tenk", "tenk *", "*secrets.toml*", "*control.sock*"),
}
"""Patterns of parts that never run, by group; a pattern matches a whole part as `Part.line` writes it."""

READERS = frozenset(
    {
        *("[", "basename", "cat", "cmp", "column", "comm", "cut", "date", "df", "diff", "dirname", "du", "echo"),
        *("egrep", "expand", "expr", "factor", "false", "fgrep", "file", "fmt", "fold", "grep", "head", "hexdump"),
        *("id", "jq", "join", "ls", "md5sum", "nl", "numfmt", "od", "paste", "pr", "printf", "pwd", "readlink"),
        *("realpath", "rev", "rg", "seq", "sha1sum", "sha256sum", "sha512sum", "sort", "stat", "strings", "tac"),
        *("tail", "test", "tr", "tree", "true", "tsort", "type", "uname", "uniq", "wc", "which", "whoami"),
    }
)
"""Programs that only read. They run in a sandbox in which the folder cannot be written at all."""

GIT_READERS = frozenset({"blame", "describe", "diff", "log", "ls-files", "rev-parse", "shortlog", "show", "status"})


@dataclass(frozen=True, slots=True)
class Judged:
    """The decision about a command."""

    denied: str = ""  # group of the pattern that denies it; "": none
    part: str = ""  # the denied part
    only_reads: bool = False


DenyRules = tuple[tuple[str, re.Pattern[str]], ...]
"""Groups by name, each with one expression for its patterns."""


def deny_rules(additions: Groups) -> DenyRules:
    """Return the groups in force with those of the configuration, which replace groups of the same name."""
    groups = {**DENY_GROUPS, **additions}
    return tuple((name, re.compile("|".join(map(translate, each)))) for name, each in groups.items() if each)


@lru_cache(maxsize=128)  # a call asks several times: to check it, to permit it and to run it
def judge(command: str, rules: DenyRules) -> Judged:
    """Decide about a command."""
    parsed = parse_command(command)
    for part in parsed.parts:
        for name, pattern in rules:
            if pattern.match(part.line):
                return Judged(denied=name, part=part.line[:200])
    return Judged(only_reads=bool(parsed.parts) and not parsed.problems and all(map(_only_reads, parsed.parts)))


def _only_reads(part: Part) -> bool:
    match part.kind:
        case PartKind.COMMAND:
            return _reads(part)
        case PartKind.REDIRECTION:
            operator, *target = [word.text for word in part.words]
            return (
                operator in {"<", "<<<"}
                or target == ["/dev/null"]
                or (operator in {">&", "<&"} and "".join(target).isdigit())
            )
        case _:
            return False


def _reads(part: Part) -> bool:
    words = [word.text for word in part.words[1:]]
    if part.name == "git":
        return bool(words) and words[0] in GIT_READERS
    if part.name == "sed":
        return bool(words) and words[0] == "-n" and not any(word.startswith(("-i", "--in-place")) for word in words)
    if part.name == "find":
        return not any(word.startswith(("-delete", "-exec", "-ok", "-fprint", "-fls")) for word in words)
    return part.name in READERS
