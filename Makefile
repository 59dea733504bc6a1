# Every target walks over the workspace's modules, so a new module needs no line here.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

MODULES  := $(sort $(patsubst %/go.mod,%,$(wildcard */go.mod optional/*/go.mod)))
BINARIES := $(sort $(patsubst %/main.go,%,$(wildcard */main.go optional/*/main.go)))
$(if $(and $(MODULES),$(BINARIES)),,$(error no Go module or no binary found: run make from the root of the checkout))

# The same flags for every build: mixing them would compile everything twice.
export CGO_ENABLED := 0
export GOFLAGS     := -trimpath -buildvcs=false
BIN      := $(CURDIR)/bin
REVISION := $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
LDFLAGS  := -s -w -X open-cluster-management.io/multicluster-integrations/shared/boot.Revision=$(REVISION)
TOOLS    := GOWORK=off go run -C e2e/tools .
RELEASE  := GOWORK=off go run -C deploy/release .
# A folder with parts that are there already, which are then not built.
export PARTS := $(or $(PARTS),$(KUBEBUILDER_ASSETS))
export KUBEBUILDER_ASSETS := $(BIN)

# $(call each,MODULES,COMMAND): COMMAND in every module's folder; one that fails does not hide those after it.
each = @failed=; for m in $(1); do echo "--- $$m: $(2)"; (cd $$m && $(2)) || failed+=" $$m"; done; \
	[ -z "$$failed" ] || { echo "failed in:$$failed"; exit 1; }

.PHONY: help install docker-build build unit test test-parts module-parts test-fleet-parts test-modules test-tools test-release test-e2e lint generate verify tidy demo demo-parts parity agent kargo pod bench bench-placement images image-archive release olm push sign scan fuzz tools ui ui-argocd

help: ## What each target does
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

tools: ## Build the pinned real parts into bin/ (only what is not current)
	@$(TOOLS)

build: ## Build the binaries, the plugin of rendered mode and the observer into bin/product/
	@for m in $(BINARIES); do echo "--- $$m"; (cd $$m && go build -ldflags '$(LDFLAGS)' -o $(BIN)/product/$${m##*/} .) || exit 1; done
	@echo "--- plugin"; cd optional/rendered && go build -ldflags '$(LDFLAGS)' -o $(BIN)/product/plugin ./plugin
	@echo "--- observer"; cd optional/liveview && go build -ldflags '$(LDFLAGS)' -o $(BIN)/product/observer ./observer

PURE = $(shell sed -n '/^        pure:/,/deny:/s|.*"\*\*/\(.*\)/\*\.go"|./\1|p' .golangci.yml)
unit: ## The tests of the pure packages (rule "pure" of .golangci.yml), without a control plane
	@go test $(PURE)

TOOL_TESTS := $(wildcard e2e/tools/conformance e2e/tools/conformance/agent)
# make lint vets what these test. Here it would take a fifth of a first run's compiling, for the dependencies of tests.
GO_TEST := go test -vet=off
# What the tests of the fleet do is mostly to wait: those of the modules run meanwhile. make -k goes on after a failure.
test: ## Every test, end to end included
	@$(MAKE) --no-print-directory -j2 PARTS='$(PARTS)' test-e2e test-modules test-release test-tools

# The tests of the modules need few parts, and begin while the others are built.
test-parts: build module-parts
module-parts:
	@$(TOOLS) test deploy ocm
test-fleet-parts: test-parts
	@nice env $(TOOLS) fleet old
# propagation comes first: its longest package then runs beside the other modules.
test-modules: test-parts
	$(GO_TEST) -timeout 30m $(patsubst %,./%/...,propagation $(filter-out e2e propagation,$(MODULES)))
test-tools: test-fleet-parts
	$(call each,$(TOOL_TESTS),GOWORK=off go test .)
test-release: test-parts
	@nice env $(TOOLS) sign
	$(call each,deploy/release,GOWORK=off $(GO_TEST) -count=1 -timeout 30m ./...)
# Two packages at a time, of which each has a fleet; the longest come first.
test-e2e: test-fleet-parts
	$(call each,e2e,$(GO_TEST) -count=1 -p 2 -timeout 45m . ./deploytest ./upgrade ./rendered ./restore ./hubmove ./push ./search/integration ./...)

lint: ## golangci-lint with the import rules of .golangci.yml, actionlint over the workflows, e2e/gate
	@$(TOOLS) lint
	@$(BIN)/actionlint -shellcheck= -pyflakes=
	$(call each,$(MODULES),$(BIN)/golangci-lint run --config $(CURDIR)/.golangci.yml ./...)
	$(call each,deploy/release,GOWORK=off $(BIN)/golangci-lint run --config $(CURDIR)/.golangci.yml ./...)
	@echo '--- e2e/gate: methods of a type, arrows between files, words in names, statements'
	@cd e2e && go run ./gate -allowed $(CURDIR)/.ci/gate-allowed $(addprefix ../,$(MODULES))

generate: build ## Write again what is generated: deepcopy, CRD, roles, install.yaml, flags in docs
	@$(TOOLS) generate
	@BIN=$(BIN) bash .ci/generate .

verify: build ## Fail when generated files, go.mod files, modules outside the workspace or links of the docs are not in order
	@$(TOOLS) generate
	@BIN=$(BIN) bash .ci/verify
	$(call each,$(MODULES) deploy/release,GOWORK=off go mod tidy -diff)
	$(call each,$(MODULES),GOWORK=off go build ./...)
	@cd e2e && go test -count=1 ./docs

ui: ## The resource tab of rendered mode and the page of the fleet in a real Chromium (needs Node.js and Chromium; CHROMIUM names it)
	@cd e2e/ui && npm ci --no-audit --no-fund && npm test

ui-argocd: ## Argo CD's own page with pulled Applications (docs/liveview.md) in a real Chromium: builds the page first; needs what `make ui` needs
	@$(TOOLS) fleet
	@bash e2e/ui/argocd.sh
	@cd e2e/ui && npm ci --no-audit --no-fund && ARGOCD_WITH_UI=$(BIN)/argocd-with-ui node --test argocd-page.js

scan: ## Known vulnerabilities in what the binaries call (asks the Go vulnerability database)
	@$(TOOLS) scan
	$(call each,$(BINARIES),GOWORK=off $(BIN)/govulncheck ./...)
	$(call each,deploy/release,GOWORK=off $(BIN)/govulncheck ./...)

FUZZTIME ?= 30s
fuzz: ## Every fuzz test for FUZZTIME
	@grep -rno --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' $(MODULES) | while IFS=: read -r file _ function; do \
		echo "--- $$(dirname $$file): $${function#func }"; \
		(cd $$(dirname $$file) && go test -run '^$$' -fuzz "^$${function#func }\$$" -fuzztime $(FUZZTIME) .) || exit 1; done

tidy: ## go mod tidy in every module
	$(call each,$(MODULES),GOWORK=off go mod tidy)

demo: ## The main job on a fleet of real parts; ARGS=--keep leaves it up, --mixed has the oldest parts on cluster2, --rendered no Argo CD on the clusters, --gitopscluster registers them by Placement
	@$(MAKE) --no-print-directory -j2 PARTS='$(PARTS)' ARGS='$(ARGS)' build demo-parts
	@go build -o $(BIN)/product/demo ./e2e/demo
	@$(BIN)/product/demo $(ARGS)
# It begins with downloads, which leave the processor to the build of the product beside it.
demo-parts:
	@$(TOOLS) fleet $(if $(findstring mixed,$(ARGS)),old) $(if $(findstring keep,$(ARGS)),kubectl)

parity: build ## What of a cluster's status is on the hub, field by field, on a fleet of real parts
	@$(TOOLS) fleet old helm
	@go build -o $(BIN)/product/parity ./e2e/parity
	@$(BIN)/product/parity $(ARGS)

# The images of a release, and the same with another tag to upgrade to.
pod: ## The product's pod on a real kubelet, its containers upgraded one by one (Linux, root; containerd, runc and containernetworking-plugins of Debian)
	@$(TOOLS) fleet pod
	@for image in images next; do $(RELEASE) images -architectures "$$(go env GOARCH)" -out $(BIN)/pod/$$image \
		-containers propagation,resourcesync,aggregation $$([ $$image = images ] || echo -tag $$image) || exit 1; done
	@go build -o $(BIN)/product/pause ./e2e/pod/pause
	@go build -o $(BIN)/product/pod ./e2e/pod
	@bash e2e/pod/run.sh $(BIN)/product/pod $(ARGS)

# Ports of the pair listen on every address, and two of them cannot be set: its network has loopback alone.
agent: build ## argocd-agent's real principal and agents on a fleet of real parts: ARGOCD_AGENT, see docs/benchmarks.md (Linux)
	@$(TOOLS) fleet kubectl
	@go build -o $(BIN)/product/agentpair ./e2e/agentpair
	@unshare -rn sh -c 'ip link set lo up && exec "$$@"' - $(BIN)/product/agentpair -binary '$(abspath $(ARGOCD_AGENT))' $(ARGS)

# Its binary is built from Kargo's repository, see the page: the module is not on every module proxy.
kargo: build ## Kargo's real controller promotes by pulled Applications on a fleet of real parts: KARGO, see docs/benchmarks.md
	@$(TOOLS) fleet
	@go build -o $(BIN)/product/kargo ./e2e/kargo
	@$(BIN)/product/kargo -binary '$(if $(KARGO),$(abspath $(KARGO)))' $(ARGS)

BENCH ?= quick
bench: build ## The benchmark: BENCH=quick|standard|large|xlarge
	@$(TOOLS) bench
	@go build -o $(BIN)/product/bench ./e2e/bench
	@$(BIN)/product/bench -size $(BENCH) $(ARGS)

bench-placement: ## From a placement decision to the Application, with Argo CD's own ApplicationSet controller (docs/placement.md)
	@$(TOOLS) test fleet
	cd optional/placement && go test ./internal/refresh -run '^$$' -bench . -benchtime 1x -timeout 60m

ARCHITECTURES ?= amd64,arm64,ppc64le,s390x
images: ## One image per container as an OCI layout in bin/images: ARCHITECTURES, SOURCE (address of the repository); ARGS="-containers propagation -tag 1.2.4" for one alone
	@$(RELEASE) images -architectures $(ARCHITECTURES) -source '$(SOURCE)' $(ARGS)

CONTAINERS ?= propagation,resourcesync,aggregation
image-archive: ## bin/images.tar for `kind load image-archive`: images of CONTAINERS for this machine's architecture, named as in deploy/install.yaml
	@$(RELEASE) images -architectures "$$(go env GOARCH)" -containers '$(CONTAINERS)'
	@$(RELEASE) archive -architecture "$$(go env GOARCH)" -containers '$(CONTAINERS)'

# What users of kubebuilder type.
install: ## Apply the CustomResourceDefinition to the cluster of the current kubeconfig; deploy/install.yaml has all
	kubectl apply --server-side -f deploy/base/crd

docker-build: ## As images, for this machine's architecture; they are OCI layouts, no Docker is needed
	@$(MAKE) --no-print-directory images ARCHITECTURES='$(shell go env GOARCH)'

release: ## A release in bin/release/VERSION from a clean checkout: VERSION, REGISTRY (host and path), SOURCE
	@$(TOOLS) kustomize
	@$(RELEASE) make -version '$(VERSION)' -registry '$(REGISTRY)' -kustomize $(BIN)/kustomize -architectures $(ARCHITECTURES) -source '$(SOURCE)' $(ARGS)

olm: ## The bundle for OLM of the checkout in bin/olm, to look at: VERSION, ARCHITECTURES, SOURCE
	@$(TOOLS) kustomize
	@$(RELEASE) olm -version '$(or $(VERSION),0.0.0)' -kustomize $(BIN)/kustomize -architectures $(ARCHITECTURES) -source '$(SOURCE)' $(ARGS)

push: ## Copy bin/images, or images and chart of the release VERSION, to REGISTRY (host and path)
	@$(if $(VERSION),$(TOOLS) helm)
	@$(RELEASE) push -registry '$(REGISTRY)' $(if $(VERSION),-from '$(BIN)/release/$(VERSION)/images' -chart '$(BIN)/release/$(VERSION)/files/multicluster-integrations-$(VERSION).tgz' -helm $(BIN)/helm) $(ARGS)

sign: ## Sign the release VERSION, which is pushed, with cosign: keyless, or with KEY (COSIGN_PASSWORD)
	@$(TOOLS) sign
	@bash deploy/release/sign.sh $(BIN)/cosign '$(BIN)/release/$(VERSION)/files' '$(if $(KEY),$(abspath $(KEY)))'
