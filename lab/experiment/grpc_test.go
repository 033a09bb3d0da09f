package experiment

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"dyno/lab/scenario"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
)

// A load of gRPC calls as a scenario describes it; the descriptors come from the server's
// reflection or a file.
func TestLoadOfGRPC(t *testing.T) {
	t.Run("reflection", func(t *testing.T) { loadOfGRPC(t, true, "") })
	file := filepath.Join(t.TempDir(), "health.proto")
	text := `syntax = "proto3"; package grpc.health.v1;
message Request { string service = 1; }
message Response { enum Status { UNKNOWN = 0; SERVING = 1; } Status status = 1; }
service Health { rpc Check(Request) returns (Response); }`
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Run("proto", func(t *testing.T) { loadOfGRPC(t, false, "proto: ["+file+"]") })
}

func loadOfGRPC(t *testing.T, reflects bool, described string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(s, health.NewServer())
	if reflects {
		reflection.Register(s)
	}
	var serving sync.WaitGroup
	serving.Go(func() { s.Serve(l) })
	defer serving.Wait()
	defer s.Stop()
	sc, err := scenario.Parse("x.yaml", fmt.Appendf(nil, `
name: health
mode: load
target: {url: "http://%[1]s"}
load:
  kind: grpc
  url: http://%[1]s
  call: grpc.health.v1.Health/Check
  %[2]s
  check: {json: [{path: status, equals: SERVING}]}
  connections: 2
  pipeline: 4
  schedule: {kind: constant, rate: 50}
measure: {length: 400ms}
`, l.Addr(), described))
	if err != nil {
		t.Fatal(err)
	}
	exp, err := Execute(t.Context(), Options{Scenario: sc, Out: filepath.Join(t.TempDir(), "out"), Depth: Quick, NoPMQoS: true})
	if err != nil {
		t.Fatal(err)
	}
	r := exp.Runs[0]
	if r.Totals.Offered != 20 || r.Totals.Completed != 20 || r.Totals.Failed != 0 || r.Load.Kind != "grpc" || r.Load.Protocol != "gRPC over HTTP/2" {
		t.Errorf("%+v %+v, warnings %q", r.Load, r.Totals, r.Warnings)
	}
}
