"""Everything that a plug-in needs, in one import: `from cfo_bench.plugins import …`.

The modules behind these names may move; this one stays. docs/extending.md shows how the names are used, and
`cfo_bench.testing` has the checks that a plug-in should pass. Importing this module loads no package heavier
than numpy.
"""

# Each name is imported as itself, which is how type checkers recognise a public name.
# isort: off

# For every plug-in. `Param` is an `Int`, a `Float` or a `Categorical`. A `Config` is a dict from the names of
# the hyperparameters to plain Python values.
from cfo_bench.records import (
    Result as Result,
    Status as Status,
    Trial as Trial,
)
from cfo_bench.space import (
    Categorical as Categorical,
    Config as Config,
    Float as Float,
    Int as Int,
    Param as Param,
    Space as Space,
)
from cfo_bench.errors import (
    DataError as DataError,
    Exhausted as Exhausted,
    OptionError as OptionError,
    SpaceError as SpaceError,
    UserError as UserError,
)

# A method.
from cfo_bench.records import Optimizer as Optimizer

# A learner makes an `Objective` from a `Fold`. `metric_of` returns the `Metric` of a fold; `METRICS` has the
# metrics that need no other package, by name. `Array` is a numpy array.
from cfo_bench.records import (
    Fold as Fold,
    Learner as Learner,
    Objective as Objective,
    Problem as Problem,
)
from cfo_bench.clock import Deadline as Deadline
from cfo_bench.learners.dense import (
    DenseObjective as DenseObjective,
    DenseRows as DenseRows,
    dense_levels as dense_levels,
)
from cfo_bench.learners.evaluation import (
    FitAndPredict as FitAndPredict,
    OutOfTime as OutOfTime,
    attempt as attempt,
    check_deadline as check_deadline,
    shuffled_order as shuffled_order,
)
from cfo_bench.learners.scoring import metric_of as metric_of
from cfo_bench.metrics import (
    METRICS as METRICS,
    Array as Array,
    Metric as Metric,
)

# A task source.
from cfo_bench.tasks.sources.plugin_tasks import TaskSource as TaskSource

# An engine.
from cfo_bench.engines import Engine as Engine
from cfo_bench.engines.scheduling import (
    Active as Active,
    Listener as Listener,
    signals_into as signals_into,
)
from cfo_bench.errors import Interrupted as Interrupted
from cfo_bench.records import (
    Outcome as Outcome,
    RunSpec as RunSpec,
)
from cfo_bench.run.job import Job as Job
from cfo_bench.run.supervisor import (
    Stop as Stop,
    Verdict as Verdict,
    already_done as already_done,
    supervise as supervise,
)

# A section of the report. `LearnerResults` has the runs and numbers; `draw_lines` draws a `LinePlot`.
from cfo_bench.report.contents import (
    Figure as Figure,
    LinePlot as LinePlot,
    Place as Place,
    Section as Section,
    SectionContent as SectionContent,
    Table as Table,
    TaskTrials as TaskTrials,
)
from cfo_bench.report.numbers.learner_results import LearnerResults as LearnerResults
from cfo_bench.report.rendering.charts import draw_lines as draw_lines

__all__ = sorted(name for name in globals() if not name.startswith("_"))
