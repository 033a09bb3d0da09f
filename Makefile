# Bare `make` prints this help.
.DEFAULT_GOAL := help
.PHONY: help test test-all race lint pages figures fuzz soak soak-notify soak-orders soak-ledger soak-chain run quick scenarios calibrate verdicts rivals peers module release proof manuals archives ci

help: ## this help
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

test: ## the quick tests: long ones with fewer cases, or not (5 minutes once compiled)
	go test work

test-all: export DYNO_TESTS = all
test-all: ## every test in full, as CI runs them: soaks, calibrations, peers, every assembly and kill point (18 minutes)
	go test work

race: export DYNO_TESTS = all
race: ## every test in full under the race detector
	go test -race work

lint: ## formatting, versions, vet (also for macOS) and staticcheck
	@test -z "$$(gofmt -l .)" || { echo "gofmt would change:"; gofmt -l .; exit 1; }
	@sums() { git ls-files -z '*go.mod' | xargs -0 cksum; }; before=$$(sums); go work sync; \
	  test "$$before" = "$$(sums)" || { echo "go work sync changed a go.mod: what is tested is not what go install builds; commit the change"; git diff --stat -- '*go.mod'; exit 1; }
	go vet work
	GOOS=darwin go vet work
	go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 work

pages: ## type every command of README.md and docs/ in a fresh clone, as readers do (4 minutes once compiled)
	go run ./bench/tests/pages

fuzz: ## every fuzz target for 20 s each
	@go list work | while read -r pkg; do \
	  for target in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
	    echo "$$pkg $$target"; go test -run '^$$' -fuzz "^$$target$$" -fuzztime 20s -fuzzminimizetime 20x $$pkg || exit 1; done; done

soak: soak-notify soak-orders soak-ledger soak-chain ## kill, cut the power, lie, and look for answers that are stale, foreign or wrong (2 hours)

soak-notify: export DYNO_TESTS = all
soak-notify: ## kill notifyd at 200 random moments, cut the power at 50, and hold 500 inputs against the model (25 minutes)
	go test dyno/services/notify/soak -run TestKill -count 1 -timeout 1h -kills 200 -v
	go test dyno/bench/tests/powercut -run TestPowerCut -count 1 -timeout 1h -powercut 50 -v
	go test dyno/services/notify -run TestMetamorphic -count 1 -timeout 1h -rapid.checks 500 -v

soak-orders: export DYNO_TESTS = all
soak-orders: ## a million reads of every variant of ordersd while orders change and PostgreSQL is killed (90 minutes)
	go test ./services/orders/soak -run TestGateway -count 1 -timeout 6h -assembly all -reads 1000000 -v

soak-ledger: export DYNO_TESTS = all
soak-ledger: ## kill ledgersync at 100 random moments, and lie to it 10,000 times (25 minutes)
	go test ./services/ledger/soak -run 'TestKill|TestFaults' -count 1 -timeout 2h -kills 100 -faults 10000 -v

soak-chain: export DYNO_TESTS = all
soak-chain: ## kill chaind at 200 random moments, with either way to keep states, and the leader of three at 50; part, kill, slow and deceive three nodes 20 times (90 minutes)
	go test ./services/chain/soak -run 'TestKill|TestBackup' -count 1 -timeout 1h -kills 200 -v
	go test ./services/chain/soak -run TestKill -count 1 -timeout 1h -kills 200 -set state=statedb -v
	go test ./services/chain/cluster -run TestLeaderIsKilled -count 1 -timeout 1h -kills 50 -v
	go test ./services/chain/soak -run TestNodes -count 1 -timeout 2h -networks 20 -v

run: ## the main job, about 4 minutes
	go run ./cmd/dyno run scenarios/notify.yaml

quick: ## the main job in two minutes, with wider intervals
	go run ./cmd/dyno run --quick scenarios/notify.yaml

# Those of notifyd, its queues, what its users meet, and those of ordersd but for the long claims.
SCENARIOS = notify notify-ingest notify-queues notify-burst notify-skew notify-streams leak autoscaler accept orders orders-messages orders-restart orders-overload orders-canary

scenarios: ## the scenarios of docs/reference/notifyd-scenarios.md and ordersd-scenarios.md, quickly, one after the other (20 minutes)
	@failed=; for s in $(SCENARIOS); do \
	  go run ./cmd/dyno run --quick scenarios/$$s.yaml || failed="$$failed $$s"; done; \
	go run ./cmd/dyno compare --metric p99 --at 1000 scenarios/notify-hanging.yaml || failed="$$failed notify-hanging"; \
	for s in orders-pool orders-slow; do go run ./cmd/dyno diagnose --quick scenarios/$$s.yaml || failed="$$failed $$s"; done; \
	test -z "$$failed" || { echo "without a valid result:$$failed"; exit 1; }

calibrate: ## how often a diagnosis is right, on servers of known cause, five times each (40 minutes)
	go run ./bench/calibrate --repeats 5

verdicts: ## what a diagnosis says of programs that others wrote, beside a neighbour; a change established their bounds (50 minutes; the first time, up to an hour more for builds)
	go run ./bench/verdicts --repeats 3 --beside-burn --json docs/results/verdicts.json

figures: ## how old each table of figures is, in commits of what it measured, and the claims that are open
	go test . -run 'TestFigures|TestClaims' -ages -count=1 -v

# Those of scenarios/peers/chain.yaml, as they are published: no go.mod of ours requires them, because the one build list of the
# workspace would get their versions of what services use, and CI would compile them. Colyseus comes from npm.
rivals: ## the rivals of chaind, geth, CometBFT and anvil, and of arenad, Colyseus, into dyno-out (5 minutes, once)
	@mkdir -p dyno-out; failed=; for p in github.com/ethereum/go-ethereum/cmd/geth@v1.17.10 github.com/cometbft/cometbft/cmd/cometbft@v1.0.1; do \
	  GOBIN="$(CURDIR)/dyno-out" go install $$p || failed="$$failed $$p"; done; \
	npm install --no-fund --no-audit --prefix dyno-out/foundry @foundry-rs/anvil-linux-amd64@1.7.1 || failed="$$failed anvil"; \
	go run ./bench/peers/colyseus install --program dyno-out/colyseus || failed="$$failed Colyseus"; \
	test -z "$$failed" || { echo "not built, and left out of the comparison:$$failed"; exit 1; }

# Beside their rivals: make rivals builds those of chaind and arenad; wrk, pgbench (PostgreSQL) and redis-server must be installed. The part of
# one that is missing is left out.
peers: ## every scenario of scenarios/peers, one after the other (50 minutes)
	@failed=; for s in scenarios/peers/*.yaml; do \
	  go run ./cmd/dyno run $$s || failed="$$failed $$s"; done; \
	test -z "$$failed" || { echo "without a valid result:$$failed"; exit 1; }

# PATH=... on the command line takes the place of the PATH that recipes get. The second line reads the shell's own again: while PATH
# is being expanded, $(shell) has the value that make was started with.
ifeq ($(origin PATH),command line)
export MODULE := $(value PATH)
override PATH = $(shell printf %s "$$PATH")
override PATH := $(PATH)
endif

module: ## set the module path in every file: make module PATH=github.com/you/dyno
	@test -n "$$MODULE" || { echo "usage: make module PATH=github.com/you/dyno"; exit 2; }
	go run ./deploy/release module "$$MODULE"

release: ## make the commit and the tags of a release: make release VERSION=v0.1.0
	go run ./deploy/release tag "$(VERSION)"

proof: ## install every program from the tags of a release, as users do: make proof VERSION=v0.1.0
	go run ./deploy/release prove "$(VERSION)"

PROGRAMS = cmd/dyno services/cmd/notifyd services/cmd/ordersd services/ledger/cmd/ledgersync services/chain/cmd/chaind services/cmd/arenad

manuals: ## man pages and completions of every program, into dyno-out/share
	@rm -rf dyno-out/share; export SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct); \
	for p in $(PROGRAMS); do go run ./$$p manual dyno-out/share || exit 1; done

archives: ## archives for Linux and macOS with their checksums, into dist, by goreleaser (20 minutes, the first time)
	GOWORK=off GOBIN="$(CURDIR)/dyno-out" go install github.com/goreleaser/goreleaser/v2@v2.15.1
	dyno-out/goreleaser release --snapshot --clean

ci: ## what CI runs
	bash .ci/run
