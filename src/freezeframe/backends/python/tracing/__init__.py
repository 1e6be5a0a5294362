"""Traces of Python programs, recorded inside of them.

traced_run         run a program again, traced (in the daemon)
probed_run         run a program with a probe at one line (in the daemon)
shaken_run         run a program with delays where its threads meet (in the daemon)
trace_file         read what the agents have written (in the daemon)
trace_segment      the records of one file, decoded when they are asked for
site_agent/        begins the trace when an interpreter starts
bootstrap_agent    loads the agents; which code is traced
instrumenting_agent  drives the recorder by calls in the code itself (Python 3.11 to 3.13)
instrumentation_agent  where in a code object, and with which variables, the recorder is called
hooks_agent        the functions that are called there
monitoring_agent   events of `sys.monitoring`, from Python 3.14 on
settrace_agent     events of `sys.settrace`, before 3.11
omissions_agent    what is left out so that a trace ends in time
recorder_agent     events → records: frames, steps, what each line changed
line_plans_agent   what each line stores, from its bytecode
mentions_agent     which objects each line mentions, from the syntax of its file
line_stores_agent  what lines read and store, beside objects
line_code_agent    the code that records a line, written for it
identities_agent   numbers of objects, and how their parts are read
traced_values_agent  values, and how the parts of objects changed
log_agent          the file of records
endings_agent      where recording ends, and how it ended
probe_agent        values at one line, without a trace
delays_agent       delays at lines that several threads execute
"""
