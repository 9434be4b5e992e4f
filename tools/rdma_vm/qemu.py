"""The virtual machine: its command line, its output, and its end."""
import os
import selectors
import signal
import sys

from rdma_vm import guest, processes
from rdma_vm.failure import TIMED_OUT, Failure

QEMU = "qemu-system-x86_64"
CONSOLE_LINES = 60


def check_installed():
    processes.program(QEMU)


def quoted(value):
    """A value inside one of QEMU's comma-separated options."""
    return value.replace(",", ",,")


def share(path, tag, more=""):
    return ["-virtfs", "local,path=%s,mount_tag=%s,security_model=none,multidevs=remap%s" %
            (quoted(path), tag, more)]


def clock(options):
    """(QEMU's options, the kernel's): how the guest's time passes."""
    if not options.counted:
        return ["-accel", "tcg,thread=multi,tb-size=256"], ""
    # A nanosecond of the guest is an instruction, whatever this machine is doing.
    return (["-accel", "tcg,thread=single,tb-size=256", "-icount", "shift=0,sleep=off"],
            " tsc=reliable clocksource=tsc")


def lan(options):
    if options.node is None:
        return []
    return ["-netdev", "socket,id=lan,mcast=239.77.1.1:%d,localaddr=127.0.0.1" % options.lan,
            "-device", "virtio-net-pci,netdev=lan,mac=52:54:00:77:01:%02x,romfile=" % options.node]


def command_line(options, kernel, initrd, console, ports):
    """QEMU's arguments. The last three are descriptors: ports has one for each of the guest's."""
    time, kernel_time = clock(options)
    line = [QEMU, "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
            "-machine", "q35", *time,
            # With erms or fsrm the guest copies by `rep movsb`, which QEMU does bytewise: a
            # word of eight bytes would tear. With rep_good (112), which its kernel assumes,
            # it copies less than eight bytes so.
            "-cpu", "max,erms=off,fsrm=off", "-smp", str(options.cpus), "-m", str(options.mem),
            "-kernel", kernel.image, "-initrd", "/dev/fd/%d" % initrd,
            "-append", "console=ttyS0 quiet panic=-1 oops=panic mitigations=off nowatchdog "
                       "clearcpuid=112" + kernel_time,
            "-chardev", "file,id=console,path=/dev/fd/%d,append=on" % console,
            "-serial", "chardev:console", "-device", "virtio-serial-pci"]
    for number, port in enumerate(ports, 1):
        line += ["-chardev", "file,id=port%d,path=/dev/fd/%d,append=on" % (number, port),
                 "-device", "virtserialport,chardev=port%d,nr=%d" % (number, number)]
    line += share("/", "root", ",readonly=on")
    for number, folder in enumerate(guest.writable(options)):
        line += share(folder, "writable%d" % number)
    return line + lan(options)


def write_all(handle, data):
    while data:
        data = data[os.write(handle, data):]


def on_timeout(options):
    def fail(_signal, _frame):
        raise Failure("timed out after %d s" % options.timeout, TIMED_OUT)
    return fail


def run(options, kernel, initrd, parent):
    """The command's exit status. Fails when `parent`, a process's descriptor, becomes readable."""
    pipes = [os.pipe() for _ in range(4)]
    (out, err, status, console), ends = zip(*pipes)
    line = command_line(options, kernel, initrd, ends[3], ends[:3])
    machine = processes.start(line, stdout=ends[3], stderr=ends[3], pass_fds=(initrd, *ends))
    for end in (initrd, *ends):
        os.close(end)
    received = {status: bytearray(), console: bytearray()}
    signal.signal(signal.SIGALRM, on_timeout(options))
    signal.alarm(options.timeout)
    try:
        forward({out: sys.stdout.fileno(), err: sys.stderr.fileno()}, received, parent)
    finally:
        signal.alarm(0)
        machine.kill()
        machine.wait()
    if received[status]:
        return int(received[status])
    log = received[console].decode(errors="replace").split("\n")
    print(*log[-CONSOLE_LINES:], sep="\n", file=sys.stderr)
    raise Failure("the guest did not boot, or died; above is the end of its console")


def forward(streams, received, parent):
    """Copies streams {from: to} and keeps what is received {from: bytes}, to the end of all."""
    with selectors.DefaultSelector() as selector:
        for source in (*streams, *received, parent):
            selector.register(source, selectors.EVENT_READ)
        while len(selector.get_map()) > 1:
            for key, _ in selector.select():
                if key.fd == parent:
                    raise Failure("the process that started this one has ended")
                data = os.read(key.fd, 1 << 16)
                if not data:
                    selector.unregister(key.fd)
                elif key.fd in streams:
                    write_all(streams[key.fd], data)
                else:
                    received[key.fd] += data
