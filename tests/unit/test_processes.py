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


# What every program below starts with.
PRELUDE = """
import os, time
from tidegate.machine import processes
from tidegate.machine.processes import ForkPool, SharedWork

HERE = os.getpid()

def shared(parts, here, elsewhere, decode, count=4, last=None):
    work = SharedWork(
        here=here, elsewhere=elsewhere, decode=decode, encode=lambda each: repr(each).encode(),
        last=last,
    )
    return ForkPool(work, parts, count)

def results(*args):
    crew = shared(*args)
    try:
        return crew.results()
    finally:
        crew.close()

def wait_until(condition):
    for _ in range(12_000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("nothing happened within two minutes")

def assert_nothing_is_left():
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        pass
    else:
        raise AssertionError("a process is left")
"""


def run(code: str) -> None:
    """Run a program that ends well if and only if what it asserts is true."""
    command = [sys.executable, "-c", PRELUDE + textwrap.dedent(code)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr


def test_parts_are_worked_on_in_order_and_nothing_is_left(tmp_path: Path) -> None:
    """Answers longer than a pipe holds arrive whole; processes and pipes are gone afterwards."""
    run(f"""
        parts = [range(n, n + 60_000) for n in range(9)]
        def all_work():
            return len(os.listdir("{tmp_path}")) == 4
        def here(part):
            open(f"{tmp_path}/{{os.getpid()}}", "w").close()
            wait_until(all_work)
            return sum(part)
        def elsewhere(part):
            assert os.getpid() != HERE
            return repr(here(part)).encode().zfill(3_000_000)
        before = os.listdir("/proc/self/fd")
        found = results(parts, here, elsewhere, lambda answer: int(answer[-20:]))
        assert found == [sum(part) for part in parts]
        assert os.listdir("/proc/self/fd") == before
        assert_nothing_is_left()
    """)


@pytest.mark.parametrize("death", ["os._exit(0)", "os.kill(os.getpid(), 9)", "1 / 0"])
def test_the_part_of_a_process_that_dies_is_done_here(tmp_path: Path, death: str) -> None:
    """Whether it ends early, is killed or fails: this process works on its part."""
    run(f"""
        worked = []
        def here(part):
            wait_until(lambda: os.path.exists("{tmp_path}/dead"))
            worked.append(part)
            return part * 10
        def die(part):
            open("{tmp_path}/dead", "w").close()
            {death}
        assert results([1, 2, 3], here, die, int) == [10, 20, 30]
        assert sorted(worked) == [1, 2, 3]
        assert_nothing_is_left()
    """)


def test_an_answer_that_is_cut_off_counts_as_none(tmp_path: Path) -> None:
    """A process that is killed while it writes has not answered; what it had said before counts."""
    run(f"""
        whole = processes._write
        def cut(to, answer):
            if b"cut" not in answer:
                return whole(to, answer)
            whole(to, answer[:20])
            os.kill(os.getpid(), 9)
        processes._write = cut
        worked, done = [], []
        def here(part):
            if not worked:
                # The fork takes the next two, and is dead before this one is done.
                os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
            worked.append(part)
            return str(part)
        def elsewhere(part):
            done.append(part)
            if len(done) == 2:
                return b"cut" * 100
            open("{tmp_path}/first", "w").write(str(part))
            return str(part).encode()
        found = results([0, 1, 2, 3], here, elsewhere, bytes.decode, 2)
        assert found == ["0", "1", "2", "3"]
        first = int(open("{tmp_path}/first").read())
        assert sorted([*worked, first]) == [0, 1, 2, 3]
    """)


def test_a_fork_does_the_last_thing_while_this_process_goes_on(tmp_path: Path) -> None:
    """It gets all parts, also those that it did not work on; and is waited for."""
    run(f"""
        def last(parts):
            assert os.getpid() != HERE
            wait_until(lambda: os.path.exists("{tmp_path}/gone-on"))
            open("{tmp_path}/last", "w").write(repr(sorted(parts.items())))
        work = lambda part: part * 10
        elsewhere = lambda part: repr(work(part)).encode()
        for count in (2, 3):
            crew = shared([1, 2, 3, 4], work, elsewhere, int, count, last)
            assert crew.results() == [10, 20, 30, 40]
            assert not os.path.exists("{tmp_path}/last")
            open("{tmp_path}/gone-on", "w").close()
            assert crew.finish()
            crew.close()
            assert_nothing_is_left()
            expected = [(0, b"10"), (1, b"20"), (2, b"30"), (3, b"40")]
            assert open("{tmp_path}/last").read() == repr(expected)
            os.remove("{tmp_path}/last")
            os.remove("{tmp_path}/gone-on")
    """)


@pytest.mark.parametrize("last", ["None", "lambda parts: os._exit(0)", "lambda parts: 1 / 0"])
def test_the_last_thing_is_left_to_the_caller_where_no_fork_does_it(last: str) -> None:
    """Whether there is none, or it died: the caller knows."""
    run(f"""
        for count in (1, 2):
            crew = shared([1, 2], str, lambda part: str(part).encode(), bytes.decode, count, {last})
            assert crew.results() == ["1", "2"]
            assert not crew.finish()
            crew.close()
            assert_nothing_is_left()
    """)


def test_forks_end_when_the_process_that_started_them_is_killed() -> None:
    """They wait for what the others found, and see that no one will say it."""
    run("""
        import select
        alive, to = os.pipe()
        if not os.fork():
            work = lambda part: os.kill(HERE_TOO, 9)
            HERE_TOO = os.getpid()
            crew = shared(range(9), work, lambda part: b"", bytes.decode, 4, print)
            crew.results()
        os.close(to)
        # Every one of them has the other end open.
        assert select.select([alive], [], [], 120)[0] and os.read(alive, 1) == b""
    """)


def test_an_error_is_raised_here() -> None:
    """What fails elsewhere fails here again, with its own error, and no process is left."""
    run("""
        def work(part):
            return 1 // part
        try:
            results([1, 0, 1], work, lambda part: str(work(part)).encode(), int)
        except ZeroDivisionError:
            pass
        else:
            raise AssertionError("no error")
        assert_nothing_is_left()
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


@pytest.mark.parametrize("dies", ["never", "reading", "keeping"])
def test_a_bundle_is_the_same_in_any_number_of_processes(tmp_path: Path, dies: str) -> None:
    """Documents, findings, their order, what is kept and what is counted: all the same."""
    run(f"""
        import sqlite3
        from pathlib import Path
        from bench.bundle_files import files
        from tidegate.bundle import file_reader, reader
        from tidegate.git.tree_port import identity_of
        from tidegate.machine.file_cache import FileCache
        from tidegate.wiring.bundles import bundle_sections

        file_reader.PROCESS_BYTES_MIN = file_reader.PART_BYTES = 1_000
        texts = {{path[1:]: text.encode() for path, text in files(100)}}
        texts["bad/twice.yml"] = b"---\\n$schema: /aws/account-1.yml\\nname: a\\nname: b\\n"
        texts["bad/deep.yml"] = b"a: " + b"[" * 5_000
        texts["bad/bytes.yml"] = b"a: \\xff\\n"
        texts["bad/none.yml"] = b""
        texts["same/one.yml"] = texts["same/two.yml"] = b"hello: you\\n"
        read_leaf = file_reader.read_leaf
        def read(raw, types):
            is_fork = os.getpid() != HERE
            if "{dies}" == "reading" and is_fork and b"twice" not in raw and len(raw) % 3 == 0:
                os.kill(os.getpid(), 9)
            return read_leaf(raw, types)
        file_reader.read_leaf = read

        class Tree:
            prefix = ""
            def files(self):
                return {{path: identity_of(raw) for path, raw in sorted(texts.items())}}
            def read(self, paths):
                return ((path, texts[path]) for path in paths)

        class Cache(FileCache):
            puts = 0
            def put(self, values):
                if "{dies}" == "keeping" and os.getpid() != HERE:
                    os.kill(os.getpid(), 9)
                self.puts += 1
                super().put(values)

        def kept(path):
            with sqlite3.connect(path) as database:
                return database.execute("select * from entry order by key").fetchall()

        for batch_bytes in (64 << 20, 50_000):
            file_reader.BATCH_BYTES = batch_bytes
            seen = []
            for cores in (1, 2, 3, 4):
                path = Path(f"{tmp_path}/{{batch_bytes}}-{{cores}}.db")
                cache, told = Cache(path), []
                bundle = reader.read_bundle(Tree(), cache, bundle_sections(), told.append, cores)
                assert bundle.findings and bundle.files == len(texts)
                if cores > 1 and "{dies}" == "never":
                    assert cache.puts == 1, "the rest is kept by forks"
                seen.append((reader._encode(bundle), kept(path), sum(told)))
                assert_nothing_is_left()
            assert all(each == seen[0] for each in seen)
            assert seen[0][2] == len(texts)
            assert len(seen[0][1]) == len(set(texts.values())) + 1
    """)


def test_what_is_kept_in_this_process_only_is_kept_by_it() -> None:
    """A fork would put it into a cache of its own, which is gone with it."""
    run("""
        from bench.bundle_files import files
        from tests.bundles import MemoryTree
        from tests.property.test_bundle_is_its_files import Memory
        from tidegate.bundle import file_reader, reader
        from tidegate.wiring.bundles import bundle_sections

        file_reader.PROCESS_BYTES_MIN = file_reader.PART_BYTES = 1_000
        texts = {path[1:]: text.encode() for path, text in files(50)}
        kept = [Memory(), Memory()]
        for cores, cache in enumerate(kept, 1):
            reader.read_bundle(MemoryTree(texts), cache, bundle_sections(), None, cores)
        assert kept[0].values == kept[1].values and len(kept[0].values) == len(texts) + 1
    """)
