"""How nbgrader hands out, grades and returns the exercises.

`make classroom` lays this file into `classroom/build/course/`, beside `source/` and `release/`, and leaves
the one there alone once you have changed it. Run nbgrader in that folder, with the environment that
`make classroom` has made activated (`. .venv/bin/activate`): nbgrader looks for its helpers on the path.
"""

import sys
from pathlib import Path

from nbgrader.converters import Autograde
from nbgrader.preprocessors import Execute

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from execute_all import ExecuteAll  # noqa: E402 (it lies beside this file)

c = get_config()  # noqa: F821 (nbgrader gives it)

# The course's name, as the exchange and JupyterHub know it, and its folder.
c.CourseDirectory.course_id = "prefix-lm"
c.CourseDirectory.root = str(HERE)

# A notebook may be paired with a text of the same name, which holds the solutions too. Whatever lies in
# source/ and isn't listed here is copied to the students.
c.CourseDirectory.ignore = [".ipynb_checkpoints", "*.pyc", "__pycache__", "feedback", "*.md"]

# What stands in the place of a solution: as in the chapters.
c.ClearSolutions.code_stub = {"python": "...  # your code here"}
c.ClearSolutions.text_stub = "*Your answer here.*"

# Seconds that a cell may take when it is graded. A check stops a function that doesn't end after ten, and
# says so; a loop outside a function is stopped after these.
c.Execute.timeout = 60

# A submission that ends its kernel, or can't be interrupted, loses the marks of the cell that does so and
# no others (execute_all.py).
c.Autograde.autograde_preprocessors = [
    ExecuteAll if each is Execute else each for each in Autograde.autograde_preprocessors.default()
]

# What the feedback shows of a cell that printed without end.
c.LimitOutput.max_lines = 100

# Where released assignments and submissions are exchanged, if students and teachers share a machine.
# Everybody must be able to write there.
# c.Exchange.root = "/srv/nbgrader/exchange"

# Submissions are other people's code, and it runs as you. Grade them as a user who owns nothing else, and
# with a limit on memory, such as `ulimit -v` or your container's.
