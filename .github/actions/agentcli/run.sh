#!/usr/bin/env bash
# Runs the prompt or the batch. It always ends with 0: the report says how it went, and the last step ends likewise.
set -euo pipefail

home="$RUNNER_TEMP/agentcli"
out=$(mktemp -d "$home/out.XXXXXX")
mkdir "$out/artifact"
{
    echo "out=$out"
    echo "artifact=agentcli-$GITHUB_JOB-${out##*.}"
} >>"$GITHUB_OUTPUT"
export XDG_CONFIG_HOME="$home/config" XDG_DATA_HOME="$home/data" XDG_STATE_HOME="$home/state" XDG_CACHE_HOME="$home/cache"
cli="$home/venv/bin/agentcli"
# The shell of the workflow has set all of these; their absence would be a mistake in action.yml.
: "${INPUT_PROMPT?}" "${INPUT_PROMPT_FILE?}" "${INPUT_TASKS?}" "${INPUT_MODEL?}" "${INPUT_MODE?}" "${INPUT_ARGS?}"

args=()
[ -z "$INPUT_MODEL" ] || args+=(--model "$INPUT_MODEL")
# xargs takes quoted words apart as a shell does, and runs nothing that stands in them.
while IFS= read -r word; do
    [ -z "$word" ] || args+=("$word")
done < <(printf '%s' "$INPUT_ARGS" | xargs -n 1 printf '%s\n')
box=(--set general.sandbox=require --set general.sandbox_network=false --deny web_fetch)

# What writes to these files steers the steps that follow.
apart=(env -u GITHUB_ENV -u GITHUB_PATH -u GITHUB_OUTPUT -u GITHUB_STATE -u GITHUB_STEP_SUMMARY)

session_of='
import json, sys
found = (json.loads(line) for line in open(sys.argv[1], encoding="utf-8") if line.startswith("{"))
print(next((event["session_id"] or "" for event in found if event["type"] in ("init", "result")), ""))
'
events() { # standard output into a file, and to the log where that is wanted
    if [ "$INPUT_SHOW_FULL_OUTPUT" = true ]; then tee "$1"; else cat >"$1"; fi
}

check() { # in a sandbox without network, with nothing of the environment: it runs what the agent wrote
    local -a boxed=()
    if bwrap --ro-bind / / true 2>/dev/null; then
        boxed=(bwrap --die-with-parent --unshare-net --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp --bind "$PWD" "$PWD")
        [ ! -d .git ] || boxed+=(--ro-bind "$PWD/.git" "$PWD/.git")
    else
        echo "::warning::bubblewrap does not work here: the check runs without a sandbox."
    fi
    env -i PATH="$PATH" HOME="$HOME" CI=true ${boxed[@]+"${boxed[@]}"} bash -c "$INPUT_CHECK"
}

code=0
if [ -n "$INPUT_TASKS" ]; then
    [ -z "$INPUT_MAX_COST" ] || args+=(--max-cost-total "$INPUT_MAX_COST")
    [ -z "$INPUT_CHECK" ] || args+=(--check "$INPUT_CHECK")
    "${apart[@]}" "$cli" batch run "$INPUT_TASKS" "$out/batch" -o stream-json "${box[@]:2}" ${args[@]+"${args[@]}"} \
        2>"$out/stderr.txt" | events "$out/events.jsonl" || code=$?
    if [ -f "$out/batch/batch.json" ]; then
        "$cli" batch report "$out/batch" >/dev/null || true
        cp -r "$out/batch" "$out/artifact/"
        [ "$INPUT_SHOW_FULL_OUTPUT" = true ] || find "$out/artifact" \( -name events.jsonl -o -name stderr.txt \) -delete
    fi
elif [ -n "$INPUT_PROMPT$INPUT_PROMPT_FILE" ]; then
    [ -z "$INPUT_MAX_COST" ] || args+=(--max-cost "$INPUT_MAX_COST")
    {
        [ -z "$INPUT_PROMPT_FILE" ] || cat -- "$INPUT_PROMPT_FILE"
        printf '%s\n' "$INPUT_PROMPT"
    } >"$out/prompt.txt"
    "${apart[@]}" "$cli" -p - -o stream-json --mode "$INPUT_MODE" "${box[@]}" ${args[@]+"${args[@]}"} \
        <"$out/prompt.txt" 2>"$out/stderr.txt" | events "$out/events.jsonl" || code=$?
    if [ "$code" = 0 ] && [ -n "$INPUT_CHECK" ]; then
        check >"$out/artifact/check.txt" 2>&1 || code=$?
        echo "$code" >"$out/check_code"
    fi
    session=$("$home/venv/bin/python" -c "$session_of" "$out/events.jsonl")
    if [ -n "$session" ]; then
        for form in html json; do
            "$cli" sessions export "$session" -f "$form" -o "$out/artifact/session.$form" >/dev/null 2>&1 || true
        done
    fi
    [ "$INPUT_SHOW_FULL_OUTPUT" != true ] || cp "$out/events.jsonl" "$out/stderr.txt" "$out/artifact/"
else
    echo "::error::Give a prompt, a prompt_file or tasks."
    code=2
fi
[ "$INPUT_SHOW_FULL_OUTPUT" != true ] || [ ! -f "$out/stderr.txt" ] || cat "$out/stderr.txt" >&2
echo "$code" >"$out/exit_code"
