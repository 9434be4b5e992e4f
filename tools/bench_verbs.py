"""tools/bench verbs: Weft beside bare verbs. bench/README.md tells the method.

Every side is a process that prints `op=<name> ns=<median>` for each operation. A side's score
is the least of its processes' medians. Two more sides control the measurement: the reference
once more, and the reference with 5 % of instructions added.
"""
import os
import re
import subprocess
import tempfile

from bench_figures import BenchError, pairs_of

LATENCY = [("ratio", "<=", 1.03), ("difference", "<=", 600)]
BANDWIDTH = [("ratio", ">=", 0.98)]
BOUNDS = {
    "verbs_put8": LATENCY, "verbs_get8": LATENCY, "verbs_fadd": LATENCY, "verbs_cas": LATENCY,
    "verbs_notify8": [("ratio", "<=", 1.05)],
    "verbs_put8_rate": [("ratio", ">=", 0.98)],
    "verbs_put_bw_64k": BANDWIDTH, "verbs_put_bw_1m": BANDWIDTH,
    "verbs_get_bw_64k": BANDWIDTH, "verbs_get_bw_1m": BANDWIDTH,
    "verbs_put_bw_1m_unregistered": [("ratio", ">=", 0.9)],
    "verbs_put8_instructions": [("value", "<=", 150)],
}
INSTRUCTIONS = "verbs_put8_instructions"

# The reference's name, and its operation where that is called otherwise.
REFERENCES = {
    "put8": "write_inline", "get8": "read", "fadd": "fetch_and_add", "cas": "cmp_and_swp",
    "notify8": "write_with_imm", "put8_rate": "write_inline", "put_bw_64k": "write",
    "put_bw_1m": "write", "get_bw_64k": "read", "get_bw_1m": "read",
    "put_bw_1m_unregistered": "write",
}
OPERATION_OF_REFERENCE = {"put_bw_1m_unregistered": "put_bw_1m"}
BYTES = {"64k": 64 * 1024, "1m": 1024 * 1024}

# What a script prints before each side, and a side for each operation.
SIDE = re.compile(r"side=(\w+)")
OPERATION = re.compile(r"op=(\w+) ns=([0-9]+\.?[0-9]*)")

RAW, WEFT, SAME, MORE = SIDES = ("raw", "weft", "same", "more")
# What the controls must show: (side, ratio to RAW, how far off it may be).
CONTROLS = ((SAME, 1.00, 0.02), (MORE, 1.05, 0.01))


def script(commands, rounds):
    """For bash: all sides {side: command}, in turn and then in turn backwards."""
    lines = ["set -e"]
    for number in range(rounds):
        for side in commands if number % 2 == 0 else reversed(commands):
            lines += ["echo side=%s" % side, commands[side]]
    return "\n".join(lines)


def scores(text):
    """{side: {operation: ns}} of a script's output."""
    best, side = {}, None
    for line in text.splitlines():
        if match := SIDE.fullmatch(line):
            side = best.setdefault(match[1], {})
        elif (match := OPERATION.fullmatch(line)) and side is not None:
            ns = float(match[2])
            side[match[1]] = min(ns, side.get(match[1], ns))
    return best


def rate_of(operation, ns):
    """(rate, its unit with time, and with instructions in the place of ns); None: it is a time."""
    if operation == "put8_rate":
        return 1e3 / ns, "M/s", "operations/1000_instructions"
    if "_bw_" in operation:
        return BYTES[operation.split("_")[2]] / ns, "GB/s", "bytes/instruction"
    return None


def beside(operation, ours, of, reference, counted):
    """What a figure says of our ns, and of a reference's for its operation `of`."""
    made = {}
    rate = rate_of(operation, ours)
    if rate:
        made.update(value=rate[0], unit=rate[2 if counted else 1], ratio=reference / ours,
                    reference_value=rate_of(of, reference)[0])
    else:
        made.update(value=ours, unit="instructions" if counted else "ns",
                    ratio=ours / reference, reference_value=reference)
    return {**made, "difference": ours - reference}


def figure(operation, best, counted):
    """Of one operation, from the scores."""
    of = OPERATION_OF_REFERENCE.get(operation, operation)
    try:
        ours, reference = best[WEFT][operation], best[RAW][of]
        controls = {side: best[side][of] / reference for side, _, _ in CONTROLS}
    except KeyError as e:
        raise BenchError("%s was not measured on one side: %s" % (operation, e)) from e
    return {"figure": "verbs_" + operation, "reference": "raw_" + REFERENCES[operation],
            **beside(operation, ours, of, reference, counted), **controls}


def bounds_of(name, counted):
    """Those that hold: instructions are counted, or there is none of them."""
    return [bound for bound in BOUNDS[name] if counted or bound[0] != "difference"]


def faults(made):
    """What is wrong with a figure's controls, in words."""
    return ["%s was %.3f of the reference instead of %.2f +- %.2f" % (side, made[side], ratio, off)
            for side, ratio, off in CONTROLS
            if side in made and abs(made[side] - ratio) > off + 1e-9]


def commands(path):
    """{side: command} of the programs, which path(NAME) finds."""
    raw = path("bench/verbs/raw_probe") + ' --devices="${RDMA_DEVICES/ /,}" --added='
    over_verbs = os.path.join(os.path.dirname(__file__), "../tests/verbs/over_verbs")
    weft = " ".join([path("tools/weftrun/weftrun"), "-n 2", over_verbs,
                     path("bench/verbs/weft_probe")])
    return {RAW: raw + "0", WEFT: weft, SAME: raw + "0", MORE: raw + "5"}


def run_sides(text, native, timeout):
    """What a script's sides printed, on this machine's devices or in a guest that counts and
    has so many seconds."""
    boot = [] if native else [os.path.join(os.path.dirname(__file__), "rdma-vm"), "--counted",
                              "--timeout", str(timeout), "--"]
    done = subprocess.run([*boot, "bash", "-c", text], check=False,
                          text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise BenchError("exit status %d of the probes%s\n%s" % (
            done.returncode, "" if native else ", in the guest", done.stderr.strip()))
    return done.stdout


def own_instructions(profile):
    """Of a callgrind profile: {object file: instructions in its own code}."""
    names, cost, current, called = {}, {}, "", False
    for text in profile.splitlines():
        if text.startswith(("ob=", "cob=")):
            # A name is told where its number comes first.
            number, _, name = text.partition("=")[2].partition(" ")
            names.setdefault(number, name)
            if text.startswith("ob="):
                current = names[number]
        elif text.startswith("calls="):
            called = True  # The next line is what the callee took.
        elif text and text[0] in "+-*0123456789":
            if not called:
                # A position, then the cost, which is left out when it is 0.
                cost[current] = cost.get(current, 0) + int(text.partition(" ")[2] or 0)
            called = False
    return cost


def count_posted_put(path):
    """The figure of Weft's own instructions."""
    program, null = path("bench/verbs/posted_puts"), path("bench/verbs/libibverbs.so.1")
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "callgrind.out")
        # By default the service thread may never have its turn.
        command = ["valgrind", "--tool=callgrind", "--fair-sched=yes", "--collect-atstart=no",
                   "--toggle-collect=PostPuts", "--callgrind-out-file=" + out, program]
        try:
            done = subprocess.run(command, check=False, text=True, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  env={**os.environ, "WEFT_TRANSPORTS": "verbs",
                                       "LD_LIBRARY_PATH": os.path.dirname(null)})
        except FileNotFoundError as e:
            raise BenchError("there is no valgrind: run tools/setup test") from e
        if done.returncode != 0:
            raise BenchError("exit status %d: %s\n%s" % (done.returncode, " ".join(command),
                                                         done.stderr.strip()))
        with open(out, encoding="utf-8") as file:
            cost = own_instructions(file.read())
    puts = int(pairs_of(done.stdout)["puts"])
    ours = sum(n for name, n in cost.items() if os.path.basename(name) != os.path.basename(null))
    return {"figure": INSTRUCTIONS, "value": ours / puts, "unit": "instructions",
            "reference": "-"}
