"""What a user holds afterwards: evaluate, check, plot, record, save and load. Never trains."""

from .abstract import AbstractSolution as AbstractSolution
from .conflicts import conflict as conflict
from .constraints import values_of as values_of
from .estimates import Estimate as Estimate
from .history import History as History
from .history import Row as Row
from .history import Tempered as Tempered
from .history import largest as largest
from .operator_solution import OperatorSolution as OperatorSolution
from .outcome import RESULTS as RESULTS
from .page import side_by_side as side_by_side
from .page import write_page as write_page
from .promise import Promise as Promise
from .record import versions as versions
from .report import Report as Report
from .solution import Solution as Solution
from .storage import load_solution as load_solution
from .storage import solution_of as solution_of
from .verdict import sizes_of as sizes_of
from .view import server as server
