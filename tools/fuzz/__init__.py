"""Random programs, run in many ways that must agree; ``python -m tools.fuzz --help``.

`program` holds programs as data and prints them, `builder` makes them line by line from the tables
in `operations` and the forms in `forms` and `identity`, `ways` runs them, `comparison` says what
agrees, `judgement` brings these together, `shrink` makes a disagreement small, `worker` and
`runner` run many and survive crashes.
"""
