"""Work shared among processes is the same work: same results, same errors, nothing left behind.

Each test runs in a Python of its own: a process with threads, as this one may be, does not fork.
"""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks on Linux only")


def run(code: str) -> None:
    """Run a program that ends well if and only if what it asserts is true."""
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr


def test_parts_are_worked_on_in_order_and_nothing_is_left() -> None:
    """Answers longer than a pipe holds arrive whole; processes and pipes are gone afterwards."""
    run("""
        import os
        from tidegate.machine.processes import in_processes
        here = os.getpid()
        parts = [range(n, n + 60_000) for n in range(4)]
        def encode(part):
            assert os.getpid() != here
            return repr(sum(part)).encode().zfill(200_000)
        before = os.listdir("/proc/self/fd")
        found = in_processes(parts, sum, encode, lambda answer: int(answer[-20:]))
        assert found == [sum(part) for part in parts]
        assert os.listdir("/proc/self/fd") == before
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            pass
        else:
            raise AssertionError("a process is left")
    """)


@pytest.mark.parametrize("death", ["os._exit(0)", "os.kill(os.getpid(), 9)", "1 / 0"])
def test_the_part_of_a_process_that_dies_is_done_here(death: str) -> None:
    """Whether it ends early, is killed or fails: this process works on its part."""
    run(f"""
        import os
        from tidegate.machine.processes import in_processes
        worked = []
        def work(part):
            worked.append(part)
            return part * 10
        def die(part):
            {death}
        assert in_processes([1, 2, 3], work, die, int) == [10, 20, 30]
        assert worked == [1, 2, 3]
    """)


def test_an_answer_that_is_cut_off_counts_as_none() -> None:
    """A process that is killed while it writes has not answered."""
    run("""
        import os
        from tidegate.machine import processes
        def cut(to, answer):
            os.write(to, answer[:20])
            os.kill(os.getpid(), 9)
        processes._write = cut
        found = processes.in_processes([1, 2], str, lambda part: b"x" * 100, bytes.decode)
        assert found == ["1", "2"]
    """)


def test_an_error_is_raised_here() -> None:
    """What fails elsewhere fails here again, with its own error, and no process is left."""
    run("""
        import os
        from tidegate.machine.processes import in_processes
        def work(part):
            return 1 // part
        try:
            in_processes([1, 0, 1], work, lambda part: str(work(part)).encode(), int)
        except ZeroDivisionError:
            pass
        else:
            raise AssertionError("no error")
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            pass
        else:
            raise AssertionError("a process is left")
    """)


def test_a_process_with_threads_is_not_forked() -> None:
    """A lock that a thread holds would stay locked in the fork."""
    run("""
        import os, threading
        from tidegate.machine.processes import PROCESSES_MAX, processes
        assert processes() == min(len(os.sched_getaffinity(0)), PROCESSES_MAX)
        ended = threading.Event()
        thread = threading.Thread(target=ended.wait)
        thread.start()
        assert processes() == 1
        ended.set()
        thread.join()
    """)


def test_one_core_reads_alone() -> None:
    """Where there is one core, nothing is forked."""
    run("""
        import os
        from tidegate.machine.processes import processes
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        assert processes() == 1
    """)


@pytest.mark.parametrize("dies", [False, True])
def test_a_bundle_is_the_same_in_any_number_of_processes(dies: bool) -> None:
    """Documents, findings, their order, what is kept and what is counted: all the same."""
    run(f"""
        import os
        from bench.bundle_files import files
        from tidegate.bundle import reader
        from tidegate.git.tree_port import identity_of
        from tidegate.wiring import bundle_sections

        reader.PART_BYTES_MIN = 1_000
        texts = {{path[1:]: text.encode() for path, text in files(100)}}
        texts["bad/twice.yml"] = b"---\\n$schema: /aws/account-1.yml\\nname: a\\nname: b\\n"
        texts["bad/deep.yml"] = b"a: " + b"[" * 5_000
        texts["bad/bytes.yml"] = b"a: \\xff\\n"
        texts["bad/none.yml"] = b""
        texts["same/one.yml"] = texts["same/two.yml"] = b"hello: you\\n"
        here = os.getpid()
        read_leaf = reader.read_leaf
        def read(raw, types):
            if {dies} and os.getpid() != here and b"twice" not in raw and len(raw) % 3 == 0:
                os.kill(os.getpid(), 9)
            return read_leaf(raw, types)
        reader.read_leaf = read

        class Tree:
            prefix = ""
            def files(self):
                return {{path: identity_of(raw) for path, raw in sorted(texts.items())}}
            def read(self, paths):
                return ((path, texts[path]) for path in paths)

        class Cache:
            def __init__(self):
                self.kept = {{}}
            def get(self, keys):
                return {{}}
            def put(self, values):
                self.kept |= values

        seen = []
        for cores in (1, 2, 3, 4):
            cache, told = Cache(), []
            bundle = reader.read_bundle(Tree(), cache, bundle_sections(), told.append, cores)
            assert bundle.findings and bundle.files == len(texts)
            seen.append((reader._encode(bundle), cache.kept, sum(told)))
        assert all(each == seen[0] for each in seen)
        assert seen[0][2] == len(texts)
    """)
