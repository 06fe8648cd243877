"""A map over items on many processes, threads or machines: the same work, whoever does it."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from prism_planner.cli.errors import NO_MODEL, CommandError
from prism_planner.language.model import LanguageModelError

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")

Executor = Literal["processes", "threads", "ray"]

# Few items are handed out at a time, so that memory stays flat and stopping leaves no queue to work off.
_AHEAD = 3


class WorkError(CommandError):
    """A worker cannot go on. The message says why."""


@dataclass(frozen=True, slots=True)
class _Failure:
    """An error in a worker as text: not every exception can be sent between processes."""

    message: str
    code: int


Work = Callable[[ItemT], ResultT]


def each(
    make: Callable[[], Work[ItemT, ResultT]], items: Iterable[ItemT], *, executor: Executor, workers: int
) -> Generator[tuple[ItemT, ResultT], None, None]:
    """Do the work on every item; items with their results, as they are finished.

    make: builds what does the work, once for each worker, where the worker runs; it, items and results can
    be pickled. Raises WorkError when a worker cannot be built, fails or dies. Close the iterator to stop.
    """
    if executor == "ray":
        yield from _on_ray(make, items, workers)
    elif workers == 1:
        worker = _Worker(make)
        for item in items:
            yield item, _unwrap(worker.do(item))
    elif executor == "threads":
        with closing(_pooled(ThreadPoolExecutor(workers), _in_thread(make), items, workers)) as finished:
            yield from finished
    else:
        with closing(_pooled(_processes(make, workers), _in_process, items, workers)) as finished:
            yield from finished


def cores() -> int:
    return len(os.sched_getaffinity(0))


class _Worker(Generic[ItemT, ResultT]):
    """Builds the work when it is first needed, and turns errors into text."""

    def __init__(self, make: Callable[[], Work[ItemT, ResultT]]) -> None:
        self._make = make
        self._work: Work[ItemT, ResultT] | None = None

    def do(self, item: ItemT) -> ResultT | _Failure:
        try:
            if self._work is None:
                self._work = self._make()
            return self._work(item)
        except CommandError as error:
            return _Failure(str(error), error.code)
        except LanguageModelError as error:
            return _Failure(str(error), NO_MODEL)
        except Exception as error:
            import traceback

            # Of a bug the last lines tell more than its name.
            where = "".join(traceback.format_tb(error.__traceback__)[-2:])
            return _Failure(f"{type(error).__name__}: {error}\n{where}".rstrip(), code=70)


def _unwrap(result: ResultT | _Failure) -> ResultT:
    if isinstance(result, _Failure):
        raise WorkError(result.message, result.code)
    return result


def _pooled(
    pool: ProcessPoolExecutor | ThreadPoolExecutor,
    do: Callable[[ItemT], ResultT | _Failure],
    items: Iterable[ItemT],
    workers: int,
) -> Generator[Any, None, None]:
    waiting = iter(items)
    running: dict[Future[Any], ItemT] = {}
    try:
        for item in itertools.islice(waiting, _AHEAD * workers):
            running[pool.submit(do, item)] = item
        while running:
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                item = running.pop(future)
                yield item, _unwrap(future.result())
                for following in itertools.islice(waiting, 1):
                    running[pool.submit(do, following)] = following
    except BrokenProcessPool as error:
        raise WorkError(
            "a worker process died, perhaps for lack of memory; what was finished is kept: run the same "
            "command again, with fewer `workers`"
        ) from error
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        if isinstance(pool, ProcessPoolExecutor):
            for process in multiprocessing.active_children():
                process.terminate()


def _in_thread(make: Callable[[], Work[ItemT, ResultT]]) -> Callable[[ItemT], ResultT | _Failure]:
    own = threading.local()

    def do(item: ItemT) -> ResultT | _Failure:
        if not hasattr(own, "worker"):
            own.worker = _Worker(make)
        result: ResultT | _Failure = own.worker.do(item)
        return result

    return do


def _processes(make: Callable[[], Any], workers: int) -> ProcessPoolExecutor:
    # Spawned, not forked: a language model's threads and locks do not survive a fork.
    return ProcessPoolExecutor(
        workers,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start_process,
        initargs=(make,),
    )


_worker: _Worker[Any, Any] | None = None


def _start_process(make: Callable[[], Any]) -> None:
    global _worker  # noqa: PLW0603 - the state of this process, set once
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _worker = _Worker(make)


def _end_with_parent() -> None:
    """A killed parent cannot end its workers, and they would wait for work for ever."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _in_process(item: Any) -> Any:
    assert _worker is not None
    return _worker.do(item)


def _on_ray(make: Callable[[], Any], items: Iterable[Any], workers: int) -> Iterator[tuple[Any, Any]]:
    try:
        import ray
    except ImportError:
        raise WorkError(
            "`executor: ray` needs Ray, which is not installed: run `pip install ray`, or choose `processes`"
        ) from None
    if not ray.is_initialized():
        ray.init(log_to_driver=False)
    actor = ray.remote(_Worker)
    idle = [actor.remote(make) for _ in range(workers)]
    running: dict[Any, tuple[Any, Any]] = {}
    waiting = iter(items)
    try:
        while True:
            while idle and (following := list(itertools.islice(waiting, 1))):
                worker = idle.pop()
                running[worker.do.remote(following[0])] = (following[0], worker)
            if not running:
                return
            (reference, *_), _ = ray.wait(list(running), num_returns=1)
            item, worker = running.pop(reference)
            idle.append(worker)
            try:
                result = ray.get(reference)
            except ray.exceptions.RayError as error:
                raise WorkError(
                    f"a Ray worker died: {error}. What was finished is kept: run the same command again"
                ) from error
            yield item, _unwrap(result)
    finally:
        for worker in [*idle, *(worker for _, worker in running.values())]:
            ray.kill(worker)
