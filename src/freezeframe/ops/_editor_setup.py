"""How editors are told to start or to reach `dbg dap`."""

from __future__ import annotations

_PORT = 4711

_SERVER = f"run `dbg dap --port {_PORT}` in the project's folder, then start this configuration:"

_VSCODE = f"""\
VS Code: {_SERVER}
in .vscode/launch.json ("type" is one that an installed extension has):
  {{
    "name": "join the agent's session",
    "type": "python",
    "request": "attach",
    "debugServer": {_PORT},
    "session": "app",
    "workspace": "${{workspaceFolder}}"
  }}
"""

_ZED = f"""\
Zed: {_SERVER}
in .zed/debug.json ("adapter" is one that Zed has):
  [
    {{
      "label": "join the agent's session",
      "adapter": "JavaScript",
      "request": "attach",
      "tcp_connection": {{ "host": "127.0.0.1", "port": {_PORT} }},
      "session": "app",
      "workspace": "$ZED_WORKTREE_ROOT"
    }}
  ]
"""

_NVIM = """\
Neovim with nvim-dap, in init.lua:
  local dap = require('dap')
  dap.adapters.dbg = { type = 'executable', command = 'dbg', args = { 'dap' } }
  -- Versions before 0.8 take a program that the agent resumed for stopped.
  dap.listeners.before.event_continued.dbg = function(session) session.stopped_thread_id = nil end
  local join = { name = "join the agent's session", type = 'dbg', request = 'attach',
    session = 'app', workspace = '${workspaceFolder}' }
  local launch = { name = 'launch with dbg', type = 'dbg', request = 'launch',
    program = '${file}', cwd = '${workspaceFolder}' }
  for _, language in ipairs({ 'python', 'javascript', 'go', 'rust', 'c', 'cpp' }) do
    dap.configurations[language] = vim.list_extend(dap.configurations[language] or {},
      { join, launch })
  end
"""

_EMACS = """\
Emacs with dap-mode, in init.el:
  (dap-register-debug-provider "dbg"
    (lambda (conf) (plist-put conf :dap-server-path '("dbg" "dap")) conf))
  (dap-register-debug-template "join the agent's session"
    (list :type "dbg" :request "attach" :session "app" :workspace (lsp-workspace-root)))
Emacs with dape:
  (add-to-list 'dape-configs
    '(dbg command "dbg" command-args ("dap") command-cwd dape-command-cwd
      :type "dbg" :request "attach" :session "app" :workspace dape-cwd-fn))
  (add-to-list 'dape-configs
    '(dbg-launch command "dbg" command-args ("dap") command-cwd dape-command-cwd
      :type "dbg" :request "launch" :program dape-buffer-default :cwd dape-cwd-fn))
"""

#: editor → the configuration to add
EDITORS = {"vscode": _VSCODE, "nvim": _NVIM, "zed": _ZED, "emacs": _EMACS}
