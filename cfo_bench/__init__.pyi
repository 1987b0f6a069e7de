# The public names of the package and where they live: read by lazy_loader, by type checkers and by the docs.

from .comparison.compare import compare as compare
from .engines.suite_runs import run_suite as run_suite
from .engines.suite_runs import runs_of as runs_of
from .exchange.exporting import export_to_archive as export_to_archive
from .exchange.exporting import export_to_deepcave as export_to_deepcave
from .exchange.exporting import export_to_optuna as export_to_optuna
from .exchange.exporting import export_trials as export_trials
from .exchange.importing import import_trials as import_trials
from .learners.estimator import Estimator as Estimator
from .minimization import minimize as minimize
from .models.best import best_configurations as best_configurations
from .models.best import fit_best as fit_best
from .models.best import load_model as load_model
from .models.best import python_script as python_script
from .optimizers.cfo import CFO as CFO
from .records import Result as Result
from .records import Status as Status
from .records import Trial as Trial
from .report.library import write_report as write_report
from .results.frames import load_results as load_results
from .space import Categorical as Categorical
from .space import Float as Float
from .space import Int as Int
from .space import Space as Space
from .suite.choices import Choice as Choice
from .suite.model import Suite as Suite
from .surrogates.building import fit_surrogate as fit_surrogate

__version__: str
