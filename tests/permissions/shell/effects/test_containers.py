"""Building, starting and removing containers: asked about once if they get no more than folders of the workspace."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from agentcli.permissions.paths import Workspace
from agentcli.permissions.rules import Rules, parse_rules
from tests.permissions.corpus import make_workspace
from tests.permissions.deciding import explain_command
from tests.tables import each_row

RULE = "network(container:./*)"
ALLOWED = parse_rules(allow=[RULE])
COMPOSE = """
x-common: &common
  restart: unless-stopped
  env_file: [.env]
services:
  api:
    <<: *common
    build:
      context: .
      dockerfile: src/Dockerfile
    command: >
      sh -c "npm run
      dev"
    environment:
      - NODE_ENV=development
      - URL=postgres://db:5432/${NAME:-app}
    ports:
    - "3000:3000"
    volumes: [".:/app", "/app/node_modules", './src:/src:ro']
    depends_on: { db: x, cache: "y" }   # started first
    logging: { driver: json-file, options: { max-size: 10m } }
    deploy:
      replicas: 2
      resources: { limits: { cpus: "1", memory: 512M }, reservations: { memory: 64M } }
    healthcheck:
      test:
        [
          "CMD", "curl", "-H", "A: \\"b\\"",
          "http://localhost:3000/health"
        ]
  db:
    image: postgres:16
    volumes:
      - data:/var/lib/postgresql/data
      - type: bind
        source: ./src
        target: /docker-entrypoint-initdb.d
        read_only: true
volumes:
  data:
    name: app_data
networks:
  default:
    driver: bridge
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A workspace with a compose file, and a sandbox that gates the network."""
    made = make_workspace(tmp_path / "a")
    (made.cwd / "src").mkdir(exist_ok=True)
    (made.cwd / "src/more.yml").write_text("services:\n  api:\n    privileged: true\n")
    (made.cwd / "compose.yml").write_text(COMPOSE)
    return replace(made, path="/nonexistent", sandboxed=True, gated=True, records=True, shell_env=dict)


def decision(command: str, workspace: Workspace, rules: Rules = ALLOWED) -> str:
    return explain_command(command, workspace, "auto", rules).decision


@each_row(
    "command",
    [
        "docker compose up -d",
        "docker compose -f compose.yml up -d --build api 2>&1 | tail -5",
        "cd src && docker compose up --wait",
        "docker compose build --no-cache api && docker compose up -d && docker compose ps",
        "docker compose down --remove-orphans && docker compose up -d && sleep 3 && docker compose logs api",
        "docker compose run --rm -e A=1 api npm test",
        "docker compose pull -q; docker compose stop db; docker compose rm -fs db",
        "docker build -t x -f src/Dockerfile --build-arg A=1 .",
        "docker buildx build --load -t x src",
        "docker build -t x . && docker run --rm x npm test",
        "docker run --rm -d --name db -p 5432:5432 -e POSTGRES_PASSWORD=x -v data:/var/lib/postgresql/data postgres:16",
        "docker run --rm -v ./src:/app:ro --network none -w /app node:22 npm test",
        "docker run --mount type=bind,source=./src,target=/app x",
        "docker run -e=A=1 -v=./src:/app -p=80:80 --mount type=bind,source=./.git,target=/g,readonly=true x",
        "docker compose -f=compose.yml up -d",
        "docker pull node:22",
    ],
)
def test_containers_of_a_project_are_asked_about_once(command: str, workspace: Workspace) -> None:
    found = explain_command(command, workspace, "auto")
    assert (found.decision, found.first_answer("auto")) == ("ask", ((), (RULE,)))
    assert decision(command, workspace) == "allow"
    assert decision(command, workspace, ALLOWED + parse_rules(deny=["network"])) == "ask"
    assert decision(command, workspace, parse_rules(allow=["network(container:web)", "network(*)"])) == "ask"
    assert explain_command(command, workspace, "ask").decision == "ask"


@each_row(
    "command",
    [
        *(f"docker run {given} x ls" for given in (
            "--privileged", "-v /:/host", "-v ../b:/b", "-v ~/.ssh:/s", "-v /var/run/docker.sock:/var/run/docker.sock", "-v .git:/g", "-v $HOME:/h",
            "--mount type=bind,src=/,dst=/h", "--mount type=bind,src=.,dst=/a,src=/", "--mount type=volume,volume-opt=device=/,dst=/h",
            "--pid host", "--pid=host", "--network host", "--net=host", "--network container:db", "--ipc host", "--userns=host", "--uts=host",
            "--device /dev/sda", "--cap-add SYS_ADMIN", "--security-opt seccomp=unconfined", "--gpus all", "--volumes-from db", "-e HOME",
            "--env-file ../x", "--env-file .env", "--add-host a:b", "--runtime x", "--cgroup-parent /", "--volume-driver x", "--rm -itv /:/h",
            "-v c:/Users:/h", "-e=HOME", "-v=/:/h", "-tv=/:/h", "-v=./.git:/g", "--mount type=bind,src=./.git,dst=/g,readonly=false", "--mount type=bind,src=./.git,dst=/g,readonly=0")),
        *("docker run x nsenter -t 1 sh", "docker run x cat /proc/1/environ", "docker run -H tcp://a x", "docker -H tcp://a run x", "docker --context p run x"),
        *(f"docker build {given}" for given in (
            "..", "/", "-", "https://example.org/a.git", "git@example.org:a/b", "--secret id=a,src=/etc/shadow .", "--ssh default .", "--network=host .",
            "--allow security.insecure .", "-f ../Dockerfile .", "--build-context a=/ .", "-o . .", "--output type=local,dest=/ .", "--push .",
            "--build-arg AWS_SECRET_ACCESS_KEY .", "--cache-to type=local,dest=/ .", "--iidfile x .", "--builder x .", ". ..", "-f=../Dockerfile .")),
        *("docker buildx bake", "docker buildx create x", "docker push x", "docker load -i x", "docker save x", "docker volume rm x", "docker login",
          "docker compose down -v", "docker compose down --volumes", "docker compose down --rmi all", "docker compose up --renew-anon-volumes", "docker compose push",
          "docker compose rm -v", "docker compose run -v /:/h api ls", "docker compose run --cap-add ALL api ls", "docker compose run -e HOME api ls",
          "docker compose -p other down", "docker compose --project-directory / up", "docker compose --env-file x up", "docker compose watch",
          "docker compose -f ../a.yml up", "docker compose -f=src/more.yml up", "docker compose -f compose.yml -f=src/more.yml down", "docker compose run -e=HOME api ls", "docker compose -f https://example.org/a.yml up", "docker compose -f oci://example.org/a up",
          "docker compose -f compose.yml -f - up", "docker compose build --ssh default", "docker compose build --push", "docker compose --file=/a.yml up",
          "docker compose run api printenv", "docker compose run api rm -rf /data", "cd .. && docker compose up", "cd / && docker compose up"),
        *("echo 'services: {}' > compose.yml && docker compose up", "sed -i s/a/b/ compose.yml; docker compose up -d", "make && docker compose up",
          "ln -s / a && docker run -v ./a:/h x", "docker compose run api sh -c 'echo > compose.yml' && docker compose up",
          "docker compose up -d && docker compose up -d", "docker compose exec api make && docker run -v ./a:/h x", "echo DOCKER_HOST=a > .env; docker compose ps",
          "COMPOSE_FILE=/a.yml docker compose up", "DOCKER_HOST=tcp://a docker compose up", "export COMPOSE_FILE=/a; docker compose up",
          "./docker compose up", "PATH=. docker compose up", "docker compose up > ../x", "docker compose up &", "sudo docker compose up",
          "docker() { ./x; }; docker compose up"),
    ],
)  # fmt: skip
def test_what_may_give_containers_more_asks_each_time(command: str, workspace: Workspace) -> None:
    assert decision(command, workspace) == "ask"
    assert RULE not in explain_command(command, workspace, "auto").grants()


@each_row(
    "line",
    [
        *(f"services:\n  a:\n    {line}" for line in (
            "privileged: true", '"privileged": true', "'privileged': true", '"priv\\x69leged": true', "pid: host", "ipc: host", "network_mode: host",
            'network_mode: "ho\\x73t"', "network_mode: container:b", "network_mode: ${X}", "cap_add: [ALL]", "devices: [/dev/sda]", "userns_mode: host",
            "security_opt: [seccomp:unconfined]", "volumes: ['/:/h']", "volumes: ['..:/h']", "volumes: ['c:/Users:/h']", "annotations: {run.oci.handler: x}", "volumes: ['~:/h']", "volumes: ['${X}:/h']",
            'volumes: ["\\x2f:/h"]', "volumes:\n    - /var/run/docker.sock:/s", "volumes:\n    - type: bind\n      source: /\n      target: /h",
            "volumes:\n    - {type: bind, source: /, target: /h}", "volumes:\n    - type: volume\n      source: ./a\n      target: /h",
            "volumes: ['./.git:/g']", "volumes: ['./.env:/e']", "volumes_from: [b]", "build: ..", "build: /", "build: https://example.org/a.git",
            "build: git@example.org:a/b", "build: github.com/a/b", "build: missing", "build: {context: ., network: host}", "build:\n      context: .\n      ssh: [default]",
            "build:\n      context: .\n      dockerfile: ../x", "build:\n      context: .\n      dockerfile: /x", "build:\n      context: .\n      privileged: true",
            "build:\n      context: .\n      additional_contexts: {a: /}", "env_file: /etc/x", "env_file: ../x", "env_file: [{path: ~/.netrc}]",
            "extends: {file: /a.yml, service: b}", "provider: {type: sh}", "post_start: [{command: id, privileged: true}]", "cgroup: host", "gpus: all",
            "runtime: x", "deploy: {resources: {reservations: {devices: [{driver: cdi, device_ids: [a/b=c]}]}}}",
            "logging: {driver: syslog, options: {syslog-address: 'tcp://127.0.0.1:6379'}}", "logging:\n      driver: ${X}", "sysctls: [a=b]", "develop: {watch: x}", "unknown: x", "<<: {privileged: x}", "<<: *missing",
            "? privileged\n    : true", "image: !!binary a", "image: a\n\tprivileged: true", "volumes: [\n      '/:/h'\n      ]", "build:\n      ..", "network_mode:\n      host")),
        "x: &a\n  privileged: true\nservices:\n  a: *a",
        "x-a: &a\n  privileged: true\nservices:\n  a:\n    <<: *a",
        "x-a: &a {pid: host}\nservices:\n  a:\n    <<: [*a]",
        "services:\n  a: &a\n    image: x\n  b:\n    <<: *a\n    cap_add: [ALL]",
        "services:\n  a:\n    command: |\n      x\n    privileged: true",
        "services:\n  a:\n    image: x\u2028    privileged: true",
        "services:\n  a:\n    image: x\r    privileged: true",
        "services:\n  a:\n    image: x\x85    privileged: true",
        "volumes:\n  a:\n    driver_opts: {type: none, o: bind, device: /}",
        "volumes:\n  a:\n    driver: other",
        "volumes:\n  a:\n    name: /\n    external: true",
        "volumes:\n  a:\n    name: ${X:-/}",
        "networks:\n  a:\n    name: host\n    external: true",
        "networks:\n  a:\n    external: {name: host}",
        "networks:\n  host:\n    external: true",
        "networks:\n  a:\n    driver: host",
        "secrets:\n  a:\n    file: ~/.aws/credentials",
        "secrets:\n  a:\n    environment: AWS_SECRET_ACCESS_KEY",
        "configs:\n  a:\n    file: /etc/shadow",
        "include: [/a.yml]",
        "include:\n  - path: oci://example.org/a",
        "x: &a [x, x]\ny: &b [*a, *a, *a, *a, *a, *a, *a, *a]\nz: &c [*b, *b, *b, *b, *b, *b, *b, *b]\n"
        "x-d: &d [*c, *c, *c, *c, *c, *c, *c, *c]\nx-e: [*d, *d, *d, *d, *d, *d, *d, *d]",
        "services: &a\n  b: *a",
        f"x: {'[' * 20_000}",
        "services:\n  a:\n    privileged: !reset true",
        "services:\n  a: !override\n    image: x",
        "- services",
        "services: x",
        "---\na: b\n---\nservices: {}",
        "%YAML 1.1\n---\nservices:",
        "{services: {a: {privileged: true}}}",
        "services: {a: {privileged: true}}",
    ],
)  # fmt: skip
def test_a_file_that_may_give_containers_more_asks_each_time(line: str, workspace: Workspace) -> None:
    (workspace.cwd / "compose.yml").write_text(f"{line}\n", newline="")
    for command in ("docker compose up -d", "docker compose build", "docker compose run api ls", "docker compose down"):
        found = explain_command(command, workspace, "auto", ALLOWED)
        assert found.decision == "ask", command
        assert not explain_command(command, workspace, "auto").grants()
    assert decision("docker compose ps", workspace, Rules()) == "ask"


@each_row(
    "command",
    [
        "docker compose ps",
        "docker compose logs --tail 5 api",
        "docker compose config -q | head -3",
        "docker compose top",
    ],
)
def test_the_state_of_a_projects_containers_is_shown_unasked(command: str, workspace: Workspace) -> None:
    assert decision(command, workspace, Rules()) == "allow"
    assert decision(command, workspace, parse_rules(deny=[RULE])) == "ask"
    for name in ("DOCKER_HOST", "DOCKER_CONTEXT", "COMPOSE_FILE"):
        assert decision(command, replace(workspace, env={**workspace.env, name: "tcp://box"}), Rules()) == "ask"
    steering = ("DOCKER_HOST=tcp://box", "export COMPOSE_FILE=/a.yml", "COMPOSE_ENV_FILES=/x", "LD_PRELOAD=./x")
    for line in (
        *steering,
        "COMPOSE_FILE: /a.yml",
        "\xa0COMPOSE_FILE=/a.yml",
        "DOCKER_HOST\x85 : tcp://box",
        'A="b"PATH=x',
    ):
        (workspace.cwd / ".env").write_text(f"A=1\n{line}\n")
        assert decision(command, workspace, Rules()) == "ask", line
        assert decision("docker compose up", workspace) == "ask", line
    for text in ("", "COMPOSE_PROJECT_NAME=a\nA=DOCKER_HOST\nMY_PATH=b\nC: DOCKER_HOST\n"):
        (workspace.cwd / ".env").write_text(text)
        assert decision(command, workspace, Rules()) == "allow"


def test_a_file_beside_or_above_counts_and_none_outside_the_workspace(workspace: Workspace) -> None:
    for name in ("compose.override.yml", "docker-compose.yaml", "docker-compose.override.yml"):
        (workspace.cwd / name).write_text("services:\n  api:\n    privileged: true\n")
        found = explain_command("docker compose up", workspace, "auto", ALLOWED)
        assert (found.decision, name in found.why) == ("ask", True), found.why
        (workspace.cwd / name).unlink()
    (workspace.cwd / "compose.yml").rename(workspace.cwd.parent / "compose.yml")
    assert decision("docker compose up", workspace) == "ask"
    (workspace.cwd / "compose.yml").symlink_to(workspace.cwd.parent / "compose.yml")
    assert decision("docker compose up", workspace) == "ask"


def test_a_folder_that_leads_elsewhere_is_not_the_workspaces(workspace: Workspace) -> None:
    (workspace.cwd / "out").symlink_to("/")
    (workspace.cwd / "src/Dockerfile").symlink_to(workspace.home / ".ssh/id_rsa")
    for command in ("docker build src", "docker compose build", "docker build -f src/Dockerfile ."):
        assert decision(command, workspace) == "ask", command
    for command in ("docker run -v ./out:/h x", "docker build out", "docker run --mount type=bind,src=./out,dst=/h x"):
        assert decision(command, workspace) == "ask", command
    (workspace.cwd / "compose.yml").write_text("services:\n  a:\n    volumes: ['./out:/h']\n")
    assert decision("docker compose up", workspace) == "ask"


@each_row(
    "command",
    [
        *(f"docker run {given} x ls" for given in ("-v ./deep/../..:/h", "--mount type=bind,src=./deep/../..,dst=/h", "--env-file deep/../../env")),
        *("docker build deep/../..", "docker build -f deep/../../Dockerfile .", "docker cp api:/x deep/../../new", "docker cp deep/../../env api:/x"),
        *("docker compose -f deep/compose.yml up", "docker compose -f deep/../more.yml up", "docker compose -f deep/../more.yml ps", "docker compose up"),
    ],
)  # fmt: skip
def test_a_path_is_the_same_whether_links_or_parents_are_followed_first(command: str, workspace: Workspace) -> None:
    (workspace.cwd / "src/pkg").mkdir(exist_ok=True)
    if not (workspace.cwd / "deep").is_symlink():
        (workspace.cwd / "deep").symlink_to("src/pkg")
    for file, source in (("src/pkg/compose.yml", "../.."), ("compose.yml", "./deep/../.."), ("src/more.yml", "./pkg")):
        (workspace.cwd / file).write_text(f"services:\n  a:\n    volumes: ['{source}:/h']\n")
    rules = ALLOWED + parse_rules(allow=["network(container:api)"])
    assert decision(command, workspace, rules) == "ask"
    for plain in (
        "docker run -v ./src/pkg/..:/h -v ./deep:/d x ls",
        "docker build src/../src",
        "docker cp deep/a.py api:/x",
    ):
        assert decision(plain, workspace, rules) == "allow", plain
    assert decision("docker compose -f src/pkg/../more.yml up", workspace, rules) == "allow"


def test_a_container_gets_no_files_of_deny_rules(workspace: Workspace) -> None:
    (workspace.cwd / "compose.yml").write_text("services:\n  a:\n    volumes: ['./src:/app']\n")
    (workspace.cwd / "docs").mkdir()
    commands = ("docker run -v ./{}:/a x cat /a/k", "docker run --mount type=bind,src=./{},dst=/a x ls")
    for rule, folder in (("src/key", "src"), ("src/**", "src"), ("src/**", "src/pkg"), ("key", ".")):
        (workspace.cwd / "src/key").write_text("x")
        denied = ALLOWED + parse_rules(deny=[f"read({rule})"])
        for masks in (False, True):
            own = replace(workspace, masks=masks)
            for command in (*(each.format(folder) for each in commands), "docker compose up -d"):
                assert decision(command, own, denied) != "allow", (command, rule)
        assert decision("docker run -v ./docs:/a x ls", replace(workspace, masks=True), denied) == "allow"
        (workspace.cwd / "src/key").unlink()
    assert decision("docker compose up -d", workspace, ALLOWED + parse_rules(deny=["read(key)"])) == "allow"


@each_row(
    "text",
    [
        "a: [" + "x, " * 15_000 + "]",
        "x0: &x0 {a: b}\n" + "".join(f"x{n}: &x{n}\n  <<: [*x{n - 1}, *x{n - 1}]\n" for n in range(1, 40)),
        "a:\n" + "".join(f"{' ' * n}a:\n" for n in range(1, 300)),
        "b\n" + "#" * 70_000,
    ],
)
def test_a_file_beyond_the_limits_of_what_is_read_asks(text: str, workspace: Workspace) -> None:
    (workspace.cwd / "compose.yml").write_text(f"services: {{}}\nx-more:\n  {text.replace(chr(10), chr(10) + '  ')}")
    assert explain_command("docker compose up", workspace, "auto", ALLOWED).decision == "ask"


def test_a_file_named_in_any_spelling_is_the_one_that_is_judged(workspace: Workspace) -> None:
    for option in ("-f src/more.yml", "-f=src/more.yml", "--file src/more.yml", "--file=src/more.yml"):
        for command in ("ps", "logs api", "up -d"):
            assert decision(f"docker compose {option} {command}", workspace, Rules()) == "ask", (option, command)
    assert decision("docker compose -f=compose.yml ps", workspace, Rules()) == "allow"
