"""Measures, terms and tolerances; an abstract problem with two final ones, of points and of operators; evaluated as
pure functions of (model, points)."""

from .courses import Course as Course
from .courses import course as course
from .measures import Sum as Sum
from .measures import average as average
from .measures import each as each
from .measures import worst_case as worst_case
from .operator import OperatorProblem as OperatorProblem
from .pointwise import Problem as Problem
from .problem import AbstractProblem as AbstractProblem
from .problem import ByConstraint as ByConstraint
from .problem import Evaluation as Evaluation
from .problem import Recipe as Recipe
from .problem import TermValues as TermValues
from .samples import Layout as Layout
from .samples import Samples as Samples
from .samples import interpolation as interpolation
from .samples import nearest_neighbour as nearest_neighbour
from .samples import predictions as predictions
from .samples import relative_errors as relative_errors
from .shown import headline as headline
from .shown import lines as lines
from .shown import math as math
from .shown import setting as setting
from .shown import unknown_words as unknown_words
from .term import Term as Term
from .truth import AbstractReference as AbstractReference
from .truth import Solved as Solved
from .truth import as_reference as as_reference
from .truth import formula_at as formula_at
