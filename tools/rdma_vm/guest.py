"""What the guest finds in /run/rdma-vm; guest.sh reads it."""
import os


def writable(options):
    """The host's folders that the guest may write to."""
    return list(dict.fromkeys([os.getcwd(), *options.rw]))


def joined(strings):
    """Strings that may contain anything, each ended by a zero byte."""
    return b"".join(os.fsencode(string) + b"\0" for string in strings)


def files(options, kernel, siw_module):
    """{name: content}; the module's path is needed for --device siw."""
    with open(os.path.join(os.path.dirname(__file__), "guest.sh"), "rb") as script:
        guest_sh = script.read()
    return {
        "guest.sh": guest_sh,
        "settings": joined([options.device, str(options.node or ""), os.getcwd(),
                            kernel.modules, siw_module]),
        "writable": joined(writable(options)),
        "environment": joined("=".join(item) for item in os.environ.items()),
        "command": joined(options.command),
    }
