# Everything a builder needs. Without a target: this help.
GO      ?= go
BIN     := bin
DEMO    ?= /tmp/folder-demo
TIMEOUT ?= 20m
SECONDS ?= 60
SEED    ?= 0
ON      ?= kfake
KAFKA_TESTS ?= ^Test(Kafka|ACluster|ATopic)
SECURE_TESTS := ^TestKafka(ACLs|Logins|Rollout)$$

.DEFAULT_GOAL := help
.PHONY: help demo build test race check fmt vet lint generated generate bench bench-restore e2e e2e-deploy kafka chaos faults fuzz clean

help: ## Show this help
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: build ## Broker, generator, worker and reads in one process; state in DEMO (/tmp/folder-demo)
	$(BIN)/folder demo --dir $(DEMO)

build: ## Build bin/folder
	$(GO) build -o $(BIN)/folder ./cmd/folder

test: ## All tests; only what needs real brokers is left to make kafka
	$(GO) test -timeout $(TIMEOUT) $$($(GO) list ./... | grep -v -e /testenv/e2e -e /testenv/deployed -e /testenv/kafka)
	cd testenv/composetest && $(GO) test ./...
	cd deploy/k8stest && $(GO) test ./...
	cd testenv/oteltest && $(GO) test ./...
	$(MAKE) e2e

race: ## All tests under the race detector, the slow cases left out, and those whose workers are processes of their own
	$(GO) test -race -short -timeout $(TIMEOUT) $$($(GO) list ./... | grep -v -e /testenv/e2e -e /testenv/deployed)

check: fmt vet lint generated ## gofmt, go vet, staticcheck, generated files are current

fmt:
	@bad=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); if [ -n "$$bad" ]; then echo "gofmt -w these files:"; echo "$$bad"; exit 1; fi

vet:
	$(GO) vet ./...
	cd testenv/composetest && $(GO) vet ./...
	cd deploy/k8stest && $(GO) vet ./...
	cd testenv/oteltest && $(GO) vet ./...

# Pinned in tools/go.mod, so that the program's own go.mod stays small.
lint:
	$(GO) build -C tools -o ../$(BIN)/staticcheck honnef.co/go/tools/cmd/staticcheck
	$(BIN)/staticcheck -checks 'all,-ST1000,-ST1003,-ST1005,-ST1016,-ST1020,-ST1021,-ST1022' ./...

generate: ## Write the generated files again
	$(GO) run ./cmd/folder config docs > docs/configuration.md

generated: build
	@$(BIN)/folder config docs | diff -u docs/configuration.md - || { echo "docs/configuration.md is not current: run make generate"; exit 1; }

e2e: ## End to end on kfake, or on the brokers in FOLDER_TEST_BROKERS
	$(GO) test -count=1 -timeout $(TIMEOUT) -parallel 4 -skip '^TestKafka' ./testenv/e2e ./testenv/deployed

# The first line is what kfake can show too; the last one starts three brokers.
kafka: ## The suites on real Apache Kafka, and what only that can show (KAFKA_TESTS=pattern, FOLDER_E2E_LONG=1)
	$(GO) run ./testenv/cmd/withkafka $(GO) test -count=1 -p 1 -parallel 4 -timeout $(TIMEOUT) -skip '^(TestKafka|TestCommitFails|TestChaos|TestLostAnswers)' ./testenv/e2e ./cmd/folder/internal/app ./source
	$(GO) test -count=1 -p 1 -timeout 30m -run '$(KAFKA_TESTS)' -skip '$(SECURE_TESTS)' ./testenv/e2e ./testenv/kafka

# One broker for all of them, which mostly wait.
e2e-deploy: ## Kafka with SCRAM, TLS and ACLs: three workers as deploy/k8s has them, rolled, scaled, verified; each right missing; each login
	$(GO) run ./testenv/cmd/withkafka -secure $(GO) test -count=1 -v -p 2 -timeout $(TIMEOUT) -run '$(SECURE_TESTS)' ./testenv/e2e ./testenv/deployed

chaos: ## Every kind of fault in a seeded course, then all is compared (SECONDS=60, SEED=0: a new one, ON=kfake or kafka)
	FOLDER_CHAOS_SECONDS=$(SECONDS) FOLDER_CHAOS_SEED=$(SEED) FOLDER_CHAOS_ON=$(ON) $(GO) test -count=1 -v -timeout 24h -run '^TestCampaign$$' ./cmd/folder/internal/chaos

# A short course by its name, course-kfake-1: several at one time, as in .ci/run.
course-%:
	$(MAKE) chaos SECONDS=10 ON=$(word 1,$(subst -, ,$*)) SEED=$(word 2,$(subst -, ,$*))

bench: build ## Throughput, latency, memory and size on disk, as in docs/performance.md
	$(GO) run ./testenv/cmd/bench

bench-restore: build ## 1,000,000 partials restored onto an empty disk
	$(GO) run ./testenv/cmd/bench -cases restore

faults: ## Every call of the disk fails once, all of them (make test takes a sample)
	FOLDER_TEST_ALL=1 $(GO) test -count=1 -timeout 30m -run '^TestEveryDiskCall$$' ./index

fuzz: ## Every fuzz target for a short while (FUZZTIME=10s)
	@for pkg in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
	    echo "$$pkg $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $${FUZZTIME:-10s} $$pkg || exit 1; \
	  done; done

clean: ## Remove what make built
	rm -rf $(BIN)
