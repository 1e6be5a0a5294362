"""Java: the java command with its options, and build tools that run tests."""

from __future__ import annotations

import glob
import os
import shlex

from freezeframe.errors import NotFound, UsageError

from .command_line import CommandLine, Program, Tools
from .options import split

_CLASSPATH = ("-cp", "-classpath", "--class-path")
#: options whose value is the next word
_VALUED = (
    *_CLASSPATH,
    *("-p", "--module-path", "--upgrade-module-path", "--add-modules", "--add-exports"),
    *("--add-opens", "--add-reads", "--patch-module", "--limit-modules", "--source"),
)


async def java(line: CommandLine, tools: Tools) -> Program:
    """Read `java -Dname=value -cp classes Main` and `java -jar app.jar`."""
    found = split(line.argv[1:], _VALUED)
    options, rest, jar = found.options, found.rest, False
    if "-jar" in options:
        at = options.index("-jar")
        options, rest, jar = options[:at], (*options[at + 1 :], *rest), True
    if not rest:
        raise UsageError("`java` alone runs no program.", next="dbg start FILE.jar")
    interpreter = line.which(line.argv[0])
    given = found.value(*_CLASSPATH) if not jar else None
    own = _without(options, _CLASSPATH)
    path = line.path(rest[0])
    if jar or rest[0].endswith(".java"):
        if not os.path.isfile(path):
            raise NotFound(f"there is no {rest[0]} in {line.cwd}.", next="dbg start FILE.jar")
        jvm = interpreter if jar else None
        env = {"CLASSPATH": _absolute(line, given)} if given else {}
        return Program(path, rest[1:], interpreter=jvm, interpreter_args=own, env=env)
    classes = _absolute(line, given or line.env.get("CLASSPATH", ""))
    return Program(
        rest[0].replace("/", "."),
        rest[1:],
        module=True,
        language="Java",
        interpreter=interpreter,
        interpreter_args=own,
        env={"CLASSPATH": classes} if classes else {},
        name=rest[0].rpartition(".")[2],
    )


def _absolute(line: CommandLine, classpath: str) -> str:
    return os.pathsep.join(line.path(each) for each in classpath.split(os.pathsep) if each)


def _without(options: tuple[str, ...], names: tuple[str, ...]) -> tuple[str, ...]:
    kept: list[str] = []
    skip = False
    for each in options:
        if skip:
            skip = False
        elif each in names:
            skip = True
        elif each.partition("=")[0] not in names:
            kept.append(each)
    return tuple(kept)


# --- builds that run tests -----------------------------------------------------------------------

_TESTING = ("test", "verify", "package", "install", "integration-test", "surefire:test")
_LAUNCHER = "org.codehaus.plexus.classworlds.launcher.Launcher"


async def maven(line: CommandLine, tools: Tools) -> Program:
    """Read `mvn test -Dtest=X` as Maven itself, with the tests in its own process."""
    goals = [each for each in line.argv[1:] if not each.startswith("-")]
    if not any(each in _TESTING or ":" in each for each in goals):
        tried = f"mvn {' '.join(goals)}".strip()
        raise UsageError(f"`{tried}` runs no program.", next="dbg start mvn test -Dtest=CLASS")
    script = line.which(line.argv[0])
    home = _maven_home(script) if script is not None else None
    if script is None or home is None:
        raise NotFound("there is no Maven on PATH.", next="apt-get install maven")
    project = _project_above(line.cwd)
    [*jars] = [
        os.path.join(home, "boot", each)
        for each in sorted(os.listdir(os.path.join(home, "boot")))
        if each.startswith("plexus-classworlds") and each.endswith(".jar")
    ]
    settings = {
        "classworlds.conf": os.path.join(home, "bin", "m2.conf"),
        "maven.home": home,
        "maven.multiModuleProjectDirectory": project,
        "library.jansi.path": os.path.join(home, "lib", "jansi-native"),
        "jansi.mode": "strip",
    }
    given = line.env.get("MAVEN_OPTS", "").split()
    return Program(
        _LAUNCHER,
        # In their own process the tests could not be debugged.
        (*line.argv[1:], "-DforkCount=0", "-B"),
        module=True,
        language="Java",
        interpreter=_jvm(line),
        interpreter_args=(*given, *(f"-D{name}={value}" for name, value in settings.items())),
        env={"CLASSPATH": os.pathsep.join(jars)},
        name="mvn",
    )


def _jvm(line: CommandLine) -> str | None:
    home = line.env.get("JAVA_HOME")
    own = os.path.join(home, "bin", "java") if home else None
    return own if own and os.path.isfile(own) else line.which("java")


def _maven_home(script: str) -> str | None:
    """Return the folder that a `mvn` belongs to: it has the launcher in `boot`."""
    candidates = [os.path.dirname(os.path.dirname(os.path.realpath(script))), "/usr/share/maven"]
    return next((each for each in candidates if os.path.isdir(os.path.join(each, "boot"))), None)


def _project_above(folder: str) -> str:
    """Return the root folder of the project, which contains `.mvn`; else the given one."""
    here = folder
    while not os.path.isdir(os.path.join(here, ".mvn")):
        parent = os.path.dirname(here)
        if parent == here:
            return folder
        here = parent
    return here


#: the option after which the debugger puts its agent, for the script that Gradle runs
_AGENT = "-Dfreezeframe.agent="
_GRADLE_SCRIPT = os.path.join(os.path.dirname(__file__), "gradle_agent.gradle")


async def gradle(line: CommandLine, tools: Tools) -> Program:
    """Read `gradle test --tests X` as Gradle itself, which starts tests with the debug agent."""
    args = tuple(each for each in line.argv[1:] if each != "--debug-jvm")
    if not [each for each in args if not each.startswith("-")]:
        raise UsageError("`gradle` alone runs no program.", next="dbg start gradle test")
    script = line.which(line.argv[0])
    found = _gradle_launcher(script) if script is not None else None
    if found is None:
        raise NotFound(
            f"there is no Gradle behind {line.argv[0]}.",
            next=f"{shlex.join((line.argv[0], *args))} --debug-jvm &  # then: dbg attach "
            "localhost:5005 -b FILE:LINE",
        )
    jar, main = found
    given = [*line.env.get("JAVA_OPTS", "").split(), *line.env.get("GRADLE_OPTS", "").split()]
    return Program(
        main,
        # A running daemon would not be our child, and outlives the session.
        (*args, "--no-daemon", "--init-script", _GRADLE_SCRIPT, _AGENT),
        module=True,
        language="Java",
        interpreter=_jvm(line),
        interpreter_args=("--add-opens=java.base/java.lang=ALL-UNNAMED", *given),
        env={"CLASSPATH": jar},
        name="gradle",
    )


def _gradle_launcher(script: str) -> tuple[str, str] | None:
    """Return the jar of `gradle` or of a project's `gradlew`, and its main class."""
    own = os.path.join(os.path.dirname(script), "gradle", "wrapper", "gradle-wrapper.jar")
    if os.path.isfile(own):
        return own, "org.gradle.wrapper.GradleWrapperMain"
    home = os.path.dirname(os.path.dirname(os.path.realpath(script)))
    jars = sorted(glob.glob(os.path.join(glob.escape(home), "lib", "gradle-launcher*.jar")))
    return (jars[-1], "org.gradle.launcher.GradleMain") if jars else None


COMMANDS = {"java": java, "mvn": maven, "mvnw": maven, "gradle": gradle, "gradlew": gradle}
