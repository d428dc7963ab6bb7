#!/usr/bin/env bash
# Installs agentcli in an environment of its own, and a sandbox where the system has none.
set -euo pipefail

# Code of packages runs while they are installed: it gets to see no key.
for name in $(compgen -e | grep -E 'KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL' || true); do
    unset "$name"
done
venv="$RUNNER_TEMP/agentcli/venv"
mkdir -p "$RUNNER_TEMP/agentcli"
if [ -n "$INPUT_VERSION" ]; then
    package="agentcli[openai]==$INPUT_VERSION"
else
    package="$(cd "$GITHUB_ACTION_PATH/../../.." && pwd)[openai]"
fi
if [ ! -x "$venv/bin/agentcli" ]; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet "$package"
fi

if [ "$(uname)" = Linux ] && sudo -n true 2>/dev/null; then
    command -v bwrap >/dev/null || sudo -n apt-get install -y -q bubblewrap >/dev/null || true
    # Ubuntu 24.04 lets no program without a profile make namespaces.
    bwrap --ro-bind / / true 2>/dev/null || sudo -n sysctl -q -w kernel.apparmor_restrict_unprivileged_userns=0 || true
fi
"$venv/bin/agentcli" --version
