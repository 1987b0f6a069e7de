"""Tune a model of your own with `minimize`: CFO starts with a cheap configuration, and grows it.

python examples/minimize.py
"""

from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from cfo_bench import Float, Int, Space, minimize

x, y = load_breast_cancer(return_X_y=True)
train_x, valid_x, train_y, valid_y = train_test_split(x, y, test_size=0.3, random_state=0, stratify=y)

space = Space(
    [
        Int("n_estimators", 4, 200, log=True),
        Int("max_leaf_nodes", 4, 200, log=True),
        Float("max_features", 0.05, 1.0, log=True),
    ]
)


def loss(config):
    model = RandomForestClassifier(**config, random_state=0).fit(train_x, train_y)
    return 1 - roc_auc_score(valid_y, model.predict_proba(valid_x)[:, 1])


start = {"n_estimators": 4, "max_leaf_nodes": 4, "max_features": 1.0}  # the cheapest
best = minimize(loss, space, start, max_trials=30, budget_seconds=20, seed=1)

print(f"auc {1 - best.loss:.4f} with {best.config}")
