# The contracts and their modules: read by lazy_loader, by type checkers and by the docs.

from .engines import EngineContract as EngineContract
from .learners import LearnerContract as LearnerContract
from .learners import RecordedLearnerContract as RecordedLearnerContract
from .methods import MethodContract as MethodContract
from .task_sources import TaskSourceContract as TaskSourceContract
