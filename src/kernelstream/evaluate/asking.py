"""Few labels: a learner that asks for the labels of some rows and learns from these alone, judged on all rows.

A rule says for each row, from what the learner makes of it before its label is known, with which chance to ask.
"""

import math
from collections.abc import Set
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ..learner import OnlineLearner
from ..metrics import ASKED
from ..parameters import Parameters, did_you_mean, positive
from ..sources import Matrix
from ..tasks import Classification
from ..teaching import explained
from .models import OwnModel, Shown, stacked_kinds


@explained(X="one row, (1, features)")
class Rule(Parameters):
    """When a label is worth asking for."""

    def chance(self, learner: Any, X: Matrix, scores: np.ndarray, seen: int) -> float:
        """With which the label of a row is asked for.

        learner: who asks. scores: of the row, (K,). seen: rows so far, this one too
        """
        raise NotImplementedError


@dataclass
class ByMargin(Rule):
    """Ask where the learner is unsure: with a chance of b / (b + margin), the margin being how far the class shown is
    ahead (Cesa-Bianchi, Gentile, Zaniboni 2006). They have a Perceptron learn from mistakes among the labels asked for,
    as each of our learners that moves on mistakes does; others learn from all of them.

    Parameters
    ----------
    b : the margin at which every second label is asked for

    Examples
    --------
    >>> import numpy as np
    >>> from kernelstream.evaluate import ByMargin
    >>> ByMargin(b=0.1).chance(None, None, np.array([-0.3]), seen=1)
    0.25
    """

    b: float = 0.1

    def check(self) -> None:
        positive(b=self.b)

    def chance(self, learner: Any, X: Matrix, scores: np.ndarray, seen: int) -> float:
        ranked = np.sort(np.asarray(scores, np.float64))
        margin = abs(ranked[0]) if len(ranked) == 1 else ranked[-1] - ranked[-2]
        return float(self.b / (self.b + margin))


@dataclass
class BySpread(Rule):
    """Ask where rows so far say little of a row, whatever their labels were: its spread z'Pz exceeds t^-kappa (BBQ:
    Cesa-Bianchi, Gentile, Orabona 2009). Of learners that know spreads (`Learner.spreads`), Ridge(solve="exact").

    Parameters
    ----------
    kappa : how fast what is asked of a row falls with the rows so far; more asks for more labels

    Examples
    --------
    >>> from kernelstream.evaluate import BySpread
    >>> BySpread(kappa=0.3)
    BySpread(kappa=0.3)
    """

    kappa: float = 0.3

    def check(self) -> None:
        positive(kappa=self.kappa)

    def chance(self, learner: Any, X: Matrix, scores: np.ndarray, seen: int) -> float:
        return float(learner.spreads(X)[0] > seen**-self.kappa)


@dataclass
class AtRandom(Rule):
    """Ask for a random share of the labels: what a rule that looks at rows should do better than.

    Parameters
    ----------
    share : of the rows, above 0 and at most 1

    Examples
    --------
    >>> import numpy as np
    >>> from kernelstream.evaluate import AtRandom
    >>> AtRandom(share=0.05).chance(None, None, np.array([2.0]), seen=1)
    0.05
    """

    share: float = 0.1

    def check(self) -> None:
        positive(share=self.share)
        if self.share > 1.0:
            raise ValueError(f"share={self.share!r} is a share of the rows: it must be at most 1.")

    def chance(self, learner: Any, X: Matrix, scores: np.ndarray, seen: int) -> float:
        return float(self.share)


RULES: dict[str, type[Rule]] = {"margin": ByMargin, "spread": BySpread, "random": AtRandom}


def rule_of(text: str) -> Rule:
    """The rule that words stand for: ``margin``, ``margin:b=0.3``, ``spread:kappa=0.2``, ``random:share=0.1``."""
    name, _, rest = text.partition(":")
    if name not in RULES:
        raise ValueError(f"ask={text!r} is not known; {did_you_mean(name, RULES)} one of {', '.join(RULES)}.")
    (known,) = (field.name for field in fields(RULES[name]))  # type: ignore[arg-type]
    if not rest:
        return RULES[name]()
    parameter, equals, number = rest.partition("=")
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if parameter != known or not equals or math.isnan(value):
        raise ValueError(
            f"ask={text!r} has a setting {rest!r}; {name} has {known}, a number: ask='{name}:{known}=0.2'."
        )
    return RULES[name](**{known: value})


class Asking(OwnModel):
    """A classifier of ours that is shown all rows and asks for the labels of some, for `prequential`: the error is over
    all rows, the learner knows no label that it did not ask for.

    Parameters
    ----------
    learner : a `Learner`, or another that learns online
    rule : `ByMargin`, `BySpread` or `AtRandom`
    seed : of what is drawn, a number a row
    name : in tables; the learner's and the rule
    seen : rows that a learner which goes on was shown before

    Attributes
    ----------
    seen : rows shown
    asked : labels asked for
    share : the latter of the former; `metrics.AskedRate` measures it along a run

    Examples
    --------
    >>> from kernelstream import Learner, Multiclass
    >>> from kernelstream.evaluate import Asking, ByMargin, prequential
    >>> from kernelstream.sources import open_source
    >>> asking = Asking(Learner("rbp", Multiclass(range(10)), scaling="online"), ByMargin(b=1.0))
    >>> trace = prequential(asking, open_source("digits"))
    >>> trace.last.rows, asking.asked < asking.seen, trace.last.metrics["mistake_rate"] < 0.25
    (1797, True, True)
    """

    learns_all = False

    def __init__(self, learner: OnlineLearner, rule: Rule, *, seed: int = 0, name: str | None = None, seen: int = 0):
        super().__init__(learner, f"{learner.name}, {rule}" if name is None else name)
        if not isinstance(learner.task, Classification):
            raise ValueError(f"The task is {learner.task.name}; labels are asked for where there are classes.")
        self.rule, self.seen, self.asked = rule, seen, learner.n_seen if seen else 0
        self._draws = np.random.default_rng(seed)
        self._draws.random(seen)  # the numbers of those rows

    @property
    def share(self) -> float:
        return self.asked / self.seen if self.seen else math.nan

    def learn(self, X: Matrix, y: np.ndarray, kinds: Set[str]) -> Shown:
        parts, asked = [], np.zeros(len(y), bool)
        for t in range(len(y)):
            row = X[t : t + 1]
            scores = self.learner.scores(row)
            parts.append(self._shown(scores, kinds))
            self.seen += 1
            if self._draws.random() < self.rule.chance(self.learner, row, scores[0], self.seen):
                asked[t] = True
                self.asked += 1
                self.learner.learn(row, y[t : t + 1])
        return {**stacked_kinds(parts, kinds - {ASKED}), ASKED: asked}

    def learn_late(self, X: Matrix, y: np.ndarray, shown: Matrix, kinds: Set[str]) -> Shown:
        raise ValueError("A label that is asked for comes at once: labels that come late are not asked for, delay=0.")
