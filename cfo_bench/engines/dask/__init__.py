"""Many runs on a Dask cluster.

Terms: the *driver* is the process that the user started, *workers* and *tasks* are those of Dask, and an
*attempt* is one start of a run: one task on one worker, which sends *messages* to the driver. Only the driver
writes results.

- `clusters.py`: starts a cluster, or joins one
- `driver.py`: the waiting runs, and the worker of the next one
- `attempt.py`: an attempt on the driver's side; `trace_copy.py`: writes its lines
- `worker.py`: an attempt on the worker's side

Dask does the following: it starts and ends workers, uses batch systems (dask-jobqueue), handles connections
and TLS, sends code to workers that join at any time (a worker plugin), reserves threads and memory
(resources), sends messages to the driver (events) and files to a worker (a queue), detects that a worker, the
scheduler or the driver is lost, and cancels tasks.

This package does the following itself, because Dask does it in another way than the runs need:

- Choosing the worker of a run. Dask assigns every task to a worker immediately, by the total resources of the
  worker and not by the free ones, and moves a task later only if the worker has more tasks than threads. A
  run of an hour would wait behind another run while a worker that joined later is idle.
- The next attempt after a lost worker. Dask would repeat the task with its original arguments, and therefore
  with an old past; and it gives up after four lost workers, also on tasks that only waited there. The driver
  submits a new task with the newest past.
- Giving up on a silent worker. A scheduler does this too, but after a time that is set where the scheduler is
  started (five minutes by default), and its heartbeat contains nothing about the attempt.
- Sending a file once to each node (`tasks/fetching.py`). Dask's scatter keeps data in the memory of each
  worker, even if the node has the file on its disk.
- Ending a run whose task was cancelled. Dask cannot stop a thread, so the attempt checks this itself.
"""
