package dyno

import (
	"encoding/json"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// modules lists the modules of the repository with the third-party modules that each may require
// directly, and why; "." stands for the root. A user of one module builds nothing that only another
// needs.
var modules = map[string]map[string]string{
	".": {
		"github.com/HdrHistogram/hdrhistogram-go":  "latencies are recorded without loss of precision and merged",
		"github.com/bufbuild/protocompile":         "messages of gRPC calls are described by .proto files",
		"github.com/coder/websocket":               "JSON-RPC and sessions over WebSocket",
		"github.com/getkin/kin-openapi":            "OpenAPI documents are imported",
		"github.com/google/pprof":                  "profiles are read as go tool pprof reads them",
		"github.com/nats-io/nats-server/v2":        "dyno --agents-listen has a NATS server inside; lab/load/agents/natsbus alone imports it",
		"github.com/nats-io/nats.go":               "load agents; lab/load/agents/natsbus alone imports it",
		"github.com/invopop/jsonschema":            "a test writes the schemas of the commands' JSON from Go types",
		"github.com/santhosh-tekuri/jsonschema/v6": "a scenario is checked against its published schema",
		"github.com/spf13/cobra":                   "cmd/dyno",
		"github.com/spf13/pflag":                   "cmd/dyno",
		"go.opentelemetry.io/proto/otlp":           "spans that a service sends are received, and series sent",
		"go.yaml.in/yaml/v3":                       "scenarios are YAML",
		"golang.org/x/exp":                         "execution traces are read",
		"golang.org/x/mod":                         "deploy/release writes go.mod files and the archives of modules",
		"golang.org/x/net":                         "HTTP/2 for the load of net/http, IDNA for Host",
		"golang.org/x/sys":                         "epoll, io_uring, perf events",
		"golang.org/x/term":                        "the width of the terminal",
		"gonum.org/v1/gonum":                       "quantiles of Student's t, optimisation of fits",
		"google.golang.org/grpc":                   "loads of gRPC calls, and the reflection that describes their messages",
		"google.golang.org/protobuf":               "spans that a service sends are received, series sent, messages of gRPC calls made",
		"go.opentelemetry.io/otel":                 "tests send spans as services do",
		"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp": "tests send spans as services do",
		"go.opentelemetry.io/otel/sdk":                                    "tests send spans as services do",
		"go.opentelemetry.io/otel/trace":                                  "tests send spans as services do",
		"mvdan.cc/sh/v3":                                                  "the quoting of pasted curl commands",
		"google.golang.org/genproto/googleapis/api":                       "google/api/annotations.proto, which many .proto files import",
		"google.golang.org/genproto/googleapis/rpc":                       "tests send spans as services do",
	},
	"agent": {},
	"parts": {
		"github.com/spf13/cobra":                                          "commands, flags and help of the services",
		"github.com/spf13/pflag":                                          "flags of the settings",
		"github.com/HdrHistogram/hdrhistogram-go":                         "windows of a job carry histograms",
		"github.com/coder/websocket":                                      "JSON-RPC over WebSocket; it needs no other module",
		"github.com/prometheus/client_golang":                             "metrics of every service",
		"github.com/schollz/progressbar/v3":                               "progress of long commands",
		"github.com/valyala/fasthttp":                                     "tests hold the fronts against it",
		"go.opentelemetry.io/otel":                                        "traces of every service",
		"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp": "traces of every service",
		"go.opentelemetry.io/otel/sdk":                                    "traces of every service",
		"go.opentelemetry.io/otel/trace":                                  "traces of every service",
		"go.opentelemetry.io/proto/otlp":                                  "tests receive spans",
		"go.yaml.in/yaml/v3":                                              "configuration files",
		"golang.org/x/net":                                                "rules for HTTP fields",
		"golang.org/x/sync":                                               "tests hold batcher against singleflight",
		"golang.org/x/sys":                                                "epoll, accept4",
		"golang.org/x/term":                                               "progress knows a terminal",
		"google.golang.org/protobuf":                                      "tests receive spans",
	},
	"services/notify": {
		"github.com/spf13/pflag":                                   "flags of the settings",
		"github.com/coder/websocket":                               "notices over WebSocket",
		"github.com/go-json-experiment/json":                       "the assembly json=v2",
		"github.com/prometheus/client_golang":                      "metrics",
		"github.com/prometheus/client_model":                       "tests read metrics",
		"github.com/prometheus/common":                             "tests read metrics",
		"github.com/standard-webhooks/standard-webhooks/libraries": "signatures of webhooks",
		"go.opentelemetry.io/otel":                                 "spans",
		"go.opentelemetry.io/otel/sdk":                             "tests read spans",
		"go.opentelemetry.io/otel/trace":                           "spans",
		"golang.org/x/time":                                        "rate limits of receivers",
	},
	"services/notify/jetstream": {
		"github.com/nats-io/nats.go": "a log in JetStream",
		"github.com/nats-io/nuid":    "names of writers and batches",
	},
	"services/orders": {
		"github.com/spf13/pflag":                  "flags of the settings",
		"github.com/HdrHistogram/hdrhistogram-go": "latencies of both versions of a release",
		"github.com/go-jose/go-jose/v4":           "tokens",
		"github.com/go-json-experiment/json":      "messages are read strictly",
		"github.com/jackc/pgx/v5":                 "PostgreSQL",
		"github.com/klauspost/compress":           "zstd of answers",
		"github.com/maypok86/otter/v2":            "bounded caches of tokens and answers",
		"github.com/prometheus/client_golang":     "metrics",
		"github.com/sony/gobreaker/v2":            "the circuit breaker before the database",
		"github.com/valyala/fasthttp":             "the front with TLS",
		"github.com/vmihailenco/msgpack/v5":       "answers in MessagePack",
		"go.opentelemetry.io/otel":                "spans",
		"go.opentelemetry.io/otel/trace":          "spans",
		"golang.org/x/net":                        "rules for HTTP fields",
		"golang.org/x/sync":                       "the soak's groups of goroutines",
	},
	"services/chain": {
		"github.com/cockroachdb/pebble/v2":    "blocks, receipts and indexes",
		"github.com/coder/websocket":          "nodes and the suite talk over WebSocket",
		"github.com/ethereum/go-ethereum":     "types, the EVM, state and tries of Ethereum",
		"github.com/holiman/uint256":          "numbers of the EVM, as go-ethereum takes them",
		"github.com/prometheus/client_golang": "metrics",
		"github.com/spf13/pflag":              "flags of serve and of the jobs",
		"go.opentelemetry.io/otel":            "spans",
		"go.opentelemetry.io/otel/trace":      "spans",
		"golang.org/x/net":                    "connections of nodes are limited",
		"go.opentelemetry.io/proto/otlp":      "tests read spans",
		"go.etcd.io/raft/v3":                  "the order of several nodes",
		"google.golang.org/protobuf":          "messages of raft",
		"golang.org/x/sync":                   "groups of goroutines",
	},
	"services/arena": {
		"github.com/coder/websocket":          "the plain program's WebSockets, and those of the suite",
		"github.com/go-jose/go-jose/v4":       "players' tokens",
		"github.com/nats-io/nats-server/v2":   "each node has a NATS server inside",
		"github.com/nats-io/nats.go":          "the directory of several nodes, their matches and chat",
		"github.com/planetscale/vtprotobuf":   "the messages' code is generated",
		"github.com/prometheus/client_golang": "metrics",
		"github.com/spf13/pflag":              "flags of serve",
		"go.yaml.in/yaml/v3":                  "tests read the manifest for Kubernetes",
		"golang.org/x/net":                    "rules for HTTP fields",
		"golang.org/x/time":                   "rates of chat",
		"google.golang.org/protobuf":          "messages are Protobuf",
	},
	"services/ledger": {
		"github.com/spf13/pflag":                                            "flags of the settings",
		"github.com/HdrHistogram/hdrhistogram-go":                           "durations of fetches",
		"github.com/cockroachdb/pebble/v2":                                  "indexes of the store",
		"github.com/coder/websocket":                                        "serving and simulating over WebSocket",
		"github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus": "metrics of gRPC",
		"github.com/klauspost/compress":                                     "zstd and s2 of stored ledgers",
		"github.com/parquet-go/parquet-go":                                  "exports",
		"github.com/prometheus/client_golang":                               "metrics",
		"golang.org/x/net":                                                  "rules for HTTP fields",
		"golang.org/x/sync":                                                 "groups of goroutines",
		"google.golang.org/grpc":                                            "serving and mirroring over gRPC",
		"google.golang.org/protobuf":                                        "serving and mirroring over gRPC",
	},
	"services/cmd/arenad":     {"github.com/nats-io/nats-server/v2": "indirectly: several nodes", "github.com/spf13/cobra": "its own commands", "github.com/coder/websocket": "tests play in the compact subprotocol", "google.golang.org/protobuf": "tests play in the compact subprotocol"},
	"services/chain/cmd/chaind":     {"github.com/spf13/cobra": "its own commands", "github.com/ethereum/go-ethereum": "what decode prints, and the log of the state"},
	"services/ledger/cmd/ledgersync": {"github.com/spf13/cobra": "its own commands"},
	"services/cmd/notifyd":    {"github.com/spf13/cobra": "its own commands", "golang.org/x/sys": "tests fill a disk"},
	"services/cmd/ordersd":    {"github.com/spf13/cobra": "its own commands", "github.com/jackc/pgx/v5": "seeding a database"},
	"services/orders/postgres": {
		"github.com/jackc/pgx/v5": "asks PostgreSQL whether it is up, and makes databases and roles",
		"github.com/xi2/xz":       "the archive of the PostgreSQL that is downloaded",
		"golang.org/x/sys":        "capabilities of Linux",
	},
	"parts/ethereum": {
		"github.com/cockroachdb/pebble/v2": "blocks, receipts and states",
		"github.com/ethereum/go-ethereum":  "types, the EVM, state and tries of Ethereum",
		"github.com/holiman/uint256":       "numbers of the EVM, as go-ethereum takes them",
	},
	"parts/cluster": {
		"github.com/coder/websocket":      "connections between nodes",
		"github.com/ethereum/go-ethereum": "hashes, and lists in RLP",
		"go.etcd.io/raft/v3":              "the order of several nodes",
		"golang.org/x/net":                "connections are limited",
		"golang.org/x/sync":               "groups of goroutines",
		"google.golang.org/protobuf":      "messages of raft",
	},
	"services/ledger/xrpl": {
		"github.com/coder/websocket":                "servers over WebSocket",
		"github.com/decred/dcrd/dcrec/secp256k1/v4": "signatures without C",
		"github.com/ethereum/go-ethereum":           "libsecp256k1 in C, three times as fast",
		"github.com/go-json-experiment/json":        "files of ledgers are read strictly",
		"github.com/klauspost/compress":             "packs are compressed with zstd",
		"github.com/mr-tron/base58":                 "addresses",
		"github.com/tmthrgd/go-hex":                 "vectorised hexadecimal",
		"golang.org/x/crypto":                       "RIPEMD-160",
	},
}

// comparing lists the modules that only compare, exhibit or test: they may require anything.
var comparing = []string{"bench", "services/notify/soak"}

// anyModule are testing libraries that any module but the agent may require.
var anyModule = []string{"github.com/rogpeppe/go-internal", "go.uber.org/goleak", "pgregory.net/rapid"}

// onlyCompared must not be in the go.mod of a module that a user builds, not even indirectly,
// unless the module's row permits it.
var onlyCompared = []string{
	"github.com/chromedp/cdproto", "github.com/chromedp/chromedp", "github.com/hanwen/go-fuse/v2", "github.com/nats-io/nats-server/v2", "github.com/redis/go-redis/v9",
	"github.com/tidwall/wal", "github.com/minio/simdjson-go",
}

func TestModulesRequireWhatTheyNeed(t *testing.T) {
	used := workspace(t)
	for dir, permitted := range modules {
		if !slices.Contains(used, dir) {
			t.Errorf("%s: no such module is in go.work; take it out of the table in modules_test.go", dir)
			continue
		}
		left := map[string]bool{}
		for path := range permitted {
			left[path] = true
		}
		for _, r := range requirements(t, dir) {
			if r.Path == module {
				r.Path = "."
			}
			delete(left, r.Path)
			_, allowed := permitted[r.Path]
			switch {
			case slices.Contains(onlyCompared, r.Path) && !allowed:
				t.Errorf("%s/go.mod requires %s, which only tests and comparisons need: move what imports it to bench", dir, r.Path)
			case dir == "agent":
				t.Errorf("agent/go.mod requires %s: the agent has no requirements, so that measuring a service does not change it", r.Path)
			case r.Indirect, allowed, strings.HasPrefix(r.Path, module+"/"), slices.Contains(anyModule, r.Path):
			default:
				t.Errorf("%s/go.mod requires %s: remove it, or add it to the table in modules_test.go with its reason", dir, r.Path)
			}
		}
		for path := range left {
			t.Errorf("%s/go.mod does not require %s: take it out of the table in modules_test.go", dir, path)
		}
	}
	for _, dir := range used {
		if _, listed := modules[dir]; !listed && !slices.Contains(comparing, dir) {
			t.Errorf("%s: add the module to the table in modules_test.go with what it may require", dir)
		}
	}
}

// Every go.mod is in the workspace, so that one command builds and tests all modules.
func TestWorkspaceHasAllModules(t *testing.T) {
	used := workspace(t)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "dyno-out" || strings.HasPrefix(d.Name(), ".") && path != ".") {
			return filepath.SkipDir
		}
		if dir := filepath.ToSlash(filepath.Dir(path)); d.Name() == "go.mod" && !slices.Contains(used, dir) {
			t.Errorf("%s is not in go.work: go work use ./%s", path, dir)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

type requirement struct {
	Path     string
	Indirect bool
}

func requirements(t *testing.T, dir string) []requirement {
	t.Helper()
	var mod struct{ Require []requirement }
	edit(t, &mod, "mod", "edit", "-json", filepath.Join(dir, "go.mod"))
	return mod.Require
}

// workspace returns the folders of go.work.
func workspace(t *testing.T) (dirs []string) {
	t.Helper()
	var work struct{ Use []struct{ DiskPath string } }
	edit(t, &work, "work", "edit", "-json", "go.work")
	for _, u := range work.Use {
		dirs = append(dirs, filepath.ToSlash(filepath.Clean(u.DiskPath)))
	}
	return dirs
}

func edit(t *testing.T, into any, args ...string) {
	t.Helper()
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		t.Fatalf("go %s: %v", strings.Join(args, " "), err)
	}
	if err := json.Unmarshal(out, into); err != nil {
		t.Fatal(err)
	}
}
