#!/usr/bin/env bash
# Ends with 1 unless whoever triggered this run may write to the repository. Those who cannot write could steer the agent by a comment.
set -euo pipefail

case "$GITHUB_EVENT_NAME" in
    push | schedule | workflow_dispatch | repository_dispatch | merge_group) exit 0 ;; # only writers can cause these
esac
for actor in "$GITHUB_ACTOR" "${TRIGGERING_ACTOR:-$GITHUB_ACTOR}"; do
    url="$GITHUB_API_URL/repos/$GITHUB_REPOSITORY/collaborators/$actor/permission"
    permission=$(curl -gfsS -H "Authorization: Bearer $GITHUB_TOKEN" -H "Accept: application/vnd.github+json" "$url" |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["permission"])') || permission=unknown
    case "$permission" in
        admin | maintain | write) ;;
        *)
            echo "::error::$actor has no write access to $GITHUB_REPOSITORY (permission: $permission): agentcli is not run."
            exit 1
            ;;
    esac
done
