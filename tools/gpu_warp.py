"""A warp of an NVIDIA GPU, as far as the kernels need one: runs the machine code that nvcc made, as
nvdisasm prints it, a warp at a time, and counts how often each instruction is issued.  It knows
what instructions do, not how long they take.

Lanes that part at a branch are groups, each with its own place in the program; they meet again
where the code says so (BSYNC, WARPSYNC).  Registers are arrays of a value a lane.
"""
import re

import numpy as np

LANES = 32
ALL = np.ones(LANES, bool)
U32, U64 = np.uint32, np.uint64
SHARED_BYTES = 48 << 10
LOCAL_TOP = 0x1000
GLOBAL_BASE = 0x10000000

INSTRUCTION = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(?:@(!?)(U?P)(\w+)\s+)?"
                         r"([A-Z0-9_.x]+)\s*(.*?)\s*;")
LOCATION = re.compile(r'File "([^"]+)", line (\d+)(?: inlined at "([^"]+)", line (\d+))?')
ADDRESS = re.compile(r"\[(.*)\]")


class Unknown(Exception):
    """An instruction, or a way to write it, that this module does not know."""


class Instruction:
    """A line of the listing: where it stands, what it does, and the source lines, inner first."""

    def __init__(self, place, guard, name, operands, source):
        self.place, self.guard, self.source = place, guard, source
        self.name, *self.flags = name.split(".")
        self.operands = operands
        self.text = f"{name} {', '.join(operands)}"


def parse(listing, kernel):
    """The instructions of a kernel in the listing of `nvdisasm -c -gi`, by number, with labels made
    numbers."""
    lines = iter(listing.splitlines())
    begin = f".text.{kernel}:"
    for line in lines:
        if line.strip() == begin:
            break
    labels, code, source = {}, [], ()
    chain = []
    for line in lines:
        if line.startswith("//-----") or line.strip().startswith(".section"):
            break
        location = LOCATION.search(line) if "//##" in line else None
        match = INSTRUCTION.search(line)
        if location:
            chain.append((location[1].rsplit("/", 1)[-1], int(location[2])))
            continue
        if chain:
            source, chain = tuple(chain), []
        if line.startswith(".L_"):
            labels[line.strip().rstrip(":")] = len(code)
        elif match:
            place, negated, kind, number, name, rest = match.groups()
            guard = (kind, number, bool(negated)) if kind else None
            rest = re.sub(r"\(\*.*", "", rest).strip()
            operands = [word.strip().replace(".reuse", "") for word in rest.split(",") if word]
            code.append(Instruction(int(place, 16), guard, name, operands, source))
    if not code:
        raise Unknown(f"there is no kernel {kernel}")
    return code, labels


def constants_of(cubin, kernel):
    """Bank 2 of a kernel, from the sections of an ELF file."""
    read = int.from_bytes
    table, size = read(cubin[0x28:0x30], "little"), read(cubin[0x3a:0x3c], "little")
    count, names = read(cubin[0x3c:0x3e], "little"), read(cubin[0x3e:0x40], "little")

    def section(i):
        at = table + i * size
        return (read(cubin[at:at + 4], "little"), read(cubin[at + 24:at + 32], "little"),
                read(cubin[at + 32:at + 40], "little"))
    base = section(names)[1]
    for i in range(count):
        name, at, size_bytes = section(i)
        if cubin[base + name:].split(b"\0", 1)[0].decode() == f".nv.constant2.{kernel}":
            return np.frombuffer(cubin[at:at + size_bytes], np.uint8)
    return np.zeros(0, np.uint8)


class Memory:
    """Bytes from an address on; reads and writes values of all lanes at once."""

    def __init__(self, base, size):
        self.base, self.bytes = base, np.zeros(size, np.uint8)

    def places(self, address, size):
        at = address.astype(np.int64) - self.base
        if (at < 0).any() or (at + size > len(self.bytes)).any() or (at % size).any():
            raise Unknown(f"address {address} of {size} bytes")
        return at

    def load(self, address, size):
        at = self.places(address, size)
        value = self.bytes[at].astype(U64)
        for k in range(1, size):
            value |= self.bytes[at + k].astype(U64) << U64(8 * k)
        return value

    def store(self, address, size, value):
        at = self.places(address, size)
        for k in range(size):
            self.bytes[at + k] = (value >> U64(8 * k)).astype(np.uint8)


class Group:
    """Lanes that go through the program together."""

    def __init__(self, at, mask):
        self.at, self.mask = at, mask


def signed(value):
    return value.astype(U32).view(np.int32).astype(np.int64)


def wide(value):
    return np.asarray(value, U32).astype(U64)


class Warp:
    """A group of 32 threads that runs `code` from its first instruction."""

    def __init__(self, code, labels, bank2, arch):
        self.code, self.labels, self.bank2 = code, labels, bank2
        self.place_of = {one.place: i for i, one in enumerate(code)}
        self.parameters_at = 0x210 if arch >= 90 else 0x160
        self.steps = [self.decode(one) for one in code]
        self.issued = np.zeros(len(code), np.int64)

    def run(self, parameters, memory, block=(0, 1), limit=10_000_000):
        """Runs group block[0] of block[1]; parameters are words of 32 bits."""
        self.R = np.zeros((256, LANES), U32)
        self.UR = np.zeros((64, LANES), U32)
        self.P = np.zeros((8, LANES), bool)
        self.UP = np.zeros((8, LANES), bool)
        self.P[7] = self.UP[7] = True
        self.memory, self.block = memory, block
        self.shared = Memory(0, SHARED_BYTES)
        self.local = [Memory(0, LOCAL_TOP) for _ in range(LANES)]
        self.bank0 = np.zeros(0x400, np.uint8)
        self.bank0[0x0:0x4] = np.frombuffer(U32(LANES).tobytes(), np.uint8)
        self.bank0[0xc:0x10] = np.frombuffer(U32(block[1]).tobytes(), np.uint8)
        self.bank0[0x28:0x2c] = np.frombuffer(U32(LOCAL_TOP).tobytes(), np.uint8)
        words = np.asarray(parameters, U32).tobytes()
        self.bank0[self.parameters_at:self.parameters_at + len(words)] = np.frombuffer(
            words, np.uint8)
        self.barrier = np.zeros((16, LANES, LANES), bool)
        self.live = ALL.copy()
        self.ready = [Group(0, ALL.copy())]
        self.waiting = []
        while self.ready:
            group = min(self.ready, key=lambda one: one.at)
            self.ready.remove(group)
            limit -= self.go(group)
            if limit < 0:
                raise Unknown("the kernel does not end")
        if self.waiting:
            raise Unknown("lanes wait for one another for ever")

    def go(self, group):
        """Runs a group until it parts, waits or ends; returns the instructions."""
        steps, issued = self.steps, self.issued
        count = 0
        self.group = group
        self.mask = group.mask
        while True:
            at = group.at
            issued[at] += 1
            count += 1
            group.at = at + 1
            if steps[at]():
                return count

    # ---- Operands ----

    def reader(self, text):
        """A function without arguments for the value of an operand, an array of U32."""
        negative = text.startswith("-") and not re.match(r"-0x|-\d", text)
        inverse = text.startswith("~")
        absolute = text.startswith("|")
        word = text.lstrip("-~" if negative or inverse else "").strip("|")
        word = re.sub(r"\.(64|U32|H0_H0)$", "", word)
        if absolute:
            raise Unknown(text)
        if re.fullmatch(r"U?RZ|SRZ", word):
            zero = np.zeros(LANES, U32)
            def plain():
                return zero
        elif re.fullmatch(r"R\d+", word):
            i = int(word[1:])
            def plain():
                return self.R[i]
        elif re.fullmatch(r"UR\d+", word):
            i = int(word[2:])
            def plain():
                return self.UR[i]
        elif word.startswith("c["):
            plain = self.constant(word)
        elif re.fullmatch(r"-?(0x[0-9a-f]+|\d+)", word):
            value = np.full(LANES, int(word, 0) & 0xffffffff, U32)
            def plain():
                return value
        else:
            raise Unknown(f"operand {text}")
        if negative:
            return lambda: U32(0) - plain()
        return (lambda: ~plain()) if inverse else plain

    def high(self, text):
        """The reader of the upper half of a pair."""
        match = re.fullmatch(r"(U?R)(\d+)(\.64)?", text)
        if match:
            return self.reader(f"{match[1]}{int(match[2]) + 1}")
        return self.reader("RZ")

    def constant(self, text, size=4, offset=0):
        match = re.fullmatch(r"c\[0x([0-9a-f]+)\]\[(.*)\]", text)
        bank, inner = int(match[1], 16), match[2]
        address = self.address(inner)

        def read():
            data = self.bank0 if bank == 0 else self.bank2
            at = (address().astype(np.int64) + offset) % len(data) # of lanes that are out, anything
            return sum(data[(at + k) % len(data)].astype(U32) << U32(8 * k) for k in range(size))
        return read

    def address(self, inner):
        """The sum in brackets, of 64 bits where a register says so."""
        parts = []
        for word in re.split(r"\+(?=-|0x|U?R|\d)", inner):
            match = re.fullmatch(r"(U?R\d+)\.64", word)
            scale = re.fullmatch(r"(R\d+)\.X(\d+)", word)
            if match:
                low, top = self.reader(match[1]), self.high(match[1])
                parts.append(lambda low=low, top=top: wide(low()) | wide(top()) << U64(32))
            elif scale:
                plain = self.reader(scale[1])
                parts.append(lambda plain=plain, by=int(scale[2]): wide(plain()) * U64(by))
            elif re.fullmatch(r"-?0x[0-9a-f]+", word):
                value = np.full(LANES, int(word, 16) & 0xffffffffffffffff, U64)
                parts.append(lambda value=value: value)
            else:
                plain = self.reader(word.removesuffix(".U32"))
                parts.append(lambda plain=plain: wide(plain()))
        if ".64" in inner:
            return lambda: sum((part() for part in parts[1:]), parts[0]())
        return lambda: sum((part() for part in parts[1:]), parts[0]()) & U64(0xffffffff)

    def predicate(self, text):
        inverse, word = text.startswith("!"), text.lstrip("!")
        bank = "UP" if word.startswith("UP") else "P"
        i = 7 if word.endswith("T") else int(word[len(bank):])
        if inverse:
            return lambda: ~getattr(self, bank)[i]
        return lambda: getattr(self, bank)[i]

    def setter(self, text):
        """A function that sets a register, in the lanes of a mask."""
        match = re.fullmatch(r"(U?R)(\d+|Z)(\.64)?", text)
        if match is None:
            raise Unknown(f"target {text}")
        if match[2] == "Z":
            return lambda value, mask: None
        i, bank = int(match[2]), match[1]
        if bank == "UR":
            def write(value, mask):
                value = np.broadcast_to(np.asarray(value, U32), LANES)
                self.UR[i] = value[int(np.argmax(mask))] if mask.any() else self.UR[i]
            return write

        def write(value, mask):
            np.copyto(self.R[i], np.asarray(value).astype(U32), where=mask)
        return write

    def predicate_setter(self, text):
        if text in ("PT", "UPT"):
            return lambda value, mask: None
        if text.startswith("UP"):
            i = int(text[2:])

            def write(value, mask):
                if mask.any():
                    self.UP[i] = np.broadcast_to(value, LANES)[int(np.argmax(mask))]
            return write
        i = int(text[1:])
        return lambda value, mask: np.copyto(self.P[i], value, where=mask)

    def guard(self, one):
        if one.guard is None:
            return lambda: self.mask
        kind, number, negated = one.guard
        test = self.predicate(("!" if negated else "") + kind + number)
        return lambda: self.mask & test()

    def is_predicate(self, text):
        return re.fullmatch(r"!?U?P(\d|T)", text) is not None

    def split(self, operands):
        """Predicates written, the register written, what is read."""
        words = list(operands)
        outs = []
        while self.is_predicate(words[0]):
            outs.append(self.predicate_setter(words.pop(0)))
        target = words.pop(0)
        while words and self.is_predicate(words[0]):
            outs.append(self.predicate_setter(words.pop(0)))
        return outs, target, words

    # ---- Instructions ----

    def decode(self, one):
        name = one.name
        uniform = name[1:] if name.startswith("U") and hasattr(self, "do_" + name[1:].lower()) \
            else name
        method = getattr(self, "do_" + uniform.lower(), None)
        if method is None:
            raise Unknown(one.text)
        return method(one, self.guard(one))

    def simple(self, one, mask, function):
        """What sets one register from all operands."""
        outs, target, rest = self.split(one.operands)
        write = self.setter(target)
        read = [self.reader(word) for word in rest]
        return lambda: write(function(*(get() for get in read)), mask())

    def do_nop(self, one, mask):
        return lambda: None

    do_yield = do_endcollective = do_bar = do_nop

    def do_mov(self, one, mask):
        return self.simple(one, mask, lambda a: a)

    do_r2ur = do_mov

    def do_cs2r(self, one, mask):
        write = self.setter(one.operands[0])
        pair = self.setter(f"R{int(one.operands[0][1:]) + 1}")
        if one.operands[1] != "SRZ":
            raise Unknown(one.text)

        def step():
            write(0, mask())
            if "32" not in one.flags:
                pair(0, mask())
        return step

    def do_s2r(self, one, mask):
        write, name = self.setter(one.operands[0]), one.operands[1]
        values = {"SR_TID.X": lambda: np.arange(LANES), "SR_LANEID": lambda: np.arange(LANES),
                  "SR_CTAID.X": lambda: self.block[0], "SR_CgaCtaId": lambda: 0}
        if name not in values:
            raise Unknown(one.text)
        return lambda: write(values[name](), mask())

    do_s2ur = do_s2r

    def do_vote(self, one, mask):
        write, test = self.setter(one.operands[0]), self.predicate(one.operands[-1])

        def step():
            voters = mask() & test()
            write(int(np.packbits(voters, bitorder="little").view(U32)[0]), mask())
        return step

    do_voteu = do_vote

    def do_lop3(self, one, mask):
        outs, target, rest = self.split(one.operands)
        write, lut = self.setter(target), int(rest[3], 16)
        a, b, c = (self.reader(word) for word in rest[:3])
        function, more = minterms(lut), self.predicate(rest[4] if len(rest) > 4 else "!PT")

        def step():
            value, active = function(a(), b(), c()), mask().copy()
            write(value, active)
            for out in outs:
                out((value != 0) | more(), active)
        return step

    def do_plop3(self, one, mask):
        outs = [self.predicate_setter(word) for word in one.operands[:2]]
        read = [self.predicate(word) for word in one.operands[2:5]]
        luts = [int(word, 16) for word in one.operands[5:7]]

        def step():
            index = sum(get().astype(int) << (2 - i) for i, get in enumerate(read))
            active = mask().copy()
            for out, lut in zip(outs, luts):
                out((lut >> index & 1).astype(bool), active)
        return step

    def do_p2r(self, one, mask):
        write, keep = self.setter(one.operands[0]), self.reader(one.operands[2])
        bits = self.reader(one.operands[3])

        def step():
            value = sum(self.P[i].astype(U32) << U32(i) for i in range(7))
            write((value & bits()) | (keep() & ~bits()), mask())
        return step

    def do_r2p(self, one, mask):
        read, bits = self.reader(one.operands[1]), int(one.operands[2], 16)

        def step():
            value, active = read().copy(), mask().copy()
            for i in range(7):
                if bits >> i & 1:
                    np.copyto(self.P[i], (value >> U32(i) & U32(1)).astype(bool), where=active)
        return step

    def do_iadd3(self, one, mask):
        outs, target, rest = self.split(one.operands)
        write = self.setter(target)
        terms = [self.term(word, "X" in one.flags) for word in rest[:3]]
        carries = [self.predicate(word) for word in rest[3:]] if "X" in one.flags else []

        def step():
            total = sum(get().astype(U64) for get in carries) if carries else U64(0)
            for term in terms:
                total = total + term()
            active = mask().copy()
            for out in outs:
                out(total >> U64(32) != 0, active)
            write(total & U64(0xffffffff), active)
        if len(outs) > 1:
            def two():
                first = terms[0]() + terms[1]()
                if carries:
                    first = first + carries[0]().astype(U64)
                second = (first & U64(0xffffffff)) + terms[2]()
                if len(carries) > 1:
                    second = second + carries[1]().astype(U64)
                active = mask().copy()
                outs[0](first >> U64(32) != 0, active)
                outs[1](second >> U64(32) != 0, active)
                write(second & U64(0xffffffff), active)
            return two
        return step

    def term(self, text, extended):
        """An addend with its carry: -x is ~x + 1."""
        if text.startswith("-") and not extended and not re.match(r"-0x|-\d", text):
            plain = self.reader(text[1:])
            return lambda: (~plain()).astype(U64) + U64(1)
        plain = self.reader(text)
        return lambda: wide(plain())

    def do_viadd(self, one, mask):
        return self.simple(one, mask, lambda a, b: a + b)

    def minmax(self, one, mask, adds=False):
        """The least of all operands, or the greatest: the predicate at the end says which."""
        target, *rest, least = one.operands
        write, read, least = self.setter(target), [self.reader(word) for word in rest], \
            self.predicate(least)
        view = (lambda x: x.astype(np.int64)) if "U32" in one.flags else signed
        if "U16x2" in one.flags:
            def view(x):
                return x.view(np.uint16)

        def step():
            values = [get() for get in read]
            if adds:
                values[:2] = [values[0] + values[1]]
            values = [view(value) for value in values]
            test = np.repeat(least(), len(values[0]) // LANES)
            value = np.where(test, np.minimum.reduce(values), np.maximum.reduce(values))
            write(value.view(U32) if value.dtype == np.uint16 else value & 0xffffffff, mask())
        return step

    def do_viaddmnmx(self, one, mask):
        return self.minmax(one, mask, adds=True)

    def do_vimnmx(self, one, mask):
        return self.minmax(one, mask)

    do_vimnmx3 = do_vimnmx
    do_imnmx = do_vimnmx

    def do_imad(self, one, mask):
        outs, target, rest = self.split(one.operands)
        a, b = self.reader(rest[0]), self.reader(rest[1])
        c = self.reader(rest[2])
        write = self.setter(target)
        if "WIDE" in one.flags or "HI" in one.flags:
            return self.wide_product(one, mask, outs, target, rest)
        carry = self.predicate(rest[3]) if "X" in one.flags else None
        if outs:
            raise Unknown(one.text)

        def step():
            value = a() * b() + c()
            if carry:
                value = value + carry().astype(U32)
            write(value, mask())
        return step

    def wide_product(self, one, mask, outs, target, rest):
        a, b, c = (self.reader(word) for word in rest[:3])
        view = wide if "U32" in one.flags else (lambda x: signed(x).astype(U64))
        write = self.setter(target)
        if "HI" in one.flags:
            return lambda: write(((view(a()) * view(b())) >> U64(32)) + wide(c()) &
                                 U64(0xffffffff), mask())
        top = self.high(rest[2])
        upper = self.setter("RZ" if target.endswith("Z") else re.sub(
            r"\d+", lambda match: str(int(match[0]) + 1), target))
        if outs:
            raise Unknown(one.text)

        def step():
            value = view(a()) * view(b()) + (wide(c()) | wide(top()) << U64(32))
            active = mask()
            write(value & U64(0xffffffff), active)
            upper(value >> U64(32), active)
        return step

    def do_lea(self, one, mask):
        outs, target, rest = self.split(one.operands)
        write = self.setter(target)
        a, b = self.reader(rest[0]), self.term(rest[1], False)
        carry = self.predicate(rest[-1]) if "X" in one.flags else None
        if "HI" in one.flags:
            c, shift = self.reader(rest[2]), U64(int(rest[3], 16))
            def product():
                return ((wide(a()) | wide(c()) << U64(32)) << shift) >> U64(32)
        else:
            shift = U64(int(rest[2], 16))
            def product():
                return wide(a()) << shift & U64(0xffffffff)

        def step():
            value = product() + b()
            if carry:
                value = value + carry().astype(U64)
            active = mask()
            for out in outs:
                out(value >> U64(32) != 0, active)
            write(value & U64(0xffffffff), active)
        return step

    def do_shf(self, one, mask):
        target, *rest = one.operands
        write = self.setter(target)
        a, s, c = (self.reader(word) for word in rest)
        flags = one.flags
        left, is_high = "L" in flags, "HI" in flags
        width = 64 if "U64" in flags or "S64" in flags else 32
        is_signed = "S32" in flags or "S64" in flags

        def step():
            amount = s().astype(U64)
            amount = amount % U64(width) if "W" in flags else np.minimum(amount, U64(width))
            value = wide(a()) | wide(c()) << U64(32)
            if left:
                value = np.where(amount < 64, value << amount % U64(64), U64(0))
            elif is_signed:
                value = (value.view(np.int64) >> np.minimum(amount, U64(63)).astype(np.int64)).view(
                    U64)
            else:
                value = np.where(amount < 64, value >> amount % U64(64), U64(0))
            write(value >> U64(32) if is_high else value & U64(0xffffffff), mask())
        return step

    def do_prmt(self, one, mask):
        target, *rest = one.operands
        write = self.setter(target)
        a, pick, c = (self.reader(word) for word in rest)

        def step():
            value, selector = wide(a()) | wide(c()) << U64(32), pick().astype(U64)
            result = np.zeros(LANES, U64)
            for k in range(4):
                nibble = selector >> U64(4 * k) & U64(15)
                byte = value >> (nibble & U64(7)) * U64(8) & U64(0xff)
                sign = np.where(byte >> U64(7) != 0, U64(0xff), U64(0))
                result |= np.where(nibble >> U64(3) != 0, sign, byte) << U64(8 * k)
            write(result, mask())
        return step

    def do_sel(self, one, mask):
        target, a, b, test = one.operands
        write, test = self.setter(target), self.predicate(test)
        a, b = self.reader(a), self.reader(b)
        return lambda: write(np.where(test(), a(), b()), mask())

    def do_popc(self, one, mask):
        return self.simple(one, mask, lambda a: np.bitwise_count(a))

    def do_brev(self, one, mask):
        def reverse(a):
            bits = np.unpackbits(np.ascontiguousarray(a).view(np.uint8).reshape(-1, 4), axis=1,
                                 bitorder="little")
            return np.packbits(bits[:, ::-1], axis=1, bitorder="little").view(U32).ravel()
        return self.simple(one, mask, reverse)

    def do_flo(self, one, mask):
        def find(a):
            top = np.full(LANES, 0xffffffff, U32)
            for i in range(32):
                top = np.where(a >> U32(i) != 0, U32(i), top)
            return np.where(a != 0, U32(31) - top, top) if "SH" in one.flags else top
        return self.simple(one, mask, find)

    def do_isetp(self, one, mask):
        outs = [self.predicate_setter(word) for word in one.operands[:2]]
        a, b = self.reader(one.operands[2]), self.reader(one.operands[3])
        other = self.predicate(one.operands[4])
        low = self.predicate(one.operands[5]) if "EX" in one.flags else None
        view = (lambda x: x) if "U32" in one.flags else signed
        join = {"AND": np.logical_and, "OR": np.logical_or, "XOR": np.logical_xor}[
            next(flag for flag in one.flags if flag in ("AND", "OR", "XOR"))]
        test = one.flags[0]
        compare = {"LT": np.less, "LE": np.less_equal, "GT": np.greater, "GE": np.greater_equal,
                   "EQ": np.equal, "NE": np.not_equal}[test]
        strict = {"LE": np.less, "GE": np.greater}.get(test, compare)

        def step():
            x, y = view(a()), view(b())
            if low is None:
                value = compare(x, y)
            elif test == "EQ":
                value = (x == y) & low()
            else:
                value = strict(x, y) | (x == y) & low()
            active, more = mask().copy(), other().copy()
            outs[0](join(value, more), active)
            outs[1](join(~value, more), active)
        return step

    def do_shfl(self, one, mask):
        out, target = self.predicate_setter(one.operands[0]), self.setter(one.operands[1])
        value, source = self.reader(one.operands[2]), self.reader(one.operands[3])
        if one.flags != ["IDX"]:
            return self.shuffle_by(one, mask)

        def step():
            target(value()[source() & U32(31)], mask())
            out(True, mask())
        return step

    def shuffle_by(self, one, mask):
        out, target = self.predicate_setter(one.operands[0]), self.setter(one.operands[1])
        value, amount = self.reader(one.operands[2]), self.reader(one.operands[3])
        lane = np.arange(LANES)
        kind = one.flags[0]

        def step():
            by = amount().astype(np.int64)
            source = {"UP": lane - by, "DOWN": lane + by, "BFLY": lane ^ by}[kind]
            inside = (source >= 0) & (source < LANES)
            target(value()[np.where(inside, source, lane)], mask())
            out(inside, mask())
        return step

    def do_redux(self, one, mask):
        write, read = self.setter(one.operands[0]), self.reader(one.operands[1])
        reduce = {"MIN": np.min, "MAX": np.max, "SUM": np.sum, "OR": np.bitwise_or.reduce,
                  "AND": np.bitwise_and.reduce}[next(flag for flag in (one.flags or ["SUM"]) if flag
                                                     not in ("S32",))]
        view = signed if "S32" in one.flags else (lambda x: x)
        return lambda: write(int(reduce(view(read())[mask()])) & 0xffffffff, mask())

    # ---- Memory ----

    def size_of(self, flags):
        for name, size in (("U8", 1), ("S8", 1), ("U16", 2), ("S16", 2), ("64", 8), ("128", 16)):
            if name in flags:
                return size
        return 4

    def operand_address(self, text):
        return self.address(ADDRESS.search(re.sub(r"desc\[UR\d+\]", "", text))[1])

    def registers_from(self, text, count):
        if text.endswith("RZ"):
            return ["RZ"] * count
        return [f"R{int(text[1:]) + i}" for i in range(count)]

    def loader(self, one, mask, memory):
        size = self.size_of(one.flags)
        words = max(1, size // 4)
        writes = [self.setter(word) for word in self.registers_from(one.operands[0], words)]
        address = self.operand_address(one.operands[1])

        def step():
            active = mask().copy()
            if not active.any():
                return
            at = address()[active]
            memory().places(at, size)
            for i, write in enumerate(writes):
                value = np.zeros(LANES, U64)
                value[active] = memory().load(at + U64(4 * i), min(size, 4))
                if "S8" in one.flags:
                    value = np.where(value > 127, value | U64(0xffffff00), value)
                write(value, active)
        return step

    def storer(self, one, mask, memory):
        size = self.size_of(one.flags)
        words = max(1, size // 4)
        reads = [self.reader(word) for word in self.registers_from(one.operands[1], words)]
        address = self.operand_address(one.operands[0])

        def step():
            active = mask()
            if not active.any():
                return
            at = address()[active]
            memory().places(at, size)
            for i, read in enumerate(reads):
                memory().store(at + U64(4 * i), min(size, 4), wide(read())[active])
        return step

    def do_lds(self, one, mask):
        return self.loader(one, mask, lambda: self.shared)

    def do_sts(self, one, mask):
        return self.storer(one, mask, lambda: self.shared)

    def do_ldg(self, one, mask):
        return self.loader(one, mask, lambda: self.memory)

    def do_stg(self, one, mask):
        return self.storer(one, mask, lambda: self.memory)

    def each_local(self, one, mask, is_load):
        size, words = self.size_of(one.flags), max(1, self.size_of(one.flags) // 4)
        register, place = one.operands if is_load else one.operands[::-1]
        names, address = self.registers_from(register, words), self.operand_address(place)
        indexes = [int(name[1:]) if name != "RZ" else 255 for name in names]

        def step():
            at = address()
            for lane in np.flatnonzero(mask()):
                for i, register in enumerate(indexes):
                    where = at[lane:lane + 1] + U64(4 * i)
                    if is_load:
                        self.R[register, lane] = self.local[lane].load(where, min(size, 4))[0]
                    else:
                        self.local[lane].store(where, min(size, 4),
                                               wide(self.R[register, lane:lane + 1]))
        return step

    def do_ldl(self, one, mask):
        return self.each_local(one, mask, True)

    def do_stl(self, one, mask):
        return self.each_local(one, mask, False)

    def do_ldc(self, one, mask):
        words = max(1, self.size_of(one.flags) // 4)
        target = re.fullmatch(r"(U?R)(\d+)", one.operands[0])
        reads = [self.constant(one.operands[1], min(4, self.size_of(one.flags)), 4 * i)
                 for i in range(words)]
        writes = [self.setter(f"{target[1]}{int(target[2]) + i}") for i in range(words)]

        def step():
            values, active = [read() for read in reads], mask()
            for write, value in zip(writes, values):
                write(value, active)
        return step

    def atomic(self, one, mask, memory):
        place = next(i for i, word in enumerate(one.operands) if "[" in word)
        address = self.operand_address(one.operands[place])
        targets = [self.setter(word) for word in one.operands[:place]
                   if not self.is_predicate(word)]
        size = 8 if "64" in one.flags else 4
        popc = "POPC" in one.flags
        kind = next(flag for flag in one.flags if flag in ("OR", "AND", "ADD", "MIN", "MAX", "INC"))
        value = None if popc else self.reader(one.operands[place + 1])
        top = None if popc or size == 4 else self.high(one.operands[place + 1])
        join = {"OR": lambda x, y: x | y, "AND": lambda x, y: x & y, "MIN": min, "MAX": max,
                "INC": lambda x, y: (x + y) & 0xffffffff,
                "ADD": lambda x, y: (x + y) & ((1 << 8 * size) - 1)}[kind]

        def step():
            at, active = address(), np.flatnonzero(mask())
            values = np.ones(LANES, U64) if popc else wide(value())
            if top is not None:
                values = values | wide(top()) << U64(32)
            before = np.zeros(LANES, U64)
            for lane in active:
                where = at[lane:lane + 1]
                before[lane] = memory().load(where, size)[0]
                memory().store(where, size,
                               np.array([join(int(before[lane]), int(values[lane]))], U64))
            for write in targets:
                write(before, mask())
        return step

    def do_atoms(self, one, mask):
        return self.atomic(one, mask, lambda: self.shared)

    def do_redg(self, one, mask):
        return self.atomic(one, mask, lambda: self.memory)

    do_red = do_redg

    # ---- Where lanes part and meet ----

    def target(self, text):
        label = re.search(r"\.L_\w+", text)
        if label is None:
            raise Unknown(text)
        return self.labels[label[0]]

    def part(self, taken, places):
        """Lanes `taken` go on at places, an index for each; the others behind."""
        group = self.group
        rest = group.mask & ~taken
        for place in set(places[taken].tolist()):
            self.ready.append(Group(place, taken & (places == place)))
        if rest.any():
            self.ready.append(Group(group.at, rest))
        return True

    def do_bra(self, one, mask):
        target = self.target(one.operands[-1])
        if "DIV" in one.flags:
            return self.converge
        if "CONV" in one.flags:
            return lambda: self.converge(target)
        tests = [self.predicate(word) for word in one.operands[:-1]]

        def step():
            taken = mask()
            for test in tests:
                taken = taken & test()
            if not taken.any():
                return False
            if (taken == self.mask).all():
                self.group.at = target
                return False
            return self.part(taken, np.full(LANES, target))
        return step

    def do_brx(self, one, mask):
        read, offset = self.reader(one.operands[0].split()[0]), int(one.operands[0].split()[1], 16)
        behind = one.place + 16

        def step():
            taken = mask()
            targets = read().astype(np.int64) + offset + behind
            places = np.array([self.place_of[target] if hit else -1
                               for target, hit in zip(targets.tolist(), taken)])
            return self.part(taken, places)
        return step

    def converge(self, target=None):
        """Waits until all lanes that have not ended are here, and goes on at the target."""
        self.group.at = self.group.at if target is None else target
        if (self.mask == self.live).all():
            return False
        self.waiting.append((self.group, None))
        self.release()
        return True

    def never(self, one):
        """What is only for lanes that have parted, which converge() keeps from being reached."""
        def step():
            raise Unknown(one.text)
        return step

    def do_call(self, one, mask):
        if "$__internal" in one.operands[0]:
            return self.never(one)
        return self.do_bra(one, mask) # to a part of the kernel that does not return

    def do_ret(self, one, mask):
        return self.never(one)

    def do_warpsync(self, one, mask):
        if "COLLECTIVE" in one.flags:
            return self.never(one)
        return self.converge

    def do_bssy(self, one, mask):
        i = int(one.operands[0][1:])

        def step():
            self.barrier[i][self.mask] = self.mask
        return step

    def do_bsync(self, one, mask):
        i = int(one.operands[0][1:])

        def step():
            here = self.barrier[i][int(np.argmax(self.mask))] & self.live
            if (here == self.mask).all():
                return False
            self.waiting.append((self.group, i))
            self.release()
            return True
        return step

    def do_break(self, one, mask):
        i = int(one.operands[-1][1:])

        def step():
            leaving = mask()
            if leaving.any():
                others = self.barrier[i][int(np.argmax(self.mask))].copy()
                self.barrier[i][others] &= ~leaving
                self.barrier[i][leaving] &= False
                self.release()
        return step

    def do_exit(self, one, mask):
        def step():
            leaving = mask()
            if not leaving.any():
                return False
            self.live = self.live & ~leaving
            rest = self.group.mask & ~leaving
            if rest.any():
                self.ready.append(Group(self.group.at, rest))
            self.release()
            return True
        return step

    def release(self):
        """Lets groups go on that have waited for one another and are all there."""
        for key in {(group.at, i) for group, i in self.waiting}:
            here = [(group, i) for group, i in self.waiting if (group.at, i) == key]
            mask = np.logical_or.reduce([group.mask for group, _ in here])
            i = key[1]
            if i is None:
                wanted = self.live
                complete = (mask == wanted).all()
            else:
                self.release_barrier(i, here)
                continue
            if complete:
                self.waiting = [one for one in self.waiting if one not in here]
                self.ready.append(Group(key[0], mask))

    def release_barrier(self, i, here):
        for group, _ in here:
            wanted = self.barrier[i][int(np.argmax(group.mask))] & self.live
            members = [one for one in here if (one[0].mask & wanted).any()]
            mask = np.logical_or.reduce([one[0].mask for one in members])
            if (mask == wanted).all():
                self.waiting = [one for one in self.waiting if one not in members]
                self.ready.append(Group(group.at, mask.copy()))
                return


def minterms(lut):
    """The function of three words that LOP3 names by its table."""
    known = {0xc0: lambda a, b, c: a & b, 0xfc: lambda a, b, c: a | b, 0x3c: lambda a, b, c: a ^ b,
             0x80: lambda a, b, c: a & b & c, 0xfe: lambda a, b, c: a | b | c,
             0x96: lambda a, b, c: a ^ b ^ c, 0x33: lambda a, b, c: ~b,
             0x0c: lambda a, b, c: ~a & b,
             0x30: lambda a, b, c: a & ~b, 0xf8: lambda a, b, c: a | b & c,
             0xca: lambda a, b, c: (a & b) | (~a & c), 0xe2: lambda a, b, c: (b & a) | (~b & c)}
    if lut in known:
        return known[lut]

    def function(a, b, c):
        value = np.zeros(LANES, U32)
        for i in range(8):
            if lut >> i & 1:
                value |= (a if i & 4 else ~a) & (b if i & 2 else ~b) & (c if i & 1 else ~c)
        return value
    return function
