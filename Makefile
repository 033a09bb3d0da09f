# Bare `make` prints this help.
.DEFAULT_GOAL := help
.PHONY: help test race lint fuzz run quick calibrate bench-generator ci

help: ## this help
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

test: ## all tests
	go test ./...

race: ## all tests under the race detector
	go test -race ./...

lint: ## formatting, vet (also for macOS) and staticcheck
	@test -z "$$(gofmt -l .)" || { echo "gofmt would change:"; gofmt -l .; exit 1; }
	go vet ./...
	GOOS=darwin go vet ./...
	go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...

fuzz: ## every fuzz target for 20 s each
	@go list ./... | while read -r pkg; do \
	  for target in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
	    echo "$$pkg $$target"; go test -run '^$$' -fuzz "^$$target$$" -fuzztime 20s -fuzzminimizetime 20x $$pkg || exit 1; done; done

run: ## the main job, about 5 minutes
	go run ./cmd/dyno run scenarios/notify.yaml

quick: ## the main job in under 90 seconds, without intervals
	go run ./cmd/dyno run --quick scenarios/notify.yaml

calibrate: ## how often a diagnosis is right, on servers of known cause, five times each (40 minutes)
	go run ./cmd/dyno calibrate --repeats 5

bench-generator: ## what a request costs the load generator, beside wrk, in turns (needs wrk)
	go run ./bench/generator

ci: ## what CI runs
	bash .ci/run
