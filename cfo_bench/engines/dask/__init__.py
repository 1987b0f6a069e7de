"""Many runs on a Dask cluster.

The words: the *driver* is the process that the user started, a *worker* is a worker of Dask's, a *task* is
one of Dask's, and an *attempt* is one start of a run: one task on one worker. It sends *messages* to the
driver, which alone writes the results.

- `clusters.py`: starts a cluster, or joins one
- `driver.py`: which runs wait, which worker takes the next one
- `attempt.py`: an attempt as the driver sees it; `trace_copy.py`: where its lines are written
- `worker.py`: what happens on a worker
- `placing.py`: which worker has room for a run

Left to Dask: starting and ending workers, batch systems (dask-jobqueue), connections and TLS, carrying
code to workers that join at any time (a worker plugin), reserving threads and memory (resources),
messages to the driver (events), files to a worker (a queue), noticing that a worker, the scheduler or
the driver is gone, and cancelling tasks.

Ours, since Dask does it in another way than the runs need:

- Which worker takes a run. Dask gives every task to a worker at once, by what a worker has in all and not
  by what is free, and moves a task later only if the worker has more tasks than threads. A run of an hour
  would wait behind another one while a worker that joined later is idle.
- The next attempt after a lost worker. Dask would repeat the task with the arguments it was submitted
  with, and so with a past that is too old; and it gives up after four lost workers, also on tasks that
  only waited there. The driver submits a new task, with the newest past.
- Giving up on a silent worker. A scheduler does so too, but after a time that belongs to who started it
  (five minutes unless set), and its heartbeat says nothing about the attempt.
- Sending a file once to each node (`tasks/shipping.py`). Dask's scatter keeps data in the memory of each
  worker, also where the node has the file on its disk.
- Ending a run whose task was cancelled. Dask can't stop a thread, so that the attempt looks by itself.
"""
