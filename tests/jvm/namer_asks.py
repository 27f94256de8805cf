# SPDX-License-Identifier: Apache-2.0
"""namer_asks.py NAMER OWN OTHER: what a naming process that was taken over may ask the openers.

Through the naming process's own sockets, as that process (root may say so): the command names, main
directories and programs of a process that it names, and of one that it does not. A line for each
question: whose, what, and the answer (0 or a negative errno). Before that, what is no question: empty
messages, and descriptors that nobody wants; who is asked lives on, and keeps none. At last attaching,
often, to its JVM, which is stopped meanwhile: how many processes do that at once.
"""
import array
import ctypes
import os
import signal
import socket
import struct
import sys
import time

namer, own, other = map(int, sys.argv[1:])
PIDFD_GETFD = 438
EXE, PROC, TEXT = 2, 7, 8  # user/broker/opening.h
libc = ctypes.CDLL(None, use_errno=True)


def ask(to, kind, pid, path, at, flags=0):
    """The answer's code; None: nobody answers there."""
    text = struct.pack("<QIIiiIIIII128i4x3Q2I4096s", namer << 32 | 1, kind, 0, pid, 0, flags,
                       64 if kind == TEXT else 0, 0, 0, 0, *[0] * 128, *[0] * 5, path)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.settimeout(10)
    dirfd = os.open(f"/proc/{at}", os.O_PATH | os.O_DIRECTORY)
    try:
        to.sendmsg([text], [
            (socket.SOL_SOCKET, socket.SCM_CREDENTIALS, struct.pack("iII", namer, 65534, 65534)),
            (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [dirfd, theirs.fileno()])),
        ])
        theirs.close()
        got = ours.recv(4096)
    except OSError:
        return None
    finally:
        os.close(dirfd)
    return struct.unpack_from("<i", got)[0] if len(got) >= 8 else None


def sockets():
    """Those for questions were made before all others, and so have the least numbers."""
    pidfd = os.pidfd_open(namer)
    for fd in sorted(map(int, os.listdir(f"/proc/{namer}/fd"))):
        if not os.readlink(f"/proc/{namer}/fd/{fd}").startswith("socket:"):
            continue
        got = libc.syscall(PIDFD_GETFD, pidfd, fd, 0)
        if got < 0:
            sys.exit(f"pidfd_getfd: {os.strerror(ctypes.get_errno())}")
        s = socket.socket(fileno=got)
        if s.type == socket.SOCK_SEQPACKET:
            yield s


def parent(pid):
    with open(f"/proc/{pid}/stat") as f:
        return f.read().rpartition(")")[2].split()[1]


def asked():
    """Who is asked, and how many descriptors each has."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm") as f:
                name = f.read().strip()
            if name in ("gnomon-broker", "gnomon-attacher") and parent(pid) == parent(namer):
                found[name, pid] = len(os.listdir(f"/proc/{pid}/fd"))
        except OSError:
            pass
    return found


def nonsense(to):
    gifts = array.array("i", [0, 1, 2, 0, 1])
    for _ in range(20):
        try:
            to.sendmsg([b""], [], socket.MSG_DONTWAIT)
            to.sendmsg([b"no question"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, gifts)],
                       socket.MSG_DONTWAIT)
        except OSError:
            time.sleep(0.01)


def attach(to, pid):
    """The socket for the answer."""
    text = struct.pack("<IiQQIi", 1, pid, 1, 0, 0, 0)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        to.sendmsg([text], [
            (socket.SOL_SOCKET, socket.SCM_CREDENTIALS, struct.pack("iII", namer, 65534, 65534)),
            (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [theirs.fileno()])),
        ])
    return ours


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        return len(f.read().split())


def attaching(to):
    """How many processes attach at once, of twenty jobs that take long."""
    attacher = next(pid for name, pid in asked() if name == "gnomon-attacher")
    os.kill(own, signal.SIGSTOP)
    try:
        answers = [attach(to, own) for _ in range(20)]
        most = 0
        for _ in range(50):
            most = max(most, children(attacher))
            time.sleep(0.02)
    finally:
        os.kill(own, signal.SIGCONT)
    for a in answers:
        a.close()
    return most


places = list(sockets())
to = places[0]
before = asked()
for s in places[:3]:
    nonsense(s)
for _ in range(100):
    if asked() == before:
        break
    time.sleep(0.02)
print("after nonsense", "as before" if len(before) == 2 and asked() == before
      else f"{asked()}, before {before}")
if ask(to, TEXT, own, b"comm", own) is None:
    sys.exit("nobody answers")
print("own comm", ask(to, TEXT, own, b"comm", own))
print("own exe", ask(to, EXE, own, b"", own))
print("other comm", ask(to, TEXT, other, b"comm", other))
print("other root", ask(to, PROC, other, b"root", other, os.O_PATH | os.O_DIRECTORY))
print("other exe", ask(to, EXE, other, b"", other))
print("others exe as its own", ask(to, EXE, own, b"", other))
print("detour", ask(to, TEXT, own, b"root/etc/shadow", own))
print("attaching at once", attaching(places[2]))
